"""Contradictions: nearly the same words with another number, negation or opposite word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.contradiction import find_contradiction


@pytest.mark.parametrize(
    ("known", "text", "cause", "words"),
    [
        ("Keep backups for 30 days.", "Keep backups for 60 days.", "number", ("30", "60")),
        ("Use Python 3.11 for all jobs.", "Use Python v3.12 for all jobs.", "number", ("3.11", "v3.12")),
        ("The timeout is 30s here.", "The timeout is 45s here.", "number", ("30s", "45s")),
        (
            "Deploys are free on Fridays",
            "Deploys are forbidden on Fridays after noon",
            "opposite",
            ("free", "forbidden"),
        ),
        ("Run the job before the deploy.", "Run the job AFTER the deploy.", "opposite", ("before", "AFTER")),
        ("Deploy on a Friday afternoon.", "Do not deploy on a Friday afternoon.", "negation", ("Deploy", "not deploy")),
        ("Hosts keep their files.", "Hosts don't keep their files.", "negation", ("keep", "don't keep")),
        ("The cache cannot be shared.", "The cache can be shared.", "negation", ("cannot be", "be")),
        ("Keep copies without a key.", "Keep copies with a key.", "negation", ("without a", "a")),
        ("Store \u4e2d\u6587 on 3 hosts.", "Store \u4e2d\u6587 on 4 hosts.", "number", ("3", "4")),
    ],
)
def test_a_contradiction_names_its_cause_and_words(known: str, text: str, cause: str, words: tuple[str, str]) -> None:
    """The first contradicting word is named as both texts write it, and its span is that of the new text."""
    found = find_contradiction(known, text)
    assert found is not None
    assert (found.cause, (found.before, found.after)) == (cause, words)
    assert text[found.start : found.end] == found.after


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("Keep backups for 30 days.", "Keep backups for 30 days, please."),
        ("Never deploy on a Friday.", "Don't deploy on a Friday."),
        ("Keep backups for 30 days.", "Restart 60 workers whenever they hang."),
        ("Wait 5s.", "Wait 9s."),
        ("Keep the file.", "Keep the file, and the other 3."),
        ("Enable the cache on hosts.", "The hosts' cache is not what this text is about."),
        ("", ""),
    ],
)
def test_other_texts_contradict_nothing(known: str, text: str) -> None:
    """The same statement, another subject, an addition or too few words is no contradiction."""
    assert find_contradiction(known, text) is None


@given(st.text(alphabet="no't 12.abv\u2019%\u0663\ud7ff", max_size=60))
def test_no_text_contradicts_itself_and_none_fails(text: str) -> None:
    """Any text is read, and compared with itself nothing differs."""
    assert find_contradiction(text, text) is None

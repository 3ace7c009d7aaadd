"""Similarity: near duplicates are found, and differences are shown word by word."""

from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.similarity import AKIN, NEARLY_SAME, FoldFinder, most_alike
from antechamber.core.review.text_diff import TextRun, compare, differ, hunks

TEXT = "Run the database migration before the deploy: old workers read the new schema, new ones do not."


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_difference_holds_both_texts_whole(before: str, after: str) -> None:
    """Kept and removed words form the first text, kept and added words the second."""
    changes = compare(before, after)
    assert "".join(one.text for one in changes if one.kind != "added") == before
    assert "".join(one.text for one in changes if one.kind != "removed") == after


WORDS = st.lists(st.sampled_from(["day ", "deploy ", "x", "é ", "old\n"]), max_size=400).map("".join)


@given(WORDS, WORDS)
def test_the_places_hold_all_that_differs_and_count_the_rest(before: str, after: str) -> None:
    """No change is omitted, and unchanged text is cut only between two changes."""
    changes = compare(before, after)
    places = hunks(changes)
    gone = [one for index in places for one in index.before if one.kind == "removed"]
    came = [one for index in places for one in index.after if one.kind == "added"]
    assert gone == [one for one in changes if one.kind == "removed"]
    assert came == [one for one in changes if one.kind == "added"]
    rest = before
    for index in places:
        assert rest[index.skipped :].startswith("".join(one.text for one in index.before))
        rest = rest[index.skipped + sum(len(one.text) for one in index.before) :]
    assert all(one.text in before for index in places for one in index.before)
    assert bool(places) == (before != after)


def test_words_are_what_differs() -> None:
    """A changed word is one removal and one addition within the same text."""
    assert compare("Deploy on Monday, not later.", "Deploy on Tuesday, not later.") == [
        TextRun("same", "Deploy on "),
        TextRun("removed", "Monday"),
        TextRun("added", "Tuesday"),
        TextRun("same", ", not later."),
    ]
    assert compare("", "") == []


def test_texts_without_end_are_compared_by_lines_or_as_a_whole() -> None:
    """Texts too long to align quickly get a coarser difference that is still complete."""
    lines = [f"{number} a b c d e f" for number in range(2000)]
    longer = "\n".join(lines)
    changed = longer.replace("1000 a", "1000 z")
    assert [one.text for one in compare(longer, changed) if one.kind == "added"] == ["1000 z b c d e f\n"]
    words = "a " * 33_000
    assert [one.kind for one in compare(words, words + "b")] == ["removed", "added"]


def test_a_difference_with_thousands_of_runs_replaces_the_whole_text() -> None:
    """The number of runs in a difference is bounded; beyond that the whole text is replaced."""
    before, after = "a b " * 1400, "a c " * 1400
    assert compare(before, after) == [TextRun("removed", before), TextRun("added", after)]


def test_a_long_difference_leaves_agreement_out_and_counts_it() -> None:
    """Changes are complete with a few words of context; a short text stays as it is."""
    same = "word " * 1000
    shown = differ(f"{same}old.", f"{same}new.")
    assert shown.fits
    assert [one.kind for one in shown.changes] == ["same", "skipped", "same", "removed", "added", "same"]
    first, number, last = (one.text for one in shown.changes[:3])
    assert len(first) + int(number.replace(",", "")) + len(last) == len(same)
    assert [one.kind for one in differ("a b", "a c").changes] == ["same", "removed", "added"]


def test_a_difference_that_is_too_large_for_a_page_is_marked() -> None:
    """A difference with thousands of tokens is reported as too large to show."""
    before, after = "a\x7f" * 4000, "b"
    assert differ(before, after).changes == []
    assert not differ(before, after).fits
    assert hunks(compare(before, after)) == []
    assert hunks(compare("a\x7f" * 40, after)) != []


def test_the_most_alike_come_first_and_strangers_not_at_all() -> None:
    """Case and white space do not count, and dissimilar texts are left out."""
    others = ["Cats sleep a lot.", TEXT.upper() + "  \n", TEXT.replace("database", "search index")]
    found = most_alike(TEXT, others, AKIN, 5)
    assert [index for index, _ in found] == [1, 2]
    assert found[0][1] == 100
    assert most_alike(TEXT, others, AKIN, 1) == found[:1]
    assert most_alike(TEXT, [], AKIN, 5) == []


def test_a_folder_finds_the_nearest_of_what_it_holds() -> None:
    """Near duplicates are found, also among later additions, and dissimilar texts are not."""
    folder = FoldFinder([TEXT])
    assert folder.find(TEXT + " Always.", NEARLY_SAME) == 0
    assert folder.find("Something else entirely, said at some length.", NEARLY_SAME) is None
    assert folder.add("Something else entirely, said at some length.") == 1
    assert folder.find("Something else entirely, said at such length.", NEARLY_SAME) == 1


def test_texts_of_too_many_lines_are_replaced_as_a_whole() -> None:
    """With too many words and lines neither is aligned."""
    before, after = "a\n" * 7000, "b\n" * 7000
    assert compare(before, after) == [TextRun("removed", before), TextRun("added", after)]


def test_texts_beyond_one_portion_are_compared_like_the_first() -> None:
    """Beyond one batch of hundreds the most similar text is found, and of equal ones the first."""
    others = [f"Note {number} about something else entirely." for number in range(100)]
    wanted = "Run the migration before the deploy of the day."
    near = {17: "Run the migration before a deploy of the day.", 63: wanted, 90: wanted}
    texts = [near.get(index, text) for index, text in enumerate(others)]
    assert [index for index, _ in most_alike(wanted, texts, 80, 3)] == [63, 90, 17]
    assert [index for index, _ in most_alike(wanted, texts, 80, 1)] == [63]
    assert FoldFinder(texts).find(wanted, 90) == 63
    assert FoldFinder(texts[:63]).find(wanted, 90) == 17
    assert FoldFinder(others).find(wanted, 90) is None

"""The cost of a scan is linear in the text, however many candidates overlap, and has a limit."""

import inspect
import re
import sys
import unicodedata
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from stdnum import iban
from stdnum.iso7064 import mod_97_10

from antechamber.core.admission.canonical import normalize_text, order_marks
from antechamber.core.privacy.checks.ibans import find_ibans
from antechamber.core.privacy.document import EventText
from antechamber.core.privacy.effort import MAX_EFFORT, Effort, EffortSpentError
from antechamber.core.privacy.forms.texts import Text
from antechamber.core.privacy.gate import Examination
from antechamber.core.privacy.rule import UNVERIFIED, join_example
from antechamber.core.privacy.search.engine import Search
from antechamber.core.privacy.search.matcher import Matcher
from antechamber.core.search_terms import words_of
from core.privacy.hostile_texts import HOSTILE
from support import GATE, belgian, gate_without, places_of

scan = GATE.scan
BODY = 65_536
MAX_LINES = 10
"""Lines of Python per character of the most expensive text; checking each candidate separately took 25."""
FIXED = 100_000
"""Lines of Python that the bounded looks at numbering plans and check digits cost, however long the text is."""
OVERLAPPING = [
    "4 ",
    "4-4 ",
    "4404 ",
    "40 5",
    "62\u00a0",
    "3528 ",
    "4000 0000 0000 0001 ",
    "DE89 ",
    "DE89-",
    "MT84 ",
    "NO93 8601 ",
    "AZ21 NABZ ",
    "a1 ",
    "a@b.test,",
    "a@",
    "a.",
    "@",
    "x@y.z@",
    "a://:p@a ",
    "antp_" + "a" * 36 + " ",
    "MA64 01 ",
    "ID:a,PW:",
    "10.1.2.3 (a/",
    "26240490-8637-4856-9139-e2ec35ba2d48 ",
]

DOCUMENT = r"""
Setting {n} in `config/unit_{n}.toml` expands the panel: using 0x{n:04x} for port {p}, the build takes {n}.5 s.
See docs/guide-{n}.md#testing — the monitor pings host-{n} at 10:{m:02d}, and version v2.{n}.{m} starts {p} threads.
Run `make test ARGS="-k unit_{n} --timeout={p}"` before merging #{p}; it prints {n} warnings, on 2026-{o:02d}-{d:02d}.
- `fetchUnitById({n})` returns a Promise<Unit[]>; pinning {n}.{m}.{d} avoids error E{p}, announced in #release-{n}.
Identity cards are printed at the national office {n}; a single person signs {d} documents, from number {p}.
Cookies and headers of tier {n} are listed in doc-{p}: authorization, baseline, socket {m}, and pine trees.
| step {n} | `helm upgrade app-{n} --set replicas={d}` | {p} ms | continuous, sinking cost, {m} units are listed |
""".strip().splitlines()
"""Sentences of a technical document, with numbers, and with words in which short context words are."""


@pytest.fixture(autouse=True, scope="module")
def automata() -> None:
    """Build the automata, as the first scan of a process does; workers that run no test here need none of them."""
    scan({"/a": "The first scan builds the automata."})


def work(job: Callable[[], Any]) -> int:
    """Count the executed lines of Python."""
    lines = 0

    def trace(_frame: FrameType, kind: str, _value: Any) -> Any:
        nonlocal lines
        lines += kind == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        job()
    finally:
        sys.settrace(before)
    return lines


def long(unit: str) -> str:
    """Repeat a unit up to the size of a body."""
    return (unit * (BODY // len(unit) + 1))[:BODY]


@pytest.mark.parametrize("unit", OVERLAPPING, ids=ascii)
def test_the_work_of_a_body_is_bounded(unit: str) -> None:
    """Every text designed to have many candidates costs a few lines per character."""
    assert work(lambda: scan({"/payload": {"content": long(unit)}})) <= MAX_LINES * BODY + FIXED


def test_the_work_of_many_short_strings_is_bounded() -> None:
    """Neither a near miss nor a match in front makes thousands of short members expensive."""
    for first in ("4111 1111 1111 1112", "4111 1111 1111 1111 a@" + "b.cd"):
        names = {"content": first, "attributes": {f"a{number}": ["x", "a@b.test", 7] for number in range(2_500)}}
        scan({"/payload": names})  # Imports and caches of the first look do not count.
        assert work(lambda held=names: scan({"/payload": held})) <= MAX_LINES * BODY + FIXED


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["4", "51", "36", "DE89", "NO93", "MT84MALT", "a@b.test", " ", "-", ",", "0"]),
        min_size=1,
        max_size=8,
    )
)
def test_no_row_of_pieces_costs_more(pieces: list[str]) -> None:
    """A search over repeated pieces finds no text beyond the same bound."""
    text = ("".join(pieces) * 4_096)[:4_096]
    # The first number of a plan imports its module.
    scan({"/payload": text})
    assert work(lambda: scan({"/payload": text})) <= MAX_LINES * len(text) + FIXED


PIECES = [join_example(example) for rule in GATE.rules for example in (*rule.hit, *rule.miss)]
PIECES += [text for texts in HOSTILE.values() for text in texts] + OVERLAPPING
MOST_LINES = 600_000
"""Lines of Python for any text of 64 KB; an ordinary one takes 30,000, and the worst ones found 424,000."""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3))
def test_no_repeated_look_alike_stalls_a_scan(pieces: list[str]) -> None:
    """Examples of all rules and hostile texts, repeated to the size of a body, end within one bound.

    Hypothesis goes on from the texts that take the most lines, and so searches for worse ones than are known.
    """
    values = {"/payload": {"content": long("".join(pieces))}}
    GATE.examine(values)  # The first look of a process at some numbers imports their numbering plan.
    found: list[Examination] = []
    lines = work(lambda: found.append(GATE.examine(values)))
    target(float(lines), label="lines of Python")
    assert lines <= MOST_LINES
    assert not (GATE.is_clean(values) and found[0].findings)


def ibans(text: str) -> bool:
    """Find an IBAN by brute force, at each group with each length."""
    for match in re.finditer("(?<![0-9A-Za-z])(?=[A-Za-z]{2}[0-9]{2})", text):
        run = re.match("[0-9A-Za-z](?:[ .-]?[0-9A-Za-z])*", text[match.end() :])
        compact = re.sub("[ .-]", "", run[0]).upper() if run else ""
        if any(iban.is_valid(compact[:length]) for length in range(15, min(34, len(compact)) + 1)):
            return True
    return False


ACCOUNTS = ["DE89", "3704", "0044", "0532", "0130", "00", "NO93", "8601", "1117", "947", "be68", "5390", "0754", "7034",
            "GB82WEST12345698765432", "MT84MALT011000012345MTLCAST001S", " ", "-", "  ", ".", "x"]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(ACCOUNTS), max_size=14))
def test_an_iban_is_found_wherever_a_slow_look_finds_one(pieces: list[str]) -> None:
    """Checking structure before check digits agrees with a check of each candidate."""
    text = "".join(pieces)
    assert any(find_ibans(text, Effort())) == ibans(text)


LOOK_ALIKES = " ".join(belgian(number) for number in range(1, 3_700))


def test_a_text_that_cannot_be_verified_is_a_finding() -> None:
    """Thousands of slow look-alikes exceed the budget and are refused; some hundreds are verified."""
    assert not iban.is_valid(belgian(1))
    assert mod_97_10.is_valid(belgian(1)[4:] + belgian(1)[:4])
    assert len(LOOK_ALIKES) < BODY
    for gate in (GATE, gate_without("email-address")):
        findings = gate.scan({"/a": {"b": ["x", LOOK_ALIKES]}})
        assert places_of(findings) == [("/a/b/1", "too-many-look-alikes")]
        assert findings[0].action == "quarantine"
    assert gate_without("iban").scan({"/a": LOOK_ALIKES}) == []
    assert scan({"/a": LOOK_ALIKES[: 500 * 17]}) == []


def test_what_is_found_before_the_effort_ends_is_told_too() -> None:
    """Findings of the rules before the limit are reported; the longest text is named as the one to split."""
    mail = "ada@love" + "lace.dev"
    found = scan({"/a": [mail, LOOK_ALIKES, mail]})
    assert places_of(found) == [("/a/0", "email-address"), ("/a/1", "too-many-look-alikes"), ("/a/2", "email-address")]


def test_the_first_hundred_findings_are_enough() -> None:
    """After a hundred findings the rest of the event is not scanned."""
    mail = "ada@love" + "lace.dev"
    findings = scan({"/a": [mail] * 3_000})
    assert len(findings) == 100
    assert {finding.pointer for finding in findings} == {f"/a/{number}" for number in range(100)}
    assert work(lambda: scan({"/a": [mail] * 3_000})) < 3 * FIXED


def test_a_long_match_costs_effort_by_its_length() -> None:
    """The end of a match of 60,000 characters is found as slowly as hundreds of short matches."""
    matcher = next(Matcher(rule) for rule in GATE.rules if rule.rule_id == "openai-project-key")
    spent = []
    for size in (3, 5_000):
        effort = Effort()
        assert len(list(matcher.find(Text("sk-" + "svcacct-" + "Lv1e0XaQ9zRt" * size), effort))) == 1
        spent.append(effort.spent)
    short, long = spent
    assert long > short + 60_000 // 64


def test_effort_ends() -> None:
    """Spending more than the budget raises an error."""
    effort = Effort()
    effort.spend(MAX_EFFORT)
    assert effort.spent == MAX_EFFORT
    with pytest.raises(EffortSpentError):
        effort.spend()


MARKS = [chr(code) for code in range(0x300, 0x1E95B) if unicodedata.combining(chr(code))]
SINGULAR = ["\u0340", "\u0344", "\u0f73", "\u0f75", "\u0f81"]
"""Marks that decompose, some of them into several reorderable marks while they are not reorderable themselves."""


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from(MARKS[:60] + SINGULAR), min_size=31, max_size=120),
    st.text(st.sampled_from([*MARKS, *SINGULAR, "a", "\u1ebf", "\u1100", "\u1161", "\u4e00", " ", "1"]), max_size=80),
)
def test_ordered_marks_normalize_to_the_same_text(run: str, other: str) -> None:
    """Sorted marks normalize to the same text in all four forms, without runs that take quadratic time."""
    text = f"{other}a{run}{other}"
    ordered = order_marks(text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert unicodedata.normalize(form, ordered) == unicodedata.normalize(form, text)  # type: ignore[arg-type]
    classes = [unicodedata.combining(mark) for mark in order_marks("a" + run)[1:]]
    assert all(after == 0 or before <= after for before, after in pairwise(classes))


def test_a_long_run_of_marks_is_normalized_in_the_end() -> None:
    """A body of marks in the worst order is normalized and indexed at once."""
    text = "a" + "\u0301" * 16_000 + "\u0316" * 16_000
    assert normalize_text(text) == "\u00e1" + "\u0316" * 16_000 + "\u0301" * 15_999
    assert words_of(text) == ["a"]


def test_a_long_document_is_far_from_the_limit() -> None:
    """A context word within another word ("tin" in "setting") is none, and rules are searched near their words only."""
    lines = (
        DOCUMENT[row % len(DOCUMENT)].format(
            n=row * 37 % 997, p=8000 + row * 13 % 1999, m=row * 7 % 60, d=1 + row % 28, o=1 + row % 12
        )
        for row in range(500)
    )
    search = Search(GATE._engine, GATE._any_refusing)
    assert list(search.look(EventText({"": "\n".join(lines)[:60_000]}))) == []
    assert search.effort.spent < MAX_EFFORT // 2


@pytest.mark.parametrize(
    "module", ["models.disclosed_words", "models.disclosed_secrets", "values.passwords", "values.noise"]
)
def test_a_page_of_code_about_passwords_is_verified(module: str) -> None:
    """4,000 characters in which each line is about passwords are no text that is impossible to check."""
    source = inspect.getsource(import_module(f"antechamber.core.privacy.{module}"))
    found = [one for place in range(0, len(source), 4_000) for one in scan({"": source[place : place + 4_000]})]
    assert UNVERIFIED not in {one.rule_id for one in found}


def test_texts_beyond_the_values_that_are_reported_are_found_as_a_whole() -> None:
    """A mask of what was found leaves out none of the values of a long list, nor those of the members after it."""
    many = " ".join(f"a{number}@lake" + "shore.org" for number in range(150))
    values = {"/payload": {"content": many, "attributes": {"owner": "bo@lake" + "shore.org"}, "tags": ["plain"]}}
    spans = {(finding.pointer, finding.start, finding.end) for finding in GATE.examine(values).findings}
    assert ("/payload/content", 0, len(many)) in spans
    assert ("/payload/attributes", 0, 0) in spans
    assert max(finding.end - finding.start for finding in GATE.scan(values)) < 30

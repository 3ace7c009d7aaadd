"""Sealed events: which are kept, what is masked, what a redaction leaves, and the examples of a false alarm."""

import json
import tomllib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy import Finding
from antechamber.core.review.sealed_event import (
    MASK,
    MAX_SPANS,
    REDACTED,
    SealedEvent,
    decode_event,
    encode_event,
    field_content,
    is_sealable,
    mask_members,
    miss_examples,
    redact,
    spans_of,
)

CONTENT = "/payload/content"
TEXT = "Ask zoe or quill."


def found(pointer: str = CONTENT, start: int = 4, end: int = 7, rule: str = "name") -> Finding:
    """Return a finding with the action quarantine."""
    return Finding(pointer, rule, "quarantine", start, end)


def sealed(*findings: Finding, content: str = TEXT, supersedes: str | None = None, **payload: Any) -> SealedEvent:
    """Return a sealed event."""
    whole = {"kind": "fact", "content": content, **payload}
    return SealedEvent(
        payload=whole, source_span={"uri": "repo://a/zoe", "start": 7}, supersedes=supersedes, findings=list(findings)
    )


def visible(event: SealedEvent) -> str:
    """Return all that a page shows of an event."""
    members = mask_members(event, spans_of(event))
    return "\n".join("".join(piece.text or MASK for piece in member.pieces) for member in members)


SECRET = "Gull" + "Tide77"


@pytest.mark.parametrize(
    "members",
    [
        {"content": f"The password is {SECRET}. Later type {SECRET} at the prompt."},
        {"content": f"The password is {SECRET}.", "attributes": {"hint": f"not {SECRET}x"}},
        {"content": f"The password is {SECRET}.", "tags": [SECRET, "deploy"]},
        {"content": f"The password is {SECRET}.", "attributes": {f"of {SECRET}": ["deep", {"er": "value"}]}},
        {"content": f"The password is {SECRET}.", "revision": f"{SECRET}\n{SECRET}"},
    ],
)
def test_a_found_value_is_masked_wherever_the_event_repeats_it(members: dict[str, Any]) -> None:
    """The rule found it once, behind its name; neither the page nor the redacted text shows it anywhere else."""
    event = sealed(found(start=16, end=26, rule="password"), **members)
    assert SECRET not in visible(event)
    redacted = json.dumps(redact(event, spans_of(event), field_content(event, spans_of(event))))
    assert SECRET not in redacted


def test_numbers_and_the_password_of_an_address_are_masked_wherever_they_are() -> None:
    """A number is found as a text; an address has a password between a user and a host."""
    event = sealed(found(start=4, end=8), content="PIN 4471 opens.", attributes={"pin": 4471, "year": 44710})
    assert "4471 " not in visible(event)
    assert visible(event).splitlines()[-4:] == [MASK, "44710", "repo://a/zoe", "7"]
    url = f"app:{SECRET}@db.lake.test"
    event = sealed(found(start=4, end=4 + len(url)), content=f"Use {url} or {SECRET} on db.lake.test as app.")
    assert visible(event).splitlines()[0] == f"Use {MASK} or {MASK} on db.lake.test as app."


def test_a_word_is_masked_as_a_word() -> None:
    """A short password may be a part of other words, which say nothing about it; the names of the contract stay."""
    event = sealed(found(start=12, end=16), content="Password is boat, the boat, not boats or steamboat.")
    assert visible(event).splitlines()[0] == f"Password is {MASK}, the {MASK}, not boats or steamboat."
    event = sealed(found(start=12, end=16), content="Password is kind.")
    assert visible(event).splitlines()[:2] == [f"Password is {MASK}.", "fact"]


@pytest.mark.parametrize(
    ("findings", "visibility", "kept"),
    [
        ([found()], None, True),
        ([found()], "shareable", True),
        ([found(), Finding("/source_span/uri", "x", "warn")], None, True),
        ([found(), Finding("/supersedes", "x", "quarantine")], None, True),
        ([found()], "private", False),
        ([found(), Finding(CONTENT, "x", "reject")], None, False),
        ([Finding(CONTENT, "x", "warn")], None, False),
        ([found("/scope_id")], None, False),
        ([], None, False),
    ],
)
def test_only_what_can_be_redacted_is_kept(findings: list[Finding], visibility: str | None, kept: bool) -> None:  # noqa: FBT001 -- a parameter
    """The worst finding has the action quarantine, in payload, source or claim, and the producer permits it."""
    assert is_sealable(findings, visibility) is kept


def test_an_event_survives_its_encoding() -> None:
    """Spaces behind the encoded event, which hide its length, change nothing."""
    event = sealed(found(), supersedes="0198")
    assert decode_event(encode_event(event) + b"   ") == event


def test_overlapping_and_touching_spans_are_one() -> None:
    """A span names all rules that found a part of it."""
    spans = spans_of(sealed(found(rule="b"), found(start=5, end=9, rule="a"), found(start=11, end=16)))
    assert [(one.number, one.start, one.end, one.rule_ids) for one in spans] == [
        (1, 4, 9, ("a", "b")),
        (2, 11, 16, ("name",)),
    ]


@pytest.mark.parametrize(("start", "end"), [(0, 0), (5, 5), (9, 4), (3, 99), (-1, 4)])
def test_a_span_outside_its_text_masks_all_of_it(start: int, end: int) -> None:
    """Offsets that cannot be right hide the whole string."""
    (span,) = spans_of(sealed(found(start=start, end=end)))
    assert (span.start, span.end) == (0, len(TEXT))


def text_of(event: SealedEvent, revealed: int = 0) -> dict[str, str]:
    """Return the values of an event as a page shows them, by pointer."""
    return {
        member.pointer: "".join(MASK if piece.text is None else piece.text for piece in member.pieces)
        for member in mask_members(event, spans_of(event), revealed)
    }


def test_a_page_shows_masks_of_one_width_and_one_revealed_span() -> None:
    """Every other value is readable; only the span that was asked for has its text."""
    event = sealed(found(), found(start=11, end=16), found("/source_span/uri", 9, 12), tags=["a", "b"])
    shown = text_of(event)
    assert shown[CONTENT] == f"Ask {MASK} or {MASK}."
    assert shown["/source_span/uri"] == f"repo://a/{MASK}"
    assert (shown["/source_span/start"], shown["/payload/tags/1"]) == ("7", "b")
    assert text_of(event, 2)[CONTENT] == f"Ask {MASK} or quill."
    assert next(iter(shown)) == CONTENT


def test_an_empty_value_is_shown_empty() -> None:
    """A member without text has one empty piece."""
    assert text_of(sealed(found(), attributes={"a": ""}))["/payload/attributes/a"] == ""


def test_a_number_is_masked_as_a_whole() -> None:
    """A span of a number covers all of it, and can be revealed."""
    event = sealed(found("/payload/attributes/card", 0, 4), attributes={"card": 4111, "n": 1})
    assert text_of(event)["/payload/attributes/card"] == MASK
    assert text_of(event, 1)["/payload/attributes/card"] == "4111"
    assert redact(event, spans_of(event), "x")["payload"]["attributes"] == {"n": 1}


def test_a_found_name_hides_everything_below_its_object() -> None:
    """A name is in no pointer of the page, and the redaction leaves the object empty."""
    event = sealed(found("/payload/attributes", 0, 0), attributes={"zoe@lovelace": "x", "b": {"c": ["y", 1]}})
    assert {pointer for pointer in text_of(event) if "attributes" in pointer} == {"/payload/attributes"}
    members = [one for one in mask_members(event, spans_of(event)) if one.pointer == "/payload/attributes"]
    assert [[piece.text for piece in one.pieces] for one in members] == [[None], [None], [None]]
    assert redact(event, spans_of(event), "x")["payload"]["attributes"] == {}


@pytest.mark.parametrize(
    "findings", [[found("")], [found("/payload/gone")], [found(start=n, end=n + 1) for n in range(MAX_SPANS)]]
)
def test_what_points_to_nothing_or_is_too_much_masks_everything(findings: list[Finding]) -> None:
    """Only the kind stays, which has a grammar of its own."""
    event = sealed(*findings, content=TEXT * 20, tags=["t"])
    shown = text_of(event)
    assert shown.pop("/payload/kind") == "fact"
    assert set(shown.values()) == {MASK}
    redacted = redact(event, spans_of(event), "x")
    assert redacted == {
        "payload": {"kind": "fact", "content": "x", "tags": [REDACTED]},
        "source_span": {"uri": REDACTED},
    }


def test_a_redaction_replaces_every_span() -> None:
    """The content is what the curator typed; a claim that was found is left out, another one stays."""
    spans = [found(), found("/source_span/uri", 9, 12), found("/payload/tags/0", 0, 3), found("/payload/tags/1", 0, 1)]
    event = sealed(*spans, found("/supersedes", 0, 4), supersedes="0198", tags=["zoe-1", 9])
    assert field_content(event, spans_of(event)) == f"Ask {REDACTED} or quill."
    assert redact(event, spans_of(event), "Ask them.") == {
        "payload": {"kind": "fact", "content": "Ask them.", "tags": [f"{REDACTED}-1", REDACTED]},
        "source_span": {"uri": f"repo://a/{REDACTED}", "start": 7},
    }
    kept = sealed(found(), supersedes="0198")
    assert redact(kept, spans_of(kept), "x")["supersedes"] == "0198"


def test_a_memory_id_that_was_found_is_left_out() -> None:
    """The other ids stay; without any of them the member is left out."""
    event = msgspec.structs.replace(sealed(found("/derived_from/0", 0, 5)), derived_from=["zoe-1", "zoe-2"])
    assert redact(event, spans_of(event), "x")["derived_from"] == ["zoe-2"]
    alone = msgspec.structs.replace(event, derived_from=["zoe-1"])
    assert "derived_from" not in redact(alone, spans_of(alone), "x")


def test_a_false_alarm_gives_examples_for_its_rules() -> None:
    """Each example is a TOML string with the value and the text beside it, without other spans."""
    long = f'{"a" * 80} zoe\x7f "and" quill {"b" * 80}'
    start, other = long.index("zoe"), long.index("quill")
    event = sealed(
        found(start=start, end=start + 3, rule="first"),
        found(start=other, end=other + 5, rule="second"),
        found("/payload/attributes/n", 0, 1, rule="second"),
        content=long,
        attributes={"n": 5},
    )
    text = miss_examples(event, spans_of(event))
    first, second = (tomllib.loads(f"# Rule {part}")["miss"] for part in text.split("# Rule ")[1:])
    assert first == [f"{'a' * 59} zoe{after[:60]}" for after in [f'\x7f "and" {REDACTED} {"b" * 80}']]
    assert second[0].endswith(f"quill {'b' * 59}")
    assert REDACTED in second[0]
    assert second[1] == "5"
    assert "# Rule first: add these texts" in text


def test_hidden_characters_of_an_example_are_escaped() -> None:
    """What a page would draw as a token can be copied into a file all the same."""
    content = "Ask zoe\u202e\U000e0041 \u00e9\x7f now."
    text = miss_examples(sealed(found(), content=content), spans_of(sealed(found(), content=content)))
    assert "zoe\\u202e\\U000e0041 \u00e9\\u007f now." in text
    assert tomllib.loads(text)["miss"] == [content]


@given(st.text(min_size=1), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=5))
def test_no_masked_character_is_readable(content: str, bounds: list[tuple[int, int]]) -> None:
    """What is readable, together with the spans, is exactly the text, in order."""
    event = sealed(*(found(start=start, end=end) for start, end in bounds), content=content)
    spans = [span for span in spans_of(event) if span.pointer == CONTENT]
    pieces = mask_members(event, spans_of(event))[0].pieces
    texts = [content[one.span.start : one.span.end] if one.span else one.text or "" for one in pieces]
    assert "".join(texts) == content
    hidden = {index for span in spans for index in range(span.start, span.end)}
    shown = "".join(character for index, character in enumerate(content) if index not in hidden)
    assert "".join(one.text or "" for one in pieces) == shown


PASSWORD = "Vq7mTz" + "41xKd"
KEY = "MII" + "EvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4ypbHqGC0H0h"
FORMS: dict[str, dict[str, Any]] = {
    "in capitals": {"content": f"The password is {PASSWORD}. So type {PASSWORD.upper()} there."},
    "in a name": {"content": f"The password is {PASSWORD}.", "attributes": {PASSWORD.lower(): 1}},
    "behind a user": {"content": f"Use postgres://app:{PASSWORD}@db.lake.test/x or {PASSWORD}."},
    "escaped": {"content": f"Use postgres://app:{PASSWORD}%21@db.lake.test/x or {PASSWORD}! there."},
}


@pytest.mark.parametrize("members", FORMS.values(), ids=FORMS)
def test_a_found_value_is_masked_in_other_forms(members: dict[str, Any]) -> None:
    """Case, the name of an attribute, and the address that a password is part of hide nothing."""
    start = members["content"].index(PASSWORD)
    if "://" in members["content"]:
        finding = found(start=members["content"].index("app:"), end=members["content"].index("/x"))
    else:
        finding = found(start=start, end=start + len(PASSWORD))
    event = sealed(finding, **members)
    shown = visible(event) + json.dumps(redact(event, spans_of(event), field_content(event, spans_of(event))))
    assert PASSWORD.lower() not in shown.lower()


def test_a_secret_is_masked_as_it_is_once_decoded() -> None:
    """The finding is about its encoded form; the event has it in clear elsewhere, also in a name and as a number."""
    event = sealed(found(start=21, end=41), content="Authorization: Basic YXBwOlZxN21UejQxeEtk", tags=[PASSWORD])
    event = msgspec.structs.replace(event, secrets=[PASSWORD, "48201937"])
    assert PASSWORD not in visible(event)
    event = sealed(Finding("/payload/attributes", "x", "quarantine"), attributes={f"password={PASSWORD}": 1})
    event = msgspec.structs.replace(event, secrets=[PASSWORD])
    event = msgspec.structs.replace(event, payload=event.payload | {"content": f"one types {PASSWORD} there"})
    assert PASSWORD not in visible(event)


@pytest.mark.parametrize(
    "other", ["4929/1837/4650/2917", "4929_1837_4650_2917", "4929183746502917", "4929 1837 46502917"]
)
def test_a_number_is_masked_with_other_signs_between_its_digits(other: str) -> None:
    """A card that was found in groups of four is the same one in others, and as a number."""
    card = "4929 1837 " + "4650 2917"
    event = sealed(found(start=5, end=24), content=f"Card {card} or {other}, not 14929183746502917.")
    assert visible(event).splitlines()[0] == f"Card {MASK} or {MASK}, not 14929183746502917."
    event = sealed(found(start=5, end=24), content=f"Card {card}.", attributes={"card": 4929183746502917})
    assert "4929183746502917" not in visible(event)


@pytest.mark.parametrize("prefix", ["2026-01-02T03:04:05Z INFO ", "[app] ", "2. ", "- ", "REM ", "<br>"])
def test_each_line_of_a_private_key_is_masked(prefix: str) -> None:
    """Whatever is before the lines, and if each one is a string of its own."""
    lines = [KEY[place : place + 24] for place in range(0, len(KEY), 24)]
    content = "The key:\n" + "\n".join(prefix + line for line in lines)
    event = sealed(found(start=9 + len(prefix), end=33 + len(prefix), rule="private-key-der"), content=content)
    assert not any(line in visible(event) for line in lines)
    event = sealed(found(start=9, end=33, rule="private-key-der"), content=f"The key: {lines[0]}", tags=lines)
    assert not any(line in visible(event) for line in lines)


def test_many_values_and_places_hide_everything() -> None:
    """Looking for each of them would take long; what is masked is never less for that."""
    words = [f"b{number:05d}x" for number in range(MAX_SPANS + 1)]
    text = " ".join(words)
    event = sealed(content="x" * 9, attributes={"list": words})
    event = msgspec.structs.replace(event, secrets=words, findings=[found(start=0, end=9)])
    assert visible(event).splitlines() == [MASK, "fact", *([MASK] * (len(words) + 2))]
    event = sealed(found(start=0, end=7), content=text.replace(" ", "") + " b00000x" * 300)
    assert visible(event).splitlines()[0] == MASK

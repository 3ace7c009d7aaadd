"""Sealed events: which private events are kept for redaction, what a curator sees of them, and how one is redacted.

A finding names a span of one string by its pointer. Overlapping spans are joined, so that each character belongs to at
most one span. A span is shown as a mask of fixed width, which hides how long the value is.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import escape_pointer
from antechamber.core.conversion import parse_json
from antechamber.core.privacy import Finding
from antechamber.core.review.hidden_text import is_hidden
from antechamber.core.review.repeated_values import MAX_PLACES, find_repeated

MASK: Final = "\u2022" * 8
"""What a page shows instead of a span."""
REDACTED: Final = "[redacted]"
"""What replaces a span in a redacted text, unless the curator writes something else."""
MAX_SPANS: Final = MAX_PLACES
"""Maximum number of spans of an event; with more findings each of its strings is one span."""
_LAST_SHORT: Final = 0xFFFF
"""The last code point that TOML writes with four digits."""
_AROUND: Final = 60
"""Code points beside a value in an example."""
_REDACTABLE: Final = ("/payload", "/source_span", "/supersedes", "/derived_from")
_CLAIMS: Final = frozenset({"/supersedes", "/derived_from"})
CONTENT: Final = "/payload/content"
_KIND: Final = "/payload/kind"


class SealedEvent(Struct, frozen=True, kw_only=True):
    """The text of a sealed event, as it is encrypted."""

    payload: dict[str, Any]
    source_span: dict[str, Any]
    supersedes: str | None
    derived_from: list[str] | None = None
    findings: list[Finding]
    secrets: list[str] = []
    """The secrets that were found, as they are once decoded; events that an earlier version sealed have none."""

    @property
    def members(self) -> dict[str, Any]:
        """The values that findings point into, by pointer."""
        named = {"/payload": self.payload, "/source_span": self.source_span}
        claims = {"/supersedes": self.supersedes, "/derived_from": self.derived_from}
        return named | {pointer: claim for pointer, claim in claims.items() if claim is not None}


class MaskedSpan(Struct, frozen=True, kw_only=True):
    """A part of one string that rules found, or a whole value."""

    number: int
    """From 1, in the order of the page."""
    pointer: str
    start: int
    """Code points of the string; `start` is included, `end` is not."""
    end: int
    rule_ids: tuple[str, ...]
    whole: bool = False
    """Whether it covers all of a value that is no string."""


class MaskedPiece(Struct, frozen=True):
    """A part of a string as a page shows it: readable text, or a span, whose text is None unless it is revealed."""

    text: str | None
    span: MaskedSpan | None = None


class MaskedMember(Struct, frozen=True):
    """One string, or another value, of a sealed event as a page shows it."""

    pointer: str
    pieces: list[MaskedPiece]


def is_sealable(findings: list[Finding], visibility: str | None) -> bool:
    """Return whether a private event is sealed where the policy keeps sealed events.

    Its worst finding must have the action `quarantine`, in a place that can be redacted: neither the key nor the scope
    id. An event that its producer declared private is never kept.
    """
    actions = {finding.action for finding in findings}
    return (
        visibility != "private"
        and "quarantine" in actions
        and "reject" not in actions
        and all(finding.pointer.startswith(_REDACTABLE) for finding in findings)
    )


def encode_event(event: SealedEvent) -> bytes:
    """Return the bytes to encrypt."""
    return msgspec.json.encode(event)


def decode_event(text: bytes) -> SealedEvent:
    """Return the event that `encode_event` encoded; spaces may follow it."""
    return parse_json(text, SealedEvent)


def spans_of(event: SealedEvent) -> list[MaskedSpan]:
    """Return what is masked in an event, in the order of the page, the content first.

    A finding about an object, which is one in a name, masks all values below it. One that points to nothing, or too
    many of them, mask everything.
    """
    values = dict(_walk(event.members))
    findings, too_many = _find_all(event, values)
    everything = too_many or any(one.pointer not in values for one in findings)
    spans: list[MaskedSpan] = []
    for pointer, value in _leaves(event):
        own = [one for one in findings if one.pointer == pointer]
        # The kind has a grammar of its own, in which nothing could be redacted.
        all_of_it = everything and pointer != _KIND
        above = [one for one in findings if all_of_it or (one.pointer and pointer.startswith(f"{one.pointer}/"))]
        if above or not isinstance(value, str):
            rule_ids = tuple(sorted({one.rule_id for one in (*own, *above)}))
            spans += [_whole_span(len(spans) + 1, pointer, value, rule_ids)] if rule_ids else []
        else:
            spans += _joined(own, value, len(spans) + 1)
    return spans


def _find_all(event: SealedEvent, values: Mapping[str, Any]) -> tuple[list[Finding], bool]:
    """Return the findings of an event with those of further places of their values, and whether they are too many."""
    repeated = find_repeated(values, event.findings, event.secrets)
    findings = [*event.findings, *(repeated or ())]
    return findings, repeated is None or len(findings) >= MAX_SPANS


def _whole_span(number: int, pointer: str, value: Any, rule_ids: tuple[str, ...]) -> MaskedSpan:
    text = isinstance(value, str)
    return MaskedSpan(
        number=number, pointer=pointer, start=0, end=len(value) if text else 0, rule_ids=rule_ids, whole=not text
    )


def _joined(findings: list[Finding], text: str, first: int) -> Iterator[MaskedSpan]:
    """Yield the spans of one string, joined where they overlap or touch."""
    found = sorted((*_bounds(one, text), one.rule_id) for one in findings)
    groups: list[tuple[int, int, set[str]]] = []
    for start, end, rule_id in found:
        if groups and start <= groups[-1][1]:
            before, upto, rule_ids = groups[-1]
            groups[-1] = (before, max(upto, end), rule_ids | {rule_id})
        else:
            groups.append((start, end, {rule_id}))
    for number, (start, end, rule_ids) in enumerate(groups, first):
        yield MaskedSpan(
            number=number, pointer=findings[0].pointer, start=start, end=end, rule_ids=tuple(sorted(rule_ids))
        )


def _bounds(finding: Finding, text: str) -> tuple[int, int]:
    """Return the bounds of a finding in a text; all of the text if they are not within it."""
    inside = 0 <= finding.start < finding.end <= len(text)
    return (finding.start, finding.end) if inside else (0, len(text))


def _walk(members: Mapping[str, Any], parent: str = "") -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of every value, parents first."""
    for name, value in members.items():
        path = f"{parent}/{escape_pointer(name)}" if parent else name
        yield path, value
        match value:
            case dict():
                yield from _walk(value, path)
            case list():
                yield from _walk({str(index): item for index, item in enumerate(value)}, path)


def _leaves(event: SealedEvent) -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of everything that is no object and no array, the content first."""
    yield CONTENT, event.payload["content"]
    for path, value in _walk(event.members):
        if path != CONTENT and not isinstance(value, dict | list):
            yield path, value


def mask_members(event: SealedEvent, spans: list[MaskedSpan], revealed: int = 0) -> list[MaskedMember]:
    """Return the values of an event for a page, the content first; only the span with the number `revealed` has text.

    A name that a rule found is not shown: its pointer is that of its object.
    """
    shown = []
    by_pointer = {pointer: list(own) for pointer, own in groupby(spans, lambda span: span.pointer)}
    values = dict(_walk(event.members))
    hidden = {finding.pointer for finding in _find_all(event, values)[0]} & values.keys()
    for pointer, value in _leaves(event):
        own = by_pointer.get(pointer, [])
        named = next((above for above in hidden if pointer.startswith(f"{above}/")), pointer)
        shown.append(MaskedMember(named, list(_pieces(value, own, revealed))))
    return shown


def _pieces(value: Any, spans: list[MaskedSpan], revealed: int) -> Iterator[MaskedPiece]:
    text = value if isinstance(value, str) else json.dumps(value)
    end = 0
    for span in spans:
        upto = len(text) if span.whole else span.end
        if span.start > end:
            yield MaskedPiece(text[end : span.start])
        yield MaskedPiece(text[span.start : upto] if span.number == revealed else None, span)
        end = upto
    if end < len(text) or not text:
        yield MaskedPiece(text[end:])


def field_content(event: SealedEvent, spans: list[MaskedSpan]) -> str:
    """Return the content with `REDACTED` in place of its spans, for the curator to change."""
    return _replace(event.payload["content"], [span for span in spans if span.pointer == CONTENT])


def _replace(text: str, spans: list[MaskedSpan]) -> str:
    parts, end = [], 0
    for span in spans:
        parts += [text[end : span.start], REDACTED]
        end = span.end
    return "".join([*parts, text[end:]])


def redact(event: SealedEvent, spans: list[MaskedSpan], content: str) -> dict[str, Any]:
    """Return `payload`, `source_span` and what is kept of the claims without any span, and with this content.

    A string gets `REDACTED` in place of each span; a number that was found, an object with a name that was found, and a
    memory id that was found are left out.
    """
    by_pointer = {pointer: list(own) for pointer, own in groupby(spans, lambda span: span.pointer)}
    values = dict(_walk(event.members))
    named = {path for path, value in values.items() if isinstance(value, dict)}
    hidden = {one.pointer for one in _find_all(event, values)[0]} & named
    kept = {
        name.removeprefix("/"): _redacted(value, name, by_pointer, hidden)
        for name, value in event.members.items()
        if name not in _CLAIMS
    }
    if event.supersedes is not None and "/supersedes" not in by_pointer:
        kept["supersedes"] = event.supersedes
    used = [one for index, one in enumerate(event.derived_from or ()) if f"/derived_from/{index}" not in by_pointer]
    if used:
        kept["derived_from"] = used
    return kept | {"payload": kept["payload"] | {"content": content}}


def _redacted(value: Any, path: str, spans: dict[str, list[MaskedSpan]], hidden: set[str]) -> Any:
    match value:
        case dict() if path in hidden:
            return {}
        case dict():
            return {
                name: _redacted(member, f"{path}/{escape_pointer(name)}", spans, hidden)
                for name, member in value.items()
                if isinstance(member, str | dict | list) or f"{path}/{escape_pointer(name)}" not in spans
            }
        case list():
            return [_redacted(item, f"{path}/{index}", spans, hidden) for index, item in enumerate(value)]
        case str():
            return _replace(value, spans.get(path, []))
        case _:
            return REDACTED if path in spans else value


def miss_examples(event: SealedEvent, spans: list[MaskedSpan]) -> str:
    """Return TOML with an example for each rule that found something: texts in which it must find nothing.

    An example is the value with the text beside it, without what other spans cover.
    """
    examples: dict[str, list[str]] = {}
    values = dict(_walk(event.members))
    for pointer, group in groupby(spans, lambda span: span.pointer):
        own = list(group)
        for span in own:
            for rule_id in span.rule_ids:
                examples.setdefault(rule_id, []).append(_example(values[pointer], own, span))
    return "\n".join(
        f"# Rule {rule_id}: add these texts to its `miss`.\nmiss = [\n"
        + "".join(f"    {_toml_string(text)},\n" for text in texts)
        + "]\n"
        for rule_id, texts in sorted(examples.items())
    )


def _example(value: Any, own: list[MaskedSpan], span: MaskedSpan) -> str:
    """Return a span of a value with the text beside it; `own` are all spans of the value."""
    if span.whole:
        return json.dumps(value, ensure_ascii=False)
    before = value[: span.start]
    after = value[span.end :]
    others_before = [one for one in own if one.end <= span.start]
    others_after = [
        msgspec.structs.replace(one, start=one.start - span.end, end=one.end - span.end)
        for one in own
        if one.start >= span.end
    ]
    text: str = value[span.start : span.end]
    return _replace(before, others_before)[-_AROUND:] + text + _replace(after, others_after)[:_AROUND]


def _toml_string(text: str) -> str:
    """Return a basic string of TOML, whose escapes are those of JSON; hidden characters are escaped too."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(_toml_escape(character) if is_hidden(character) else character for character in quoted)


def _toml_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= _LAST_SHORT else f"\\U{code:08x}"

"""Everything that is wrong with a submission's body, so that a refusal lists it at once.

The checks come in the order of their reasons: key, members, profile, types, grammar, normal form, hash. A later check
leaves out the places of which an earlier one complained, because one mistake would get two reasons.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, takewhile
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.admission.canonical import (
    MAX_REASONS,
    NORMAL_TRIM,
    WHITE_SPACE,
    escape_pointer,
    lower_ascii,
    normalize_text,
    profile_reasons,
    unescape_pointer,
)
from antechamber.core.contract import (
    HASH,
    KEY,
    KIND,
    MAX_DERIVED_FROM,
    MAX_TAG,
    MAX_TAGS,
    NAME,
    PRODUCER,
    SCOPES,
    Code,
    Payload,
    Reason,
    SourceSpan,
    SubmissionBody,
)
from antechamber.core.conversion import convert
from antechamber.core.times import parse_time

_OBJECTS: Final[dict[str, type[Struct]]] = {"": SubmissionBody, "/payload": Payload, "/source_span": SourceSpan}
_MEMBERS: Final = {pointer: frozenset(struct.__struct_fields__) for pointer, struct in _OBJECTS.items()}
_KEY: Final = "/idempotency_key"
_HASH: Final = "/source_event_hash"
_TYPES: Final[dict[str, Any]] = {
    f"{parent}/{field.name}": dict[str, Any] if f"{parent}/{field.name}" in _OBJECTS else field.type
    for parent, struct in _OBJECTS.items()
    for field in msgspec.structs.fields(struct)
    if field.name not in {"idempotency_key", "source_event_hash"}
}
"""Types by pointer, without key and hash, whose types are checked with their values."""
_LISTS: Final = frozenset({"/payload/tags", "/derived_from"})
"""Arrays, all of strings."""


def _required(parent: str) -> Iterator[tuple[str, str]]:
    """Yield the required members of an object as (parent's pointer, name), each object before its own members."""
    for field in msgspec.structs.fields(_OBJECTS[parent]):
        if field.required:
            yield parent, field.name
            yield from _required(f"{parent}/{field.name}") if f"{parent}/{field.name}" in _OBJECTS else ()


_REQUIRED: Final = tuple(member for member in _required("") if member != ("", "source_event_hash"))
"""Without the hash, which is checked last: its absence is a refusal of its own (`hash-missing`)."""


EXPECTED: Final = {
    "/idempotency_key": "a string of 1 to 128 characters A-Z a-z 0-9 . _ : ~ -",
    "/producer_identity": "worker, tool, repo or service, a colon and a name",
    "/submission_scope": "one of " + ", ".join(SCOPES),
    "/scope_id": "1 to 128 characters A-Z a-z 0-9 . _ / @ - that begin with a letter or digit",
    "/source_event_hash": "blake3: and 64 lower-case hex digits",
    "/payload": "an object",
    "/payload/kind": "a string that matches [a-z][a-z0-9_-]{0,63}",
    "/payload/content": "a string that is not blank",
    "/payload/tags": "an array of strings",
    "/payload/attributes": "an object",
    "/source_span": "an object",
    "/source_span/uri": "a string that is not empty",
    "/source_span/start": "an integer from 1",
    "/source_span/end": "an integer from 1",
    "/source_span/revision": "a string",
    "/source_span/heading": "a string",
    "/observed_at": "an RFC 3339 time with offset",
    "/visibility": "shareable or private",
    "/durable": "false, or absent",
    "/supersedes": "a string",
    "/derived_from": f"an array of 1 to {MAX_DERIVED_FROM} memory ids",
}
"""What each member must be, in words, by pointer."""


def draft_reasons(
    body: dict[str, Any], header_key: str | None, header_reasons: Sequence[Reason], is_private: Callable[[str], bool]
) -> list[Reason]:
    """Return what is wrong before the event is normalized, at most 20 reasons; none repeats a private name.

    `header_reasons` is what is wrong with the header Idempotency-Key.
    """
    hides = cache(is_private)
    reasons = [*(header_reasons or _key_reasons(body, header_key)), *_member_reasons(body, hides)]
    for name in ("payload", "source_span"):
        found = profile_reasons(body[name], f"/{name}", depth=2) if name in body else []
        reasons += _with_more(reasons, (_without_private_name(reason, hides) for reason in found))[len(reasons) :]
    return _with_more(_with_more(reasons, _type_reasons(body)), _grammar_reasons(body))[:MAX_REASONS]


def event_reasons(body: dict[str, Any], known: Sequence[Reason]) -> list[Reason]:
    """Return what is wrong with normal form, time, ids and form of the hash, together with what is known already."""
    return _with_more(known, _late_reasons(body))[:MAX_REASONS]


def is_event_sound(reasons: Sequence[Reason]) -> bool:
    """Return whether nothing is wrong with payload and source span, so that the event has a hash."""
    return not any((reason.pointer or "").startswith(("/payload", "/source_span")) for reason in reasons)


def _with_more(known: Sequence[Reason], more: Iterable[Reason]) -> list[Reason]:
    """Return reasons with those of a later check, without the places that are known to be wrong."""
    places = {reason.pointer for reason in known}
    return [*known, *islice((reason for reason in more if reason.pointer not in places), MAX_REASONS)]


def wrong(pointer: str, place: str | None = None, code: Code = "malformed") -> Reason:
    """Return a reason that says what a member must be; `place` is an item of it."""
    return Reason(code=code, message=f"must be {EXPECTED[pointer]}", pointer=place or pointer)


def _key_reasons(body: dict[str, Any], header_key: str | None) -> Iterator[Reason]:
    key = body.get("idempotency_key", header_key)
    if key is None and "idempotency_key" not in body:
        message = "send idempotency_key in the body or as header Idempotency-Key"
        yield Reason(code="key-missing", message=message, pointer=_KEY)
    elif not isinstance(key, str) or not KEY.fullmatch(key):
        yield wrong(_KEY, code="key-invalid")
    elif header_key is not None and key != header_key:
        yield Reason(code="key-header-differs", message="header and body name different keys", pointer=_KEY)


def _member_reasons(body: dict[str, Any], is_private: Callable[[str], bool]) -> list[Reason]:
    reasons = [
        Reason(code="unknown-member", message="no such member; free ones go into payload.attributes", pointer=place)
        for parent, known in _MEMBERS.items()
        if isinstance(holder := body if not parent else body.get(parent[1:]), dict)
        for name in holder
        if name not in known
        and (place := parent if is_private(name) else f"{parent}/{escape_pointer(name)}") is not None
    ][:MAX_REASONS]
    for parent, name in _REQUIRED:
        holder = body if not parent else body.get(parent[1:])
        if isinstance(holder, dict) and name not in holder:
            pointer = f"{parent}/{name}"
            message = f"missing; must be {EXPECTED[pointer]}"
            reasons.append(Reason(code="malformed", message=message, pointer=pointer))
    return reasons


def _value_at(body: dict[str, Any], pointer: str) -> tuple[bool, Any]:
    """Return whether a member is there, and its value."""
    parent, _, name = pointer[1:].rpartition("/")
    holder = body.get(parent) if parent else body
    return (True, holder[name]) if isinstance(holder, dict) and name in holder else (False, None)


def _without_private_name(reason: Reason, is_private: Callable[[str], bool]) -> Reason:
    """Return a reason whose pointer ends before the first private name."""
    steps = (reason.pointer or "").split("/")[1:]
    plain = list(takewhile(lambda step: not is_private(unescape_pointer(step)), steps))
    return reason if len(plain) == len(steps) else replace(reason, pointer="".join(f"/{step}" for step in plain))


def _type_reasons(body: dict[str, Any]) -> Iterator[Reason]:
    for pointer, kind in _TYPES.items():
        present, value = _value_at(body, pointer)
        if present and pointer in _LISTS and isinstance(value, list):
            yield from (
                wrong(pointer, f"{pointer}/{index}") for index, item in enumerate(value) if not isinstance(item, str)
            )
        elif present and not _has_type(value, kind):
            yield wrong(pointer)


def _has_type(value: Any, kind: Any) -> bool:
    try:
        convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _grammar_reasons(body: dict[str, Any]) -> Iterator[Reason]:
    for name, grammar in (("producer_identity", PRODUCER), ("scope_id", NAME)):
        if isinstance(text := body.get(name), str) and not grammar.fullmatch(text):
            yield wrong(f"/{name}")
    (_, start), (_, end) = _value_at(body, "/source_span/start"), _value_at(body, "/source_span/end")
    lines = {"/source_span/start": start, "/source_span/end": end}
    below = [pointer for pointer, line in lines.items() if type(line) is int and line < 1]
    yield from (Reason(code="malformed", message="lines count from 1", pointer=pointer) for pointer in below)
    if not below and type(start) is int and type(end) is int and start > end:
        yield Reason(code="malformed", message="start lies after end", pointer="/source_span/end")


def _late_reasons(body: dict[str, Any]) -> Iterator[Reason]:
    yield from _normal_form_reasons(body)
    observed = body.get("observed_at")
    if isinstance(observed, str) and not _is_time(observed):
        yield wrong("/observed_at")
    if (ids := _strings_at(body, "/derived_from")) is not None and not (
        1 <= len(set(ids)) <= MAX_DERIVED_FROM and all(map(KEY.fullmatch, ids))
    ):
        yield wrong("/derived_from")
    given = body.get("source_event_hash")
    if given is None:
        yield Reason(code="hash-missing", message=f"send {EXPECTED[_HASH]}", pointer=_HASH)
    elif not isinstance(given, str) or not HASH.fullmatch(given):
        yield wrong(_HASH)


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def _strings_at(body: dict[str, Any], pointer: str) -> list[str] | None:
    """Return an array of strings; None if there is something else."""
    _, value = _value_at(body, pointer)
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def _normal_form_reasons(body: dict[str, Any]) -> Iterator[Reason]:
    (_, content), (_, kind) = _value_at(body, "/payload/content"), _value_at(body, "/payload/kind")
    _, uri = _value_at(body, "/source_span/uri")
    # Normalization leaves no text blank that has a sign besides these, and line ends are among them.
    if isinstance(content, str) and not content.strip(NORMAL_TRIM + "\r"):
        yield wrong("/payload/content")
    if isinstance(kind, str) and not KIND.fullmatch(lower_ascii(normalize_text(kind))):
        yield wrong("/payload/kind")
    if (tags := _strings_at(body, "/payload/tags")) is not None and not _are_tags(tags):
        message = f"at most {MAX_TAGS} tags of 1 to {MAX_TAG} characters without white space"
        yield Reason(code="malformed", message=message, pointer="/payload/tags")
    if uri == "":
        yield wrong("/source_span/uri")


def _are_tags(tags: list[str]) -> bool:
    """Return whether tags are few, short and without white space in normal form."""
    normal = {lower_ascii(normalize_text(tag)) for tag in tags}
    return len(normal) <= MAX_TAGS and all(1 <= len(tag) <= MAX_TAG and not WHITE_SPACE.search(tag) for tag in normal)

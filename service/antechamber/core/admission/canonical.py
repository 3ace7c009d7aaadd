"""Normal form, canonical bytes and hash of a source event (RFC 8785 with a profile of its own)."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice, takewhile
from typing import Any, Final

import msgspec
from blake3 import blake3

from antechamber.core.contract import (
    MAX_DEPTH,
    MAX_INTEGER,
    MEMBER,
    NoteBody,
    Payload,
    Reason,
    SourceSpan,
    SubmissionBody,
)
from antechamber.core.errors import RequestRefusedError, refuse

NORMAL_FORM: Final = 1
HASH_PREFIX: Final = "blake3:"
FREE: Final = "/payload/attributes"
NORMAL_TRIM: Final = "\t\n "
"""Characters that normalization strips from both ends of the content."""
MAX_REASONS: Final = 20
"""Maximum number of violations that one response lists; others are reported once these are fixed."""

WHITE_SPACE: Final = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""The 25 code points with the property White_Space (Unicode, PropList.txt)."""

_MARKS: Final = re.compile(r"[^\w\s\x00-\u02ff]{31,}")
"""Runs that may consist of combining marks.

Combining marks are neither letters, numbers nor white space, and begin at U+0300.
"""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_GZIP: Final = b"\x1f\x8b"
_NO_JSON: Final = "the body is not JSON as RFC 8259 defines it, without byte order mark"
_KNOWN_NAMES: Final = frozenset(
    name for struct in (SubmissionBody, Payload, SourceSpan, NoteBody) for name in struct.__struct_fields__
)
"""The names that the contract gives to members."""
_UPPER_TO_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_encoder: Final = msgspec.json.Encoder(order="sorted")
_in_order: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


def decode(raw: bytes) -> Any:
    """Decode strict JSON, in which no object names a member twice (RFC 8259 leaves this open, RFC 7493 forbids it).

    Raises RequestRefusedError with `malformed`, `duplicate-member` or, if it is nested too deeply for a parser,
    `out-of-profile`.
    """
    try:
        value = _decoder.decode(raw)
        _refuse_duplicates(raw, value)
    except RecursionError:
        raise refuse("out-of-profile", f"nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise refuse("malformed", "the body is not UTF-8") from None
    except msgspec.DecodeError:
        raise _decode_refusal(raw) from None
    return value


def _decode_refusal(raw: bytes) -> RequestRefusedError:
    """Return the refusal for a body that the decoder rejects.

    It distinguishes text that is not JSON from JSON outside the profile, such as a lone surrogate or an infinite
    number.
    """
    if not raw.strip():
        return refuse("malformed", "the body is empty; send a JSON object")
    if raw.startswith(_GZIP):
        return refuse("malformed", "the body is compressed; send it as plain JSON, without Content-Encoding")
    try:
        return _surrogate_refusal(
            json.loads(raw.decode(), parse_constant=_refuse_constant, parse_int=str, parse_float=str)
        )
    except json.JSONDecodeError as error:
        return refuse("malformed", f"{_NO_JSON}, from character {error.pos + 1:,} on")
    except ValueError:
        return refuse("malformed", _NO_JSON)
    except RecursionError:
        return refuse("out-of-profile", f"nested deeper than {MAX_DEPTH} levels")


def _surrogate_refusal(value: Any) -> RequestRefusedError:
    """Return the refusal for a value whose text is JSON outside the profile."""
    pointers = list(dict.fromkeys(_known_part(at) for at, text in strings_of(value, "") if _SURROGATE.search(text)))
    message = "a string holds a lone surrogate, which is half a character; send the whole character or leave it out"
    if pointers:
        reasons = (Reason(code="out-of-profile", message=message, pointer=pointer or None) for pointer in pointers)
        return RequestRefusedError(list(islice(reasons, MAX_REASONS)))
    return refuse("out-of-profile", "a member name holds a lone surrogate, or a number lies beyond 2^53-1")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _known_part(pointer: str) -> str:
    """Return the part of a pointer that the contract names: any other name may be a private value."""
    return "".join(f"/{step}" for step in takewhile(_KNOWN_NAMES.__contains__, pointer.split("/")[1:]))


def _refuse_duplicates(raw: bytes, value: Any) -> None:
    """Raise if an object names a member twice, which the decoder silently drops.

    If the compacted input equals the re-encoded value, nothing was dropped. Otherwise, which includes other spellings
    of the same value (escapes), the slower standard library checks the members.
    """
    if msgspec.json.format(raw, indent=-1) != _in_order.encode(value):
        json.loads(raw, object_pairs_hook=_unique_members, parse_int=str, parse_float=str)


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        # Any other name may be a private value.
        known = ", ".join(name for name in twice if name in _KNOWN_NAMES)
        raise refuse("duplicate-member", "an object names a member twice" + (f": {known}" if known else ""))
    return members


def strings_of(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield pointer and text of every string of a value, whose own pointer is given; names are left out."""
    match value:
        case str():
            yield pointer, value
        case list():
            for index, item in enumerate(value):
                yield from strings_of(item, f"{pointer}/{index}")
        case dict():
            for name, member in value.items():
                yield from strings_of(member, f"{pointer}/{escape_pointer(name)}")


def escape_pointer(name: str) -> str:
    """Escape one reference token of a JSON pointer (RFC 6901 section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def unescape_pointer(step: str) -> str:
    """Return the name of a reference token of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


def profile_reasons(value: Any, pointer: str = "", depth: int = 1) -> list[Reason]:
    """Return the first 20 places outside the JSON profile (`out-of-profile`).

    `depth` is the nesting depth of `value`, and the body has depth 1.
    """
    return list(islice(_violations(value, pointer, depth, null_allowed=False), MAX_REASONS))


def check_profile(value: Any, pointer: str = "", depth: int = 1) -> None:
    """Refuse values outside the JSON profile; see profile_reasons.

    Raises RequestRefusedError (`out-of-profile`).
    """
    if violations := profile_reasons(value, pointer, depth):
        raise RequestRefusedError(violations)


def _violations(value: Any, pointer: str, depth: int, *, null_allowed: bool) -> Iterator[Reason]:
    match value:
        case dict() | list() if depth > MAX_DEPTH:
            yield _profile_reason(pointer, f"nested deeper than {MAX_DEPTH} levels")
        case dict():
            yield from _in_object(value, pointer, depth, null_allowed=null_allowed)
        case list():
            for index, item in enumerate(value):
                yield from _violations(item, f"{pointer}/{index}", depth + 1, null_allowed=null_allowed)
        case _:
            if message := _scalar_violation(value, null_allowed=null_allowed and pointer != FREE):
                yield _profile_reason(pointer, message)


def _in_object(value: dict[str, Any], pointer: str, depth: int, *, null_allowed: bool) -> Iterator[Reason]:
    for name, member in value.items():
        child = f"{pointer}/{escape_pointer(name)}"
        if not MEMBER.fullmatch(name):
            yield _profile_reason(pointer, "a member name does not match [a-z][a-z0-9_]*")
        yield from _violations(member, child, depth + 1, null_allowed=null_allowed or child == FREE)


def _scalar_violation(value: Any, *, null_allowed: bool) -> str | None:
    match value:
        case float():
            return "numbers with a fraction or exponent are refused; write decimals as strings"
        case int() if abs(value) > MAX_INTEGER:
            return "integers must lie within 2^53-1; write larger ones as strings"
        case None if not null_allowed:
            return "null is allowed only inside attributes; leave the member out"
        case _:
            return None


def _profile_reason(pointer: str, message: str) -> Reason:
    return Reason(code="out-of-profile", message=message, pointer=pointer)


def order_marks(text: str) -> str:
    """Put long runs of combining marks into canonical order (Unicode, D109); the text stays canonically equivalent.

    The standard library sorts such a run by insertion, which takes quadratic time unless the run is in order already.
    """
    return text if text.isascii() else _MARKS.sub(_order_run, text)


def _order_run(run: re.Match[str]) -> str:
    """Decompose each mark, because some become several, and sort each group of marks between non-reordering ones."""
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])
    groups = groupby(marks, key=lambda mark: unicodedata.combining(mark) > 0)
    return "".join("".join(sorted(group, key=unicodedata.combining) if moving else group) for moving, group in groups)


def normalize_text(text: str) -> str:
    """Convert one string to NFC with LF line ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", order_marks(text))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def lower_ascii(text: str) -> str:
    """Convert A-Z to lower case and leave all other characters unchanged."""
    return text.translate(_UPPER_TO_LOWER)


def _normalize_strings(value: Any) -> Any:
    match value:
        case str():
            return normalize_text(value)
        case dict():
            return {name: _normalize_strings(member) for name, member in value.items()}
        case list():
            return [_normalize_strings(item) for item in value]
        case _:
            return value


def normalize(payload: dict[str, Any], source_span: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return payload and source span in normal form 1; both must fit the profile, and their members the expected types.

    Absent members stay absent, so that the hash never includes a default.
    """
    payload = _normalize_strings(payload)
    payload["content"] = payload["content"].strip(NORMAL_TRIM)
    payload["kind"] = lower_ascii(payload["kind"])
    if "tags" in payload:
        payload["tags"] = sorted({lower_ascii(tag) for tag in payload["tags"]})
    return payload, _normalize_strings(source_span)


def canonical(value: Any) -> bytes:
    """Encode a value as RFC 8785 does; for values of the profile msgspec's sorted form has the same bytes."""
    return _encoder.encode(value)


def decoded(text: str) -> Any:
    """Decode a text that `canonical` wrote."""
    return _decoder.decode(text)


def digest(data: bytes) -> str:
    """Return the BLAKE3-256 of bytes, as `b3sum` prints it, with the prefix of normal form 1."""
    return HASH_PREFIX + blake3(data).hexdigest()


def event_bytes(payload: dict[str, Any], source_span: dict[str, Any]) -> bytes:
    """Return the canonical bytes of an event in normal form; their digest is the source-event hash."""
    return join_event(canonical(payload), canonical(source_span))


def join_event(payload: bytes, source_span: bytes) -> bytes:
    """Join the canonical bytes of payload and source span to those of the event; the members are sorted already."""
    return b'{"payload":%b,"source_span":%b,"version":%d}' % (payload, source_span, NORMAL_FORM)

"""The fast path for reading a submission in normal form; its result equals that of `read_draft` and `read_event`.

Most bodies come from clients that normalize before they hash. The fast path reads such a body in a third of the time
and returns None for every other body, so that the slow path forms all refusals and reasons. A property test checks that
both paths agree.
"""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET

from antechamber.core.admission.canonical import NORMAL_TRIM, canonical, check_profile, digest, join_event
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import (
    KEY,
    KIND,
    MAX_BODY,
    MAX_DERIVED_FROM,
    MAX_INTEGER,
    MAX_TAGS,
    MEMBER,
    NAME,
    PRODUCER,
    SubmissionBody,
)
from antechamber.core.conversion import json_decoder
from antechamber.core.errors import RequestRefusedError
from antechamber.core.times import parse_time

_PLAIN_TAG: Final = re.compile(r"[!-@\[-~]{1,64}")
"""A tag of printable ASCII without spaces and capitals, which is in normal form."""
_PLAIN_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
"""Times that the standard library parses as RFC 3339 defines: no leap second, at most 6 decimal places."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


_decoder: Final = json_decoder(SubmissionBody)
_encoder: Final = msgspec.json.Encoder()


def read_fast(raw: bytes, header_key: str | None = None) -> Submission | None:
    """Read a body in normal form with the right hash; return None for every other body."""
    if len(raw) > MAX_BODY:
        return None
    try:
        body = _decoder.decode(raw)
        return _submission(body, raw, header_key) if _is_normal(body) else None
    except (RequestRefusedError, msgspec.DecodeError, ValueError, RecursionError):
        return None


def _submission(body: SubmissionBody, raw: bytes, header_key: str | None) -> Submission | None:
    key = header_key if body.idempotency_key is UNSET else body.idempotency_key
    if key is None or header_key not in {None, key} or not KEY.fullmatch(key) or _names_twice(raw, body):
        return None
    payload, source_span = canonical(body.payload), canonical(body.source_span)
    data = join_event(payload, source_span)
    if digest(data) != body.source_event_hash or not _is_composed(data):
        return None
    return Submission(
        idempotency_key=key,
        producer_identity=body.producer_identity,
        submission_scope=body.submission_scope,
        scope_id=body.scope_id,
        source_event_hash=body.source_event_hash,
        kind=body.payload.kind,
        payload_json=payload.decode(),
        source_span_json=source_span.decode(),
        size=len(data),
        observed_at=_micros(body.observed_at) if body.observed_at is not UNSET else None,
        visibility=body.visibility or None,
        supersedes=body.supersedes if body.supersedes is not UNSET else None,
        derived_from=body.derived_from or None,
    )


def _names_twice(raw: bytes, body: SubmissionBody) -> bool:
    """Return whether an object may have named a member twice, of which the decoder keeps only one.

    The encoder writes the shortest form of a value without floats, so a body of the same length lost nothing.
    """
    size = len(_encoder.encode(body))
    return size != len(raw) and size != len(msgspec.json.format(raw, indent=-1))


def _is_composed(data: bytes) -> bool:
    """Return whether every string of a canonical text is in NFC and has LF line ends.

    An escaped carriage return counts as not normal, because it could become a line feed. A quotation mark composes with
    no other character, so if the whole text is in NFC, each of its strings is.
    """
    return b"\\r" not in data and (data.isascii() or unicodedata.is_normalized("NFC", data.decode()))


@lru_cache(maxsize=4096)
def _is_named(producer_identity: str, scope_id: str, kind: str) -> bool:
    """Return whether the names match their grammars; cached, because many submissions share them."""
    return bool(PRODUCER.fullmatch(producer_identity) and NAME.fullmatch(scope_id) and KIND.fullmatch(kind))


def _is_normal(body: SubmissionBody) -> bool:
    """Return whether everything except key, composition and line ends is in normal form.

    Raises RequestRefusedError if attributes lie outside the profile.
    """
    payload, span = body.payload, body.source_span
    content, start = payload.content, span.start or 1
    if payload.attributes and not _are_plain(payload.attributes):
        check_profile({"attributes": payload.attributes}, "/payload", depth=2)
    return (
        not body.durable
        and bool(content)
        and content[0] not in NORMAL_TRIM
        and content[-1] not in NORMAL_TRIM
        and _is_named(body.producer_identity, body.scope_id, payload.kind)
        and (not payload.tags or _are_normal(payload.tags))
        and (body.derived_from is UNSET or _are_memory_ids(body.derived_from))
        and bool(span.uri)
        and span.start != 0
        and 1 <= start <= (MAX_INTEGER if span.end is UNSET else span.end) <= MAX_INTEGER
    )


def _are_plain(attributes: dict[str, Any]) -> bool:
    """Return whether attributes fit the profile by a quick check that accepts only flat strings and integers."""
    return all(map(MEMBER.fullmatch, attributes)) and all(
        type(value) is str or (type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER)
        for value in attributes.values()
    )


def _are_normal(tags: list[str]) -> bool:
    return len(tags) <= MAX_TAGS and all(map(_PLAIN_TAG.fullmatch, tags)) and tags == sorted(set(tags))


def _are_memory_ids(memory_ids: list[str]) -> bool:
    return (
        1 <= len(memory_ids) <= MAX_DERIVED_FROM
        and all(map(KEY.fullmatch, memory_ids))
        and memory_ids == sorted(set(memory_ids))
    )


def _micros(text: str) -> int:
    """Return a time in microseconds since 1970 UTC.

    Raises ValueError if the text is not an RFC 3339 time.
    """
    if _PLAIN_TIME.fullmatch(text):
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    return parse_time(text)

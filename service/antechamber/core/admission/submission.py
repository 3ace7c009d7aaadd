"""Parse untrusted bytes into an event in normal form, or raise a refusal that explains what to fix."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.body_checks import EXPECTED, draft_reasons, event_reasons, is_event_sound
from antechamber.core.admission.canonical import (
    MAX_REASONS,
    canonical,
    decode,
    decoded,
    digest,
    event_bytes,
    join_event,
    normalize,
)
from antechamber.core.contract import KEY, MAX_BODY, Reason, Scope, Visibility
from antechamber.core.errors import RequestRefusedError, refuse
from antechamber.core.times import parse_time

_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}|.{1,5}", re.DOTALL)
"""A plain word, or a name shorter than the shortest private value, `a@b.cd`."""


class Submission(Struct, frozen=True, kw_only=True):
    """One parsed submission with its event in normal form."""

    idempotency_key: str
    producer_identity: str
    submission_scope: Scope
    scope_id: str
    source_event_hash: str
    kind: str
    payload_json: str
    """The canonical payload, as it is stored."""
    source_span_json: str
    """The canonical source span, as it is stored."""
    size: int
    """Bytes of the canonical event."""
    observed_at: int | None = None
    """Microseconds since 1970 UTC."""
    visibility: Visibility | None = None
    supersedes: str | None = None
    derived_from: list[str] | None = None
    """Memory ids, unique and sorted by code point."""
    as_sent: dict[str, Any] = {}
    """Kind and tags as they were sent, where capital letters became small: a scan sees these."""

    @property
    def payload(self) -> dict[str, Any]:
        """The payload in normal form."""
        found: dict[str, Any] = decoded(self.payload_json)
        return found

    @property
    def source_span(self) -> dict[str, Any]:
        """The source span in normal form."""
        found: dict[str, Any] = decoded(self.source_span_json)
        return found


class Draft(Struct, frozen=True, kw_only=True):
    """A well-formed body whose hash is not compared yet; an answer can already echo its known members."""

    body: dict[str, Any]
    idempotency_key: str


def read_key_header(values: list[str]) -> str | None:
    """Read the Idempotency-Key header: one line without parameters, a structured-field string or the bare characters.

    Raises RequestRefusedError (`key-invalid`) if the header is repeated or its value is not a key.
    """
    if not values:
        return None
    if len(values) > 1:
        raise refuse("key-invalid", "the header Idempotency-Key occurs more than once")
    value = values[0].strip(" \t")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    if not KEY.fullmatch(value):
        raise refuse("key-invalid", "the header Idempotency-Key must hold " + EXPECTED["/idempotency_key"])
    return value


def _is_odd(name: str) -> bool:
    """Return whether a name is not a plain word, so that it may be a private value."""
    return _PLAIN_NAME.fullmatch(name) is None


def read_draft(
    raw: bytes,
    header_key: str | None = None,
    is_private: Callable[[str], bool] = _is_odd,
    header_reasons: Sequence[Reason] = (),
) -> Draft:
    """Parse a request body and find its key; the event's hash is not compared yet.

    `header_reasons` is what is wrong with the header Idempotency-Key, if it could not be read. No refusal repeats a
    name that `is_private`; without a gate, that is every name that is not a plain word.

    Raises RequestRefusedError with all 400 codes that can be known, or with `direct-write` or `body-too-large`.
    """
    if len(raw) > MAX_BODY:
        raise refuse("body-too-large", f"a submission may have {MAX_BODY} bytes")
    try:
        body = decode(raw)
    except RequestRefusedError as error:
        raise RequestRefusedError([*header_reasons, *error.reasons]) from None
    if not isinstance(body, dict):
        no_object = Reason(code="malformed", message="the body must be a JSON object")
        raise RequestRefusedError([*header_reasons, no_object])
    if body.get("durable") is True:
        raise refuse("direct-write", "durable: true asks for a write that only a curator can make", "/durable")
    reasons = draft_reasons(body, header_key, header_reasons, is_private)
    if reasons:
        reasons = event_reasons(body, reasons)
        raise RequestRefusedError(reasons + _hash_reasons(body, reasons))
    return Draft(body=body, idempotency_key=str(body.get("idempotency_key", header_key)))


def read_event(draft: Draft) -> Submission:
    """Normalize a draft's event and compare its hash.

    Raises RequestRefusedError (`malformed`, `hash-missing`, `hash-mismatch`) with every reason.
    """
    body = draft.body
    reasons = event_reasons(body, ())
    if not is_event_sound(reasons):
        raise RequestRefusedError(reasons)
    payload, source_span = normalize(body["payload"], body["source_span"])
    payload_json, source_span_json = canonical(payload), canonical(source_span)
    data = join_event(payload_json, source_span_json)
    source_event_hash = digest(data)
    reasons += _mismatch(body, source_event_hash, reasons)
    if reasons:
        raise RequestRefusedError(reasons)
    return Submission(
        idempotency_key=draft.idempotency_key,
        producer_identity=body["producer_identity"],
        submission_scope=body["submission_scope"],
        scope_id=body["scope_id"],
        source_event_hash=source_event_hash,
        kind=payload["kind"],
        payload_json=payload_json.decode(),
        source_span_json=source_span_json.decode(),
        size=len(data),
        observed_at=parse_time(body["observed_at"]) if "observed_at" in body else None,
        visibility=body.get("visibility"),
        supersedes=body.get("supersedes"),
        derived_from=sorted(set(body["derived_from"])) if "derived_from" in body else None,
        as_sent=_lowered(body["payload"], payload),
    )


def _hash_reasons(body: dict[str, Any], known: Sequence[Reason]) -> list[Reason]:
    """Return `hash-mismatch` for a body that is refused anyway, if its event has a hash and another one was sent."""
    # A full list may have left out what is wrong with the event.
    if len(known) == MAX_REASONS or not is_event_sound(known):
        return []
    return _mismatch(body, digest(event_bytes(*normalize(body["payload"], body["source_span"]))), known)


def _mismatch(body: dict[str, Any], computed: str, known: Sequence[Reason]) -> list[Reason]:
    pointer = "/source_event_hash"
    if body.get("source_event_hash") == computed or pointer in {reason.pointer for reason in known}:
        return []
    message = "the hash differs from the one computed over the normal form"
    return [Reason(code="hash-mismatch", message=message, pointer=pointer)]


def _lowered(sent: dict[str, Any], normal: dict[str, Any]) -> dict[str, Any]:
    """Return kind and tags of a payload as they were sent, if the normal form has other ones."""
    names = ("kind", "tags")
    return {
        name: sent[name] for name in names if name in sent and sent[name] != normal[name] and _has_capitals(sent[name])
    }


def _has_capitals(value: str | list[str]) -> bool:
    return any(sign.isupper() for text in value for sign in text)


def compared_bytes(submission: Submission) -> bytes:
    """Return the canonical bytes of everything that is compared under a key."""
    return canonical(
        [
            submission.source_event_hash,
            submission.submission_scope,
            submission.scope_id,
            submission.visibility,
            submission.supersedes,
            submission.derived_from,
        ]
    )


def fingerprint(compared: bytes, secret: bytes | None = None) -> bytes:
    """Digest what is compared under a key to 16 bytes; the 32-byte secret is used if the event is private."""
    hasher = blake3(compared, key=secret) if secret else blake3(compared)
    return hasher.digest(length=16)


def derived_key(submission: Submission) -> str:
    """Derive a key from content alone, for senders without a ledger: the same event always has the same key."""
    text = f"{submission.source_event_hash}\n{submission.submission_scope}\n{submission.scope_id}"
    return "ev1-" + blake3(text.encode()).hexdigest()[:32]

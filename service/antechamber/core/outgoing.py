"""Events before they are sent: parsed strictly, hashed as the server does, and given a key."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.body_checks import EXPECTED, wrong
from antechamber.core.admission.canonical import decode, digest, event_bytes, normalize, profile_reasons
from antechamber.core.admission.submission import compared_bytes, derived_key, fingerprint, read_draft, read_event
from antechamber.core.contract import Reason
from antechamber.core.errors import RequestRefusedError, refuse
from antechamber.core.review.notes import read_note


class Body(Struct, frozen=True, kw_only=True):
    """A body to send, and the values that identify its event."""

    body: bytes
    key: str
    producer_identity: str
    source_event_hash: str
    fingerprint: bytes


def body_of(event: Mapping[str, Any] | bytes, key: str | None) -> Body:
    """Complete an event with its hash and this key; without a key, with its own or one derived from its content.

    Raises RequestRefusedError if it is malformed, has a hash that differs, or has its own key although one is given.
    """
    body = decode(event if isinstance(event, bytes) else _encoded(event))
    if not isinstance(body, dict):
        raise refuse("malformed", "an event must be a JSON object")
    own_key = "idempotency_key" in body
    if own_key and key is not None:
        raise refuse("malformed", "the key is not the sender's to choose; leave it out", "/idempotency_key")
    if "source_event_hash" not in body:
        body["source_event_hash"] = hash_event(body)
    submission = read_event(read_draft(msgspec.json.encode({"idempotency_key": key or "unset", **body})))
    if key is None:
        key = submission.idempotency_key if own_key else derived_key(submission)
    return Body(
        body=msgspec.json.encode({"idempotency_key": key, **body}),
        key=key,
        producer_identity=submission.producer_identity,
        source_event_hash=submission.source_event_hash,
        fingerprint=fingerprint(compared_bytes(submission)),
    )


class OutgoingNote(Struct, frozen=True, kw_only=True):
    """A note of a producer to send: the body, and the key of a note, which is apart from keys of submissions."""

    body: bytes
    key: str


def note_of(submission_id: str, text: str, key: str | None = None) -> OutgoingNote:
    """Return a note to send; without a key, with one derived from the submission and the text.

    Raises RequestRefusedError if the text is malformed.
    """
    normal = read_note(_encoded({"text": text}))
    if key is None:
        key = "note1-" + blake3(f"{submission_id}\n{normal}".encode()).hexdigest()[:32]
    return OutgoingNote(body=msgspec.json.encode({"text": normal}), key=key)


def _encoded(event: Mapping[str, Any]) -> bytes:
    """Encode values that have their own JSON form; other types and infinite numbers are refused."""
    if not isinstance(event, Mapping):
        raise refuse("malformed", f"an event is a mapping, or JSON as bytes, and not {type(event).__name__}")
    try:
        return json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise refuse("out-of-profile", "a string holds a lone surrogate") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("malformed", f"no JSON: {error}") from None


def hash_event(value: Any) -> str:
    """Return the source-event hash of a body, or of `{payload, source_span}`.

    Raises RequestRefusedError with every reason for which the event has no hash.
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(name), dict) for name in ("payload", "source_span")):
        raise refuse("malformed", "an event needs the objects payload and source_span")
    reasons = [one for name in ("payload", "source_span") for one in profile_reasons(value[name], f"/{name}", depth=2)]
    outside = {reason.pointer for reason in reasons}
    reasons += (reason for reason in _type_reasons(value) if reason.pointer not in outside)
    if reasons:
        raise RequestRefusedError(reasons)
    return digest(event_bytes(*normalize(value["payload"], value["source_span"])))


def _type_reasons(event: dict[str, Any]) -> Iterator[Reason]:
    """Yield what is missing or of another type among the members that normalization changes."""
    for holder, name in (("payload", "kind"), ("payload", "content"), ("source_span", "uri")):
        if name not in event[holder]:
            pointer = f"/{holder}/{name}"
            yield Reason(code="malformed", message=f"missing; must be {EXPECTED[pointer]}", pointer=pointer)
        elif not isinstance(event[holder][name], str):
            yield wrong(f"/{holder}/{name}")
    tags = event["payload"].get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        yield wrong("/payload/tags")

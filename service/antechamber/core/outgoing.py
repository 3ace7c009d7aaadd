"""Events before they are sent: parsed strictly, hashed as the server does, and given a key."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import check_profile, decode, digest, event_bytes, normalize
from antechamber.core.admission.submission import compared_bytes, derived_key, fingerprint, read_draft, read_event
from antechamber.core.errors import refuse


class Body(Struct, frozen=True, kw_only=True):
    """A body to send, and the values that identify its event."""

    body: bytes
    key: str
    producer_identity: str
    source_event_hash: str
    fingerprint: bytes


def body_of(event: Mapping[str, Any] | bytes, key: str | None) -> Body:
    """Complete an event with its hash and this key, or with a key derived from its content.

    Raises RequestRefusedError if it is malformed, or has its own key or a hash that differs.
    """
    body = decode(event if isinstance(event, bytes) else _encoded(event))
    if not isinstance(body, dict):
        raise refuse("malformed", "an event must be a JSON object")
    if "idempotency_key" in body:
        raise refuse("malformed", "the key is not the sender's to choose; leave it out", "/idempotency_key")
    if "source_event_hash" not in body:
        body["source_event_hash"] = hash_event(body)
    submission = read_event(read_draft(msgspec.json.encode({"idempotency_key": key or "unset", **body})))
    key = key or derived_key(submission)
    return Body(
        body=msgspec.json.encode({"idempotency_key": key, **body}),
        key=key,
        producer_identity=submission.producer_identity,
        source_event_hash=submission.source_event_hash,
        fingerprint=fingerprint(compared_bytes(submission)),
    )


def _encoded(event: Mapping[str, Any]) -> bytes:
    """Encode values that have their own JSON form; other types and infinite numbers are refused."""
    try:
        return json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise refuse("out-of-profile", "a string holds a lone surrogate") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("malformed", f"no JSON: {error}") from None


def fill_in(raw: bytes) -> bytes:
    """Complete a body: a missing hash is computed, and a missing key is derived from the content.

    Raises RequestRefusedError if the event is malformed or a given hash differs.
    """
    body = decode(raw)
    if not isinstance(body, dict):
        raise refuse("malformed", "a line must be a JSON object")
    if "source_event_hash" not in body:
        body["source_event_hash"] = hash_event(body)
    if "idempotency_key" not in body:
        draft = read_draft(msgspec.json.encode({**body, "idempotency_key": "unset"}))
        body["idempotency_key"] = derived_key(read_event(draft))
    return msgspec.json.encode(body)


def hash_event(value: Any) -> str:
    """Return the source-event hash of a body, or of `{payload, source_span}`.

    Raises RequestRefusedError if the event is malformed.
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(name), dict) for name in ("payload", "source_span")):
        raise refuse("malformed", "an event needs the objects payload and source_span")
    for name in ("payload", "source_span"):
        check_profile(value[name], f"/{name}", depth=2)
    for holder, name in (("payload", "kind"), ("payload", "content"), ("source_span", "uri")):
        if not isinstance(value[holder].get(name), str):
            raise refuse("malformed", "must be a string", f"/{holder}/{name}")
    tags = value["payload"].get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise refuse("malformed", "must be an array of strings", "/payload/tags")
    return digest(event_bytes(*normalize(value["payload"], value["source_span"])))

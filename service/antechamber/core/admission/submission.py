"""Parse untrusted bytes into an event in normal form, or raise a refusal that explains what to fix."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.canonical import (
    MAX_REASONS,
    WHITE_SPACE,
    canonical,
    check_profile,
    decode,
    decoded,
    digest,
    escape_pointer,
    join_event,
    normalize,
)
from antechamber.core.contract import (
    HASH,
    KEY,
    KIND,
    MAX_BODY,
    MAX_DERIVED_FROM,
    MAX_TAG,
    MAX_TAGS,
    NAME,
    PRODUCER,
    SCOPES,
    Payload,
    Reason,
    Scope,
    SourceSpan,
    SubmissionBody,
    Visibility,
)
from antechamber.core.errors import RequestRefusedError, refuse
from antechamber.core.times import parse_time

_OBJECTS: Final[dict[str, type[Struct]]] = {"": SubmissionBody, "/payload": Payload, "/source_span": SourceSpan}
_MEMBERS: Final = {pointer: frozenset(struct.__struct_fields__) for pointer, struct in _OBJECTS.items()}


def _required(parent: str) -> Iterator[tuple[str, str]]:
    """Yield the required members of an object as (parent's pointer, name), each object before its own members."""
    for field in msgspec.structs.fields(_OBJECTS[parent]):
        if field.required:
            yield parent, field.name
            yield from _required(f"{parent}/{field.name}") if f"{parent}/{field.name}" in _OBJECTS else ()


_REQUIRED: Final = tuple(member for member in _required("") if member != ("", "source_event_hash"))
"""Without the hash, which is checked last: its absence is a refusal of its own (`hash-missing`)."""


_EXPECTED: Final = {
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


_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}|.{1,5}", re.DOTALL)
"""A plain word, or a name shorter than the shortest private value, `a@b.cd`."""
_STEP: Final = re.compile(r"\.([a-z_]+)|\[(\d+)\]")


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
        raise refuse("key-invalid", "the header Idempotency-Key must hold " + _EXPECTED["/idempotency_key"])
    return value


def _is_odd(name: str) -> bool:
    """Return whether a name is not a plain word, so that it may be a private value."""
    return _PLAIN_NAME.fullmatch(name) is None


def read_draft(raw: bytes, header_key: str | None = None, is_private: Callable[[str], bool] = _is_odd) -> Draft:
    """Parse a request body and find its key; the event's hash is not compared yet.

    No refusal repeats a name that `is_private`; without a gate, that is every name that is not a plain word.

    Raises RequestRefusedError with the 400 codes, `direct-write` or `body-too-large`.
    """
    if len(raw) > MAX_BODY:
        raise refuse("body-too-large", f"a submission may have {MAX_BODY} bytes")
    body = decode(raw)
    if not isinstance(body, dict):
        raise refuse("malformed", "the body must be a JSON object")
    if body.get("durable") is True:
        raise refuse("direct-write", "durable: true asks for a write that only a curator can make", "/durable")
    key = _find_key(body, header_key)
    _check_members(body, is_private)
    for name in ("payload", "source_span"):
        check_profile(body[name], f"/{name}", depth=2)
    _check_types(body)
    _check_grammar(body)
    return Draft(body=body, idempotency_key=key)


def read_event(draft: Draft) -> Submission:
    """Normalize a draft's event and compare its hash.

    Raises RequestRefusedError (`malformed`, `hash-missing`, `hash-mismatch`).
    """
    body = draft.body
    payload, source_span = normalize(body["payload"], body["source_span"])
    _check_normal_form(payload, source_span)
    payload_json, source_span_json = canonical(payload), canonical(source_span)
    data = join_event(payload_json, source_span_json)
    submission = Submission(
        idempotency_key=draft.idempotency_key,
        producer_identity=body["producer_identity"],
        submission_scope=body["submission_scope"],
        scope_id=body["scope_id"],
        source_event_hash=digest(data),
        kind=payload["kind"],
        payload_json=payload_json.decode(),
        source_span_json=source_span_json.decode(),
        size=len(data),
        observed_at=_observed(body),
        visibility=body.get("visibility"),
        supersedes=body.get("supersedes"),
        derived_from=_derived_from(body),
        as_sent=_lowered(body["payload"], payload),
    )
    _compare_hash(body.get("source_event_hash"), submission.source_event_hash)
    return submission


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


def _find_key(body: dict[str, Any], header_key: str | None) -> str:
    key = body.get("idempotency_key", header_key)
    if key is None and "idempotency_key" not in body:
        raise refuse("key-missing", "send idempotency_key in the body or as header Idempotency-Key", "/idempotency_key")
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise refuse("key-invalid", f"must be {_EXPECTED['/idempotency_key']}", "/idempotency_key")
    if header_key is not None and key != header_key:
        raise refuse("key-header-differs", "header and body name different keys", "/idempotency_key")
    return key


def _check_members(body: dict[str, Any], is_private: Callable[[str], bool]) -> None:
    reasons = [
        Reason(code="unknown-member", message="no such member; free ones go into payload.attributes", pointer=place)
        for parent, known in _MEMBERS.items()
        if isinstance(holder := body if not parent else body.get(parent[1:]), dict)
        for name in holder
        if name not in known
        and (place := parent if is_private(name) else f"{parent}/{escape_pointer(name)}") is not None
    ]
    for parent, name in _REQUIRED:
        holder = body if not parent else body.get(parent[1:])
        if isinstance(holder, dict) and name not in holder:
            pointer = f"{parent}/{name}"
            reasons.append(Reason(code="malformed", message=f"missing; must be {_EXPECTED[pointer]}", pointer=pointer))
    if reasons:
        raise RequestRefusedError(reasons[:MAX_REASONS])


def _check_types(body: dict[str, Any]) -> None:
    try:
        # The type of the hash is checked with its value, after everything else.
        msgspec.convert({**body, "source_event_hash": ""}, SubmissionBody)
    except msgspec.ValidationError as error:
        raise _type_refusal(str(error)) from None


def _type_refusal(text: str) -> RequestRefusedError:
    """Convert msgspec's message to a refusal without the value; the path follows the last ` - at ` of the message."""
    steps = _STEP.findall(text.rpartition(" - at `$")[2]) if " - at `$" in text else []
    pointer = "".join(f"/{name or index}" for name, index in steps)
    known = next((index for index in (pointer, pointer.rpartition("/")[0]) if index in _EXPECTED), None)
    return refuse("malformed", f"must be {_EXPECTED[known]}" if known else "has the wrong type", pointer or None)


def _check_grammar(body: dict[str, Any]) -> None:
    for name, grammar in (("producer_identity", PRODUCER), ("scope_id", NAME)):
        if not grammar.fullmatch(body[name]):
            raise refuse("malformed", f"must be {_EXPECTED['/' + name]}", f"/{name}")
    start, end = body["source_span"].get("start", 1), body["source_span"].get("end")
    if start < 1 or (end is not None and end < 1):
        raise refuse("malformed", "lines count from 1", "/source_span/start" if start < 1 else "/source_span/end")
    if end is not None and start > end:
        raise refuse("malformed", "start lies after end", "/source_span/end")


def _check_normal_form(payload: dict[str, Any], source_span: dict[str, Any]) -> None:
    if not payload["content"]:
        raise refuse("malformed", "must be " + _EXPECTED["/payload/content"], "/payload/content")
    if not KIND.fullmatch(payload["kind"]):
        raise refuse("malformed", "must be " + _EXPECTED["/payload/kind"], "/payload/kind")
    tags = payload.get("tags", [])
    if len(tags) > MAX_TAGS or any(not 1 <= len(tag) <= MAX_TAG or WHITE_SPACE.search(tag) for tag in tags):
        message = f"at most {MAX_TAGS} tags of 1 to {MAX_TAG} characters without white space"
        raise refuse("malformed", message, "/payload/tags")
    if not source_span["uri"]:
        raise refuse("malformed", "must be " + _EXPECTED["/source_span/uri"], "/source_span/uri")


def _observed(body: dict[str, Any]) -> int | None:
    if "observed_at" not in body:
        return None
    try:
        return parse_time(body["observed_at"])
    except ValueError:
        raise refuse("malformed", "must be " + _EXPECTED["/observed_at"], "/observed_at") from None


def _derived_from(body: dict[str, Any]) -> list[str] | None:
    """Return the ids of the memories that the event was derived from, unique and sorted, as tags are."""
    if "derived_from" not in body:
        return None
    memory_ids = sorted(set(body["derived_from"]))
    if not 1 <= len(memory_ids) <= MAX_DERIVED_FROM or not all(map(KEY.fullmatch, memory_ids)):
        raise refuse("malformed", "must be " + _EXPECTED["/derived_from"], "/derived_from")
    return memory_ids


def _compare_hash(given: Any, computed: str) -> None:
    if given is None:
        raise refuse("hash-missing", "send " + _EXPECTED["/source_event_hash"], "/source_event_hash")
    if not isinstance(given, str) or not HASH.fullmatch(given):
        raise refuse("malformed", "must be " + _EXPECTED["/source_event_hash"], "/source_event_hash")
    if given != computed:
        raise refuse(
            "hash-mismatch", "the hash differs from the one computed over the normal form", "/source_event_hash"
        )

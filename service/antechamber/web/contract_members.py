"""The members of an event and of an answer, as tables for people: type, limits, example and meaning.

The tables are made from the schemas that the OpenAPI document has, and from examples that fit them.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from antechamber.core.admission.receipt import Echo, form_receipt
from antechamber.core.contract import MAX_BODY, MAX_DEPTH
from antechamber.core.outcomes import ACCEPTED
from antechamber.core.outgoing import hash_event

_UNHASHED: Final[dict[str, Any]] = {
    "idempotency_key": "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10",
    "producer_identity": "worker:example",
    "submission_scope": "project",
    "scope_id": "example",
    "payload": {
        "kind": "procedure",
        "content": "Run the migration before the deploy.",
        "tags": ["deploy"],
        "attributes": {"severity": 2},
    },
    "source_span": {
        "uri": "repo://example/RUNBOOK.md",
        "start": 10,
        "end": 14,
        "revision": "9f1c2ab",
        "heading": "Deploy",
    },
    "observed_at": "2026-11-20T10:00:00Z",
    "visibility": "shareable",
    "durable": False,
    "supersedes": "0198c7f2-6b11-7d52-8a3c-5f0e9d1c2b3a",
    "derived_from": ["0198c7f2-6b11-7d52-8a3c-5f0e9d1c2b3a"],
}
EXAMPLE_EVENT: Final[dict[str, Any]] = _UNHASHED | {"source_event_hash": hash_event(_UNHASHED)}
"""An event with every member, and its true hash."""
_ECHO: Final = {name: EXAMPLE_EVENT[name] for name in Echo.__struct_fields__}
EXAMPLE_ANSWER: Final[dict[str, Any]] = msgspec.to_builtins(
    form_receipt(
        ACCEPTED, [], Echo(**_ECHO), "blake3:" + "1" * 64, 1_795_168_800_000_000, "0198c7f2-6b10-7b11-9a41-3f5d8c7e6b20"
    )
) | {"proposal_id": "0198c7f2-6b11-7d52-8a3c-5f0e9d1c2b3a"}
"""The answer to a new submission."""
SIZES: Final = (
    f"An event has at most {MAX_BODY} bytes and {MAX_DEPTH} levels. Members that are not listed are refused, and null"
    " is allowed only inside attributes."
)
_MEANINGS: Final = {
    "submission_scope": "For whom it is: the kind of scope.",
    "visibility": "An event that is declared private is refused.",
    "source_span/uri": "Where it was seen.",
    "source_span/revision": "Revision of the source, such as a commit.",
    "source_span/heading": "Heading under which it was seen.",
    "producer_identity": "Who proposes; the producer of the token.",
    "scope_id": "Which one of that kind of scope.",
    "payload": "The candidate memory.",
    "source_span": "Where the event was seen.",
    "status": "The HTTP status, also of each line of a batch.",
    "submission_id": "Id of the submission; null if nothing was stored.",
    "idempotency_key": "The key, echoed.",
    "source_event_hash": "The hash as the service computed it.",
    "disposition": "What became of the event; null if it was not judged.",
    "duplicate": "Whether this is a replay of an earlier answer.",
    "duplicate_of": "The producer's own earlier submission of the same event.",
    "proposal_id": "Id of the proposal, if there is one.",
    "quarantine_id": "Id of the refused event that waits for a curator.",
    "reasons": "Why the answer is what it is.",
    "reasons/code": "One of the codes.",
    "reasons/message": "What is wrong; never a submitted value.",
    "reasons/pointer": "JSON pointer to the member; null if it concerns the whole request.",
    "retry_same_key": "Whether the same key may be sent again.",
    "safe_new_key": "Whether the corrected event may be sent under a new key.",
    "policy_digest": "Digest of the policy that judged it.",
    "received_at": "Time of the answer, RFC 3339 in UTC.",
}
"""Meanings of members; those of an event's members come first from the schema."""
_EXAMPLES: Final = {"code": "malformed", "message": "missing", "pointer": "/payload/kind"}
_BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


class ContractMember(NamedTuple):
    """One member of an event or an answer."""

    name: str
    kind: str
    required: bool
    limits: str
    example: str
    meaning: str


def members(schemas: dict[str, Any], name: str) -> list[ContractMember]:
    """Return the members of a schema, those of objects in it after them, named by their path."""
    event = name == "SubmissionBody"
    return list(_members(schemas, schemas[name], EXAMPLE_EVENT if event else EXAMPLE_ANSWER, ""))


def _members(
    schemas: dict[str, Any], schema: dict[str, Any], example: dict[str, Any], prefix: str
) -> Iterator[ContractMember]:
    required = schema.get("required", [])
    for name, declared in schema["properties"].items():
        path = f"{prefix}{name}"
        part, nullable = _without_null(declared)
        inner = _referenced(schemas, part)
        value = example.get(name)
        yield ContractMember(
            name=path,
            kind=_kind(part, inner) + (" or null" if nullable else ""),
            required=name in required,
            limits=_limits(part),
            example=msgspec.json.encode(value).decode() if inner is None else "",
            meaning=(part.get("description") or _MEANINGS.get(path, "")).replace("`", ""),
        )
        if inner is not None:
            yield from _members(schemas, inner, value if isinstance(value, dict) else _EXAMPLES, f"{path}/")


def _without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema without its alternative null, and whether it had one."""
    parts = [part for part in schema.get("anyOf", []) if part != {"type": "null"}]
    return (parts[0], True) if parts else (schema, False)


def _referenced(schemas: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of an object, or of the objects of an array; None if it is no reference."""
    reference = schema.get("$ref") or schema.get("items", {}).get("$ref")
    return None if reference is None else schemas[reference.rpartition("/")[2]]


def _kind(schema: dict[str, Any], inner: dict[str, Any] | None) -> str:
    if schema.get("type") == "array":
        return "array of objects" if inner else "array of strings"
    return "object" if inner else str(schema.get("type", "string"))


def _limits(schema: dict[str, Any]) -> str:
    """Return the limits of a schema as words."""
    found = ["one of " + ", ".join(schema["enum"])] if "enum" in schema else []
    found += [f"matches {schema['pattern']}"] if "pattern" in schema else []
    found += ["not empty"] if schema.get("minLength") == 1 else []
    found += [text.format(schema[name]) for name, text in _BOUNDS.items() if name in schema]
    if each := _limits(schema["items"]) if schema.get("items", {}).get("type") == "string" else "":
        found.append(f"each {each}")
    if "propertyNames" in schema:
        found.append(f"names match {schema['propertyNames']['pattern']}")
    return "; ".join(found)

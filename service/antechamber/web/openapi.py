"""The OpenAPI document, generated from the contract's structs and its table of outcomes."""

from functools import cache
from typing import Any, Final, get_args

import msgspec

from antechamber import __version__
from antechamber.core.contract import (
    CODES,
    KEY_PATTERN,
    MAX_CHANGES,
    MAX_SCOPES,
    MAX_WAIT,
    SCOPES,
    ChangePage,
    Code,
    Holder,
    Match,
    MemoryDetail,
    MemoryPage,
    NoteBody,
    NoteItem,
    Problem,
    Receipt,
    ReviewStatus,
    SubmissionBody,
)
from antechamber.core.outcomes import ACCEPTED, DUPLICATE
from antechamber.web.contract_members import EXAMPLE_ANSWER, EXAMPLE_EVENT
from antechamber.web.openapi_audit import audit, log
from antechamber.web.openapi_parts import (
    HEADERS,
    NDJSON,
    TEMPLATE,
    example,
    json_body,
    note_problems,
    other_method,
    plain_problem,
    problems,
    query,
    reading_problems,
    ref,
)

_STRUCTS: Final = (
    SubmissionBody, Receipt, Problem, Holder, MemoryPage, MemoryDetail, ChangePage, ReviewStatus, NoteBody, NoteItem,
)  # fmt: skip
_BATCH_CODES: Final[tuple[Code, ...]] = ("malformed", "unauthorized", "body-too-large", "busy", "unavailable")
_SUBMIT_CODES: Final[tuple[Code, ...]] = tuple(code for code in CODES if code != "already-decided")
_SEAL_CODES: Final[tuple[Code, ...]] = (
    "key-invalid", "unauthorized", "producer-mismatch", "body-too-large", "busy", "unavailable",
)  # fmt: skip
_NOTE_CODES: Final[tuple[Code, ...]] = (
    "key-missing", "key-invalid", "malformed", "unknown-member", "duplicate-member", "out-of-profile", "unauthorized",
    "producer-mismatch", "body-too-large", "private-detected", "key-reused", "too-large-for-scope", "already-decided",
    "rate-limited", "busy", "unavailable",
)  # fmt: skip
_KEY_PARAMETER: Final = {
    "name": "idempotency_key",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{KEY_PATTERN}$"},
}

_KEY_HEADER: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": f'^(?:{KEY_PATTERN}|"{KEY_PATTERN}")$'},
    "description": "A structured-field string, or the same characters bare.",
}


@cache
def document() -> dict[str, Any]:
    """Return the document (OpenAPI 3.1)."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Antechamber",
            "version": __version__,
            "summary": "Proposal and review of what worker agents want remembered.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "security": [{"token": []}],
        "paths": _submitting() | _own_submissions() | _token() | _memories() | _changes() | audit() | log(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "sign_in": {"type": "apiKey", "in": "cookie", "name": "antechamber"},
            },
        },
    }


def _schemas() -> dict[str, Any]:
    """Return the schemas of the structs; every member of an answer is present, null if it has no value."""
    _, schemas = msgspec.json.schema_components(_STRUCTS, ref_template=TEMPLATE)
    for name in ("Receipt", "Problem", "Reason", "ReviewStatus"):
        schemas[name]["required"] = list(schemas[name]["properties"])
    receipt, problem = schemas["Receipt"]["properties"], schemas["Problem"]["properties"]
    schemas["StoredReceipt"] = {
        "title": "StoredReceipt",
        "type": "object",
        "properties": problem | {"review": {"anyOf": [{"type": "null"}, ref("ReviewStatus")]}},
        "required": [*receipt, "review"],
    }
    return schemas


def _acceptances() -> dict[str, Any]:
    """Return the two acceptances; a replay repeats the first one's Location."""
    location = {"Location": {"schema": {"type": "string"}, "description": "Where to read what becomes of it."}}
    decided = {"already-decided": {"summary": DUPLICATE.title, "value": example("already-decided")}}
    duplicate = {"application/json": {"schema": ref("Receipt"), "examples": decided}}
    new = {"accepted-for-review": {"summary": ACCEPTED.title, "value": EXAMPLE_ANSWER}}
    accepted = {"application/json": {"schema": ref("Receipt"), "examples": new}}
    return {
        "201": {"description": ACCEPTED.title, "headers": HEADERS | location, "content": accepted},
        "200": {"description": DUPLICATE.title, "headers": HEADERS, "content": duplicate},
    }


def _submitting() -> dict[str, Any]:
    key_header = _KEY_HEADER | {"description": "Here or in the body; both must agree."}
    channel = {
        "name": "Submission-Channel",
        "in": "header",
        "required": False,
        "schema": {"enum": ["mcp"]},
        "description": "Sent by the MCP server beside an agent, so that the service records how an event came.",
    }
    whole = {"event": {"summary": "An event with every member", "value": EXAMPLE_EVENT}}
    event = {"application/json": {"schema": ref("SubmissionBody"), "examples": whole}}
    lines = {NDJSON: {"schema": {"type": "string"}}}
    batch_answer = {
        "200": {"description": "One receipt or problem a line, each with its line number", "content": lines}
    }
    return {
        "/v1/submissions": {
            "post": {
                "operationId": "submit",
                "summary": "Submit one candidate event",
                "parameters": [key_header, channel],
                "requestBody": {"required": True, "content": event},
                "responses": _acceptances() | problems(_SUBMIT_CODES),
            }
        },
        "/v1/submissions/batch": {
            "post": {
                "operationId": "submitBatch",
                "summary": "Submit up to 1,000 events, one JSON object a line",
                "requestBody": {"required": True, "content": lines},
                "responses": batch_answer | problems(_BATCH_CODES),
            }
        },
    }


def _own_submissions() -> dict[str, Any]:
    stored = {"200": {"description": "The receipt and what became of it", "content": json_body(ref("StoredReceipt"))}}
    reading = (
        stored | problems(("unauthorized", "busy", "unavailable")) | {"404": plain_problem("No submission of yours")}
    )
    submission_id = {"name": "submission_id", "in": "path", "required": True, "schema": {"type": "string"}}
    noted = {"content": json_body(ref("NoteItem"))}
    there = {"anyOf": [ref("Receipt"), ref("Problem")]}
    sealed = {
        "201": {"description": "Sealed", "headers": HEADERS, "content": json_body(ref("Problem"))},
        "200": {"description": "The receipt already there", "headers": HEADERS, "content": json_body(there)},
    }
    return {
        "/v1/submissions/{submission_id}": {
            "get": {
                "operationId": "readSubmission",
                "summary": "Get one of your submissions",
                "parameters": [submission_id],
                "responses": reading | {"405": other_method("`batch`")},
            }
        },
        "/v1/submissions/{submission_id}/notes": {
            "post": {
                "operationId": "writeNote",
                "summary": "Answer a curator's question, or add a note to your proposal",
                "parameters": [submission_id, _KEY_HEADER | {"required": True}],
                "requestBody": {"required": True, "content": json_body(ref("NoteBody"))},
                "responses": {
                    "201": {"description": "The note; again for a retry", "headers": HEADERS} | noted,
                    "404": plain_problem("No submission of yours"),
                    "405": other_method("`by-key/notes`"),
                }
                | note_problems(_NOTE_CODES),
            }
        },
        "/v1/submissions/by-key/{idempotency_key}": {
            "get": {
                "operationId": "readSubmissionByKey",
                "summary": "Read the submission under an own key",
                "parameters": [_KEY_PARAMETER],
                "responses": reading,
            }
        },
        "/v1/submissions/by-key/{idempotency_key}/seal": {
            "put": {
                "operationId": "sealKey",
                "summary": "Seal an unused key",
                "parameters": [_KEY_PARAMETER],
                "responses": sealed | problems(_SEAL_CODES),
            }
        },
    }


def _token() -> dict[str, Any]:
    return {
        "/v1/token": {
            "get": {
                "operationId": "whoseToken",
                "summary": "Say whose token this is, and what it may do",
                "responses": {"200": {"description": "Its holder", "content": json_body(ref("Holder"))}}
                | problems(("unauthorized", "busy", "unavailable")),
            }
        }
    }


def _memories() -> dict[str, Any]:
    read = {
        "operationId": "recall",
        "summary": "Read memories of exactly the named scopes: the best answers to a question, or the newest",
        "parameters": [
            query("submission_scope", "One scope", enum=list(SCOPES)),
            query("scope_id", "Its id"),
            query(
                "scope", "Instead: scopes, each `kind:id`", type="array", items={"type": "string"}, maxItems=MAX_SCOPES
            ),
            query("q", "A question in natural words; case, accents and inflection are ignored"),
            query("match", "Whether each word must match", enum=list(get_args(Match)), default="any"),
            query("limit", "Items a page", type="integer", minimum=1, maximum=200, default=50),
            query("after", "The `next` of the page before"),
        ],
        "responses": {"200": {"description": "A page", "content": json_body(ref("MemoryPage"))}} | reading_problems(),
    }
    memory_id = {"name": "memory_id", "in": "path", "required": True, "schema": {"type": "string"}}
    one = {
        "operationId": "readMemory",
        "summary": "Read one memory in any state",
        "responses": {
            "200": {"description": "The memory", "content": json_body(ref("MemoryDetail"))},
            "404": plain_problem("Nothing by that name in a scope that may be read"),
        }
        | problems(("unauthorized", "busy", "unavailable")),
    }
    return {
        "/v1/memories": {"get": read} | _write_refusals("Memories"),
        "/v1/memories/{memory_id}": {"parameters": [memory_id], "get": one} | _write_refusals("Memory"),
    }


def _changes() -> dict[str, Any]:
    read = {
        "operationId": "readChanges",
        "summary": "Read what was admitted and what ended in these scopes, in commit order",
        "parameters": [
            query(
                "scope", "Scopes, each `kind:id`", type="array", items={"type": "string"}, maxItems=MAX_SCOPES
            ),
            query("submission_scope", "Instead: one scope", enum=list(SCOPES)),
            query("scope_id", "Its id"),
            query("after", "The `next` of the page before, the `sequence` of a change, or `latest`: from now on"),
            query("limit", "Items a page", type="integer", minimum=1, maximum=MAX_CHANGES, default=100),
            query(
                "wait", "Seconds to wait for a change if there is none", type="integer", minimum=0, maximum=MAX_WAIT,
                default=0,
            ),
        ],
        "responses": {"200": {"description": "A page", "content": json_body(ref("ChangePage"))}}
        | problems(("rate-limited",))
        | reading_problems(),
    }  # fmt: skip
    return {"/v1/changes": {"get": read}}


def _write_refusals(what: str) -> dict[str, Any]:
    refused = {
        "summary": "Refused: no token writes memories",
        "responses": problems(("unauthorized", "direct-write")),
    }
    return {method: refused | {"operationId": f"{method}{what}"} for method in ("post", "put", "patch", "delete")}

"""The OpenAPI document, generated from the contract's structs and its table of outcomes."""

from functools import cache
from typing import Any, Final, get_args

import msgspec

from antechamber import __version__
from antechamber.core.admission.receipt import Echo, form_receipt
from antechamber.core.contract import (
    CODES,
    KEY_PATTERN,
    REASON_CODES,
    SCOPES,
    Code,
    Disposition,
    Holder,
    MemoryPage,
    Problem,
    Reason,
    Receipt,
    ReviewStatus,
    SubmissionBody,
)
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, OUTCOMES, READ_DENIED, READ_MALFORMED, RETRY_AFTER, Outcome
from antechamber.core.review.decision import DECISIONS, SETTLEMENTS

_STRUCTS: Final = (SubmissionBody, Receipt, Problem, Holder, MemoryPage, ReviewStatus)
_TEMPLATE: Final = "#/components/schemas/{name}"
_PROBLEM_JSON: Final = "application/problem+json"
_NDJSON: Final = "application/x-ndjson"
_BATCH_CODES: Final[tuple[Code, ...]] = ("malformed", "unauthorized", "body-too-large", "busy", "unavailable")
_MOMENT: Final = 1_795_168_800_000_000
_SUBMIT_CODES: Final[tuple[Code, ...]] = tuple(code for code in CODES if code != "already-decided")
_SEAL_CODES: Final[tuple[Code, ...]] = (
    "key-invalid", "unauthorized", "producer-mismatch", "body-too-large", "busy", "unavailable",
)  # fmt: skip
_EXAMPLE_ECHO: Final = Echo(
    idempotency_key="0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10",
    producer_identity="worker:release-bot",
    submission_scope="project",
    scope_id="apollo",
    source_event_hash="blake3:" + "0" * 64,
)
_EXAMPLE_POLICY: Final = "blake3:" + "1" * 64
_KEY_PARAMETER: Final = {
    "name": "idempotency_key",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{KEY_PATTERN}$"},
}
_HEADERS: Final = {
    "Submission-Disposition": {"schema": {"type": "string"}, "description": "The disposition, where there is one."},
    "Idempotency-Key": {"schema": {"type": "string"}, "description": "The key, echoed."},
    "Idempotent-Replayed": {"schema": {"type": "string"}, "description": "true on a replay."},
}


def example(code: Code, outcome: Outcome | None = None) -> dict[str, Any]:
    """Return the example of one answer, built by the function that builds real ones."""
    row = outcome or OUTCOMES[code]
    reason = Reason(code=code, message=row.advice.rstrip("."), pointer=None)
    bound = row.key_bound is not False
    submission_id = "0198c7f2-6b11-7d52-8a3c-5f0e9d1c2b3a" if bound else None
    echo = _EXAMPLE_ECHO if row.disposition else Echo()
    receipt = form_receipt(row, [reason], echo, _EXAMPLE_POLICY, _MOMENT, submission_id)
    return msgspec.to_builtins(receipt)  # type: ignore[no-any-return]


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
        "paths": _submitting() | _own_submissions() | _token() | _memories() | _audit(),
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
    _, schemas = msgspec.json.schema_components(_STRUCTS, ref_template=_TEMPLATE)
    for name in ("Receipt", "Problem", "Reason"):
        schemas[name]["required"] = list(schemas[name]["properties"])
    receipt, problem = schemas["Receipt"]["properties"], schemas["Problem"]["properties"]
    schemas["StoredReceipt"] = {
        "title": "StoredReceipt",
        "type": "object",
        "properties": problem | {"review": {"anyOf": [{"type": "null"}, _ref("ReviewStatus")]}},
        "required": [*receipt, "review"],
    }
    return schemas


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _TEMPLATE.format(name=name)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _problems(codes: tuple[Code, ...]) -> dict[str, Any]:
    """Return the problems of a route by status, each with its example."""
    by_status: dict[int, list[Code]] = {}
    for code in codes:
        by_status.setdefault(OUTCOMES[code].status, []).append(code)
    return {str(status): _problem_response(of_status) for status, of_status in sorted(by_status.items())}


def _problem_response(codes: list[Code], outcome: Outcome | None = None) -> dict[str, Any]:
    headers = dict(_HEADERS)
    if any(code in RETRY_AFTER for code in codes):
        headers["Retry-After"] = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
    rows = {code: outcome or OUTCOMES[code] for code in codes}
    examples = {code: {"summary": row.title, "value": example(code, row)} for code, row in rows.items()}
    return {
        "description": "; ".join(dict.fromkeys(row.title for row in rows.values())),
        "headers": headers,
        "content": {_PROBLEM_JSON: {"schema": _ref("Problem"), "examples": examples}},
    }


def _acceptances() -> dict[str, Any]:
    """Return the two acceptances; a replay repeats the first one's Location."""
    location = {"Location": {"schema": {"type": "string"}, "description": "Where to read what becomes of it."}}
    decided = {"already-decided": {"summary": DUPLICATE.title, "value": example("already-decided")}}
    duplicate = {"application/json": {"schema": _ref("Receipt"), "examples": decided}}
    return {
        "201": {"description": ACCEPTED.title, "headers": _HEADERS | location, "content": _json(_ref("Receipt"))},
        "200": {"description": DUPLICATE.title, "headers": _HEADERS, "content": duplicate},
    }


def _plain(description: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
        "required": ["type", "title", "status", "detail"],
    }
    return {"description": description, "content": {_PROBLEM_JSON: {"schema": schema}}}


def _query(name: str, description: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    kind = {"type": "string"} | schema
    return {"name": name, "in": "query", "required": required, "description": description, "schema": kind}


def _reading_problems() -> dict[str, Any]:
    """Return the problems of a reading route."""
    return _problems(("unauthorized", "busy", "unavailable")) | {
        str(READ_MALFORMED.status): _problem_response(["malformed"], READ_MALFORMED),
        str(READ_DENIED.status): _problem_response(["scope-not-granted"], READ_DENIED),
    }


def _submitting() -> dict[str, Any]:
    key_header = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": f'^(?:{KEY_PATTERN}|"{KEY_PATTERN}")$'},
        "description": "A structured-field string, or the same characters bare; must agree with the body.",
    }
    channel = {
        "name": "Submission-Channel",
        "in": "header",
        "required": False,
        "schema": {"enum": ["mcp"]},
        "description": "Sent by the MCP server beside an agent, so that the service records how an event came.",
    }
    lines = {_NDJSON: {"schema": {"type": "string"}}}
    batch_answer = {"200": {"description": "One form_receipt a line, each with its line number", "content": lines}}
    return {
        "/v1/submissions": {
            "post": {
                "operationId": "submit",
                "summary": "Submit one candidate event",
                "parameters": [key_header, channel],
                "requestBody": {"required": True, "content": _json(_ref("SubmissionBody"))},
                "responses": _acceptances() | _problems(_SUBMIT_CODES),
            }
        },
        "/v1/submissions/batch": {
            "post": {
                "operationId": "submitBatch",
                "summary": "Submit up to 1,000 events, one JSON object a line",
                "requestBody": {"required": True, "content": lines},
                "responses": batch_answer | _problems(_BATCH_CODES),
            }
        },
    }


def _own_submissions() -> dict[str, Any]:
    stored = {"200": {"description": "The receipt and what became of it", "content": _json(_ref("StoredReceipt"))}}
    reading = stored | _problems(("unauthorized", "busy", "unavailable")) | {"404": _plain("No submission of yours")}
    submission_id = {"name": "submission_id", "in": "path", "required": True, "schema": {"type": "string"}}
    there = {"anyOf": [_ref("Receipt"), _ref("Problem")]}
    sealed = {
        "201": {"description": "Sealed", "headers": _HEADERS, "content": _json(_ref("Problem"))},
        "200": {"description": "The receipt already there", "headers": _HEADERS, "content": _json(there)},
    }
    return {
        "/v1/submissions/{submission_id}": {
            "get": {
                "operationId": "readSubmission",
                "summary": "Read an own submission",
                "parameters": [submission_id],
                "responses": reading,
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
                "summary": "Forbid a free key for ever",
                "parameters": [_KEY_PARAMETER],
                "responses": sealed | _problems(_SEAL_CODES),
            }
        },
    }


def _token() -> dict[str, Any]:
    return {
        "/v1/token": {
            "get": {
                "operationId": "whoseToken",
                "summary": "Say whose token this is, and what it may do",
                "responses": {"200": {"description": "Its holder", "content": _json(_ref("Holder"))}}
                | _problems(("unauthorized",)),
            }
        }
    }


def _memories() -> dict[str, Any]:
    read = {
        "operationId": "recall",
        "summary": "Read the memories of exactly one scope, newest first",
        "parameters": [
            _query("submission_scope", "The scope", required=True, enum=list(SCOPES)),
            _query("scope_id", "Its id", required=True),
            _query("q", "Words that must all match; case and accents are ignored"),
            _query("limit", "Items a page", type="integer", minimum=1, maximum=200, default=50),
            _query("after", "The `next` of the page before"),
        ],
        "responses": {"200": {"description": "A page", "content": _json(_ref("MemoryPage"))}} | _reading_problems(),
    }
    memory_id = {"name": "memory_id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/v1/memories": {"get": read} | _write_refusals("Memories"),
        "/v1/memories/{memory_id}": {"parameters": [memory_id]} | _write_refusals("Memory"),
    }


def _write_refusals(what: str) -> dict[str, Any]:
    refused = {
        "summary": "Refused: no token writes memories",
        "responses": _problems(("unauthorized", "direct-write")),
    }
    return {method: refused | {"operationId": f"{method}{what}"} for method in ("post", "put", "patch", "delete")}


def _audit() -> dict[str, Any]:
    """Return the routes for auditors; each accepts a token or a session."""
    lines = {name: {"schema": {"type": "string"}} for name in (_NDJSON, "text/csv")}
    closed = {"200": {"description": "The records, closed by one with their count", "content": lines}}
    plain = {"text/plain": {"schema": {"type": "string"}}}
    record_id = {"name": "review_record_id", "in": "path", "required": True, "schema": {"type": "string"}}
    proof = _members(sequence="integer", leaf="object", proof="string")
    path = _members(old_size="integer", size="integer", proof="array", checkpoint="string")
    gone = {"404": _plain("Nothing by that name that is yours to see")}
    size: dict[str, Any] = {"type": "integer", "minimum": 0}
    return {
        f"/v1/audit/{name}": {"get": _security | operation}
        for name, operation in (
            ("review-records", _reading("exportReviewRecords", "Export review records", closed, _decided_parameters())),
            ("review-records/{review_record_id}", _reading(
                "readReviewRecord", "Read one review record with its tlog-proof",
                {"200": {"description": "The record", "content": _json({"type": "object"})}} | gone, [record_id],
            )),
            ("dispositions", _reading("exportDispositions", "Export stored answers", closed, _received_parameters())),
            ("export", _reading(
                "exportLog", "Export every leaf of the log",
                {"200": {"description": "All leaves, and their checkpoint", "content": {_NDJSON: lines[_NDJSON]}}},
                [],
            )),
            ("checkpoint", _reading(
                "readCheckpoint", "Read a signed checkpoint (c2sp.org/tlog-checkpoint)",
                {"200": {"description": "A signed note", "content": plain}} | gone,
                [_query("size", "An earlier one, by its number of leaves", **size)],
            )),
            ("key", _reading(
                "readVerifierKey", "Read the verifier keys, the one in use first",
                {"200": {"description": "One key a line", "content": plain}}, [],
            )),
            ("proof/inclusion", _reading(
                "proveInclusion", "Prove that a leaf is in the log",
                {"200": {"description": "The leaf and its tlog-proof", "content": _json(proof)}} | gone,
                [_query("sequence", "Its place, from 0", **size), _query("subject", "Or the id of what it is about")],
            )),
            ("proof/consistency", _reading(
                "proveConsistency", "Prove that an earlier log is the beginning of this one",
                {"200": {"description": "The proof (RFC 6962 section 2.1.2)", "content": _json(path)}} | gone,
                [_query("old_size", "Leaves of the earlier checkpoint", required=True, type="integer", minimum=1)],
            )),
        )
    }  # fmt: skip


_security: Final[dict[str, Any]] = {"security": [{"token": []}, {"sign_in": []}]}


def _reading(name: str, summary: str, answers: dict[str, Any], parameters: list[Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": answers | _reading_problems(),
    }


def _members(**kinds: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }


def _filters(verb: str) -> list[dict[str, Any]]:
    return [
        _query("format", "How; only JSONL can be verified", enum=["jsonl", "csv"], default="jsonl"),
        _query("since", f"{verb} at or after this RFC 3339 time"),
        _query("until", f"{verb} before this RFC 3339 time"),
        _query("submission_scope", "The scope", enum=list(SCOPES)),
        _query("scope_id", "Its id"),
        _query("producer_identity", "The producer"),
    ]


def _decided_parameters() -> list[dict[str, Any]]:
    return [
        *_filters("Decided"),
        _query("decision", "The decision", enum=[*DECISIONS, *SETTLEMENTS]),
        _query("curator", "Account that decided"),
        _query("reason_code", "The reason", enum=list(REASON_CODES)),
    ]


def _received_parameters() -> list[dict[str, Any]]:
    return [
        *_filters("Received"),
        _query("disposition", "The disposition", enum=[*get_args(Disposition), "any"]),
        _query("reason_code", "The first code of the form_receipt", enum=list(CODES)),
    ]

"""The OpenAPI document, built from the contract's structs and its one table of outcomes."""

from functools import cache
from typing import Any, Final

import msgspec

from antechamber import __version__
from antechamber.core.admission import Echo, Named, answer
from antechamber.core.contract import (
    CODES,
    KEY_PATTERN,
    SCOPES,
    Code,
    MemoryPage,
    Problem,
    Reason,
    Receipt,
    Review,
    SubmissionBody,
)
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, OUTCOMES, READ_DENIED, RETRY_AFTER

_STRUCTS: Final = (SubmissionBody, Receipt, Problem, MemoryPage, Review)
_TEMPLATE: Final = "#/components/schemas/{name}"
_PROBLEM_JSON: Final = "application/problem+json"
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


def example(code: Code) -> dict[str, Any]:
    """Form the example of one problem, by the same function that forms real answers."""
    outcome = OUTCOMES[code]
    reason = Reason(code=code, message=outcome.advice.rstrip("."), pointer=None)
    bound = outcome.key_bound is not False
    named = Named(submission_id="0198c7f2-6b11-7d52-8a3c-5f0e9d1c2b3a" if bound else None)
    built: dict[str, Any] = msgspec.to_builtins(
        answer(outcome, [reason], _EXAMPLE_ECHO, named, _EXAMPLE_POLICY, _MOMENT)
    )
    return built


@cache
def document() -> dict[str, Any]:
    """Build the document (OpenAPI 3.1)."""
    _, schemas = msgspec.json.schema_components(_STRUCTS, ref_template=_TEMPLATE)
    schemas["StoredReceipt"] = _stored_receipt(schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Antechamber",
            "version": __version__,
            "summary": "Proposal and review of what worker agents want remembered.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "security": [{"token": []}],
        "paths": _submission_paths() | _reading_paths(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "sign_in": {"type": "apiKey", "in": "cookie", "name": "antechamber"},
            },
        },
    }


def _stored_receipt(schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe a receipt as it is read back: its members, those of a problem if it was one, and the review."""
    properties = schemas["Problem"]["properties"] | {"review": {"anyOf": [{"type": "null"}, _ref("Review")]}}
    required = [*schemas["Receipt"]["required"], "review"]
    return {"title": "StoredReceipt", "type": "object", "properties": properties, "required": required}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _TEMPLATE.format(name=name)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _problems(codes: tuple[Code, ...]) -> dict[str, Any]:
    """Describe the problems that a route answers, by status, each with its example."""
    by_status: dict[int, list[Code]] = {}
    for code in codes:
        by_status.setdefault(OUTCOMES[code].status, []).append(code)
    return {str(status): _problem_response(of_status) for status, of_status in sorted(by_status.items())}


def _problem_response(codes: list[Code]) -> dict[str, Any]:
    headers = dict(_HEADERS)
    if any(code in RETRY_AFTER for code in codes):
        headers["Retry-After"] = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
    examples = {code: {"summary": OUTCOMES[code].title, "value": example(code)} for code in codes}
    return {
        "description": "; ".join(dict.fromkeys(OUTCOMES[code].title for code in codes)),
        "headers": headers,
        "content": {_PROBLEM_JSON: {"schema": _ref("Problem"), "examples": examples}},
    }


def _answered(description: str) -> dict[str, Any]:
    return {"description": description, "headers": _HEADERS, "content": _json(_ref("Receipt"))}


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


def _submission_paths() -> dict[str, Any]:
    key_header = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "A structured-field string, or the same characters bare; must agree with the body.",
    }
    stored = {"200": {"description": "The receipt and what became of it", "content": _json(_ref("StoredReceipt"))}}
    reading = stored | _problems(("unauthorized", "busy", "unavailable")) | {"404": _plain("No submission of yours")}
    submission_id = {"name": "submission_id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/v1/submissions": {
            "post": {
                "operationId": "submit",
                "summary": "Submit one candidate event",
                "parameters": [key_header],
                "requestBody": {"required": True, "content": _json(_ref("SubmissionBody"))},
                "responses": {"201": _answered(ACCEPTED.title), "200": _answered(DUPLICATE.title)}
                | _problems(_SUBMIT_CODES),
            }
        },
        "/v1/submissions/batch": {
            "post": {
                "operationId": "submitBatch",
                "summary": "Submit up to 1,000 events, one JSON object a line",
                "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}},
                "responses": {
                    "200": {
                        "description": "One answer a line, each with its line number",
                        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
                    }
                }
                | _problems(("malformed", "unauthorized", "body-too-large", "busy", "unavailable")),
            }
        },
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
                "responses": {
                    "201": {"description": "Sealed", "headers": _HEADERS, "content": _json(_ref("Problem"))},
                    "200": {
                        "description": "The receipt already there",
                        "headers": _HEADERS,
                        "content": _json({"anyOf": [_ref("Receipt"), _ref("Problem")]}),
                    },
                }
                | _problems(_SEAL_CODES),
            }
        },
    }


def _reading_paths() -> dict[str, Any]:
    def query(name: str, description: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
        return {
            "name": name,
            "in": "query",
            "required": required,
            "description": description,
            "schema": {"type": "string"} | schema,
        }

    denied = {str(READ_DENIED): _problem_response(["scope-not-granted"])}
    refused = _problems(("malformed", "unauthorized", "busy", "unavailable")) | denied
    write = {"responses": _problems(("unauthorized", "direct-write")), "summary": "Refused: no token writes memories"}
    return {
        "/v1/memories": {
            "get": {
                "operationId": "recall",
                "summary": "Read the memories of exactly one scope, newest first",
                "parameters": [
                    query("submission_scope", "The scope", required=True, enum=list(SCOPES)),
                    query("scope_id", "Its id", required=True),
                    query("q", "Words that must all match; case and accents are ignored"),
                    query("limit", "Items a page", type="integer", minimum=1, maximum=200, default=50),
                    query("after", "The `next` of the page before"),
                ],
                "responses": {"200": {"description": "A page", "content": _json(_ref("MemoryPage"))}} | refused,
            },
            **{method: write | {"operationId": f"{method}Memory"} for method in ("post", "put", "patch", "delete")},
        },
        "/v1/audit/review-records": {
            "get": {
                "operationId": "exportReviewRecords",
                "summary": "Export review records",
                "security": [{"token": []}, {"sign_in": []}],
                "parameters": [
                    query("format", "How", enum=["jsonl", "csv"], default="jsonl"),
                    query("since", "Decided at or after this RFC 3339 time"),
                    query("until", "Decided before this RFC 3339 time"),
                    query("submission_scope", "The scope", enum=list(SCOPES)),
                    query("scope_id", "Its id"),
                    query("decision", "The decision", enum=["approve", "edit", "reject"]),
                    query("curator", "Account that decided"),
                ],
                "responses": {
                    "200": {
                        "description": "The records, closed by one with their count",
                        "content": {
                            "application/x-ndjson": {"schema": {"type": "string"}},
                            "text/csv": {"schema": {"type": "string"}},
                        },
                    }
                }
                | refused,
            }
        },
    }

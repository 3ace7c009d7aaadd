"""Parts of the OpenAPI document that its routes share: references, parameters, problems with examples."""

from typing import Any, Final

import msgspec

from antechamber.core.admission.receipt import Echo, form_receipt
from antechamber.core.contract import Code, Reason
from antechamber.core.outcomes import OUTCOMES, READ_DENIED, READ_MALFORMED, RETRY_AFTER, Outcome, note_outcome

TEMPLATE: Final = "#/components/schemas/{name}"
NDJSON: Final = "application/x-ndjson"
_PROBLEM_JSON: Final = "application/problem+json"
_MOMENT: Final = 1_795_168_800_000_000
_EXAMPLE_ECHO: Final = Echo(
    idempotency_key="0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10",
    producer_identity="worker:release-bot",
    submission_scope="project",
    scope_id="apollo",
    source_event_hash="blake3:" + "0" * 64,
)
_EXAMPLE_POLICY: Final = "blake3:" + "1" * 64
HEADERS: Final = {
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


def ref(name: str) -> dict[str, str]:
    """Return the reference to a schema."""
    return {"$ref": TEMPLATE.format(name=name)}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON body."""
    return {"application/json": {"schema": schema}}


def problems(codes: tuple[Code, ...]) -> dict[str, Any]:
    """Return the problems of a route by status, each with its example."""
    by_status: dict[int, list[Code]] = {}
    for code in codes:
        by_status.setdefault(OUTCOMES[code].status, []).append(code)
    return {str(status): problem_response(of_status) for status, of_status in sorted(by_status.items())}


def note_problems(codes: tuple[Code, ...]) -> dict[str, Any]:
    """Return the problems of the route for notes by status, each with its example."""
    by_status: dict[int, dict[Code, Outcome]] = {}
    for code in codes:
        row = note_outcome(code)
        by_status.setdefault(row.status, {})[code] = row
    return {str(status): _problem_of(rows) for status, rows in sorted(by_status.items())}


def problem_response(codes: list[Code], outcome: Outcome | None = None) -> dict[str, Any]:
    """Return the response of one status with the problems of these codes."""
    return _problem_of({code: outcome or OUTCOMES[code] for code in codes})


def _problem_of(rows: dict[Code, Outcome]) -> dict[str, Any]:
    headers = dict(HEADERS)
    if any(code in RETRY_AFTER for code in rows):
        headers["Retry-After"] = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
    examples = {code: {"summary": row.title, "value": example(code, row)} for code, row in rows.items()}
    return {
        "description": "; ".join(dict.fromkeys(row.title for row in rows.values())),
        "headers": headers,
        "content": {_PROBLEM_JSON: {"schema": ref("Problem"), "examples": examples}},
    }


def plain_problem(description: str) -> dict[str, Any]:
    """Return the response of a problem without a code of the contract."""
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


def other_method(names: str) -> dict[str, Any]:
    """Return the response of a templated path where the id is a literal segment of another path without the method.

    A path without a template is matched first (OpenAPI 3.1, Paths Object). Between two templates the router takes the
    one that has the literal. `names` are the segments of the other path.
    """
    allow = {"Allow": {"schema": {"type": "string"}, "description": "The methods of that address."}}
    return plain_problem(f"{names} is an address of its own, without this method") | {"headers": allow}


def query(name: str, description: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    """Return a parameter of the query."""
    kind = {"type": "string"} | schema
    return {"name": name, "in": "query", "required": required, "description": description, "schema": kind}


def reading_problems() -> dict[str, Any]:
    """Return the problems of a reading route."""
    return problems(("unauthorized", "busy", "unavailable")) | {
        str(READ_MALFORMED.status): problem_response(["malformed"], READ_MALFORMED),
        str(READ_DENIED.status): problem_response(["scope-not-granted"], READ_DENIED),
    }

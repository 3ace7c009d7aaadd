"""For auditors and operators: review records as a page and as exports, figures, health, schema."""

import re
from collections.abc import Iterator
from typing import Any, Final, get_args

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.response import Stream, Template

from antechamber.core.contract import CODES, REASON_CODES, SCOPES, Disposition
from antechamber.core.errors import BusyError, RefusedError, UnavailableError, refuse
from antechamber.core.listing import SubmissionFilter
from antechamber.core.outcomes import FIXTURES, OUTCOMES
from antechamber.core.privacy import RULES
from antechamber.core.records import AuditFilter
from antechamber.core.review import DECISIONS, SETTLEMENTS
from antechamber.core.roles import Bearer, Caller, Person
from antechamber.core.submission import parse_time
from antechamber.flows.export import MEDIA_TYPES, Export, Format
from antechamber.flows.overview import Overview
from antechamber.web.auth import needs_auditor, needs_role, needs_token_or_sign_in
from antechamber.web.desk import NO_STORE, PersonRequest, page
from antechamber.web.openapi import document

_PAGE: Final = 50
_DISPOSITIONS: Final[tuple[Disposition, ...]] = get_args(Disposition)
_ID: Final = re.compile(r"[0-9a-f-]{36}")
_DAYS: Final = {"1": 1, "7": 7, "30": 30}
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "reason_code": REASON_CODES,
    "submission_scope": SCOPES,
    "decision": (*DECISIONS, *SETTLEMENTS),
}


def read_filter(query: Any) -> AuditFilter:
    """Read the filters of an export; an empty one is none.

    Raises RefusedError (`malformed`).
    """
    values: dict[str, Any] = {}
    for name in AuditFilter.__struct_fields__:
        given = query.get(name) or None
        if given is not None and name in {"since", "until"}:
            values[name] = _time(name, given)
        elif given is not None and name in _CHOICES and given not in _CHOICES[name]:
            raise refuse("malformed", f"{name} must be one of " + ", ".join(_CHOICES[name]), f"/{name}")
        else:
            values[name] = given
    return AuditFilter(**values)


def _time(name: str, text: str) -> int:
    """Read a moment, or a date as browsers send it: its first moment in UTC."""
    whole = f"{text}T00:00:00Z" if len(text) == len("2026-11-20") else text.replace(" ", "+")
    try:
        return parse_time(whole)
    except ValueError:
        raise refuse("malformed", f"{name} must be an RFC 3339 time or a date", f"/{name}") from None


@get("/v1/audit/review-records", guards=[needs_auditor], sync_to_thread=True)
def export_review_records(request: Request[Caller, Any, Any], export: NamedDependency[Export]) -> Stream:
    """Export review records as JSONL or CSV, streamed from one snapshot."""
    form = request.query_params.get("format", "jsonl")
    if form not in MEDIA_TYPES:
        raise refuse("malformed", "format must be jsonl or csv", "/format")
    chosen: Format = "jsonl" if form == "jsonl" else "csv"
    grants = request.user.read or None if isinstance(request.user, Bearer) else None
    chunks: Iterator[bytes] = export.stream(read_filter(request.query_params), chosen, grants)
    headers = NO_STORE | {"content-disposition": f'attachment; filename="review-records.{chosen}"'}
    return Stream(chunks, media_type=MEDIA_TYPES[chosen], headers=headers)


@get("/audit", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def audit(request: PersonRequest, export: NamedDependency[Export]) -> Template:
    """Show review records, newest first, with filters and export links."""
    query, error = request.query_params, None
    try:
        chosen = read_filter(query)
    except RefusedError as refused:
        chosen, error = AuditFilter(), str(refused)
    items, following = export.latest(chosen, query.get("after"), _PAGE)
    given = {name: query[name] for name in AuditFilter.__struct_fields__ if query.get(name)}
    return page(
        request,
        "audit.html",
        400 if error else 200,
        items=items,
        following=following,
        given=given,
        error=error,
        scopes=SCOPES,
        reason_codes=REASON_CODES,
        decisions=_CHOICES["decision"],
    )


@get("/submissions", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def submissions(request: PersonRequest, export: NamedDependency[Export]) -> Template:
    """Show submissions and what was answered, newest first, with filters; no texts."""
    query, error, chosen = request.query_params, None, SubmissionFilter()
    try:
        chosen = _read_submission_filter(query)
    except RefusedError as refused:
        error = str(refused)
    after = query.get("after", "")
    items, following = export.submissions(chosen, after if _ID.fullmatch(after) else None, _PAGE)
    given = {name: query[name] for name in SubmissionFilter.__struct_fields__ if query.get(name)}
    context = {"items": items, "following": following, "given": given, "error": error, "dispositions": _DISPOSITIONS}
    return page(request, "submissions.html", 400 if error else 200, **context)


def _read_submission_filter(query: Any) -> SubmissionFilter:
    """Read the filters of the list; an empty one is none.

    Raises RefusedError (`malformed`).
    """
    disposition = query.get("disposition") or None
    if disposition not in {None, *_DISPOSITIONS}:
        raise refuse("malformed", "disposition must be one of " + ", ".join(_DISPOSITIONS), "/disposition")
    times = {name: _time(name, query[name]) for name in ("since", "until") if query.get(name)}
    return SubmissionFilter(
        **times,
        disposition=disposition,
        producer_identity=(query.get("producer_identity") or "").replace("\0", "") or None,
    )


@get("/dashboard", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def dashboard(request: PersonRequest, overview: NamedDependency[Overview]) -> Template:
    """Show the figures; operators also see tokens, people and the policy."""
    operator = request.user.role == "operator"
    days = _DAYS.get(request.query_params.get("days", ""), 1)
    standing = overview.standing() if operator else None
    return page(request, "dashboard.html", figures=overview.figures(days), choices=_DAYS, standing=standing)


@get("/policy", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_policy(request: PersonRequest, overview: NamedDependency[Overview]) -> Template:
    """Show the policy in force; it is changed in its files and nowhere else."""
    policy, digest = overview.policy()
    rules = [(scope, policy.rules(scope)) for scope in SCOPES]
    return page(
        request, "policy.html", policy=policy, digest=digest, rules=rules, privacy=sorted(one.rule_id for one in RULES)
    )


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Say that the process runs."""
    return {"status": "ok"}


@get("/readyz", sync_to_thread=True)
def readyz(request: Request[Caller | None, Any, Any], overview: NamedDependency[Overview]) -> Response[dict[str, Any]]:
    """Say whether requests can be served; operators also hear why not."""
    try:
        details = overview.health()
    except (BusyError, UnavailableError):
        return Response({"status": "unavailable"}, status_code=503, headers=NO_STORE | {"retry-after": "2"})
    stores = overview.stores()
    status = {"status": "degraded" if details["alarms"] else "ready"} if stores else {"status": "read-only"}
    operator = isinstance(request.user, Person) and request.user.role == "operator"
    return Response(status | (details if operator else {}), status_code=200 if stores else 503, headers=NO_STORE)


@get("/schema/openapi.json", guards=[needs_token_or_sign_in], sync_to_thread=False)
def openapi() -> Response[bytes]:
    """Return the OpenAPI document."""
    return Response(msgspec.json.encode(document()), media_type="application/json")


@get("/schema", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def schema(request: PersonRequest) -> Template:
    """Show the OpenAPI document to people."""
    return page(request, "schema.html", document=document())


@get("/contract", sync_to_thread=False)
def contract() -> Template:
    """Publish the idempotency contract from the code's own tables."""
    context = {
        "outcomes": [(code, OUTCOMES[code]) for code in CODES],
        "dispositions": get_args(Disposition),
        "fixtures": FIXTURES,
    }
    return Template("contract.html", context=context)

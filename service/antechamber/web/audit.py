"""For auditors and operators: lists and timelines as pages, figures, health, schema."""

import re
from functools import cache
from typing import Any, Final

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Template

from antechamber.core.contract import CODES, REASON_CODES, SCOPES
from antechamber.core.errors import BusyError, NotFoundError, RefusedError, UnavailableError
from antechamber.core.listing import ListedSubmission, SubmissionFilter
from antechamber.core.outcomes import FIXTURES, OUTCOMES
from antechamber.core.privacy import RULES
from antechamber.core.records import AuditFilter, AuditRow
from antechamber.core.roles import Caller, Person
from antechamber.flows.export import Export
from antechamber.flows.log import Log
from antechamber.flows.overview import MARKED_TAX, Overview
from antechamber.resources import verifier
from antechamber.web.auth import needs_role, needs_token_or_sign_in
from antechamber.web.desk import NO_STORE, PersonRequest, page
from antechamber.web.exports import CHOICES, DISPOSITIONS, read_filter, read_submission_filter
from antechamber.web.openapi import document
from antechamber.web.problems import AnyRequest

_PAGE: Final = 50
_EXPORTS: Final = 20
"""Exports that the page shows."""
_ID: Final = re.compile(r"[0-9a-f-]{36}")
_DAYS: Final = {"1": 1, "7": 7, "30": 30}


@get("/audit", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def audit(request: PersonRequest, export: NamedDependency[Export], log: NamedDependency[Log]) -> Template:
    """Show review records, or answers where a disposition is asked for, and how far the log is signed."""
    query = request.query_params
    answers = bool(query.get("disposition"))
    listed, error = _answers(query, export) if answers else _records(query, export)
    names = (SubmissionFilter if answers else AuditFilter).__struct_fields__
    return page(
        request,
        "audit.html",
        400 if error else 200,
        items=listed[0],
        following=listed[1],
        answers=answers,
        given={name: query[name] for name in names if query.get(name)},
        error=error,
        scopes=SCOPES,
        reason_codes=(*REASON_CODES, *CODES) if answers else REASON_CODES,
        decisions=CHOICES["decision"],
        dispositions=DISPOSITIONS,
        standing=log.standing(),
        exports=export.history(_EXPORTS),
    )


def _records(query: Any, export: Export) -> tuple[tuple[list[AuditRow], str | None], str | None]:
    chosen, error = AuditFilter(), None
    try:
        chosen = read_filter(query)
    except RefusedError as refused:
        error = str(refused)
    return export.latest(chosen, query.get("after"), _PAGE), error


def _answers(query: Any, export: Export) -> tuple[tuple[list[ListedSubmission], str | None], str | None]:
    chosen, error = SubmissionFilter(), None
    try:
        chosen = read_submission_filter(query)
    except RefusedError as refused:
        error = str(refused)
    after = query.get("after", "")
    return export.submissions(chosen, after if _ID.fullmatch(after) else None, _PAGE), error


@get("/audit/items/{proposal_id:str}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def item(request: PersonRequest, proposal_id: FromPath[str], log: NamedDependency[Log]) -> Template:
    """Show all that the log has of a proposal, from its submissions to what became of its memory."""
    leaves = log.item(proposal_id)
    if not leaves:
        raise NotFoundError(proposal_id)
    return page(request, "item.html", 200, proposal_id=proposal_id, leaves=leaves, standing=log.standing())


@get("/audit/verify_export.py", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def verifier_file() -> Response[bytes]:
    """Hand out the program that verifies exports: one file, which needs nothing of ours."""
    headers = {"content-disposition": 'attachment; filename="verify_export.py"'}
    return Response(verifier().read_bytes(), media_type="text/x-python", headers=headers)


@get("/submissions", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def submissions(request: PersonRequest, export: NamedDependency[Export]) -> Template:
    """Show submissions and what was answered, newest first, with filters; no texts."""
    query = request.query_params
    (items, following), error = _answers(query, export)
    given = {name: query[name] for name in SubmissionFilter.__struct_fields__ if query.get(name)}
    context = {"items": items, "following": following, "given": given, "error": error, "dispositions": DISPOSITIONS}
    return page(request, "submissions.html", 400 if error else 200, **context)


@get("/dashboard", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def dashboard(request: PersonRequest, overview: NamedDependency[Overview]) -> Template:
    """Show the figures; operators also see tokens, people and the policy."""
    operator = request.user.role == "operator"
    days = _DAYS.get(request.query_params.get("days", ""), 1)
    standing = overview.standing() if operator else None
    return page(
        request,
        "dashboard.html",
        figures=overview.figures(days),
        marked_tax=MARKED_TAX,
        choices=_DAYS,
        standing=standing,
    )


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
    return Response(_encoded_document(), media_type="application/json")


@cache
def _encoded_document() -> bytes:
    return msgspec.json.encode(document())


@get("/schema", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def schema(request: PersonRequest) -> Template:
    """Show the OpenAPI document to people."""
    return page(request, "schema.html", document=document())


@get("/contract", sync_to_thread=False)
def contract(request: AnyRequest) -> Response[str]:
    """Publish the idempotency contract from the code's own tables."""
    return Response(_contract(request.app.template_engine.engine), media_type="text/html")  # type: ignore[union-attr]


@cache
def _contract(templates: Any) -> str:
    """Render the contract once: it is public, so that a flood of requests costs little."""
    outcomes = [(code, OUTCOMES[code]) for code in CODES]
    text: str = templates.get_template("contract.html").render(
        outcomes=outcomes, dispositions=DISPOSITIONS, fixtures=FIXTURES
    )
    return text

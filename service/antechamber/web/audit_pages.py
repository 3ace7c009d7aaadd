"""Pages for auditors: review records, submissions, one item's history, and the verifier to download."""

import re
from typing import Any, Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Template

from antechamber.core.contract import CODES, REASON_CODES, SCOPES
from antechamber.core.errors import NotFoundError, RequestRefusedError
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter
from antechamber.flows.export import Export
from antechamber.flows.log_proofs import LogProofs
from antechamber.resources import verifier
from antechamber.web.audit_api import CHOICES, DISPOSITIONS, read_filter, read_submission_filter
from antechamber.web.auth import needs_role
from antechamber.web.pages import AccountRequest, page

_PAGE: Final = 50


_EXPORTS: Final = 20
"""Number of exports shown on the page."""


_ID: Final = re.compile(r"[0-9a-f-]{36}")


@get("/audit", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def audit(request: AccountRequest, export: NamedDependency[Export], proofs: NamedDependency[LogProofs]) -> Template:
    """Show review records, or submissions if a disposition is selected, and how far the log is signed."""
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
        standing=proofs.status(),
        exports=export.history(_EXPORTS),
    )


def _records(query: Any, export: Export) -> tuple[tuple[list[AuditRow], str | None], str | None]:
    wanted, error = AuditFilter(), None
    try:
        wanted = read_filter(query)
    except RequestRefusedError as refused:
        error = str(refused)
    return export.latest(wanted, query.get("after"), _PAGE), error


def _answers(query: Any, export: Export) -> tuple[tuple[list[ListedSubmission], str | None], str | None]:
    wanted, error = SubmissionFilter(), None
    try:
        wanted = read_submission_filter(query)
    except RequestRefusedError as refused:
        error = str(refused)
    after = query.get("after", "")
    return export.submissions(wanted, after if _ID.fullmatch(after) else None, _PAGE), error


@get("/audit/items/{proposal_id:str}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def item(request: AccountRequest, proposal_id: FromPath[str], proofs: NamedDependency[LogProofs]) -> Template:
    """Show everything in the log about a proposal, from its submissions to its memory."""
    leaves = proofs.item(proposal_id)
    if not leaves:
        raise NotFoundError(proposal_id)
    return page(request, "item.html", 200, proposal_id=proposal_id, leaves=leaves, standing=proofs.status())


@get("/audit/leaves/{sequence:int}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def leaf(request: AccountRequest, sequence: FromPath[int], proofs: NamedDependency[LogProofs]) -> Template:
    """Show one leaf and, as a picture and as a table, how its proof leads to the signed root."""
    return page(request, "leaf.html", 200, proven=proofs.explain_inclusion(sequence))


@get("/audit/verify_export.py", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def verifier_file() -> Response[bytes]:
    """Return the program that verifies exports: one file that needs no other code of this service."""
    headers = {"content-disposition": 'attachment; filename="verify_export.py"'}
    return Response(verifier().read_bytes(), media_type="text/x-python", headers=headers)


@get("/submissions", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def submissions(request: AccountRequest, export: NamedDependency[Export]) -> Template:
    """Show submissions and their dispositions, newest first, with filters; without texts."""
    query = request.query_params
    (items, following), error = _answers(query, export)
    typed = {name: query[name] for name in SubmissionFilter.__struct_fields__ if query.get(name)}
    context = {"items": items, "following": following, "given": typed, "error": error, "dispositions": DISPOSITIONS}
    return page(request, "submissions.html", 400 if error else 200, **context)

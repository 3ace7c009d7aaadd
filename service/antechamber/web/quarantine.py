"""`/quarantine`: refused events, and what a curator makes of them."""

import asyncio
from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.errors import (
    AntechamberError,
    BusyError,
    ForbiddenDecisionError,
    NotFoundError,
    StaleDecisionError,
    UnavailableError,
)
from antechamber.core.review import SETTLEMENTS, InvalidDecisionError, SettlementKind
from antechamber.flows.quarantine import Quarantine, SettlementForm
from antechamber.web.auth import needs_role
from antechamber.web.decisions import curator
from antechamber.web.desk import MAX_FORM, PersonRequest, page, read_form
from antechamber.web.problems import AnyRequest

_KINDS: Final[dict[str, SettlementKind]] = {kind: kind for kind in SETTLEMENTS}
_STATUS: Final[dict[type[AntechamberError], int]] = {
    StaleDecisionError: 409,
    ForbiddenDecisionError: 403,
    InvalidDecisionError: 400,
    BusyError: 503,
    UnavailableError: 503,
}


@get("/quarantine", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_quarantine(request: PersonRequest, quarantine: NamedDependency[Quarantine]) -> Template:
    """Show refused events beside the originals they collided with."""
    return _page(request, quarantine)


@post("/quarantine/{quarantine_id:str}/{decision:str}", request_max_body_size=MAX_FORM)
async def settle(
    quarantine_id: FromPath[str], decision: FromPath[str], request: AnyRequest, quarantine: NamedDependency[Quarantine]
) -> Template | Redirect:
    """Settle a refused event: keep the original, open it as a proposal of its own, dismiss it as misuse."""
    form = await read_form(request)
    person = curator(request, form)
    kind = _KINDS.get(decision)
    if kind is None:
        raise NotFoundError(decision)
    said = SettlementForm(
        kind=kind, decision_key=form.get("decision_key", "")[:128], reason_text=form.get("reason_text", "")
    )
    try:
        opened = await quarantine.settle(quarantine_id, said, person)
    except tuple(_STATUS) as error:
        typed = form.get("reason_text", "")
        return await asyncio.to_thread(_page, request, quarantine, str(error), typed, _STATUS[type(error)])
    place = "/quarantine?done=settled" if opened is None else f"/review/{opened}?done=opened"
    return Redirect(place, status_code=303)


def _page(
    request: AnyRequest, quarantine: Quarantine, error: str | None = None, typed: str = "", status: int = 200
) -> Template:
    items, following = quarantine.waiting(request.query_params.get("after"))
    return page(request, "quarantine.html", status, items=items, following=following, error=error, typed=typed)

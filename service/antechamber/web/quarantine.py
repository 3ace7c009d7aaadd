"""`/quarantine`: quarantined events, and the curators' decisions on them."""

from functools import partial
from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.access.sessions import SignedOutError
from antechamber.core.errors import NotFoundError
from antechamber.core.review.quarantine import OF_SEALED, SETTLINGS, QuarantineForm, SettlingKind
from antechamber.flows.quarantine import Quarantine
from antechamber.flows.sealed_events import SealedEvents
from antechamber.web import thread_pools
from antechamber.web.auth import SignInNeededError, needs_role, typed_text
from antechamber.web.decisions import curator, read_number
from antechamber.web.pages import MAX_FORM, AccountRequest, page, read_form
from antechamber.web.problems import DECISION_ERRORS, AnyRequest, status_of

_KINDS: Final[dict[str, SettlingKind]] = {kind: kind for kind in SETTLINGS if kind not in OF_SEALED}


@get("/quarantine", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_quarantine(request: AccountRequest, quarantine: NamedDependency[Quarantine]) -> Template:
    """Show quarantined events beside the originals that they conflict with."""
    items, following = quarantine.list_waiting(request.query_params.get("after"), request.user)
    return page(request, "quarantine.html", items=items, following=following)


@get("/quarantine/{quarantine_id:str}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_event(quarantine_id: FromPath[str], request: AccountRequest) -> Template:
    """Show one quarantined event, waiting or settled, with the decisions on it; a sealed one with masked spans."""
    return render_event(request, quarantine_id)


@post("/quarantine/{quarantine_id:str}/{decision:str}", request_max_body_size=MAX_FORM)
async def settle(
    quarantine_id: FromPath[str], decision: FromPath[str], request: AnyRequest, quarantine: NamedDependency[Quarantine]
) -> Template | Redirect:
    """Settle a quarantined event: keep the original, open it as a proposal, dismiss it as misuse; or undo that."""
    form = await read_form(request)
    account = curator(request, form)
    kind = _KINDS.get(decision)
    if kind is None:
        raise NotFoundError(decision)
    decision_form = QuarantineForm(
        kind=kind,
        version=read_number(form.get("version", ""), otherwise=-1),
        decision_key=form.get("decision_key", "")[:128],
        reason_code=form.get("reason_code") or None,
        reason_text=form.get("reason_text", ""),
        undoes=form.get("undoes", ""),
    )
    try:
        opened = await quarantine.settle(quarantine_id, decision_form, account)
    except SignedOutError:
        raise SignInNeededError(typed_text(form)) from None
    except DECISION_ERRORS as error:
        show = partial(render_event, request, quarantine_id)
        return await thread_pools.run(thread_pools.PAGES, show, str(error), form, status_of(error))
    return Redirect(_next_address(kind, quarantine_id, opened), status_code=303)


def _next_address(kind: SettlingKind, quarantine_id: str, opened: str | None) -> str:
    if opened is not None:
        return f"/review/{opened}?done=opened&refused={quarantine_id}"
    if kind == "undo":
        return f"/quarantine/{quarantine_id}?done=undone"
    return f"/quarantine?done=settled&refused={quarantine_id}"


def render_event(
    request: AnyRequest,
    quarantine_id: str,
    error: str | None = None,
    form: dict[str, str] | None = None,
    status: int = 200,
    revealed: int = 0,
) -> Template:
    """Render one quarantined event; after a refused decision with the typed text, after a reveal with that span."""
    quarantine: Quarantine = request.app.state.quarantine
    sealed_events: SealedEvents = request.app.state.sealed_events
    event = quarantine.event(quarantine_id, request.scope["user"])
    context = {
        "one": event,
        "sealed": sealed_events.view(event, request.scope["user"], revealed),
        "reveals": sealed_events.reveals(event),
        "revealed": revealed,
        "titles": sealed_events.titles(),
        "error": error,
        "form": form or {},
        "again": f"/quarantine/{quarantine_id}",
    }
    return page(request, "refused.html", status, **context)

"""`/quarantine`: quarantined events, and the curators' decisions on them."""

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.access.sessions import SignedOutError
from antechamber.core.errors import NotFoundError
from antechamber.core.review.quarantine import OF_SEALED, SETTLINGS, QuarantineForm, SettlingKind
from antechamber.core.review.quarantine_filter import PARTS, STANDARD_VIEWS, read_quarantine_filter
from antechamber.core.review.queue_filter import FilterError, QueueFilter, same_filter, split_filter
from antechamber.flows.quarantine import PAGE, Quarantine
from antechamber.flows.sealed_events import SealedEvents
from antechamber.web import thread_pools
from antechamber.web.auth import SignInNeededError, needs_role
from antechamber.web.decisions import curator, read_number
from antechamber.web.desk import address_of
from antechamber.web.pages import MAX_FORM, AccountRequest, items_of, marks_of, page, read_form
from antechamber.web.problems import DECISION_ERRORS, AnyRequest, status_of

_KINDS: Final[dict[str, SettlingKind]] = {kind: kind for kind in SETTLINGS if kind not in OF_SEALED}


@get("/quarantine", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_quarantine(request: AccountRequest, quarantine: NamedDependency[Quarantine]) -> Template:
    """Show quarantined events beside the originals that they conflict with."""
    return _show_list(request, quarantine)


@post("/quarantine/group/{decision:str}", request_max_body_size=MAX_FORM)
async def settle_many(
    decision: FromPath[str], request: AnyRequest, quarantine: NamedDependency[Quarantine]
) -> Template:
    """Settle the events of a list as each is marked (`marks`), or undo that (`undo`), and show the result of each."""
    form = await read_form(request)
    account = curator(request, form)
    try:
        decisions = read_marks(decision, form)
        results = await quarantine.settle_many(decisions, account)
    except SignedOutError:
        raise SignInNeededError(form) from None
    except ValueError as error:
        return await thread_pools.run(
            thread_pools.PAGES, partial(_show_list, request, quarantine, error=str(error), form=form)
        )
    left = form if decision != "undo" and any(failure for _, failure in results) else None
    show = partial(_show_list, request, quarantine, results, action=decision, form=left)
    return await thread_pools.run(thread_pools.PAGES, show)


def _show_list(
    request: AnyRequest,
    quarantine: Quarantine,
    results: list[tuple[str, str | None]] | None = None,
    error: str | None = None,
    action: str = "",
    form: dict[str, str] | None = None,
) -> Template:
    """Render one page of the filtered list; after decisions with the result of each, and a way to undo all of them.

    `form` is one of which not all was recorded, whose marks and note are shown again.
    """
    account, text, wanted = request.scope["user"], request.query_params.get("q", ""), QueueFilter()
    try:
        wanted = read_quarantine_filter(text, account.person)
    except FilterError as refused:
        error = str(refused)
    items, following = quarantine.list_waiting(request.query_params.get("after"), account, wanted)
    filtered = wanted != QueueFilter()
    made = [one for one, failure in results or () if failure is None and action != "undo"]
    last = [view for one in made if (view := quarantine.own_last_decision(one, account)) is not None]
    views = [(name, view, same_filter(view, text)) for name, view in STANDARD_VIEWS.items()]
    context = {"items": items, "following": following, "q": text, "within": text if filtered else "", "error": error}
    context |= {
        "results": results,
        "undone": action == "undo",
        "texts": {one.event.quarantine_id: one.event.payload["content"] for one in items if one.event.payload},
        "last": last,
        "names": PARTS,
        "views": views,
        "filtered": filtered,
        "titles": request.app.state.sealed_events.titles(),
    }
    context |= {"form": form or {}, "marks": marks_of(form or {})}
    context |= {"chips": split_filter(text) if filtered else [], "again": address_of("/quarantine", text)}
    return page(request, "quarantine.html", 400 if error else 200, **context)


def read_marks(action: str, form: dict[str, str]) -> list[tuple[str, QuarantineForm]]:
    """Parse the marked events of a list, each with its version; an undo names the records to undo.

    Raises ValueError if there is no such action or outcome, or no event is marked.
    """
    decisions = []
    for number, value in items_of(form):
        mark = "undo" if action == "undo" else form.get(f"mark-{number}", "")
        if not mark:
            continue
        kind = _KINDS.get(mark)
        if kind is None or action not in {"marks", "undo"} or (kind == "undo") != (action == "undo"):
            message = "No such decision."
            raise ValueError(message)
        quarantine_id, version, undoes, *_ = [*value.split(" "), "", ""]
        # Each record's key is derived from the form's, so that a form sent twice counts once for each event.
        key = form.get("decision_key", "") and f"{form['decision_key'][:64]}.{quarantine_id[:63]}"
        decisions.append((quarantine_id, _read_form(kind, form | {"version": version, "undoes": undoes}, key)))
    if not 0 < len(decisions) <= PAGE:
        message = f"Mark between 1 and {PAGE} events."
        raise ValueError(message)
    return decisions


def _read_form(kind: SettlingKind, form: Mapping[str, str], decision_key: str) -> QuarantineForm:
    return QuarantineForm(
        kind=kind,
        version=read_number(form.get("version", ""), otherwise=-1),
        decision_key=decision_key,
        reason_code=form.get("reason_code") or None,
        reason_text=form.get("reason_text", ""),
        undoes=form.get("undoes", ""),
    )


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
    decision_form = _read_form(kind, form, form.get("decision_key", "")[:128])
    try:
        opened = await quarantine.settle(quarantine_id, decision_form, account)
    except SignedOutError:
        raise SignInNeededError(form) from None
    except DECISION_ERRORS as error:
        show = partial(render_event, request, quarantine_id)
        return await thread_pools.run(thread_pools.PAGES, show, str(error), form, status_of(error))
    within = form.get("q", "")
    if opened is not None:
        address = f"/review/{opened}?done=opened&refused={quarantine_id}"
    elif kind == "undo":
        address = address_of(f"/quarantine/{quarantine_id}", within, done="undone")
    else:
        find = partial(quarantine.next_waiting, quarantine_id, _filter_of(within, account.person))
        following = await thread_pools.run(thread_pools.PAGES, find)
        path = f"/quarantine/{following}" if following else "/quarantine"
        address = address_of(path, within, done="settled", refused=quarantine_id)
    return Redirect(address, status_code=303)


def _filter_of(text: str, person: str) -> QueueFilter:
    """Parse the filter that a page or form carries; one that is none matches everything."""
    with contextlib.suppress(FilterError):
        return read_quarantine_filter(text, person)
    return QueueFilter()


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
    text = (form or {}).get("q", request.query_params.get("q", ""))
    wanted = _filter_of(text, request.scope["user"].person)
    context = {
        "within": text if wanted != QueueFilter() else "",
        "following": quarantine.next_waiting(quarantine_id, wanted),
        "one": event,
        "sealed": sealed_events.view(event, request.scope["user"], revealed),
        "reveals": sealed_events.reveals(event),
        "revealed": revealed,
        "titles": sealed_events.titles(),
        "error": error,
        "form": form or {},
        "again": address_of(f"/quarantine/{quarantine_id}", text),
    }
    return page(request, "refused.html", status, **context)

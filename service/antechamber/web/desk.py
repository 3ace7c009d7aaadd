"""The review desk: pages for curators, and the same without forms for auditors. No route here changes anything."""

import contextlib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Template

from antechamber.core.admission.canonical import normalize_text
from antechamber.core.review.edit_field import FieldError, from_field, to_field
from antechamber.core.review.form_checks import TypedText, is_changed
from antechamber.core.review.history import text_with_hash
from antechamber.core.review.queue_filter import (
    NAMES,
    FilterError,
    QueueFilter,
    read_filter,
    same_filter,
    split_filter,
    views_of,
)
from antechamber.core.review.review_date import day_name
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.rows.review import LatestDecision
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.dossier import Dossier
from antechamber.flows.review import EditPreview
from antechamber.web.auth import needs_role
from antechamber.web.pages import DONE, AccountRequest, page
from antechamber.web.problems import AnyRequest
from antechamber.web.rendered_text import render_text

_OFFSET: Final = re.compile(r"-?[0-9]{1,3}")
"""Minutes between a clock and UTC."""
_LATEST: Final = 50
"""Number of decisions in the list of latest decisions."""


class ReviewPages(Controller):
    """`/review`: the queue and its proposals."""

    path = "/review"
    guards = (needs_role("curator", "auditor"),)

    @get("/", sync_to_thread=True)
    def queue(self, request: AccountRequest, desk_views: NamedDependency[DeskViews]) -> Template:
        """Show pending proposals in the queue's order."""
        return show_queue(request, desk_views, request.query_params.get("q", ""))

    @get("/latest", sync_to_thread=True)
    def latest(self, request: AccountRequest, desk_views: NamedDependency[DeskViews]) -> Template:
        """Show the latest decisions, each with a way to undo it."""
        own = request.query_params.get("mine") == "yes"
        account = request.scope["user"]
        items = desk_views.latest(_LATEST, account.person if own else "")
        return page(request, "latest.html", items=items, own=own, **_undoable(request, items))

    @get("/{proposal_id:str}", sync_to_thread=True)
    def proposal(
        self, proposal_id: FromPath[str], request: AccountRequest, desk_views: NamedDependency[DeskViews]
    ) -> Template:
        """Show one proposal with everything needed for a decision."""
        return show_proposal(request, desk_views, proposal_id)


def _undoable(request: AccountRequest, items: list[LatestDecision]) -> dict[str, Any]:
    """Return by id of their records the decisions of a list that its reader can undo without a reason."""
    account, state = request.scope["user"], request.app.state
    own = [row for row in items if row.person == account.person] if account.role == "curator" else []
    proposals = {row.proposal_id for row in own if row.proposal_id}
    events = {row.quarantine_id for row in own if row.quarantine_id and not row.proposal_id}
    taken = filter(None, (state.desk.own_last_decision(one, account) for one in sorted(proposals)))
    settled = filter(None, (state.quarantine.own_last_decision(one, account) for one in sorted(events)))
    return {
        "undoable": {one.standing.review_record_id: one for one in taken},
        "reopenable": {one.standing.review_record_id: one for one in settled},
    }


def show_queue(request: AnyRequest, desk_views: DeskViews, text: str, error: str | None = None) -> Template:
    """Render one page of the filtered queue; `error` states why a form was refused."""
    account, after, wanted = request.scope["user"], request.query_params.get("after"), QueueFilter()
    try:
        wanted = read_filter(text, account.person)
    except FilterError as refused:
        error = str(refused)
    plain, saved = wanted == QueueFilter(), views_of(account.views)
    queue = desk_views.queue(after, account) if plain else desk_views.queue_matching(wanted, after, account)
    views = [(view, same_filter(view.text, text)) for view in desk_views.views(saved, account)]
    context = {"queue": queue, "q": text, "error": error, "views": views, "saved": saved, "names": NAMES}
    context |= {"filtered": not plain, "within": "" if plain else text, "chips": [] if plain else split_filter(text)}
    context |= {"progress": desk_views.progress(wanted, account, offset_of(request), shown=len(queue.items))}
    context |= {"again": address_of("/review", text)} if request.method == "POST" else {}
    return page(request, "queue.html", 400 if error else 200, **context)


def filter_of(text: str, person: str) -> QueueFilter | None:
    """Parse the filter that a page or form carries; None if it is empty or invalid."""
    with contextlib.suppress(FilterError):
        wanted = read_filter(text, person)
        return None if wanted == QueueFilter() else wanted
    return None


def offset_of(request: AnyRequest) -> int:
    """Return the minutes that the clock of the reader is ahead of UTC, from a cookie of the desk; 0 without one."""
    text = request.cookies.get("zone", "")
    return int(text) if _OFFSET.fullmatch(text) else 0


def address_of(path: str, within: str, **query: str) -> str:
    """Return the address of a page of the desk that keeps the filter."""
    query |= {"q": within} if within else {}
    return f"{path}?{urlencode(query)}" if query else path


def show_proposal(  # noqa: PLR0913 -- notices that the page may show besides the proposal
    request: AnyRequest,
    desk_views: DeskViews,
    proposal_id: str,
    *,
    form: dict[str, str] | None = None,
    error: str | None = None,
    stale: str | None = None,
    status: int = 200,
    done: str = "",
    editing: bool = False,
) -> Template:
    """Render a proposal; after a refused decision, or an action that leaves it open, with the typed text.

    `editing` leads to the edit field.
    """
    account = request.scope["user"]
    dossier, sent = desk_views.dossier(proposal_id, account), form or {}
    form, text = _still_typed(dossier, sent), sent.get("q", request.query_params.get("q", ""))
    wanted = filter_of(text, account.person)
    within = text if wanted else ""
    context: dict[str, Any] = {"dossier": dossier, "form": form, "error": error, "stale": stale, "within": within}
    if account.role == "curator":
        waits = proposal_id if dossier.proposal.state == "pending" else None
        context["progress"] = desk_views.progress(wanted or QueueFilter(), account, offset_of(request), waits)
    context["again"] = address_of(f"/review/{proposal_id}", within)
    context |= {"rendered": render_text(dossier.proposal.payload["content"]), "day_name": day_name, "editing": editing}
    context |= _differences(dossier, form)
    context |= {"done": DONE[done]} if done else {}
    return page(request, "proposal.html", status, **context)


def read_typed(form: Mapping[str, str]) -> TypedText:
    """Return what the fields of a decision form contain."""
    content = form.get("content", "")
    # A damaged token is a change, whatever it means.
    with contextlib.suppress(FieldError):
        content = from_field(content)
    return TypedText(content=content, shown_hash=form.get("shown_hash", ""), note=form.get("reason_text", ""))


def _still_typed(dossier: Dossier, form: dict[str, str]) -> dict[str, str]:
    """Return a form without what does not apply to the present text: an unchanged text, a tick that it was read."""
    unchanged = not is_changed(read_typed(form), dossier.proposal.payload, dossier.records)
    unread = form.get("shown_hash", dossier.shown_hash) != dossier.shown_hash
    dropped = {name for name, drop in (("content", unchanged), ("read", unread)) if drop}
    return _with_tokens({name: value for name, value in form.items() if name not in dropped})


def _with_tokens(form: dict[str, str]) -> dict[str, str]:
    """Return a form whose edited text shows special characters, also pasted ones, as tokens, if it can be parsed."""
    with contextlib.suppress(FieldError):
        return form | {"content": to_field(normalize_text(from_field(form.get("content", "")))).text}
    return form


def _differences(dossier: Dossier, form: dict[str, str]) -> dict[str, Difference | None]:
    """Compare the current text with the one that a form was made for, and with the text typed into it."""
    now, seen = dossier.proposal.payload["content"], text_with_hash(dossier.records, form.get("shown_hash", ""))
    before = msgspec.json.decode(seen)["content"] if seen else now
    typed = None
    with contextlib.suppress(FieldError):
        typed = differ(now, normalize_text(from_field(form["content"]))) if form.get("content") else None
    return {"changed": differ(before, now) if before != now else None, "typed": typed}


def show_draft(request: AnyRequest, draft: EditPreview, form: dict[str, str]) -> Template:
    """Render the difference that an edit makes, with the form that saves it."""
    proposal, text = draft.proposal, form.get("q", "")
    within = text if filter_of(text, request.scope["user"].person) else ""
    context: dict[str, Any] = {"draft": draft, "form": form, "field": to_field(draft.content), "within": within}
    return page(request, "change.html", **context, again=address_of(f"/review/{proposal.proposal_id}", within))

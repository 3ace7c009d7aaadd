"""`/memories`: lists of memories, each one's page, and the form with which a curator keeps one."""

from typing import Any, Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.contract import SCOPES
from antechamber.core.errors import AntechamberError, BusyError, StaleDecisionError, UnavailableError
from antechamber.core.review.review_date import day_name
from antechamber.core.rows.memories import MemoryFilter
from antechamber.core.times import parse_time
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.upkeep.review_dates import KeepForm, ReviewDates
from antechamber.flows.upkeep.views import UpkeepViews
from antechamber.web import thread_pools
from antechamber.web.auth import act, needs_role
from antechamber.web.decisions import curator
from antechamber.web.pages import MAX_FORM, AccountRequest, page, read_form
from antechamber.web.problems import DECISION_ERRORS, AnyRequest, status_of

_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_VIEWS: Final = ("due", "derived-from-retracted", "declared-private")
_MAX_WORDS: Final = 32


@get("/memories", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_memories(
    request: AccountRequest, desk_views: NamedDependency[DeskViews], upkeep_views: NamedDependency[UpkeepViews]
) -> Template:
    """Show memories, newest first, or a view: what comes up for review, is derived from retracted, became private."""
    query = {name: request.query_params.get(name, "").replace("\0", " ") for name in ("q", "scope", "at", "view")}
    after, wanted, error = request.query_params.get("after"), MemoryFilter(), None
    try:
        wanted = _read_memory_filter(query)
    except ValueError as refused:
        error = str(refused)
    listed = {
        "due": upkeep_views.due,
        "derived-from-retracted": upkeep_views.derived_from_retracted,
        "declared-private": upkeep_views.declared_private,
    }
    items, following = listed.get(query["view"], desk_views.memories)(wanted, after)
    typed = {name: value for name, value in query.items() if value}
    context = {"items": items, "following": following, "given": typed, "error": error, "tabs": upkeep_views.tabs()}
    return page(request, "memories.html", 400 if error else 200, **context)


def _read_memory_filter(query: dict[str, str]) -> MemoryFilter:
    """Parse the filter of the memories: words, a scope with its id, and a day, which means its end in UTC.

    Raises ValueError, whose text states what to change.
    """
    scope, _, scope_id = query["scope"].strip().partition(":")
    if query["scope"].strip() and (scope not in SCOPES or not scope_id):
        message = "Write a scope with its id, as in project:apollo"
        raise ValueError(message)
    if query["view"] and (query["view"] not in _VIEWS or query["q"] or query["at"]):
        message = f"A view is one of {', '.join(_VIEWS)}, and takes a scope, but no words and no day"
        raise ValueError(message)
    at = None
    if query["at"]:
        try:
            at = parse_time(f"{query['at']}T00:00:00Z") + _DAY
        except ValueError:
            message = "Write a day as 2026-11-20"
            raise ValueError(message) from None
    return MemoryFilter(words=query["q"].split()[:_MAX_WORDS], submission_scope=scope, scope_id=scope_id, at=at)


@get("/memories/{memory_id:str}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def show_memory(memory_id: FromPath[str], request: AccountRequest) -> Template:
    """Show one memory, the decisions that admitted it, who reads it, and what names it."""
    return _show(request, memory_id, {}, None, 200)


def _show(request: AnyRequest, memory_id: str, form: dict[str, str], error: str | None, status: int) -> Template:
    """Render a memory; after a form that was refused with the typed date, and why."""
    state = request.app.state
    context: dict[str, Any] = {
        "provenance": state.desk_views.memory(memory_id, request.scope["user"]),
        "use": state.upkeep_views.of_memory(memory_id),
        "form": form,
        "error": error,
        "day_name": day_name,
        "again": f"/memories/{memory_id}",
    }
    return page(request, "memory.html", status, **context)


@post("/memories/{memory_id:str}/keep", request_max_body_size=MAX_FORM)
async def keep(
    memory_id: FromPath[str], request: AnyRequest, review_dates: NamedDependency[ReviewDates]
) -> Template | Redirect:
    """Keep a memory, set the day after which it comes up for review again, and show it."""
    form = await read_form(request)
    account = curator(request, form)
    kept = KeepForm(
        decision_key=form.get("decision_key", "")[:128],
        standing=form.get("standing", ""),
        review_after=form.get("review_after", ""),
    )
    try:
        await act(form, review_dates.keep, memory_id, kept, account)
    except DECISION_ERRORS as error:
        text = _explain(error)
        return await thread_pools.run(thread_pools.PAGES, _show, request, memory_id, form, text, status_of(error))
    return Redirect(f"/memories/{memory_id}?done=memory-kept", status_code=303)


def _explain(error: AntechamberError) -> str:
    """Return why nothing was recorded, and what to do."""
    if isinstance(error, StaleDecisionError):
        return f"Nothing was recorded: {error}. Below is the present state."
    if isinstance(error, BusyError | UnavailableError):
        return f"The service cannot store anything right now: {error}. Try again in a moment."
    return str(error)

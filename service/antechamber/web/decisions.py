"""Routes of the curators' actions: decisions, claims and the conversation.

Each is a POST that answers with a 303 redirect, or with the page and what was typed if that would be lost.
"""

from functools import partial
from typing import Final

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.params import FromPath
from litestar.response import Redirect, Template
from msgspec.structs import replace

from antechamber.core.access.callers import Account
from antechamber.core.errors import (
    AntechamberError,
    BusyError,
    NotFoundError,
    StaleDecisionError,
    UnavailableError,
)
from antechamber.core.review.decision import DECISIONS, NAMING, Decision, DecisionKind, InvalidDecisionError
from antechamber.core.review.edit_field import FieldError, from_field
from antechamber.core.review.queue_filter import FilterError, read_filter
from antechamber.flows.access import AccessFlows
from antechamber.flows.conversation import Conversation, CuratorsKind, NoteForm
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.review import DecisionResult, Desk
from antechamber.web import thread_pools
from antechamber.web.auth import act, check_form
from antechamber.web.desk import address_of, filter_of, read_typed, show_draft, show_proposal, show_queue
from antechamber.web.pages import MAX_FORM, read_form
from antechamber.web.problems import DECISION_ERRORS, AnyRequest, status_of

_MAX_DIGITS: Final = 10
_KINDS: Final[dict[str, DecisionKind]] = {kind: kind for kind in DECISIONS}
_FILLED: Final = ("reason_text", "read", "supersedes", "review_after")
"""Fields of the decision form that are empty unless the curator filled them, except for the text."""


class DecisionRoutes(Controller):
    """`/review/…`: approve, reject and all other decisions; claim, skip, start.

    The checks are part of the form handling instead of a guard, so that typed text is not lost.
    """

    path = "/review"

    @post("/next", request_max_body_size=MAX_FORM)
    async def start(
        self, request: AnyRequest, desk: NamedDependency[Desk], desk_views: NamedDependency[DeskViews]
    ) -> Template | Redirect:
        """Claim the first free proposal that matches the queue's filter, and show it."""
        form = await read_form(request)
        account, within = curator(request, form), form.get("q", "")
        try:
            read_filter(within, account.person)
        except FilterError as error:
            return await thread_pools.run(thread_pools.PAGES, show_queue, request, desk_views, within, str(error))
        return _show_next(await act(form, desk.start, account, filter_of(within, account.person)), within)

    @post("/views", request_max_body_size=MAX_FORM)
    async def save_view(
        self, request: AnyRequest, access: NamedDependency[AccessFlows], desk_views: NamedDependency[DeskViews]
    ) -> Template | Redirect:
        """Store the current filter under a name, or delete a stored one."""
        form = await read_form(request)
        account, text = check_form(request, form), form.get("q", "")
        try:
            await act(form, access.accounts.save_view, account, form.get("name", ""), text)
        except FilterError as error:
            return await thread_pools.run(thread_pools.PAGES, show_queue, request, desk_views, text, str(error))
        return Redirect("/review", query_params={"q": text, "done": "view"}, status_code=303)

    @post("/{proposal_id:str}/skip", request_max_body_size=MAX_FORM)
    async def skip(
        self,
        proposal_id: FromPath[str],
        request: AnyRequest,
        desk: NamedDependency[Desk],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Release a proposal, claim the next one and show it."""
        form = await read_form(request)
        account, within = curator(request, form), form.get("q", "")
        skip = partial(desk.skip, typed=read_typed(form))
        try:
            following = await act(form, skip, proposal_id, account, filter_of(within, account.person))
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error)
        return _show_next(following, within)

    @post("/{proposal_id:str}/claim", request_max_body_size=MAX_FORM)
    async def claim(
        self,
        proposal_id: FromPath[str],
        request: AnyRequest,
        desk: NamedDependency[Desk],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Claim a proposal, even if another curator holds it."""
        form = await read_form(request)
        try:
            await act(form, desk.claim, proposal_id, curator(request, form))
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error)
        return await _stay(request, desk_views, proposal_id, form, "claimed")

    @post(["/{proposal_id:str}/note", "/{proposal_id:str}/assignment"], request_max_body_size=MAX_FORM)
    async def note(
        self,
        proposal_id: FromPath[str],
        request: AnyRequest,
        conversation: NamedDependency[Conversation],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Add a note to a proposal or assign it to a person, and show it again."""
        form = await read_form(request)
        account = curator(request, form)
        kind: CuratorsKind = "note" if request.scope["path"].endswith("/note") else "assignment"
        try:
            await act(form, conversation.write, kind, proposal_id, read_note_form(form), account)
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error)
        if kind == "note":
            return await _stay(request, desk_views, proposal_id, form | {"reason_text": ""}, "noted")
        return await _stay(request, desk_views, proposal_id, form, "assigned")

    @post("/{proposal_id:str}/seen", request_max_body_size=MAX_FORM)
    async def see(
        self,
        proposal_id: FromPath[str],
        request: AnyRequest,
        conversation: NamedDependency[Conversation],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Mark the notes that mention the curator as seen, and show the proposal again."""
        form = await read_form(request)
        try:
            await act(form, conversation.see, proposal_id, curator(request, form))
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error)
        return await _stay(request, desk_views, proposal_id, form, "seen")

    @post("/{proposal_id:str}/question", request_max_body_size=MAX_FORM)
    async def ask(
        self,
        proposal_id: FromPath[str],
        request: AnyRequest,
        desk: NamedDependency[Desk],
        conversation: NamedDependency[Conversation],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Ask the producer, release the proposal and show the next one."""
        form = await read_form(request)
        account, within = curator(request, form), form.get("q", "")
        try:
            await act(form, conversation.write, "question", proposal_id, read_note_form(form), account)
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error)
        following = await act(form, desk.skip, proposal_id, account, filter_of(within, account.person))
        path = f"/review/{following}" if following else "/review"
        return Redirect(address_of(path, within, done="asked"), status_code=303)

    @post("/{proposal_id:str}/{decision:str}", request_max_body_size=MAX_FORM)
    async def decide(
        self,
        proposal_id: FromPath[str],
        decision: FromPath[str],
        request: AnyRequest,
        desk: NamedDependency[Desk],
        desk_views: NamedDependency[DeskViews],
    ) -> Template | Redirect:
        """Make one decision and show the next proposal; an edit first shows its difference."""
        form = await read_form(request)
        account = curator(request, form)
        kind = _KINDS.get(decision)
        if kind is None:
            return await _refused(request, desk_views, proposal_id, form, NotFoundError("No such decision."))
        if kind == "edit" and "again" in form:
            show = partial(show_proposal, form=form, editing=True)
            return await thread_pools.run(thread_pools.PAGES, show, request, desk_views, proposal_id)
        try:
            form_decision = read_decision(kind, form)
            if kind == "edit" and (
                draft := await act(form, _preview_edit, request, desk, proposal_id, form_decision, form)
            ):
                return draft
            within = filter_of(form.get("q", ""), account.person)
            decided = await act(form, desk.decide, proposal_id, form_decision, account, within)
        except DECISION_ERRORS as error:
            return await _refused(request, desk_views, proposal_id, form, error, editing=kind == "edit")
        return Redirect(_next_address(kind, decided, form.get("q", "")), status_code=303)


def _preview_edit(
    request: AnyRequest, desk: Desk, proposal_id: str, decision: Decision, form: dict[str, str]
) -> Template | None:
    """Return the page with the difference of an edit; None if the form contains the hash of exactly this result."""
    draft = desk.draft(proposal_id, decision, request.scope["user"])
    return None if form.get("resulting_hash") == draft.resulting_hash else show_draft(request, draft, form)


def curator(request: AnyRequest, form: dict[str, str]) -> Account:
    """Return the curator who sent a form.

    Raises PermissionDeniedException for any other role.
    """
    account = check_form(request, form)
    if account.role != "curator":
        raise PermissionDeniedException(detail="Only a curator decides.")
    return account


def _show_next(proposal_id: str | None, within: str) -> Redirect:
    """Redirect to the next proposal of a filter, or to the queue with a notice if there is none."""
    if proposal_id is not None:
        return Redirect(address_of(f"/review/{proposal_id}", within), status_code=303)
    return Redirect(address_of("/review", within, done="filter-done" if within else "all-held"), status_code=303)


def _next_address(kind: DecisionKind, decided: DecisionResult, within: str) -> str:
    """Return the address after a decision: the next proposal, the empty queue, or the item that was decided on."""
    if kind == "undo":
        path = f"/review/{decided.proposal_id}"
    elif kind in {"retract", "expire"}:
        path = f"/memories/{decided.memory_id}"
    else:
        path = "/review" if decided.next is None else f"/review/{decided.next}"
    last = {} if kind == "undo" else {"last": decided.proposal_id}
    return address_of(path, within, done=decided.outcome, **last)


def read_number(text: str, *, otherwise: int) -> int:
    """Return the number in a hidden form field; `otherwise` if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS else otherwise


def read_decision(kind: DecisionKind, form: dict[str, str]) -> Decision:
    """Parse the form of a decision; a missing or invalid version counts as stale.

    One form serves every decision: a button names the memory of a supersession or merge as `target`, a list that of an
    edit as `supersedes`.

    Raises InvalidDecisionError if the changed text contains a damaged token.
    """
    content = read_typed(form).content
    if kind == "edit":
        try:
            content = from_field(form.get("content", ""))
        except FieldError as error:
            raise InvalidDecisionError(str(error)) from error
    return Decision(
        kind=kind,
        version=read_number(form.get("version", ""), otherwise=0),
        shown_hash=form.get("shown_hash", ""),
        decision_key=form.get("decision_key", "")[:128],
        reason_code=form.get("reason_code") or None,
        reason_text=form.get("reason_text", ""),
        content=content,
        read=form.get("read") == "1",
        target=form.get("supersedes" if kind == "edit" else "target", "") if kind in NAMING else "",
        undoes=form.get("undoes", ""),
        review_after=form.get("review_after"),
    )


def read_note_form(form: dict[str, str]) -> NoteForm:
    """Parse a form of the conversation; the note field of the decisions has the text."""
    return NoteForm(
        decision_key=form.get("decision_key", "")[:128],
        text=form.get("reason_text", ""),
        person=form.get("person", ""),
        typed=replace(read_typed(form), note=""),
    )


async def _stay(
    request: AnyRequest, desk_views: DeskViews, proposal_id: str, form: dict[str, str], done: str
) -> Template | Redirect:
    """Show the proposal again after an action that leaves it open.

    It redirects unless something typed is left, which no address may carry.
    """
    left = any(form.get(name) for name in _FILLED)
    if left or await thread_pools.run(thread_pools.PAGES, desk_views.is_changed, proposal_id, read_typed(form)):
        show = partial(show_proposal, form=form, done=done)
        return await thread_pools.run(thread_pools.PAGES, show, request, desk_views, proposal_id)
    return Redirect(address_of(f"/review/{proposal_id}", form.get("q", ""), done=done), status_code=303)


async def _refused(
    request: AnyRequest,
    desk_views: DeskViews,
    proposal_id: str,
    form: dict[str, str],
    error: AntechamberError,
    *,
    editing: bool = False,
) -> Template:
    """Show the proposal again with what was typed, and why nothing was recorded."""
    text, status = str(error), status_of(error)
    stale = isinstance(error, StaleDecisionError)
    if isinstance(error, BusyError | UnavailableError):
        text = f"The service cannot store anything right now: {error}. Try again in a moment."
    show = partial(
        show_proposal,
        form=form,
        error=None if stale else text,
        stale=text if stale else None,
        status=status,
        editing=editing,
    )
    return await thread_pools.run(thread_pools.PAGES, show, request, desk_views, proposal_id)

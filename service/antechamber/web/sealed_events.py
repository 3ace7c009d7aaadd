"""`/quarantine/…`: what curators do with sealed events: reveal one span, release a redaction, destroy, clear."""

from functools import partial
from typing import Final, get_args

from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.access.sessions import SignedOutError
from antechamber.core.review.decision import InvalidDecisionError
from antechamber.core.review.edit_field import FieldError, from_field
from antechamber.core.review.quarantine import QuarantineForm
from antechamber.flows.sealed_events import RevealForm, SealedEvents, SealedSettling
from antechamber.web import thread_pools
from antechamber.web.auth import SignInNeededError, act
from antechamber.web.confirming import confirm
from antechamber.web.decisions import curator, read_number
from antechamber.web.pages import MAX_FORM, page, read_form
from antechamber.web.problems import DECISION_ERRORS, AnyRequest, status_of
from antechamber.web.quarantine import render_event

_KINDS: Final[dict[str, SealedSettling]] = {kind: kind for kind in get_args(SealedSettling)}


@post("/quarantine/{quarantine_id:str}/reveal", request_max_body_size=MAX_FORM, status_code=200)
async def reveal(
    quarantine_id: FromPath[str],
    request: AnyRequest,
    sealed_events: NamedDependency[SealedEvents],
) -> Template:
    """Record why a curator needs to see one span, and show it in this answer only."""
    form = await read_form(request)
    account = curator(request, form)
    if asking := await confirm(request, form, account, f"/quarantine/{quarantine_id}"):
        return asking
    asked = RevealForm(
        span=read_number(form.get("span", ""), otherwise=0),
        decision_key=form.get("decision_key", "")[:128],
        reason_text=form.get("reveal_reason", ""),
    )
    show = partial(render_event, request, quarantine_id)
    try:
        await act(form, sealed_events.reveal, quarantine_id, asked, account)
    except DECISION_ERRORS as error:
        return await thread_pools.run(thread_pools.PAGES, show, str(error), form, status_of(error))
    left = form | {"reveal_reason": ""}
    return await thread_pools.run(thread_pools.PAGES, partial(show, form=left, revealed=asked.span))


@post([f"/quarantine/{{quarantine_id:str}}/{kind}" for kind in _KINDS], request_max_body_size=MAX_FORM)
async def settle_sealed(
    quarantine_id: FromPath[str],
    request: AnyRequest,
    sealed_events: NamedDependency[SealedEvents],
) -> Template | Redirect:
    """Release an event with its redacted text, destroy it, or clear it as a false alarm."""
    form = await read_form(request)
    account, kind = curator(request, form), _KINDS[request.scope["path"].rpartition("/")[2]]
    if kind != "release" and (asking := await confirm(request, form, account, f"/quarantine/{quarantine_id}")):
        return asking
    asked = QuarantineForm(
        kind=kind,
        version=read_number(form.get("version", ""), otherwise=-1),
        decision_key=form.get("decision_key", "")[:128],
        reason_code=form.get("reason_code") or None,
        reason_text=form.get("reason_text", ""),
    )
    try:
        settled = await sealed_events.settle(quarantine_id, asked, account, _read_content(form))
    except SignedOutError:
        raise SignInNeededError(form) from None
    except DECISION_ERRORS as error:
        show = partial(render_event, request, quarantine_id)
        return await thread_pools.run(thread_pools.PAGES, show, str(error), form, status_of(error))
    if kind == "clear":
        # Not a redirect: no address could carry the examples, and they are shown only once.
        return await thread_pools.run(
            thread_pools.PAGES, partial(page, request, "cleared.html", examples=settled.examples)
        )
    if settled.proposal_id is not None:
        return Redirect(f"/review/{settled.proposal_id}?done=released", status_code=303)
    return Redirect("/quarantine?done=destroyed", status_code=303)


def _read_content(form: dict[str, str]) -> str:
    """Return the typed text.

    Raises InvalidDecisionError if it has a damaged token.
    """
    try:
        return from_field(form.get("content", ""))
    except FieldError as error:
        raise InvalidDecisionError(str(error)) from error

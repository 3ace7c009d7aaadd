"""The review desk: pages for curators, the same without forms for auditors. Every act is a POST that answers 303."""

import asyncio
import secrets
from typing import Any, Final

from litestar import Controller, Request, get, post
from litestar.di import NamedDependency
from litestar.exceptions import ClientException, InternalServerException, PermissionDeniedException
from litestar.params import FromPath
from litestar.response import Redirect, Template

from antechamber.core.contract import REASON_CODES
from antechamber.core.errors import BusyError, ForbiddenDecisionError, StaleDecisionError, UnavailableError
from antechamber.core.review import Decision, DecisionKind, InvalidDecisionError
from antechamber.core.roles import Person
from antechamber.core.shortcuts import keys_of
from antechamber.flows.review import Decided, Desk
from antechamber.web.auth import check_form, csrf_token, needs_role
from antechamber.web.problems import AnyRequest

MAX_FORM: Final = 512 * 1024
NO_STORE: Final = {"cache-control": "no-store"}
PersonRequest = Request[Person, Any, Any]
_DECISIONS: Final[dict[str, DecisionKind]] = {"approve": "approve", "edit": "edit", "reject": "reject"}
_DONE: Final = {
    "approved": "Approved. It is a memory now.",
    "pending": "Recorded. It waits for a second person.",
    "rejected": "Rejected.",
}


async def read_form(request: AnyRequest) -> dict[str, str]:
    """Read a form's text fields; the last of equal names counts.

    Raises ClientException for a form that cannot be read.
    """
    try:
        form = await request.app.state.uploads.read(request.form())
    except (TimeoutError, ValueError, LookupError, InternalServerException) as error:
        raise ClientException(detail="The form could not be read, so nothing was changed. Send it again.") from error
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    if any("\0" in value for value in fields.values()):
        raise ClientException(detail="The form holds U+0000, which no text may have. Nothing was changed.")
    return fields


def page(request: AnyRequest, name: str, status: int = 200, **context: Any) -> Template:
    """Render a page with what every page shows: who is signed in, how much waits, what is wrong."""
    state, person = request.app.state, request.scope["user"]
    common = {
        "person": person,
        "csrf": csrf_token(state.secret, person),
        "counters": None if person.role == "operator" else state.desk.counters(),
        "alarms": state.alarms(),
        "here": request.scope["path"],
        "keys": keys_of(person.keys),
    }
    return Template(name, context=common | context, status_code=status, headers=NO_STORE)


class Review(Controller):
    """`/review`: the queue and the proposals in it."""

    path = "/review"
    guards = (needs_role("curator", "auditor"),)

    @get("/", sync_to_thread=True)
    def queue(self, request: PersonRequest, desk: NamedDependency[Desk]) -> Template:
        """Show pending proposals, oldest first."""
        done = _DONE.get(request.query_params.get("done", ""))
        return page(request, "queue.html", queue=desk.queue(request.query_params.get("after")), done=done)

    @get("/{proposal_id:str}", sync_to_thread=True)
    def proposal(self, proposal_id: FromPath[str], request: PersonRequest, desk: NamedDependency[Desk]) -> Template:
        """Show one proposal with everything a decision needs."""
        return show_proposal(request, desk, proposal_id, done=_DONE.get(request.query_params.get("done", "")))


class Decisions(Controller):
    """`/review/{proposal_id}/…`: approve, edit or reject.

    The checks are in the form's handling and not in a guard, to lose no typed text.
    """

    path = "/review"

    @post("/{proposal_id:str}/{decision:str}", request_max_body_size=MAX_FORM)
    async def decide(
        self, proposal_id: FromPath[str], decision: FromPath[str], request: AnyRequest, desk: NamedDependency[Desk]
    ) -> Template | Redirect:
        """Make one decision and go on to the next proposal."""
        form = await read_form(request)
        person = check_form(request, form)
        if person.role != "curator":
            raise PermissionDeniedException(detail="Only a curator decides.")
        kind = _DECISIONS.get(decision)
        if kind is None:
            return await asyncio.to_thread(_refused, request, desk, proposal_id, form, "No such decision.", 404)
        try:
            decided = await asyncio.to_thread(desk.decide, proposal_id, read_decision(kind, form), person)
        except StaleDecisionError as error:
            return await asyncio.to_thread(_stale, request, desk, proposal_id, form, str(error))
        except (BusyError, UnavailableError) as error:
            text = f"The service cannot store anything right now: {error}. Try again in a moment."
            return await asyncio.to_thread(_refused, request, desk, proposal_id, form, text, 503)
        except ForbiddenDecisionError as error:
            return await asyncio.to_thread(_refused, request, desk, proposal_id, form, str(error), 403)
        except InvalidDecisionError as error:
            return await asyncio.to_thread(_refused, request, desk, proposal_id, form, str(error), 400)
        return Redirect(_next_place(decided), status_code=303)


def _next_place(decided: Decided) -> str:
    """Go on to the next proposal, or to the empty queue."""
    place = "/review" if decided.next in {None, decided.proposal_id} else f"/review/{decided.next}"
    return f"{place}?done={decided.state}"


def read_decision(kind: DecisionKind, form: dict[str, str]) -> Decision:
    """Read a decision's form; what is missing or no number counts as stale."""
    version = form.get("version", "")
    return Decision(
        kind=kind,
        version=int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0,  # noqa: PLR2004
        shown_hash=form.get("shown_hash", ""),
        decision_key=form.get("decision_key", "")[:128],
        reason_code=form.get("reason_code") or None,
        reason_text=form.get("reason_text", ""),
        content=form.get("content", ""),
    )


def show_proposal(  # noqa: PLR0913 -- what the page may have to say besides the proposal
    request: AnyRequest,
    desk: Desk,
    proposal_id: str,
    *,
    form: dict[str, str] | None = None,
    error: str | None = None,
    stale: str | None = None,
    done: str | None = None,
    status: int = 200,
) -> Template:
    """Render a proposal; after a refused decision with what was typed."""
    return page(
        request,
        "proposal.html",
        status,
        dossier=desk.dossier(proposal_id, request.scope["user"]),
        decision_key=secrets.token_urlsafe(24),
        reasons=REASON_CODES,
        form=form or {},
        error=error,
        stale=stale,
        done=done,
    )


def _stale(request: AnyRequest, desk: Desk, proposal_id: str, form: dict[str, str], why: str) -> Template:
    return show_proposal(request, desk, proposal_id, form=form, stale=why, status=409)


def _refused(
    request: AnyRequest, desk: Desk, proposal_id: str, form: dict[str, str], why: str, status: int
) -> Template:
    return show_proposal(request, desk, proposal_id, form=form, error=why, status=status)


@get("/quarantine", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def quarantine(request: PersonRequest, desk: NamedDependency[Desk]) -> Template:
    """Show refused events beside the originals they collided with."""
    items, following = desk.quarantine(request.query_params.get("after"))
    return page(request, "quarantine.html", items=items, following=following)


@get("/memories", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def memories(request: PersonRequest, desk: NamedDependency[Desk]) -> Template:
    """Show what was admitted, newest first."""
    words = request.query_params.get("q", "").replace("\0", " ")
    items, following = desk.memories(words.split()[:32], request.query_params.get("after"))
    return page(request, "memories.html", items=items, following=following, q=words)


@get("/memories/{memory_id:str}", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def memory(memory_id: FromPath[str], request: PersonRequest, desk: NamedDependency[Desk]) -> Template:
    """Show one memory and the decisions that admitted it."""
    return page(request, "memory.html", provenance=desk.memory(memory_id))

"""`/memories/propose`: the form in which a curator proposes a memory, which another person decides on."""

from functools import partial

from litestar import get, post
from litestar.di import NamedDependency
from litestar.response import Redirect, Template

from antechamber.core.errors import ForbiddenDecisionError, NotFoundError
from antechamber.core.review.edit_field import FieldError, from_field
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.proposing import ProposalForm, Proposing
from antechamber.web import thread_pools
from antechamber.web.auth import needs_role
from antechamber.web.decisions import curator
from antechamber.web.pages import MAX_FORM, AccountRequest, page, read_form
from antechamber.web.problems import AnyRequest, status_of

_FIELDS = ("producer_identity", "scope", "kind", "content", "tags", "source", "supersedes")


def _page(
    request: AnyRequest, proposing: Proposing, form: dict[str, str], problems: list[str], status: int = 200
) -> Template:
    """Render the form with what was typed, and why it was not taken."""
    producers = proposing.producers_of(request.scope["user"].person)
    context = {"producers": producers, "form": form, "problems": problems}
    return page(request, "propose.html", status, **context)


@get("/memories/propose", guards=[needs_role("curator")], sync_to_thread=True)
def show_form(
    request: AccountRequest, proposing: NamedDependency[Proposing], desk_views: NamedDependency[DeskViews]
) -> Template:
    """Show the form; with `memory`, filled in with the text of the memory that should change."""
    form: dict[str, str] = {}
    if memory_id := request.query_params.get("memory"):
        memory = desk_views.memory(memory_id, request.user).memory
        form = {
            "scope": f"{memory.submission_scope}:{memory.scope_id}",
            "kind": memory.payload["kind"],
            "tags": " ".join(memory.payload.get("tags", ())),
            "content": memory.payload["content"],
            "supersedes": memory.memory_id,
        }
    return _page(request, proposing, form, [])


@post("/memories/propose", request_max_body_size=MAX_FORM)
async def propose(request: AnyRequest, proposing: NamedDependency[Proposing]) -> Template | Redirect:
    """Submit the proposal and show it, or the form again with the reasons of a refusal."""
    form = await read_form(request)
    account = curator(request, form)
    typed = {name: form.get(name, "") for name in _FIELDS}
    show = partial(thread_pools.run, thread_pools.PAGES, _page, request, proposing, typed)
    try:
        typed["content"] = from_field(typed["content"])
        asked = ProposalForm(decision_key=form.get("decision_key", "")[:128], **typed)
        proposed = await proposing.propose(asked, account)
    except (FieldError, ForbiddenDecisionError, NotFoundError) as error:
        return await show([str(error)], 400 if isinstance(error, FieldError) else status_of(error))
    if proposed.proposal_id is None:
        return await show([f"{one.code}: {one.message}" for one in proposed.reasons], proposed.status)
    done = "proposed" if proposed.status == 201 else "known"  # noqa: PLR2004 -- a new proposal
    return Redirect(f"/review/{proposed.proposal_id}?done={done}", status_code=303)

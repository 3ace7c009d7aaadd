"""Routes of groups: proposals that are read on one page, marked one by one, and decided together."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Template

from antechamber.core.errors import ForbiddenDecisionError
from antechamber.core.review.decision import Decision, DecisionKind, InvalidDecisionError
from antechamber.flows.groups import MAX_AT_ONCE, GroupChoice, Groups
from antechamber.web import thread_pools
from antechamber.web.auth import act, needs_role
from antechamber.web.decisions import curator, read_decision
from antechamber.web.desk import address_of, filter_of
from antechamber.web.pages import MAX_FORM, AccountRequest, items_of, marks_of, page, read_form
from antechamber.web.problems import AnyRequest

_KINDS: Final[dict[str, DecisionKind]] = {"approve": "approve", "reject": "reject", "undo": "undo"}
_OF_ONE: Final = "reject duplicate"
"""What `keep` marks all the others with."""
_VALUES: Final = 4
Results = list[tuple[str, str | None]]
"""Proposals with the reason why nothing was recorded, or None."""


@get("/review/group", guards=[needs_role("curator", "auditor")], sync_to_thread=True)
def group(request: AccountRequest, groups: NamedDependency[Groups]) -> Template:
    """Show a group of proposals with their full texts, to decide on them together."""
    return _show(request, groups)


@post("/review/group/{decision:str}", request_max_body_size=MAX_FORM)
async def decide_on_group(decision: FromPath[str], request: AnyRequest, groups: NamedDependency[Groups]) -> Template:
    """Decide on the proposals of a group and show the result of each.

    `approve`, `reject` and `undo` treat the selected proposals alike, `marks` treats each as it is marked, and `keep`
    rejects all selected ones but the marked one as duplicates. It does not redirect, because a URL could not carry a
    hundred results; if the form is sent again, every item reports that it was decided before. `mark` records nothing:
    it shows the group compared with another proposal, with the same selection and note.
    """
    form = await read_form(request)
    account = curator(request, form)
    if decision == "mark":
        return await thread_pools.run(thread_pools.PAGES, partial(_show, filled=form), request, groups)
    try:
        decisions = read_group(decision, form)
        results = await act(form, partial(groups.decide, decisions, account, sink=decision == "reject"))
    except (ForbiddenDecisionError, InvalidDecisionError, ValueError) as error:
        shown = partial(_show, error=str(error), filled=form)
        return await thread_pools.run(thread_pools.PAGES, shown, request, groups)
    left = form if decision != "undo" and any(failure for _, failure in results) else None
    shown = partial(_show, decision=decision, filled=left)
    return await thread_pools.run(thread_pools.PAGES, shown, request, groups, results)


def _show(
    request: AnyRequest,
    groups: Groups,
    results: Results | None = None,
    *,
    error: str | None = None,
    decision: str = "",
    filled: Mapping[str, str] | None = None,
) -> Template:
    """Render a group; after a decision on it with the result of each item, and a way to undo all of them.

    `filled` is a form of which not all was recorded, whose selection, marks and note are shown again.
    """
    query, account = request.query_params, request.scope["user"]
    choice, within = _choice_of(query, filled or {}), query.get("q", "")
    address = {choice.kind: choice.value} | ({"keep": choice.keep} if choice.keep else {})
    made = [proposal_id for proposal_id, failure in results or () if failure is None]
    context = {
        "choice": choice,
        "group": groups.read(choice, account),
        "results": results,
        "undone": decision == "undo",
        "texts": groups.texts([proposal_id for proposal_id, failure in results or () if failure is not None]),
        "last": groups.last_decisions(made, account) if decision != "undo" else [],
        "error": error,
        "form": filled or {},
        "selected": None if filled is None else {value.split(" ")[0] for _, value in items_of(filled)},
        "marks": marks_of(filled or {}),
        "again": address_of("/review/group", within, **address),
        "address": address_of("", within if filter_of(within, account.person) else "", **address),
        "within": within if filter_of(within, account.person) else "",
    }
    return page(request, "group.html", 400 if error else 200, **context)


def _choice_of(query: Mapping[str, str], form: Mapping[str, str]) -> GroupChoice:
    """Parse which group an address names; one that names none is the group of an unknown producer.

    A form marks another proposal, or keeps the one that is marked.
    """
    if query.get("like"):
        marked = form.get("mark") or form.get("kept") or query.get("keep", "")
        return GroupChoice(kind="like", value=query["like"], keep=marked)
    if query.get("source"):
        return GroupChoice(kind="source", value=query["source"])
    return GroupChoice(kind="producer", value=query.get("producer", ""))


def read_group(decision: str, form: Mapping[str, str]) -> list[tuple[str, Decision]]:
    """Parse the items of a group's form, each with its version, the hash of the shown text, and its mark.

    Raises ValueError if there is no such decision, no proposal to keep, or no item or too many are selected.
    """
    keep = form.get("kept", "") if decision == "keep" else None
    if keep == "":
        message = "Mark the proposal that is kept."
        raise ValueError(message)
    marked = [
        (value, form.get(f"read-{number}", ""), _mark(decision, form, number)) for number, value in items_of(form)
    ]
    chosen = [(value, read, mark) for value, read, mark in marked if mark and value.split(" ")[0] != keep]
    if not 0 < len(chosen) <= MAX_AT_ONCE:
        message = f"Choose between 1 and {MAX_AT_ONCE} proposals."
        raise ValueError(message)
    return [_read_item(form, value, read, mark) for value, read, mark in chosen]


def _mark(decision: str, form: Mapping[str, str], number: str) -> str:
    """Return what an item is marked with: a decision, for a rejection with its reason; empty if it is left alone."""
    if decision == "marks":
        return form.get(f"mark-{number}", "")
    if decision == "keep":
        return _OF_ONE
    return f"reject {form.get('reason_code', '')}" if decision == "reject" else decision


def _read_item(form: Mapping[str, str], value: str, read: str, mark: str) -> tuple[str, Decision]:
    name, _, reason = mark.partition(" ")
    kind = _KINDS.get(name)
    if kind is None:
        message = "No such decision."
        raise ValueError(message)
    proposal_id, version, shown_hash, undoes, *_ = [*value.split(" "), *[""] * _VALUES]
    # Each record's key is derived from the form's, so that a form sent twice counts once for each item.
    key = form.get("decision_key", "") and f"{form['decision_key'][:64]}.{proposal_id[:64]}"
    item = {"version": version, "shown_hash": shown_hash, "decision_key": key, "reason_code": reason, "read": read}
    own = {name: form[name] for name in ("reason_text", "review_after") if form.get(name)} | {"undoes": undoes}
    return proposal_id, read_decision(kind, item | own)

"""The page on which operators rehearse a change of the policy before it is in force."""

from functools import partial
from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.response import Redirect, Template

from antechamber.core.access.callers import Account
from antechamber.core.ports.rehearsals import RehearsalError, Rehearsals
from antechamber.core.rehearsal import NOT_REPLAYED, TOTALS
from antechamber.flows.operations import Operations
from antechamber.web import thread_pools
from antechamber.web.auth import act, check_form, needs_role
from antechamber.web.pages import AccountRequest, page, read_form, read_form_with_files
from antechamber.web.problems import AnyRequest

NUMBERS: Final = (1_000, 10_000, 100_000)
"""How many submissions an operator may choose to replay."""
MAX_FILES: Final = 1024 * 1024
_LOOK_SECONDS: Final = 2


def _page(request: AnyRequest, rehearsals: Rehearsals, status: int = 200, error: str = "") -> Template:
    state = rehearsals.state()
    shown = page(
        request,
        "rehearsal.html",
        status,
        state=state,
        error=error,
        numbers=NUMBERS,
        totals=TOTALS,
        not_replayed=NOT_REPLAYED,
    )
    if state is not None and not state.is_over and not error:
        shown.headers["refresh"] = str(_LOOK_SECONDS)
    return shown


@get("/policy/rehearsal", guards=[needs_role("operator")], sync_to_thread=True)
def show_rehearsal(request: AccountRequest, operations: NamedDependency[Operations]) -> Template:
    """Show the form, and the last rehearsal of this process; the page loads itself again while one runs."""
    return _page(request, operations.rehearsals)


@post("/policy/rehearsal", request_max_body_size=MAX_FILES)
async def start_rehearsal(request: AnyRequest, operations: NamedDependency[Operations]) -> Template | Redirect:
    """Start a rehearsal of the policy in force with the files of the form."""
    form, files = await read_form_with_files(request)
    _check(check_form(request, form))
    try:
        await act(form, operations.rehearsals.start, files, _number(form.get("number", "")))
    except RehearsalError as error:
        text = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return await thread_pools.run(thread_pools.PAGES, partial(_page, request, operations.rehearsals, 400, text))
    return Redirect("/policy/rehearsal", status_code=303)


@post("/policy/rehearsal/stop")
async def stop_rehearsal(request: AnyRequest, operations: NamedDependency[Operations]) -> Redirect:
    """End a rehearsal that runs."""
    form = await read_form(request)
    _check(check_form(request, form))
    await act(form, operations.rehearsals.stop)
    return Redirect("/policy/rehearsal", status_code=303)


def _number(text: str) -> int:
    if text not in map(str, NUMBERS):
        message = "choose how many submissions to replay"
        raise RehearsalError(message)
    return int(text)


def _check(account: Account) -> None:
    if account.role != "operator":
        raise PermissionDeniedException(detail=f"This is for operators; you are signed in as {account.role}.")


ROUTES: Final = (show_rehearsal, start_rehearsal, stop_rehearsal)

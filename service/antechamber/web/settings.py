"""`/settings`: the choices of an account."""

import asyncio
import re
from functools import partial
from typing import Any, Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.response import Redirect, Template

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SHOWN, SignedOutError
from antechamber.core.errors import AntechamberError, BusyError, UnavailableError
from antechamber.core.review.shortcuts import OFF, SHORTCUTS, ShortcutError, decode_shortcuts, encode_shortcuts
from antechamber.flows.access import AccessFlows
from antechamber.flows.sign_in_limits import TooManyAttemptsError
from antechamber.web import thread_pools
from antechamber.web.auth import SignInNeededError, act, check_form, needs_role
from antechamber.web.confirming import confirm
from antechamber.web.pages import MAX_FORM, AccountRequest, page, read_form
from antechamber.web.passwords import Passwords, TooManySignInsError
from antechamber.web.problems import AnyRequest, status_of

ALL_OTHERS: Final = "others"
"""Names all sessions but the one of the request."""
_SHOWN: Final = re.compile(rf"[0-9a-f]{{{SHOWN}}}")
_DIFFER = "The two new passwords are not the same. Type the new one twice"
_WRONG = "The present password is another one"


def _page(request: AnyRequest, access: AccessFlows, status: int = 200, **context: Any) -> Template:
    """Render the page; `context` overrides the account's values."""
    stored = request.scope["user"].shortcuts
    shown: dict[str, Any] = {
        "on": stored != OFF,
        "dense": request.scope["user"].dense,
        "chosen": decode_shortcuts(None if stored == OFF else stored),
        "error": None,
        "password_error": None,
        "own_alarms": request.app.state.admission.secrets.alarms_of(request.scope["user"].person),
        "has_password": access.passwords.is_set(request.scope["user"]),
        "sessions": access.sessions.all(request.scope["user"]),
        "session_error": None,
    }
    return page(request, "settings.html", status, **shown | context)


async def _again(request: AnyRequest, access: AccessFlows, status: int, **context: Any) -> Template:
    """Render the page after a refused form; in a thread, because it reads from the store."""
    return await thread_pools.run(thread_pools.PAGES, partial(_page, request, access, status, **context))


@get("/settings", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_settings(request: AccountRequest, access: NamedDependency[AccessFlows]) -> Template:
    """Show the choices of an account and the form for a new password."""
    return _page(request, access)


@post("/settings", request_max_body_size=MAX_FORM)
async def choose(request: AnyRequest, access: NamedDependency[AccessFlows]) -> Template | Redirect:
    """Store a choice of keyboard shortcuts, and whether lists are dense."""
    form = await read_form(request)
    account = check_form(request, form)
    choice = {shortcut.action: form.get(shortcut.action, "") for shortcut in SHORTCUTS}
    try:
        stored = OFF if "on" not in form else encode_shortcuts(choice)
        await act(form, partial(access.accounts.choose, dense="dense" in form), account, stored)
    except ShortcutError as error:
        return await _again(request, access, 400, on=True, dense="dense" in form, chosen=choice, error=str(error))
    except (BusyError, UnavailableError) as error:
        return await _again(
            request,
            access,
            status_of(error),
            on="on" in form,
            dense="dense" in form,
            chosen=choice,
            error=_unavailable(error),
        )
    return Redirect("/settings?done=kept", status_code=303)


@post("/settings/password", request_max_body_size=MAX_FORM)
async def change_password(
    request: AnyRequest, access: NamedDependency[AccessFlows], passwords: NamedDependency[Passwords]
) -> Template | Redirect:
    """Set a new password; the account's other sessions end."""
    form = await read_form(request)
    account = check_form(request, form)
    if not await asyncio.to_thread(access.passwords.is_set, account) and (
        asking := await confirm(request, form, account, "/settings#password")
    ):
        return asking
    if form.get("password", "") != form.get("repeated", ""):
        return await _again(request, access, 400, password_error=_DIFFER)
    try:
        changed = await passwords.signing_in(partial(_change, access, passwords, account, form))
    except SignedOutError:
        raise SignInNeededError from None
    except (TooManyAttemptsError, TooManySignInsError) as error:
        answer = await _again(request, access, status_of(error), password_error=str(error).rstrip("."))
        answer.headers["retry-after"] = str(error.wait)
        return answer
    except (BusyError, UnavailableError) as error:
        return await _again(request, access, status_of(error), password_error=_unavailable(error))
    except AntechamberError as error:
        return await _again(
            request, access, status_of(error), password_error=f"{str(error)[:1].upper()}{str(error)[1:]}"
        )
    return (
        # The fragment of the form would scroll past the notice.
        Redirect("/settings?done=password#top", status_code=303)
        if changed
        else await _again(request, access, 403, password_error=_WRONG)
    )


@post("/settings/sessions", request_max_body_size=MAX_FORM)
async def end_sessions(request: AnyRequest, access: NamedDependency[AccessFlows]) -> Template | Redirect:
    """End one other session of the account, or all of them."""
    form = await read_form(request)
    account = check_form(request, form)
    named = form.get("session", "")
    if named != ALL_OTHERS and not _SHOWN.fullmatch(named):
        return await _again(request, access, 400, session_error="The form names no session. Reload the page")
    if asking := await confirm(request, form, account, "/settings#sessions"):
        return asking
    try:
        ended = await act(form, access.sessions.end_others, account, None if named == ALL_OTHERS else named)
    except (BusyError, UnavailableError) as error:
        return await _again(request, access, status_of(error), session_error=_unavailable(error))
    return Redirect(f"/settings?done={'ended' if ended else 'ended-before'}#top", status_code=303)


def _change(access: AccessFlows, passwords: Passwords, account: Account, form: dict[str, str]) -> bool:
    """Verify the current password and hash the new one; runs in a password thread."""
    verify = partial(passwords.verify, form.get("current", ""))
    return access.passwords.change(account, verify, partial(passwords.hash, form.get("password", "")))


def _unavailable(error: AntechamberError) -> str:
    return f"The service cannot store anything right now: {error}. Try again in a moment"


ROUTES: Final = (show_settings, choose, change_password, end_sessions)

"""Sensitive actions ask again who it is if the person has not proven it for a while: by password or at the provider.

Such are actions that reveal or destroy private text, or that change who may sign in. The form that was sent is kept in
the page that asks, so that nothing that was typed is lost.
"""

from functools import partial
from typing import Any, Final

from litestar.response import Template

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.flows.sign_in_limits import TooManyAttemptsError
from antechamber.web import thread_pools
from antechamber.web.auth import SignInNeededError, typed_fields
from antechamber.web.pages import page
from antechamber.web.passwords import Passwords, TooManySignInsError
from antechamber.web.problems import AnyRequest, status_of

FIELD: Final = "confirmation"
"""The field of the password; no other form may use the name."""
_OWN: Final = frozenset({"csrf", FIELD})


async def confirm(request: AnyRequest, form: dict[str, str], account: Account, back: str) -> Template | None:
    """Return None if a sensitive action may go on, else the page that asks for the password.

    `form` is what was sent, after the checks against forged requests; `back` is the address of the page with the form.

    Raises SignInNeededError with the typed text if the session ended meanwhile.
    """
    access, passwords = request.app.state.access, request.app.state.passwords
    if access.sessions.is_confirmed(account):
        return None
    show = partial(_page, request, form, account, back)
    if FIELD not in form:
        return await thread_pools.run(thread_pools.PAGES, show, 403, None)
    try:
        good = await passwords.signing_in(partial(_check, access.passwords, passwords, account, form[FIELD]))
    except SignedOutError:
        raise SignInNeededError(form) from None
    except (TooManyAttemptsError, TooManySignInsError) as error:
        answer = await thread_pools.run(thread_pools.PAGES, show, status_of(error), str(error))
        answer.headers["retry-after"] = str(error.wait)
        return answer
    except (BusyError, UnavailableError) as error:
        message = f"The service cannot check it right now: {error}. Try again in a moment."
        return await thread_pools.run(thread_pools.PAGES, show, status_of(error), message)
    return None if good else await thread_pools.run(thread_pools.PAGES, show, 403, "This is not the password.")


def _check(own: Any, passwords: Passwords, account: Account, given: str) -> bool:
    """Verify the password; runs in a password thread."""
    return bool(own.confirm(account, partial(passwords.verify, given)))


def _page(
    request: AnyRequest, form: dict[str, str], account: Account, back: str, status: int, error: str | None
) -> Template:
    policy, _ = request.app.state.dashboard.policy()
    context = {
        "error": error,
        "back": back,
        "action": request.scope["path"],
        "field": FIELD,
        "sent": [(name, value) for name, value in form.items() if name not in _OWN],
        "provider": request.app.state.access.providers.provider_of(account),
        "has_password": request.app.state.access.passwords.is_set(account),
        "typed": typed_fields(form),
        "minutes": policy.session.of(account.role).confirm_minutes,
    }
    return page(request, "confirm.html", status, **context)

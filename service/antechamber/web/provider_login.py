"""Sign-in at a provider of OpenID Connect: the way there, and the answer that the browser brings back."""

import asyncio
from functools import partial
from typing import Any, Final

from litestar import Response, get
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from antechamber.core.access.callers import Account
from antechamber.core.access.provider_ticket import LIFETIME
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.errors import AntechamberError, BusyError, ClosedError, UnavailableError
from antechamber.flows.access import AccessFlows
from antechamber.flows.providers.sign_in import ProviderRefusedError
from antechamber.web.login import enter, local, login_page
from antechamber.web.pages import NO_STORE
from antechamber.web.problems import AnyRequest, status_of

CONFIRMED: Final = "/login?confirmed=1"
"""The page after a person proved again who it is."""


@get("/login/{provider:str}")
async def begin_at_provider(
    request: AnyRequest, provider: FromPath[str], access: NamedDependency[AccessFlows]
) -> Response[Any]:
    """Send the browser to a provider; with `confirm`, a signed-in person only proves again who it is.

    The browser gets there by a link, because a form may not lead to another site (`form-action` of our pages).
    """
    query = request.query_params
    account = request.scope["user"] if "confirm" in query else None
    url = CONFIRMED if account is not None else local(query.get("next"))
    known = account if isinstance(account, Account) else None
    try:
        begin = partial(access.providers.begin, provider, request.app.state.settings.url, url, known)
        begun = await asyncio.to_thread(begin)
    except ClosedError:
        raise
    except (ProviderRefusedError, UnavailableError) as error:
        return _fail(request, error, url)
    cookie = _cookie(request, begun.cookie, LIFETIME // 1_000_000)
    return Redirect(begun.url, status_code=303, cookies=[cookie], headers=NO_STORE)


@get("/login/{provider:str}/callback")
async def finish_at_provider(
    request: AnyRequest, provider: FromPath[str], access: NamedDependency[AccessFlows]
) -> Response[Any]:
    """Finish a sign-in with the provider's answer; the ticket of the sign-in is gone afterwards, however it ends."""
    user = request.scope["user"]
    cookie = request.cookies.get(cookie_name(request), "")
    finish = partial(
        access.providers.finish,
        provider,
        request.app.state.settings.url,
        cookie,
        dict(request.query_params),
        user if isinstance(user, Account) else None,
    )
    try:
        finished = await asyncio.to_thread(finish)
    except ClosedError:
        raise
    except (ProviderRefusedError, SignedOutError, BusyError, UnavailableError) as error:
        return _fail(request, error, None)
    gone = _cookie(request, "", 0)
    if finished.signed_in is None:
        return Redirect(finished.next or CONFIRMED, status_code=303, cookies=[gone], headers=NO_STORE)
    answer = enter(request, finished.signed_in, finished.next)
    answer.cookies.append(gone)
    return answer


def _fail(request: AnyRequest, error: AntechamberError, url: str | None) -> Response[Any]:
    """Show the sign-in page with what went wrong; other ways to sign in go on working."""
    refused = isinstance(error, ProviderRefusedError | SignedOutError)
    answer = login_page(request, 401 if refused else status_of(error), error=str(error), url=url)
    answer.cookies.append(_cookie(request, "", 0))
    return answer


def cookie_name(request: AnyRequest) -> str:
    """Return the name of the cookie of a sign-in, which is bound to this host and TLS as that of a session."""
    return "__Host-antechamber-sign-in" if request.app.state.settings.secure else "antechamber-sign-in"


def _cookie(request: AnyRequest, value: str, max_age: int) -> Cookie:
    secure = request.app.state.settings.secure
    # The provider's answer comes from another site, so the cookie cannot be strict.
    return Cookie(cookie_name(request), "/", value, max_age=max_age, secure=secure, httponly=True, samesite="lax")

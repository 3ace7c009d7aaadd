"""Sign-in and sign-out: by password, or by a one-time link whose page has a single button."""

import asyncio
import logging
from functools import cache, partial
from typing import Any, Final

from litestar import Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.response import Redirect, Template

from antechamber.core.access.callers import Account, AccountRole
from antechamber.flows.access import AccessFlows
from antechamber.flows.sessions import SignedIn
from antechamber.flows.sign_in_limits import TooManyAttemptsError
from antechamber.web.auth import check_form, check_origin, cookie_name
from antechamber.web.client_address import client_address, forwarded_address
from antechamber.web.pages import NO_STORE, read_form
from antechamber.web.passwords import Passwords, TooManySignInsError
from antechamber.web.problems import AnyRequest, status_of

_log: Final = logging.getLogger(__name__)
MAX_FORM: Final = 16 * 1024
HOMES: Final[dict[AccountRole, str]] = {"curator": "/review", "auditor": "/audit", "operator": "/operations"}
_WRONG: Final = "Name and password do not match an account."
_NO_PASSWORDS: Final = "Sign-in by password is switched off here. Sign in at a provider, or with a link of an operator."
_LINK_USED: Final = "This link was used already or is older than 15 minutes. Ask for a new one."


def home(account: Account | None) -> str:
    """Return the start page of an account's role."""
    return "/login" if account is None else HOMES[account.role]


def local(url: str | None) -> str | None:
    """Return a local URL unchanged and None for any other: no redirect may lead to another site."""
    good = url is not None and url.startswith("/") and not url.startswith(("//", "/\\"))
    return url if good and url.isprintable() else None  # type: ignore[union-attr]


@get("/", sync_to_thread=False)
def front(request: AnyRequest) -> Redirect:
    """Redirect to the start page of the account's role."""
    account = request.scope["user"]
    return Redirect(home(account if isinstance(account, Account) else None), status_code=303)


@get("/login", sync_to_thread=False)
def show_login(request: AnyRequest) -> Template:
    """Show the sign-in form, or the one button of a sign-in link; or why no one can sign in now."""
    request.app.state.checkpoints.check()
    query = request.query_params
    return login_page(request, 200, error=None, url=query.get("next"), link=query.get("link"))


@post("/login", request_max_body_size=MAX_FORM)
async def login(
    request: AnyRequest, access: NamedDependency[AccessFlows], passwords: NamedDependency[Passwords]
) -> Response[Any]:
    """Sign in by link or by password; the response is the same for unknown names."""
    check_origin(request)
    form = await read_form(request)
    url = form.get("next")
    again = partial(login_page, request, url=url, name=form.get("name", ""))
    if form.get("link"):
        signed_in = await asyncio.to_thread(access.sign_in.consume_link, form["link"])
        return enter(request, signed_in, url) if signed_in else again(400, error=_LINK_USED)
    if not access.providers.takes_passwords():
        return again(403, error=_NO_PASSWORDS)
    verify = partial(passwords.verify, form.get("password", ""))
    try:
        sign_in = partial(access.sign_in.check_password, form.get("name", ""), _address(request), verify)
        signed_in = await passwords.signing_in(sign_in)
    except (TooManyAttemptsError, TooManySignInsError) as error:
        page = again(status_of(error), error=str(error))
        page.headers["retry-after"] = str(error.wait)
        return page
    return enter(request, signed_in, url) if signed_in else again(401, error=_WRONG)


def _address(request: AnyRequest) -> str:
    """Return the address under which failures are counted; an empty text if a proxy hides it."""
    settings = request.app.state.settings
    header = settings.client_address_header
    if request.client is None or (settings.public_url is not None and header is None):
        return ""
    if header is None:
        return client_address(request.client.host)
    fields = request.headers.getall(header, [])
    address = forwarded_address(fields[-1]) if fields else ""
    if not address:
        _warn_without_address(header)
    return address


@cache
def _warn_without_address(header: str) -> None:
    """Log once that the proxy does not report its clients' addresses."""
    _log.warning("no client address in the header %s: failed sign-ins are counted by name only", header)


def login_page(
    request: AnyRequest, status: int, *, error: str | None, url: str | None, link: str | None = None, name: str = ""
) -> Template:
    """Return the sign-in page; `url` is the local page after the sign-in."""
    query, providers = request.query_params, request.app.state.access.providers
    left = query.get("left") if request.method == "GET" and error is None else None
    offered = providers.offered()
    context = {
        "next": local(url),
        "link": link,
        "error": error,
        "name": name,
        "providers": offered,
        "passwords": providers.takes_passwords(),
        "confirmed": error is None and "confirmed" in query and isinstance(request.scope["user"], Account),
        "left": next((provider.title for provider in offered if provider.name == left), None),
        "leave": providers.sign_out_url(left, f"{request.app.state.settings.url}/login") if left else None,
    }
    return Template("login.html", context=context, status_code=status, headers=dict(NO_STORE))


def enter(request: AnyRequest, signed_in: SignedIn, url: str | None) -> Redirect:
    """Give the browser the cookie of a new session, and show a local page or the start page of the role."""
    to = local(url) or home(signed_in.account)
    return Redirect(to, status_code=303, cookies=[_cookie(request, signed_in.secret)], headers=NO_STORE)


@post("/logout", request_max_body_size=MAX_FORM)
async def logout(request: AnyRequest, access: NamedDependency[AccessFlows]) -> Redirect:
    """End the session."""
    account = check_form(request, await read_form(request))
    await asyncio.to_thread(access.sessions.end, account)
    provider = access.providers.provider_of(account)
    url = "/login" if provider is None else f"/login?left={provider.name}"
    return Redirect(url, status_code=303, cookies=[_cookie(request, "", max_age=0)])


def _cookie(request: AnyRequest, value: str, max_age: int | None = None) -> Cookie:
    secure = request.app.state.settings.secure
    name = cookie_name(secure=secure)
    return Cookie(name, "/", value, max_age=max_age, secure=secure, httponly=True, samesite="lax")

"""Authentication and authorization: bearer tokens, session cookies, roles, and checks against forged requests."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from blake3 import blake3
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.exceptions import ClientException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.middleware.authentication import AbstractAuthenticationMiddleware, AuthenticationResult

from antechamber.core.access.callers import Account, Bearer, Caller
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.contract import Reason
from antechamber.core.errors import AntechamberError, RequestRefusedError, refuse
from antechamber.flows.access import AccessFlows
from antechamber.flows.token_check import TokenCheck
from antechamber.web import thread_pools
from antechamber.web.connections import connection_of

T = TypeVar("T")
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TYPED: Final = {"reason_text": "Note", "reveal_reason": "Why you need to see it", "content": "Text in the edit field"}
"""Labels of the fields with typed text, by their names."""


class SignInNeededError(AntechamberError):
    """A page for people was requested without a session, or a form sent: what was typed into it would be lost."""

    def __init__(self, form: Mapping[str, str] | None = None) -> None:
        super().__init__("Sign in to go on.")
        self.typed: Final = typed_fields(form or {})
        self.within: Final = (form or {}).get("q", "")
        """The filter of the page with the form."""


class Authentication(AbstractAuthenticationMiddleware):
    """Middleware that puts the caller into the scope; the routes decide whether a caller is needed."""

    async def authenticate_request(self, connection: ASGIConnection[Any, Any, Any, Any]) -> AuthenticationResult:
        """Look up the token or, without one, the session.

        Raises ClientException for an unknown host name: a defense against DNS rebinding by pages of other
        sites.
        """
        state = connection.app.state
        if host_name(connection.headers.get("host", "")) not in state.hosts:
            raise ClientException(detail="This service is not known by that host name; see serve --public-url.")
        caller = await caller_of(connection)
        if caller is not None:
            connection_of(connection.scope).know()
        return AuthenticationResult(user=caller, auth=None)


async def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller | None:
    """Return the caller of a request by its token or, without one, its session; None if neither is valid."""
    state = connection.app.state
    access: AccessFlows = state.access
    headers = connection.headers.getall("authorization", [])
    if headers:
        # The field occurs once (RFC 9110, 5.3 and 11.6.2): of two tokens neither can be preferred.
        return await look_up_bearer(access.token_check, secret_of(headers[0])) if len(headers) == 1 else None
    secret = connection.cookies.get(cookie_name(secure=state.settings.secure), "")
    sessions = access.sessions
    return await _look_up(sessions.account, secret, at_once=sessions.needs_no_read(secret))


def secret_of(header: str) -> str:
    """Return the token of an Authorization field; an empty text, which is not a token, for another scheme."""
    scheme, _, secret = header.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


async def look_up_bearer(check: TokenCheck, secret: str) -> Bearer | None:
    """Return the bearer of a token, or None if the token is unknown, expired or revoked."""
    return await _look_up(check.bearer, secret, at_once=check.needs_no_read(secret))


async def _look_up(look_up: Callable[[str], T], secret: str, *, at_once: bool) -> T:
    """Look up a secret; in a thread if the look-up reads from the store, because that may be on another machine."""
    return look_up(secret) if at_once else await thread_pools.run(thread_pools.LOOK_UPS, look_up, secret)


def host_name(host: str) -> str:
    """Return the host name without the port of a Host field; an IPv6 address keeps its brackets."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.lower()


def cookie_name(*, secure: bool) -> str:
    """Return the session cookie's name; browsers bind the __Host- prefix to this host and TLS (RFC 6265bis 4.1.3.2)."""
    return "__Host-antechamber" if secure else "antechamber"


async def needs_token(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard a route for agents (asynchronous as all guards: Litestar runs plain functions in a thread).

    Raises RequestRefusedError (`unauthorized`).
    """
    if not isinstance(connection.scope["user"], Bearer):
        raise unauthorized()


def unauthorized() -> RequestRefusedError:
    """Return the refusal, which is the same for a missing token and an invalid one."""
    return refuse("unauthorized", "no valid token came with this request")


async def needs_token_or_sign_in(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard a route for agents and people."""
    if connection.scope["user"] is None:
        raise unauthorized()


async def needs_auditor(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard an export: it needs an auditor's token, or a session of an auditor or curator.

    Raises RequestRefusedError.
    """
    caller: Caller | None = connection.scope["user"]
    if caller is None:
        raise unauthorized()
    if caller.role not in {"auditor", "curator"}:
        raise RequestRefusedError([Reason(code="scope-not-granted", message="only an auditor may do that")])


def needs_role(*roles: str) -> Any:
    """Return a guard for pages that only some roles may see."""

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
        account = connection.scope["user"]
        if not isinstance(account, Account):
            raise SignInNeededError
        if account.role not in roles:
            message = f"This page is for {' and '.join(roles)} accounts; you are signed in as {account.role}."
            raise PermissionDeniedException(detail=message)

    return guard


def check_form(request: Request[Any, Any, Any], form: dict[str, str]) -> Account:
    """Return the sender of a form, after the checks against forged requests.

    Raises SignInNeededError with the typed text, or PermissionDeniedException.
    """
    check_origin(request)
    account = request.scope["user"]
    if not isinstance(account, Account):
        raise SignInNeededError(form)
    expected = csrf_token(request.app.state.secret, account)
    if not hmac.compare_digest(form.get("csrf", "").encode(), expected.encode()):
        raise PermissionDeniedException(detail="This form is not from your session. Reload the page and send it again.")
    return account


async def act(form: dict[str, str], work: Callable[..., T], *arguments: Any) -> T:
    """Run the action of a form in a thread.

    Raises SignInNeededError with the typed text if the session ended meanwhile, or what the work raises.
    """
    try:
        return await asyncio.to_thread(work, *arguments)
    except SignedOutError:
        raise SignInNeededError(form) from None


def typed_fields(form: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the texts in the fields of a form, each with its label; an edit field holds a text before it is edited."""
    return [(label, text) for name, label in _TYPED.items() if (text := form.get(name))]


def csrf_token(secret: bytes, account: Account) -> str:
    """Return the token that binds a form to a session: BLAKE3 of its digest, keyed with the folder's secret."""
    return blake3(b"csrf " + account.session.encode(), key=secret).hexdigest()


def check_origin(request: Request[Any, Any, Any]) -> None:
    """Refuse requests from pages of other sites (Fetch Metadata, else RFC 6454 Origin); programs send neither.

    Raises PermissionDeniedException.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        good = site in {"same-origin", "none"}
    elif origin is not None:
        hosts = {request.headers.get("host", ""), urlsplit(request.app.state.settings.url).netloc}
        good = origin.partition("://")[2] in hosts
    else:
        good = True
    if not good:
        raise PermissionDeniedException(detail="This request came from another site, so it was not carried out.")

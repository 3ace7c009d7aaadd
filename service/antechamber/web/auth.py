"""Who asks, and whether they may: bearer tokens, session cookies, roles and forged-request checks."""

import asyncio
import hmac
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from blake3 import blake3
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.exceptions import ClientException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.middleware.authentication import AbstractAuthenticationMiddleware, AuthenticationResult

from antechamber.core.access.callers import Bearer, Caller, Person
from antechamber.core.access.sign_ins import SignedOutError
from antechamber.core.contract import Reason
from antechamber.core.errors import AntechamberError, RequestRefusedError, refuse
from antechamber.flows.access import Access
from antechamber.web import thread_pools

T = TypeVar("T")
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class SignInNeededError(AntechamberError):
    """A page for people was asked for without a session; `typed` is what would otherwise be lost."""

    def __init__(self, typed: str = "") -> None:
        """Keep the typed text."""
        super().__init__("Sign in to go on.")
        self.typed = typed


class Authentication(AbstractAuthenticationMiddleware):
    """Puts the caller into the scope; whether a caller is needed is the routes' business."""

    async def authenticate_request(self, connection: ASGIConnection[Any, Any, Any, Any]) -> AuthenticationResult:
        """Look the token or, without one, the session up.

        Raises ClientException for a foreign host name: a page elsewhere must not reach us by rebinding its own name.
        """
        state = connection.app.state
        if host_name(connection.headers.get("host", "")) not in state.hosts:
            raise ClientException(detail="This service is not known by that host name; see serve --public-url.")
        caller = await caller_of(connection)
        if caller is not None:
            state.peers.know(connection.scope["client"])
        return AuthenticationResult(user=caller, auth=None)


async def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller | None:
    """Return whose token or, without one, whose session a request carries; None where it is none that counts."""
    state = connection.app.state
    access: Access = state.access
    header = connection.headers.get("authorization")
    if header is not None:
        return await looked_up(access, access.bearer, secret_of(header))
    secret = connection.cookies.get(cookie_name(secure=state.settings.secure), "")
    return await looked_up(access, access.person, secret)


def secret_of(header: str) -> str:
    """Return the token of an Authorization field; empty, which no token is, for another scheme."""
    scheme, _, secret = header.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


async def looked_up(access: Access, look_up: Callable[[str], T], secret: str) -> T:
    """Look a secret up; in a thread where the store has to be asked, which may be on another machine."""
    return (
        look_up(secret) if access.remembers(secret) else await thread_pools.run(thread_pools.LOOK_UPS, look_up, secret)
    )


def host_name(host: str) -> str:
    """Cut the port off a Host field; an address in brackets keeps them."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.lower()


def cookie_name(*, secure: bool) -> str:
    """Name the session cookie; browsers bind the __Host- prefix to this host and TLS (RFC 6265bis 4.1.3.2)."""
    return "__Host-antechamber" if secure else "antechamber"


async def needs_token(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard a route for agents (asynchronous as all guards: Litestar runs plain functions in a thread).

    Raises RefusedError (`unauthorized`).
    """
    if not isinstance(connection.scope["user"], Bearer):
        raise unauthorized()


def unauthorized() -> RequestRefusedError:
    """Refuse without telling a missing token from a bad one."""
    return refuse("unauthorized", "no valid token came with this request")


async def needs_token_or_sign_in(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard a route for agents and people alike."""
    if connection.scope["user"] is None:
        raise unauthorized()


async def needs_auditor(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard an export: an auditor's token, or an auditor or curator who signed in.

    Raises RefusedError.
    """
    caller: Caller | None = connection.scope["user"]
    if caller is None:
        raise unauthorized()
    if caller.role not in {"auditor", "curator"}:
        raise RequestRefusedError([Reason(code="scope-not-granted", message="only an auditor may do that")])


def needs_role(*roles: str) -> Any:
    """Make a guard for pages that only some roles may see."""

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
        person = connection.scope["user"]
        if not isinstance(person, Person):
            raise SignInNeededError
        if person.role not in roles:
            message = f"This page is for {' and '.join(roles)} accounts; you are signed in as {person.role}."
            raise PermissionDeniedException(detail=message)

    return guard


def check_form(request: Request[Any, Any, Any], form: dict[str, str]) -> Person:
    """Return who sent a form, after the checks against forged requests.

    Raises SignInNeededError, keeping what was typed, or PermissionDeniedException.
    """
    check_origin(request)
    person = request.scope["user"]
    if not isinstance(person, Person):
        raise SignInNeededError(typed_in(form))
    expected = csrf_token(request.app.state.secret, person)
    if not hmac.compare_digest(form.get("csrf", "").encode(), expected.encode()):
        raise PermissionDeniedException(detail="This form is not from your session. Reload the page and send it again.")
    return person


async def act(form: dict[str, str], work: Callable[..., T], *arguments: Any) -> T:
    """Carry out what a form asks for, in a thread.

    Raises SignInNeededError, keeping what was typed, where the session ended meanwhile, or what the work raises.
    """
    try:
        return await asyncio.to_thread(work, *arguments)
    except SignedOutError:
        raise SignInNeededError(typed_in(form)) from None


def typed_in(form: dict[str, str]) -> str:
    """Return what somebody typed into a form."""
    return "\n\n".join(filter(None, (form.get("content"), form.get("reason_text"))))


def csrf_token(secret: bytes, person: Person) -> str:
    """Bind a form to a session: BLAKE3 of its digest, keyed with the folder's secret."""
    return blake3(b"csrf " + person.session.encode(), key=secret).hexdigest()


def check_origin(request: Request[Any, Any, Any]) -> None:
    """Refuse what another site's page sent (Fetch Metadata, else RFC 6454 Origin); programs send neither.

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

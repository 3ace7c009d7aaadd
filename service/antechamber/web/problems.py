"""Turns errors into responses: one JSON shape for agents (RFC 9457), one page for people."""

import logging
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from litestar import Request, Response
from litestar.datastructures import Headers
from litestar.exceptions import HTTPException
from litestar.response import Redirect, Template
from msgspec.structs import replace

from antechamber.core.admission.receipt import Echo
from antechamber.core.admission.submission import read_key_header
from antechamber.core.contract import Code, Reason
from antechamber.core.errors import (
    AntechamberError,
    BusyError,
    ClosedError,
    ForbiddenDecisionError,
    LogError,
    NotFoundError,
    RequestRefusedError,
    StaleDecisionError,
    UnavailableError,
)
from antechamber.core.outcomes import NOT_FOUND_DETAIL, NOT_FOUND_TYPE, READ_DENIED, READ_MALFORMED, RETRY_AFTER
from antechamber.core.review.decision import InvalidDecisionError
from antechamber.flows.replies import Reply
from antechamber.flows.sign_in_limits import TooManyAttemptsError
from antechamber.web.auth import SAFE_METHODS, SignInNeededError
from antechamber.web.body_deadline import TOO_LARGE
from antechamber.web.passwords import TooManySignInsError

PROBLEM: Final = "application/problem+json"
CLOSED: Final = (
    "No one can sign in and nothing can be decided, because the log of changes contradicts what was signed last. The "
    "database may be an older backup, in which access that was ended works again. An operator has to run "
    '"antechamber doctor", which says what is wrong, and then to restore the newest backup. If there is none: '
    '"antechamber log new-key --restored" goes on without what was lost and ends all tokens, links and sessions.'
)
_log: Final = logging.getLogger(__name__)
_PAGE_TEXTS: Final = {
    404: "There is nothing here by that name. It may have been typed wrongly, or it is not yours to see.",
    405: "This address does not answer that kind of request.",
    413: "What was sent is too large.",
}
_OWN_PAGES: Final = frozenset({"/memories/propose", "/policy/rehearsal"})
"""Pages whose form is sent to their own path."""

_ITEMS: Final = ("/v1/submissions/", "/v1/memories/")
"""Paths below which each name is that of an item, also one with a slash, which no item has."""
AnyRequest = Request[Any, Any, Any]
STATUS: Final[dict[type[AntechamberError], HTTPStatus]] = {
    # Any other error of ours is about what the caller sent.
    AntechamberError: HTTPStatus.BAD_REQUEST,
    SignInNeededError: HTTPStatus.UNAUTHORIZED,
    ForbiddenDecisionError: HTTPStatus.FORBIDDEN,
    NotFoundError: HTTPStatus.NOT_FOUND,
    StaleDecisionError: HTTPStatus.CONFLICT,
    TooManyAttemptsError: HTTPStatus.TOO_MANY_REQUESTS,
    TooManySignInsError: HTTPStatus.SERVICE_UNAVAILABLE,
    BusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    UnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    LogError: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""Statuses by error, for pages and for the API; errors with a code of the contract have the status of that code."""
DECISION_ERRORS: Final = (
    BusyError,
    ForbiddenDecisionError,
    InvalidDecisionError,
    StaleDecisionError,
    UnavailableError,
)
"""Errors of a decision that a page shows together with what was typed."""


def status_of(error: AntechamberError) -> HTTPStatus:
    """Return the status of an error, which is that of its nearest class in `STATUS`."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def reply_headers(reply: Reply) -> dict[str, str]:
    """Return the headers of a response of a submit route."""
    headers = {"content-type": PROBLEM if reply.problem else "application/json", "cache-control": "no-store"}
    if reply.disposition is not None:
        headers["submission-disposition"] = reply.disposition
    if reply.replayed:
        headers["idempotent-replayed"] = "true"
    if reply.retry_after is not None:
        headers["retry-after"] = str(reply.retry_after)
    if reply.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    return headers | dict(_own_headers(reply))


def _own_headers(reply: Reply) -> Iterator[tuple[str, str]]:
    """Yield the headers whose values differ for each response."""
    if reply.idempotency_key is not None:
        yield "idempotency-key", reply.idempotency_key
    if reply.location is not None:
        yield "location", reply.location


def raw_headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response as bytes."""
    kind = (reply.problem, reply.disposition, reply.replayed, reply.retry_after, reply.status)
    if (shared := _shared_headers.get(kind)) is None:
        bare = replace(reply, idempotency_key=None, location=None)
        shared = _shared_headers[kind] = [(name.encode(), text.encode()) for name, text in reply_headers(bare).items()]
    return [*shared, *((name.encode(), value.encode("latin-1")) for name, value in _own_headers(reply))]


_shared_headers: Final[dict[tuple[object, ...], list[tuple[bytes, bytes]]]] = {}
"""Cache of the shared headers by the values that determine them; there are few combinations."""


def respond(reply: Reply) -> Response[bytes]:
    """Return the response of a submit route."""
    headers = reply_headers(reply)
    return Response(reply.body, status_code=reply.status, headers=headers, media_type=headers.pop("content-type"))


def is_for_agents(request: AnyRequest) -> bool:
    """Return whether a route is for programs instead of people."""
    return is_path_for_agents(request.scope["path"])


def is_path_for_agents(path: str) -> bool:
    """Return whether the route of a path is for programs instead of people."""
    return path.startswith(("/v1/", "/log/", "/mcp", "/schema/", "/readyz", "/healthz", "/metrics"))


def on_refused(request: AnyRequest, error: RequestRefusedError) -> Response[bytes]:
    """Respond with one of the contract's codes."""
    reading = {"scope-not-granted": READ_DENIED, "malformed": READ_MALFORMED}
    outcome = None if request.scope["path"].startswith("/v1/submissions") else reading.get(error.code)
    return respond(request.app.state.admission.refusal(error.reasons, _echo(request), outcome))


def header_echo(keys: list[str]) -> Echo:
    """Return the header's key to echo, if nothing else of the request was read."""
    try:
        return Echo(idempotency_key=read_key_header(keys))
    except RequestRefusedError:
        return Echo()


def _echo(request: AnyRequest) -> Echo:
    return header_echo(request.headers.getall("idempotency-key", []))


def on_not_found(request: AnyRequest, error: Exception) -> Response[Any]:
    """Respond identically for a missing item and for one that the caller may not see; auditors get the detail."""
    for_auditors = request.scope["path"].startswith(("/v1/audit/", "/log/"))
    return plain(request, STATUS[NotFoundError], str(error) if for_auditors else NOT_FOUND_DETAIL)


def on_http_error(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Respond to errors of the framework: unknown routes, methods, oversized bodies, unknown hosts."""
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and request.scope["path"].startswith("/v1/"):
        reason = Reason(code="body-too-large", message=TOO_LARGE)
        return respond(request.app.state.admission.refusal([reason], _echo(request)))
    if error.status_code == HTTPStatus.NOT_FOUND and request.scope["path"].startswith(_ITEMS):
        return on_not_found(request, error)
    detail = error.detail
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = Headers(error.headers or {}).get("allow")
        detail = f"This address answers {allowed} and no other method." if allowed else detail
    return plain(request, HTTPStatus(error.status_code), detail, error.headers)


def on_unavailable(request: AnyRequest, error: BusyError | LogError | UnavailableError) -> Response[Any]:
    """Respond that the store cannot answer now, and when to retry."""
    code: Code = "busy" if isinstance(error, BusyError) else "unavailable"
    if is_for_agents(request):
        return respond(request.app.state.admission.refusal([Reason(code=code, message=str(error))], _echo(request)))
    text = f"The service cannot store anything right now: {error}. Nothing was changed. Try again in a moment."
    if isinstance(error, ClosedError):
        text = CLOSED
    headers = {"retry-after": str(RETRY_AFTER[code])}
    return plain(request, status_of(error), text, headers)


def on_sign_in_needed(request: AnyRequest, error: SignInNeededError) -> Response[Any]:
    """Redirect readers to the sign-in page; show typed text to its author first, so that it is not lost.

    Both lead back to the page that was requested, or that had the form.
    """
    if request.method in SAFE_METHODS:
        query = request.scope["query_string"].decode("latin-1")
        url = request.scope["path"] + (f"?{query}" if query else "")
        return Redirect("/login", query_params={"next": url}, status_code=303)
    kept = dict(request.query_params) | ({"q": error.within} if error.within else {})
    url = _page_of(request.scope["path"]) + (f"?{urlencode(kept)}" if kept else "")
    return Template("signed-out.html", context={"typed": error.typed, "next": url}, status_code=status_of(error))


def _page_of(path: str) -> str:
    """Return the path of the page whose form is sent to a path."""
    parts = path.split("/")[1:]
    if path in _OWN_PAGES or len(parts) == 1:
        return path
    # A proposal, an event or a memory has a page; the marks of many events are a form of the list.
    one = len(parts) > 2 and parts[:2] != ["quarantine", "group"]  # noqa: PLR2004 -- a section, one of its items, an action
    return "/" + "/".join(parts[: 2 if one else 1])


def on_bug(request: AnyRequest, error: Exception) -> Response[Any]:
    """Log an unexpected error, and respond without any of its details."""
    route = request.scope.get("path_template", "an unknown route")
    _log.error("unexpected error on %s %s", request.method, route, exc_info=error)
    return plain(request, HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed unexpectedly; its log has the details.")


def plain(
    request: AnyRequest, status: HTTPStatus, detail: str | None = None, headers: dict[str, str] | None = None
) -> Response[Any]:
    """Respond with a status that has no code of the contract, as a problem or as a page."""
    if is_for_agents(request):
        body = {
            "type": NOT_FOUND_TYPE,
            "title": status.phrase,
            "status": status,
            "detail": detail or status.description,
        }
        return Response(body, status_code=status, headers=headers, media_type=PROBLEM)
    text = _PAGE_TEXTS.get(status) or detail or status.description
    context = {"status": int(status), "title": status.phrase, "text": text}
    return Template("error.html", context=context, status_code=status, headers=headers)

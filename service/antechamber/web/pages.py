"""What all pages of the desk share: rendering, forms, and notices about the last action."""

import contextlib
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from litestar import Request
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.exceptions import ClientException, InternalServerException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.response import Template

from antechamber.core.access.callers import Account
from antechamber.core.contract import REASON_CODES
from antechamber.core.errors import BusyError, RequestRefusedError, UnavailableError
from antechamber.core.outcomes import RETRY_AFTER
from antechamber.core.review.screen_time import one_time_key
from antechamber.core.review.shortcuts import decode_shortcuts
from antechamber.web.auth import csrf_token
from antechamber.web.help_chapters import help_address
from antechamber.web.problems import AnyRequest
from antechamber.web.request_body import read_body, replay_body

MAX_FORM: Final = 512 * 1024


NO_STORE: Final = {"cache-control": "no-store"}


AccountRequest = Request[Account, Any, Any]


_OF_THE_WAY: Final = frozenset({"done", "last", "refused"})


DONE: Final = {
    "approved": "Approved and added to memory.",
    "waits": "Approved. It waits for a second person.",
    "rejected": "Rejected.",
    "merged": "Merged: the memory is unchanged, and this text was not added a second time.",
    "revealed": "Recorded.",
    "flagged": "Second review requested.",
    "undone": "Undone. Both steps stay in the log.",
    "retracted": "Retracted. Agents no longer get it.",
    "expired": "Expired. Agents no longer get it.",
    "settled": "Settled. The original is unchanged.",
    "released": "Released redacted. Another person has to approve it.",
    "destroyed": "Destroyed. Its text is gone for good.",
    "proposed": "Proposed. Another person decides on it.",
    "known": "The same text was proposed before; this is that proposal.",
    "opened": "Opened as a proposal of its own.",
    "noted": "Note added.",
    "seen": "Marked as seen.",
    "asked": "Asked. It returns to you with the answer.",
    "assigned": "Assignment saved.",
    "claimed": "It is yours for five minutes.",
    "all-held": "Everything that waits is held by another curator, or needs another curator.",
    "filter-done": "Nothing else that matches this filter is free for you.",
    "view": "View saved.",
    "kept": "Settings saved.",
    "memory-kept": "Kept. The memory is unchanged, and its review date is in the log.",
    "ended": "Ended. The browser there has to sign in again.",
    "ended-before": "No other session was open any more.",
    "password": "The new password is set. Your other sessions have ended.",
}
"""The notices about the last action, by the code that an address carries."""


async def read_form(request: AnyRequest) -> dict[str, str]:
    """Return a form's text fields; the last of equal names counts.

    Raises ClientException if the form cannot be read, UnavailableError if its upload is aborted in favor of others.
    """
    fields = {name: value for name, value in await _read_items(request) if isinstance(value, str)}
    if any("\0" in value for value in fields.values()):
        raise ClientException(detail="The form holds U+0000, which no text may have. Nothing was changed.")
    return fields


async def read_form_with_files(request: AnyRequest) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the text fields of a form, and its files by their names; a field without a chosen file is left out.

    Raises ClientException if the form cannot be read, UnavailableError if its upload is aborted in favor of others.
    """
    items = await _read_items(request)
    files = [value for _, value in items if isinstance(value, UploadFile) and value.filename]
    return (
        {name: value for name, value in items if isinstance(value, str)},
        {file.filename: await file.read() for file in files},
    )


async def _read_items(request: AnyRequest) -> list[tuple[str, Any]]:
    try:
        max_size = request.route_handler.resolve_request_max_body_size() or MAX_FORM
        body = await read_body(request.scope, request.receive, max_size)
        replayed = Request[Any, Any, Any](request.scope, replay_body(body, request.receive))
        if replayed.content_type[0] == RequestEncodingType.URL_ENCODED:
            # The framework's parser keeps the last 1,024 forms, each up to MAX_FORM bytes, with passwords and texts.
            return list(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        return list((await replayed.form()).multi_items())
    except (RequestRefusedError, ValueError, LookupError, InternalServerException) as error:
        if isinstance(error, RequestRefusedError) and error.code == "body-too-large":
            raise RequestEntityTooLarge from None
        raise ClientException(detail="The form could not be read, so nothing was changed. Send it again.") from error


def items_of(form: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return number and value of each field `item-NUMBER`, in the order of the page, which a parsed form loses."""
    found = [(name.removeprefix("item-"), value) for name, value in form.items() if name.startswith("item-")]
    return sorted(found, key=lambda item: (len(item[0]), item[0]))


def marks_of(form: Mapping[str, str]) -> dict[str, str]:
    """Return the mark of each item of a form by the id with which its value begins."""
    return {value.split(" ")[0]: form.get(f"mark-{number}", "") for number, value in items_of(form)}


def page(request: AnyRequest, name: str, status: int = 200, **context: Any) -> Template:
    """Render a page with the common context: the signed-in account, the counters, the alarms."""
    state, account = request.app.state, request.scope["user"]
    # Alarms about secrets are for operators; the owners of the producers see them with their settings.
    private = () if account.role == "operator" else state.admission.secrets.alarms()
    common = {
        "account": account,
        "csrf": csrf_token(state.secret, account),
        "counters": None if account.role == "operator" else state.desk_views.counters(),
        "alarms": [alarm for alarm in state.alarms() if alarm not in private],
        "here": request.scope["path"],
        "again": _again(request),
        "help": help_address(request.scope["path"]),
        "keys": decode_shortcuts(account.shortcuts),
        "reasons": REASON_CODES,
        # Each form gets its own key: a decision counts once, however often its form is sent. It says when it was shown.
        "one_time_key": lambda: one_time_key(state.desk_views.now(), secrets.token_urlsafe(24)),
        # The filter that a curator keeps when leaving this page.
        "within": "",
    }
    common |= _notice(request, account)
    # A page that is shown again because the store did not answer, as during a failover, may be sent again soon.
    wait = {"retry-after": str(RETRY_AFTER["unavailable"])} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Template(name, context=common | context, status_code=status, headers=NO_STORE | wait)


def _again(request: AnyRequest) -> str:
    """Return this page's address without the parameters of the last action."""
    parameters = [(name, value) for name, value in request.query_params.multi_items() if name not in _OF_THE_WAY]
    return f"{request.scope['path']}?{urlencode(parameters)}" if parameters else str(request.scope["path"])


def _notice(request: AnyRequest, account: Account) -> dict[str, Any]:
    """Return the notice about the last action, and how to undo it while that is still easy."""
    query, state = request.query_params, request.app.state
    if request.method != "GET" or query.get("done", "") not in DONE:
        return {"done": None, "taken": None, "settled": None, "revealed": None}
    last, refused = query.get("last"), query.get("refused")
    taken = settled = revealed = None
    if account.role == "curator":
        with contextlib.suppress(BusyError, UnavailableError):
            taken = state.desk.own_last_decision(last, account) if last else None
            if last and query["done"] == "revealed":
                revealed = state.desk.own_revealed(last, account)
            settled = state.quarantine.own_last_decision(refused, account) if refused else None
    return {"done": DONE[query["done"]], "taken": taken, "settled": settled, "revealed": revealed}

"""`GET /v1/changes`: the change feed, with requests that wait for the next change."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from litestar import Response, get
from litestar.datastructures import MultiDict
from litestar.di import NamedDependency

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import MAX_CHANGES, MAX_WAIT, ChangePage
from antechamber.core.errors import refuse
from antechamber.flows.changes import DEFAULT_CHANGES, ChangeQuery, Changes
from antechamber.web import thread_pools
from antechamber.web.api import NO_STORE, AgentRequest
from antechamber.web.auth import caller_of, needs_token, unauthorized
from antechamber.web.connections import connection_of
from antechamber.web.waiting import first_of

_MAX_DIGITS: Final = 4


@get("/v1/changes", guards=[needs_token])
async def read_changes(request: AgentRequest, changes: NamedDependency[Changes]) -> Response[ChangePage]:
    """Return the changes after a cursor in commit order; wait for the next one if there is none."""
    wanted = _wanted(request.query_params)
    if not wanted.wait:
        return Response(await _page(changes, request.user, wanted), headers=NO_STORE)
    connection_of(request.scope).end_with_client()
    with changes.watch.waiting(wanted.named_scopes(), request.user.id) as news:
        page = await _page(changes, request.user, wanted)
        ends_at = asyncio.get_running_loop().time() + wanted.wait
        gone = asyncio.ensure_future(_client_leaves(request.receive))
        try:
            while not page.items and (left := ends_at - asyncio.get_running_loop().time()) > 0:
                stopping: asyncio.Event = request.app.state.stopping
                await first_of(news.wait(), stopping.wait(), asyncio.wait([gone]), seconds=left)
                if stopping.is_set() or gone.done():
                    break
                news.clear()
                # The token may have been revoked meanwhile, or the scope taken from it.
                bearer = await caller_of(request)
                if not isinstance(bearer, Bearer):
                    raise unauthorized()
                page = await _page(changes, bearer, wanted)
        finally:
            gone.cancel()
    return Response(page, headers=NO_STORE)


async def _page(changes: Changes, bearer: Bearer, wanted: ChangeQuery) -> ChangePage:
    return await thread_pools.run(thread_pools.AGENTS, changes.page, bearer, wanted)


async def _client_leaves(receive: Callable[[], Awaitable[Any]]) -> None:
    """Return once the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _wanted(query: MultiDict[Any]) -> ChangeQuery:
    return ChangeQuery(
        submission_scope=query.get("submission_scope"),
        scope_id=query.get("scope_id"),
        scopes=query.getall("scope", []),
        after=query.get("after"),
        limit=_number(query, "limit", DEFAULT_CHANGES, MAX_CHANGES),
        wait=_number(query, "wait", 0, MAX_WAIT),
    )


def _number(query: MultiDict[Any], name: str, default: int, most: int) -> int:
    """Return a parameter as a number of at most four digits.

    Raises RequestRefusedError (`malformed`).
    """
    text: str = query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise refuse("malformed", f"{name} must be a whole number of at most {most}", f"/{name}")
    return int(text)

"""`GET /v1/changes`: the change feed, with requests that wait for the next change."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from litestar import Response, get
from litestar.datastructures import MultiDict
from litestar.di import NamedDependency

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import ChangePage
from antechamber.core.errors import read_all
from antechamber.flows.changes import DEFAULT_CHANGES, ChangeQuery, Changes
from antechamber.web import thread_pools
from antechamber.web.api import NO_STORE, AgentRequest
from antechamber.web.auth import caller_of, needs_token, unauthorized
from antechamber.web.connections import connection_of
from antechamber.web.query_parameters import check_names, read_count
from antechamber.web.waiting import first_of

_PARAMETERS: Final = ("scope", "submission_scope", "scope_id", "after", "limit", "wait")


@get("/v1/changes", guards=[needs_token])
async def read_changes(request: AgentRequest, changes: NamedDependency[Changes]) -> Response[ChangePage]:
    """Return the changes after a cursor in commit order; wait for the next one if there is none."""
    wanted = _wanted(request.query_params)
    read_all(partial(check_names, request.query_params, *_PARAMETERS), wanted.check)
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
        limit=read_count(query, "limit", DEFAULT_CHANGES),
        wait=read_count(query, "wait", 0),
    )

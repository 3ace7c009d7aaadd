"""Server-sent events for open pages: the counters of queue and quarantine, after changes by any process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.response import ServerSentEvent
from litestar.response.sse import ServerSentEventMessage

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.flows.desk_views import DeskViews
from antechamber.web.auth import needs_role
from antechamber.web.pages import AccountRequest
from antechamber.web.waiting import first_of

MIN_INTERVAL_SECONDS: Final = 1.0
"""Minimum seconds between two messages, so that a busy queue does not flood a page."""
KEEPALIVE_SECONDS: Final = 15.0
"""Seconds after which a message is sent without a change, so that both sides notice a dead connection."""
MAX_MESSAGES: Final = 40
"""Maximum number of messages of one stream; then the page reconnects, and its permission is checked again."""


@get("/review/changes", guards=[needs_role("curator", "auditor")])
async def changes(request: AccountRequest, desk_views: NamedDependency[DeskViews]) -> ServerSentEvent:
    """Stream the counters of queue and quarantine (event `counters`, JSON {pending, quarantined, proposal, activity}).

    `proposal` is state and version of the proposal that the query names, and `activity` counts its decisions, notes and
    answers; both are null without one.
    """
    watched = request.query_params.get("proposal")
    return ServerSentEvent(
        _counters(desk_views, request.app.state.stopping, watched), headers={"cache-control": "no-store"}
    )


async def _counters(
    desk_views: DeskViews, stopping: asyncio.Event, watched: str | None
) -> AsyncIterator[ServerSentEventMessage]:
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    end = desk_views.watch(lambda: loop.call_soon_threadsafe(changed.set))
    try:
        for _ in range(MAX_MESSAGES):
            changed.clear()
            with contextlib.suppress(BusyError, UnavailableError):
                counters = await asyncio.to_thread(desk_views.counters, watched)
                yield ServerSentEventMessage(event="counters", data=msgspec.json.encode(counters).decode())
            await first_of(changed.wait(), stopping.wait(), seconds=KEEPALIVE_SECONDS)
            await first_of(stopping.wait(), seconds=MIN_INTERVAL_SECONDS)
            if stopping.is_set():
                return
    finally:
        end()

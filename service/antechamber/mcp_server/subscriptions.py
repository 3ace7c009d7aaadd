"""Subscriptions of one session: one reader of the change feed for each scope."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Final, NamedTuple

from antechamber.core.contract import ChangeItem
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.mcp_resources import Following, MemoryAddress, Reading, listed_scopes, read_address

_log: Final = logging.getLogger(__name__)
MAX_SUBSCRIPTIONS: Final = 32
"""Maximum number of resources to which one session subscribes: each scope among them holds one request."""
MAX_STREAMS: Final = 8
"""Maximum number of streams of one session (`subscriptions/listen`)."""
LATEST: Final = "latest"
Notify = Callable[[str | None], Awaitable[None]]
"""Sends that the resource at a URI changed or, with None, that the list did."""
Feed = tuple[str, ...]
"""The scopes that one request follows, each `kind:id`."""


class TooManyError(Exception):
    """A session asks for more subscriptions than it may have."""


class SubscribedResource(NamedTuple):
    """What a URI names: a memory of a scope, or the scope."""

    scope: str
    memory_id: str | None


async def find_target(reads: Reading, uri: str) -> SubscribedResource | None:
    """Return what a URI names; None if it names nothing that may be read now.

    Raises AntechamberError if that cannot be read.
    """
    address = read_address(uri)
    if address is None:
        return None
    if isinstance(address, MemoryAddress):
        memory = await reads.memory(address.memory_id)
        if memory is None or memory.state != "active":
            return None
        return SubscribedResource(f"{memory.submission_scope}:{memory.scope_id}", memory.memory_id)
    try:
        await reads.newest([address.scope], "", 1)
    except RequestRefusedError:
        return None
    return SubscribedResource(address.scope, None)


class Subscriber:
    """What a session, or one stream of it, wants to learn; changes that it has not read yet are kept once each."""

    def __init__(self) -> None:
        self.targets: dict[str, SubscribedResource] = {}
        self.listed: list[Feed] = []
        self._changed: dict[str | None, None] = {}
        self._news = asyncio.Event()
        self._over = False

    def feeds(self) -> set[Feed]:
        """Return the feeds that it needs."""
        return {(target.scope,) for target in self.targets.values()} | set(self.listed)

    def note(self, feed: Feed, items: Sequence[ChangeItem]) -> None:
        """Keep what changed with a page of a feed."""
        ids = {item.memory_id for item in items}
        if ids and feed in self.listed:
            self._changed[None] = None
        for uri, target in self.targets.items():
            if (target.scope,) == feed and (ids if target.memory_id is None else target.memory_id in ids):
                self._changed[uri] = None
        if self._changed:
            self._news.set()

    def end(self) -> None:
        """End it: the client learns that all of it may have changed, reads again, and then learns why."""
        self._changed |= dict.fromkeys([*([None] if self.listed else []), *self.targets])
        self.targets, self.listed, self._over = {}, [], True
        self._news.set()

    async def next(self) -> list[str | None]:
        """Wait for changes and return them, None for the list; nothing after the end."""
        if not self._over:
            await self._news.wait()
        self._news.clear()
        changed, self._changed = list(self._changed), {}
        return changed


class Subscriptions:
    """The subscriptions of one session; nothing is read before the first one."""

    def __init__(self, reads: Following) -> None:
        self._reads = reads
        self._gate = asyncio.Lock()
        self._subscribers: set[Subscriber] = set()
        self._feeds: dict[Feed, asyncio.Task[None]] = {}
        self._own: Subscriber | None = None
        self._sending: asyncio.Task[None] | None = None

    async def subscribe(self, uri: str, notify: Notify) -> bool:
        """Subscribe the session to a URI; return False if it names nothing that may be read.

        Raises TooManyError, or AntechamberError if the change feed cannot be read.
        """
        async with self._gate:
            return await self._add(self._session(notify), uri)

    def unsubscribe(self, uri: str) -> None:
        """End the session's subscription to a URI, if there is one."""
        if self._own is not None:
            self._own.targets.pop(uri, None)
        self._prune()

    async def follow_list(self, read: Sequence[str], notify: Notify) -> None:
        """Notify the session of changes of the list, which has the memories of these grants.

        Raises AntechamberError if the change feed cannot be read.
        """
        async with self._gate:
            await self._follow_list(self._session(notify), read)

    @contextlib.asynccontextmanager
    async def listening(self, uris: Iterable[str], *, listing: bool) -> AsyncIterator[Subscriber]:
        """Open a stream of its own; its `targets` and `listed` are what it will report.

        Raises TooManyError, or AntechamberError if the change feed cannot be read.
        """
        if len(self._subscribers) >= MAX_STREAMS:
            raise TooManyError
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        try:
            async with self._gate:
                for uri in dict.fromkeys(uris):
                    await self._add(subscriber, uri)
                if listing:
                    await self._follow_list(subscriber, (await self._reads.scopes()).read)
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)
            self._prune()

    async def close(self) -> None:
        """End all subscriptions."""
        tasks = [*self._feeds.values(), *([self._sending] if self._sending is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _session(self, notify: Notify) -> Subscriber:
        if self._own is None:
            self._own = Subscriber()
            self._subscribers.add(self._own)
            self._sending = asyncio.create_task(_send(self._own, notify))
        return self._own

    async def _add(self, subscriber: Subscriber, uri: str) -> bool:
        if uri in subscriber.targets:
            return await find_target(self._reads, uri) is not None
        if sum(len(other.targets) for other in self._subscribers) >= MAX_SUBSCRIPTIONS:
            raise TooManyError
        target = await find_target(self._reads, uri)
        if target is None:
            return False
        await self._open((target.scope,))
        subscriber.targets[uri] = target
        # It may have ended before its feed was followed.
        if await find_target(self._reads, uri) is not None:
            return True
        subscriber.targets.pop(uri, None)
        self._prune()
        return False

    async def _follow_list(self, subscriber: Subscriber, read: Sequence[str]) -> None:
        groups = listed_scopes(read)
        for feed in groups:
            await self._open(feed)
            if feed not in subscriber.listed:
                subscriber.listed.append(feed)
        subscriber.listed = groups
        self._prune()

    async def _open(self, feed: Feed) -> None:
        if feed not in self._feeds:
            page = await self._reads.changes(feed, LATEST, wait=False)
            self._feeds[feed] = asyncio.create_task(self._read(feed, page.next))

    async def _read(self, feed: Feed, after: str) -> None:
        try:
            while True:
                page = await self._reads.changes(feed, after, wait=True)
                after = page.next
                for subscriber in self._subscribers:
                    subscriber.note(feed, page.items)
        except AntechamberError as error:
            _log.warning("subscriptions ended: %s", error)
        except Exception:  # noqa: BLE001 -- the subscriptions end, the session goes on
            _log.exception("subscriptions ended unexpectedly")
        self._feeds.pop(feed, None)
        self._end_all()

    def _end_all(self) -> None:
        """End each subscription of the session: its token, or one of its scopes, was refused."""
        for subscriber in self._subscribers:
            subscriber.end()
        self._subscribers.clear()
        self._own = None
        self._prune()

    def _prune(self) -> None:
        """Stop to read what no subscription needs."""
        needed = {feed for subscriber in self._subscribers for feed in subscriber.feeds()}
        for feed in [feed for feed in self._feeds if feed not in needed]:
            self._feeds.pop(feed).cancel()


async def _send(subscriber: Subscriber, notify: Notify) -> None:
    """Send what a session wants to learn until it ends."""
    try:
        while changed := await subscriber.next():
            for uri in changed:
                await notify(uri)
    except Exception:  # noqa: BLE001 -- the client has gone
        _log.debug("a notification could not be sent", exc_info=True)

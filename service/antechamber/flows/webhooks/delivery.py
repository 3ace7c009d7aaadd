"""Deliver events to endpoints: a thread with an event loop of its own, and one task for each endpoint that is due.

An endpoint gets one event at a time, in order. Its position is stored after a second at most, after a failure and at
the end, so that after a crash an event may come twice, under the same id, and none is lost.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from antechamber.background import Work
from antechamber.core.metrics.definitions import WEBHOOK_ATTEMPTS
from antechamber.core.metrics.meters import Meters
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.ports.webhooks import Sender
from antechamber.core.rows.webhooks import Webhook
from antechamber.core.webhooks.schedule import Answer, after_attempt
from antechamber.flows.webhooks.messages import WebhookMessages
from antechamber.flows.webhooks.pending import Pending, PendingEvent, read_pending
from antechamber.logs import note

LOOK_SECONDS: Final = 0.5
"""Seconds between two looks at the endpoints and the end of the log."""
BATCH: Final = 100
"""Events that an endpoint gets before the log is read again."""
SAVE_EVERY: Final = 1_000_000
"""Microseconds after which the position of an endpoint is stored while it gets events."""
HELD: Final = 60_000_000
"""Microseconds for which a process holds an endpoint without storing anything; an attempt takes less."""
UNSAVED: Final = 5_000
"""Leaves without an event for an endpoint after which its position is stored all the same."""
_log: Final = logging.getLogger(__name__)


_Name = tuple[str, int]
"""Id and version of an endpoint: after a replay, its delivery begins again."""


class _Course:
    """How far a delivery under way has got, and when that was stored."""

    def __init__(self, webhook: Webhook, now: int) -> None:
        self.webhook = webhook
        self.saved_at = now


class WebhookDelivery:
    """Delivers to the endpoints of a store; `holder` names this process among those that share it.

    `work` records whether the thread works. What receivers do is no failure of the work.
    """

    def __init__(  # noqa: PLR0913 -- what one thread needs
        self,
        store: Store,
        messages: WebhookMessages,
        sender: Sender,
        clock: Clock,
        randomness: Randomness,
        *,
        holder: str,
        work: Work,
    ) -> None:
        self._store = store
        self._messages = messages
        self._sender = sender
        self._clock = clock
        self._randomness = randomness
        self._holder = holder
        self._work = work
        self._over = threading.Event()
        self._wake: Callable[[], object] = _do_nothing
        self._tasks: dict[_Name, asyncio.Task[None]] = {}
        self._seen: dict[_Name, int] = {}
        """The first leaf that was not looked at, by id and version of an endpoint."""
        self.meters = Meters()

    def run(self) -> None:
        """Deliver until `stop` is called; this runs in its own thread."""
        self._work.loop(self._serve, self._over)

    def stop(self) -> None:
        """Make `run` return soon; requests under way are given up and sent again later."""
        self._over.set()
        # The loop may have ended since.
        with contextlib.suppress(RuntimeError):
            self._wake()

    def _serve(self) -> None:
        asyncio.run(self._follow())

    async def _follow(self) -> None:
        """Look at the endpoints regularly; an error of one delivery ends all of them, and the work starts again."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        self._wake = partial(loop.call_soon_threadsafe, over.set)
        waiting = loop.create_task(over.wait())
        self._tasks = {}
        self._look()
        while not self._over.is_set():
            await asyncio.wait([waiting], timeout=LOOK_SECONDS)
            # The first look after a failure begins deliveries; this one knows how they went.
            self._look()
            self._work.note_success()

    def _look(self) -> None:
        """Start a task for each endpoint that is due, and end those of endpoints that were removed or replayed.

        Raises what a task raised.
        """
        for name, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[name]
                # A delivery that was ended here is no failure, which would end those of the other endpoints.
                if not task.cancelled():
                    task.result()
        now = self._clock()
        with self._store.read() as tx:
            webhooks = tx.webhooks.all()
            due = [(webhook, self._find_pending(tx, webhook)) for webhook in webhooks if self._is_due(webhook, now)]
        for name in self._tasks.keys() - {_name(webhook) for webhook in webhooks}:
            self._tasks[name].cancel()
        for webhook, pending in due:
            if pending.events:
                self._tasks[_name(webhook)] = asyncio.create_task(self._deliver(webhook))
            elif pending.reached - webhook.next_sequence >= UNSAVED:
                self._skip(webhook, pending.reached)

    def _is_due(self, webhook: Webhook, now: int) -> bool:
        free = webhook.holder in {None, self._holder} or webhook.held_until < now
        return webhook.state == "active" and webhook.next_at <= now and free and _name(webhook) not in self._tasks

    def _find_pending(self, tx: Rows, webhook: Webhook) -> Pending:
        """Return the next event of an endpoint; leaves that were looked at before are not read again."""
        name = _name(webhook)
        pending = read_pending(tx, webhook, first=self._seen.get(name, 0), number=1)
        if not pending.events:
            self._seen[name] = pending.reached
        return pending

    def _skip(self, webhook: Webhook, reached: int) -> None:
        """Store that there is nothing for an endpoint before a leaf."""
        course = _Course(msgspec.structs.replace(webhook, next_sequence=reached), 0)
        if self._take(webhook):
            self._save(course, over=True)

    def _take(self, webhook: Webhook) -> bool:
        now = self._clock()
        return self._store.write(lambda tx: tx.webhooks.take(webhook, self._holder, now, now + HELD)).result()

    def _save(self, course: _Course, *, over: bool = False) -> bool:
        """Store how far a delivery has got; return False if the endpoint was removed, replayed or taken meanwhile."""
        webhook, course.saved_at = course.webhook, self._clock()
        until = 0 if over else course.saved_at + HELD
        return self._store.write(lambda tx: tx.webhooks.note(webhook, self._holder, until)).result()

    async def _deliver(self, webhook: Webhook) -> None:
        """Send an endpoint all that it has not got, until an attempt fails or nothing is left.

        Raises BusyError or UnavailableError.
        """
        if not self._take(webhook):
            return
        course = _Course(webhook, self._clock())
        try:
            while await self._deliver_batch(course):
                pass
        finally:
            self._save(course, over=True)

    async def _deliver_batch(self, course: _Course) -> bool:
        """Send the next events; return whether there may be more."""
        # Also where nothing is sent, other endpoints and `stop` get their turn.
        await asyncio.sleep(0)
        with self._store.read() as tx:
            pending = read_pending(tx, course.webhook, number=BATCH)
        for one in pending.events:
            if not await self._attempt(course, one):
                return False
        if len(pending.events) < BATCH:
            course.webhook = msgspec.structs.replace(course.webhook, next_sequence=pending.reached)
        return bool(pending.events) or not pending.complete

    async def _attempt(self, course: _Course, one: PendingEvent) -> bool:
        """Send one event; return whether the next one may be sent."""
        webhook = course.webhook
        message = self._messages.form(webhook.webhook_id, one.event, self._clock())
        answer = await self._sender.send(webhook.url, message, allow_private=webhook.allow_private)
        return self._record(course, one, answer)

    def _record(self, course: _Course, one: PendingEvent, answer: Answer) -> bool:
        now, before = self._clock(), course.webhook
        course.webhook = after_attempt(before, one.place, answer, now, self._randomness(1)[0])
        self.meters.count(WEBHOOK_ATTEMPTS, "delivered" if answer.delivered else "failed")
        _log_change(before, answer)
        if not answer.delivered:
            return False
        return now - course.saved_at < SAVE_EVERY or self._save(course)


def _do_nothing() -> None:
    """Wake no loop, because none runs yet."""


def _name(webhook: Webhook) -> _Name:
    return webhook.webhook_id, webhook.version


def _log_change(before: Webhook, answer: Answer) -> None:
    """Write a line when an endpoint begins to fail, works again or is disabled."""
    name = before.webhook_id
    if answer.gone:
        note(_log, logging.ERROR, f"webhook disabled: {answer.text}; a replay makes it active again", webhook=name)
    elif answer.delivered and before.attempts:
        note(_log, logging.INFO, "webhook works again", webhook=name, attempts=before.attempts + 1)
    elif not answer.delivered and not before.attempts:
        note(_log, logging.WARNING, f"webhook fails: {answer.text}; its events wait", webhook=name)

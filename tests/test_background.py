"""Background work: an unexpected error is logged and listed, and the work continues."""

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from antechamber import background
from antechamber.app import open_store, opened_access
from antechamber.background import Background, Work
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.access import AccessFlows
from antechamber.settings import Location
from antechamber.store.postgres.connection import Watchdog
from support import HANG_SECONDS, Databases, Service, database, event, running, until, write_policies

SECRET_TEXT = "mira@orbit-works.dev"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses, and treat work that lasts a moment as successful."""
    monkeypatch.setattr(background, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(background, "LASTS", 0.1)


def readiness(service: Service) -> tuple[str, list[str]]:
    """Return status and alarms of /readyz as an operator sees them."""
    told = service.sign_in("olga", "operator").browser.get("/readyz").json()
    return told["status"], told["alarms"]


def test_a_failure_is_logged_with_its_trace_and_listed_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """The error may quote a submission, so operators see only the name of the work and the kind of error."""
    every = Background()
    work = every.work("sorting the queue")
    assert every.alarms() == {}
    with pytest.raises(KeyError) as raised:
        dict[str, str]()[SECRET_TEXT]
    work.note_failure(raised.value)
    (alarm,) = every.alarms()["background"]
    assert "sorting the queue (KeyError)" in alarm
    assert SECRET_TEXT not in alarm
    assert caplog.records[0].levelno == logging.ERROR
    assert caplog.records[0].exc_info is not None
    work.note_success()
    assert every.alarms() == {}
    assert "works again" in caplog.messages[-1]


def test_pauses_grow_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses grow from a second to a minute, and restart after a success."""
    monkeypatch.setattr(background, "FIRST_PAUSE", 1.0)
    work = Work("work")
    assert [work.note_failure(ValueError()) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [work.note_failure(ValueError()) for _ in range(2000)][-1] == 60
    work.note_success()
    assert work.note_failure(ValueError()) == 1


@pytest.mark.parametrize("error", [BusyError("busy"), UnavailableError("away"), OSError("broken")])
def test_what_may_pass_is_an_alarm_only_when_it_stays(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """A busy store raises no alarm the first times, and logs no traceback."""
    work = Work("work")
    seen = []
    for _ in range(3):
        work.note_failure(error, temporary=(OSError,))
        seen.append(work.alarm is not None)
    assert seen == [False, False, True]
    assert all(record.exc_info is None for record in caplog.records)


def _until_third(calls: list[int], over: Any) -> None:
    """Fail twice, then succeed; report the success."""
    calls.append(len(calls))
    if len(calls) < 3:
        raise ValueError(SECRET_TEXT)
    over.set()


def test_repeated_work_goes_on_after_an_error() -> None:
    """Repeated work continues after an error, and its alarm ends with the first success."""
    work, calls, over = Work("work"), list[int](), threading.Event()

    async def run() -> None:
        task = asyncio.create_task(work.repeat(lambda: _until_third(calls, over), 0.01))
        await asyncio.to_thread(until, lambda: over.is_set() and work.alarm is None, "it works")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert len(calls) >= 3


@pytest.mark.parametrize("error", [ValueError, None], ids=str)
def test_a_task_that_is_kept_begins_again(error: type[Exception] | None) -> None:
    """A kept task restarts whether it ended by an error or by itself."""
    work, begun = Work("work"), list[int]()

    async def lasting() -> None:
        begun.append(1)
        if len(begun) > 2:
            await asyncio.Event().wait()
        if error is not None:
            raise error

    async def run() -> None:
        task = asyncio.create_task(work.keep(lasting))
        await asyncio.to_thread(until, lambda: len(begun) > 2 and work.alarm is None, "it works")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert len(begun) == 3


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError])
def test_a_thread_goes_on_after_an_error(error: type[BaseException]) -> None:
    """A thread restarts even after an error that ends threads silently."""
    work, calls, over = Work("work"), list[int](), threading.Event()

    def step() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise error
        over.set()

    thread = threading.Thread(target=work.loop, args=(step, over))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert len(calls) == 3
    assert work.alarm is None


def test_an_error_of_the_end_is_none() -> None:
    """A connection closed because of the shutdown is not a failure."""
    work, over = Work("work"), threading.Event()

    def step() -> None:
        over.set()
        raise OSError

    for _ in range(3):
        over.clear()
        work.loop(step, over, temporary=(OSError,))
    assert work.alarm is None


def test_sorting_goes_on_after_an_error(location: Location, policies: Path) -> None:
    """A proposal that cannot be sorted raises an alarm on /readyz and does not stop sorting."""
    with running(location, policies) as service, database(location) as raw:
        first = service.submit(event("The first one.")).json()["proposal_id"]
        service.wait_until_sorted()
        here = location.database_url is None
        raw.execute("DROP TRIGGER proposals_keep_their_event" if here else "ALTER TABLE proposals DISABLE TRIGGER USER")
        chosen = f"WHERE proposal_id = '{first}'"
        (payload,) = raw.execute(f"SELECT payload FROM proposals {chosen}").fetchone()
        raw.execute(f"""UPDATE proposals SET payload = '{{"kind":"fact"}}', fold = NULL {chosen}""")
        service.submit(event("The second one."))
        until(lambda: readiness(service)[0] == "degraded", "sorting fails")
        assert "sorting the queue (KeyError)" in readiness(service)[1][0]
        raw.execute(f"UPDATE proposals SET payload = '{payload}' {chosen}")
        service.wait_until_sorted()
        until(lambda: readiness(service) == ("ready", []), "sorting works again")


def hold(store: Store) -> tuple[Future[bool], threading.Event]:
    """Block the writer until the event is set."""
    begun, gate = threading.Event(), threading.Event()

    def work(_: Rows) -> bool:
        begun.set()
        return gate.wait(20)

    held = store.write(work)
    assert begun.wait(20)
    return held, gate


def test_the_writer_goes_on_after_what_ends_threads(location: Location) -> None:
    """Waiting callers get 503, the alarm ends when an empty transaction succeeds, and later writes are stored."""
    every = Background()
    store = open_store(location, background=every)

    def fatal(_: Any) -> None:
        sys.exit("no reason")

    held, gate = hold(store)
    waiting = [store.write(lambda tx: tx.reports.set_meta("before", "1")), store.write(fatal)]
    gate.set()
    assert held.result(20)
    for future in waiting:
        with pytest.raises(UnavailableError):
            future.result(20)
    until(lambda: not every.alarms(), "the writer works again")
    store.write(lambda tx: tx.reports.set_meta("after", "2")).result(20)
    with store.read() as tx:
        assert (tx.reports.meta("before"), tx.reports.meta("after")) == (None, "2")
    store.close()


def test_a_writer_that_cannot_go_on_refuses_what_waits(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its thread is gone, the writer refuses both waiting and new work."""
    store = open_store(location)
    writer: Any = store._writer  # type: ignore[attr-defined]
    held, gate = hold(store)
    waiting = store.write(lambda _: None)

    def fatal(_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(writer, "_answer", fatal)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    gate.set()
    assert held.result(20)
    with pytest.raises(UnavailableError):
        waiting.result(20)
    with pytest.raises(UnavailableError):
        store.write(lambda _: None).result(20)
    store.close()


def test_news_go_on_after_what_ends_threads(postgres: Databases, tmp_path: Path) -> None:
    """The thread that listens for other processes' changes restarts."""
    location = Location(data=tmp_path / "data", database_url=postgres.fresh())
    every = Background()
    with running(location, write_policies(tmp_path / "policies")) as service:
        store = open_store(location, background=every)
        heard, failing = threading.Event(), threading.Event()
        failing.set()

        def wake() -> None:
            if failing.is_set():
                failing.clear()
                sys.exit("no reason")
            heard.set()

        store.watch(wake)
        assert heard.wait(20)
        heard.clear()
        service.submit(event())
        assert heard.wait(20)
        until(lambda: not every.alarms(), "all works")
        store.close()
    postgres.drop(location.database_url or "")


def test_the_watchdog_goes_on_after_an_error() -> None:
    """Without the watchdog a cut network would block a thread forever."""
    work = Work("work")
    dog = Watchdog(work)
    broken: Any = None
    dog._due[0] = broken
    until(lambda: work.alarm, "it fails")
    del dog._due[0]
    until(lambda: work.alarm is None, "it works again")
    dog.close()


def test_ending_slow_uploads_goes_on_after_an_error(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline for uploads is enforced again after an error, and /readyz names it meanwhile, to operators only."""
    # Longer than the interval of the deadline watch.
    monkeypatch.setattr(background, "LASTS", 3.0)
    broken: Any = object()
    service.state.uploads._open[None] = {broken: None}
    until(lambda: readiness(service)[0] == "degraded", "it fails")
    (alarm,) = readiness(service)[1]
    assert "ending uploads that take too long (AttributeError)" in alarm
    assert service.client.get("/readyz").json() == {"status": "degraded"}
    del service.state.uploads._open[None]
    until(lambda: readiness(service) == ("ready", []), "it works again")


def test_the_mcp_server_is_started_again(service: Service) -> None:
    """After the MCP server stopped, the next call starts it, and until then /readyz names it."""
    real = service.state.tools._start

    @contextlib.asynccontextmanager
    async def ending(bearer_of: Any) -> AsyncIterator[Any]:
        async with real(bearer_of) as application:
            yield application
            message = "ended"
            raise RuntimeError(message)

    async def end() -> None:
        service.state.tools._over.set()

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"} | service.bearer()
    service.state.tools._start = ending
    assert service.client.post("/mcp", json=call, headers=headers).status_code < 500
    with service.client.portal() as portal:
        portal.call(end)
    until(lambda: readiness(service)[0] == "degraded", "it ended")
    assert "serving MCP clients (ExceptionGroup)" in readiness(service)[1][0]
    service.state.tools._over.clear()
    service.state.tools._start = real
    assert service.client.post("/mcp", json=call, headers=headers).status_code < 500
    assert readiness(service) == ("ready", [])


def ends(access: AccessFlows, loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a service ends: its threads start no more work, or its store refuses writes."""
    try:
        asyncio.run_coroutine_threadsafe(asyncio.to_thread(access.tokens.revoke, "worker:none"), loop).result(
            HANG_SECONDS
        )
    except (RuntimeError, UnavailableError):
        return True
    return False


def test_work_that_is_under_way_ends_before_the_store_closes(location: Location, policies: Path) -> None:
    """A thread that continues during the shutdown can still write, and its work is kept."""
    begun = threading.Event()

    def work(access: AccessFlows, loop: asyncio.AbstractEventLoop) -> None:
        begun.set()
        until(lambda: ends(access, loop), "the service ends")
        access.tokens.issue("worker:last", "producer", [], None)

    async def begin(access: AccessFlows) -> None:
        await asyncio.to_thread(work, access, asyncio.get_running_loop())

    with running(location, policies) as service, service.client.portal() as portal:
        working = portal.start_task_soon(begin, service.state.access)
        assert begun.wait(HANG_SECONDS)
    working.result(HANG_SECONDS)
    with opened_access(location) as access:
        assert [token.name for token in access.tokens.all()] == ["worker:last"]


def test_alarms_of_others_are_listed_by_their_source() -> None:
    """Operators see another remedy for a witness than for work that fails; a source without alarms is left out."""
    every = Background()
    every.add_alarms(lambda: ["It does not answer."], "witness")
    every.add_alarms(lambda: ["It does not answer either."], "witness")
    every.add_alarms(list, "provider")
    every.add_alarms(lambda: ["A secret changed."])
    assert every.alarms() == {
        "background": ["A secret changed."],
        "witness": ["It does not answer.", "It does not answer either."],
    }

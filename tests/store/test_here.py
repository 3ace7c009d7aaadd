"""Transactions in the thread of their caller: on SQLite, if nothing else waits and commits are quick."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import pytest

from antechamber.core.errors import UnavailableError
from antechamber.core.ports.store import Store
from antechamber.settings import DATABASE, Location
from antechamber.store.group_commit import MAX_HERE, MAX_HERE_IN_A_ROW, MAX_HERE_SECONDS, SLOW_PAUSE, GroupCommit
from antechamber.store.sqlite.store import SqliteStore
from support import HANG_SECONDS, locked


@pytest.fixture
def place(tmp_path: Path) -> Location:
    """A folder."""
    (tmp_path / "data").mkdir(mode=0o700)
    return Location(data=tmp_path / "data")


@pytest.fixture
def quick(place: Location) -> Iterator[SqliteStore]:
    """A store on SQLite whose commits count as quick, however slow the disk of the test is."""
    store = SqliteStore(place.data / DATABASE)
    writer_of(store)._commit_seconds = float("-inf")
    yield store
    store.close()


def writer_of(store: SqliteStore) -> GroupCommit:
    """Return the writer of a store."""
    return store._writer


def threads_of(items: Sequence[Any], _tx: Any) -> list[str]:
    """Return for each item the name of the thread that runs its transaction."""
    return [threading.current_thread().name] * len(items)


def ran_here(store: Store, number: int = 1) -> bool:
    """Gather this many items, and return whether their transaction ran in this thread."""
    ran = store.gather(threads_of, range(number), 1, here=True)
    return set(ran.result(HANG_SECONDS)) == {threading.current_thread().name}


def test_a_caller_may_be_the_writer(quick: SqliteStore) -> None:
    """The future is resolved when the call returns, and what was written is there."""
    written = quick.gather(lambda _, tx: [tx.sql.run("add_producer", producer_identity="tool:a")], [1], 1, here=True)
    assert written.done()
    assert written.result() == [1]
    with quick.read() as tx:
        assert tx.sql.one("producer_id", producer_identity="tool:a") is not None


def test_without_leave_the_thread_is_the_writer(quick: SqliteStore) -> None:
    """Work of callers that do not ask for it never runs in their thread."""
    assert quick.gather(threads_of, [1], 1).result(HANG_SECONDS) == ["antechamber-writer"]


def test_another_engine_never_runs_work_here(store: Store) -> None:
    """A transaction that waits for the network stays in the thread; on SQLite the same call runs here."""
    cast("Any", store)._writer._commit_seconds = float("-inf")
    ran = store.gather(threads_of, [1], 1, here=True).result(HANG_SECONDS)
    assert ran == [threading.current_thread().name if store.engine == "sqlite" else "antechamber-writer"]


def test_what_arrived_before_goes_first(quick: SqliteStore) -> None:
    """While the thread works, a caller waits for its turn like any other."""
    begun, over = threading.Event(), threading.Event()

    def hold(_tx: Any) -> None:
        begun.set()
        over.wait(HANG_SECONDS)

    first = quick.write(hold)
    assert begun.wait(HANG_SECONDS)
    second = quick.gather(threads_of, [1], 1, here=True)
    assert not second.done()
    over.set()
    assert second.result(HANG_SECONDS) == ["antechamber-writer"]
    assert first.done()


def test_a_caller_waits_for_no_other_process(quick: SqliteStore, place: Location) -> None:
    """While another process holds the file, the call returns at once, and the thread waits."""
    with locked(place):
        waiting = quick.gather(threads_of, [1], 1, here=True)
        assert not waiting.done()
    assert waiting.result(HANG_SECONDS) == ["antechamber-writer"]
    assert ran_here(quick)


def test_the_thread_gets_its_turn_for_checkpoints(quick: SqliteStore) -> None:
    """Transactions in a row leave the write-ahead log alone until the thread runs one, and then again."""
    pages = quick._connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0]
    for _ in range(2):
        for _ in range(0, MAX_HERE_IN_A_ROW, MAX_HERE):
            assert ran_here(quick, MAX_HERE)
            assert quick._connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == 0
        assert not ran_here(quick)
        assert quick._connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == pages


def test_many_items_are_left_to_the_thread(quick: SqliteStore) -> None:
    """A caller is not kept from its other work for long."""
    assert not ran_here(quick, MAX_HERE + 1)


def test_on_a_slow_disk_the_thread_writes(quick: SqliteStore) -> None:
    """After slow commits the next ones are the thread's; some time later the disk may be fast again."""
    writer = writer_of(quick)
    writer._commit_seconds = 20 * MAX_HERE_SECONDS
    assert ran_here(quick)
    assert not ran_here(quick)
    assert 0 < writer._slow_until - perf_counter() <= SLOW_PAUSE
    writer._commit_seconds, writer._slow_until = float("-inf"), 0.0
    assert ran_here(quick)


def test_work_that_fails_is_run_again_by_the_thread(quick: SqliteStore) -> None:
    """Its caller gets its error, nothing of it is kept, and the next one is stored."""
    seen: list[str] = []

    def fail(_items: Any, tx: Any) -> list[int]:
        tx.sql.run("add_producer", producer_identity="tool:a")
        seen.append(threading.current_thread().name)
        message = "no"
        raise ValueError(message)

    with pytest.raises(ValueError, match="no"):
        quick.gather(fail, [1], 1, here=True).result(HANG_SECONDS)
    assert seen[0] == threading.current_thread().name
    assert set(seen[1:]) == {"antechamber-writer"}
    with quick.read() as tx:
        assert tx.sql.one("producer_id", producer_identity="tool:a") is None
    assert ran_here(quick)


def test_a_closed_store_refuses_work(place: Location) -> None:
    """After the end nothing runs in any thread."""
    store = SqliteStore(place.data / DATABASE)
    store.close()
    with pytest.raises(UnavailableError):
        store.gather(threads_of, [1], 1, here=True)


def test_many_threads_take_turns(quick: SqliteStore) -> None:
    """Callers and writer never share a transaction: of all that was written nothing is lost or doubled."""
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(50):
                name = f"tool:{thread}-{number}"
                add = [name]
                quick.gather(_add, add, 1, here=number % 2 == 0).result(HANG_SECONDS)
        except BaseException as error:  # noqa: BLE001 -- reported below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with quick.read() as tx:
        names = {f"tool:{thread}-{number}" for thread in range(6) for number in range(50)}
        assert all(tx.sql.one("producer_id", producer_identity=name) for name in names)


def _add(items: Sequence[str], tx: Any) -> list[int]:
    return [tx.sql.run("add_producer", producer_identity=name) for name in items]

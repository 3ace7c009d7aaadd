"""The change feed and the mirror of the client: a copy equal to the service, through outages, without ended texts."""

import asyncio
import contextlib
import random
import sqlite3
import stat
import uuid
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antechamber.client import AsyncSubmitter, MirrorError, ReadError, Submitter
from antechamber.client.mirror import Mirror
from antechamber.client.mirror_file import MirrorFile
from antechamber.core.contract import ChangeItem, ChangePage, MemoryItem
from client.network import AsyncNetwork, Network
from support import HANG_SECONDS, URL, Service, antechamber, event, running, until, where

APOLLO = "project:apollo"
SCOPES = [APOLLO, "session:s-1"]


@pytest.fixture
def sender(service: Service, network: Network) -> Iterator[Submitter]:
    """A submitter without a ledger, as a reader uses it."""
    with Submitter(URL, service.token(), transport=network) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a mirror."""
    return tmp_path / "memories.mirror"


def admit(service: Service, content: str, **members: Any) -> str:
    """Have an event approved and return the id of its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    return proposal


def retract(service: Service, proposal: str) -> None:
    """Retract a memory."""
    assert service.sign_in().decide(proposal, "retract", reason_code="wrong").status_code == 303


def held(mirror: Any) -> list[dict[str, Any]]:
    """Return the memories of a mirror as the service writes them, by id."""
    items: list[dict[str, Any]] = msgspec.to_builtins(mirror.memories())
    return sorted(items, key=lambda item: str(item["memory_id"]))


def recalled(service: Service, *scopes: str) -> list[dict[str, Any]]:
    """Return what GET /v1/memories returns, by id."""
    query = {"scope": list(scopes or (APOLLO,)), "limit": 200}
    items = service.client.get("/v1/memories", params=query, headers=service.bearer()).json()["items"]
    return sorted(items, key=lambda item: str(item["memory_id"]))


def contents(mirror: Any) -> list[str]:
    """Return the texts of a mirror, the newest first."""
    return [item.content for item in mirror.memories()]


def found_in_files(file: Path, text: str) -> list[str]:
    """Return the files of a mirror that hold a text."""
    return [one.name for one in sorted(file.parent.glob(f"{file.name}*")) if text.encode() in one.read_bytes()]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in an event loop of its own."""

    async def limited() -> Any:
        async with asyncio.timeout(HANG_SECONDS):
            return await work

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, limited()).result()


def test_changes_are_yielded_as_they_happen(service: Service, sender: Submitter) -> None:
    """Changes are yielded in order without end; the sequence of one is where a later call goes on."""
    proposal = admit(service, "First.")
    admit(service, "Second.")
    changes = sender.changes([APOLLO])
    first, second = islice(changes, 2)
    assert [change.memory and change.memory.content for change in (first, second)] == ["First.", "Second."]
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(next, changes)
        retract(service, proposal)
        assert third.result(HANG_SECONDS).change == "retracted"
    again = next(iter(sender.changes([APOLLO], after=second.sequence)))
    assert (again.change, again.memory_id, again.memory) == ("retracted", first.memory_id, None)


@pytest.mark.parametrize("name", [None, "one.mirror"])
def test_a_single_text_is_one_scope(service: Service, sender: Submitter, tmp_path: Path, name: str | None) -> None:
    """A scope that was not put into a list is read as that scope, and not as its letters."""
    admit(service, "First.")
    assert [item.content for item in sender.memories(scopes=APOLLO).items] == ["First."]
    assert sender.change_page(APOLLO, wait=False) == sender.change_page([APOLLO], wait=False)
    with sender.mirror(tmp_path / name if name else None, APOLLO) as mirror:
        mirror.update()
        assert contents(mirror) == ["First."]


def test_changes_are_yielded_to_asyncio(service: Service, network: Network) -> None:
    """The asynchronous client yields the same changes, through an outage."""
    admit(service, "First.")

    async def work() -> list[ChangeItem]:
        seen = []
        async with AsyncSubmitter(URL, service.token(), transport=AsyncNetwork(network)) as client:
            network.script += ["lose", "drop", (503, b"")]
            async for change in client.changes([APOLLO]):
                seen.append(change)
                if len(seen) == 2:
                    return seen
                await asyncio.to_thread(admit, service, "Second.")
        return []

    assert [change.memory and change.memory.content for change in run(work())] == ["First.", "Second."]
    assert network.script == []


def test_a_refused_reader_is_not_repeated(sender: Submitter, network: Network) -> None:
    """A scope that is not granted, a foreign cursor and an old service end the reading with an error."""
    with pytest.raises(ReadError, match="not granted"):
        next(iter(sender.changes(["project:gemini"])))
    with pytest.raises(ReadError, match="not of this log") as refused:
        next(iter(sender.changes([APOLLO], after="0-00000000")))
    assert refused.value.pointer == "/after"
    network.script.append((404, b""))
    with pytest.raises(ReadError, match="older version"):
        next(iter(sender.changes([APOLLO])))
    assert len(network.seen) == 3


def test_a_mirror_equals_the_service(service: Service, sender: Submitter, file: Path) -> None:
    """After each update the mirror holds what GET /v1/memories returns, in every member."""
    proposals = [admit(service, f"Memory {number}.") for number in range(3)]
    admit(service, "In a session.", submission_scope="session", scope_id="s-1")
    with sender.mirror(file, SCOPES) as mirror:
        mirror.update()
        assert held(mirror) == recalled(service, *SCOPES)
        assert len(held(mirror)) == 4
        retract(service, proposals[0])
        again = event("Memory 1.", producer_identity="tool:watcher")
        assert service.submit(again).json()["disposition"] == "accepted-as-duplicate"
        mirror.update()
        assert held(mirror) == recalled(service, *SCOPES)
        assert [item["evidence"] for item in held(mirror)] == [1, 0, 0]
    with sender.mirror(file, SCOPES[::-1]) as mirror:
        assert held(mirror) == recalled(service, *SCOPES)


def test_a_mirror_in_memory_equals_the_service(
    service: Service, sender: Submitter, network: Network, tmp_path: Path, policies: Path
) -> None:
    """Without a path the copy is in memory: it waits for changes, and is built again from another log."""
    kept, ended = admit(service, "Kept."), admit(service, "Ended.")
    with sender.mirror(None, [APOLLO]) as mirror:
        mirror.update()
        assert held(mirror) == recalled(service)
        assert contents(mirror) == ["Ended.", "Kept."]
        before = mirror._file.cursor()
        retract(service, ended)
        mirror.wait()
        assert contents(mirror) == ["Kept."]
        mirror._file.apply(before, ChangePage(items=[], next="0"))
        assert mirror._file.cursor() not in {before, "0"}
        with running(tmp_path / "other", policies) as other:
            admit(other, "Of the other log.")
            network._inner = other.client._transport
            with Submitter(URL, other.token(), transport=network) as client:
                mirror._run = client._run
                mirror.update()
        assert contents(mirror) == ["Of the other log."]
    assert contents(mirror) == []
    assert kept


def test_a_mirror_can_be_read_with_sql(service: Service, sender: Submitter, file: Path) -> None:
    """The file is for its owner only, and its table has columns for what is asked most."""
    admit(service, "Deploys run on Friday.")
    with sender.mirror(str(file), [APOLLO]) as mirror:
        mirror.update()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with contextlib.closing(sqlite3.connect(file)) as raw:
        rows = raw.execute("SELECT content, kind, submission_scope, scope_id FROM memories").fetchall()
    assert rows == [("Deploys run on Friday.", "procedure", "project", "apollo")]


def test_what_ends_leaves_the_files_of_a_mirror(service: Service, sender: Submitter, file: Path) -> None:
    """Neither the file nor its journal holds a text that was retracted or erased."""
    kept = admit(service, "Kept: canary-kept.")
    ended = [admit(service, f"canary-{number} " * 40 * (number + 1)) for number in range(12)]
    with sender.mirror(file, [APOLLO]) as mirror:
        mirror.update()
        assert all(found_in_files(file, f"canary-{number} ") for number in range(12))
        for proposal in ended:
            retract(service, proposal)
        assert antechamber("erase", ended[0], "--reason", "private", "--yes", *where(service.location)).returncode == 0
        mirror.update()
        assert [number for number in range(12) if found_in_files(file, f"canary-{number} ")] == []
        assert found_in_files(file, "canary-kept") == [file.name]
    assert kept


def test_no_copy_of_an_ended_text_stays_where_its_row_was_before(file: Path) -> None:
    """SQLite moves rows to other pages and leaves copies behind; an update removes them, also one after a crash."""
    chance = random.Random(5)  # noqa: S311 -- with SQLite 3.40, one copy stays after these changes
    mirror = MirrorFile(file, [APOLLO])
    active: dict[str, str] = {}
    ended: list[str] = []
    for number in range(800):
        if len(active) < 30 or chance.random() < 0.5:
            name = str(uuid.UUID(int=chance.getrandbits(128)))
            active[name] = f"canary-{number:06}"
            memory = memory_item(name, f"{active[name]} {'x' * chance.choice((10, 200, 600, 1500))}")
        else:
            name, memory = chance.choice(sorted(active)), None
            ended.append(active.pop(name))
        item = ChangeItem(sequence=number, change="admitted", memory_id=name, at="", memory=memory)
        mirror.apply(mirror.cursor(), ChangePage(items=[item], next=str(number)))
    mirror.close()
    reopened = MirrorFile(file, [APOLLO])
    reopened.clean()
    assert remaining(file, ended) == []
    assert sorted(remaining(file, list(active.values()))) == sorted(active.values())
    written = file.stat().st_mtime_ns
    reopened.clean()
    assert file.stat().st_mtime_ns == written
    reopened.close()


def memory_item(name: str, content: str) -> MemoryItem:
    """Return a memory with a text of its own."""
    return MemoryItem(
        memory_id=name,
        content=content,
        kind="fact",
        tags=[],
        attributes={},
        submission_scope="project",
        scope_id="apollo",
        source_span={"uri": "repo://apollo/notes"},
        supersedes=None,
        derived_from=[],
        admitted_at="2026-01-01T00:00:00Z",
        producer_identity="worker:w-1",
        approvals=1,
        evidence=1,
        review_record_ids=[],
    )


def remaining(file: Path, texts: list[str]) -> list[str]:
    """Return the texts that the files of a mirror hold."""
    held = b"".join(one.read_bytes() for one in sorted(file.parent.glob(f"{file.name}*")))
    return [text for text in texts if text.encode() in held]


def test_a_mirror_follows_the_service(service: Service, network: Network, file: Path) -> None:
    """An asynchronous mirror applies changes as they happen, until it is cancelled."""
    proposal = admit(service, "Followed.")

    async def work() -> list[list[str]]:
        seen = []
        async with (
            AsyncSubmitter(URL, service.token(), transport=AsyncNetwork(network)) as client,
            client.mirror(file, [APOLLO]) as mirror,
        ):
            await mirror.wait()
            seen.append(contents(mirror))
            following = asyncio.create_task(mirror.follow())
            await asyncio.to_thread(retract, service, proposal)
            await asyncio.to_thread(until, lambda: contents(mirror) == [], "the retraction arrives")
            await asyncio.to_thread(admit, service, "Next.")
            await asyncio.to_thread(until, lambda: contents(mirror) == ["Next."], "the next memory arrives")
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
            seen.append(contents(mirror))
        return seen

    assert run(work()) == [["Followed."], ["Next."]]


def test_a_mirror_follows_without_asyncio(service: Service, sender: Submitter, network: Network, file: Path) -> None:
    """A blocking mirror follows until the service refuses it."""
    admit(service, "Followed.")
    with sender.mirror(file, [APOLLO]) as mirror:
        network.script += ["pass", "lose", (401, b"")]
        with pytest.raises(ReadError):
            mirror.follow()
        assert contents(mirror) == ["Followed."]


def test_a_mirror_of_another_log_is_built_again(
    service: Service, sender: Submitter, file: Path, tmp_path: Path, policies: Path
) -> None:
    """A mirror whose service was replaced or restored loses what it held and holds what is there now."""
    admit(service, "Of the first log.")
    with sender.mirror(file, [APOLLO]) as mirror:
        mirror.update()
    with running(tmp_path / "other", policies) as other:
        admit(other, "Of the other log.")
        with Submitter(URL, other.token(), transport=Network(other)) as client, client.mirror(file, [APOLLO]) as mirror:
            mirror.update()
            assert contents(mirror) == ["Of the other log."]
    assert found_in_files(file, "Of the first log.") == []


def test_of_two_processes_with_one_mirror_neither_puts_back_what_ended(
    service: Service, sender: Submitter, file: Path
) -> None:
    """A page that another process has applied already, and gone beyond, is not applied again."""
    proposal = admit(service, "Read by both.")
    late: list[ChangePage] = []
    with sender.mirror(file, [APOLLO]) as slow, sender.mirror(file, [APOLLO]) as quick:
        apply = slow._file.apply
        slow._file.apply = lambda _, page: late.append(page)  # type: ignore[method-assign]
        assert drained(slow, sender) is True
        quick.update()
        retract(service, proposal)
        quick.update()
        apply(None, late[0])
        assert contents(slow) == contents(quick) == []
        assert found_in_files(file, "Read by both.") == []


def drained(mirror: Mirror, sender: Submitter) -> bool:
    """Run one turn of a mirror."""
    return sender._run(mirror._turn(0))


def test_a_file_that_is_no_mirror_is_left_alone(file: Path, tmp_path: Path) -> None:
    """Another database, a text, a folder and a mirror of other scopes are refused with the reason."""
    with contextlib.closing(sqlite3.connect(file)) as raw:
        raw.execute("CREATE TABLE memories (content TEXT)")
    with pytest.raises(MirrorError, match="is not a mirror"):
        MirrorFile(file, [APOLLO])
    text = tmp_path / "text"
    text.write_text("Not a database. " * 100)
    with pytest.raises(MirrorError, match="cannot be used"):
        MirrorFile(text, [APOLLO])
    with pytest.raises(MirrorError, match="cannot be used"):
        MirrorFile(tmp_path / "missing" / "mirror", [APOLLO])
    other = tmp_path / "other"
    MirrorFile(other, [APOLLO]).close()
    with pytest.raises(MirrorError, match="mirrors other scopes"):
        MirrorFile(other, SCOPES)
    MirrorFile(other, [APOLLO, APOLLO]).close()


def test_a_mirror_in_a_write_ahead_log_is_refused_while_it_is_read(file: Path) -> None:
    """A file that another program keeps in WAL mode would keep ended texts, so it is refused until that ends."""
    MirrorFile(file, [APOLLO]).close()
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("PRAGMA journal_mode = WAL")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    with pytest.raises(MirrorError):
        MirrorFile(file, [APOLLO], busy_seconds=0)
    reader.close()
    MirrorFile(file, [APOLLO]).close()


def test_a_full_disk_changes_nothing(service: Service, sender: Submitter, file: Path) -> None:
    """A page that cannot be written is not half applied; the next update applies it."""
    admit(service, "Fits " + "x" * 20_000)
    with sender.mirror(file, [APOLLO]) as mirror:
        raw = mirror._file._connection
        raw.execute("PRAGMA max_page_count = 7")
        with pytest.raises(MirrorError, match="full"):
            mirror.update()
        assert contents(mirror) == []
        assert mirror._file.cursor() is None
        raw.execute("PRAGMA max_page_count = 100000")
        mirror.update()
        assert len(contents(mirror)) == 1

"""Power cuts: every answered submission is on disk, and a store that does not wait for the disk is detected."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from antechamber import app
from antechamber.secret_key import load_quarantine_key
from antechamber.settings import Location
from store.power_cuts import CALLS, Disk, Event, cut_power, read_log
from support import HANG_SECONDS, event, free_port

SUBMISSIONS = 480
CLIENTS = 8
LAUNCHER = """
import sys
from antechamber.store import group_commit
from antechamber.store.sqlite import store
group_commit.MAX_HERE_IN_A_ROW = 60
wanted = sys.argv.pop(1)
often = f"wal_autocheckpoint = {store.CHECKPOINT_PAGES // 160}"
store._WRITER_SETTINGS = tuple(
    setting.replace("= FULL", f"= {wanted}").replace(f"wal_autocheckpoint = {store.CHECKPOINT_PAGES}", often)
    for setting in store._WRITER_SETTINGS
)
from antechamber.cli import main
main()
"""
"""The service with another `PRAGMA synchronous` setting, and with checkpoints during this short run.

Only the writer thread checkpoints. On a fast machine the event loop would run all transactions of this run.
"""


def text(data: bytes) -> str:
    """Format bytes as strace -xx does."""
    return "".join(f"\\x{byte:02x}" for byte in data)


def test_the_log_of_a_server_is_read_in_order(tmp_path: Path) -> None:
    """Writes count from their end and answers from their beginning, even if calls of several threads interleave."""
    answer = text(b"HTTP/1.1 201 Created\r\nidempotency-key: k-1\r\n\r\n{}")
    log = [
        f'11 pwrite64(7<{tmp_path}/a.db-wal>, "{text(b"page")}", 4, 32 <unfinished ...>',
        f'12 write(9<socket:[5]>, "{answer}", 40 <unfinished ...>',
        "11 <... pwrite64 resumed>) = 4",
        "12 <... write resumed>) = 40",
        f"11 fdatasync(7<{tmp_path}/a.db-wal>) = 0",
        f"11 ftruncate(7<{tmp_path}/a.db-wal>, 32) = 0",
        f'11 pwrite64(7<{tmp_path}/a.db-wal>, "{text(b"page")}", 4, 64) = -1 ENOSPC (No space left on device)',
        '11 pwrite64(8</elsewhere/b>, "\\x00", 1, 0) = 1',
        "13 +++ exited with 0 +++",
    ]
    assert list(read_log(iter(log), tmp_path)) == [
        Event("answer", data=b"k-1"),
        Event("write", "a.db-wal", 32, b"page"),
        Event("sync", "a.db-wal"),
        Event("truncate", "a.db-wal", 32),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('1 pwritev(7<{}/a>, [{{iov_base="\\x00", iov_len=1}}], 1, 0) = 1', "not simulated"),
        ('1 pwrite64(7<{}/a>, "\\x00"..., 9000, 0) = 9000', "too low"),
    ],
)
def test_what_cannot_be_simulated_is_refused(line: str, reason: str, tmp_path: Path) -> None:
    """A write that the simulation does not know raises an error instead of passing unnoticed."""
    with pytest.raises(ValueError, match=reason):
        list(read_log(iter([line.format(tmp_path)]), tmp_path))


def test_only_what_was_synced_is_sure() -> None:
    """Without a sync any part of a write may be missing; after a sync nothing may."""
    disk = Disk({"f": b"old."})
    disk.apply(Event("write", "f", 0, b"new" * 1000))
    chance = random.Random(1)  # noqa: S311 -- no secret
    left = {disk.after_power_cut(chance, 0.5)["f"] for _ in range(200)}
    assert b"old." in left
    assert b"new" * 1000 in left
    assert any(one.startswith(b"new") and len(one) % 512 == 0 for one in left)
    assert any(one.startswith(b"old.") and one.endswith(b"new") for one in left)
    disk.apply(Event("sync", "f"))
    assert {disk.after_power_cut(chance, 0.5)["f"] for _ in range(50)} == {b"new" * 1000}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with all of its files on disk."""
    folder = tmp_path / "data"
    app.open_store(Location(data=folder)).close()
    return folder


def recorded(data: Path, policies: Path, synchronous: str) -> tuple[dict[str, bytes], list[Event]]:
    """Serve a folder under strace, submit to it, kill it; return the initial files and the recorded events."""
    with app.opened_access(Location(data=data)) as access:
        _, secret = access.tokens.issue("worker:release-bot", "producer", [], None)
    load_quarantine_key(data)
    before = {file.name: file.read_bytes() for file in data.iterdir() if not file.name.endswith("-shm")}
    log, port = data.parent / "strace.log", free_port()
    strace = [
        shutil.which("strace") or "strace",
        "-f",
        "-y",
        "-xx",
        "-s",
        "1000000",
        "-e",
        f"trace={CALLS}",
        "-o",
        str(log),
    ]
    serve = [sys.executable, "-c", LAUNCHER, synchronous, "serve", "--data", str(data), "--policies", str(policies)]
    process = subprocess.Popen([*strace, *serve, "--port", str(port)], stdout=subprocess.PIPE, start_new_session=True)  # noqa: S603 -- our own program
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Antechamber is ready")
        until_ready(f"http://127.0.0.1:{port}")
        submit_all(f"http://127.0.0.1:{port}", secret)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    with log.open() as lines:
        return before, list(read_log(lines, data))


def until_ready(url: str) -> None:
    """Wait for the port."""
    deadline = time.monotonic() + 60
    while True:
        try:
            httpx.get(f"{url}/healthz", timeout=HANG_SECONDS)
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def submit_all(url: str, secret: str) -> None:
    """Submit from several threads; every answer is a first one."""

    def submit(part: int) -> None:
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=60) as client:
            for number in range(part, SUBMISSIONS, CLIENTS):
                body = event(f"Event {number} before the power cut. " + "x" * 300, idempotency_key=f"cut-{number}")
                assert client.post("/v1/submissions", json=body).status_code == 201

    threads = [threading.Thread(target=submit, args=(part,)) for part in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def moments(events: list[Event], number: int) -> list[int]:
    """Choose moments: right after answers, around syncs, and at random."""
    chance = random.Random(number)  # noqa: S311 -- no secret
    answers = [index + 1 for index, one in enumerate(events) if one.kind == "answer"]
    syncs = [index for index, one in enumerate(events) if one.kind == "sync"]
    chosen = chance.sample(answers, number // 2) + chance.sample(syncs, min(len(syncs), number // 4))
    return [*chosen, *(chance.randrange(len(events)) for _ in range(number // 4)), len(events)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_a_power_cut_loses_nothing_that_was_answered(
    synchronous: str, data: Path, policies: Path, tmp_path: Path
) -> None:
    """With FULL no answer is lost; with NORMAL some are, so these cuts detect a store that does not wait."""
    files, events = recorded(data, policies, synchronous)
    kinds = [one.kind for one in events]
    assert kinds.count("answer") == SUBMISSIONS
    assert {"antechamber.db", "antechamber.db-wal"} <= {one.file for one in events if one.kind == "sync"}
    lost, cuts = 0, 0
    for number, moment in enumerate(moments(events, 160)):
        for kept in (0.0, 0.5):
            chance = random.Random(f"{number} {kept}")  # noqa: S311 -- no secret
            found = cut_power(files, events, moment, chance, kept, tmp_path / f"cut-{number}-{kept}")
            assert found.broken == []
            lost, cuts = lost + len(found.lost), cuts + 1
            shutil.rmtree(tmp_path / f"cut-{number}-{kept}")
    assert cuts >= 240
    assert (lost > 0) == (synchronous == "NORMAL"), f"{lost} answers lost in {cuts} power cuts"

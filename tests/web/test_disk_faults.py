"""Disk faults under a running server: each write and sync of an operation in turn gets an error from strace."""

import contextlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from antechamber import app
from antechamber.settings import Location
from support import HANG_SECONDS, Desk, event, serving, until

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "rename")
SYNCS = {"fdatasync", "fsync"}
ERRORS = ("EIO", "ENOSPC")
STORE_FILES = ("antechamber.db", "antechamber.db-wal")
MOST = 150
"""More system calls than one operation makes."""


class Acts(NamedTuple):
    """Operations on a running server, each with its own number; they return the status."""

    client: httpx.Client
    secret: str
    auditor: str
    desk: Desk

    def submit(self, number: int) -> int:
        """Submit an event."""
        headers = {"authorization": f"Bearer {self.secret}"}
        body = event(f"Event {number} on a bad disk.", idempotency_key=f"disk-{number}")
        return self.client.post("/v1/submissions", json=body, headers=headers).status_code

    def approve(self, number: int) -> int:
        """Approve the proposal of an event; sending the same form again uses the same decision key."""
        form = forms.setdefault((str(self.client.base_url), number), {})
        if not form:
            headers = {"authorization": f"Bearer {self.secret}"}
            receipt = self.client.get(f"/v1/submissions/by-key/disk-{number}", headers=headers).json()
            form |= self.desk.form(receipt["proposal_id"]) | {"proposal": receipt["proposal_id"]}
        fields = {name: value for name, value in form.items() if name != "proposal"}
        return self.desk.post(f"/review/{form['proposal']}/approve", fields).status_code

    def export(self, _number: int) -> int:
        """Export all review records."""
        headers = {"authorization": f"Bearer {self.auditor}"}
        answer = self.client.get("/v1/audit/review-records", headers=headers)
        taken.extend([answer.text] if answer.status_code == 200 else [])
        return answer.status_code


forms: dict[tuple[str, int], dict[str, str]] = {}
taken: list[str] = []
"""Exports that were answered: each of them is recorded."""


@contextlib.contextmanager
def failing(
    pid: int, data: Path, call: str, error: str, number: int | str, files: Sequence[str] = STORE_FILES
) -> Iterator[Callable[[], bool]]:
    """Make a system call on files of the store fail; yield a function that returns whether it happened."""
    log = data.parent / "injected.log"
    paths = [part for name in files for part in ("-P", str(data / name))]
    command = [shutil.which("strace") or "strace", "-f", "-p", str(pid), "-e", f"trace={call}", *paths]
    command += ["-e", f"inject={call}:error={error}:when={number}", "-o", str(log)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 -- our own choice
    assert tracer.stderr is not None
    attached = tracer.stderr.readline()
    assert "attached" in attached, attached
    # strace writes more as threads start, and would block on a full pipe.
    reader = threading.Thread(target=tracer.stderr.read, daemon=True)
    reader.start()
    try:
        yield lambda: "(INJECTED)" in log.read_text()
    finally:
        tracer.send_signal(signal.SIGTERM)
        tracer.wait(20)
        reader.join(5)
        tracer.stderr.close()


@contextlib.contextmanager
def served(data: Path, policies: Path) -> Iterator[tuple[Acts, int]]:
    """Serve a folder with a producer, an auditor and a curator."""
    location = Location(data=data)
    app.open_store(location).close()
    with app.opened_access(location) as access:
        _, secret = access.tokens.issue("worker:release-bot", "producer", [], None)
        _, auditor = access.tokens.issue("checker", "auditor", [], None)
        if "bob" not in {user.name for user in access.accounts.all()}:
            access.accounts.add("bob", "curator", None, None)
        link = access.sign_in.create_link("bob")
    with contextlib.ExitStack() as stack:
        url, process = stack.enter_context(serving(location, policies))
        # Loading certificates for a client takes longer than most requests.
        client, browser = (stack.enter_context(httpx.Client(base_url=url, timeout=HANG_SECONDS)) for _ in range(2))
        assert browser.post("/login", data={"link": link}).status_code == 303
        yield Acts(client, secret, auditor, Desk(browser)), process.pid  # type: ignore[arg-type]


def rows(data: Path, question: str, *values: Any) -> list[Any]:
    """Query the database file."""
    with contextlib.closing(sqlite3.connect(f"{(data / 'antechamber.db').as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(question, values).fetchall()


def kept(data: Path, act: str, number: int) -> int:
    """Count the rows that an operation left."""
    if act == "export":
        return int(rows(data, "SELECT count(*) FROM exports")[0][0] >= len(taken))
    if act == "submit":
        question = "SELECT count(*) FROM submissions WHERE idempotency_key = ?"
    else:
        question = (
            "SELECT count(*) FROM memories AS m JOIN submissions AS s ON s.proposal = m.proposal "
            "WHERE s.idempotency_key = ?"
        )
    found: int = rows(data, question, f"disk-{number}")[0][0]
    return found


def until_sorted(data: Path) -> None:
    """Wait until the sorter is done, so that the next sync belongs to the next operation."""
    unsorted = "SELECT 1 FROM proposals WHERE state = 'pending' AND fold IS NULL"
    until(lambda: not rows(data, unsorted), "the queue is sorted")


def is_read_only(acts: Acts) -> bool:
    """Return whether the service reports that it stores nothing more."""
    answer: dict[str, str] = acts.client.get("/readyz").json()
    return answer == {"status": "read-only"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("act", ["submit", "approve", "export"])
def test_no_failing_write_is_answered_as_done(act: str, error: str, tmp_path: Path, policies: Path) -> None:
    """With each write, sync and truncation failing in turn, no success is lost and none is stored twice.

    Without the fault the same operation succeeds, after a restart if a sync failed.
    """
    data, number, hits = tmp_path / "data", 0, 0
    ended: set[str] = set()
    taken.clear()
    with contextlib.ExitStack() as stack:
        acts, pid = stack.enter_context(served(data, policies))
        for call, index in product(CALLS, range(1, MOST)):
            if call in ended:
                continue
            number += 1
            if act == "approve":
                assert acts.submit(number) == 201
            if call in SYNCS:
                until_sorted(data)
            with failing(pid, data, call, error, index) as happened:
                status = getattr(acts, act)(number)
                hit = happened()
            hits += hit
            assert status in {200, 201, 303, 503}
            assert kept(data, act, number) >= (status != 503)
            if not hit:
                assert status in {200, 201, 303}
                ended.add(call)
                continue
            if call in SYNCS:
                # The first sync belongs to the operation; a later one may be the sorter's, after the answer.
                assert status == 503 or index > 1
                until(partial(is_read_only, acts), "the service is read-only")
                stack.close()
                acts, pid = stack.enter_context(served(data, policies))
            again = getattr(acts, act)(number)
            assert again in {200, 201, 303} or (act == "approve" and again == 409)
            assert kept(data, act, number) == 1
    assert ended == {*CALLS}, "the act never ended without a fault"
    assert hits >= {"submit": 5, "approve": 5, "export": 5}[act]
    assert rows(data, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.timeout(120)
def test_a_failed_sync_ends_all_writing_until_the_next_start(tmp_path: Path, policies: Path) -> None:
    """After one failed fdatasync writes give 503, /readyz and the desk report it, and reads continue."""
    data = tmp_path / "data"
    with served(data, policies) as (acts, pid):
        assert acts.submit(1) == 201
        with failing(pid, data, "fdatasync", "EIO", 1):
            assert acts.submit(2) == 503
        answers = [acts.submit(number) for number in (2, 3)]
        assert answers == [503, 503]
        ready = acts.client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "read-only"})
        page = acts.desk.browser.get("/review").text
        assert re.search("the disk failed to sync", page)
        assert "Event 1 on a bad disk." in page
    with served(data, policies) as (acts, _):
        assert [acts.submit(number) for number in (1, 2, 3)] == [201, 201, 201]
        assert acts.client.get("/readyz").json() == {"status": "ready"}
    assert rows(data, "SELECT count(*) FROM submissions") == [(3,)]


@pytest.mark.timeout(120)
def test_a_failed_sync_of_the_database_file_ends_all_writing(tmp_path: Path, policies: Path) -> None:
    """A reader delays the move of the write-ahead log into the file at the start; the next move fails to sync."""
    data = tmp_path / "data"
    app.open_store(Location(data=data)).close()
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(contextlib.closing(sqlite3.connect(data / "antechamber.db")))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM submissions").fetchall() == [(0,)]
        acts, pid = stack.enter_context(served(data, policies))
        assert acts.submit(1) == 201
        with failing(pid, data, "fdatasync", "EIO", "1+", files=["antechamber.db"]) as happened:
            reader.execute("COMMIT")
            # The approval comes too late if the sorter or the signature of the log commits before it.
            assert acts.approve(1) in {303, 503}
            until(happened, "the file failed to sync")
        until(partial(is_read_only, acts), "the service is read-only")
        assert acts.submit(2) == 503
    assert kept(data, "submit", 1) == 1


@pytest.mark.timeout(120)
def test_a_full_disk_gives_503_until_space_is_free_again(tmp_path: Path, policies: Path) -> None:
    """While the disk is full writes give 503 with Retry-After and reads continue; with space again all works."""
    data = tmp_path / "data"
    with served(data, policies) as (acts, pid):
        assert acts.submit(1) == 201
        with failing(pid, data, "pwrite64", "ENOSPC", "1+"):
            headers = {"authorization": f"Bearer {acts.secret}"}
            body = event("No room.", idempotency_key="disk-2")
            answer = acts.client.post("/v1/submissions", json=body, headers=headers)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert answer.json()["retry_same_key"] is True
            assert acts.client.get("/readyz").json() == {"status": "ready"}
            assert "Event 1 on a bad disk." in acts.desk.browser.get("/review").text
        assert acts.submit(2) == 201
    assert rows(data, "PRAGMA integrity_check") == [("ok",)]

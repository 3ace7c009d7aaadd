"""The write-ahead ledger: operations are recorded before they are sent, shared by processes, and checked for damage."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antechamber.client.ledger import Ledger
from antechamber.client.ledger_file import DamagedLedgerError, LedgerError
from antechamber.client.operation import Operation
from antechamber.core.contract import CODES
from antechamber.core.delivery_rules import DeliveryRuling
from antechamber.core.errors import RequestRefusedError
from antechamber.core.outcomes import ACCEPTED, OUTCOMES
from core.test_delivery_rules import receipt

COMMITTED = DeliveryRuling(state="committed", final=True, reason="accepted-for-review")
UNCERTAIN = DeliveryRuling(state="uncertain", final=False, reason="no answer")
REVIEW = DeliveryRuling(state="needs_review", final=True, reason="key-reused: said")


def lesson(content: str = "Run the migration first.", **members: Any) -> dict[str, Any]:
    """Return an event as an agent writes it: without key and hash."""
    body: dict[str, Any] = {
        "producer_identity": "worker:release-bot",
        "submission_scope": "project",
        "scope_id": "apollo",
        "payload": {"kind": "procedure", "content": content},
        "source_span": {"uri": "repo://apollo/RUNBOOK.md"},
    }
    return body | members


def end(ledger: Ledger, operation_id: str, ruling: DeliveryRuling) -> Operation:
    """Finish one attempt with a ruling for an answer with this code."""
    ledger.begin(operation_id)
    code = next((code for code in CODES if code == ruling.reason), None)
    answer = receipt(OUTCOMES[code] if code else ACCEPTED, code)
    return ledger.record_answer(operation_id, lambda _: ruling, msgspec.json.encode(answer))


def test_an_event_is_one_operation_however_it_is_written(ledger: Ledger) -> None:
    """The same event in another member order, with other line ends or as JSON text is the same operation and bytes."""
    first = ledger.prepare(lesson("One\nTwo"))
    body = ledger.entry(first).body
    assert ledger.prepare(dict(reversed(lesson("One\r\nTwo ").items()))) == first
    assert ledger.prepare(body.replace(f'"idempotency_key":"{first}",'.encode(), b"")) == first  # type: ignore[union-attr]
    assert ledger.entry(first).body == body
    assert ledger.entry(first).state == "pending"
    assert ledger.entry(first).attempts == 0
    assert first[14] == "7"


@pytest.mark.parametrize(
    "other",
    [
        lesson("Another."),
        lesson(scope_id="gemini"),
        lesson(submission_scope="agent_team"),
        lesson(visibility="shareable"),
        lesson(supersedes="a memory"),
        lesson(producer_identity="tool:watcher"),
    ],
)
def test_events_that_the_service_distinguishes_are_different_operations(ledger: Ledger, other: dict[str, Any]) -> None:
    """Every member compared under a key, and the submitting producer, make another operation."""
    assert ledger.prepare(other) != ledger.prepare(lesson())


def test_another_time_of_observation_is_the_same_operation(ledger: Ledger) -> None:
    """A retry with a new observed_at is a retry, and sends the first bytes."""
    first = ledger.prepare(lesson(observed_at="2026-11-20T10:00:00Z"))
    assert ledger.prepare(lesson(observed_at="2026-11-20T10:00:05Z")) == first
    assert b"10:00:00Z" in (ledger.entry(first).body or b"")


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ({}, "malformed"),
        ([1], "malformed"),
        (b"no JSON", "malformed"),
        (b"[1]", "malformed"),
        (b'{"payload": {}, "payload": {}}', "duplicate-member"),
        (lesson(idempotency_key="invented"), "malformed"),
        (lesson(source_event_hash="blake3:" + "0" * 64), "hash-mismatch"),
        (lesson(durable=True), "direct-write"),
        (lesson(secret="x"), "unknown-member"),
        (lesson(payload={"kind": "fact", "content": "x", "attributes": {"a": 1.5}}), "out-of-profile"),
        (lesson(payload={"kind": "fact", "content": "x", "attributes": {"a": float("nan")}}), "malformed"),
        (lesson(payload={"kind": "fact", "content": "\ud800"}), "out-of-profile"),
        (lesson(payload={"kind": "fact", "content": b"bytes"}), "malformed"),
        (lesson(payload={"kind": "fact", "content": " "}), "malformed"),
        (lesson("x" * 70_000), "body-too-large"),
    ],
)
def test_a_malformed_event_is_refused_before_anything_is_recorded(ledger: Ledger, broken: Any, code: str) -> None:
    """A malformed event is refused at once with the cause, and no key is used."""
    with pytest.raises(RequestRefusedError) as refused:
        ledger.prepare(broken)
    assert refused.value.code == code
    assert list(ledger.entries()) == []


def test_each_change_is_recorded_and_a_settled_operation_stays(ledger: Ledger) -> None:
    """The history of an operation can be read later; a late answer or another attempt does not change a settled one."""
    one = ledger.prepare(lesson())
    assert end(ledger, one, UNCERTAIN).state == "uncertain"
    committed = end(ledger, one, COMMITTED)
    assert committed.state == "committed"
    assert end(ledger, one, UNCERTAIN).state == "committed"
    assert [(step.state, step.attempts) for step in ledger.history(one)] == [
        ("pending", 0),
        ("pending", 1),
        ("uncertain", 1),
        ("uncertain", 2),
        ("committed", 2),
    ]
    assert committed.receipt is not None
    assert ledger.entry(one) == committed
    assert ledger.counts() == {"pending": 0, "committed": 1, "failed": 0, "uncertain": 0, "needs_review": 0}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET state = 'pending'",
        "UPDATE entries SET body = NULL",
        "DELETE FROM entries",
        "DELETE FROM changes",
        "UPDATE changes SET reason = ''",
    ],
)
def test_the_file_keeps_a_settled_operation_settled(ledger: Ledger, path: Path, statement: str) -> None:
    """A trigger protects settled operations even from raw SQL."""
    end(ledger, ledger.prepare(lesson()), COMMITTED)
    with contextlib.closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(statement)


def test_a_failed_operation_that_left_nothing_behind_gets_a_new_operation(ledger: Ledger) -> None:
    """An event refused without a receipt can be submitted again; a refusal kept by the service requires `again`."""
    one = ledger.prepare(lesson())
    assert end(ledger, one, DeliveryRuling(state="failed", final=False, reason="unauthorized")).receipt is None
    two = ledger.prepare(lesson())
    assert two != one
    assert end(ledger, two, DeliveryRuling(state="failed", final=True, reason="stale")).receipt is not None
    assert ledger.prepare(lesson()) == two
    three = ledger.prepare(lesson(), again=True)
    assert three not in {one, two}
    assert ledger.prepare(lesson(), again=True) == three
    end(ledger, three, DeliveryRuling(state="failed", final=True, reason="sealed"))
    assert ledger.prepare(lesson()) == three
    assert ledger.entry(three).is_sealed()
    assert not ledger.entry(two).is_sealed()
    four = ledger.prepare(lesson(), again=True)
    end(ledger, four, COMMITTED)
    assert ledger.prepare(lesson(), again=True) == four


def test_a_private_text_leaves_no_copy_in_the_file(ledger: Ledger, path: Path) -> None:
    """A text found private is overwritten in the file, and the receipt stays."""
    one = ledger.prepare(lesson("Page mira@orbit-works.dev at night."))
    assert b"orbit-works" in path.read_bytes()
    entry = end(ledger, one, DeliveryRuling(state="failed", final=True, reason="private-detected", erase=True))
    assert entry.body is None
    assert entry.receipt is not None
    assert b"orbit-works" not in path.read_bytes()
    assert b"orbit-works" not in path.with_name(f"{path.name}-journal").read_bytes()
    assert ledger.prepare(lesson("Page mira@orbit-works.dev at night.")) == one


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from antechamber.client.ledger import Ledger
from client.test_ledger import lesson
ledger = Ledger(Path({path!r}))
one = ledger.prepare(lesson())
ledger.begin(one)
two = ledger.prepare(lesson("Never sent."))
print(one, two, flush=True)
time.sleep(60)
"""


@pytest.fixture
def child(path: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A process with one pending and one prepared operation."""
    code = CHILD.format(tests=str(Path(__file__).parent.parent), path=str(path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- our own program
        assert process.stdout is not None
        one, two = process.stdout.readline().split()
        yield process, one, two
        process.kill()


def test_what_a_killed_process_left_pending_is_uncertain(
    path: Path, child: tuple[subprocess.Popen[str], str, str]
) -> None:
    """Pending operations of a running process stay pending; when it ends they become uncertain."""
    process, one, two = child
    with Ledger(path) as ledger:
        assert {ledger.entry(name).state for name in (one, two)} == {"pending"}
        assert ledger.under_way_elsewhere(ledger.entry(one))
        with pytest.raises(LedgerError, match="under way in another process"):
            ledger.decide(one, "failed", "I gave up.")
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ledger.sweep() == 2
        assert [ledger.entry(name).state for name in (one, two)] == ["uncertain", "uncertain"]
        assert [ledger.entry(name).attempts for name in (one, two)] == [1, 0]
        assert ledger.sweep() == 0
        assert ledger.prepare(lesson()) == one
    assert sorted(left.name for left in path.parent.iterdir()) == ["agent.ledger", "agent.ledger-journal"]


def test_closing_a_ledger_leaves_pending_operations_uncertain(path: Path) -> None:
    """Operations pending at a clean end are uncertain for the next process that opens the ledger."""
    with Ledger(path) as ledger:
        one = ledger.prepare(lesson())
    with Ledger(path) as ledger:
        assert ledger.entry(one).state == "uncertain"
        assert ledger.prepare(lesson()) == one


SHARER = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from antechamber.client.ledger import Ledger
from antechamber.core.delivery_rules import DeliveryRuling
from antechamber.core.outcomes import ACCEPTED, OUTCOMES
from core.test_delivery_rules import receipt
from client.test_ledger import lesson
with Ledger(Path({path!r})) as ledger:
    for number in range(40):
        one = ledger.prepare(lesson(f"Lesson {{number}}."))
        ledger.begin(one)
        ledger.record_answer(one, lambda entry: DeliveryRuling(state="uncertain", final=False, reason="no answer"))
        print(one)
"""


def test_processes_that_share_a_ledger_mint_one_key_for_one_event(path: Path) -> None:
    """Processes that start at once on a new file share one key for one event."""
    code = SHARER.format(tests=str(Path(__file__).parent.parent), path=str(path))
    some = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own program
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=100)[0].split() for process in some]
    assert [process.returncode for process in some] == [0, 0, 0]
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(set(outputs[0])) == 40
    with Ledger(path) as ledger:
        assert [entry.attempts for entry in ledger.entries()] == [3] * 40


def test_a_forked_process_must_open_the_ledger_itself(ledger: Ledger) -> None:
    """A forked process must open the ledger again, because a shared connection would corrupt the file."""
    child = os.fork()
    if child == 0:
        try:
            ledger.prepare(lesson())
        except LedgerError as error:
            os._exit(7 if "open it again" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.fixture
def kept(path: Path) -> tuple[Path, list[Operation]]:
    """A closed ledger with operations in each state."""
    with Ledger(path) as ledger:
        for number in range(60):
            one = ledger.prepare(lesson(f"Lesson {number}. " + "Said at length. " * (number % 7 * 20)))
            end(ledger, one, (COMMITTED, COMMITTED, UNCERTAIN, REVIEW)[number % 4])
        return path, list(ledger.entries())


def readable(path: Path) -> list[Operation]:
    """Open a ledger and read everything in it."""
    with Ledger(path) as ledger:
        entries = list(ledger.entries())
        for entry in entries:
            assert ledger.history(entry.operation_id)
        return entries


def test_a_ledger_that_was_cut_short_is_refused(kept: tuple[Path, list[Operation]], tmp_path: Path) -> None:
    """A ledger truncated at any length is refused, never read as a smaller one."""
    path, _ = kept
    chance, whole = random.Random(3), path.read_bytes()  # noqa: S311 -- no secret
    for length in [0, 1, 100, 4096, len(whole) - 4096, len(whole) - 1] + [
        chance.randrange(len(whole)) for _ in range(60)
    ]:
        cut = tmp_path / "cut.ledger"
        cut.write_bytes(whole[:length])
        with pytest.raises(DamagedLedgerError, match="begin another"):
            readable(cut)
        assert cut.read_bytes() == whole[:length]


def test_a_damaged_ledger_loses_no_committed_operation_in_silence(
    kept: tuple[Path, list[Operation]], tmp_path: Path
) -> None:
    """With bytes altered anywhere, the ledger is refused or all operations are unchanged."""
    path, entries = kept
    chance, whole = random.Random(4), path.read_bytes()  # noqa: S311 -- no secret
    refused = 0
    for _ in range(250):
        broken = bytearray(whole)
        for _ in range(chance.choice((1, 1, 1, 8, 64))):
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        altered = tmp_path / "altered.ledger"
        altered.write_bytes(broken)
        try:
            read = readable(altered)
        except LedgerError:
            refused += 1
            continue
        assert read == entries
    assert refused > 150


def test_a_missing_or_altered_operation_is_found(kept: tuple[Path, list[Operation]], tmp_path: Path) -> None:
    """A missing or altered operation is detected even in an intact file."""
    path, _ = kept
    for statement, message in (
        ("DELETE FROM entries WHERE id = 60", "1 of 60 entries are missing"),
        ("DELETE FROM entries WHERE id < 11", "10 of 60 entries are missing"),
        ("UPDATE entries SET state = 'failed' WHERE id = 1", "entry 1 was altered"),
        ("UPDATE entries SET receipt = NULL WHERE id = 1", "entry 1 was altered"),
    ):
        other = tmp_path / "other.ledger"
        shutil.copyfile(path, other)
        with contextlib.closing(sqlite3.connect(other, isolation_level=None)) as raw:
            for trigger in ("entries_stay", "what_is_settled_stays"):
                raw.execute(f"DROP TRIGGER {trigger}")
            raw.execute(statement)
        with pytest.raises(DamagedLedgerError, match=message):
            readable(other)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """A file of another kind is left unchanged, and so is a newer version's ledger."""
    text = tmp_path / "notes.txt"
    text.write_text("These are notes, and they are long enough to be taken for a header of something." * 20)
    with pytest.raises(LedgerError):
        Ledger(text)
    database = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("CREATE TABLE things (a)")
    with pytest.raises(LedgerError, match="is not a ledger; name another file"):
        Ledger(database)
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(tmp_path / "nowhere" / "agent.ledger")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(tmp_path)
    newer = tmp_path / "newer.ledger"
    Ledger(newer).close()
    with contextlib.closing(sqlite3.connect(newer)) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="written by another version"):
        Ledger(newer)


def test_only_the_owner_may_read_a_ledger(path: Path, ledger: Ledger) -> None:
    """Only the owner may read the ledger, because it holds events before any check."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ledger.path == path


def test_a_ledger_belongs_to_one_service(ledger: Ledger) -> None:
    """A ledger belongs to one service, because another service lacks its receipts; a move must be declared."""
    ledger.bind("memory.example.org")
    ledger.bind("memory.example.org")
    for other in ("other.example.org", "memory.example.org:8080"):
        with pytest.raises(LedgerError, match=f"is the ledger of the service at memory.example.org, not of {other}"):
            ledger.bind(other)
    ledger.bind("other.example.org", moved=True)
    ledger.bind("other.example.org")


def test_a_person_settles_what_needs_review(ledger: Ledger) -> None:
    """A person settles an operation once, with a reason that is kept."""
    one = ledger.prepare(lesson())
    end(ledger, one, REVIEW)
    assert ledger.decide(one, "failed", "Another process took the key.").state == "failed"
    assert ledger.history(one)[-1].reason == "by hand: Another process took the key."
    with pytest.raises(LedgerError, match="is failed already"):
        ledger.decide(one, "committed", "No.")
    with pytest.raises(LedgerError, match="has no operation nothing"):
        ledger.entry("nothing")


def test_a_locked_ledger_is_a_clear_error(ledger: Ledger, path: Path) -> None:
    """The error of a locked ledger explains that nothing was sent and why."""
    ledger._connection.execute("PRAGMA busy_timeout = 50")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.prepare(lesson())
        other.execute("ROLLBACK")
    assert ledger.prepare(lesson())


def test_a_symbolic_link_opens_the_same_ledger(path: Path, child: tuple[subprocess.Popen[str], str, str]) -> None:
    """A ledger opened through a symbolic link shares the marks of its other users."""
    link = path.with_name("link.ledger")
    link.symlink_to(path)
    with Ledger(link) as ledger:
        assert ledger.path == path
        assert ledger.entry(child[1]).state == "pending"


def test_the_end_of_a_forked_process_leaves_the_ledger_open_in_its_parent(path: Path, ledger: Ledger) -> None:
    """Closing a forked copy leaves the ledger open for its parent."""
    child = os.fork()
    if child == 0:
        ledger.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    one = ledger.prepare(lesson())
    with Ledger(path) as other:
        assert other.entry(one).state == "pending"


def test_operations_of_an_unknown_session_are_swept(path: Path, ledger: Ledger) -> None:
    """When a session's mark was removed, its pending operations still become uncertain."""
    one = ledger.prepare(lesson())
    for mark in path.parent.glob("*.open"):
        mark.unlink()
    with Ledger(path) as other:
        assert other.entry(one).state == "uncertain"
    two = ledger.prepare(lesson("Another."))
    with Ledger(path) as other:
        assert other.entry(two).state == "uncertain"

"""The write-ahead ledger: one SQLite file in which an agent records each operation before it is sent.

Every change is on disk before the call begins or its answer is used (`synchronous=FULL`). The journal is a rollback
journal instead of WAL, so that one file holds everything that was committed: a truncated or damaged file is refused
when it is opened, and never read as a smaller ledger.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

import msgspec

from antechamber.client import ledger_file, operation
from antechamber.client.errors import complete_event, prepare_each
from antechamber.client.ledger_file import LedgerError, ProcessLocks
from antechamber.client.operation import Operation, OperationChange, OperationKind
from antechamber.core.admission.canonical import NORMAL_FORM
from antechamber.core.conversion import convert
from antechamber.core.delivery_rules import SETTLED, STATES, DeliveryRuling, State
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness

PAGE: Final = 200


class UnderWayError(LedgerError):
    """Another task or process is working on this operation; its outcome is known later."""

    temporary = True

    def __init__(self, operation_id: str) -> None:
        super().__init__(f"{operation_id} is under way elsewhere; repeat the call later to get its result")


class Ledger:
    """Operations of one agent; several threads and processes may share its file.

    Opening marks operations as `uncertain` that were `pending` in a process that has ended. Raises DamagedLedgerError
    if the file was truncated or altered, LedgerError if it cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Clock = lambda: time.time_ns() // 1000,
        randomness: Randomness = os.urandom,
    ) -> None:
        self.path = Path(path).resolve()
        self._clock = clock
        self._randomness = randomness
        self._gate = threading.RLock()
        self._process = os.getpid()
        self._depth = 0
        self.in_hand: set[str] = set()
        """Calls that a task of this process is making now."""
        self._connection = ledger_file.open_file(self.path)
        self._sessions = ProcessLocks(self.path)
        try:
            with self.together() as connection:
                self._session = self._sessions.begin(connection)
            self.sweep()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; operations still `pending` become `uncertain` when it is next opened."""
        if os.getpid() != self._process:
            # After a fork the connection belongs to the parent.
            return
        with self._gate:
            self._connection.close()
            self._sessions.end()

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            message = "this ledger was opened before the process forked; open it again here"
            raise LedgerError(message)
        with self._gate, ledger_file.explain_errors(self.path):
            yield self._connection

    @contextlib.contextmanager
    def together(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction that excludes all other writers; everything written is on disk when it ends."""
        with self._read() as connection:
            if self._depth:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    def prepare(self, event: Mapping[str, Any] | bytes, *, again: bool = False, key: str | None = None) -> str:
        """Record an event to submit and return its operation id, which an agent keeps in its checkpoint.

        `event` is the body of `POST /v1/submissions` without key and hash, or its JSON. The same event gets its
        existing operation, unless that failed and left nothing behind. `again` asks for a new operation if the service
        keeps a refusal or a seal of the old one (`safe_new_key`). `key` is the idempotency key of a caller that names
        its calls: only the same event under the same key is the same operation.

        Raises InvalidEventError if the event is malformed: nothing is recorded then. Raises LedgerError.
        """
        operation_id = key or self._new_id()
        body = complete_event(event, operation_id)
        sought = body.fingerprint if key is None else operation.fingerprint_under(key, body.fingerprint)
        with self.together() as connection:
            entry = self._find_same(connection, "submission", body.producer_identity, sought)
            if entry and not (entry.state == "failed" and (again or entry.receipt is None)):
                return entry.operation_id
            operation_id = operation_id if key is None else self._free_id(connection, key)
            self._add(
                connection,
                operation_id=operation_id,
                kind="submission",
                name=body.producer_identity,
                body=body.body,
                fingerprint=sought,
                source_event_hash=body.source_event_hash,
                normal_form=NORMAL_FORM,
            )
        return operation_id

    def prepare_all(self, events: Iterable[Mapping[str, Any] | bytes], first: int = 1) -> list[str]:
        """Record events in one transaction, all or none, and return their operation ids; `first` numbers the first."""
        with self.together():
            return prepare_each(self.prepare, events, first)

    def record_call(self, name: str, fingerprint: bytes, body_of: Callable[[str], bytes], *, named: bool) -> str:
        """Record a call to be made and return its operation id, which is its correlation token.

        The same call gets its existing operation, unless that failed without an answer: until its outcome was handed
        over, or forever if its caller `named` it. `body_of` returns the bytes to record, given that id.

        Raises LedgerError.
        """
        body = body_of(operation_id := self._new_id())
        with self.together() as connection:
            entry = self._find_same(connection, "call", name, fingerprint)
            void = entry and entry.state == "failed" and entry.receipt is None
            if entry and not void and (named or not self._is_handed_over(connection, entry)):
                return entry.operation_id
            self._add(
                connection,
                operation_id=operation_id,
                kind="call",
                name=name,
                body=body,
                fingerprint=fingerprint,
                source_event_hash=None,
                normal_form=None,
            )
        return operation_id

    def _is_handed_over(self, connection: sqlite3.Connection, entry: Operation) -> bool:
        """Return whether a call has ended and its outcome was handed over."""
        if entry.state not in {"committed", "failed"}:
            return False
        return connection.execute("SELECT 1 FROM handed_over WHERE entry = ?", (entry.id,)).fetchone() is not None

    def _new_id(self) -> str:
        return uuid7(self._clock(), self._randomness(10))

    def _find_same(
        self, connection: sqlite3.Connection, kind: OperationKind, name: str, fingerprint: bytes
    ) -> Operation | None:
        row = connection.execute(
            f"{operation.READ} WHERE kind = ? AND name = ? AND fingerprint = ? ORDER BY id DESC LIMIT 1",
            (kind, name, fingerprint),
        ).fetchone()
        return operation.decode_operation(row, self.path) if row else None

    def _free_id(self, connection: sqlite3.Connection, key: str) -> str:
        taken = "SELECT 1 FROM entries WHERE operation_id = ?"
        return next(name for name in operation.ids_of(key) if connection.execute(taken, (name,)).fetchone() is None)

    def _add(self, connection: sqlite3.Connection, **members: Any) -> None:
        now = self._clock()
        last = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
        entry = Operation(
            id=last + 1,
            state="pending",
            attempts=0,
            in_flight=0,
            session=self._session,
            receipt=None,
            reason="recorded",
            recorded_at=now,
            changed_at=now,
            **members,
        )
        connection.execute(operation.ADD, operation.parameters(entry))
        self._add_change(connection, entry)

    def _add_change(self, connection: sqlite3.Connection, entry: Operation) -> None:
        connection.execute(
            "INSERT INTO changes (entry, state, attempts, reason, changed_at) VALUES (?, ?, ?, ?, ?)",
            (entry.id, entry.state, entry.attempts, entry.reason, entry.changed_at),
        )

    def _change(self, connection: sqlite3.Connection, entry: Operation, **members: Any) -> Operation:
        changed = msgspec.structs.replace(entry, changed_at=self._clock(), **members)
        connection.execute(operation.WRITE, operation.parameters(changed))
        self._add_change(connection, changed)
        return changed

    def _find(self, connection: sqlite3.Connection, operation_id: str) -> Operation:
        row = connection.execute(f"{operation.READ} WHERE operation_id = ?", (operation_id,)).fetchone()
        if row is None:
            message = f"{self.path} has no operation {operation_id}"
            raise LedgerError(message)
        return operation.decode_operation(row, self.path)

    def entry(self, operation_id: str) -> Operation:
        """Return one operation.

        Raises LedgerError if there is none by that id.
        """
        with self._read() as connection:
            return self._find(connection, operation_id)

    def history(self, operation_id: str) -> list[OperationChange]:
        """Return the changes of an operation, oldest first.

        Raises LedgerError if there is none by that id.
        """
        with self._read() as connection:
            rows = connection.execute(
                "SELECT state, attempts, reason, changed_at FROM changes WHERE entry = ? ORDER BY id",
                (self._find(connection, operation_id).id,),
            ).fetchall()
        names = OperationChange.__struct_fields__
        return [convert(dict(zip(names, row, strict=True)), OperationChange) for row in rows]

    def begin(self, operation_id: str, *, after: int | None = None) -> Operation:
        """Record that an attempt is about to begin; return an operation that is settled unchanged.

        `after` is the number of attempts that the caller knows, if no other attempt may come in between.

        Raises UnderWayError if another attempt began or is in progress, LedgerError.
        """
        with self.together() as connection:
            entry = self._find(connection, operation_id)
            if entry.state in SETTLED:
                return entry
            if after is not None and (entry.attempts != after or self.under_way(entry)):
                raise UnderWayError(operation_id)
            number = entry.attempts + 1
            counts = {"attempts": number, "in_flight": entry.in_flight + 1, "reason": f"attempt {number} begins"}
            return self._change(connection, entry, **counts, session=self._session, receipt=None)

    def record_answer(
        self, operation_id: str, judge: Callable[[Operation], DeliveryRuling | None], answer: bytes | None = None
    ) -> Operation:
        """Record the result of an answer; an operation that is settled stays unchanged.

        `judge` gets the operation in its current state, because another process may have begun another attempt
        meanwhile; if it returns None, nothing changes. A text that the service found private is erased from the file.

        Raises LedgerError.
        """
        with self.together() as connection:
            entry = self._find(connection, operation_id)
            if entry.state in SETTLED:
                return entry
            ruling = judge(entry)
            if ruling is None:
                return entry
            as_before = ruling.state == "pending"
            state = entry.state if as_before else ruling.state
            return self._change(
                connection,
                entry,
                state=state,
                reason=ruling.reason,
                in_flight=max(0, entry.in_flight - ruling.over),
                receipt=answer if ruling.final or as_before else None,
                body=None if ruling.erase else entry.body,
                session=self._session if state == "pending" else None,
            )

    def decide(self, operation_id: str, state: Literal["committed", "failed"], reason: str) -> Operation:
        """Settle by hand an operation that needs a review, or that is uncertain and cannot be queried any more.

        Raises LedgerError if it is settled, or in progress in a running process.
        """
        with self.together() as connection:
            entry = self._find(connection, operation_id)
            if entry.state in {"committed", "failed"}:
                message = f"{operation_id} is {entry.state} already: {entry.reason}"
                raise LedgerError(message)
            if self.under_way_elsewhere(entry):
                message = f"{operation_id} is under way in another process; wait until that ends"
                raise LedgerError(message)
            return self._change(connection, entry, state=state, reason=f"by hand: {reason}", session=None)

    def bind(self, service: str, *, moved: bool = False) -> None:
        """Record which service the receipts come from, by host name and port: a ledger belongs to one service.

        `moved` means that the service has a new address.

        Raises LedgerError if the ledger belongs to another service, which does not have what the first one committed.
        """
        with self.together() as connection:
            bound = connection.execute("SELECT service FROM ledger").fetchone()[0]
            if bound is None or (moved and bound != service):
                connection.execute("UPDATE ledger SET service = ?", (service,))
            elif bound != service:
                message = (
                    f"{self.path} is the ledger of the service at {bound}, not of {service}. Use another file for each "
                    f"service; if it is the same one at a new address: antechamber ledger moved {service}"
                )
                raise LedgerError(message)

    def holder(self, token: bytes) -> str | None:
        """Return the producer whose token has this digest, if the service has reported it."""
        with self._read() as connection:
            row = connection.execute("SELECT holder FROM ledger WHERE token = ?", (token,)).fetchone()
        return row[0] if row else None

    def keep_holder(self, token: bytes, name: str) -> None:
        """Record the producer of the token with this digest, to record events while the service is down."""
        with self.together() as connection:
            connection.execute("UPDATE ledger SET token = ?, holder = ?", (token, name))

    def entries(self, *states: State) -> Iterator[Operation]:
        """Yield operations in these states, or all, oldest first; read one page at a time.

        Raises LedgerError.
        """
        wanted, last = states or STATES, 0
        marks = ", ".join("?" * len(wanted))
        while True:
            with self._read() as connection:
                rows = connection.execute(
                    f"{operation.READ} WHERE state IN ({marks}) AND id > ? ORDER BY id LIMIT {PAGE}", (*wanted, last)
                ).fetchall()
            for row in rows:
                yield operation.decode_operation(row, self.path)
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def counts(self) -> dict[State, int]:
        """Return the number of operations in each state, 0 included."""
        with self._read() as connection:
            rows = dict(connection.execute("SELECT state, count(*) FROM entries GROUP BY state").fetchall())
        return {state: rows.get(state, 0) for state in STATES}

    def sweep(self) -> int:
        """Mark operations of processes that have ended as `uncertain`, and return their number."""
        count = 0
        with self.together() as connection:
            ended = self._sessions.find_ended(connection)
            for session in ended:
                while rows := connection.execute(
                    f"{operation.READ} WHERE session = ? LIMIT {PAGE}", (session,)
                ).fetchall():
                    for row in rows:
                        entry = operation.decode_operation(row, self.path)
                        reason = "its process ended before an answer came" if entry.in_flight else entry.reason
                        self._change(connection, entry, state="uncertain", reason=reason, session=None)
                    count += len(rows)
            self._sessions.forget(connection, ended)
        return count

    def under_way_elsewhere(self, entry: Operation) -> bool:
        """Return whether another running process has prepared this operation or has an attempt of it in progress."""
        return entry.session not in {None, self._session} and (entry.in_flight > 0 or not entry.attempts)

    def under_way(self, entry: Operation) -> bool:
        """Return whether an attempt of this operation is in progress, in this process or another."""
        here = entry.session == self._session and entry.operation_id in self.in_hand
        return entry.attempts > 0 and (here or self.under_way_elsewhere(entry))

    def hand_over(self, operation_id: str, *, heard: bool = True) -> None:
        """Record that the outcome of a call was handed over to its caller, or that it did not arrive."""
        sql = "INSERT OR IGNORE INTO handed_over VALUES (?)" if heard else "DELETE FROM handed_over WHERE entry = ?"
        with self.together() as connection:
            connection.execute(sql, (self._find(connection, operation_id).id,))

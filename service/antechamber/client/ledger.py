"""The write-ahead ledger: one SQLite file in which an agent records each operation before it is sent.

Every change is on disk before the call that it is about begins or is believed (`synchronous=FULL`). The journal is a
rollback journal rather than WAL, so that all that was committed is in the one file: cut short or damaged, it is refused
when it is opened, never read as a smaller one.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

import msgspec

from antechamber.client import ledger_file
from antechamber.client.errors import completed
from antechamber.client.ledger_file import DamagedLedgerError, LedgerError, ProcessLocks
from antechamber.client.operation import ADD, COLUMNS, READ, WRITE, Operation, OperationChange, OperationKind, checksum
from antechamber.core.admission.canonical import NORMAL_FORM
from antechamber.core.delivery import SETTLED, STATES, DeliveryRuling, State
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness

PAGE: Final = 200


class UnderWayError(LedgerError):
    """Somebody else is at this operation; asking again later tells what came of it."""

    temporary = True

    def __init__(self, operation_id: str) -> None:
        """Name the operation."""
        super().__init__(f"{operation_id} is under way elsewhere; the same again later tells what came of it")


class Ledger:
    """Operations of one agent; several threads and processes may share its file."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Clock = lambda: time.time_ns() // 1000,
        randomness: Randomness = os.urandom,
    ) -> None:
        """Open a ledger, or begin one; what a process left `pending` that is gone is `uncertain` from now on.

        Raises DamagedLedgerError where the file was cut short or altered, LedgerError where it cannot be used.
        """
        self.path = Path(path).resolve()
        self._clock = clock
        self._randomness = randomness
        self._gate = threading.RLock()
        self._process = os.getpid()
        self._depth = 0
        self.in_hand: set[str] = set()
        """Calls that a task of this process is making right now."""
        self._connection = ledger_file.opened(self.path)
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
        """Close the file; what is still `pending` will be `uncertain` for whoever opens it next."""
        if os.getpid() != self._process:
            # A fork's copy: the file is its parent's.
            return
        with self._gate:
            self._connection.close()
            self._sessions.end()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            message = "this ledger was opened before the process forked; open it again here"
            raise LedgerError(message)
        with self._gate, ledger_file.explained(self.path):
            yield self._connection

    @contextlib.contextmanager
    def together(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction that nobody else's comes between; all that it wrote is on disk when it ends."""
        with self._reading() as connection:
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

    def prepare(self, event: Mapping[str, Any] | bytes, *, again: bool = False) -> str:
        """Record an event that is to be submitted and return its operation id, which an agent keeps in its checkpoint.

        `event` is the body of `POST /v1/submissions` without key and hash, or its JSON. The same event gets the
        operation that it has already, unless that failed and left nothing behind. `again` asks for a new one where the
        service keeps a refusal or a seal of the old (`safe_new_key`).

        Raises InvalidEventError where the event is malformed: nothing is recorded then. Raises LedgerError.
        """
        operation_id = self._mint()
        found = completed(event, operation_id)
        with self.together() as connection:
            entry = self._same(connection, "submission", found.producer_identity, found.fingerprint)
            if entry and not (entry.state == "failed" and (again or entry.receipt is None)):
                return entry.operation_id
            self._add(
                connection,
                operation_id=operation_id,
                kind="submission",
                name=found.producer_identity,
                body=found.body,
                fingerprint=found.fingerprint,
                source_event_hash=found.source_event_hash,
                normal_form=NORMAL_FORM,
            )
        return operation_id

    def record_call(self, name: str, fingerprint: bytes, body_of: Callable[[str], bytes], *, named: bool) -> str:
        """Record a call that is to be made and return its operation id, which is its correlation token.

        The same call gets the operation that it has already, unless that failed without an answer: until its outcome
        was handed over, or for ever where its caller `named` it. `body_of` forms what is recorded, given that id.

        Raises LedgerError.
        """
        operation_id = self._mint()
        body = body_of(operation_id)
        with self.together() as connection:
            entry = self._same(connection, "call", name, fingerprint)
            void = entry and entry.state == "failed" and entry.receipt is None
            if entry and not void and (named or not self._over(connection, entry)):
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

    def _over(self, connection: sqlite3.Connection, entry: Operation) -> bool:
        """Whether a call has ended and its caller knows."""
        return entry.state in {"committed", "failed"} and self._is_handed_over(connection, entry)

    def _mint(self) -> str:
        return uuid7(self._clock(), self._randomness(10))

    def _same(
        self, connection: sqlite3.Connection, kind: OperationKind, name: str, fingerprint: bytes
    ) -> Operation | None:
        row = connection.execute(
            f"{READ} WHERE kind = ? AND name = ? AND fingerprint = ? ORDER BY id DESC LIMIT 1",
            (kind, name, fingerprint),
        ).fetchone()
        return self._entry(row) if row else None

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
        connection.execute(ADD, {**msgspec.structs.asdict(entry), "checksum": checksum(entry)})
        self._tell(connection, entry)

    def _tell(self, connection: sqlite3.Connection, entry: Operation) -> None:
        connection.execute(
            "INSERT INTO changes (entry, state, attempts, reason, changed_at) VALUES (?, ?, ?, ?, ?)",
            (entry.id, entry.state, entry.attempts, entry.reason, entry.changed_at),
        )

    def _change(self, connection: sqlite3.Connection, entry: Operation, **members: Any) -> Operation:
        changed = msgspec.structs.replace(entry, changed_at=self._clock(), **members)
        connection.execute(WRITE, {**msgspec.structs.asdict(changed), "checksum": checksum(changed)})
        self._tell(connection, changed)
        return changed

    def _entry(self, row: tuple[Any, ...]) -> Operation:
        """Build an entry of what was read, and refuse one that is not as it was written."""
        try:
            entry = msgspec.convert(dict(zip(COLUMNS, row[:-1], strict=True)), Operation)
        except msgspec.ValidationError as error:
            raise DamagedLedgerError(self.path, f"entry {row[0]}: {error}") from None
        if checksum(entry) != row[-1]:
            raise DamagedLedgerError(self.path, f"entry {row[0]} was altered")
        return entry

    def _one(self, connection: sqlite3.Connection, operation_id: str) -> Operation:
        row = connection.execute(f"{READ} WHERE operation_id = ?", (operation_id,)).fetchone()
        if row is None:
            message = f"{self.path} has no operation {operation_id}"
            raise LedgerError(message)
        return self._entry(row)

    def entry(self, operation_id: str) -> Operation:
        """Return one operation.

        Raises LedgerError where there is none by that id.
        """
        with self._reading() as connection:
            return self._one(connection, operation_id)

    def history(self, operation_id: str) -> list[OperationChange]:
        """Return an operation's way, oldest step first.

        Raises LedgerError where there is none by that id.
        """
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT state, attempts, reason, changed_at FROM changes WHERE entry = ? ORDER BY id",
                (self._one(connection, operation_id).id,),
            ).fetchall()
        names = OperationChange.__struct_fields__
        return [msgspec.convert(dict(zip(names, row, strict=True)), OperationChange) for row in rows]

    def begin(self, operation_id: str, *, after: int | None = None) -> Operation:
        """Record that an attempt begins, before it does; an operation that is settled is returned as it is.

        `after` is how many attempts its caller knows of, where nobody else's may come between.

        Raises UnderWayError where one did, LedgerError.
        """
        with self.together() as connection:
            entry = self._one(connection, operation_id)
            if entry.state in SETTLED:
                return entry
            if after is not None and (entry.attempts != after or self.under_way(entry)):
                raise UnderWayError(operation_id)
            number = entry.attempts + 1
            counts = {"attempts": number, "in_flight": entry.in_flight + 1, "reason": f"attempt {number} begins"}
            return self._change(connection, entry, **counts, session=self._session, receipt=None)

    def settle(
        self, operation_id: str, judge: Callable[[Operation], DeliveryRuling | None], answer: bytes | None = None
    ) -> Operation:
        """Record what an answer made of an operation; what is settled already stays as it is.

        `judge` sees the operation as it is now: another process may have begun another attempt meanwhile; None leaves
        it. A text that the service found private is erased from the file.

        Raises LedgerError.
        """
        with self.together() as connection:
            entry = self._one(connection, operation_id)
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
        """Settle by hand what needs a person's review, or what is uncertain and cannot be asked about any more.

        Raises LedgerError where it is settled, or under way in a process that runs.
        """
        with self.together() as connection:
            entry = self._one(connection, operation_id)
            if entry.state in {"committed", "failed"}:
                message = f"{operation_id} is {entry.state} already: {entry.reason}"
                raise LedgerError(message)
            if self.under_way_elsewhere(entry):
                message = f"{operation_id} is under way in another process; wait until that ends"
                raise LedgerError(message)
            return self._change(connection, entry, state=state, reason=f"by hand: {reason}", session=None)

    def bind(self, service: str, *, moved: bool = False) -> None:
        """Remember whose receipts these are: a ledger speaks of one service, told from others by host name and port.

        `moved` says that the service has another address now.

        Raises LedgerError where it is another's: what one service has committed, another does not have.
        """
        with self.together() as connection:
            known = connection.execute("SELECT service FROM ledger").fetchone()[0]
            if known is None or (moved and known != service):
                connection.execute("UPDATE ledger SET service = ?", (service,))
            elif known != service:
                message = (
                    f"{self.path} speaks of the service at {known}, not of {service}. Use another file for each "
                    f"service; if it is the same one at a new address: antechamber ledger moved {service}"
                )
                raise LedgerError(message)

    def holder(self, token: bytes) -> str | None:
        """Return the producer whose token has this digest, where the service has said so."""
        with self._reading() as connection:
            row = connection.execute("SELECT holder FROM ledger WHERE token = ?", (token,)).fetchone()
        return row[0] if row else None

    def keep_holder(self, token: bytes, name: str) -> None:
        """Remember whose the token with this digest is, so that events can be recorded while the service is away."""
        with self.together() as connection:
            connection.execute("UPDATE ledger SET token = ?, holder = ?", (token, name))

    def entries(self, *states: State) -> Iterator[Operation]:
        """Yield operations in these states, or all, oldest first; read a page at a time.

        Raises LedgerError.
        """
        wanted, last = states or STATES, 0
        marks = ", ".join("?" * len(wanted))
        while True:
            with self._reading() as connection:
                rows = connection.execute(
                    f"{READ} WHERE state IN ({marks}) AND id > ? ORDER BY id LIMIT {PAGE}", (*wanted, last)
                ).fetchall()
            for row in rows:
                yield self._entry(row)
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def counts(self) -> dict[State, int]:
        """Count operations by state; every state is named."""
        with self._reading() as connection:
            rows = dict(connection.execute("SELECT state, count(*) FROM entries GROUP BY state").fetchall())
        return {state: rows.get(state, 0) for state in STATES}

    def sweep(self) -> int:
        """Call `uncertain` what processes had pending or under way that are gone, and return how many these were."""
        number = 0
        with self.together() as connection:
            gone = self._sessions.gone(connection)
            for session in gone:
                while rows := connection.execute(f"{READ} WHERE session = ? LIMIT {PAGE}", (session,)).fetchall():
                    for row in rows:
                        entry = self._entry(row)
                        reason = "its process ended before an answer came" if entry.in_flight else entry.reason
                        self._change(connection, entry, state="uncertain", reason=reason, session=None)
                    number += len(rows)
            self._sessions.forget(connection, gone)
        return number

    def under_way_elsewhere(self, entry: Operation) -> bool:
        """Whether a process that runs has this operation in its hands: prepared, or with an attempt under way."""
        return entry.session not in {None, self._session} and (entry.in_flight > 0 or not entry.attempts)

    def under_way(self, entry: Operation) -> bool:
        """Whether anybody has an attempt of this operation in hand, here or elsewhere."""
        here = entry.session == self._session and entry.operation_id in self.in_hand
        return entry.attempts > 0 and (here or self.under_way_elsewhere(entry))

    def hand_over(self, operation_id: str, *, heard: bool = True) -> None:
        """Note that the outcome of a call was given to whoever made it, or that this was not heard after all."""
        statement = (
            "INSERT OR IGNORE INTO handed_over VALUES (?)" if heard else "DELETE FROM handed_over WHERE entry = ?"
        )
        with self.together() as connection:
            connection.execute(statement, (self._one(connection, operation_id).id,))

    def _is_handed_over(self, connection: sqlite3.Connection, entry: Operation) -> bool:
        return connection.execute("SELECT 1 FROM handed_over WHERE entry = ?", (entry.id,)).fetchone() is not None

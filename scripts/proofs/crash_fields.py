"""Targets of the crash proof: one process over a SQLite file, or two processes and the backends of one PostgreSQL."""

import itertools
import json
import os
import re
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import psutil
import psycopg

from antechamber.store.hashes import with_text
from antechamber.store.receipts import receipt_of
from lib.processes import Application, end, free_port
from proofs.crash_load import Ledger, Sender, submission

READY_WITHIN: Final = 120.0
_SHOWN: Final = 5
"""How many unexpected errors are printed."""
_COLUMNS: Final = (
    "submission_id",
    "producer_identity",
    "idempotency_key",
    "submission_scope",
    "scope_id",
    "source_event_hash",
    "policy_digest",
    "received_at",
    "receipt",
    "proposal",
)
"""What receipts are formed from, besides the ids of proposals: a doubled proposal must not double its submission."""
_ANSWERED: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM submissions AS s
JOIN producers AS maker ON maker.id = s.producer
JOIN policies AS rules ON rules.id = s.policy
"""  # noqa: S608 -- our own names
_ENTRY: Final = re.compile(r"^(?=\S)", re.MULTILINE)
"""Begin of an entry of the log; all its further lines are indented."""
_PLACE: Final = re.compile(r"^ +\S+\.py:\d+ in |^Traceback \(most recent call last\)", re.MULTILINE)
_CUT_OFF: Final = re.compile(r"Exception in ASGI application.*^ +(?:Unavailable|Busy)Error: ", re.MULTILINE | re.DOTALL)
_BACKENDS: Final = """
SELECT pid FROM pg_stat_activity
WHERE datname = '{database}' AND backend_type = 'client backend'
ORDER BY state = 'idle', random()
"""
"""The application's backends, active ones first."""


def unexpected_errors(log: str) -> list[str]:
    """Return the entries of a log that have the places of a traceback.

    A long answer that lost its database is none: headers and a part of it are sent, so it can only be cut off.
    """
    return [entry for entry in _ENTRY.split(log) if _PLACE.search(entry) and not _CUT_OFF.search(entry)]


class Field:
    """Processes over one store, a record of acknowledgments, and the means to kill."""

    def __init__(self, folder: Path, database_url: str | None, processes: int) -> None:
        """Start the processes."""
        self._log = folder / "application.log"
        self.application = Application(folder, database_url)
        self.ports = [free_port() for _ in range(processes)]
        self.processes = [self.application.start(port, self._log) for port in self.ports]
        self.ledger = Ledger()
        self.lost: set[str] = set()
        self._ended: list[str] = []
        """Processes that ended without being killed by the proof."""
        self._probes = itertools.count(1)

    def blows(self) -> dict[str, Callable[[int], None]]:
        """Return the ways to kill, by name."""
        return {"kill -9 of a process": self.kill_application}

    def rows(self, question: str) -> Iterator[Any]:
        """Query the tables directly, bypassing the service."""
        raise NotImplementedError

    def check(self) -> list[str]:
        """Return the corruption that the engine finds in its own files."""
        raise NotImplementedError

    def sabotage(self, decision_key: str) -> None:
        """Remove one acknowledged submission and one decision, and duplicate one proposal: the proof must detect it."""
        raise NotImplementedError

    def sender(self) -> Sender:
        """Return a sender connected to the processes."""
        return Sender(self.ports, self.application.token)

    def kill_application(self, number: int) -> None:
        """Kill one process and start it again."""
        process = number % len(self.processes)
        self._ended += self._ended_alone(process)
        self.processes[process].kill()
        end(self.processes[process])
        self.processes[process] = self.application.start(self.ports[process], self._log)

    def until_ready(self) -> None:
        """Wait until each process has acknowledged a new event.

        Raises RuntimeError if that takes too long.
        """
        sender, deadline = self.sender(), time.monotonic() + READY_WITHIN
        for process in range(len(self.processes)):
            key = f"probe-{next(self._probes)}"
            raw = submission(key, f"Is anybody there? {key}")
            while not self.ledger.note(key, sender.post(process, raw)):
                if time.monotonic() > deadline:
                    message = f"process {process} is not ready after {READY_WITHIN} s"
                    raise RuntimeError(message)
                time.sleep(0.01)
        sender.close()

    def look(self, keys: list[str]) -> None:
        """Ask all processes for a sample of receipts and record the lost ones."""
        sender = self.sender()
        for key in keys:
            kept = json.loads(self.ledger.receipts[key])
            for process in range(len(self.processes)):
                answer = sender.get(process, key) or sender.get(process, key)
                found = json.loads(answer[1]) if answer and answer[0] == 200 else {}  # noqa: PLR2004 -- found
                if {name: found.get(name) for name in kept} != kept:
                    self.lost.add(key)
        sender.close()

    def examine(self) -> None:
        """Compare everything acknowledged with the tables."""
        ledger, keys = self.ledger, list(self.ledger.receipts)
        rows, stored = Counter[str](), {}
        ids = dict(self.rows("SELECT id, proposal_id FROM proposals"))
        for row in self.rows(_ANSWERED):
            columns = with_text(dict(zip(_COLUMNS, row, strict=True)))
            rows[columns["idempotency_key"]] += 1
            receipt = receipt_of(columns | {"proposal_id": ids.get(columns["proposal"])})
            stored[columns["idempotency_key"]] = json.loads(receipt)
        receipts = {key: json.loads(ledger.receipts[key]) for key in keys}
        self.lost |= {key for key in keys if stored.get(key) != receipts[key]}
        ledger.doubled |= {key for key, number in rows.items() if number > 1}
        ledger.doubled |= rows.keys() - receipts.keys() - ledger.unanswered - ledger.refused - ledger.apart
        wanted = {receipt["source_event_hash"] for receipt in receipts.values()}
        # The content of a lost submission is already counted as lost.
        unsure = {receipts[key]["source_event_hash"] for key in self.lost}
        proposals = Counter(
            with_text({"source_event_hash": row[0]})["source_event_hash"]
            for row in self.rows("SELECT source_event_hash FROM proposals")
        )
        ledger.doubled |= {event for event in wanted | proposals.keys() if proposals[event] != 1} - unsure

    def logged(self, text: str) -> int:
        """Count the occurrences of a text in the processes' log."""
        return self._log.read_text(errors="replace").count(text)

    def errors(self) -> list[str]:
        """Return the processes that ended by themselves, and the unexpected errors in their log."""
        ended = [text for process in range(len(self.processes)) for text in self._ended_alone(process)]
        return [*self._ended, *ended, *unexpected_errors(self._log.read_text(errors="replace"))]

    def report_errors(self) -> int:
        """Print the first of these errors, so that a failed proof says what it saw; return how many there are."""
        errors = self.errors()
        for text in errors[:_SHOWN]:
            print(text, file=sys.stderr, flush=True)
        return len(errors)

    def _ended_alone(self, process: int) -> list[str]:
        """Return whether a process has ended by itself, as a text with its status; a crash is a negative one."""
        status = self.processes[process].poll()
        return [] if status is None else [f"process {process} ended by itself with status {status}"]

    def close(self) -> None:
        """Stop the processes."""
        for process in self.processes:
            end(process)


class OneFile(Field):
    """One process over a SQLite file."""

    def __init__(self, folder: Path) -> None:
        """Start the process."""
        super().__init__(folder, None, 1)
        self._file = self.application.data / "antechamber.db"

    def rows(self, question: str) -> Iterator[Any]:
        """Query the file directly."""
        connection = sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True)
        try:
            yield from connection.execute(question)
        finally:
            connection.close()

    def check(self) -> list[str]:
        """Return what `integrity_check` and `foreign_key_check` find."""
        try:
            found = [str(row[0]) for row in self.rows("PRAGMA integrity_check")]
            found += [str(row) for row in self.rows("PRAGMA foreign_key_check")]
        except sqlite3.Error as error:
            return [str(error)]
        return [text for text in found if text != "ok"]

    def sabotage(self, decision_key: str) -> None:
        """Alter the file as its owner can, with triggers off."""
        connection = sqlite3.connect(self._file, isolation_level=None)
        connection.execute("DROP TRIGGER review_records_stay")
        connection.execute("DELETE FROM review_records WHERE decision_key = ?", [decision_key])
        connection.executescript("""
            PRAGMA legacy_alter_table = ON;
            DROP TRIGGER submissions_stay;
            DELETE FROM submissions WHERE id = (
                SELECT max(id) FROM submissions WHERE disposition = 'accepted-for-review'
            );
            CREATE TABLE copied AS SELECT * FROM proposals;
            INSERT INTO copied SELECT * FROM proposals WHERE state = 'pending' ORDER BY id DESC LIMIT 1 OFFSET 1;
            DROP TABLE proposals;
            ALTER TABLE copied RENAME TO proposals;
        """)
        connection.close()


class Server(Protocol):
    """A PostgreSQL server, or a cluster that acts as one."""

    def run(self, command: str) -> list[Any]:
        """Run a command as the superuser and return its rows."""

    def empty(self) -> str:
        """Create an empty database and return its address."""


class OneServer(Field):
    """Two processes over one PostgreSQL, whose backends are killed as well."""

    def __init__(self, folder: Path, server: Server) -> None:
        """Start both processes."""
        self.server, self._url = server, server.empty()
        self._database = urlsplit(self._url).path[1:]
        super().__init__(folder, self._url, 2)

    def blows(self) -> dict[str, Callable[[int], None]]:
        """Return the ways to kill, by name."""
        more = {"kill -9 of a backend": self.kill_backend, "pg_terminate_backend": self.end_backend}
        return super().blows() | more

    def _backend(self) -> int:
        """Return the process id of a backend that serves the application."""
        while True:
            if rows := self.server.run(_BACKENDS.format(database=self._database)):
                return int(rows[0][0])
            time.sleep(0.01)

    def kill_backend(self, _number: int) -> None:
        """Kill a backend, which makes PostgreSQL recover."""
        pid = self._backend()
        if psutil.Process(pid).name() == "postgres":
            os.kill(pid, signal.SIGKILL)

    def end_backend(self, _number: int) -> None:
        """End a backend's connection."""
        self.server.run(f"SELECT pg_terminate_backend({self._backend()})")

    def rows(self, question: str) -> Iterator[Any]:
        """Query the tables without indexes, because an index damaged by a crash would confirm itself."""
        with psycopg.connect(self._url) as connection:
            for path in ("indexscan", "indexonlyscan", "bitmapscan"):
                connection.execute(f"SET enable_{path} = off")
            connection.execute("SET search_path = antechamber")
            yield from connection.execute(question)

    def check(self) -> list[str]:
        """Return nothing: PostgreSQL recovers from its own log or does not start."""
        return []

    def sabotage(self, decision_key: str) -> None:
        """Alter the tables as the database's owner can, with triggers off."""
        with psycopg.connect(self._url) as connection:
            connection.execute("SET search_path = antechamber")
            connection.execute("SET session_replication_role = replica")
            connection.execute(
                "DELETE FROM submissions "
                "WHERE id = (SELECT max(id) FROM submissions WHERE disposition = 'accepted-for-review')"
            )
            connection.execute("DELETE FROM review_records WHERE decision_key = %s", [decision_key])
            row = connection.execute(
                "SELECT conname FROM pg_constraint WHERE conrelid = 'proposals'::regclass AND contype = 'u' "
                "AND cardinality(conkey) = 3"
            ).fetchone()
            constraint = row[0] if row else "missing"
            connection.execute(f"ALTER TABLE proposals DROP CONSTRAINT {constraint}")
            connection.execute(
                "INSERT INTO proposals (id, proposal_id, producer, owner, submission_scope, scope_id, "
                "source_event_hash, payload, source_span, received_at) "
                "SELECT -id, 'twin', producer, owner, submission_scope, scope_id, source_event_hash, payload, "
                "source_span, received_at FROM proposals WHERE state = 'pending' ORDER BY id LIMIT 1"
            )

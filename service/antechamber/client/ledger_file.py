"""The ledger's file: its creation, the checks when it is opened, and the locks of the processes that use it."""

import contextlib
import fcntl
import os
import secrets
import sqlite3
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from antechamber.core.errors import AntechamberError
from antechamber.durable_files import drafted

BUSY_SECONDS: Final = 30
_APPLICATION: Final = 0x416E7443
"""SQLite's application_id, which marks the file as a ledger."""
_VERSION: Final = 2
_LEAST: Final = 4096
_PRAGMAS: Final = (
    # The one file holds everything that was committed, and its header holds its length.
    "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
)
_SCHEMA: Final = """
CREATE TABLE ledger (service TEXT, token BLOB, holder TEXT) STRICT;
INSERT INTO ledger VALUES (NULL, NULL, NULL);

CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('submission', 'call')),
    name TEXT NOT NULL,
    body BLOB,
    fingerprint BLOB NOT NULL,
    source_event_hash TEXT,
    normal_form INTEGER,
    state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'failed', 'uncertain', 'needs_review')),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    in_flight INTEGER NOT NULL CHECK (in_flight BETWEEN 0 AND attempts),
    session INTEGER,
    receipt BLOB,
    reason TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    CHECK (session IS NULL OR state IN ('pending', 'uncertain'))
) STRICT;
CREATE INDEX entries_by_event ON entries (kind, name, fingerprint);
CREATE INDEX entries_by_state ON entries (state, id);
CREATE INDEX entries_in_hand ON entries (session) WHERE session IS NOT NULL;

CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT raise(ABORT, 'operations are never deleted'); END;
CREATE TRIGGER what_is_settled_stays BEFORE UPDATE ON entries WHEN OLD.state IN ('committed', 'failed')
BEGIN SELECT raise(ABORT, 'what is settled stays'); END;
CREATE TRIGGER a_person_decides BEFORE UPDATE ON entries
WHEN OLD.state = 'needs_review' AND NEW.state NOT IN ('committed', 'failed')
BEGIN SELECT raise(ABORT, 'a person decides on this'); END;
CREATE TRIGGER pending_is_the_beginning BEFORE UPDATE ON entries
WHEN NEW.state = 'pending' AND OLD.state <> 'pending'
BEGIN SELECT raise(ABORT, 'what was sent is never pending again'); END;

CREATE TABLE changes (
    id INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL REFERENCES entries (id),
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_of_entry ON changes (entry, id);
CREATE TRIGGER changes_stay BEFORE DELETE ON changes
BEGIN SELECT raise(ABORT, 'changes are never deleted'); END;
CREATE TRIGGER changes_are_final BEFORE UPDATE ON changes
BEGIN SELECT raise(ABORT, 'changes are never altered'); END;

-- Calls whose outcome was returned to their caller.
CREATE TABLE handed_over (entry INTEGER PRIMARY KEY REFERENCES entries (id)) STRICT;

CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
"""


class LedgerError(AntechamberError):
    """The ledger cannot do what was asked; the text states what to do."""


class DamagedLedgerError(LedgerError):
    """The file was truncated or altered, so that its content is no longer trusted."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is damaged ({what}). Keep it for the investigation and begin another: the service knows what "
            "it has, and answers an event that is sent again as a duplicate."
        )


@contextlib.contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, error) from None
    except UnicodeDecodeError:
        # SQLite's message about a damaged schema contains its invalid bytes.
        raise DamagedLedgerError(path, "it holds text that is none") from None


def _explain(path: Path, error: sqlite3.Error) -> LedgerError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return DamagedLedgerError(path, str(error))
    if name.startswith("SQLITE_BUSY"):
        return LedgerError(f"{path} was held by another process for {BUSY_SECONDS} seconds; do the same again")
    return LedgerError(f"{path} cannot be used: {error}. Nothing is lost: mend that and do the same again")


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file, or create it if there is none.

    Raises DamagedLedgerError or LedgerError.
    """
    try:
        if not path.exists():
            _make(path)
        if path.is_file() and (size := path.stat().st_size) < _LEAST:
            # SQLite treats a file shorter than its header as a new file.
            raise DamagedLedgerError(path, f"it has {size} bytes, and no ledger ever had so few")
    except OSError as error:
        message = f"{path} cannot be used: {error.strerror}"
        raise LedgerError(message) from None
    with explain_errors(path):
        connection = _connect(path)
        try:
            _check(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path) -> None:
    """Create the complete file under another name, then link it, so that no incomplete ledger has its name."""
    with drafted(path) as draft:
        try:
            with explain_errors(path), contextlib.closing(_connect(draft)) as connection:
                marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
                connection.executescript(f"BEGIN; {_SCHEMA} {marks} COMMIT;")
        finally:
            draft.with_name(f"{draft.name}-journal").unlink(missing_ok=True)


def _check(path: Path, connection: sqlite3.Connection) -> None:
    """Raise LedgerError if the file is not a ledger or of another version, DamagedLedgerError if it is damaged."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        message = f"{path} is not a ledger; name another file"
        raise LedgerError(message)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != _VERSION:
        message = f"{path} was written by another version ({version}); install that one"
        raise LedgerError(message)
    # One read transaction, so that no other process writes during the check.
    connection.execute("BEGIN")
    try:
        _check_whole(path, connection)
    finally:
        connection.execute("ROLLBACK")


def _check_whole(path: Path, connection: sqlite3.Connection) -> None:
    findings = [row[0] for row in connection.execute("PRAGMA integrity_check(3)").fetchall()]
    if findings != ["ok"]:
        raise DamagedLedgerError(path, "; ".join(findings).replace("\n", " "))
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if path.stat().st_size != pages * size:
        # SQLite reads the missing part of the last page as zeros.
        raise DamagedLedgerError(path, "its end is missing")
    count = connection.execute("SELECT count(*) FROM entries").fetchone()[0]
    last = (connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone() or (0,))[0]
    if count != last:
        raise DamagedLedgerError(path, f"{last - count} of {last} entries are missing")


_locks_of_process: Final[weakref.WeakSet["ProcessLocks"]] = weakref.WeakSet()


def _release_in_child() -> None:
    """Close the child's copies after a fork: a lock shared with a child would outlive its parent."""
    for sessions in _locks_of_process:
        sessions.release_in_child()


os.register_at_fork(after_in_child=_release_in_child)


class ProcessLocks:
    """Locks that show which processes have the ledger open.

    Each process holds a lock on a small file beside the ledger; any end of the process releases it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = secrets.token_hex(8)
        self._held: TextIO | None = None
        _locks_of_process.add(self)

    def release_in_child(self) -> None:
        """Close this child process's copy of its parent's lock."""
        if self._held is not None:
            self._held.close()

    def _lock_path(self, name: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{name}.open")

    def begin(self, connection: sqlite3.Connection) -> int:
        """Take this process's lock, within a transaction, and return the number of its session.

        Raises LedgerError if the folder cannot be written to.
        """
        try:
            self._held = self._lock_path(self._name).open("x")
            fcntl.flock(self._held, fcntl.LOCK_EX)
        except OSError as error:
            message = f"the folder of {self._path} cannot be written to or locked in: {error.strerror}"
            raise LedgerError(message) from None
        number = connection.execute("INSERT INTO sessions (name) VALUES (?)", (self._name,)).lastrowid
        assert number is not None  # noqa: S101 -- an insert has one
        return number

    def end(self) -> None:
        """Release this process's lock."""
        if self._held is not None:
            self._lock_path(self._name).unlink(missing_ok=True)
            self._held.close()

    def find_ended(self, connection: sqlite3.Connection) -> list[int]:
        """Return the sessions whose process has ended."""
        sessions = connection.execute("SELECT id, name FROM sessions").fetchall()
        unlisted = connection.execute(
            "SELECT DISTINCT session FROM entries WHERE session IS NOT NULL"
            " AND session NOT IN (SELECT id FROM sessions)"
        ).fetchall()
        return [number for number, name in sessions if self._has_ended(name)] + [number for (number,) in unlisted]

    def _has_ended(self, name: str) -> bool:
        try:
            with self._lock_path(name).open("r") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._lock_path(name).unlink(missing_ok=True)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def forget(self, connection: sqlite3.Connection, ended: list[int]) -> None:
        """Delete sessions that have ended."""
        connection.executemany("DELETE FROM sessions WHERE id = ?", [(number,) for number in ended])

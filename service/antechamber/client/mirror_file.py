"""The file of a mirror: memories of some scopes, and how far of the change feed they are."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from antechamber.client.changes import list_scopes
from antechamber.core.contract import ChangeItem, ChangePage, MemoryItem
from antechamber.core.conversion import convert
from antechamber.core.errors import AntechamberError

BUSY_SECONDS: Final = 30
_APPLICATION: Final = 0x416E744D
"""SQLite's application_id, which marks the file as a mirror."""
_PRAGMAS: Final = (
    # Deleted texts are overwritten in the file, and each commit empties the journal; a write-ahead log would keep them.
    # Copies that SQLite left when it moved rows to another page are removed by `clean`.
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)
_SCHEMA: Final = (
    "CREATE TABLE mirror (scopes TEXT NOT NULL, cursor TEXT) STRICT",
    """CREATE TABLE memories (
    memory_id TEXT PRIMARY KEY,
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    admitted_at TEXT NOT NULL,
    -- A JSON object of the other members.
    more TEXT NOT NULL
) STRICT""",
    f"PRAGMA application_id = {_APPLICATION}",
)


_MARK_ENDED: Final = "PRAGMA user_version = 1"
"""Notes that a text ended of which the file may hold copies."""
_MARK_CLEAN: Final = "PRAGMA user_version = 0"
_COLUMNS: Final = ("memory_id", "submission_scope", "scope_id", "kind", "content", "admitted_at")
_REPLACE: Final = f"INSERT OR REPLACE INTO memories ({', '.join(_COLUMNS)}, more) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 -- names of our own


def _row(memory: MemoryItem) -> list[str]:
    members = msgspec.to_builtins(memory)
    return [*(members.pop(name) for name in _COLUMNS), msgspec.json.encode(members).decode()]


def _item(row: tuple[str, ...]) -> MemoryItem:
    *columns, more = row
    return convert(dict(zip(_COLUMNS, columns, strict=True)) | msgspec.json.decode(more), MemoryItem)


class MirrorError(AntechamberError):
    """A mirror's file cannot be used; the text states what to do."""


class MirrorFile:
    """The open file of a mirror; its methods may be called from any thread.

    `scopes` are written `kind:id`; another process may hold the file for `busy_seconds`. Raises MirrorError if the file
    is something else or holds other scopes.
    """

    def __init__(self, path: Path, scopes: Sequence[str], *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.scopes = sorted(set(list_scopes(scopes)))
        self._path = path
        self._gate = threading.Lock()
        with self._explained():
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=busy_seconds
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        mark = self._value("PRAGMA application_id")
        if mark != _APPLICATION and self._value("SELECT count(*) FROM sqlite_schema"):
            message = f"{self._path} is not a mirror; name another file"
            raise MirrorError(message)
        if (mode := self._value("PRAGMA journal_mode = TRUNCATE")) != "truncate":
            message = f"{self._path} is in journal mode {mode}, which keeps texts that ended; close its other readers"
            raise MirrorError(message)
        for pragma in _PRAGMAS:
            self._connection.execute(pragma)
        with self._transaction():
            if self._value("PRAGMA application_id") != _APPLICATION:
                for statement in _SCHEMA:
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO mirror VALUES (?, NULL)", [self._scopes_text()])
            if (held := self._value("SELECT scopes FROM mirror")) != self._scopes_text():
                message = f"{self._path} mirrors other scopes ({held}); name another file, or remove this one"
                raise MirrorError(message)

    def _scopes_text(self) -> str:
        return msgspec.json.encode(self.scopes).decode()

    def _value(self, statement: str) -> object:
        return self._connection.execute(statement).fetchone()[0]

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate errors of SQLite and of the file system into ours."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            message = f"{self._path} cannot be used: {error}. A removed mirror is built again from the service"
            raise MirrorError(message) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._gate, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def cursor(self) -> str | None:
        """Return the cursor up to which the changes are applied; None at the beginning."""
        with self._gate, self._explained():
            (cursor,) = self._connection.execute("SELECT cursor FROM mirror").fetchone()
        return None if cursor is None else str(cursor)

    def apply(self, after: str | None, page: ChangePage) -> None:
        """Apply the page that follows a cursor in one transaction, unless another process moved the file on."""
        if page.next == after:
            return
        with self._transaction():
            moved = self._connection.execute("UPDATE mirror SET cursor = ? WHERE cursor IS ?", [page.next, after])
            ended = [self._put(change) for change in page.items] if moved.rowcount else []
            if any(ended):
                self._connection.execute(_MARK_ENDED)

    def _put(self, change: ChangeItem) -> bool:
        """Apply one change; return whether a text ended."""
        query = "SELECT content FROM memories WHERE memory_id = ?"
        held = self._connection.execute(query, [change.memory_id]).fetchone()
        if change.memory is None:
            self._connection.execute("DELETE FROM memories WHERE memory_id = ?", [change.memory_id])
        else:
            self._connection.execute(_REPLACE, _row(change.memory))
        return held is not None and (change.memory is None or held[0] != change.memory.content)

    def reset(self) -> None:
        """Remove all memories and begin at the beginning of the feed."""
        with self._transaction():
            self._connection.execute("DELETE FROM memories")
            self._connection.execute("UPDATE mirror SET cursor = NULL")
            self._connection.execute(_MARK_ENDED)

    def clean(self) -> None:
        """Write the file again if a text ended since the last time.

        SQLite overwrites a deleted row where it is, but not the copies in the unused parts of pages from which the row
        was moved when pages were split or joined. Only a new file has none.
        """
        with self._gate, self._explained():
            if not self._connection.execute("PRAGMA user_version").fetchone()[0]:
                return
            # A file of all memories may not fit into memory; SQLite removes its name as soon as it is open.
            self._connection.execute("PRAGMA temp_store = FILE")
            self._connection.execute("VACUUM")
            self._connection.execute(_MARK_CLEAN)
            self._connection.execute("PRAGMA temp_store = MEMORY")

    def memories(self) -> list[MemoryItem]:
        """Return all memories, the newest first."""
        query = f"SELECT {', '.join(_COLUMNS)}, more FROM memories ORDER BY admitted_at DESC, memory_id DESC"  # noqa: S608 -- names of our own
        with self._gate, self._explained():
            rows = self._connection.execute(query).fetchall()
        return [_item(row) for row in rows]

    def close(self) -> None:
        """Close the file."""
        with self._gate:
            self._connection.close()

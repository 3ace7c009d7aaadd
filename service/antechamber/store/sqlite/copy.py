"""A copy of a SQLite file as it is at one moment, while other connections go on writing."""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from antechamber.store.errors import RESTORE, StoreError
from antechamber.store.sqlite.statements import SqliteStatements
from antechamber.store.transaction import Transaction

_FINDINGS: Final = 3
"""Damages of a file that an error names."""
_PAGES: Final = 4_000
"""Pages of 4 KiB between two reports of progress."""


@contextlib.contextmanager
def copied(path: Path, folder: Path, progress: Callable[[int, int], None]) -> Iterator[tuple[Transaction, BinaryIO]]:
    """Yield a snapshot and an open file with a copy of exactly that snapshot.

    The copy has no name in `folder`, so that a process that is killed leaves nothing of it. Writers are not held up;
    only the write-ahead log grows meanwhile. `progress` gets the bytes that are copied and their total.

    Raises StoreError if the file is damaged or cannot be read, or if the copy cannot be written.
    """
    draft = folder / f"backup.{secrets.token_hex(8)}.draft"
    try:
        with contextlib.closing(_connect(f"{path.absolute().as_uri()}?mode=ro")) as source:
            source.row_factory = sqlite3.Row
            # A backup restarts when another process writes, unless its source holds a snapshot already.
            source.execute("BEGIN")
            statements = SqliteStatements(source)
            transaction = Transaction(statements)
            transaction.log.size()
            _refuse_damaged(statements, path)
            with _nameless(draft) as (target, copy):
                (size,) = source.execute("PRAGMA page_size").fetchone()
                source.backup(
                    target, pages=_PAGES, progress=lambda _, left, total: progress((total - left) * size, total * size)
                )
                target.close()
                yield transaction, copy
    except (sqlite3.Error, OSError) as error:
        message = f"the database cannot be copied into {folder}: {error}"
        raise StoreError(message) from error


def _refuse_damaged(statements: SqliteStatements, path: Path) -> None:
    """Refuse a file that SQLite finds broken: backups of it would soon have replaced the good ones.

    Raises StoreError.
    """
    try:
        findings = [*islice(statements.check_files(), _FINDINGS)]
    except sqlite3.DatabaseError as error:
        findings = [str(error)]
    if findings:
        message = (
            f"{path} is damaged, so no backup was made of it and none was removed: {'; '.join(findings)}. {RESTORE}"
        ).replace("\n", " ")
        raise StoreError(message)


@contextlib.contextmanager
def _nameless(draft: Path) -> Iterator[tuple[sqlite3.Connection, BinaryIO]]:
    """Yield a connection to a new file and the open file; its name is removed as soon as both have opened it."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        with contextlib.closing(_connect(f"{draft.absolute().as_uri()}?mode=rw")) as target:
            # The copy is read back by this process only: neither a journal nor a sync would be of use.
            target.execute("PRAGMA journal_mode = OFF")
            target.execute("PRAGMA synchronous = OFF")
            target.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            with draft.open("rb") as file:
                draft.unlink()
                yield target, file
    finally:
        draft.unlink(missing_ok=True)


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=2)

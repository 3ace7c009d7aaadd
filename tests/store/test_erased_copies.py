"""Copies of erased texts: SQLite leaves them in pages that rows left, so the service writes the file again."""

import logging
import random
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from antechamber.core.ports.store import Rows
from antechamber.flows.retention.old_pages import MARK, empty_old_pages
from antechamber.store.sqlite import writer
from antechamber.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a store."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A store of a process that serves the folder."""
    with closing(SqliteStore(path)) as opened:
        yield opened


def erase_some(texts: list[str]) -> Callable[[Rows], None]:
    """Return work that stores texts of many lengths in a new table and deletes about half, which it adds to `texts`."""

    def work(tx: Rows) -> None:
        rows: sqlite3.Connection = tx.sql._connection  # type: ignore[attr-defined]
        rows.execute("CREATE TABLE IF NOT EXISTS texts_of_a_test (name TEXT PRIMARY KEY, content TEXT, more TEXT)")
        chance, kept = random.Random(1), dict[str, str]()  # noqa: S311 -- with SQLite 3.40, copies stay after these
        for number in range(1_500):
            if len(kept) < 30 or chance.random() < 0.5:
                name = str(uuid.UUID(int=chance.getrandbits(128)))
                kept[name] = f"canary-{number:06}"
                content = f"{kept[name]} {'x' * chance.choice((10, 50, 200, 600, 1500))}"
                rows.execute("INSERT INTO texts_of_a_test VALUES (?, ?, ?)", [name, content, "y" * 300])
            else:
                name = chance.choice(sorted(kept))
                texts.append(kept.pop(name))
                rows.execute("DELETE FROM texts_of_a_test WHERE name = ?", [name])
        tx.sql.drop_old_pages()  # type: ignore[attr-defined]

    return work


def remaining(path: Path, texts: list[str]) -> list[str]:
    """Return the texts that a file of the store holds."""
    held = b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))
    return [text for text in texts if text.encode() in held]


def is_marked(store: SqliteStore) -> bool:
    """Return whether a file of the store may hold copies."""
    with store.read() as tx:
        return tx.reports.meta(MARK) is not None


def test_the_process_that_serves_a_folder_removes_copies(store: SqliteStore, path: Path) -> None:
    """Within a minute after an erasure, no file holds a copy of what was erased; other texts stay."""
    erased: list[str] = []
    store.write(erase_some(erased)).result()
    assert is_marked(store)
    empty_old_pages(store)
    assert remaining(path, erased) == []
    assert not is_marked(store)
    assert len(remaining(path, [f"canary-{number:06}" for number in range(1_500)])) > 30


def test_copies_of_another_process_are_removed_too(path: Path) -> None:
    """A command line does not write the file again while a folder may be served; the mark outlives a crash."""
    erased: list[str] = []
    with closing(SqliteStore(path, exclusive_checkpoints=False)) as command_line:
        command_line.write(erase_some(erased)).result()
        empty_old_pages(command_line)
        assert is_marked(command_line)
    with closing(SqliteStore(path)) as served:
        assert is_marked(served)
        empty_old_pages(served)
        assert not is_marked(served)
        assert remaining(path, erased) == []


def test_the_file_is_not_written_again_all_the_time(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was written, others write for many times as long; a mark waits until then."""
    monkeypatch.setattr(writer, "_REST", 1_000_000)
    store.write(erase_some([])).result()
    empty_old_pages(store)
    assert not is_marked(store)
    store.write(lambda tx: tx.sql.drop_old_pages()).result()
    empty_old_pages(store)
    assert is_marked(store)
    store._transactions._rests_until = 0.0
    empty_old_pages(store)
    assert not is_marked(store)
    assert path.is_file()


def test_a_file_that_cannot_be_written_again_is_tried_later(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The reason is logged, nothing is lost, and the next time removes the copies."""
    store.write(erase_some([])).result()
    reader = store._connection.execute("SELECT name FROM sqlite_schema")
    reader.fetchone()
    with caplog.at_level(logging.WARNING):
        empty_old_pages(store)
    assert "copies of erased texts" in caplog.text
    assert is_marked(store)
    reader.close()
    store._transactions._rests_until = 0.0
    empty_old_pages(store)
    assert not is_marked(store)


def test_a_text_that_was_only_added_does_not_rewrite_the_file(store: SqliteStore) -> None:
    """Work without an erasure leaves no mark."""
    store.write(lambda tx: tx.sql.announce()).result()
    assert not is_marked(store)

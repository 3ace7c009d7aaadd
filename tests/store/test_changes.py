"""The change feed of a store: in commit order, without gaps, also while several writers append to it."""

import sqlite3
import threading
from collections.abc import Sequence

import psycopg
import pytest

from antechamber.app import open_store
from antechamber.core.access.callers import Account
from antechamber.core.ports.store import Store
from antechamber.core.rows.memories import FeedRow
from antechamber.settings import Location
from store.test_contract import admit, approve, candidate_of, curator, found
from support import HANG_SECONDS, database

APOLLO = [("project", "apollo")]
NUMBER = 24


def proposals_of(store: Store, *contents: str) -> list[str]:
    """Submit events and return their proposals."""
    return [admit(store, candidate_of(content))[1].proposal_id or "" for content in contents]


def feed(store: Store, first: int = 0, number: int = 1000) -> list[FeedRow]:
    """Return the changes of project:apollo."""
    with store.read() as tx:
        return tx.changes.page(APOLLO, first, number)


def test_a_reader_misses_nothing_while_several_stores_write(location: Location, store: Store) -> None:
    """A reader who asks after its last sequence gets each change once, while two stores decide at the same time."""
    other = open_store(location)
    account = curator(store)
    halves = [proposals_of(store, *(f"{side} {number}." for number in range(NUMBER // 2))) for side in ("One", "Two")]
    gate = threading.Barrier(3)

    def decide(own: Store, proposals: Sequence[str], deciding: Account) -> None:
        gate.wait(HANG_SECONDS)
        for proposal in proposals:
            approve(own, found(own, proposal), deciding)

    threads = [
        threading.Thread(target=decide, args=(own, half, account))
        for own, half in zip((store, other), halves, strict=True)
    ]
    try:
        for thread in threads:
            thread.start()
        gate.wait(HANG_SECONDS)
        seen: list[FeedRow] = []
        while any(thread.is_alive() for thread in threads):
            seen += feed(store, seen[-1].sequence + 1 if seen else 0, 3)
        for thread in threads:
            thread.join()
        while more := feed(store, seen[-1].sequence + 1 if seen else 0, 3):
            seen += more
    finally:
        other.close()
    everything = feed(store)
    assert len(everything) == NUMBER
    assert seen == everything
    assert [row.sequence for row in seen] == sorted({row.sequence for row in seen})


def test_evidence_reaches_a_memory_that_another_store_admitted_meanwhile(location: Location, store: Store) -> None:
    """Evidence that was judged before an approval and committed after it is in the feed behind the admission."""
    other = open_store(location)
    account = curator(store)
    try:
        (proposal,) = proposals_of(store, "Seen by two.")
        memory_id = approve(store, found(store, proposal), account)
        admit(other, candidate_of("Seen by two.", producer_identity="tool:watcher"))
    finally:
        other.close()
    assert [(row.change, row.memory_id) for row in feed(store)] == [("admitted", memory_id)] * 2
    with store.read() as tx:
        last = tx.changes.last()
        changed = tx.changes.changed_scopes(0)
        assert tx.changes.changed_scopes(last) == []
    assert {(row.submission_scope, row.scope_id) for row in changed} == set(APOLLO)
    assert [row.sequence for row in changed] == [row.sequence for row in feed(store)]
    assert changed[-1].sequence == last


def test_evidence_of_a_text_that_is_no_memory_is_no_change(store: Store) -> None:
    """The feed says nothing of proposals that wait, and nothing of other scopes."""
    proposals_of(store, "Waiting.")
    admit(store, candidate_of("Waiting.", producer_identity="tool:watcher"))
    assert feed(store) == []
    with store.read() as tx:
        assert tx.changes.last() == 0
        assert tx.changes.page([("project", "gemini")], 0, 10) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE change_feed SET change = 'expired'",
        "UPDATE change_feed SET sequence = sequence + 1",
        "DELETE FROM change_feed",
        "INSERT INTO change_feed SELECT submission_scope, scope_id, 0, memory, change, changed_at FROM change_feed",
        "INSERT INTO change_feed SELECT submission_scope, scope_id, 1000, memory, change, changed_at FROM change_feed",
    ],
)
def test_what_the_feed_says_stays(location: Location, store: Store, statement: str) -> None:
    """A raw connection can neither change nor remove a change, nor put one before another or behind the log."""
    (proposal,) = proposals_of(store, "Remembered.")
    approve(store, found(store, proposal), curator(store))
    with database(location) as raw:
        if location.database_url is None:
            raw.execute("PRAGMA foreign_keys = ON")
        with pytest.raises((sqlite3.Error, psycopg.Error), match=r"append-only|(?i:foreign key)"):
            raw.execute(statement)
    assert [row.change for row in feed(store)] == ["admitted"]

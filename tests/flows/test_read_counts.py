"""Counts of reads: bounded in memory, kept over failures, added up over processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antechamber.core.access.callers import Account
from antechamber.core.errors import BusyError, ForbiddenDecisionError
from antechamber.flows.direct_writes import HOUR
from antechamber.flows.upkeep import read_counts
from antechamber.flows.upkeep.read_counts import ReadCounts
from antechamber.flows.upkeep.review_dates import KeepForm, ReviewDates
from antechamber.flows.write_gate import WriteGate
from antechamber.settings import Location
from flows.test_edges import BOT, Flows
from support import database, event, locked, write_policies


@pytest.fixture
def flows(location: Location, tmp_path: Path) -> Iterator[Flows]:
    """All flows over a fresh store with three memories."""
    made = Flows(location, write_policies(tmp_path / "policies"))
    bob = made.curator()
    for text in ("The host is Gemini.", "Deploys run on Friday.", "Backups take an hour."):
        made.clock.now += 1_000_000
        proposal = made.submit(event(text))["proposal_id"]
        made.desk.decide(proposal, made.decision(proposal, bob, kind="approve"), bob)
    yield made
    made.store.close()


def counted(location: Location) -> list[tuple[int, str, int]]:
    """Return memory, reader and number of all counts, by hour."""
    with database(location) as raw:
        return [
            tuple(row)
            for row in raw.execute("SELECT memory, name, number FROM memory_reads ORDER BY hour, memory, name")
        ]


def test_processes_and_hours_add_up(flows: Flows, location: Location) -> None:
    """Counts of two processes of one hour are one row; another hour begins another row."""
    reads, other = (ReadCounts(flows.store, flows.keeper, flows.clock) for _ in range(2))
    reads.note(BOT, [1, 2])
    reads.note(BOT, [])
    reads.note(BOT, [1])
    other.note(BOT, [1, 3])
    reads.flush()
    other.flush()
    assert counted(location) == [(1, BOT.name, 3), (2, BOT.name, 1), (3, BOT.name, 1)]
    flows.clock.now += HOUR
    other.note(BOT, [3])
    other.flush()
    assert counted(location)[3:] == [(3, BOT.name, 1)]
    reads.flush()
    with flows.store.read() as tx:
        assert tx.upkeep.of_memory(3).last_read_at == flows.clock.now
        assert tx.upkeep.of_memory(1).idle_since == flows.clock.now - HOUR


def test_counts_that_were_not_written_are_written_later(flows: Flows, location: Location) -> None:
    """A busy store fails the flush, a log in doubt does not; in both cases the counts stay."""
    reads = ReadCounts(WriteGate(flows.store, flows.log), flows.keeper, flows.clock)
    reads.note(BOT, [1])
    with locked(location), pytest.raises(BusyError):
        reads.flush()
    reads.note(BOT, [1, 2])
    flows.log.doubt = "The log is older than what was signed last."
    reads.flush()
    assert counted(location) == []
    flows.log.doubt = None
    reads.flush()
    assert counted(location) == [(1, BOT.name, 2), (2, BOT.name, 1)]


def test_memory_is_bounded(
    flows: Flows, location: Location, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    """Beyond the limit no further memory is counted until the next write; the log says how many reads that left out."""
    monkeypatch.setattr(read_counts, "MAX_COUNTED", 2)
    reads = ReadCounts(flows.store, flows.keeper, flows.clock)
    reads.note(BOT, [1, 2])
    reads.note(BOT, [2, 3])
    reads.note(BOT, [3])
    reads.flush()
    assert counted(location) == [(1, BOT.name, 1), (2, BOT.name, 2)]
    assert any("2 reads of memories were not counted" in line for line in log_lines)
    reads.note(BOT, [3])
    reads.flush()
    assert counted(location)[2:] == [(3, BOT.name, 1)]


def test_old_counts_are_deleted_without_a_read(flows: Flows, location: Location) -> None:
    """A flush writes only if there is something to write or to delete."""
    reads = ReadCounts(flows.store, flows.keeper, flows.clock)
    reads.note(BOT, [1])
    reads.flush()
    flows.clock.now += 30 * 24 * HOUR
    with locked(location):
        reads.flush()
    flows.clock.now += HOUR
    reads.flush()
    assert counted(location) == []


def test_only_a_curator_keeps_a_memory(flows: Flows) -> None:
    """The flow itself refuses every other role, whatever the page before it checked."""
    dates = ReviewDates(flows.store, flows.keeper, flows.clock, flows.chance)
    auditor = Account(id=1, name="ann", person="ann", role="auditor", session="")
    with pytest.raises(ForbiddenDecisionError, match="Only a curator"):
        dates.keep("unknown", KeepForm(decision_key="k", standing="", review_after=""), auditor)

"""Queries for blind items: calibration items and second looks, and the decisions on them."""

from typing import Final

import msgspec

from antechamber.core.access.callers import Account
from antechamber.core.conversion import convert
from antechamber.core.errors import StaleDecisionError
from antechamber.core.log.blind_leaf import of_blind_decision, of_item
from antechamber.core.review.blind import BlindCount
from antechamber.core.review.screen_time import ScreenTime
from antechamber.core.rows.blind import BlindDecisionWrite, BlindItem, BlindItemWrite
from antechamber.core.rows.review import ProposalRow
from antechamber.store.hashes import with_bytes
from antechamber.store.statements import Statements

MOST_TIMES: Final = 2_000
"""Times on screen that are read, the latest ones."""


class BlindQueries:
    """Implements core.ports.blind.BlindRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add(self, write: BlindItemWrite) -> bool:
        event = msgspec.structs.asdict(write.event)
        row = {"id": self._sql.take(1)[0], "proposal_id": write.proposal_id, "source_event_hash": event.pop("hash")}
        self._sql.run("add_producer", producer_identity=write.event.producer_identity)
        if not self._sql.run("add_blind_proposal", **with_bytes(row | event)):
            return False
        self._sql.run(
            "add_blind_item",
            proposal=row["id"],
            review_record_id=write.review_record_id,
            **{name: getattr(write, name) for name in _ITEM},
        )
        self._sql.append_leaves([of_item(write)])
        self._sql.announce()
        return True

    def last_arrival(self) -> int | None:
        row = self._sql.one("last_arrival")
        return row["received_at"] if row else None

    def of_proposal(self, proposal: int) -> BlindItem | None:
        row = self._sql.one("blind_item", proposal=proposal)
        return convert(row, BlindItem) if row else None

    def is_blind(self, proposal_id: str) -> bool:
        return self._sql.one("is_blind", proposal_id=proposal_id) is not None

    def is_looked_at(self, review_record_id: str) -> bool:
        return self._sql.one("is_looked_at", review_record_id=review_record_id) is not None

    def judges(self, original: int) -> frozenset[str]:
        return frozenset(row["person"] for row in self._sql.all("judges", original=original))

    def memories_of(self, original: int) -> list[int]:
        return [row["id"] for row in self._sql.all("memories_of_proposal", id=original)]

    def decide(self, proposal: ProposalRow, account: Account, write: BlindDecisionWrite) -> None:
        if not self._end(proposal.id, proposal.version, write.decided_at):
            message = "another curator decided first"
            raise StaleDecisionError(message)
        self._sql.run(
            "add_blind_decision",
            item=write.item.id,
            curator=account.id,
            person=account.person,
            warned=int(write.warned),
            **{name: getattr(write, name) for name in _DECISION},
        )
        self._sql.append_leaves([of_blind_decision(account, write)])
        self._sql.announce()

    def _end(self, proposal: int, version: int, now: int) -> bool:
        """Take a waiting blind item out of the queue; return whether it waited."""
        ended = self._sql.run("end_blind_proposal", proposal=proposal, version=version, decided_at=now) > 0
        if ended:
            self._sql.run("count_in_fold", more=-1, proposal=proposal)
        return ended

    def end_looks(self, proposal_id: str, now: int) -> list[str]:
        rows = self._sql.all("second_looks_at", proposal_id=proposal_id)
        for row in rows:
            self._end(row["id"], row["version"], now)
        return [row["proposal_id"] for row in rows]

    def all(self) -> list[BlindItem]:
        return convert(self._sql.all("calibration_items"), list[BlindItem])

    def counts(self) -> list[BlindCount]:
        return convert(self._sql.all("blind_counts"), list[BlindCount], strict=False)

    def add_screen_time(self, time: ScreenTime) -> None:
        row = msgspec.structs.asdict(time)
        self._sql.run("add_screen_time", **row | {"approved": int(time.approved)})

    def screen_times(self, since: int) -> list[ScreenTime]:
        rows = self._sql.all("screen_times", since=since, most=MOST_TIMES)
        return convert(rows, list[ScreenTime], strict=False)

    def forget_screen_times(self, before: int) -> int:
        return self._sql.run("forget_screen_times", before=before)


_ITEM = ("blind_item_id", "kind", "verdict", "explanation", "policy_digest", "added_at")
_DECISION = ("blind_decision_id", "decision", "reason_code", "decision_key", "policy_digest", "decided_at")

"""The store's interface for blind items: calibration items and second looks."""

from typing import Protocol

from antechamber.core.access.callers import Account
from antechamber.core.review.blind import BlindCount
from antechamber.core.review.screen_time import ScreenTime
from antechamber.core.rows.blind import BlindDecisionWrite, BlindItem, BlindItemWrite
from antechamber.core.rows.review import ProposalRow


class BlindRows(Protocol):
    """Blind items, each with a waiting row among the proposals, and the decisions on them."""

    def add(self, write: BlindItemWrite) -> bool:
        """Store a blind item and put it into the queue; return False, storing nothing, if its hash is there already."""

    def last_arrival(self) -> int | None:
        """Return when the last proposal came; None before the first."""

    def of_proposal(self, proposal: int) -> BlindItem | None:
        """Return the blind item behind a proposal, by the proposal's integer key; None for a producer's own."""

    def is_blind(self, proposal_id: str) -> bool:
        """Return whether a proposal is a blind item."""

    def is_looked_at(self, review_record_id: str) -> bool:
        """Return whether there is a second look at a decision."""

    def judges(self, original: int) -> frozenset[str]:
        """Return the persons who decided on the proposal that a second look repeats."""

    def memories_of(self, original: int) -> list[int]:
        """Return the integer keys of the memories that a proposal became."""

    def decide(self, proposal: ProposalRow, account: Account, write: BlindDecisionWrite) -> None:
        """Store the decision on a blind item and take it out of the queue.

        Raises StaleDecisionError if another transaction did so first.
        """

    def end_looks(self, proposal_id: str, now: int) -> list[str]:
        """Take the second looks at a proposal out of the queue, because its text is erased; return all their ids."""

    def all(self) -> list[BlindItem]:
        """Return the calibration items, oldest first."""

    def counts(self) -> list[BlindCount]:
        """Count the decisions on blind items; second looks at a decision that was undone are left out."""

    def add_screen_time(self, time: ScreenTime) -> None:
        """Store how long a page was on the screen before a decision."""

    def screen_times(self, since: int) -> list[ScreenTime]:
        """Return the times on screen of decisions since a time."""

    def forget_screen_times(self, before: int) -> int:
        """Delete the times on screen of decisions before a time; return how many that were."""

"""Time on screen: kept for each decision for the days that the policy says, and then deleted."""

from antechamber.core.policy import DAY
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import APPROVING, Decision
from antechamber.core.review.hidden_text import texts_of
from antechamber.core.review.screen_time import ScreenTime, shown_at
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.live_policy import PolicyReloader


def note_screen_time(tx: Rows, proposal: ProposalRow, decision: Decision, person: str, now: int) -> None:
    """Store how long the page of a decision was on the screen."""
    shown = shown_at(decision.decision_key)
    tx.blind.add_screen_time(
        ScreenTime(
            person=person,
            approved=decision.kind in APPROVING,
            characters=sum(map(len, texts_of(proposal.payload))),
            shown_for=None if shown is None else max(0, now - shown),
            decided_at=now,
        )
    )


class ScreenTimes:
    """Deletes times on screen that are old enough."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock

    def forget(self) -> None:
        """Delete the times on screen that the policy no longer keeps; runs in the background.

        Raises BusyError or UnavailableError.
        """
        before = self._clock() - self._policies.current.policy.oversight.screen_days * DAY
        self._store.write(lambda tx: tx.blind.forget_screen_times(before)).result()

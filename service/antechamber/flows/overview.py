"""Overview: figures and health for whoever operates the service."""

from typing import Any

from msgspec import Struct

from antechamber.core.ports import Store
from antechamber.core.records import ReplayRow, TokenRow, UserRow
from antechamber.flows.admit import HOUR
from antechamber.flows.fleet import Fleet
from antechamber.flows.policies import PolicyKeeper
from antechamber.flows.steady import SteadyClock

_DAY_HOURS = 24


class Figures(Struct, frozen=True, kw_only=True):
    """What happened so far."""

    dispositions: dict[str, int]
    proposals: dict[str, int]
    replays: list[ReplayRow]
    """Of the last 24 hours."""


class Standing(Struct, frozen=True, kw_only=True):
    """Who may do what."""

    policy_digest: str
    producers: list[tuple[str, str]]
    tokens: list[TokenRow]
    users: list[UserRow]


class Overview:
    """Reads figures, health and standing."""

    def __init__(self, store: Store, policies: PolicyKeeper, clock: SteadyClock, fleet: Fleet) -> None:
        """Read from a store."""
        self._fleet = fleet
        self._store = store
        self._policies = policies
        self._clock = clock

    def alarms(self) -> list[str]:
        """List what needs an operator now."""
        alarm = self._policies.alarm
        edited = f"The edited policy is not in force, the earlier one still is. {alarm}" if alarm else None
        return [
            text for text in (self._store.trouble(), edited, self._fleet.alarm, self._clock.alarm) if text is not None
        ]

    def stores(self) -> bool:
        """Tell whether anything can be stored."""
        return self._store.trouble() is None

    def health(self) -> dict[str, Any]:
        """Check that the store answers, and say what runs.

        Raises UnavailableError.
        """
        with self._store.read() as rows:
            rows.meta("ready")
        return {"policy_digest": self._policies.current.digest, "alarms": self.alarms()}

    def figures(self) -> Figures:
        """Count dispositions, proposals and the last day's replays."""
        with self._store.read() as rows:
            counts = rows.counts()
            replays = rows.recent_replays(self._clock() // HOUR - _DAY_HOURS)
        return Figures(dispositions=counts["dispositions"], proposals=counts["proposals"], replays=replays)

    def standing(self) -> Standing:
        """List tokens, people and producers."""
        force = self._policies.current
        with self._store.read() as rows:
            tokens, users = rows.tokens(), rows.users()
        producers = [(producer.identity, producer.owner) for producer in force.policy.producers.values()]
        return Standing(policy_digest=force.digest, producers=producers, tokens=tokens, users=users)

"""Overview: figures and health for whoever operates the service."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, get_args

from msgspec import Struct

from antechamber.background import Background
from antechamber.core.contract import Disposition
from antechamber.core.duplicate_rate import DuplicateRateRow
from antechamber.core.policy import Policy
from antechamber.core.ports.store import Store
from antechamber.core.rows.access import TokenRow, UserRow
from antechamber.core.rows.reports import CountRow, OldestPending
from antechamber.flows.clock import SteadyClock
from antechamber.flows.direct_writes import HOUR
from antechamber.flows.heartbeat import Heartbeat
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_proofs import Log

_DAY_HOURS: Final = 24
_MAX_COUNTED: Final = 1001
MAX_RETRIES: Final = 100
"""Producers' channels whose retries are listed."""
MARKED_TAX: Final = 1.5
"""Attempts per submission above which retries are marked."""
_DISPOSITIONS: Final = frozenset(get_args(Disposition))


class Bucket(Struct, frozen=True, kw_only=True):
    """What happened in an hour or a day, from `start` until before `end`, in microseconds since 1970 UTC."""

    start: int
    end: int
    arrived: int
    """Proposals that came."""
    decided: int
    """Proposals that were decided, less what was taken back."""
    submissions: int
    attempts: int
    """Submissions and their replays."""

    @property
    def tax(self) -> float | None:
        """Attempts per distinct submission: what retries cost."""
        return self.attempts / self.submissions if self.submissions else None


class ProducerFigures(Struct, frozen=True, kw_only=True):
    """What became of one producer's submissions."""

    producer_identity: str
    dispositions: dict[str, int]


class Figures(Struct, frozen=True, kw_only=True):
    """What happened so far, and in the last days."""

    days: int
    totals: dict[str, int]
    """Since the beginning: submissions by disposition, and proposals that stand approved and rejected."""
    pending: int
    """Proposals that wait; a thousand and one stands for more."""
    oldest: OldestPending | None
    since: int
    """When the days that are looked at began."""
    now: int
    buckets: list[Bucket]
    producers: list[ProducerFigures]
    retries: list[DuplicateRateRow]
    """By producer and channel, marked ones first."""
    decisions: int
    """On proposals, in the days that are looked at."""
    median_wait: int | None
    longest_tenth: int | None
    """Microseconds within which half and nine tenths of the decisions came."""
    overturned: int
    reasons: list[tuple[str, int]]


class AccessList(Struct, frozen=True, kw_only=True):
    """Who may do what."""

    policy_digest: str
    producers: list[tuple[str, str]]
    tokens: list[TokenRow]
    users: list[UserRow]


class Dashboard:
    """Reads figures, health and standing."""

    def __init__(
        self,
        store: Store,
        policies: PolicyReloader,
        clock: SteadyClock,
        heartbeat: Heartbeat,
        log: Log,
        background: Background,
    ) -> None:
        """Read from a store."""
        self._background = background
        self._heartbeat = heartbeat
        self._log = log
        self._store = store
        self._policies = policies
        self._clock = clock

    def alarms(self) -> list[str]:
        """List what needs an operator now."""
        alarm = self._policies.alarm
        edited = f"The edited policy is not in force, the earlier one still is. {alarm}" if alarm else None
        told = (
            self._store.trouble(), edited, self._heartbeat.alarm, self._clock.alarm, self._log.alarm or self._log.doubt,
            self._log.pin_alarm,
        )  # fmt: skip
        return [text for text in told if text is not None] + self._background.alarms()

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

    def figures(self, days: int = 1) -> Figures:
        """Gather what happened in the last days, a day by the hour and more by the day."""
        now = self._clock()
        step = HOUR if days == 1 else _DAY_HOURS * HOUR
        first = now // step * step - (days * _DAY_HOURS * HOUR // step - 1) * step
        with self._store.read() as rows:
            hours = rows.tally_by_hour(first // HOUR)
            by_producer = rows.tally_by_producer(first // HOUR)
            retries = rows.retries(first // HOUR, now // HOUR, MAX_RETRIES)
            decisions = rows.decisions_since(first)
            totals, pending, oldest = rows.totals(), rows.count_pending(_MAX_COUNTED), rows.oldest_pending()
        waits = sorted(one.waited for one in decisions if one.decision != "undo")
        reasons = Counter(one.reason_code for one in decisions if one.decision in {"reject", "merge"})
        return Figures(
            days=days,
            totals=totals,
            pending=pending,
            oldest=oldest,
            since=first,
            now=now,
            buckets=_buckets(hours, range(first, now + 1, step)),
            producers=_producers(by_producer),
            retries=retries,
            decisions=len(waits),
            median_wait=waits[len(waits) // 2] if waits else None,
            longest_tenth=waits[len(waits) * 9 // 10] if waits else None,
            overturned=sum(one.decision == "undo" for one in decisions),
            reasons=[(str(code), number) for code, number in reasons.most_common()],
        )

    def policy(self) -> tuple[Policy, str]:
        """Return the policy in force and its digest."""
        force = self._policies.current
        return force.policy, force.digest

    def standing(self) -> AccessList:
        """List tokens, people and producers."""
        force = self._policies.current
        with self._store.read() as rows:
            tokens, users = rows.tokens(), rows.users()
        producers = [(producer.identity, producer.owner) for producer in force.policy.producers.values()]
        return AccessList(policy_digest=force.digest, producers=producers, tokens=tokens, users=users)


def _buckets(hours: Sequence[CountRow], starts: range) -> list[Bucket]:
    """Add hours up to buckets that begin at these times."""
    found: dict[int, Counter[str]] = {start: Counter() for start in starts}
    for one in hours:
        place = (one.hour * HOUR - starts.start) // starts.step
        if 0 <= place < len(starts):
            found[starts[place]][one.name] += one.number
    return [
        Bucket(
            start=start,
            end=start + starts.step,
            arrived=counted["accepted-for-review"],
            decided=counted["approved"] + counted["rejected"],
            submissions=(own := sum(number for name, number in counted.items() if name in _DISPOSITIONS)),
            attempts=own + counted["attempts"],
        )
        for start, counted in found.items()
    ]


def _producers(tally: Sequence[CountRow]) -> list[ProducerFigures]:
    """Gather each producer's dispositions, the one with most submissions first."""
    found: dict[str, dict[str, int]] = {}
    for one in tally:
        if one.name in _DISPOSITIONS:
            found.setdefault(one.producer_identity, {})[one.name] = one.number
    made = [ProducerFigures(producer_identity=name, dispositions=own) for name, own in found.items()]
    return sorted(made, key=lambda one: -sum(one.dispositions.values()))

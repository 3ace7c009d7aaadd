"""Dashboard: figures and health for the operators of the service."""

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
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.clock import SteadyClock
from antechamber.flows.daily_counts import count_waiting
from antechamber.flows.direct_writes import HOUR
from antechamber.flows.heartbeat import Heartbeat
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.oversight.figures import OversightFigures, oversight_figures
from antechamber.flows.replication import Replication
from antechamber.flows.upkeep.views import idle_time

_DAY_HOURS: Final = 24
_MAX_COUNTED: Final = 1001
MAX_DECISIONS: Final = 2000
"""Maximum number of decisions, the latest ones, that figures are made of."""
MAX_RETRIES: Final = 100
"""Maximum number of producer and channel pairs whose retries are listed."""
MARKED_TAX: Final = 1.5
"""Attempts per submission above which retries are marked."""
_DISPOSITIONS: Final = frozenset(get_args(Disposition))


class Bucket(Struct, frozen=True, kw_only=True):
    """Counts of an hour or a day, from `start` until before `end`, in microseconds since 1970 UTC."""

    start: int
    end: int
    arrived: int
    """New proposals."""
    decided: int
    """Decided proposals, minus undone decisions."""
    submissions: int
    attempts: int
    """Submissions and their replays."""

    @property
    def tax(self) -> float | None:
        """Attempts per distinct submission, which is the cost of retries."""
        return self.attempts / self.submissions if self.submissions else None


class ProducerFigures(Struct, frozen=True, kw_only=True):
    """The number of one producer's submissions by disposition, and its attempts by channel."""

    producer_identity: str
    dispositions: dict[str, int]
    channels: list[DuplicateRateRow]
    """Marked ones first."""


class Figures(Struct, frozen=True, kw_only=True):
    """Figures since the beginning, and of the last days."""

    days: int
    totals: dict[str, int]
    """Since the beginning: submissions by disposition, and proposals that are approved and rejected."""
    pending: int
    """Waiting proposals, without calibration items and second looks."""
    due: int
    """Memories that come up for review; 1,001 means more than 1,000."""
    declared_private: int
    """Active memories whose event was declared private later, counted likewise."""
    oldest: OldestPending | None
    since: int
    """The start of the days that are counted."""
    now: int
    buckets: list[Bucket]
    producers: list[ProducerFigures]
    """Those with a marked channel first, then those with most submissions."""
    decisions: int
    """Decisions on proposals within the counted days, the latest ones."""
    every_decision: bool
    """Whether no decision of these days is left out; figures of decisions read `MAX_DECISIONS` at most."""
    median_wait: int | None
    longest_tenth: int | None
    """Microseconds within which 50 % (`median_wait`) and 90 % (`longest_tenth`) of the decisions were made."""
    overturned: int
    reasons: list[tuple[str, int]]
    oversight: OversightFigures
    """Since the beginning."""


class AccessList(Struct, frozen=True, kw_only=True):
    """All producers, tokens and accounts with their rights."""

    producers: list[tuple[str, str]]
    tokens: list[TokenRow]
    users: list[UserRow]


class Dashboard:
    """Reads figures, health and access rights from a store."""

    def __init__(
        self,
        store: Store,
        policies: PolicyReloader,
        clock: SteadyClock,
        heartbeat: Heartbeat,
        checkpoints: Checkpoints,
        background: Background,
    ) -> None:
        self.replication: Final = Replication(store)
        self._background = background
        self._heartbeat = heartbeat
        self._checkpoints = checkpoints
        self._store = store
        self._policies = policies
        self._clock = clock

    def alarms(self) -> list[str]:
        """Return the alarms that need an operator now."""
        return [text for texts in self.alarms_by_source().values() for text in texts]

    def alarms_by_source(self) -> dict[str, list[str]]:
        """Return the alarms by their sources, which are those of the metrics."""
        found = {
            "store": self._store.trouble(),
            "policy": self._policies.alarm,
            "processes": self._heartbeat.alarm,
            "clock": self._clock.alarm,
            "signer": self._checkpoints.alarm or self._checkpoints.doubt,
            "pin": self._checkpoints.pin_alarm,
            "replication": self.replication.alarm,
            "replica": self._store.replica_alarm(),
        }
        listed = {source: [text] for source, text in found.items() if text is not None}
        return listed | self._background.alarms()

    def stores(self) -> bool:
        """Return whether the store accepts writes."""
        return self._store.trouble() is None

    def health(self) -> dict[str, Any]:
        """Check that the store can be read, and return the policy in force and all alarms.

        Raises UnavailableError if the store cannot be read.
        """
        with self._store.read() as tx:
            tx.reports.meta("ready")
        return {"policy_digest": self._policies.current.digest, "alarms": self.alarms()}

    def figures(self, days: int = 1, person: str = "") -> Figures:
        """Return the figures of the last days that a person may see: by hour for one day, otherwise by day."""
        now = self._clock()
        idle = idle_time(self._policies.current.policy)
        step = HOUR if days == 1 else _DAY_HOURS * HOUR
        first = now // step * step - (days * _DAY_HOURS * HOUR // step - 1) * step
        kept = now - self._policies.current.policy.oversight.screen_days * _DAY_HOURS * HOUR
        with self._store.read() as tx:
            hours = tx.reports.counts_by_hour(first // HOUR)
            by_producer = tx.reports.counts_by_producer(first // HOUR)
            retries = tx.reports.retries(first // HOUR, now // HOUR, MAX_RETRIES)
            decisions, due = (
                tx.reports.decisions_since(first, MAX_DECISIONS),
                tx.upkeep.count_due(now, idle, _MAX_COUNTED),
            )
            declared_private = tx.upkeep.count_declared_private(_MAX_COUNTED)
            totals, oldest = tx.reports.totals(), tx.reports.oldest_pending()
            oversight = oversight_figures(tx, person, kept)
        waits = sorted(decision.waited for decision in decisions if decision.decision != "undo")
        reasons = Counter(decision.reason_code for decision in decisions if decision.decision in {"reject", "merge"})
        return Figures(
            days=days,
            totals=totals,
            pending=count_waiting(totals),
            due=due,
            declared_private=declared_private,
            oldest=oldest,
            since=first,
            now=now,
            buckets=_buckets(hours, range(first, now + 1, step)),
            producers=_producers(by_producer, retries),
            decisions=len(waits),
            every_decision=len(decisions) < MAX_DECISIONS,
            median_wait=waits[len(waits) // 2] if waits else None,
            longest_tenth=waits[len(waits) * 9 // 10] if waits else None,
            overturned=sum(decision.decision == "undo" for decision in decisions),
            reasons=[(str(code), count) for code, count in reasons.most_common()],
            oversight=oversight,
        )

    def policy(self) -> tuple[Policy, str]:
        """Return the policy in force and its digest."""
        force = self._policies.current
        return force.policy, force.digest

    def list_access(self) -> AccessList:
        """Return tokens, accounts and producers."""
        force = self._policies.current
        with self._store.read() as tx:
            tokens, users = tx.access.tokens(), tx.access.users()
        producers = [(producer.identity, producer.owner) for producer in force.policy.producers.values()]
        return AccessList(producers=producers, tokens=tokens, users=users)


def _buckets(hours: Sequence[CountRow], starts: range) -> list[Bucket]:
    """Sum hourly counts into buckets that begin at these times."""
    counters: dict[int, Counter[str]] = {start: Counter() for start in starts}
    for row in hours:
        index = (row.hour * HOUR - starts.start) // starts.step
        if 0 <= index < len(starts):
            counters[starts[index]][row.name] += row.number
    return [
        Bucket(
            start=start,
            end=start + starts.step,
            arrived=counted["accepted-for-review"],
            decided=counted["approved"] + counted["rejected"],
            submissions=(own := sum(count for name, count in counted.items() if name in _DISPOSITIONS)),
            attempts=own + counted["attempts"],
        )
        for start, counted in counters.items()
    ]


def _producers(tally: Sequence[CountRow], retries: Sequence[DuplicateRateRow]) -> list[ProducerFigures]:
    """Group dispositions and channels by producer."""
    dispositions: dict[str, dict[str, int]] = {}
    for row in tally:
        if row.name in _DISPOSITIONS:
            dispositions.setdefault(row.producer_identity, {})[row.name] = row.number
    channels: dict[str, list[DuplicateRateRow]] = {}
    for one in retries:
        channels.setdefault(one.producer_identity, []).append(one)
    figures = [
        ProducerFigures(
            producer_identity=name, dispositions=dispositions.get(name, {}), channels=channels.get(name, [])
        )
        for name in dict.fromkeys((*dispositions, *channels))
    ]
    return sorted(
        figures, key=lambda row: (not any(one.marked for one in row.channels), -sum(row.dispositions.values()))
    )

"""The section `metrics`: what counting and measuring cost a submission, on both engines.

The other side is the same service whose meters do nothing; no one reads `/metrics` meanwhile. As the share is smaller
than the spread of rates on a shared machine, processor time decides: that of a submission on both sides of the same
round as a ratio, of which the median is printed, and that of the meters alone as a share of a submission's.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from time import thread_time
from typing import Final

from antechamber.core.metrics import definitions as metrics
from antechamber.core.metrics.meters import Meters
from benchmarks.rounds import Measurement, Rounds, Tell, carry_out
from benchmarks.sides import WITHOUT_METRICS, on_postgres, on_sqlite
from lib.processes import postgres, workplace

_GROUP: Final = 32
"""Submissions of the measured group."""
_GOAL: Final = 0.02
"""The most of a submission's processor time that the meters may take."""


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured and the goal is reached."""
    number, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    done = []
    meters = cost()
    with workplace() as folder, postgres(folder) as server:
        made = Rounds("metrics", folder, seconds, tell)
        pairs = [(on_sqlite("without metrics", WITHOUT_METRICS), on_sqlite(), "SQLite")]
        if not quick:
            bare = on_postgres(server, 1, "without metrics", WITHOUT_METRICS)
            pairs.append((bare, on_postgres(server), "PostgreSQL"))
        for base, ours, what in pairs:
            title = f"Submissions with metrics beside the same without: {what}"
            done.append(carry_out(made, [base, ours], number, base.name, title, as_json=as_json))
            ratios = paired(made.made, base.name, ours.name)
            told = f"{median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f}, {len(ratios)} pairs)" if ratios else "-"
            tell(f"{what}: processor time of a submission with metrics / without: {told}")
            if least := min((one.cpu_us for one in made.made if one.side == ours.name), default=0.0):
                tell(f"the meters alone: {meters:.2f} µs of {least:.0f} µs, {meters / least:.1%} (goal: {_GOAL:.0%})")
                done.append(meters <= _GOAL * least)
    return all(done)


def paired(made: Sequence[Measurement], base: str, ours: str) -> list[float]:
    """Return the ratios of processor time for a submission, the database's included, of the same round and load."""
    spent = {(one.side, one.round, one.in_flight): one.cpu_us + (one.server_cpu_us or 0.0) for one in made}
    keys = [key for key in spent if key[0] == ours and spent.get((base, *key[1:]))]
    return sorted(spent[key] / spent[base, *key[1:]] for key in keys)


def cost(repeats: int = 300) -> float:
    """Return microseconds of processor time that one submission spends in the meters, which is the median of groups."""
    meters = Meters(metrics.ADMISSION_SECONDS, metrics.SCAN_SECONDS)
    writer = Meters(metrics.GROUP_SIZE, metrics.TRANSACTION_SECONDS, metrics.COMMIT_SECONDS)
    spent, took = [0.0001] * _GROUP, []
    for _ in range(repeats):
        began = thread_time()
        meters.observe(metrics.SCAN_SECONDS, *spent)
        for metric in (metrics.GROUP_SIZE, metrics.TRANSACTION_SECONDS, metrics.COMMIT_SECONDS):
            writer.observe(metric, 0.01)
        meters.count_attempts(Counter([("worker:bench", "accepted-for-review") for _ in spent]))
        for seconds in spent:
            meters.observe(metrics.ADMISSION_SECONDS, seconds)
        took.append(thread_time() - began)
    return median(took) / _GROUP * 1_000_000

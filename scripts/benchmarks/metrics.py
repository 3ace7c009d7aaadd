"""The section `metrics`: what counting and measuring cost a submission, on both engines.

The other side is the same service whose meters do nothing; no one reads `/metrics` meanwhile.
"""

from benchmarks.rounds import Rounds, Tell, carry_out
from benchmarks.sides import WITHOUT_METRICS, on_postgres, on_sqlite
from lib.processes import postgres, workplace


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured."""
    number, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    done = []
    with workplace() as folder, postgres(folder) as server:
        made = Rounds("metrics", folder, seconds, tell)
        pairs = [(on_sqlite("without metrics", WITHOUT_METRICS), on_sqlite(), "SQLite")]
        if not quick:
            bare = on_postgres(server, 1, "without metrics", WITHOUT_METRICS)
            pairs.append((bare, on_postgres(server), "PostgreSQL"))
        for base, ours, what in pairs:
            title = f"Submissions with metrics beside the same without: {what}"
            done.append(carry_out(made, [base, ours], number, base.name, title, as_json=as_json))
    return all(done)

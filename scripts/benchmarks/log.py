"""The section `log`: the cost of the transparency log per submission, on both engines and with several processes.

The other side is the same service without a log: leaves are neither built nor written, and on PostgreSQL writers do not
wait for each other's commits.
"""

from benchmarks.rounds import Rounds, Tell, carry_out
from benchmarks.sides import WITHOUT_LOG, on_postgres, on_sqlite
from lib.processes import postgres, workplace


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured."""
    number, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    done = []
    with workplace() as folder, postgres(folder) as server:
        pairs = [(on_sqlite("without log", WITHOUT_LOG), on_sqlite(), "SQLite")]
        for processes in (1,) if quick else (1, 2, 4):
            bare = on_postgres(server, processes, "without log", WITHOUT_LOG)
            pairs.append((bare, on_postgres(server, processes), f"PostgreSQL, {processes} process(es)"))
        made = Rounds("log", folder, seconds, tell)
        for base, ours, what in pairs:
            title = f"Submissions with the log beside the same without: {what}"
            done.append(carry_out(made, [base, ours], number, base.name, title, as_json=as_json))
    return all(done)

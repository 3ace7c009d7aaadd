"""The section `single`: single submissions over SQLite, beside a typed Litestar POST that stores nothing.

The service authenticates, parses strictly, normalizes, hashes, scans for private data, applies the policy, compares
keys and contents, and has the event on disk (`synchronous=FULL`) before it answers; the other side decodes the body and
answers.
"""

from benchmarks.rounds import Rounds, Tell, carry_out
from benchmarks.sides import no_op, on_postgres, on_sqlite
from lib.processes import postgres, workplace


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured."""
    number, seconds = rounds or (2 if quick else 5), 3.0 if quick else 5.0
    base, title = no_op(), "Single submissions beside a no-op on the same server"
    with workplace() as folder:
        if quick:
            return carry_out(
                Rounds("single", folder, seconds, tell), [base, on_sqlite()], number, base.name, title, as_json=as_json
            )
        with postgres(folder) as server:
            made = Rounds("single", folder, seconds, tell)
            sides = [base, on_sqlite(), on_postgres(server)]
            return carry_out(made, sides, number, base.name, title, as_json=as_json)

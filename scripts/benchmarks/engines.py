"""The section `engines`: one, two and four application processes over one PostgreSQL, beside FastAPI with a unique key.

Every side gets a fresh database on the same server. CPU is measured for all application processes, and separately for
all processes of PostgreSQL.
"""

from benchmarks.rounds import Rounds, Tell, carry_out
from benchmarks.sides import fastapi_postgres, on_postgres, on_sqlite
from lib.processes import postgres, workplace


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured."""
    number, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    with workplace() as folder, postgres(folder) as server:
        base = fastapi_postgres(server)
        sides = [base, on_postgres(server), on_sqlite()]
        if not quick:
            more = [on_postgres(server, processes) for processes in (2, 4)]
            sides = [base, fastapi_postgres(server, 2), on_postgres(server), *more, on_sqlite()]
        version = server.run("SHOW server_version")[0][0]
        made = Rounds("engines", folder, seconds, tell)
        return carry_out(made, sides, number, base.name, f"Submissions over PostgreSQL {version}", as_json=as_json)

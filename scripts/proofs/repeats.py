"""Repeat on PostgreSQL what the tests show on SQLite: routes, pages, clients, commands and flows.

The tests of the store itself run on both engines in `scripts/test`.
"""

from typing import Final

from proofs.suite import Part, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("postgres",)
command = Part("repeats", 1500, "reverse the rows of each look-up").command(
    __doc__, "repeat on PostgreSQL what tests show on SQLite"
)

"""Repeat on PostgreSQL what the tests show on SQLite: routes, pages, clients, commands and flows.

The tests of the store itself run on both engines in `scripts/test`.
"""

from typing import Final

import click

from proofs import closing
from proofs.suite import Part, Short, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("postgres",)
SHORT: Final = Short("short-repeats", 100, "of those tests that together run each statement")
PART: Final = Part("repeats", 1000, "reverse the rows of each look-up", SHORT)


@click.command(help=__doc__, short_help="repeat on PostgreSQL what tests show on SQLite")
@PART.options
def command(rounds: int | None, workers: int, paths: tuple[str, ...], form: closing.Form) -> None:
    """Run the proof."""
    PART.finish(rounds, workers, paths, form)

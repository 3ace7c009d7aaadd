"""Sabotage the other proofs: each must notice what is lost, doubled or altered on purpose, and fail."""

from typing import Final

import click

from proofs import closing
from proofs.suite import Part, Short, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("both",)
SHORT: Final = Short("short-alarms", 8, "on SQLite")
PART: Final = Part("alarms", 10, "sabotage nothing, so that no proof notices anything", SHORT)


@click.command(help=__doc__, short_help="sabotage the other proofs, which must notice it")
@PART.options
def command(rounds: int | None, workers: int, paths: tuple[str, ...], form: closing.Form) -> None:
    """Run the proof."""
    PART.finish(rounds, workers, paths, form)

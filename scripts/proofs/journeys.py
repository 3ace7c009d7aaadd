"""Use the desk in a real Chromium: each page and each key, with scripts and without, in each color scheme and size."""

from typing import Final

import click

from proofs import closing
from proofs.suite import Part, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("both",)
PART: Final = Part("journeys", 80, "leave the scripts of the desk out")


@click.command(help=__doc__, short_help="use the desk in a real browser")
@PART.options
def command(rounds: int | None, workers: int, paths: tuple[str, ...], form: closing.Form) -> None:
    """Run the proof."""
    PART.finish(rounds, workers, paths, form)

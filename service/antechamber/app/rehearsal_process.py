"""A process that rehearses a policy: it reads its order as JSON, and writes progress and report as lines of JSON.

It runs at low priority, so that the service beside it answers as before.
"""

import os
import sys
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from antechamber.app.rehearsing import rehearse
from antechamber.core.conversion import parse_json
from antechamber.core.errors import AntechamberError
from antechamber.core.rehearsal import RehearsalReport
from antechamber.settings import Location

_NICENESS: Final = 10


class RehearsalOrder(Struct, frozen=True, kw_only=True):
    """What to rehearse: the place of the data, the folders of both policies, and the number of submissions."""

    data: str
    database_url: str | None
    old: str
    new: str
    number: int


class RehearsalLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of output: progress, or the end with a report or an error."""

    done: int = 0
    total: int = 0
    report: RehearsalReport | None = None
    error: str = ""


def main() -> None:
    """Carry out the order on standard input."""
    os.nice(_NICENESS)
    order = parse_json(sys.stdin.buffer.read(), RehearsalOrder)
    place = Location(data=Path(order.data), database_url=order.database_url)
    try:
        report = rehearse(place, Path(order.old), Path(order.new), order.number, _show_progress)
    except AntechamberError as error:
        _say(RehearsalLine(error=str(error)))
    else:
        _say(RehearsalLine(report=report))


def _show_progress(done: int, total: int) -> None:
    """Write a line at each full percent."""
    if done == total or done * 100 // total != (done - 1) * 100 // total:
        _say(RehearsalLine(done=done, total=total))


def _say(line: RehearsalLine) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

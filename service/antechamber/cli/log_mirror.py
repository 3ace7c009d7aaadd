"""The verb that copies and verifies a log."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

import click

from antechamber.cli.options import fail
from antechamber.cli.terminal import say
from antechamber.client.log_mirror import LogMirror, Mirrored, NotCosignedError, opened_mirror
from antechamber.client.log_reader import LogReader, LogReadError
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.log.checkpoint_text import read_key
from antechamber.core.log.cosignature import read_witness_key

_LONGEST_PAUSE: Final = 300.0
"""Seconds between two attempts, at most, while the log cannot be read."""


@click.command()
@click.argument("url", metavar="URL")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--key",
    "keys",
    metavar="VKEY",
    multiple=True,
    help="Verifier key of the log, needed once; after a change of keys give the new one. Of several, the first has to "
    "have signed.",
)
@click.option(
    "--witness",
    "witnesses",
    metavar="VKEY",
    multiple=True,
    help="Verifier key of a witness that must cosign each checkpoint; may be repeated, and is remembered in DIR.",
)
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C or SIGTERM, which end it with status 0.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 86_400),
    default=10.0,
    show_default=True,
    help="Seconds between two looks with --follow.",
)
def mirror(
    url: str, folder: Path, keys: tuple[str, ...], witnesses: tuple[str, ...], interval: float, *, follow: bool
) -> None:
    """Copy the log of the service at URL into DIR, verify everything, and refuse a log that shrank or was forked.

    DIR gets the layout of C2SP tlog-tiles, so that a web server can serve it. Each file is verified before it gets its
    name. The command can be killed at any moment, and the next call goes on. A log that is not public needs the token
    of an auditor of all scopes in ANTECHAMBER_TOKEN.

    What contradicts the signed log is never taken over: DIR/evidence keeps it, and the exit status is 1. A checkpoint
    that a witness has not cosigned yet is not taken over either; --follow waits for it.
    """
    try:
        trusted, cosigning = [read_key(key) for key in keys], [read_witness_key(key) for key in witnesses]
        with (
            LogReader(url, os.environ.get("ANTECHAMBER_TOKEN", "")) as reader,
            opened_mirror(folder, reader, trusted, cosigning) as copy,
        ):
            if follow:
                signal.signal(signal.SIGTERM, _end)
                with contextlib.suppress(KeyboardInterrupt):
                    _follow(copy, folder, interval)
            else:
                _show(copy.update(_progress()), folder)
    except (LogReadError, NotCosignedError) as error:
        fail(LogReadError(f"{error}. What was verified so far is kept: run the same command again"))
    except OSError as error:
        fail(AntechamberError(f"{folder} cannot be written: {error.strerror or error}. What was verified is kept"))
    except AntechamberError as error:
        fail(error)


def _end(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _follow(copy: LogMirror, folder: Path, interval: float) -> NoReturn:
    """Update the copy again and again; pauses become longer while the log cannot be read or a witness is late."""
    pause, shown = interval, False
    while True:
        try:
            mirrored = copy.update(_progress())
        except (LogReadError, NotCosignedError) as error:
            if isinstance(error, LogReadError) and not error.temporary:
                raise
            pause = min(pause * 2, max(_LONGEST_PAUSE, interval))
            say(f"Error: {error}. It is tried again in {pause:.0f} s.", err=True)
        else:
            if not shown or mirrored.checkpoint.size > mirrored.before:
                _show(mirrored, folder)
            pause, shown = interval, True
        time.sleep(pause)


def _show(mirrored: Mirrored, folder: Path) -> None:
    size = mirrored.checkpoint.size
    leaves = counted(size, "leaf", "leaves")
    say(f"{folder}: {leaves} of {mirrored.checkpoint.origin}, {size - mirrored.before:,} of them new.")
    sys.stdout.flush()


def _progress() -> Callable[[int, int], None]:
    """Return what shows the progress on a terminal, and nothing elsewhere."""
    watched = sys.stderr.isatty()

    def report(done: int, due: int) -> None:
        if watched:
            click.echo(f"\r{done:>14,} of {due:,} leaves verified", err=True, nl=done == due)

    return report

"""Make backups under load, restore each, and look for every answer that was given before it began.

Agents submit and retry against a running service while `antechamber backup create` runs every two seconds. Afterwards
each archive is verified and restored into an empty folder (with --engine postgres into an empty database, too) as an
operator would do it, and the restored tables are compared with the answers.

Missing is an answer that was acknowledged before a backup began and that its restored tables do not hold. Unusable is
an archive that was not made, not verified or not restored.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import click
import psycopg

from lib.processes import postgres_programs, workplace
from proofs import closing
from proofs.crash import field_of
from proofs.crash_fields import READY_WITHIN, Field, OneServer
from proofs.crash_load import Client

ENGINES: Final = ("sqlite", "postgres")
BACKUPS: Final = 100
QUICK: Final = 8
EVERY: Final = 2.0
CLIENTS: Final = 6
LEAST: Final = {"backups": QUICK, "acknowledged": 50 * QUICK}
_HELD: Final = "SELECT idempotency_key FROM submissions"


class Taken(NamedTuple):
    """A backup, and the keys that were acknowledged before it began."""

    file: Path
    before: frozenset[str]
    seconds: float


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run(command: list[str]) -> bool:
    """Run a command; print what it says if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)  # noqa: S603 -- our own program
    if done.returncode:
        _note(done.stdout + done.stderr)
    return done.returncode == 0


def take(field: Field, folder: Path, number: int, every: float) -> tuple[list[Taken], int]:
    """Make backups while agents submit; return those that were made, and how many were not."""
    stop, taken, failed = threading.Event(), [], 0
    agents = [Client(one, field.sender(), field.ledger, stop) for one in range(CLIENTS)]
    for agent in agents:
        agent.start()
    try:
        for one in range(number):
            start = time.monotonic()
            before = frozenset(list(field.ledger.receipts))
            file = folder / f"backup-{one}.tar"
            if _run(field.application.command("backup", "create", str(file))):
                taken.append(Taken(file, before, time.monotonic() - start))
            else:
                failed += 1
            _note(f"{one + 1:>4} backups  {len(before):>8,} acknowledged before  {time.monotonic() - start:.1f} s")
            time.sleep(max(0.0, every - (time.monotonic() - start)))
    finally:
        stop.set()
        for agent in agents:
            agent.join(READY_WITHIN)
    return taken, failed


def restore(field: Field, one: Taken, folder: Path, *, sabotage: bool) -> int | None:
    """Verify and restore a backup; return how many answers it lacks, or None if it cannot be used."""
    command = [sys.executable, "-m", "antechamber.cli", "backup"]
    where = ["--data", str(folder)]
    url = field.server.empty() if isinstance(field, OneServer) else None
    if url is not None:
        where += ["--database-url", url]
    try:
        checked = _run([*command, "verify", str(one.file), *where[2:]])
        if not checked or not _run([*command, "restore", str(one.file), *where]):
            return None
        held = _keys(folder, url)
        if sabotage:
            held.discard(min(one.before, default=""))
        return len(one.before - held)
    finally:
        if url is not None and isinstance(field, OneServer):
            field.server.drop(url)


def _keys(folder: Path, url: str | None) -> set[str]:
    """Return all keys in restored tables."""
    if url is None:
        connection = sqlite3.connect(f"{(folder / 'antechamber.db').as_uri()}?mode=ro", uri=True)
        try:
            return {row[0] for row in connection.execute(_HELD)}
        finally:
            connection.close()
    with psycopg.connect(url) as database:
        database.execute("SET search_path = antechamber")
        return {row[0] for row in database.execute(_HELD).fetchall()}


def prove(engine: str, number: int, every: float, *, sabotage: bool) -> dict[str, Any]:
    """Make and restore all backups; return the counts."""
    start, missing, unusable, restoring = time.monotonic(), 0, 0, []
    with workplace() as folder, field_of(engine, folder) as field:
        taken, unusable = take(field, folder, number, every)
        for count, one in enumerate(taken, 1):
            began, target = time.monotonic(), folder / f"restored-{count}"
            lacks = restore(field, one, target, sabotage=sabotage and count == len(taken))
            restoring.append(time.monotonic() - began)
            missing, unusable = missing + (lacks or 0), unusable + (lacks is None)
            _note(f"{count:>4} restored  {len(one.before):>8,} answers looked for  {missing} missing")
            subprocess.run(["rm", "-rf", str(target), str(one.file)], check=True)  # noqa: S603, S607 -- our own folder
        return {
            "backups": len(taken),
            "acknowledged": len(field.ledger.receipts),
            "looked_for": sum(len(one.before) for one in taken),
            "missing": missing,
            "unusable": unusable,
            "refused": len(field.ledger.refused) + len(field.ledger.unanswered),
            "tracebacks": field.report_errors(),
            "create_median_s": round(median(one.seconds for one in taken), 2) if taken else None,
            "restore_median_s": round(median(restoring), 2) if restoring else None,
            "seconds": round(time.monotonic() - start),
        }


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return (
        f"{numbers['backups']} backups under load restored, {numbers['looked_for']:,} answers looked for, "
        f"{numbers['missing']} missing, {numbers['unusable']} backups unusable"
    )


def show(numbers: closing.Numbers) -> None:
    """Print the final counts."""
    print(json.dumps(numbers, indent=1))


@click.command(help=__doc__, short_help="restore backups that were made under load, and look for every answer")
@click.option("--engine", type=click.Choice(ENGINES), default="sqlite", show_default=True)
@click.option("--backups", type=click.IntRange(1), help=f"number of backups; {BACKUPS} by default")
@closing.options(quick=f"{QUICK} backups; about a minute", sabotage="take one answer from the last restored backup")
def command(engine: str, backups: int | None, form: closing.Form) -> None:
    """Run the proof."""
    os.environ["PATH"] = postgres_programs()
    number = backups or (QUICK if form.quick else BACKUPS)
    numbers = prove(engine, number, EVERY, sabotage=form.sabotage)
    scale = form.scale(BACKUPS // QUICK, by_hand=backups is not None)
    numbers["too_little"] = closing.too_little(numbers, LEAST, scale)
    good = not any(numbers[name] for name in ("missing", "unusable", "refused", "tracebacks"))
    closing.finish(numbers, form, show, good=good and numbers["backups"] == number)

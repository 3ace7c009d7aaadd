"""Let a service soak: mixed load with kills, failovers, slow clients, reloads, backups and new keys, for two hours.

With --engine postgres two hosts serve the cluster of `scripts/prove failover`, with --engine sqlite one process serves
a folder. Agents submit one by one and in batches, retry, contradict themselves, send private events, search, follow
changes and call MCP tools; curators approve, reject, edit, ask, undo and end memories; a person signs in and out; an
auditor takes signed checkpoints and verified exports; monitoring scrapes; slow clients send half a head or body and do
not read. A mirror follows the memories, and a webhook gets them.

Meanwhile, one after another: a process is killed, the policy is changed and broken, a backup is made and verified, the
log gets a new key, a token is issued and revoked, the receiver of the webhook refuses, the mirror is killed, and on
PostgreSQL each fault of `scripts/prove failover`.

In the end nothing acknowledged may be lost or doubled, no answer may have been unexpected, each process must be ready
without an alarm, doctor must find nothing, the log must be verified from its first key to its last, the mirror must
equal the service, and each disturbance must have ended as promised. Resident memory and open files of each process must
be flat: the median of the last quarter of its time is at most 10 % or 16 MiB, or 16 files, above that of the second
quarter. In the second half no process is killed, so that each is judged over a long time.

The form for PostgreSQL needs what `scripts/prove failover` needs, and says so where that is missing.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

import click

from lib.processes import postgres_programs, workplace
from proofs import closing
from proofs.failover import enter
from proofs.failover_cluster import Cluster
from proofs.failover_packages import MissingError, Programs, fetch
from proofs.soak_disturbances import KINDS
from proofs.soak_run import Soak

ENGINES: Final = ("sqlite", "postgres")
MINUTES: Final = 120.0
QUICK: Final = 2.5
FULL: Final = 3
"""How many times as much as the quick form the full form has to try at least; it makes some eight rounds."""
LEAST: Final = {"acknowledged": 200, "decisions": 10, "exports": 1}
_FAULTS: Final = 2
"""Minimum of faults of the cluster in the quick form."""
COUNTED: Final = (
    "lost",
    "doubled",
    "refused",
    "unanswered",
    "refusals_changed",
    "decisions_lost",
    "decisions_doubled",
    "decisions_refused",
    "decisions_unanswered",
    "memories_wrong",
    "branches",
    "tracebacks",
    "mirror_differs",
    "mirror_ended",
    "files_broken",
    "webhook_waits",
    "webhook_disordered",
    "keys_missing",
)
LISTED: Final = ("broken", "improper", "unexpected", "alarms", "doctor")
_MADE: Final = ("disturbances", "acknowledged", "decisions", "refusals", "exports", "keys", "backups")


def findings(numbers: closing.Numbers) -> list[str]:
    """Return every promise that did not hold, one line each."""
    found = [f"{name}: {numbers[name]}" for name in COUNTED if numbers[name]]
    found += [f"{name}: {numbers[name]}" for name in LISTED if numbers[name]]
    found += ["an alarm is left, or a process is not ready"] if not numbers["quiet"] else []
    return found + [f"{one['process']} grew: {one}" for one in numbers["series"] if not one["flat"]]


def show(numbers: closing.Numbers) -> None:
    """Print the final table."""
    if "not_run" in numbers:
        print(f"NOT RUN: soak, because {numbers['not_run']}")
        return
    print(f"\n{numbers['minutes']} minutes of load, {numbers['seconds']} s in all, {numbers['cores_used']} cores used")
    for name, value in numbers.items():
        if name not in {"series", "processes", *COUNTED, *LISTED}:
            print(f"{name:<24}{value}")
    print(f"\n{'':<10}{'seconds':>9}{'memory, MiB':>20}{'MiB an hour':>14}{'files':>14}{'an hour':>10}")
    for one in numbers["series"]:
        memory, files = ([f"{number}" for number in one[name]] for name in ("memory_mib", "files"))
        print(
            f"{one['process']:<10}{one['seconds']:>9}{' → '.join(memory):>20}{one['memory_slope_mib_h']:>14}"
            f"{' → '.join(files):>14}{one['files_slope_h']:>10}  {'flat' if one['flat'] else 'GREW'}"
        )
    print()
    for name in (*COUNTED, *LISTED):
        print(f"{name:<24}{numbers[name] or 0}")


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    if "not_run" in numbers:
        return f"not run, because {numbers['not_run']}"
    return (
        f"{numbers['minutes']} minutes, {sum(numbers['disturbances'].values())} disturbances, "
        f"{numbers['acknowledged']:,} submissions and {numbers['decisions']:,} decisions acknowledged, "
        f"{'; '.join(findings(numbers)) or 'nothing lost, doubled, unexpected or grown'}"
    )


def too_little(numbers: closing.Numbers, engine: str, scale: int) -> list[str]:
    """Return the events and disturbances that were too few, and the processes that no series judges."""
    made = numbers["disturbances"]
    faults = {"faults": sum(number for kind, number in made.items() if kind not in KINDS)}
    least = LEAST | dict.fromkeys(KINDS, 1) | ({"faults": _FAULTS} if engine == "postgres" else {})
    missing = closing.too_little(numbers | made | faults, least, scale)
    unjudged = set(numbers["processes"]) - {one["process"] for one in numbers["series"]}
    return missing + [f"no series of {name} was long enough" for name in sorted(unjudged) if scale]


def prove(folder: Path, programs: Programs | None, minutes: float, form: closing.Form) -> closing.Numbers:
    """Soak, with a cluster of these programs or without one; return the counts."""
    start = time.monotonic()
    cluster = Cluster(folder, programs, synchronous=True) if programs else None
    try:
        soak = Soak(folder, cluster, minutes * 60)
        if form.sabotage:
            soak.sabotage()
        try:
            try:
                soak.run()
            finally:
                soak.end()
            numbers = soak.numbers()
        finally:
            soak.close()
    finally:
        if cluster is not None:
            cluster.close()
    return numbers | {"minutes": minutes, "seconds": round(time.monotonic() - start)}


@click.command(help=__doc__, short_help="let the service soak under load and disturbances, and see that it stays flat")
@click.option("--engine", type=click.Choice(ENGINES), default="postgres", show_default=True)
@click.option("--minutes", type=click.FloatRange(0.25), help=f"minutes of load; {MINUTES:.0f} by default")
@click.option("--inside", type=click.Path(path_type=Path), hidden=True)
@closing.options(quick=f"{QUICK} minutes of load", sabotage="let a process leak, and lose an answer")
def command(engine: str, minutes: float | None, inside: Path | None, form: closing.Form) -> None:
    """Run the proof."""
    programs = None
    if engine == "postgres":
        try:
            programs = fetch()
        except MissingError as error:
            missing = {"not_run": str(error), "too_little": []}
            closing.finish(missing, form, show, good="CI" not in os.environ and not form.strict)
    length = minutes or (QUICK if form.quick else MINUTES)
    with workplace() as folder:
        if programs is not None and inside is None:
            arguments = ["--engine", engine, "--minutes", str(length)]
            arguments += ["--quick"] * form.quick + ["--strict"] * form.strict
            arguments += ["--sabotage"] * form.sabotage + ["--json"] * form.as_json
            sys.exit(enter("soak", folder, arguments))
        os.environ["PATH"] = postgres_programs() if programs is None else _path_of(programs, inside or folder)
        os.environ |= {"ANTECHAMBER_REQUIRE_SYNCHRONOUS": "1"} if programs else {}
        numbers = prove(inside or folder, programs, length, form)
    numbers["too_little"] = too_little(numbers, engine, form.scale(FULL, by_hand=minutes is not None))
    found = findings(numbers)
    for line in found:
        print(f"NOT HELD: {line}"[:2000], file=sys.stderr)
    closing.finish(numbers, form, show, good=not found)


def _path_of(programs: Programs, folder: Path) -> str:
    """Return a PATH on which pg_dump and pg_restore of the cluster come first, with the libraries that they need."""
    place = folder / "programs"
    place.mkdir()
    for name in ("pg_dump", "pg_restore"):
        libraries = programs.environment["LD_LIBRARY_PATH"]
        file = place / name
        file.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{programs.postgres / name}" "$@"\n')
        file.chmod(0o755)
    return os.pathsep.join([str(place), os.environ["PATH"]])

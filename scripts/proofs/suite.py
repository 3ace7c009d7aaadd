"""Proofs that are parts of the tests: how they are run, again and again, and what of them counts.

`scripts/test` leaves these parts out, because they take as long as all the rest.
"""

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from lib.processes import workplace
from proofs import closing

CHECKOUT: Final = Path(__file__).resolve().parents[2]
ROUNDS: Final = 3
"""Rounds of the full form: a test that depends on time or order fails in one of them."""


class Short(NamedTuple):
    """What the quick form runs instead: a part of `tests/parts.py`, its smallest number of tests, and what it is."""

    name: str
    least: int
    what: str


class Part:
    """A part of the tests as a proof.

    `name` is the part of `tests/parts.py`, and `least` the smallest number of tests in a round. `planted` describes the
    mistake that a sabotage plants.
    """

    def __init__(self, name: str, least: int, planted: str, short: Short | None = None) -> None:
        self.name = name
        self.planted = planted
        self.long = Short(name, least, "of all tests")
        self.short = short or self.long

    def prove(self, rounds: int, workers: int, paths: Sequence[str], form: closing.Form) -> closing.Numbers:
        """Run the tests of the part, or of some files, in each round; return the counts."""
        part = self.short if form.quick else self.long
        failed: list[str] = []
        skipped = ran = 0
        with workplace() as folder:
            for number in range(1, rounds + 1):
                report = folder / f"{number}.xml"
                status = self._run(part.name, report, workers, paths, sabotage=form.sabotage)
                cases = list(ET.parse(report).iter("testcase")) if report.exists() else []  # noqa: S314 -- our own file
                ran += len(cases)
                skipped += sum(case.find("skipped") is not None for case in cases)
                wrong = [_name(case) for case in cases if {"failure", "error"} & {part.tag for part in case}]
                failed += wrong or ([f"pytest ended with status {status}"] if status else [])
        counts = {"tests": ran - skipped}
        scale = rounds if form.strict or not paths else 0
        numbers = {"rounds": rounds, **counts, "skipped": skipped, "failed": sorted(failed)}
        return numbers | {"too_little": closing.too_little(counts, {"tests": part.least}, scale)}

    def _run(self, part: str, report: Path, workers: int, paths: Sequence[str], *, sabotage: bool) -> int:
        """Run one round, and return its exit status."""
        command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", str(workers), "--dist", "worksteal"]
        command += ["--part", part, f"--junitxml={report}", *paths]
        environment = dict(os.environ)
        if sabotage:
            command += ["-p", "proofs.planted"]
            environment["PLANTED"] = self.name
        # Standard output is for the closing numbers.
        process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=sys.stderr)  # noqa: S603 -- our own tests
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                # At an interrupt, the tests stop the servers that they started.
                process.send_signal(signal.SIGINT)
                process.wait()

    def options(self, function: Callable[..., None]) -> Callable[..., None]:
        """Add the options of the proof; the function receives rounds, workers, paths and form."""
        for add in (
            closing.options(quick=f"one round {self.short.what}", sabotage=self.planted),
            click.option(
                "--only", "paths", multiple=True, metavar="PATH", help="a test file; may be given several times"
            ),
            click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="one per core"),
            click.option("--rounds", type=click.IntRange(1), help=f"{ROUNDS} by default"),
        ):
            function = add(function)
        return function

    def finish(self, rounds: int | None, workers: int, paths: Sequence[str], form: closing.Form) -> None:
        """Run the proof, print the counts and exit."""
        numbers = self.prove(rounds or (1 if form.quick else ROUNDS), workers, paths, form)
        closing.finish(numbers, form, _show, good=not numbers["failed"] and not numbers["skipped"])


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return f"{numbers['tests']:,} tests, {len(numbers['failed'])} failed, {numbers['skipped']} skipped"


def _name(case: ET.Element) -> str:
    return f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"


def _show(numbers: closing.Numbers) -> None:
    print(f"{brief(numbers)}, in {numbers['rounds']} rounds")
    print(*numbers["failed"], sep="\n", end="\n" if numbers["failed"] else "")

"""Proofs that are parts of the tests: how they are run, again and again, and what of them counts.

`scripts/test` leaves these parts out, because they take as long as all the rest.
"""

import contextlib
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from lib.processes import end, workplace
from proofs import closing

CHECKOUT: Final = Path(__file__).resolve().parents[2]
ROUNDS: Final = 3
"""Rounds of the full form: a test that depends on time or order fails in one of them."""
_TEARDOWN_SECONDS: Final = 15
"""How long interrupted tests may take to stop what they started; `scripts/prove all` waits for 20 seconds."""


class Part(NamedTuple):
    """A part of the tests as a proof."""

    name: str
    """Its name in `tests/parts.py`."""
    least: int
    """The smallest number of tests in a round."""
    planted: str
    """The mistake that a sabotage plants, as a part of a sentence."""

    def prove(self, rounds: int, workers: int, paths: Sequence[str], form: closing.Form) -> closing.Numbers:
        """Run the tests of the part, or of some files, in each round; return the counts."""
        failed: list[str] = []
        skipped = ran = 0
        with workplace() as folder:
            for number in range(1, rounds + 1):
                report = folder / f"{number}.xml"
                status = self._run(report, workers, paths, sabotage=form.sabotage)
                cases = list(ET.parse(report).iter("testcase")) if report.exists() else []  # noqa: S314 -- our own file
                ran += len(cases)
                skipped += sum(case.find("skipped") is not None for case in cases)
                wrong = [_name(case) for case in cases if {"failure", "error"} & {part.tag for part in case}]
                failed += wrong or ([f"pytest ended with status {status}"] if status else [])
        counts = {"tests": ran - skipped}
        scale = rounds if form.strict or not paths else 0
        numbers = {"rounds": rounds, **counts, "skipped": skipped, "failed": sorted(failed)}
        return numbers | {"too_little": closing.too_little(counts, {"tests": self.least}, scale)}

    def _run(self, report: Path, workers: int, paths: Sequence[str], *, sabotage: bool) -> int:
        """Run one round, and return its exit status."""
        command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", str(workers), "--dist", "worksteal"]
        command += ["--part", self.name, f"--junitxml={report}", *paths]
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
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_TEARDOWN_SECONDS)
                end(process)

    def command(self, what: str, short: str) -> click.Command:
        """Return the command of the proof; `what` explains it, and `short` says it in a line."""

        @click.command(help=what, short_help=short)
        @click.option("--rounds", type=click.IntRange(1), help=f"{ROUNDS} by default")
        @click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="one per core")
        @click.option("--only", "paths", multiple=True, metavar="PATH", help="a test file; may be given several times")
        @closing.options(quick="one round", sabotage=self.planted)
        def command(rounds: int | None, workers: int, paths: tuple[str, ...], form: closing.Form) -> None:
            numbers = self.prove(rounds or (1 if form.quick else ROUNDS), workers, paths, form)
            closing.finish(numbers, form, _show, good=not numbers["failed"] and not numbers["skipped"])

        return command


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return f"{numbers['tests']:,} tests, {len(numbers['failed'])} failed, {numbers['skipped']} skipped"


def _name(case: ET.Element) -> str:
    return f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"


def _show(numbers: closing.Numbers) -> None:
    print(f"{brief(numbers)}, in {numbers['rounds']} rounds")
    print(*numbers["failed"], sep="\n", end="\n" if numbers["failed"] else "")

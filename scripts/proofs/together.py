"""Run every proof on each engine that it knows."""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import ModuleType
from typing import Final, NamedTuple

import click

from lib.processes import end
from proofs import closing

PROOFS: Final = (
    "repeats",
    "journeys",
    "alarms",
    "crash",
    "races",
    "histories",
    "ledger",
    "guard",
    "mirror",
    "tamper",
    "backup",
    "failover",
    "operate",
    "soak",
)
"""The modules of this package with a `command`, its `ENGINES` and `brief`; the longest quick forms begin."""
ENGINES: Final = ("sqlite", "postgres")
QUICK_SECONDS: Final = 3600
"""Timeout of a quick proof in seconds."""
QUICK_JOBS: Final = 2
"""Quick proofs at a time. A quick proof waits for other processes about half the time, and judges no speed."""


def load(proof: str) -> ModuleType:
    """Import the module of a proof; some import libraries that take seconds."""
    return importlib.import_module(f"proofs.{proof}")


class Outcome(NamedTuple):
    """The result of one proof; without counts if it did not finish."""

    proof: str
    engine: str
    good: bool
    seconds: float
    numbers: closing.Numbers | None
    said: str
    """Its output on standard error."""

    @property
    def verdict(self) -> str:
        """Return the result in one word."""
        return "ok" if self.good else "FAILED"

    def line(self) -> str:
        """Return the result and the counts in one line."""
        found = "broke off" if self.numbers is None else load(self.proof).brief(self.numbers)
        return f"{self.verdict}, {self.seconds:.0f} s: {found}"


def _run(proof: str, engine: str, options: Sequence[str], seconds: float, ended: threading.Event) -> Outcome:
    """Run one proof in a process of its own, for at most `seconds`, and not beyond `ended`."""
    command = [sys.executable, "-m", "proofs", proof, "--json", *options]
    command += ["--engine", engine] if len(load(proof).ENGINES) > 1 else []
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 -- our own program
    printed, said = b"", b""
    try:
        while process.returncode is None and not ended.is_set():
            with contextlib.suppress(subprocess.TimeoutExpired):
                printed, said = process.communicate(timeout=1)
            if process.returncode is None and time.monotonic() - start > seconds:
                said = f"the proof did not end in {seconds:.0f} s".encode()
                break
    finally:
        end(process)
    numbers: closing.Numbers | None = None
    with contextlib.suppress(ValueError):
        numbers = json.loads(printed)
    good = process.returncode == 0 and numbers is not None
    return Outcome(proof, engine, good, time.monotonic() - start, numbers, said.decode(errors="replace"))


def _outcomes(
    wanted: Sequence[tuple[str, str]], jobs: int, *, quick: bool, sabotage: Sequence[str]
) -> Generator[Outcome, None, None]:
    """Run proofs, `jobs` at a time, and yield each outcome when it is there; an interrupt ends all of them."""
    ended, seconds = threading.Event(), QUICK_SECONDS if quick else float("inf")
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = [
                pool.submit(
                    _run, name, engine, ["--quick"] * quick + ["--sabotage"] * (name in sabotage), seconds, ended
                )
                for name, engine in wanted
            ]
            for done in as_completed(running):
                yield done.result()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)


def _report(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        summary = {"proof": outcome.proof, "engine": outcome.engine, "good": outcome.good}
        print(json.dumps(summary | {"seconds": round(outcome.seconds), "numbers": outcome.numbers}), flush=True)
    else:
        print(f"{outcome.proof} on {outcome.engine}: {outcome.line()}", flush=True)
    if not outcome.good:
        print(outcome.said.rstrip(), file=sys.stderr, flush=True)
        if outcome.numbers is not None:
            print(json.dumps(outcome.numbers), file=sys.stderr, flush=True)


@click.command(help=f"{__doc__} A failure does not end the run; status 1 says that one failed.", short_help=__doc__)
@click.option("--quick", is_flag=True, help="each in its quick form; about half an hour in all on two slow cores")
@click.option(
    "--engine", type=click.Choice(ENGINES), help="only the proofs that know this engine, on it if they know several"
)
@click.option("--only", type=click.Choice(PROOFS), multiple=True, help="one proof; may be given several times")
@click.option("--sabotage", type=click.Choice(PROOFS), multiple=True, help="sabotage a proof, which must then fail")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help=f"proofs at a time; without it one, and with --quick as many as there are cores, at most {QUICK_JOBS}",
)
@click.option("--json", "as_json", is_flag=True, help="print a JSON line for each proof instead of the table")
def command(
    *,
    quick: bool,
    engine: str | None,
    only: tuple[str, ...],
    sabotage: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run the proofs."""
    jobs = jobs or (min(QUICK_JOBS, os.cpu_count() or 1) if quick else 1)
    known = [(name, one) for name in only or PROOFS for one in load(name).ENGINES]
    wanted = [(name, one) for name, one in known if engine is None or one in {engine, "both"}]
    if not as_json:
        print(f"{len(wanted)} proofs, {jobs} at a time …", flush=True)
    outcomes = []
    with contextlib.closing(_outcomes(wanted, jobs, quick=quick, sabotage=sabotage)) as found:
        for outcome in found:
            outcomes.append(outcome)
            _report(outcome, as_json=as_json)
    if not as_json:
        print(f"\n{'proof':<12}{'engine':<10}{'':<8}{'seconds':>8}")
        for one in sorted(outcomes, key=lambda done: wanted.index((done.proof, done.engine))):
            print(f"{one.proof:<12}{one.engine:<10}{one.verdict:<8}{one.seconds:>8.0f}")
    failed = sum(not one.good for one in outcomes)
    if failed:
        print(f"{failed} of {len(outcomes)} proofs failed.", file=sys.stderr)
    sys.exit(1 if failed or not outcomes else 0)

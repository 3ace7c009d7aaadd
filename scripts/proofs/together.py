"""Run every proof on each engine that it knows, one after another."""

import contextlib
import json
import subprocess
import sys
import time
from types import ModuleType
from typing import Final, NamedTuple

import click

from lib.processes import end
from proofs import backup, closing, crash, failover, guard, histories, ledger, mirror, operate, races, soak, tamper

PROOFS: Final[dict[str, ModuleType]] = {
    "crash": crash,
    "races": races,
    "histories": histories,
    "ledger": ledger,
    "guard": guard,
    "mirror": mirror,
    "tamper": tamper,
    "backup": backup,
    "failover": failover,
    "operate": operate,
    "soak": soak,
}
ENGINES: Final = ("sqlite", "postgres")
QUICK_SECONDS: Final = 600
"""Timeout of a quick proof in seconds."""


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
        found = "broke off" if self.numbers is None else PROOFS[self.proof].brief(self.numbers)
        return f"{self.verdict}, {self.seconds:.0f} s: {found}"


def _run(proof: str, engine: str, *, quick: bool, sabotage: bool) -> Outcome:
    command = [sys.executable, "-m", "proofs", proof, "--json"]
    command += ["--engine", engine] if len(PROOFS[proof].ENGINES) > 1 else []
    command += ["--quick"] * quick + ["--sabotage"] * sabotage
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 -- our own program
    try:
        printed, said = process.communicate(timeout=QUICK_SECONDS if quick else None)
    except subprocess.TimeoutExpired:
        process.terminate()
        printed, said = b"", f"the proof did not end in {QUICK_SECONDS} s".encode()
    finally:
        end(process)
    numbers: closing.Numbers | None = None
    with contextlib.suppress(ValueError):
        numbers = json.loads(printed)
    good = process.returncode == 0 and numbers is not None
    return Outcome(proof, engine, good, time.monotonic() - start, numbers, said.decode(errors="replace"))


def _report(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        summary = {"proof": outcome.proof, "engine": outcome.engine, "good": outcome.good}
        print(json.dumps(summary | {"seconds": round(outcome.seconds), "numbers": outcome.numbers}), flush=True)
    else:
        print(outcome.line(), flush=True)
    if not outcome.good:
        print(outcome.said.rstrip(), file=sys.stderr, flush=True)
        if outcome.numbers is not None:
            print(json.dumps(outcome.numbers), file=sys.stderr, flush=True)


@click.command(help=f"{__doc__} A failure does not end the run; status 1 says that one failed.", short_help=__doc__)
@click.option("--quick", is_flag=True, help="each in its quick form; about twenty minutes in all")
@click.option("--engine", type=click.Choice(ENGINES), help="only the proofs that know this engine, on it")
@click.option("--only", type=click.Choice(list(PROOFS)), multiple=True, help="one proof; may be given several times")
@click.option(
    "--sabotage", type=click.Choice(list(PROOFS)), multiple=True, help="sabotage a proof, which must then fail"
)
@click.option("--json", "as_json", is_flag=True, help="print a JSON line for each proof instead of the table")
def command(
    *, quick: bool, engine: str | None, only: tuple[str, ...], sabotage: tuple[str, ...], as_json: bool
) -> None:
    """Run the proofs."""
    outcomes = []
    for name in only or PROOFS:
        for one in PROOFS[name].ENGINES:
            if engine in {None, one}:
                if not as_json:
                    print(f"{name} on {one}: ", end="", flush=True)
                outcomes.append(_run(name, one, quick=quick, sabotage=name in sabotage))
                _report(outcomes[-1], as_json=as_json)
    if not as_json:
        print(f"\n{'proof':<12}{'engine':<10}{'':<8}{'seconds':>8}")
        for one in outcomes:
            print(f"{one.proof:<12}{one.engine:<10}{one.verdict:<8}{one.seconds:>8.0f}")
    failed = sum(not one.good for one in outcomes)
    if failed:
        print(f"{failed} of {len(outcomes)} proofs failed.", file=sys.stderr)
    sys.exit(1 if failed or not outcomes else 0)

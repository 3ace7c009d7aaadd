"""The section `ledger`: the cost of the write-ahead ledger for an agent, and the recovery of 100,000 operations.

One agent submits events one after another: over a bare connection, with a submitter without a ledger, and with one
whose every operation is on disk before it is sent and again when it is answered. Then a ledger of uncertain operations
is recovered in a separate process, whose memory is measured before and after.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from antechamber.client import Ledger, Submitter
from antechamber.core.outgoing import body_of
from benchmarks.rounds import Tell
from lib.processes import PRODUCER, SCOPE, Application, end, free_port, workplace

EACH: Final = 400
"""Submissions per side in one round."""
MANY: Final = 100_000
_TOGETHER: Final = 1000


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every event was stored."""
    number, many = rounds or (2 if quick else 5), 2_000 if quick else MANY
    with workplace() as folder:
        application, port = Application(folder, None), free_port()
        process, url = application.start(port), f"http://127.0.0.1:{port}"
        try:
            made = []
            for count in range(1, number + 1):
                made.append(_round(folder, url, application.token, count))
                tell(f"round {count}  " + "  ".join(f"{name} {ms:.2f} ms" for name, ms in made[-1].items()))
            tell(f"recording {many:,} operations …")
            found = _recovered(folder, url, application.token, many)
        finally:
            end(process)
    sides = {name: median(one[name] for one in made) for name in made[0]}
    ratios = {
        other: sorted(one["with a ledger"] / one[other] for one in made) for other in sides if other != "with a ledger"
    }
    _tell(sides, ratios, found, as_json=as_json)
    return bool(found["uncertain"] == 0 and found["committed"] == many)


def _event(name: str) -> dict[str, Any]:
    return {
        "producer_identity": PRODUCER,
        "submission_scope": "project",
        "scope_id": SCOPE,
        "payload": {"kind": "fact", "content": f"Lesson {name}: " + "what is learned is told at some length. " * 10},
        "source_span": {"uri": "repo://bench/LEDGER.md"},
    }


def _round(folder: Path, url: str, token: str, count: int) -> dict[str, float]:
    """Return the milliseconds per submission for each side."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    with (
        httpx.Client(base_url=url, headers=headers) as bare,
        Submitter(url, token) as plain,
        Ledger(folder / "agent.ledger") as ledger,
        Submitter(url, token, ledger) as careful,
    ):
        sides: dict[str, Callable[[dict[str, Any]], object]] = {
            "bare connection": lambda event: bare.post(
                "/v1/submissions", content=body_of(event, None).body
            ).raise_for_status(),
            "without a ledger": plain.submit,
            "with a ledger": careful.submit,
        }
        return {name: _each(act, f"{name} {count}") for name, act in sides.items()}


def _each(act: Callable[[dict[str, Any]], object], name: str) -> float:
    events = [_event(f"{name} {number}") for number in range(EACH)]
    started = time.perf_counter()
    for event in events:
        act(event)
    return (time.perf_counter() - started) * 1000 / EACH


def _recovered(folder: Path, url: str, token: str, many: int) -> dict[str, Any]:
    path = folder / "many.ledger"
    with Ledger(path) as ledger:
        for first in range(0, many, _TOGETHER):
            with ledger.together():
                for number in range(first, min(first + _TOGETHER, many)):
                    ledger.begin(ledger.prepare(_event(f"many {number}")))
    command = [sys.executable, "-m", "benchmarks.ledger", str(path), url, token]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- our own program
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"file_mb": path.stat().st_size / 1e6}


def _recover(path: Path, url: str, token: str) -> None:
    """Recover in a separate process, and print the cost."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    with Ledger(path) as ledger:
        opened = time.perf_counter()
        with Submitter(url, token, ledger) as submitter:
            submitter.recover()
        ended = time.perf_counter()
        counts = ledger.counts()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    took = {"opened_s": opened - started, "recovered_s": ended - opened, "grown_mb": grown}
    print(json.dumps({**counts, **took}))


def _tell(sides: dict[str, float], ratios: dict[str, list[float]], found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"section": "ledger", "ms": sides, "ratios": ratios, "recovery": found}))
        return
    print("\nOne submission after another, milliseconds each:\n")
    for name, ms in sides.items():
        print(f"{name:<18}{ms:>8.2f}")
    for name, all_of_them in ratios.items():
        spread = f"{all_of_them[0]:.2f}-{all_of_them[-1]:.2f}"
        print(f"with a ledger, as many times as long as {name}: {median(all_of_them):.2f} ({spread})")
    number = found["committed"]
    print(
        f"\n{number:,} uncertain operations in {found['file_mb']:.0f} MB: opened in {found['opened_s']:.1f} s, "
        f"recovered in {found['recovered_s']:.1f} s, memory grown by {found['grown_mb']:.0f} MB"
    )


if __name__ == "__main__":
    _recover(Path(sys.argv[1]), *sys.argv[2:])

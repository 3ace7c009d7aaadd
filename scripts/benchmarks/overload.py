"""The section `overload`: far more load than can be stored, with bodies of maximum size.

A thousand connections post bodies of 60 kB as fast as they are answered, first new ones and then replays. Beyond its
queue limit the service answers 503; any other refusal fails the run. Resident memory is sampled ten times a second and
compared between the two halves; a single submission right after the load shows that the service has recovered.
"""

import http.client
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil

from antechamber.core.outgoing import hash_event
from benchmarks.load import body, load, loader, reshape, write_bodies
from benchmarks.rounds import Tell
from benchmarks.sides import on_sqlite
from lib.processes import workplace

_CONNECTIONS: Final = 1000
_FILLING: Final = "What is said at length is said once more. "
_BYTES: Final = 60_000
_BODIES: Final = 8_000
_FEW: Final = 2_000
_MEGABYTE: Final = 1e6


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    number, seconds, bodies = (rounds or 1, 4.0, _FEW) if quick else (rounds or 5, 30.0, _BODIES)
    made: list[dict[str, Any]] = []
    with workplace() as folder:
        tell(f"overload: load by {loader()}; making the bodies …")
        source = write_bodies(folder, "small", bodies)
        large = folder / "large."
        reshape(source, large, _lengthen)
        for count in range(1, number + 1):
            made.append({"section": "overload", "round": count, **_round(folder / f"round-{count}", large, seconds)})
            tell("  ".join(f"{name} {value}" for name, value in made[-1].items()))
            if as_json:
                print(json.dumps(made[-1]), flush=True)
    middle = {name: median(one[name] for one in made) for name in made[0] if name not in {"section", "round"}}
    if as_json:
        print(json.dumps({"section": "overload", "summary": True, "rounds": number, **middle}))
    else:
        print(f"\n{_CONNECTIONS:,} connections, bodies of {_BYTES:,} bytes, {seconds:g} s, {number} rounds.\n")
        for name, value in middle.items():
            print(f"{name:<30}{value:>12,.1f}")
    return all(one["broken"] == one["refused otherwise"] == 0 and one["stored"] == bodies for one in made)


def _lengthen(raw: bytes) -> bytes:
    event = msgspec.json.decode(raw)
    event["payload"]["content"] += " " + _FILLING * ((_BYTES - len(raw)) // len(_FILLING))
    event["payload"]["content"] = event["payload"]["content"].strip()
    return msgspec.json.encode(event | {"source_event_hash": hash_event(event)})


def _round(folder: Path, bodies: Path, seconds: float) -> dict[str, Any]:
    with on_sqlite().start(folder) as running:
        at_rest = _resident(running.processes)
        watch = _Watch(running.processes)
        seen = load(bodies, running.ports, running.token, _CONNECTIONS, seconds, again=True)
        samples = watch.end()
        start = time.monotonic()
        status = _single(running.ports[0], running.token)
        after = (time.monotonic() - start) * 1000
        stored = running.count() if running.count else 0
    half = len(samples) // 2
    return {
        "acknowledged": seen.acknowledged,
        "stored": stored - (status == 201),  # noqa: PLR2004 -- created
        "said 503": seen.unavailable,
        "refused otherwise": seen.refused - seen.unavailable,
        "broken": seen.broken,
        "p50 ms": seen.p50_ms,
        "p99 ms": seen.p99_ms,
        "MB at rest": round(at_rest / _MEGABYTE, 1),
        "MB most, first half": round(max(samples[:half]) / _MEGABYTE, 1),
        "MB most, second half": round(max(samples[half:]) / _MEGABYTE, 1),
        "ms of a submission afterwards": round(after, 1),
    }


def _single(port: int, token: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request("POST", "/v1/submissions", body("after", 1), {"authorization": f"Bearer {token}"})
    return link.getresponse().status


def _resident(processes: Sequence[psutil.Process]) -> int:
    return sum(one.memory_info().rss for one in processes)


class _Watch:
    """Samples resident memory until it is stopped."""

    def __init__(self, processes: Sequence[psutil.Process]) -> None:
        self._processes = processes
        self._samples: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.1):
            self._samples.append(_resident(self._processes))

    def end(self) -> list[int]:
        """Stop, and return the samples."""
        self._over.set()
        self._thread.join()
        return self._samples

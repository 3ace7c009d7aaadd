"""Rounds of a benchmark: several sides with the same loads, interleaved; medians and spread as ratios to one side.

Each side is started for each round and stopped after it, in reversed order every second round, with a warm-up of a
second, after which it comes to rest. Rates count acknowledged submissions. Rows are counted afterwards, and a side
whose rows differ from its acknowledgments fails the run.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil

from benchmarks.load import PATH, Load, load, loader, reshape, write_bodies
from lib.processes import cpu_of, settle

FLIGHTS: Final = (32, 128)
_MAX_A_SECOND: Final = 24_000
"""Bodies that are created per second of load."""
_WARM_SECONDS: Final = 1.0
Tell = Callable[[str], None]


class Running(msgspec.Struct, frozen=True):
    """A running side; `count` is None if it stores nothing, `server_cpu` if it needs no separate server."""

    ports: list[int]
    token: str
    processes: list[psutil.Process]
    count: Callable[[], int] | None = None
    server_cpu: Callable[[], float] | None = None
    counted: Callable[[], dict[str, float]] | None = None
    """Counters of this side's own that only grow."""


class Side(msgspec.Struct, frozen=True):
    """A measured system; `start` gets the path of a folder for one round, and creates it."""

    name: str
    start: Callable[[Path], AbstractContextManager[Running]]
    path: str = PATH
    shape: Callable[[bytes], bytes] | None = None
    """Converts the service's body to the side's own form, if it has its own routes."""


class Measurement(msgspec.Struct, frozen=True):
    """One side under one load in one round; CPU is in microseconds per acknowledged submission."""

    section: str
    round: int
    side: str
    in_flight: int
    loader: str
    acknowledged: int
    stored: int | None
    refused: int
    broken: int
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    server_cpu_us: float | None
    counted: dict[str, float] = {}
    """By how much the side's own counters grew."""


class Rounds:
    """Runs the rounds of one section."""

    def __init__(self, section: str, folder: Path, seconds: float, tell: Tell) -> None:
        """Create the bodies that all sides post."""
        self._section, self._folder, self._seconds, self._tell = section, folder, seconds, tell
        tell(f"{section}: load by {loader()}; making the bodies …")
        number = int(_MAX_A_SECOND * seconds)
        self._bodies = {flight: write_bodies(folder, f"load-{flight}", number) for flight in FLIGHTS}
        self._warm = write_bodies(folder, "warm", int(_MAX_A_SECOND * _WARM_SECONDS))
        self.failed: dict[str, str] = {}
        self.made: list[Measurement] = []
        self._started = 0

    def run(self, sides: Sequence[Side], rounds: int, heard: Callable[[Measurement], None]) -> None:
        """Measure all sides in every round and report each measurement."""
        for number in range(1, rounds + 1):
            for side in sides if number % 2 else sides[::-1]:
                for one in self._round(side, number):
                    self.made.append(one)
                    heard(one)

    def _round(self, side: Side, number: int) -> list[Measurement]:
        """Start, load and stop a side; report one that fails and skip it from then on."""
        if side.name in self.failed:
            return []
        self._started += 1
        folder = self._folder / f"side-{self._started}"
        try:
            with side.start(folder) as running:
                load(
                    self._of(side, self._warm), running.ports, running.token, FLIGHTS[0], _WARM_SECONDS, path=side.path
                )
                settle(running.processes)
                return [self._measure(side, number, flight, running) for flight in FLIGHTS]
        except Exception as error:  # noqa: BLE001 -- the error of a peer is reported, and the rest continues
            self.failed[side.name] = str(error)
            self._tell(f"{side.name} FAILED: {error}")
            return []

    def _of(self, side: Side, bodies: Path) -> Path:
        """Return the bodies in a side's own form, created once."""
        if side.shape is None:
            return bodies
        made = bodies.with_name(f"{side.name}-{bodies.name}")
        if not made.with_name(f"{made.name}0").exists():
            reshape(bodies, made, side.shape)
        return made

    def _measure(self, side: Side, number: int, flight: int, running: Running) -> Measurement:
        bodies = self._of(side, self._bodies[flight])
        rows, cpu, server = at_rest(running.count), cpu_of(running.processes), _server(running)
        before = _counted(running)
        seen = load(bodies, running.ports, running.token, flight, self._seconds, path=side.path)
        counted = {name: now - before[name] for name, now in _counted(running).items()}
        cpu, server = cpu_of(running.processes) - cpu, _server(running) - server
        stored = at_rest(running.count) - rows if running.count else None
        made = self._measurement(side, number, flight, seen, stored)
        each = 1e6 / max(seen.acknowledged, 1)
        server_us = round(server * each, 1) if running.server_cpu else None
        made = msgspec.structs.replace(made, cpu_us=round(cpu * each, 1), server_cpu_us=server_us, counted=counted)
        told = f"stored {stored:,}" if stored is not None else "stores nothing"
        self._tell(
            f"round {number}  {side.name:<22}{flight:>4} in flight  {made.rate:>7,.0f}/s  p50 {made.p50_ms:.1f} ms  "
            f"p99 {made.p99_ms:.1f} ms  acknowledged {made.acknowledged:,}  {told}"
        )
        kept = stored is None or 0 <= stored - made.acknowledged <= flight
        if made.refused or made.broken or not kept:
            message = f"{made.refused} refused, {made.broken} broken, stored {stored} of {made.acknowledged}"
            raise RuntimeError(message)
        return made

    def _measurement(self, side: Side, number: int, flight: int, seen: Load, stored: int | None) -> Measurement:
        return Measurement(
            section=self._section,
            round=number,
            side=side.name,
            in_flight=flight,
            loader=loader(),
            acknowledged=seen.acknowledged,
            stored=stored,
            refused=seen.refused,
            broken=seen.broken,
            rate=round(seen.acknowledged / seen.seconds, 1),
            p50_ms=seen.p50_ms,
            p99_ms=seen.p99_ms,
            cpu_us=0.0,
            server_cpu_us=None,
        )


def _server(running: Running) -> float:
    return running.server_cpu() if running.server_cpu else 0.0


def _counted(running: Running) -> dict[str, float]:
    return running.counted() if running.counted else {}


def at_rest(count: Callable[[], int] | None) -> int:
    """Count the rows once all requests in flight at the end of a load are stored."""
    before = -1
    while count and before != (now := count()):
        before = now
        time.sleep(0.1)
    return max(before, 0)


def summarize(made: Sequence[Measurement], base: str) -> list[dict[str, Any]]:
    """Return medians over the rounds, and the ratios to the base side of the same round with their spread."""
    rates = {(one.round, one.in_flight): one.rate for one in made if one.side == base}
    found = []
    for side, flight in dict.fromkeys((one.side, one.in_flight) for one in made):
        own = [one for one in made if (one.side, one.in_flight) == (side, flight)]
        ratios = sorted(one.rate / rates[one.round, flight] for one in own if rates.get((one.round, flight)))
        middle = {name: median(getattr(one, name) for one in own) for name in ("rate", "p50_ms", "p99_ms", "cpu_us")}
        servers = [one.server_cpu_us for one in own if one.server_cpu_us is not None]
        spread = {"ratio": median(ratios), "lowest": ratios[0], "highest": ratios[-1]} if ratios else {}
        found.append({"section": own[0].section, "side": side, "in_flight": flight, "rounds": len(own)})
        found[-1] |= middle | spread
        found[-1] |= {"server_cpu_us": median(servers) if servers else None}
        found[-1] |= {"acknowledged": sum(one.acknowledged for one in own)}
        found[-1] |= {"stored": None if own[0].stored is None else sum(one.stored or 0 for one in own)}
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the summary as text."""
    head = (
        f"{'':<22}{'in flight':>10}{'ratio':>8}{'spread':>15}{'per s':>8}{'p50 ms':>8}{'p99 ms':>8}"
        f"{'cpu us':>8}{'server us':>11}{'acknowledged':>14}{'stored':>10}"
    )
    lines = [head]
    for row in sorted(rows, key=lambda row: row["in_flight"]):
        digits = 2 if row.get("ratio", 1) >= 0.1 else 3  # noqa: PLR2004 -- a much slower peer
        ratio = f"{row['ratio']:.{digits}f}" if "ratio" in row else "-"
        spread = f"{row['lowest']:.{digits}f}-{row['highest']:.{digits}f}" if "ratio" in row else "-"
        server = "-" if row["server_cpu_us"] is None else f"{row['server_cpu_us']:.0f}"
        stored = "-" if row["stored"] is None else f"{row['stored']:,}"
        lines.append(
            f"{row['side']:<22}{row['in_flight']:>10}{ratio:>8}{spread:>15}{row['rate']:>8.0f}{row['p50_ms']:>8.1f}"
            f"{row['p99_ms']:>8.1f}{row['cpu_us']:>8.0f}{server:>11}{row['acknowledged']:>14,}{stored:>10}"
        )
    return "\n".join(lines)


def carry_out(rounds: Rounds, sides: Sequence[Side], number: int, base: str, title: str, *, as_json: bool) -> bool:
    """Run the rounds and print the results; return whether every side could be measured."""

    def heard(one: Measurement) -> None:
        if as_json:
            print(msgspec.json.encode(one).decode(), flush=True)

    rounds.run(sides, number, heard)
    rows = summarize(rounds.made, base)
    if as_json:
        for row in rows:
            print(json.dumps({"summary": True, **row}))
        return not rounds.failed
    print(f"\n{title}, {number} rounds, load by {loader()}, {os.cpu_count()} cores.")
    print(f"Ratios are to {base} in the same round; CPU is microseconds for an acknowledged submission.\n")
    print(table(rows))
    for name, why in rounds.failed.items():
        print(f"{name} could not be measured: {why}", file=sys.stderr)
    return not rounds.failed

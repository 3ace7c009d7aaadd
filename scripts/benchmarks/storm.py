"""The section `storm`: agents that all at once retry events answered long ago.

A thousand keys are submitted, then each a hundred more times in random order, 128 in flight. Rows and bytes are counted
before and after, with the service stopped each time, so that counters and checkpoints are on disk. Then replays per
second are compared with first submissions per second, each for some seconds with the same number in flight.
"""

import json
import random
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from antechamber.settings import Location
from benchmarks.load import SHARDS, Load, body, load, loader, write_bodies
from benchmarks.rounds import Tell
from benchmarks.sides import submissions
from lib.processes import Application, Postgres, end, free_port, postgres, workplace

KEYS: Final = 1000
RETRIES: Final = 100
_FLIGHT: Final = 128
_FOREVER: Final = 300.0
"""A timeout longer than any storm, which ends with its bodies."""
_SECONDS: Final = 3.0


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    number, retries = rounds or (1 if quick else 5), RETRIES
    engines = ["sqlite"] if quick else ["sqlite", "postgres"]
    with ExitStack() as stack:
        folder = stack.enter_context(workplace())
        server = None if quick else stack.enter_context(postgres(folder))
        tell(f"storm: load by {loader()}; making the bodies …")
        first, storm = write_bodies(folder, "storm", KEYS), _retries(folder, retries)
        fresh = write_bodies(folder, "fresh", 60_000)
        made = []
        for count in range(1, number + 1):
            for engine in engines:
                location = folder / f"{engine}-{count}"
                found = _round(location, server if engine == "postgres" else None, first, storm, fresh)
                made.append({"section": "storm", "engine": engine, "round": count, **found})
                tell(
                    "  ".join(
                        f"{name} {value:,}" if isinstance(value, int) else str(value)
                        for name, value in made[-1].items()
                    )
                )
                if as_json:
                    print(json.dumps(made[-1]), flush=True)
    for engine in engines:
        own = [one for one in made if one["engine"] == engine]
        ratios = sorted(one["replays_per_s"] / one["first_per_s"] for one in own)
        middle = {
            name: median(one[name] for one in own) for name in own[0] if name not in {"section", "engine", "round"}
        }
        if as_json:
            print(
                json.dumps({"section": "storm", "summary": True, "engine": engine, "ratio": median(ratios), **middle})
            )
            continue
        print(
            f"\n{engine}: {KEYS:,} keys, {retries} retries each, {_FLIGHT} in flight, {number} rounds, by {loader()}\n"
        )
        for name, value in middle.items():
            print(f"{name:<18}{value:>12,.0f}")
        print(f"ratio of replays to first submissions {median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")
    return all(one["new_rows"] == 0 and one["refused"] == 0 for one in made)


def _retries(folder: Path, retries: int) -> Path:
    """Write every body as often as it is retried, in random order."""
    order = [number for number in range(KEYS) for _ in range(retries)]
    random.Random(1).shuffle(order)  # noqa: S311 -- no secret
    known = [body("storm", number) for number in range(KEYS)]
    for shard in range(SHARDS):
        lines = [known[number] + b"\n" for number in order[shard::SHARDS]]
        (folder / f"retries.{shard}").write_bytes(b"".join(lines))
    return folder / "retries."


def _round(folder: Path, server: Postgres | None, first: Path, storm: Path, fresh: Path) -> dict[str, int | float]:
    url = server.empty() if server else None
    application = Application(folder, url)
    location = Location(data=application.data, database_url=url)
    _served(application, first)
    rows, size = submissions(location), _size(location, server)
    whole = _served(application, storm)
    grown = {"new_rows": submissions(location) - rows, "grown_bytes": _size(location, server) - size}
    seen, other = (_served(application, bodies, _SECONDS) for bodies in (storm, fresh))
    if server and url:
        server.drop(url)
    return {
        "first_per_s": round(other.acknowledged / other.seconds),
        "replays_per_s": round(seen.acknowledged / seen.seconds),
        "replays": whole.acknowledged,
        "refused": whole.refused + whole.broken + seen.refused + seen.broken + other.refused + other.broken,
        "p50_ms": seen.p50_ms,
        "p99_ms": seen.p99_ms,
        **grown,
    }


def _served(application: Application, bodies: Path, seconds: float | None = None) -> Load:
    """Start the service, load it for a time or with each body once, and stop it."""
    port = free_port()
    process = application.start(port)
    try:
        return load(bodies, [port], application.token, _FLIGHT, seconds or _FOREVER, once=seconds is None)
    finally:
        end(process)


def _size(location: Location, server: Postgres | None) -> int:
    """Return the size in bytes of a store whose service is stopped."""
    if server and location.database_url:
        name = location.database_url.rpartition("/")[2].partition("?")[0]
        return int(server.run(f"SELECT pg_database_size('{name}')")[0][0])
    return sum(file.stat().st_size for file in location.data.iterdir() if file.is_file())

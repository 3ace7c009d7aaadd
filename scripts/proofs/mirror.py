"""Kill the service and a mirror of its change feed; count differences and texts that ended and are still in a file.

A mirror in a process of its own follows two scopes, while agents submit and curators approve, edit, supersede, retract,
expire and undo, evidence grows and texts are erased. In turn the service and the mirror are killed at random moments
(kill -9; with --engine postgres two processes serve one database, and its backends are killed too); every second kill
of the mirror waits until it writes to its file. After some kills everything pauses until the mirror is up to date; then
it must equal GET /v1/memories in every member, its file must be whole, and two seconds later none of its files may hold
a text that is not part of a memory.

In the end nothing is killed, and the seconds from a decision's answer until its text is gone from the mirror are
measured, and from an erasure until a reader who waits has it.

Status 1 says that something differed or remained, that a file broke or a mirror ended by itself, that a text took
longer than two seconds to go, or that too little was tried.
"""

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
import httpx
import msgspec

from lib.processes import end, workplace
from proofs import closing
from proofs.crash import field_of
from proofs.crash_fields import Field
from proofs.mirror_files import found_broken, held_by, recalled
from proofs.mirror_world import POLICY, SCOPES, SCOPES_POLICY, World, follower

KILLS: Final = {"sqlite": 500, "postgres": 500}
QUICK: Final = {"sqlite": 10, "postgres": 10}
ENGINES: Final = tuple(KILLS)
LEAST: Final = {
    "kills of the service": 5,
    "kills of the mirror": 5,
    "admit": 4,
    "edit": 1,
    "supersede": 1,
    "retract": 1,
    "comparisons": 2,
}
"""Minimum counts of the quick form; the full form needs as many times more as it kills more often."""
ARRIVES_WITHIN: Final = 2.0
"""Seconds within which a retraction or erasure arrives."""
MEASURED: Final = 20
MEASURED_QUICKLY: Final = 3
CURATORS: Final = ("cora", "carl", "cleo")
_CATCH_UP_SECONDS: Final = 60.0
_SABOTAGED_SECONDS: Final = 5.0
_COMPARE_EVERY: Final = 5
_WRITES_WITHIN: Final = 1.0
"""Seconds in which a mirror that is about to be killed may begin to write."""


class Scene:
    """The service, the mirror, what happens to both, and the findings."""

    def __init__(self, folder: Path, field: Field) -> None:
        """Start the mirror and the work of agents and curator."""
        self.field = field
        (field.application.policies / "scopes.toml").write_text(SCOPES_POLICY)
        (field.application.policies / "producers.toml").write_text(POLICY)
        self._until_granted()
        self.file = folder / "memories.mirror"
        self._chance = random.Random("kills")  # noqa: S311 -- no secret
        self._mirror = self._start()
        self.worlds = [World(field.application, field.ports, curator) for curator in CURATORS]
        self.numbers: dict[str, int] = dict.fromkeys(
            (
                "kills of the service",
                "kills of the mirror",
                "kills in a transaction",
                "comparisons",
                "differences",
                "remains",
                "ended_alone",
            ),
            0,
        )
        self.ended: set[str] = set()
        self.memories = 0

    def _start(self) -> subprocess.Popen[bytes]:
        port = self._chance.choice(self.field.ports)
        return follower(str(self.file), port, self.field.application.token, dict(os.environ))

    def _until_granted(self) -> None:
        """Wait until each process has the policy: a mirror that is refused ends."""
        headers = {"authorization": f"Bearer {self.field.application.token}"}
        for port in self.field.ports:
            url = f"http://127.0.0.1:{port}/v1/memories"
            while httpx.get(url, params={"scope": SCOPES}, headers=headers, timeout=15).status_code != 200:  # noqa: PLR2004
                time.sleep(0.05)

    def _kill_mirror(self, *, writing: bool) -> None:
        """Kill the mirror and start it again; if asked to, wait a moment until it writes."""
        journal = self.file.with_name(f"{self.file.name}-journal")
        deadline = time.monotonic() + _WRITES_WITHIN
        while writing and not _size(journal) and time.monotonic() < deadline:
            pass
        self.numbers["ended_alone"] += self._mirror.poll() is not None
        self._mirror.kill()
        self._mirror.wait()
        self.numbers["kills in a transaction"] += _size(journal) > 0
        self._mirror = self._start()

    def kill(self, number: int) -> None:
        """Kill the service or the mirror, in turn."""
        if number % 2:
            self.numbers["kills of the mirror"] += 1
            self._kill_mirror(writing=number % 4 == 1)
        else:
            self.numbers["kills of the service"] += 1
            blows = list(self.field.blows().values())
            blows[number // 2 % len(blows)](number)
            self.field.until_ready()

    def _recalled(self) -> dict[str, Any]:
        return recalled(self.field.ports[0], self.field.application.token)

    def compare(self, patience: float = _CATCH_UP_SECONDS) -> None:
        """Pause, wait until the mirror is up to date, and count what differs and what remains in its files."""
        self._pause()
        expected, deadline = self._recalled(), time.monotonic() + patience
        while (held := held_by(self.file)) != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        different = {name for name in expected.keys() | held.keys() if expected.get(name) != held.get(name)}
        texts = msgspec.json.encode(expected).decode()
        ended = {canary for world in self.worlds for canary in world.canaries if canary not in texts}
        self.ended |= ended
        self.memories = len(expected)
        self.numbers["comparisons"] += 1
        self.numbers["differences"] += len(different)
        self._until(lambda: not self.remaining(ended), ARRIVES_WITHIN)
        self.numbers["remains"] += len(self.remaining(ended))
        self.numbers["ended_alone"] += self._mirror.poll() is not None

    def resume(self) -> None:
        """Let agents and curators work until the next comparison."""
        for world in self.worlds:
            world.running.set()

    def _pause(self) -> None:
        for world in self.worlds:
            world.running.clear()
        for world in self.worlds:
            world.pause()

    def remaining(self, ended: set[str]) -> set[str]:
        """Return the ended texts that a file of the mirror holds."""
        files = b"\n".join(file.read_bytes() for file in sorted(self.file.parent.glob(f"{self.file.name}*")))
        return {canary for canary in ended if canary.encode() in files}

    def sabotage(self) -> None:
        """Take one memory out of the mirror and leave one ended text in its file."""
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None, timeout=30)) as mirror:
            mirror.execute("DELETE FROM memories WHERE rowid = (SELECT min(rowid) FROM memories)")
            mirror.execute(f"CREATE TABLE remains AS SELECT '{min(self.ended)}' AS content")

    def measure(self, times: int) -> dict[str, float]:
        """Return the longest times until a retraction and an erasure arrive, in seconds, without kills."""
        self._pause()
        world, retracted, erased = self.worlds[0], list[float](), list[float]()
        while len(retracted) < times:
            admitted = world.act("admit")
            self._until(lambda canary=world.texts[admitted or ""]: self.remaining({canary}))
            if proposal := world.act("retract"):
                retracted.append(self._until(lambda canary=world.texts[proposal]: not self.remaining({canary})))
                erased.append(self._until_erased(world))
        return {"retraction_s": round(max(retracted), 2), "erasure_s": round(max(erased), 2)}

    def _until(self, happened: Callable[[], object], patience: float = _CATCH_UP_SECONDS) -> float:
        """Return the seconds until something has happened to the mirror, at most about those of the patience."""
        start = time.monotonic()
        while not happened() and time.monotonic() - start < patience:
            time.sleep(0.01)
        return time.monotonic() - start

    def _until_erased(self, world: World) -> float:
        """Return the seconds from the end of the command that erases until a reader who waits has the erasure."""
        url = f"http://127.0.0.1:{self.field.ports[-1]}"
        asked: dict[str, Any] = {"headers": {"authorization": f"Bearer {self.field.application.token}"}, "timeout": 60}
        after, arrived = "", list[float]()
        params: dict[str, Any] = {"scope": list(SCOPES), "limit": 1000}
        while (page := httpx.get(f"{url}/v1/changes", params=params, **asked).json())["items"]:
            params["after"] = after = page["next"]

        def wait() -> None:
            httpx.get(f"{url}/v1/changes", params=params | {"after": after, "wait": 30}, **asked)
            arrived.append(time.monotonic())

        reader = threading.Thread(target=wait)
        reader.start()
        made = world.act("erase")
        start = time.monotonic()
        reader.join()
        # The command line needs a moment after its commit until it has ended: the erasure may arrive before.
        return max(0.0, arrived[0] - start) if made else _CATCH_UP_SECONDS

    def close(self) -> None:
        """Stop the work and the mirror."""
        for world in self.worlds:
            world.stop()
        end(self._mirror)


def _size(file: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def fight(scene: Scene, kills: int) -> None:
    """Kill at random moments, and compare now and then."""
    chance = random.Random(kills)  # noqa: S311 -- no secret
    for world in scene.worlds:
        for kind in ("admit", "edit", "supersede"):
            world.act(kind)
        world.start()
    for number in range(kills):
        scene.resume()
        time.sleep(chance.uniform(0.1, 1.0))
        scene.kill(number)
        if (number + 1) % _COMPARE_EVERY == 0:
            scene.compare()
            print(
                f"{number + 1:>4} kills  {scene.memories:>5} memories  {len(scene.ended):>5} ended  "
                f"{scene.numbers['differences']} differences  {scene.numbers['remains']} remains",
                file=sys.stderr,
                flush=True,
            )


def show(numbers: dict[str, Any]) -> None:
    """Print the final counts."""
    for name in ("kills of the service", "kills of the mirror", "kills in a transaction", "comparisons"):
        print(f"{name:<24}{numbers[name]:>8,}")
    for name in ("memories", "ended"):
        print(f"{name:<24}{numbers[name]:>8,}")
    print("changes: " + ", ".join(f"{number:,} times {kind}" for kind, number in sorted(numbers["changes"].items())))
    print(f"differences: {numbers['differences']}, ended texts in the mirror's files: {numbers['remains']}")
    print(f"a retraction is gone after at most {numbers['retraction_s']} s, ", end="")
    print(f"an erasure arrives after at most {numbers['erasure_s']} s")
    print(f"found broken in the files: {numbers['broken_files']}, ", end="")
    print(f"unexpected errors of the service: {numbers['tracebacks']}")
    print(f"mirrors that ended by themselves: {numbers['ended_alone']}; {numbers['seconds']} s in all")


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return (
        f"{numbers['kills of the service']} kills of the service and {numbers['kills of the mirror']} of the mirror, "
        f"{numbers['differences']} differences, {numbers['remains']} ended texts left, a retraction takes at most "
        f"{numbers['retraction_s']} s"
    )


@click.command(help=__doc__, short_help="kill the service and a mirror of it, and compare them")
@click.option("--engine", type=click.Choice(ENGINES), default="sqlite", show_default=True)
@click.option("--kills", type=click.IntRange(2), help="number of kills; 500 by default")
@closing.options(quick="10 kills; about a minute", sabotage="alter the mirror before the last comparison")
def command(engine: str, kills: int | None, form: closing.Form) -> None:
    """Run the proof."""
    number = kills or (QUICK if form.quick else KILLS)[engine]
    start = time.monotonic()
    with workplace() as folder, field_of(engine, folder) as field:
        scene = Scene(folder, field)
        try:
            fight(scene, number)
            times = scene.measure(MEASURED if number > QUICK[engine] else MEASURED_QUICKLY)
            if form.sabotage:
                scene.worlds[0].act("admit")
                scene.compare()
                scene.sabotage()
            scene.compare(_SABOTAGED_SECONDS if form.sabotage else _CATCH_UP_SECONDS)
            broken = found_broken(scene.file)
        finally:
            scene.close()
        numbers: dict[str, Any] = scene.numbers | times
        changes = sum((world.done for world in scene.worlds), Counter[str]())
        numbers |= {"changes": dict(changes), "memories": scene.memories, "ended": len(scene.ended)}
        numbers |= {"broken_files": len(field.check()) + len(broken), "seconds": round(time.monotonic() - start)}
        numbers["tracebacks"] = field.report_errors()
    scale = form.scale(KILLS[engine] // QUICK[engine], by_hand=kills is not None)
    numbers["too_little"] = closing.too_little(numbers | numbers["changes"], LEAST, scale)
    late = max(times.values()) > ARRIVES_WITHIN
    wrong = sum(numbers[name] for name in ("differences", "remains", "broken_files", "ended_alone", "tracebacks"))
    closing.finish(numbers, form, show, good=not wrong and not late)

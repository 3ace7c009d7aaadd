"""Cut off calls of write tools before, during and after the write; each strategy must keep what it promises.

Agents with a guard call the tools of real MCP servers, over standard input and output and over streamable HTTP. Servers
die, connections go, requests come late, agents are interrupted. Then the agent starts again, recovers, and sometimes
makes the same call once more. Afterwards the effects of each operation are counted where they happened.
"""

import asyncio
import contextlib
import json
import logging
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import click

from antechamber.client import Ledger, OperationError
from antechamber.client.guard import Guard, IdempotencyKey, NeverResend, ReconcileRead, ResendTolerant, token_in
from antechamber.client.ledger import UnderWayError
from lib.processes import workplace
from proofs import closing
from proofs.guard_ways import CHANCE, LATE, Http, Stdio, Way

TOOLS: Final[dict[str, Any]] = {
    "charge": IdempotencyKey(argument="key"),
    "post": ReconcileRead(
        argument="text",
        template="{value}\n\nref {token}",
        read="find_posts",
        arguments={"query": "{token}"},
        found=token_in("posts", "text"),
        late=LATE,
    ),
    "put": ResendTolerant(),
    "append": NeverResend(),
}
WAYS: Final = ("stdio", "http")
ENGINES: Final = ("sqlite",)
CALLS: Final = 1000
QUICK: Final = 12


def arguments_of(tool: str, label: str) -> dict[str, str]:
    """Return the arguments of one call."""
    return {
        "charge": {"label": label},
        "post": {"text": label},
        "put": {"name": label, "value": f"value of {label}"},
        "append": {"text": label},
    }[tool]


class _CrashedError(RuntimeError):
    """The simulated death of an agent."""


def _die(ledger: Ledger) -> None:
    """Release the file without cleanup, as a killed process does."""
    # Through private members, which no caller may use: the open file is closed under its owner.
    with ledger._gate:  # noqa: SLF001
        ledger._connection.close()  # noqa: SLF001
        held = ledger._sessions._held  # noqa: SLF001
        assert held is not None  # noqa: S101 -- it is open
        held.close()


class Agent:
    """One agent that repeatedly calls one tool over one transport."""

    def __init__(self, folder: Path, way: Way, tool: str, *, sabotage: bool) -> None:
        """Start with a fresh ledger."""
        self._way = way
        self.tool = tool
        self._tools = TOOLS | ({"append": ResendTolerant()} if sabotage else {})
        self.path = folder / f"{type(way).__name__}-{tool}.ledger"
        self.interrupted: Counter[str] = Counter()
        self.labels: list[str] = []
        self._named: set[str] = set()

    async def work(self, wanted: int) -> None:
        """Call until this many calls were interrupted, then settle everything."""
        while self.interrupted.total() < wanted:
            await self._session(CHANCE.choice(self._way.faults))
        for _ in range(10):
            with Ledger(self.path) as ledger:
                async with self._way.session("none") as session:
                    await self._guard(session, ledger).recover_uncertain()
                if not ledger.counts()["uncertain"] + ledger.counts()["pending"]:
                    return

    def _guard(self, session: Any, ledger: Ledger) -> Guard:
        return Guard(session, ledger, self._tools, server="elsewhere", attempts=2, timeout=10)

    async def _session(self, fault: str) -> None:
        """Open the ledger, recover and make calls, as an agent does, until a fault occurs."""
        before = self._way.met.copy()
        broke = False
        with Ledger(self.path) as ledger:
            try:
                async with self._way.session(fault) as session:
                    guard = self._guard(session, ledger)
                    if CHANCE.choice((True, True, False)):
                        await guard.recover_uncertain()
                    async with self._another(session):
                        for _ in range(CHANCE.randint(1, 3)):
                            broke |= await self._call(guard, ledger, fault)
            except (OSError, RuntimeError, ExceptionGroup):
                # The SDK's session ends this way when its server is gone.
                broke = True
        met = self._way.met - before
        self.interrupted += met or Counter({fault: int(broke)})

    @contextlib.asynccontextmanager
    async def _another(self, session: Any) -> AsyncIterator[None]:
        """Occasionally let another agent recover from the same ledger at the same time."""
        if CHANCE.choice((True, False, False)):
            with Ledger(self.path) as ledger:
                recovering = asyncio.create_task(self._guard(session, ledger).recover_uncertain())
                try:
                    yield
                finally:
                    await asyncio.wait([recovering])
                    recovering.exception()
        else:
            yield

    async def _call(self, guard: Guard, ledger: Ledger, fault: str) -> bool:
        """Make one call, new or repeated; return whether it was interrupted."""
        label = self._label()
        operation = label if label in self._named else None
        calling = asyncio.create_task(guard.call_tool(self.tool, arguments_of(self.tool, label), operation=operation))
        if fault in {"cancel", "crash"}:
            await asyncio.sleep(CHANCE.uniform(0, 0.03))
            if fault == "crash":
                _die(ledger)
            calling.cancel()
        try:
            await calling
        except (OperationError, UnderWayError, asyncio.CancelledError):
            return True
        finally:
            if fault == "crash":
                raise _CrashedError
        return False

    def _label(self) -> str:
        """Choose a new call or a repeated one: named calls at any time, others until their outcome was returned."""
        label = CHANCE.choice(self.labels[-5:]) if self.labels else ""
        if label and CHANCE.choice((True, False, False)) and (label in self._named or not self._is_out(label)):
            return label
        label = f"{self.path.stem}-{len(self.labels)}."
        self.labels.append(label)
        if CHANCE.choice((True, False)):
            self._named.add(label)
        return label

    def _is_out(self, label: str) -> bool:
        """Return whether a call's outcome was returned: an unnamed call whose agent died first cannot return it."""
        with contextlib.closing(sqlite3.connect(self.path)) as raw:
            query = "SELECT 1 FROM handed_over AS h JOIN entries AS e ON e.id = h.entry WHERE instr(e.body, ?)"
            return raw.execute(query, (label.encode(),)).fetchone() is not None


def judge(agent: Agent, effects: Path, states: Counter[str]) -> list[str]:
    """Compare the ledger's state of each call with its effects."""
    wrong = []
    with contextlib.closing(sqlite3.connect(effects)) as raw, Ledger(agent.path) as ledger:
        ended: dict[str, list[str]] = {label: [] for label in agent.labels}
        for entry in ledger.entries():
            arguments = json.loads(entry.body or b"{}")["arguments"]
            label = (arguments.get("text") or arguments.get("label") or arguments["name"]).partition("\n")[0]
            ended[label].append(entry.state)
        for label, found in ended.items():
            asked = (agent.tool, label)
            (number,) = raw.execute("SELECT count(*) FROM effects WHERE tool = ? AND label = ?", asked).fetchone()
            # A failed call had no effect, so the same call is a new operation.
            lasting = [state for state in found if state != "failed"]
            states[f"{agent.tool}: {' '.join(lasting) or 'failed'}, {_spoken(number)}"] += 1
            if not _promised(agent.tool, lasting, number):
                wrong.append(f"{label} {found}: {_spoken(number)}")
        if agent.tool == "put":
            (stray,) = raw.execute("SELECT count(*) FROM state WHERE value <> 'value of ' || name").fetchone()
            wrong += [f"{stray} states are not as they were put"] * bool(stray)
    return wrong


def _spoken(number: int) -> str:
    return "1 effect" if number == 1 else f"{min(number, 2)}{'+' * (number > 1)} effects"


def _promised(tool: str, states: list[str], number: int) -> bool:
    """Return whether the counts match the guarantee of the tool's strategy for one call."""
    if not states:
        return number == 0
    if states == ["needs_review"]:
        return tool == "append" and number <= 1
    return states == ["committed"] and (number == 1 or (tool == "put" and number > 1))


async def _prove(folder: Path, wanted: int, chosen: str | None, *, sabotage: bool) -> dict[str, Any]:
    """Run one agent for each tool and transport, two at a time."""
    effects = {way: folder / f"{way}.effects" for way in WAYS}
    http, stdio = Http(effects["http"]), Stdio(effects["stdio"])
    states: Counter[str] = Counter()
    wrong: list[str] = []
    interrupted: dict[str, dict[str, int]] = {}

    async def some(way: Way, name: str, *tools: str) -> None:
        for tool in (one for one in tools if chosen in {None, one}):
            agent = Agent(folder, way, tool, sabotage=sabotage)
            await agent.work(wanted // 2)
            # Late requests have arrived by now.
            await asyncio.sleep(LATE)
            interrupted[f"{tool}, {name}"] = dict(agent.interrupted)
            found = judge(agent, effects[name], states)
            wrong.extend(found)
            print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
            print(f"{tool} over {name}: {agent.interrupted.total()} interrupted, {len(wrong)} wrong", file=sys.stderr)

    async with http.serving():
        lanes = ((stdio, "stdio", "charge", "put"), (stdio, "stdio", "post", "append"), (http, "http", *TOOLS))
        await asyncio.gather(*(some(*lane) for lane in lanes))
    return {"interrupted": interrupted, "states": dict(sorted(states.items())), "wrong": wrong}


@click.command(help=__doc__, short_help="cut off calls of other tools and count their effects")
@click.option("--calls", type=click.IntRange(2), help=f"interrupted calls for each strategy; {CALLS:,} by default")
@click.option("--tool", type=click.Choice(list(TOOLS)), help="one of the tools; all unless it is named")
@closing.options(quick=f"{QUICK} for each", sabotage="send again what must not be")
def command(calls: int | None, tool: str | None, form: closing.Form) -> None:
    """Run the proof."""
    # Sessions break on purpose here, so the SDK's messages about them are suppressed.
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    wanted = calls or (QUICK if form.quick else CALLS)
    with workplace() as folder:
        found = asyncio.run(_prove(folder, wanted, tool, sabotage=form.sabotage))
    found["seconds"] = round(time.monotonic() - started)
    seen = {name: sum(counts.values()) for name, counts in found["interrupted"].items()}
    least = {f"{name}, {way}": QUICK // 2 for name in TOOLS for way in WAYS}
    found["too_little"] = closing.too_little(
        seen, least, form.scale(CALLS // QUICK, by_hand=calls is not None or tool is not None)
    )
    closing.finish(found, form, _show, good=not found["wrong"])


def brief(found: closing.Numbers) -> str:
    """Return the findings in one line."""
    cut = sum(sum(counts.values()) for counts in found["interrupted"].values())
    return f"{cut:,} calls cut off by {len(found['interrupted'])} tools and ways, {len(found['wrong'])} wrong"


def _show(found: closing.Numbers) -> None:
    for name, counts in found["interrupted"].items():
        print(f"{name:<14} {sum(counts.values()):>5} interrupted: {counts}")
    for name, number in found["states"].items():
        print(f"{number:>6}  {name}")
    for line in found["wrong"]:
        print(f"WRONG  {line}")
    print(f"{len(found['wrong'])} wrong, {found['seconds']} s")

"""Record what concurrent agents and curators saw, and check that one order of events explains it all.

Each history is a small fight: six agents submit, seal and read three keys with two contents, two curators decide on
what comes of it, all at once; with --engine postgres through two processes. Some agents hang up before they are
answered, and from time to time a process is killed (kill -9) in the middle. Once all is quiet every key is read.

A history that no order explains fails the proof and is printed. Status 1 says that, or that too little was recorded.
"""

import contextlib
import http.client
import itertools
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import click

from lib.browser import Browser, fields_of
from lib.processes import Application, end, free_port, postgres, workplace
from proofs import closing
from proofs.crash_load import submission
from proofs.linearizability import NEVER, Answer, Operation, linearizable

AGENTS: Final = 6
CURATORS: Final = ("cora", "carl")
ENGINES: Final = ("sqlite", "postgres")
HISTORIES: Final = 2000
QUICK: Final = 120
_STEPS: Final = 5
"""Operations of one agent in one history."""
_KILL_EVERY: Final = 20
LEAST: Final = dict.fromkeys(
    (
        "submit: accepted",
        "submit: joined",
        "submit: again",
        "submit: conflict",
        "submit: sealed",
        "submit: no answer",
        "seal: bound",
        "read: absent",
        "read: found",
        "decide: made",
        "decide: refused",
    ),
    11,
)
"""Minimum counts of the quick form; the full form needs as many times more as it records more histories."""
_TIMEOUT: Final = 15.0
_READY_WITHIN: Final = 60.0


class Notebook:
    """The operations of one history, as all participants saw them."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self.operations: list[Operation] = []
        self.proposals: dict[str, str] = {}

    def note(self, name: str, of: tuple[str, ...], begun: float, answer: Answer | None) -> None:
        """Record an operation that just ended, or whose answer will never arrive."""
        ended = NEVER if answer is None else time.monotonic()
        with self._gate:
            self.operations.append(Operation(name, of, begun, ended, answer))
            if name == "submit" and answer is not None and answer[0] in {"accepted", "joined", "again"}:
                self.proposals[of[1]] = str(answer[2])

    def known(self) -> list[tuple[str, str]]:
        """Return the contents with known proposals, and the proposals' ids."""
        with self._gate:
            return sorted(self.proposals.items())


class Agent:
    """One agent with connections to all processes."""

    def __init__(self, number: int, ports: Sequence[int], token: str) -> None:
        self.chance = random.Random(f"agent {number}")  # noqa: S311 -- no secret
        self._links = [http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT) for port in ports]
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def play(self, notebook: Notebook, keys: Sequence[str], contents: Sequence[str]) -> None:
        """Perform a few random operations."""
        for _ in range(_STEPS):
            drawn, key = self.chance.random(), self.chance.choice(keys)
            if drawn < 0.6:  # noqa: PLR2004 -- shares of what agents do
                self.submit(notebook, key, self.chance.choice(contents), stays=drawn > 0.05)  # noqa: PLR2004
            elif drawn < 0.68:  # noqa: PLR2004
                self.seal(notebook, key)
            else:
                self.read(notebook, key)

    def submit(self, notebook: Notebook, key: str, content: str, *, stays: bool = True) -> None:
        """Submit; with `stays` false, disconnect once everything is sent."""
        begun = time.monotonic()
        status, said = self._ask("POST", "/v1/submissions", submission(key, content), stays=stays)
        notebook.note("submit", (key, content), begun, _outcome(status, said))

    def seal(self, notebook: Notebook, key: str) -> None:
        """Seal a key."""
        begun = time.monotonic()
        status, said = self._ask("PUT", f"/v1/submissions/by-key/{key}/seal", None)
        kind = {201: "bound", 200: "known"}.get(status)
        notebook.note("seal", (key,), begun, None if kind is None else (kind, said["submission_id"]))

    def read(self, notebook: Notebook, key: str, *, asked: str | None = None) -> None:
        """Read a key; with --sabotage, read another one."""
        begun = time.monotonic()
        status, said = self._ask("GET", f"/v1/submissions/by-key/{asked or key}", None)
        answer: Answer | None = ("absent",) if status == 404 else None  # noqa: PLR2004 -- not found
        if status == 200:  # noqa: PLR2004 -- found
            answer = ("found", said["submission_id"], said["review"] and said["review"]["state"])
        notebook.note("read", (key,), begun, answer)

    def _ask(self, method: str, path: str, raw: bytes | None, *, stays: bool = True) -> tuple[int, Any]:
        """Return status and body; status 0 if the outcome of the request is unknown."""
        link = self.chance.choice(self._links)
        try:
            link.request(method, path, raw, self._headers)
            if stays:
                response = link.getresponse()
                return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            # The process may be down; the history continues once it is back.
            self._until_back(link)
        link.close()
        return 0, None

    def _until_back(self, link: http.client.HTTPConnection) -> None:
        deadline = time.monotonic() + _READY_WITHIN
        while time.monotonic() < deadline:
            link.close()
            with contextlib.suppress(OSError, http.client.HTTPException):
                link.request("GET", "/readyz")
                if link.getresponse().read():
                    return
            time.sleep(0.02)


def _outcome(status: int, said: Any) -> Answer | None:
    """Return the model's outcome for a submission's answer; None if the submission may be sent again."""
    if status in {200, 201}:
        kind = "again" if said["duplicate"] else {201: "accepted", 200: "joined"}[status]
        return (kind, said["submission_id"], said["proposal_id"], said["duplicate_of"])
    if status == 422:  # noqa: PLR2004 -- refused for good
        kind = {"key-reused": "conflict", "sealed": "sealed"}.get(said["reasons"][0]["code"], "?")
        return (kind, said["submission_id"], None, None)
    return None


class Curator:
    """A curator who decides on existing proposals and repeats unclear decisions."""

    def __init__(self, name: str, ports: Sequence[int], link: str) -> None:
        """Sign in."""
        self._chance = random.Random(name)  # noqa: S311 -- no secret
        self._browser = Browser(ports, self._chance.randrange)
        self._browser.sign_in(link)

    def play(self, notebook: Notebook, deadline: float) -> None:
        """Decide twice, as soon as there are proposals."""
        done = 0
        while done < 2 and time.monotonic() < deadline:  # noqa: PLR2004 -- twice
            known = notebook.known()
            if known:
                content, proposal_id = self._chance.choice(known)
                done += self._decide(notebook, content, proposal_id)
            time.sleep(self._chance.uniform(0, 0.004))

    def _decide(self, notebook: Notebook, content: str, proposal_id: str) -> bool:
        page = self._browser.get(f"/review/{proposal_id}")
        form = fields_of(page[2]) if page else {}
        if "decision_key" not in form:
            return page is not None
        verdict, state = self._chance.choice([("approve", "approved"), ("reject", "rejected")])
        more = {"reason_code": "outdated"} if verdict == "reject" else {}
        for _ in range(1 + (self._chance.random() < 0.3)):  # noqa: PLR2004 -- some are sent twice
            begun = time.monotonic()
            told = self._browser.post(f"/review/{proposal_id}/{verdict}", form | more)
            kind = {303: "made", 409: "refused", 403: "refused"}.get(told[0] if told else 0)
            notebook.note("decide", (content, state), begun, None if kind is None else (kind,))
        return True


class Field:
    """The observed processes and their clients."""

    def __init__(self, folder: Path, database_url: str | None) -> None:
        """Start the processes and sign the curators in."""
        self._log = folder / "application.log"
        self._application = Application(folder, database_url)
        self._ports = [free_port() for _ in range(1 if database_url is None else 2)]
        self._processes = [self._application.start(port, self._log) for port in self._ports]
        self._agents = [Agent(number, self._ports, self._application.token) for number in range(AGENTS)]
        links = {name: self._application.add_curator(name) for name in CURATORS}
        self._curators = [Curator(name, self._ports, link) for name, link in links.items()]
        self._chance = random.Random(0)  # noqa: S311 -- no secret
        self._pool = ThreadPoolExecutor(AGENTS + len(CURATORS))
        self._numbers = itertools.count(1)

    def history(self, *, kill: bool, sabotage: bool = False) -> list[Operation]:
        """Let all clients act at once on fresh keys; finally read every key without concurrency."""
        number, notebook = next(self._numbers), Notebook()
        keys = [f"history-{number}-{key}" for key in "abc"]
        contents = [f"History {number} told in way {content}." for content in "xy"]
        deadline = time.monotonic() + (5 if kill else 0.5)
        playing = [self._pool.submit(agent.play, notebook, keys, contents) for agent in self._agents]
        playing += [self._pool.submit(curator.play, notebook, deadline) for curator in self._curators]
        if kill:
            time.sleep(self._chance.uniform(0, 0.03))
            self._kill(number % len(self._processes))
        for one in playing:
            one.result()
        for key in keys:
            self._agents[0].read(notebook, key, asked=f"{key}-missing" if sabotage else None)
        return notebook.operations

    def _kill(self, location: int) -> None:
        self._processes[location].kill()
        end(self._processes[location])
        self._processes[location] = self._application.start(self._ports[location], self._log)

    def close(self) -> None:
        """Stop the processes."""
        self._pool.shutdown()
        for process in self._processes:
            end(process)


def record(field: Field, number: int, *, sabotage: bool) -> tuple[list[list[Operation]], Counter[str]]:
    """Record histories and check each; return those without an explanation, and counts."""
    broken, counted = [], Counter[str]()
    for index in range(1, number + 1):
        kill = index % _KILL_EVERY == 0
        history = field.history(kill=kill, sabotage=sabotage and index == number)
        counted["kills"] += kill
        counted["operations"] += len(history)
        counted["unanswered"] += sum(one.answer is None for one in history)
        for one in history:
            counted[f"{one.name}: {one.answer[0] if one.answer else 'no answer'}"] += 1
        if not linearizable(history):
            broken.append(history)
        if index % _KILL_EVERY == 0:
            note = f"{index:>5} histories  {counted['operations']:>7,} operations  {len(broken)} without explanation"
            print(note, file=sys.stderr, flush=True)
    return broken, counted


def _told(history: Sequence[Operation]) -> Iterator[str]:
    start = min(one.begun for one in history)
    for one in sorted(history, key=lambda one: one.begun):
        yield (
            f"  {(one.begun - start) * 1000:8.2f} ms to {(one.ended - start) * 1000:8.2f} ms  "
            f"{one.name} {' '.join(one.of)} -> {one.answer}"
        )


@contextlib.contextmanager
def _field_of(engine: str, folder: Path) -> Iterator[Field]:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(postgres(folder)).empty() if engine == "postgres" else None
        field = Field(folder, url)
        stack.callback(field.close)
        yield field


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return (
        f"{numbers['histories']:,} histories, {numbers['operations']:,} operations, {numbers['kills']} kills, "
        f"{numbers['unexplained']} without explanation"
    )


def _show(numbers: closing.Numbers) -> None:
    for name, value in numbers.items():
        if isinstance(value, int):
            print(f"{name:<28}{value:>10,}")


@click.command(help=__doc__, short_help="record what concurrent agents and curators saw, and explain it")
@click.option("--engine", type=click.Choice(ENGINES), default="sqlite", show_default=True)
@click.option("--histories", type=click.IntRange(1), help=f"number of histories; {HISTORIES:,} by default")
@closing.options(
    quick=f"{QUICK} histories; less than half a minute", sabotage="in the end read keys that were never submitted"
)
def command(engine: str, histories: int | None, form: closing.Form) -> None:
    """Run the proof."""
    number = histories or (QUICK if form.quick else HISTORIES)
    start = time.monotonic()
    with workplace() as folder, _field_of(engine, folder) as field:
        broken, counted = record(field, number, sabotage=form.sabotage)
    for history in broken:
        print("No order explains this history:", *_told(history), sep="\n", file=sys.stderr)
    seconds = round(time.monotonic() - start)
    numbers: closing.Numbers = {"histories": number, "unexplained": len(broken), "seconds": seconds} | counted
    scale = form.scale(HISTORIES // QUICK, by_hand=histories is not None)
    numbers["too_little"] = closing.too_little(numbers, LEAST | {"kills": QUICK // _KILL_EVERY}, scale)
    closing.finish(numbers, form, _show, good=not broken and counted["submit: accepted"] > 0)

"""Kill agents and the service at every statement, write and sync of a submission; the ledger must know the truth after.

Agents submit, submit what is private or refused, submit batches, recover and give up. In each act the agent is killed
at each SQL statement, before and after each request, and at each system call on its files and connections; the service
at each SQL statement and at each write and sync of its files. Then the agent starts again, recovers, and does the same
once more. Afterwards each operation must have landed once or never, as its ledger says, and nothing is undecided.
"""

import contextlib
import itertools
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import click

from antechamber.client import Ledger, Submitter
from antechamber.settings import DATABASE
from lib.processes import Application, end, free_port, workplace
from proofs import closing
from proofs.ledger_acts import ACTS, Boundaries, arrange, perform

ENGINES: Final = ("sqlite",)
ACTING: Final = (sys.executable, "-m", "proofs.ledger_acts")
CALLS: Final = ("fsync", "fdatasync", "pwrite64", "ftruncate", "link", "linkat", "unlink", "sendto", "recvfrom")
SERVER_CALLS: Final = ("pwrite64", "fdatasync")
LEAST: Final = {
    "agent, statements and requests": 1,
    "agent, system calls": 1,
    "service, statements": 1,
    "service, system calls": 1,
    "killed": 31,
    "committed": 21,
    "failed": 6,
}
"""Minimum counts of the quick form; the full form needs ten times more."""
_FULL: Final = 10
_PATIENCE: Final = 1.0
"""Seconds within which a killed service exits; its work after the answer ends sooner."""


class Proof:
    """One folder, one service at a time, and the findings.

    The quick form tries two points of each kind, chosen in turn.
    """

    def __init__(self, folder: Path, *, quick: bool, sabotage: bool) -> None:
        """Prepare the application; the service is not started yet."""
        self._sabotage = sabotage
        self._quick = quick
        self._calls = ("fdatasync", "pwrite64", "recvfrom") if quick else CALLS
        self.application = Application(folder, None)
        self.flag = folder / "armed"
        self.log = folder / "service.log"
        self._folder = folder
        self._numbers = iter(range(1, 1_000_000))
        self._service: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.points: Counter[str] = Counter()
        self.wrong: list[str] = []
        # One fixed port, because a ledger belongs to one service address.
        self._port = free_port()
        self.states: Counter[str] = Counter()

    def serve(self, kill_at: int = 0) -> None:
        """Start the service; it kills itself at a statement once the flag file exists."""
        self.stop()
        self.flag.unlink(missing_ok=True)
        where = ["--data", str(self.application.data), "--policies", str(self.application.policies)]
        command = [*ACTING, "serve", str(kill_at), str(self.flag)]
        with self.log.open("ab") as log:
            self._service = subprocess.Popen(  # noqa: S603 -- our own program
                [*command, "serve", *where, "--port", str(self._port)], stdout=subprocess.PIPE, stderr=log
            )
        self.url = f"http://127.0.0.1:{self._port}"
        if not (self._service.stdout and self._service.stdout.readline().startswith(b"Antechamber is ready")):
            sys.exit(f"The service did not start; see {self.log}")

    def stop(self) -> None:
        """Stop the service."""
        if self._service is not None:
            end(self._service)

    def fresh(self, act: str) -> tuple[Path, str]:
        """Return the path of a new agent's ledger, and a unique name for its events."""
        name = f"{act}-{next(self._numbers)}"
        path = self._folder / name / "agent.ledger"
        path.parent.mkdir()
        return path, name

    def taken(self) -> int:
        """Return the number of keys in the service."""
        with self._rows() as rows:
            number: int = rows.execute("SELECT count(*) FROM submissions").fetchone()[0]
        return number

    @contextlib.contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.application.data / DATABASE, timeout=10)) as rows:
            yield rows

    def point(self, kind: str, act: str, kill: "Kill") -> bool:
        """Try one kill point; return False if the act finished without being killed."""
        path, name = self.fresh(act)
        before = self.taken()
        arrange(act, path, self.url, self.application.token, name)
        killed = kill(path, name)
        if self._service is None or self._service.poll() is not None or self.flag.exists():
            self.serve()
        self.points[kind] += killed
        if self._sabotage:
            path.unlink(missing_ok=True)
        self.check(f"{kind}, {act}, {name}", act, path, before)
        shutil.rmtree(path.parent)
        return killed

    def check(self, what: str, act: str, path: Path, before: int) -> None:
        """Restart the agent, recover, repeat the act, and compare its ledger with the service."""
        name = path.parent.name
        try:
            perform(act, path, self.url, self.application.token, name)
            with Ledger(path) as ledger, Submitter(self.url, self.application.token, ledger) as submitter:
                submitter.recover()
                entries = list(ledger.entries())
        except Exception as error:  # noqa: BLE001 -- any error is a finding
            self.wrong.append(f"{what}: {error!r}")
            return
        landed = self.taken() - before
        if landed != ACTS[act][1]:
            self.wrong.append(f"{what}: {landed} keys taken")
        with self._rows() as rows:
            for entry in entries:
                self.states[entry.state] += 1
                row = rows.execute(
                    "SELECT disposition FROM submissions WHERE idempotency_key = ?", (entry.operation_id,)
                ).fetchone()
                accepted = row is not None and row[0].startswith("accepted")
                if entry.state not in {"committed", "failed"} or accepted != (entry.state == "committed"):
                    self.wrong.append(f"{what}: {entry.state}, but the service has {row}")

    def agent_killed_inside(self, act: str, kill_at: int, path: Path, name: str) -> tuple[bool, int]:
        """Run an act in a process that kills itself at a boundary; return whether it did, and the boundaries passed."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                boundaries = Boundaries(kill_at)
                boundaries.watch()
                perform(act, path, self.url, self.application.token, name)
                os.write(writing, str(boundaries.number).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as crossed:
            number = int(crossed.read() or 0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return ended == -signal.SIGKILL, number

    def _turns(self) -> Iterable[int]:
        """Return the boundaries at which to kill: all until the act survives, or two."""
        if not self._quick:
            return itertools.count(1)
        drawn = next(self._numbers) * 7
        return (1 + drawn % 5, 2 + drawn % 11)

    def agent_at_boundaries(self, act: str) -> None:
        """Kill the agent at each statement, and before and after each request."""
        for kill_at in self._turns():
            if not self.point("agent, statements and requests", act, self._inside(act, kill_at)):
                return

    def _inside(self, act: str, kill_at: int) -> "Kill":
        return lambda path, name: self.agent_killed_inside(act, kill_at, path, name)[0]

    def agent_at_calls(self, act: str) -> None:
        """Kill the agent at each system call on its files and connections."""
        for call in self._calls:
            for kill_at in self._turns():
                if not self.point("agent, system calls", act, self._traced(act, call, kill_at)):
                    break

    def _traced(self, act: str, call: str, kill_at: int) -> "Kill":
        def kill(path: Path, name: str) -> bool:
            trace = [shutil.which("strace") or "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
            inject = ["-e", f"inject={call}:signal=KILL:when={kill_at}"]
            program = [*ACTING, act, str(path), self.url]
            done = subprocess.run(  # noqa: S603 -- our own program
                [*trace, *inject, *program, self.application.token, name], capture_output=True, check=False, timeout=60
            )
            return done.returncode not in {0, 1}

        return kill

    def service_at_statements(self, act: str) -> None:
        """Kill the service at each statement of an act and of its background work."""
        for kill_at in self._turns():
            self.serve(kill_at)
            if not self.point("service, statements", act, self._service_dies(act, contextlib.nullcontext)):
                return

    def service_at_calls(self, act: str) -> None:
        """Kill the service at each write and sync of its files during an act."""
        for call in SERVER_CALLS:
            for kill_at in self._turns():
                self.serve()
                traced = partial(self._tracing, call, kill_at)
                if not self.point("service, system calls", act, self._service_dies(act, traced)):
                    break

    def _service_dies(self, act: str, arrangement: Callable[[], contextlib.AbstractContextManager[None]]) -> "Kill":
        def kill(path: Path, name: str) -> bool:
            with arrangement():
                self.flag.touch()
                self.agent_killed_inside(act, 0, path, name)
                assert self._service is not None  # noqa: S101 -- started before
                deadline = time.monotonic() + _PATIENCE
                while self._service.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                return self._service.poll() is not None

        return kill

    @contextlib.contextmanager
    def _tracing(self, call: str, kill_at: int) -> Iterator[None]:
        assert self._service is not None  # noqa: S101 -- started before
        files = [part for name in (DATABASE, f"{DATABASE}-wal") for part in ("-P", str(self.application.data / name))]
        command = [shutil.which("strace") or "strace", "-f", "-p", str(self._service.pid), "-o", "/dev/null"]
        command += ["-e", f"trace={call}", *files, "-e", f"inject={call}:signal=KILL:when={kill_at}"]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 -- our own choice
        assert tracer.stderr is not None  # noqa: S101 -- piped
        if "attached" not in tracer.stderr.readline():
            sys.exit("strace could not attach to the service")
        # strace writes more as threads start, and would block on a full pipe.
        threading.Thread(target=tracer.stderr.read, daemon=True).start()
        try:
            yield
        finally:
            end(tracer)


Kill = Callable[[Path, str], bool]
"""A function that runs an act with a kill, given a ledger's path and a name; it returns whether the kill happened."""


@click.command(help=__doc__, short_help="kill agents and the service inside a submission")
@click.option("--act", type=click.Choice(sorted(ACTS)), help="one act; all unless it is named")
@closing.options(quick="two points of each kind in four acts; a minute", sabotage="lose each ledger after the kill")
def command(act: str | None, form: closing.Form) -> None:
    """Run the proof."""
    if not shutil.which("strace"):
        sys.exit("strace is needed to kill at system calls; scripts/test installs it where it can.")
    started = time.monotonic()
    with workplace() as folder:
        proof = Proof(folder, quick=form.quick, sabotage=form.sabotage)
        try:
            acts = ("submit", "private", "batch", "recover") if form.quick else ACTS
            for one in [act] if act else acts:
                proof.serve()
                proof.agent_at_boundaries(one)
                proof.agent_at_calls(one)
                proof.service_at_statements(one)
                proof.service_at_calls(one)
                print(f"{one}: {proof.points.total()} points so far, {len(proof.wrong)} wrong", file=sys.stderr)
        finally:
            proof.stop()
        errors = len(re.findall(r"Traceback|ERROR", proof.log.read_text()))
    found: closing.Numbers = {
        "points": dict(proof.points),
        "killed": proof.points.total(),
        "states": dict(proof.states),
        "wrong": proof.wrong,
        "errors_logged": errors,
        "seconds": round(time.monotonic() - started),
    }
    seen = proof.points + proof.states + Counter(killed=proof.points.total())
    found["too_little"] = closing.too_little(seen, LEAST, form.scale(_FULL, by_hand=act is not None))
    closing.finish(found, form, _show, good=not proof.wrong and not errors)


def brief(found: closing.Numbers) -> str:
    """Return the findings in one line."""
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(found["states"].items()))
    return f"{found['killed']:,} kills, operations: {states}, {len(found['wrong'])} wrong"


def _show(found: closing.Numbers) -> None:
    for kind, number in found["points"].items():
        print(f"{number:>6}  {kind}")
    print(f"{found['killed']:>6}  kills in all, {found['seconds']} s; operations afterwards: {found['states']}")
    for line in found["wrong"]:
        print(f"WRONG  {line}")
    print(f"{len(found['wrong'])} wrong, errors logged: {found['errors_logged']}")

"""What happens to a service while it soaks: kills, failovers, reloads, backups, new keys, tokens that end."""

import itertools
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lib.processes import end
from proofs.failover_faults import Faults
from proofs.mirror_world import POLICY, follower
from proofs.operate_site import demand
from proofs.soak_actors import Caller, until
from proofs.soak_desk import Operator
from proofs.watched import WatchedField
from receiver import Receiver

SLOW: Final = "worker:slow"
REFUSED: Final = 3
"""Messages in a row that the receiver of webhooks refuses; a sender tries again after 5, 10 and 20 s."""
_TAKES_UP: Final = 30.0
"""Seconds in which a running service takes up a policy or a key, and shows or ends an alarm, on a busy machine."""
_GRACE: Final = 3.0
_COMMAND_SECONDS: Final = 300
KINDS: Final = (
    "kill -9 of a process",
    "kill -9 of the mirror",
    "receiver refuses",
    "policy reload",
    "backup, verified",
    "new key of the log",
    "token issued and revoked",
    "faulty policy",
)
"""Disturbances of the service; those of the database are in `failover_faults`."""
_KILLS: Final = frozenset(KINDS[:2])
_GUEST: Final = """
[[producer]]
identity = "{identity}"
owner = "other"
submit = ["project:bench"]
read = ["project:bench"]
"""


class Outages:
    """When each process was killed, and when a failover took place."""

    def __init__(self) -> None:
        self._up: dict[int, float] = {}
        """When a killed process was ready again; infinite until then."""
        self._faults_over = 0.0

    def excused(self, port: int, since: float) -> bool:
        """Return whether a request to a port that began then may lack its answer."""
        return since < self._up.get(port, -_GRACE) + _GRACE

    def broken_off(self, since: float) -> bool:
        """Return whether a failover may have cut off a long answer that began then."""
        return since < self._faults_over

    def killed(self, port: int) -> None:
        """Begin the outage of a process."""
        self._up[port] = float("inf")

    def ready(self, port: int) -> None:
        """End the outage of a process."""
        self._up[port] = time.monotonic()

    def fault(self, *, over: bool) -> None:
        """Begin or end a fault of the database."""
        self._faults_over = time.monotonic() if over else float("inf")


class Mirror:
    """A mirror of the memories in a process of its own."""

    def __init__(self, file: Path, port: int, token: str, environment: dict[str, str]) -> None:
        self.file = file
        self._start: Callable[[], subprocess.Popen[bytes]] = lambda: follower(str(file), port, token, environment)
        self._process = self._start()
        self.ended_alone = 0

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def kill(self) -> None:
        """Kill it and start it again."""
        self.ended_alone += self._process.poll() is not None
        self._process.kill()
        end(self._process)
        self._process = self._start()

    def close(self) -> None:
        """Stop it."""
        self.ended_alone += self._process.poll() is not None
        end(self._process)


class Scene:
    """Everything that a disturbance may touch."""

    def __init__(self, field: WatchedField, folder: Path, caller: Caller, outages: Outages) -> None:
        self.field, self.folder, self.caller, self.outages = field, folder, caller, outages
        self.receiver = Receiver()
        self.mirror: Mirror | None = None
        self.operator: Operator | None = None
        self.keys = 1
        """Keys with which the log was signed."""
        self.backups = 0

    def call(self, *arguments: str, typed: str | None = None) -> str:
        """Run a command over the data of the service and return its output.

        Raises BrokenError if it fails.
        """
        command = self.field.application.command(*arguments)
        done = subprocess.run(  # noqa: S603 -- our own program
            command, capture_output=True, text=True, input=typed, timeout=_COMMAND_SECONDS, check=False
        )
        demand(done.returncode == 0, f"antechamber {' '.join(arguments[:2])}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def write_policy(self, more: str = "") -> None:
        """Replace the policy of producers at once, as an editor does."""
        file = self.field.application.policies / "producers.toml"
        slow = _GUEST.format(identity=SLOW)
        written = self.folder / "producers.new"
        written.write_text(POLICY + slow + more)
        written.replace(file)

    def digest(self) -> str:
        """Return the digest of the policy files."""
        found = self.field.application.policies
        done = subprocess.run(  # noqa: S603 -- our own program
            [*self.field.application.command()[:3], "policy", "check", str(found), "--json"],
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=True,
        )
        return str(json.loads(done.stdout)["digest"])

    def health(self, at: int) -> dict[str, Any]:
        """Return what `/readyz` of one process answers operators; nothing while it does not."""
        return (self.operator.health(at) if self.operator else None) or {}

    def every(self, condition: Callable[[dict[str, Any]], object]) -> bool:
        """Return whether the answer of each process to operators fulfills a condition."""
        return all(condition(self.health(at)) for at in range(len(self.field.ports)))


def in_turn(
    common: Sequence[str], faults: Sequence[str], *, made: Container[str], late: Callable[[], bool]
) -> Iterator[str]:
    """Return kinds of disturbances without end: two common ones, then one of the faults if there are any.

    When it is late no process is killed again, so that the last ones run long enough to be judged. A kind that was not
    made yet comes even then: on a busy machine the first disturbances take more than half of a short run.
    """
    fault = itertools.cycle(faults)
    for number, kind in enumerate(itertools.cycle(common)):
        if not (kind in _KILLS and kind in made and late()):
            yield kind
        if number % 2:
            yield from itertools.islice(fault, 1)


class Disturbances:
    """Makes one disturbance after another; `faults` are those of a cluster, if there is one."""

    def __init__(self, scene: Scene, faults: Faults | None, *, auditor: str, drop: Callable[[str], object]) -> None:
        self._scene, self._faults, self._auditor, self._drop = scene, faults, auditor, drop
        self.done: Counter[str] = Counter()
        self.broken: list[str] = []
        self._number = 0
        self._refused = -1
        """How many requests the receiver has when it has refused the last ones."""
        acts = (
            self.kill,
            self.kill_mirror,
            self.refuse,
            self.reload,
            self.back_up,
            self.rotate,
            self.revoke,
            self.spoil_policy,
        )
        self.common: dict[str, Callable[[], None]] = dict(zip(KINDS, acts, strict=True))

    def cycle(self, *, late: Callable[[], bool]) -> Iterator[str]:
        """Return the kinds in turn, without end: two of the service, one of the database."""
        return in_turn(tuple(self.common), self._faults.kinds if self._faults else (), made=self.done, late=late)

    @property
    def went_round(self) -> bool:
        """Whether each kind of the service was made."""
        return self.common.keys() <= self.done.keys()

    def make(self, kind: str) -> None:
        """Make a disturbance and end it; one that does not end as promised is kept in `broken`."""
        self._number += 1
        try:
            if kind in self.common:
                self.common[kind]()
            elif self._faults is not None:
                self._fail_over(self._faults, kind)
        except Exception as error:  # noqa: BLE001 -- reported with its name
            self.broken.append(f"{kind}: {error!r}"[:2000])
        self.done[kind] += 1

    def _fail_over(self, faults: Faults, kind: str) -> None:
        self._scene.outages.fault(over=False)
        try:
            faults.make(kind)
        finally:
            self._scene.outages.fault(over=True)

    def kill(self) -> None:
        """Kill the first process; others go on, so that their memory and files are seen over the whole run."""
        field, outages = self._scene.field, self._scene.outages
        outages.killed(field.ports[0])
        try:
            field.kill_application(0)
            field.until_ready()
        finally:
            outages.ready(field.ports[0])

    def reload(self) -> None:
        """Add or remove a producer; each process has to take the files up."""
        more = _GUEST.format(identity=f"worker:guest-{self._number}") if self._number % 2 else ""
        self._scene.write_policy(more)
        digest = self._scene.digest()
        took = until(lambda: self._scene.every(lambda health: health.get("policy_digest") == digest), _TAKES_UP)
        demand(took, "a process has not taken the policy up")

    def spoil_policy(self) -> None:
        """Write a policy that is none: the old one stays in force, with an alarm that ends with the error."""
        self._scene.write_policy("[[producer]]\nidentity = \n")
        raised = until(lambda: self._scene.every(lambda health: health.get("alarms")), _TAKES_UP)
        self._scene.write_policy()
        demand(raised, "a faulty policy raised no alarm")
        demand(until(self.quiet, _TAKES_UP), "the alarm stayed after the policy was mended")

    def quiet(self) -> bool:
        """Return whether no process shows an alarm."""
        return self._scene.every(lambda health: health.get("status") == "ready")

    def back_up(self) -> None:
        """Make a backup and verify it, on PostgreSQL by opening it in an empty database."""
        file = self._scene.folder / f"backup-{self._number}.tar"
        self._scene.call("backup", "create", str(file))
        url = self._scene.field.server.empty() if hasattr(self._scene.field, "server") else None
        command = [*self._scene.field.application.command()[:3], "backup", "verify", str(file)]
        command += [] if url is None else ["--database-url", url]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False)  # noqa: S603 -- our own program
            demand(done.returncode == 0, f"a backup is not verified: {done.stdout}{done.stderr}")
        finally:
            file.unlink()
            if url is not None:
                self._drop(url)
        self._scene.backups += 1

    def rotate(self) -> None:
        """Sign the log with a new key, which the running processes take up."""
        key = json.loads(self._scene.call("log", "new-key", "--json"))["verifier_key"]
        self._scene.keys += 1
        caller = self._scene.caller
        for port in caller.ports:
            took = until(lambda port=port: self._key_of(port) == key, _TAKES_UP)
            demand(took, f"the process at {port} does not sign with the new key")

    def _key_of(self, port: int) -> str:
        answer = self._scene.caller.ask("key", "/v1/audit/key", self._auditor, port=port)
        return answer[1].decode().split()[0] if answer else ""

    def revoke(self) -> None:
        """Issue a token, use it, and revoke it: within some seconds each process refuses it."""
        name, caller = f"passing-{self._number}", self._scene.caller
        token = self._scene.call("token", "issue", name, "--role", "reader", "--read", "project:bench")
        for port in caller.ports:
            demand(until(lambda port=port: self._status(token, port) == 200, _TAKES_UP), "a new token is refused")  # noqa: PLR2004
        self._scene.call("token", "revoke", name)
        for port in caller.ports:
            demand(until(lambda port=port: self._status(token, port) == 401, _TAKES_UP), "a revoked token works")  # noqa: PLR2004

    def _status(self, token: str, port: int) -> int:
        answer = self._scene.caller.ask("passing token", "/v1/token", token, port=port, expected=(200, 401))
        return answer[0] if answer else 0

    def refuse(self) -> None:
        """Let the receiver of webhooks refuse the next messages; the sender tries again and delivers in order.

        In a short run the messages of the last time may not be delivered yet; more refusals would add to them.
        """
        receiver = self._scene.receiver
        if len(receiver.requests) > self._refused:
            self._refused = len(receiver.requests) + REFUSED
            receiver.answers.extend([500] * REFUSED)

    def kill_mirror(self) -> None:
        """Kill the mirror; it goes on where it was."""
        if self._scene.mirror is not None:
            self._scene.mirror.kill()

"""What agents, auditors, operators and monitoring do all the time while a soak runs."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from standardwebhooks import Webhook

from benchmarks.hostile import Siege, openings
from lib.processes import PRODUCER, SCOPE
from proofs.crash_load import Ledger, submission
from proofs.operate_site import BrokenError, verify_package
from proofs.watched import PATIENCE, Manners
from receiver import Receiver

Body = dict[str, Any]
_OK: Final = 200
_GIVE_UP: Final = 120.0
_JSON: Final = "application/json"


class Caller:
    """Sends requests, each over a connection of its own, and counts the answers that no client may see.

    Such are the improper ones of `Manners`, and each status that the sender does not expect.
    """

    def __init__(
        self, ports: Sequence[int], manners: Manners, broken_off: Callable[[float], bool] = lambda _since: False
    ) -> None:
        """Call any of the ports; `broken_off` returns whether a long answer may lack its end that began at a time."""
        self.ports, self.manners, self._broken_off = ports, manners, broken_off
        self._gate = threading.Lock()
        self.answers: Counter[str] = Counter()
        self.unexpected: Counter[str] = Counter()

    def ask(  # noqa: PLR0913 -- the parts of a request
        self,
        kind: str,
        path: str,
        token: str,
        *,
        body: bytes | None = None,
        method: str | None = None,
        expected: Sequence[int] = (_OK,),
        port: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes] | None:
        """Send a request; return status and body of an expected answer, None for an outage.

        `port` names the process; otherwise it is any.
        """
        where, since = port or random.choice(self.ports), time.monotonic()  # noqa: S311 -- no secret
        link = http.client.HTTPConnection("127.0.0.1", where, timeout=PATIENCE)
        sent = {"authorization": f"Bearer {token}", "content-type": _JSON} | (headers or {})
        try:
            link.request(method or ("GET" if body is None else "POST"), path, body, sent)
            response = link.getresponse()
            answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            if not (isinstance(error, http.client.IncompleteRead) and self._broken_off(since)):
                self.manners.note_silence(where, since)
            return None
        finally:
            link.close()
        self.manners.note(answer[0], {name.lower(): text for name, text in response.getheaders()})
        with self._gate:
            self.answers[f"{kind} {answer[0]}"] += 1
        if answer[0] in expected:
            return answer
        if answer[0] not in {409, 503}:
            self.note(f"{kind} {answer[0]}: {answer[1][:200].decode(errors='replace')}")
        return None

    def insist(self, kind: str, path: str, token: str, body: bytes, expected: Sequence[int]) -> tuple[int, bytes]:
        """Send the same request until it is answered.

        Raises RuntimeError if that takes too long.
        """
        deadline = time.monotonic() + _GIVE_UP
        while (answer := self.ask(kind, path, token, body=body, expected=expected)) is None:
            if time.monotonic() > deadline:
                message = f"{kind}: no answer after {_GIVE_UP:.0f} s"
                raise RuntimeError(message)
            time.sleep(0.2)
        return answer

    def note(self, unexpected: str) -> None:
        """Count something that no client may see."""
        with self._gate:
            self.unexpected[unexpected] += 1


class Actor(threading.Thread):
    """Does the same again and again until stopped; an error in it counts as unexpected."""

    every: ClassVar[float] = 1.0
    """Seconds between two acts, on average."""

    def __init__(self, caller: Caller, stop: threading.Event) -> None:
        super().__init__(name=type(self).__name__, daemon=True)
        self.caller, self.over = caller, stop
        self.chance = random.Random(self.name)  # noqa: S311 -- no secret
        self.acts = 0

    def run(self) -> None:
        """Act."""
        while not self.over.wait(self.chance.uniform(0.5, 1.5) * self.every):
            try:
                self.act()
            except Exception as error:  # noqa: BLE001 -- whatever ends an actor would leave its part of the load out
                self.caller.note(f"{self.name}: {error!r}")
            self.acts += 1

    def act(self) -> None:
        """Do it once."""
        raise NotImplementedError


class Batches(Actor):
    """Submits batches; an unclear one is sent again, and each line is a receipt as any other."""

    every = 6.0
    lines: ClassVar[int] = 40

    def __init__(self, caller: Caller, stop: threading.Event, token: str, ledger: Ledger) -> None:
        super().__init__(caller, stop)
        self._token, self._ledger = token, ledger

    def act(self) -> None:
        """Submit one batch."""
        keys = [f"batch-{self.acts}-{number}" for number in range(self.lines)]
        body = b"\n".join(submission(key, f"Line {key} of a batch.") for key in keys)
        _, answer = self.caller.insist("batch", "/v1/submissions/batch", self._token, body, (_OK,))
        for key, line in zip(keys, answer.splitlines(), strict=True):
            receipt = json.loads(line)
            del receipt["line"]
            # Formed as the answer of the single route, which a client may meet later under this key.
            self._ledger.note(key, (receipt["status"], json.dumps(receipt, separators=(",", ":")).encode()))


class Kept(NamedTuple):
    """An answer that the same request must always get again."""

    token: str
    raw: bytes
    status: int
    receipt: Body


class Misfits(Actor):
    """Submits events that are private, contradict a used key, or support another producer's event.

    Their answers last as any other; `again` sends everything once more and counts the differences.
    """

    # In two hours these are fewer than the 1,000 waiting events of a producer that the policy keeps: an event beyond
    # them is not kept, and its answer is formed again each time.
    every = 16.0

    def __init__(self, caller: Caller, stop: threading.Event, tokens: dict[str, str], ledger: Ledger) -> None:
        super().__init__(caller, stop)
        self._tokens, self._ledger = tokens, ledger
        self.kept: list[Kept] = []

    def act(self) -> None:
        """Submit one event of each kind."""
        name = f"misfit-{self.acts}"
        own, witness = self._tokens[PRODUCER], next(key for key in self._tokens if key != PRODUCER)
        self._ledger.apart |= {f"{name}-private", f"{name}-evidence", f"{name}-reused"}
        private = json.loads(submission(f"{name}-private", f"{name} is for one person only."))
        self._send("private", own, json.dumps(private | {"visibility": "private"}).encode(), 422)
        first = submission(f"{name}-reused", f"{name} is the first text.")
        self._send("first", own, first, 201)
        self._send("conflict", own, submission(f"{name}-reused", f"{name} is another text."), 422)
        evidence = json.loads(submission(f"{name}-evidence", f"{name} is the first text."))
        raw = json.dumps(evidence | {"producer_identity": witness}).encode()
        self._send("evidence", self._tokens[witness], raw, _OK)

    def _send(self, kind: str, token: str, raw: bytes, status: int) -> None:
        seen, answer = self.caller.insist(kind, "/v1/submissions", token, raw, (status,))
        self.kept.append(Kept(token, raw, seen, _as_first(answer)))

    def again(self) -> int:
        """Send each event again; return how many get another answer."""
        different = 0
        for one in list(self.kept):
            status, answer = self.caller.insist("again", "/v1/submissions", one.token, one.raw, (_OK, 201, 422))
            different += (status, _as_first(answer)) != (one.status, one.receipt)
        return different


def _as_first(answer: bytes) -> Body:
    receipt: Body = json.loads(answer)
    return receipt | {"duplicate": False}


class Reader(Actor):
    """Searches, lists, looks receipts up and waits for changes."""

    every = 2.0

    def __init__(self, caller: Caller, stop: threading.Event, token: str, ledger: Ledger) -> None:
        super().__init__(caller, stop)
        self._token, self._ledger = token, ledger

    def act(self) -> None:
        """Make one request of each kind, in turn."""
        where = f"submission_scope=project&scope_id={SCOPE}"
        paths = [
            f"/v1/memories?{where}&q=event+under+fire",
            f"/v1/memories?{where}&limit=50",
            "/v1/token",
            f"/v1/changes?scope=project:{SCOPE}&limit=20&wait=1",
        ]
        paths += [f"/v1/submissions/by-key/{key}" for key in self._ledger.sample(1)]
        path = paths[self.acts % len(paths)]
        self.caller.ask(path.partition("?")[0].rpartition("/by-key/")[0] or path.partition("?")[0], path, self._token)


class ToolUser(Actor):
    """Calls the MCP tools of the service."""

    every = 8.0

    def __init__(self, caller: Caller, stop: threading.Event, token: str) -> None:
        super().__init__(caller, stop)
        self._token = token

    def act(self) -> None:
        """Search for a memory, at each process."""
        asked = {"query": "event under fire", "submission_scope": "project", "scope_id": SCOPE}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        body = json.dumps(call | {"params": {"name": "search_memory", "arguments": asked}}).encode()
        accept = {"accept": "application/json, text/event-stream"}
        for port in self.caller.ports:
            answer = self.caller.ask("mcp", "/mcp", self._token, body=body, port=port, headers=accept)
            if answer and "result" not in json.loads(answer[1]):
                self.caller.note(f"mcp: {answer[1][:200]!r}")


class Scraper(Actor):
    """Scrapes the metrics of each process."""

    every = 15.0

    def __init__(self, caller: Caller, stop: threading.Event, auditor: str) -> None:
        super().__init__(caller, stop)
        self._auditor = auditor

    def act(self) -> None:
        """Scrape."""
        for port in self.caller.ports:
            self.caller.ask("metrics", "/metrics", self._auditor, port=port)


class Exporter(Actor):
    """Takes the audit package, and verifies it with the checkpoint of the one before."""

    every = 60.0

    def __init__(self, caller: Caller, stop: threading.Event, auditor: str, folder: Path) -> None:
        super().__init__(caller, stop)
        self.token, self._folder = auditor, folder
        self.verified = 0
        self.keys: list[str] = []
        """The keys of the log as the last package has them."""
        self._first: Path | None = None

    def act(self) -> None:
        """Export, verify, and look at the records."""
        self.caller.ask("review-records", "/v1/audit/review-records", self.token)
        self.take()

    def take(self) -> bool:
        """Export and verify; return whether there was an answer. The checkpoint of the first export stays."""
        answer = self.caller.ask("package", "/v1/audit/package", self.token)
        if answer is None:
            return False
        place = self._folder / f"export-{self.verified % 2}"
        if self._first is None:
            place = self._folder / "export-first"
        try:
            self.keys = verify_package(answer[1], place, previous=self._first)
        except BrokenError as error:
            self.caller.note(f"package: {error}")
            return True
        self._first = self._first or place / "antechamber-audit" / "checkpoint.txt"
        self.verified += 1
        return True


class Postbox(Actor):
    """Verifies what the receiver of webhooks got, while the signatures are fresh."""

    every = 20.0

    def __init__(self, caller: Caller, stop: threading.Event, receiver: Receiver, secret: str) -> None:
        super().__init__(caller, stop)
        self._receiver, self._signed = receiver, Webhook(secret)
        self._seen = 0
        self.sequences: list[int] = []
        """Sequences of the changes that were delivered; an alarm has only the size of the log."""

    def act(self) -> None:
        """Verify the messages that are new."""
        fresh = self._receiver.requests[self._seen :]
        self._seen += len(fresh)
        for headers, body in fresh:
            self._signed.verify(body, headers)
            event = json.loads(body)
            if event["type"] != "alarm.raised":
                self.sequences.append(event["data"]["sequence"])


class SlowClients(Actor):
    """Holds connections open that send half a head or body, or do not read their answers."""

    every = 5.0
    number: ClassVar[int] = 6
    seconds: ClassVar[float] = 15.0
    kinds: ClassVar[Sequence[str]] = (
        "half-head",
        "half-body",
        "unread",
        "half-form",
        "pipelined",
        "half-body-mcp",
        "silent",
    )

    def __init__(self, caller: Caller, stop: threading.Event, token: str) -> None:
        super().__init__(caller, stop)
        self._token = token

    def act(self) -> None:
        """Hold some connections of one kind for some seconds."""
        opening = openings(self._token)[self.kinds[self.acts % len(self.kinds)]]
        port = self.caller.ports[self.acts % len(self.caller.ports)]
        Siege(port, opening, self.number, reads=False).run(time.monotonic() + self.seconds)


def until(happened: Callable[[], object], seconds: float) -> bool:
    """Wait until something has happened; return whether it did in time."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True

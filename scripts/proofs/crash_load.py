"""The load while processes are killed, and a record of its acknowledgments.

Each client posts its own events and sends every unclear one again, with the same key and bytes, to any process, until
the answer is 2xx or 422. Some events are sent over two connections at once, some contents under two keys at once, and
some answered events again.
"""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from antechamber.core.outgoing import hash_event
from lib.processes import PRODUCER, SCOPE

_TIMEOUT: Final = 15.0
_GIVE_UP: Final = 120.0
"""Timeout after which an event counts as unanswered, which fails the proof."""
_PAUSE: Final = 0.04
"""Maximum pause of a client between two events, so that recovery and not the clients uses the machine."""
_AGAIN: Final = frozenset({409, 429, 500, 502, 503, 504})
_ANSWERED: Final = frozenset({200, 201, 422})
Answer = tuple[int, bytes]


def submission(key: str, content: str) -> bytes:
    """Return a submission body."""
    event: dict[str, Any] = {
        "payload": {"kind": "fact", "content": content},
        "source_span": {"uri": "repo://bench/KILLS.md"},
    }
    head = {
        "idempotency_key": key,
        "producer_identity": PRODUCER,
        "submission_scope": "project",
        "scope_id": SCOPE,
        "source_event_hash": hash_event(event),
    }
    return json.dumps(head | event).encode()


class Sender:
    """One thread's connections to all processes; with a single process, two to it."""

    def __init__(self, ports: Sequence[int], token: str, timeout: float = _TIMEOUT) -> None:
        both = ports if len(ports) > 1 else [*ports, *ports]
        self._links = [http.client.HTTPConnection("127.0.0.1", port, timeout=timeout) for port in both]
        self.headers: dict[str, str] = {}
        """Headers of the last answer, by lower-case name."""
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self._links)

    def begin(self, process: int, raw: bytes) -> bool:
        """Send a submission; return False if the connection broke."""
        return self._begin(process, "POST", "/v1/submissions", raw)

    def _begin(self, process: int, method: str, path: str, raw: bytes | None) -> bool:
        try:
            self._links[process].request(method, path, raw, self._headers)
        except (OSError, http.client.HTTPException):
            self._links[process].close()
            return False
        return True

    def finish(self, process: int) -> Answer | None:
        """Read the answer; return None without one, when the outcome of the request is unknown."""
        try:
            response = self._links[process].getresponse()
            self.headers = {name.lower(): text for name, text in response.getheaders()}
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._links[process].close()
            return None

    def post(self, process: int, raw: bytes) -> Answer | None:
        """Send a submission and read the answer."""
        return self.finish(process) if self.begin(process, raw) else None

    def get(self, process: int, key: str) -> Answer | None:
        """Read a process's answer for a key."""
        path = f"/v1/submissions/by-key/{key}"
        return self.finish(process) if self._begin(process, "GET", path, None) else None

    def close(self) -> None:
        """Close the connections."""
        for link in self._links:
            link.close()


class Ledger:
    """The acknowledged events, and every contradiction between answers."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self.receipts: dict[str, bytes] = {}
        self.contents: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.doubled: set[str] = set()
        self.unanswered: set[str] = set()
        self.refused: set[str] = set()
        self.apart: set[str] = set()
        """Keys of a load whose answers are compared elsewhere, such as events that shall be refused."""

    def note(self, key: str, answer: Answer | None) -> bool:
        """Record one answer; return whether it is final."""
        status = answer[0] if answer else 0
        with self._gate:
            self.statuses[str(status) if answer else "no answer"] += 1
            if answer is None or status in _AGAIN:
                return False
            body = answer[1].replace(b'"duplicate":true', b'"duplicate":false', 1)
            if status not in _ANSWERED or b'"disposition":"accepted' not in body:
                # No event of this load may be refused: a conflict would be another event under the same key.
                self.refused.add(key)
            elif self.receipts.setdefault(key, body) != body:
                self.doubled.add(key)
            return True

    def give_up(self, key: str) -> None:
        """Record that an event got no answer."""
        with self._gate:
            self.unanswered.add(key)

    def sample(self, number: int) -> list[str]:
        """Return a sample of acknowledged keys."""
        with self._gate:
            keys = list(self.receipts)
        return random.sample(keys, min(number, len(keys)))


class Client(threading.Thread):
    """A client that posts until stopped, and finishes the current event; `number` makes its keys unique."""

    pause: ClassVar[float] = _PAUSE

    def __init__(self, number: int, sender: Sender, ledger: Ledger, stop: threading.Event) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self._number, self._sender, self._ledger, self._stop_asked = number, sender, ledger, stop
        self._chance = random.Random(number)  # noqa: S311 -- no secret

    def run(self) -> None:
        """Post event after event."""
        count = 0
        while not self._stop_asked.is_set():
            count += 1
            self._event(f"{self._number}-{count}")
            time.sleep(self._chance.uniform(0, self.pause))
        self._sender.close()

    def _event(self, name: str) -> None:
        shape, content = self._chance.random(), f"Event {name} under fire."
        if shape < 0.6:  # noqa: PLR2004 -- shares of the load
            sent = {self._either(): (f"kill-{name}", submission(f"kill-{name}", content))}
        elif shape < 0.85:  # noqa: PLR2004
            sent = dict.fromkeys(range(len(self._sender)), (f"kill-{name}", submission(f"kill-{name}", content)))
        else:
            keys = [f"kill-{name}-{process}" for process in range(len(self._sender))]
            sent = {process: (key, submission(key, content)) for process, key in enumerate(keys)}
        begun = {process: self._sender.begin(process, raw) for process, (_, raw) in sent.items()}
        for process, (key, raw) in sent.items():
            answer = self._sender.finish(process) if begun[process] else None
            self._settle(key, raw, answer)
        key, raw = sent[next(iter(sent))]
        if self._chance.random() < 0.1:  # noqa: PLR2004
            self._settle(key, raw, None)

    def _either(self) -> int:
        return self._chance.randrange(len(self._sender))

    def _settle(self, key: str, raw: bytes, answer: Answer | None) -> None:
        """Send the same event again until the answer is final."""
        deadline = time.monotonic() + _GIVE_UP
        while not self._ledger.note(key, answer):
            if time.monotonic() > deadline:
                self._ledger.give_up(key)
                return
            time.sleep(self._chance.uniform(0.01, 0.1))
            answer = self._sender.post(self._either(), raw)

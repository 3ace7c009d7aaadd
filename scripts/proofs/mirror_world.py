"""Agents and a curator who let memories begin and end, while the service is killed."""

import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import httpx
import msgspec

from antechamber.core.outgoing import hash_event
from lib.browser import FOUND, Browser, fields_of
from lib.processes import PRODUCER, Application

WITNESS: Final = "tool:witness"
SCOPES: Final = ("project:bench", "project:rig")
POLICY: Final = "".join(
    f"""
[[producer]]
identity = "{identity}"
owner = "{owner}"
submit = ["project:bench", "project:rig"]
read = ["project:bench", "project:rig"]
"""
    for identity, owner in ((PRODUCER, "keeper"), (WITNESS, "other"))
)
"""Two producers of different owners, so that the second one's submissions are evidence."""
SCOPES_POLICY: Final = "[defaults]\nself_edit = true\n"
"""An edit admits its text at once, without a second curator."""
_UNDOES: Final = re.compile(r'name="undoes" value="([^"]*)"')
_TRIES: Final = 400
_PAUSE: Final = 0.05
_SHARES: Final = {
    "admit": 42,
    "edit": 8,
    "supersede": 10,
    "retract": 18,
    "expire": 6,
    "undo": 8,
    "evidence": 5,
    "erase": 3,
}
_BEGIN: Final = {"admit": "approve", "edit": "edit", "supersede": "supersede"}
"""Kinds of change that admit a new event, and their decisions."""


class World(threading.Thread):
    """Changes memories until stopped; pauses where it is asked to."""

    def __init__(self, application: Application, ports: Sequence[int], curator: str) -> None:
        """Sign a curator of this name in."""
        super().__init__(name=f"world of {curator}", daemon=True)
        self._chance = random.Random(curator)  # noqa: S311 -- no secret
        self._application, self._ports = application, ports
        self._tokens = {PRODUCER: application.token, WITNESS: application.issue(WITNESS)}
        self._browser = Browser(ports, self._chance.randrange)
        self._browser.sign_in(application.add_curator(curator))
        self.texts: dict[str, str] = {}
        """Canaries of the texts that were submitted or, after an edit, admitted; by their proposals."""
        self.canaries: set[str] = set()
        """Canaries of all texts and places that were ever written."""
        self._events: dict[str, dict[str, Any]] = {}
        self._active: list[str] = []
        self._ended: list[str] = []
        self.done: Counter[str] = Counter()
        self.running = threading.Event()
        self.idle = threading.Event()
        self._over = threading.Event()

    def run(self) -> None:
        """Make one change after another."""
        while not self._over.is_set():
            if not self.running.wait(_PAUSE):
                self.idle.set()
                continue
            (kind,) = self._chance.choices(list(_SHARES), list(_SHARES.values()))
            self.act(kind)

    def pause(self) -> None:
        """Wait until nothing changes."""
        self.running.clear()
        self.idle.clear()
        self.idle.wait()

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self.join()

    def act(self, kind: str) -> str | None:
        """Make one change of a kind, if there is a memory for it; return its proposal if it was made."""
        proposal: str | None
        if kind in _BEGIN:
            proposal = self._submit()
            made = bool(proposal) and self._decide(proposal or "", _BEGIN[kind])
        elif kind == "evidence":
            proposal = self._choice(self._active)
            made = bool(proposal) and self._post(self._events[proposal or ""], WITNESS) is not None
        elif kind == "erase":
            proposal = self._choice(self._ended)
            made = bool(proposal) and self._erase(proposal or "")
        else:
            proposal = self._choice(self._ended if kind == "undo" else self._active)
            made = bool(proposal) and self._decide(proposal or "", kind)
        if made and proposal:
            self.done[kind] += 1
            self._note(kind, proposal)
            return proposal
        # Refused, for example because another curator superseded the memory.
        for some in (self._active, self._ended):
            if proposal in some:
                some.remove(proposal)
        return None

    def _note(self, kind: str, proposal: str) -> None:
        if kind in _BEGIN:
            self._active.append(proposal)
        elif kind in {"retract", "expire"}:
            self._active.remove(proposal)
            self._ended.append(proposal)
        elif kind == "undo":
            self._ended.remove(proposal)
            self._active.append(proposal)
        elif kind == "erase":
            self._ended.remove(proposal)

    def _choice(self, some: list[str]) -> str | None:
        return self._chance.choice(some) if some else None

    def _canary(self) -> str:
        canary = f"canary-{self._chance.getrandbits(64):016x}"
        self.canaries.add(canary)
        return canary

    def _submit(self) -> str | None:
        canary, place = self._canary(), self._canary()
        event: dict[str, Any] = {
            "submission_scope": "project",
            "scope_id": self._chance.choice(SCOPES).partition(":")[2],
            "payload": {"kind": "fact", "content": f"{canary} " * self._chance.choice((1, 1, 3, 40, 400))},
            "source_span": {"uri": f"repo://rig/{place}"},
        }
        event["source_event_hash"] = hash_event(event)
        answer = self._post(event, PRODUCER)
        if answer is None:
            return None
        proposal: str = answer["proposal_id"]
        self.texts[proposal] = canary
        self._events[proposal] = event
        return proposal

    def _post(self, event: dict[str, Any], producer: str) -> dict[str, Any] | None:
        """Submit an event as a producer until it is answered."""
        key = f"{producer.partition(':')[2]}-{event['source_event_hash'][7:39]}"
        raw = msgspec.json.encode(event | {"producer_identity": producer, "idempotency_key": key})
        for _ in range(_TRIES):
            try:
                url = f"http://127.0.0.1:{self._chance.choice(self._ports)}/v1/submissions"
                sent = {"authorization": f"Bearer {self._tokens[producer]}"}
                response = httpx.post(url, content=raw, headers=sent, timeout=15)
            except httpx.TransportError:
                time.sleep(_PAUSE)
                continue
            if response.status_code in {200, 201}:
                answer: dict[str, Any] = response.json()
                return answer
            time.sleep(_PAUSE)
        return None

    def _decide(self, proposal: str, kind: str) -> bool:
        """Send a decision until it is answered; return whether the desk confirmed it."""
        form: dict[str, str] = {}
        for _ in range(_TRIES):
            if not form:
                form = self._form(proposal, kind)
            page = self._browser.post(f"/review/{proposal}/{kind}", form) if form else None
            if page is not None and page[0] == 200 and "resulting_hash" not in form:  # noqa: PLR2004 -- a page
                # The page that shows the difference of an edit, which the next round confirms.
                form |= fields_of(page[2])
            elif page is not None and page[0] < 500:  # noqa: PLR2004 -- not unavailable
                return page[0] == FOUND
            else:
                time.sleep(_PAUSE)
        return False

    def _form(self, proposal: str, kind: str) -> dict[str, str]:
        """Return the fields of a decision's form; none while the service cannot be reached."""
        page = self._browser.get(f"/review/{proposal}")
        if page is None or page[0] != 200:  # noqa: PLR2004 -- found
            return {}
        form = fields_of(page[2]) | {"reason_code": "wrong"}
        if kind == "undo":
            form |= {"undoes": found[1]} if (found := _UNDOES.search(page[2])) else {}
        if kind == "supersede":
            form |= {"target": self._some_memory(proposal)}
        if kind == "edit":
            self.texts[proposal] = self._canary()
            form |= {"content": f"{self.texts[proposal]} instead"}
        return form

    def _some_memory(self, proposal: str) -> str:
        """Return the id of a memory in the scope of a proposal."""
        params = {"scope": f"project:{self._events[proposal]['scope_id']}", "limit": 20}
        sent = {"authorization": f"Bearer {self._tokens[PRODUCER]}"}
        try:
            url = f"http://127.0.0.1:{self._chance.choice(self._ports)}/v1/memories"
            items = httpx.get(url, params=params, headers=sent, timeout=15).json().get("items", [])
        except httpx.TransportError:
            return ""
        return str(self._chance.choice(items)["memory_id"]) if items else ""

    def _erase(self, proposal: str) -> bool:
        """Erase a text with the command line, which writes beside the service."""
        command = self._application.command("erase", proposal, "--reason", "private", "--yes")
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0  # noqa: S603 -- our own program


def follower(file: str, port: int, token: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a mirror in a process of its own."""
    command = [sys.executable, "-m", "proofs.mirror_follower", file, f"http://127.0.0.1:{port}"]
    return subprocess.Popen(command, env=environment | {"ANTECHAMBER_TOKEN": token})  # noqa: S603 -- our own program

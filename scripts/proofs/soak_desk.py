"""Curators who also ask, undo and end memories; an operator who watches the alarms; a person who signs in and out."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from lib.browser import FOUND, Browser, Page, fields_of
from proofs.crash_desk import Curator
from proofs.soak_actors import Actor, Caller
from proofs.watched import WatchedBrowser

PERSON: Final = "petra"
PASSWORD: Final = "a long enough pass phrase"  # noqa: S105 -- of an account of this run only
_OK: Final = 200
_UNDOES: Final = re.compile(r'name="undoes" value="([^"]*)"')
_MEMORY: Final = re.compile(r"/memories/[0-9a-f-]{36}")
_ENDED_LATER: Final = 20
"""Approved proposals that a curator remembers, to end or undo some of them."""


class SoakCurator(Curator):
    """A curator who approves, rejects, edits, asks, undoes, retracts and lets expire; pages of other kinds, too."""

    pause = 2.0
    _pages: ClassVar[Sequence[str]] = ("/quarantine", "/memories", "/dashboard", "/memories?q=event", "/audit")

    def __init__(
        self,
        number: int,
        ports: Sequence[int],
        link: str,
        minutes: Any,
        stop: threading.Event,
        connect: Callable[[Sequence[int], Callable[[int], int]], Browser],
    ) -> None:
        """Sign in."""
        super().__init__(number, ports, link, minutes, stop, connect)
        self._decided: list[str] = []
        self.done: Counter[str] = Counter()

    def work(self, proposal_id: str) -> None:
        """Decide, or do one of the rarer things."""
        drawn = self._chance.random()
        if drawn < 0.6:  # noqa: PLR2004 -- shares of the work
            self._decided = [*self._decided[-_ENDED_LATER:], proposal_id]
            super().work(proposal_id)
        elif drawn < 0.7:  # noqa: PLR2004
            self._ask(proposal_id)
        elif drawn < 0.9 and self._decided:  # noqa: PLR2004
            kind = self._chance.choice(("undo", "undo", "retract", "expire"))
            self._later(self._chance.choice(self._decided), kind)
        else:
            self._browser.get(self._chance.choice(self._pages))

    def _ask(self, proposal_id: str) -> None:
        """Ask the producer of a proposal."""
        page = self._browser.get(f"/review/{proposal_id}")
        form = fields_of(page[2]) if page and page[0] == _OK else {}
        if "decision_key" in form:
            asked = self._browser.post(f"/review/{proposal_id}/question", form | {"reason_text": "Since when?"})
            self.done["ask"] += asked is not None and asked[0] == FOUND

    def _later(self, proposal_id: str, kind: str) -> None:
        """Undo a decision, or end a memory; a proposal that does not allow it is left alone."""
        page = self._browser.get(f"/review/{proposal_id}")
        text = page[2] if page and page[0] == _OK else ""
        if kind == "undo":
            more = {"undoes": found[1]} if (found := _UNDOES.search(text)) else {}
        else:
            place = _MEMORY.search(text)
            page = self._browser.get(place[0]) if place else None
            text = page[2] if page and page[0] == _OK else ""
            more = {"reason_code": "wrong"} if f'action="/review/{proposal_id}/{kind}"' in text else {}
        form = fields_of(text)
        if more and "decision_key" in form:
            self.done[kind] += self.send(proposal_id, kind, form | {"reason_code": "wrong"} | more)


class Operator(Actor):
    """Reads the pages of operators, and notes which alarms each process shows."""

    every = 5.0

    def __init__(self, caller: Caller, stop: threading.Event, link: str) -> None:
        super().__init__(caller, stop)
        self._at = 0
        self._browser = WatchedBrowser(caller.manners, caller.ports, lambda _: self._at)
        self._browser.sign_in(link)
        self._gate = threading.Lock()
        self.seen: Counter[str] = Counter()
        """How often each alarm was shown."""

    def act(self) -> None:
        """Look at each process."""
        for at in range(len(self.caller.ports)):
            self.alarms(at)
            if self.acts % 6 == 0:
                self._open("/operations", at)

    def _open(self, path: str, at: int) -> Page | None:
        with self._gate:
            self._at = at
            page = self._browser.get(path)
        if page is not None and page[0] not in {_OK, 503}:
            self.caller.note(f"{path} {page[0]} for an operator")
        return page

    def health(self, at: int) -> dict[str, Any] | None:
        """Return what `/readyz` of one process answers an operator; None while it does not."""
        page = self._open("/readyz", at)
        return json.loads(page[2]) if page is not None and page[0] == _OK else None

    def alarms(self, at: int) -> list[str] | None:
        """Return the alarms of one process; None while it cannot say."""
        health = self.health(at)
        if health is None or "alarms" not in health:
            return None
        self.seen.update(str(alarm)[:100] for alarm in health["alarms"])
        return [str(alarm) for alarm in health["alarms"]]


class Visitor(Actor):
    """Signs in with a password, opens a page and signs out."""

    every = 20.0

    def act(self) -> None:
        """Do it once; a failover may end the visit."""
        at = self.chance.randrange(len(self.caller.ports))
        browser = WatchedBrowser(self.caller.manners, self.caller.ports, lambda _: at)
        page = browser.sign_in_with(PERSON, PASSWORD)
        if page is None or page[0] != FOUND:
            if page is not None and page[0] not in {429, 503}:
                self.caller.note(f"sign-in {page[0]}")
            return
        opened = browser.get("/review")
        if opened is not None and opened[0] == _OK:
            left = browser.post("/logout", {"csrf": fields_of(opened[2])["csrf"]})
            again = browser.get("/review") if left is not None and left[0] == FOUND else None
            if again is not None and again[0] == _OK:
                self.caller.note("a page of the desk after the sign-out")

"""Two curators who decide while the service is killed, and a record of the answers they received.

A curator opens a proposal and decides. A decision without a clear answer is sent again with the same form and decision
key, until the desk confirms it (303) or refuses it (409, 403).
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from lib.browser import FOUND, Browser, Page, fields_of

CURATORS: Final = ("cora", "carl")
_GIVE_UP: Final = 120.0
_PAUSE: Final = 0.05
_NOT_MADE: Final = frozenset({403, 409})
"""Statuses of refused decisions: another decision holds, or the editor of the text was to be its only approver."""
_LATER: Final = frozenset({"retract", "expire", "undo"})
_PLACE: Final = re.compile(r'href="/review/([0-9a-f-]{36})"')


class Decision(msgspec.Struct):
    """A sent decision and its curator's knowledge of the outcome."""

    proposal_id: str
    version: int
    kind: str
    unclear: bool = False
    """Whether an attempt got no answer, so that a later refusal may be caused by the decision itself."""
    status: int = 0


class Minutes:
    """The decisions that two curators sent, with the answers."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self.decisions: dict[str, Decision] = {}
        self.statuses: Counter[str] = Counter()
        self.refused: set[str] = set()

    def begin(self, key: str, decision: Decision) -> None:
        """Record a decision before it is sent."""
        with self._gate:
            self.decisions[key] = decision

    def note(self, key: str, page: Page | None) -> bool:
        """Record one answer; return whether it is final."""
        with self._gate:
            decision, status = self.decisions[key], page[0] if page else 0
            self.statuses[str(status) if page else "no answer"] += 1
            if status == FOUND or status in _NOT_MADE:
                decision.status = status
                return True
            if page is None or status == 503:  # noqa: PLR2004 -- unavailable: unknown, or nothing happened
                decision.unclear = True
                return False
            self.refused.add(key)
            return True

    def acknowledged(self) -> dict[str, Decision]:
        """Return the decisions that the desk confirmed."""
        with self._gate:
            return {key: one for key, one in self.decisions.items() if one.status == FOUND}


class Curator(threading.Thread):
    """A curator who decides until stopped, and finishes the current decision."""

    pause: ClassVar[float] = _PAUSE

    def __init__(
        self,
        number: int,
        ports: Sequence[int],
        link: str,
        minutes: Minutes,
        stop: threading.Event,
        connect: Callable[[Sequence[int], Callable[[int], int]], Browser] = Browser,
    ) -> None:
        """Sign in with the browser that `connect` makes."""
        super().__init__(name=f"curator-{number}", daemon=True)
        self._chance = random.Random(f"curator {number}")  # noqa: S311 -- no secret
        self._browser = connect(ports, self._chance.randrange)
        self._browser.sign_in(link)
        self._minutes, self._stop_asked = minutes, stop

    def run(self) -> None:
        """Decide one proposal after another."""
        while not self._stop_asked.is_set():
            queue = self._browser.get("/review")
            places = list(dict.fromkeys(_PLACE.findall(queue[2]))) if queue else []
            if places:
                # One of the first few, so that both curators often open the same proposal.
                self.work(self._chance.choice(places[:4]))
            time.sleep(self._chance.uniform(0, self.pause))

    def work(self, proposal_id: str) -> None:
        """Do something with a waiting proposal: decide."""
        self._decide(proposal_id)

    def _decide(self, proposal_id: str) -> None:
        page = self._browser.get(f"/review/{proposal_id}")
        form = fields_of(page[2]) if page and page[0] == 200 else {}  # noqa: PLR2004 -- found
        if "decision_key" not in form:
            return
        kind, more = self._choice()
        if kind == "edit":
            # The preview precedes the edit, and the form that saves it names the previewed text.
            seen = self._browser.post(f"/review/{proposal_id}/edit", form | more)
            shown = fields_of(seen[2]).get("resulting_hash") if seen else None
            if shown is None:
                return
            more |= {"resulting_hash": shown}
        self.send(proposal_id, kind, form | more)

    def send(self, proposal_id: str, kind: str, form: dict[str, str]) -> bool:
        """Send a decision until its answer is final; return whether the desk confirmed it."""
        key, deadline = form["decision_key"], time.monotonic() + _GIVE_UP
        self._minutes.begin(key, Decision(proposal_id, int(form["version"]), kind))
        while not self._minutes.note(key, self._browser.post(f"/review/{proposal_id}/{kind}", form)):
            if time.monotonic() > deadline:
                return False
            time.sleep(self._chance.uniform(0.01, 0.1))
        return self._minutes.decisions[key].status == FOUND

    def _choice(self) -> tuple[str, dict[str, str]]:
        drawn = self._chance.random()
        if drawn < 0.6:  # noqa: PLR2004 -- shares of the decisions
            return "approve", {}
        if drawn < 0.9:  # noqa: PLR2004
            return "reject", {"reason_code": "outdated"}
        return "edit", {"reason_code": "unclear", "content": f"Said more clearly, {self._chance.random()}."}


def _decided_twice(records: Sequence[Any]) -> set[str]:
    """Return the proposals with a decision on a version whose review had ended before.

    The first of two required approvals, which may be the edit that made the version, leaves it open for another
    decision. A memory ends, and a decision is undone, without a new version.
    """
    approvals: Counter[tuple[str, int]] = Counter()
    ended, twice = set(), set()
    for _, proposal_id, version, decision, required in records:
        if decision in _LATER:
            continue
        here = (proposal_id, version)
        if here in ended:
            twice.add(proposal_id)
        approvals[here if decision == "approve" else (proposal_id, version + 1)] += decision in {"approve", "edit"}
        if decision != "approve" or approvals[here] >= required:
            ended.add(here)
    return twice


def judge(minutes: Minutes, records: Sequence[Any], approved: Counter[str], memories: Counter[str]) -> dict[str, Any]:
    """Compare the curators' answers with rows of (decision key, proposal id, version, decision, persons required).

    The rows are in the order of the decisions. `approved` counts approved proposals, `memories` counts memories, both
    by proposal id.
    """
    found = Counter(row[0] for row in records)
    told, sent = minutes.acknowledged(), minutes.decisions
    kept = {row[0]: (row[1], row[2], row[3]) for row in records}
    lost = {key for key, one in told.items() if kept.get(key) != (one.proposal_id, one.version, one.kind)}
    doubled = {key for key, number in found.items() if number > 1 or key not in sent}
    doubled |= _decided_twice(records)
    # A decision refused on its first attempt, because another holds, must not be recorded as well.
    doubled |= {key for key in found if key in sent and sent[key].status in _NOT_MADE and not sent[key].unclear}
    wrong = {one for one in approved.keys() | memories.keys() if approved[one] != 1 or memories[one] != 1}
    return {
        "decisions": len(told),
        "decisions_lost": len(lost),
        "decisions_doubled": len(doubled),
        "decisions_refused": len(minutes.refused),
        "decisions_unanswered": sum(not one.status for key, one in sent.items() if key not in minutes.refused),
        "memories": sum(memories.values()),
        "memories_wrong": len(wrong),
        "decisions_not_made": sum(one.status in _NOT_MADE for one in sent.values()),
    }

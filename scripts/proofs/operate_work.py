"""The work of agents and a curator during the journey of an operator: all of their requests go through nginx."""

import html
import json
import re
from typing import Any, Final

import httpx

from lib.browser import FOUND, fields_of
from lib.processes import SCOPE
from lib.proxies import ORIGIN
from proofs.crash_load import Ledger, submission
from proofs.operate_site import Front, demand

AGENTS: Final = 3
_AGAIN: Final = 5
"""Every event of this number is sent a second time."""
_PLACE: Final = re.compile(r'href="/review/([0-9a-f-]{36})"')
_FIELDS: Final = re.compile(r'name="(\w+)" value="([^"]*)"')
_ITEMS: Final = 200
_FOUND: Final = 200
_TEXT: Final = re.compile(r"Step \S+ of the rollout is checked by hand\.")


def text_of(key: str) -> str:
    """Return the text of the event under a key."""
    return f"Step {key} of the rollout is checked by hand."


class Work:
    """The answers that agents and a curator got from all services that ran one after another."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.approved: set[str] = set()
        """Texts that were approved."""
        self.decided = 0

    def submit(self, front: Front, token: str, name: str, number: int) -> None:
        """Let one agent submit events, every fifth twice.

        Raises BrokenError for an answer that is no receipt.
        """
        with front.client(token) as agent:
            for count in range(number):
                self._send(agent, f"{name}-{count}")
                if count % _AGAIN == 0:
                    self._send(agent, f"{name}-{count}")

    def _send(self, agent: httpx.Client, key: str) -> None:
        raw = submission(key, text_of(key))
        answer = agent.post("/v1/submissions", content=raw, headers={"content-type": "application/json"})
        demand(self.ledger.note(key, (answer.status_code, answer.content)), f"{key} got {answer.status_code}")
        demand(not self.ledger.refused, f"{key} was refused: {answer.text}")
        demand(not self.ledger.doubled, f"{key} got two different receipts")

    def decide(self, browser: httpx.Client, number: int) -> None:
        """Approve two of three waiting proposals, and reject the third, with the forms of the desk.

        Raises BrokenError if fewer wait, or a decision is not confirmed.
        """
        wanted = self.decided + number
        while self.decided < wanted:
            places = list(dict.fromkeys(_PLACE.findall(browser.get("/review").text)))
            demand(places, f"nothing waits after {self.decided} decisions")
            for place in places[: wanted - self.decided]:
                self._decide(browser, place)

    def _decide(self, browser: httpx.Client, proposal_id: str) -> None:
        page = browser.get(f"/review/{proposal_id}").text
        approve = self.decided % 3 != 0
        form = fields_of(page) | ({} if approve else {"reason_code": "outdated"})
        path = f"/review/{proposal_id}/{'approve' if approve else 'reject'}"
        answer = browser.post(path, data=form, follow_redirects=False)
        demand(answer.status_code == FOUND, f"a decision got {answer.status_code}: {answer.text[:2000]}")
        self.decided += 1
        if approve:
            found = _TEXT.search(html.unescape(page))
            demand(found, f"the page of {proposal_id} does not show its text")
            self.approved |= {found[0]} if found else set()

    def check(self, front: Front, token: str, keys: frozenset[str]) -> None:
        """Look for every receipt of these keys, and for every approved text among the memories.

        Raises BrokenError for the first that is missing or differs.
        """
        with front.client(token) as agent:
            for key in sorted(keys):
                answer = agent.get(f"/v1/submissions/by-key/{key}")
                demand(answer.status_code == _FOUND, f"{key} is missing: {answer.status_code}")
                # The state of the review comes with the receipt, which never changes.
                kept, found = json.loads(self.ledger.receipts[key]), answer.json()
                same = {name: found.get(name) for name in kept} == kept
                demand(same, f"{key} has another receipt: {answer.text}")
            texts = set(recall(agent))
        demand(texts == self.approved, f"{len(texts)} memories instead of {len(self.approved)}")


def recall(agent: httpx.Client, project: str = SCOPE) -> list[str]:
    """Return the texts of all memories of a project."""
    found: list[str] = []
    query: dict[str, Any] = {"submission_scope": "project", "scope_id": project, "limit": _ITEMS}
    while True:
        page = agent.get("/v1/memories", params=query).json()
        found += [item["content"] for item in page["items"]]
        if page["next"] is None:
            return found
        query["after"] = page["next"]


def sign_in(browser: httpx.Client, link: str) -> None:
    """Open a sign-in link and press its button.

    Raises BrokenError if it does not sign in.
    """
    page = browser.get(link.removeprefix(ORIGIN)).text
    answer = browser.post("/login", data=dict(_FIELDS.findall(page)))
    demand(answer.status_code == FOUND, f"the link does not sign in: {answer.status_code}")

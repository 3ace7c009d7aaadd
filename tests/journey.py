"""A journey: one running service, an agent with a token, and people in separate browser windows."""

from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from antechamber.app import open_store
from antechamber.settings import Location
from lib.desk_tour import close
from support import HANG_SECONDS, add_person, event, issue_token, until_sorted

EITHER_WAY = pytest.mark.parametrize(
    ("location", "scripts"), [("sqlite", True), ("postgres", False)], ids=["scripts on", "scripts off"], indirect=True
)
"""Each journey runs with and without scripts, each on a different engine, because pages are the same on both."""


class Journey:
    """One running service with an agent's token and curators' browsers."""

    def __init__(self, live: tuple[str, Location], chromium: Browser, *, scripts: bool) -> None:
        """Issue a token."""
        self.url, self.location = live
        self._chromium = chromium
        self.scripts = scripts
        self.token = issue_token(self.location)
        self.violations: list[str] = []
        self._windows: list[BrowserContext] = []
        self._store = open_store(self.location)

    def close(self) -> None:
        """Close all windows: an open page would try to reconnect to its stopped service until the test run ends."""
        for window in self._windows:
            close(window)
        self._store.close()

    def keep(self, window: BrowserContext) -> None:
        """Close a window with the journey, and give its actions as much time as a busy machine may need."""
        window.set_default_timeout(HANG_SECONDS * 1000)
        self._windows.append(window)

    def submit(self, **members: Any) -> dict[str, Any]:
        """Submit an event as the agent, and wait until the queue is sorted: filters and groups show it from then on."""
        return self.submit_each([members])[0]

    def submit_each(self, events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Submit events with some members as the agent, wait until the queue is sorted, and return the answers."""
        headers = {"authorization": f"Bearer {self.token}"}
        with httpx.Client(headers=headers, timeout=HANG_SECONDS) as agent:
            answers = [agent.post(f"{self.url}/v1/submissions", json=event(**members)).json() for members in events]
        until_sorted(self._store)
        return answers

    def remembered(self) -> list[str]:
        """Read the memories as the agent."""
        headers = {"authorization": f"Bearer {self.token}"}
        params = {"submission_scope": "project", "scope_id": "apollo"}
        items = httpx.get(f"{self.url}/v1/memories", params=params, headers=headers, timeout=HANG_SECONDS).json()[
            "items"
        ]
        return [item["content"] for item in items]

    def sign_in(self, name: str, *, width: int = 1280, role: str = "curator", motion: bool = False) -> Page:
        """Open the sign-in link of a new account in a fresh browser window and press its button.

        `motion` enables view transitions; without a graphics card they take most of a journey's time.
        """
        link = add_person(self.location, name, role, self.url)
        window = self._chromium.new_context(
            java_script_enabled=self.scripts,
            viewport={"width": width, "height": 900},
            reduced_motion="no-preference" if motion else "reduce",
        )
        self.keep(window)
        page = window.new_page()
        page.on("console", lambda message: self.violations.append(message.text))
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        first = {"curator": "Queue", "auditor": "Audit"}[role]
        expect(page.get_by_role("heading", name=first, exact=True)).to_be_visible()
        page.wait_for_load_state()
        return page

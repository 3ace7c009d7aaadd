"""The section `keys`: from the key of a decision until the next page takes keys, in a real Chromium, on both engines.

The browser itself measures: from the key event to the moment at which the script of the next page enables its keys.
"""

import contextlib
import json
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, Error, Page

from antechamber.core.outgoing import hash_event
from benchmarks.rounds import Tell
from lib.desk_tour import chromium, window
from lib.processes import PRODUCER, SCOPE, Application, end, free_port, postgres, workplace

DECISIONS: Final = 40
QUICK: Final = 8
_HANG: Final = 120_000
"""Milliseconds after which a page is taken for hung."""
_POLL: Final = 0.02
"""Seconds between two looks whether a page takes keys."""
_WATCH: Final = """
addEventListener('keydown', (event) => {
  if (event.isTrusted) sessionStorage.setItem('pressed', performance.timeOrigin + event.timeStamp);
}, true);
addEventListener('DOMContentLoaded', () => {
  const look = () => {
    if (!('armed' in document.body.dataset) || !sessionStorage.getItem('pressed')) return;
    const took = performance.timeOrigin + performance.now() - sessionStorage.getItem('pressed');
    sessionStorage.setItem('took', took);
    sessionStorage.removeItem('pressed');
  };
  new MutationObserver(look).observe(document.body, { attributes: true, attributeFilter: ['data-armed'] });
});
"""
"""Runs on each page before its own scripts; the storage of the tab outlives the page."""


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    del rounds  # Each decision is a round.
    number = QUICK if quick else DECISIONS
    made: list[dict[str, Any]] = []
    with workplace() as folder, chromium() as browser:
        made.append(_measured(folder / "sqlite", None, browser, number))
        tell("sqlite: done")
        with postgres(folder) as server:
            made.append(_measured(folder / "postgres", server.empty(), browser, number))
    if as_json:
        for one in made:
            print(json.dumps({"section": "keys", **one}))
        return True
    print(f"\nFrom the key of a decision until the next page takes keys, {number} decisions.\n")
    print(f"{'engine':<10}{'median ms':>10}{'p90 ms':>8}{'most ms':>9}")
    for one in made:
        print(f"{one['engine']:<10}{one['median_ms']:>10}{one['p90_ms']:>8}{one['most_ms']:>9}")
    return True


def _measured(folder: Path, database_url: str | None, browser: Browser, number: int) -> dict[str, Any]:
    application, port = Application(folder, database_url), free_port()
    link = application.add_curator("cora")
    process = application.start(port)
    try:
        url = f"http://127.0.0.1:{port}"
        _submit(url, application.token, number + 2)
        with window(browser) as opened:
            page = opened.new_page()
            page.add_init_script(_WATCH)
            page.goto(f"{url}/login?link={link.rpartition('=')[2]}")
            page.get_by_role("button", name="Sign in").click()
            _pressed(page, "g")
            # Approvals, and every fourth time a rejection, whose second key decides.
            ways = (("a",), ("a",), ("a",), ("r", "1"))
            times = [_pressed(page, *ways[one % len(ways)]) for one in range(number)]
    finally:
        end(process)
    return {
        "engine": "sqlite" if database_url is None else "postgres",
        "median_ms": round(median(times)),
        "p90_ms": round(quantiles(times, n=10)[8]),
        "most_ms": round(max(times)),
    }


def _submit(url: str, token: str, number: int) -> None:
    """Submit proposals that are no near duplicates of each other."""
    for one in range(number):
        event: dict[str, Any] = {
            "payload": {"kind": "procedure", "content": " ".join(f"{one}{letter}" * 3 for letter in "abcdefgh")},
            "source_span": {"uri": f"repo://bench/{one}.md"},
        }
        head = {"idempotency_key": f"key-{one}", "producer_identity": PRODUCER}
        body = head | {"submission_scope": "project", "scope_id": SCOPE} | event
        answer = httpx.post(
            f"{url}/v1/submissions",
            json=body | {"source_event_hash": hash_event(event)},
            headers={"authorization": f"Bearer {token}"},
        )
        answer.raise_for_status()


def _pressed(page: Page, *keys: str) -> float:
    """Press keys when a page takes them; return the milliseconds from the last one until the next page takes keys."""
    page.wait_for_selector("body[data-armed]", timeout=_HANG)
    page.evaluate("sessionStorage.removeItem('took')")
    for key in keys:
        page.keyboard.press(key)
    # Chromium may not poll the condition itself, because the page forbids eval; meanwhile the next page arrives.
    deadline = time.monotonic() + _HANG / 1000
    while time.monotonic() < deadline:
        with contextlib.suppress(Error):
            if took := page.evaluate("sessionStorage.getItem('took')"):
                return float(took)
        time.sleep(_POLL)
    message = f"no page took keys within {_HANG / 1000:.0f} s"
    raise RuntimeError(message)

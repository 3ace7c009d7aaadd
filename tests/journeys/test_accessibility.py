"""Accessibility: every page in every state passes axe, in light, dark, narrow and forced colors."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lib.desk_tour import Tour, policies
from support import serving

COLORS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SIZES = {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]}
VIEWS: dict[str, tuple[dict[str, Any], tuple[int, int], object]] = {
    "light": (
        {"color_scheme": "light", "forced_colors": "none"},
        (1280, 900),
        ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    ),
    "dark": ({"color_scheme": "dark"}, (1280, 900), COLORS),
    "narrow": ({"color_scheme": "light"}, (320, 720), SIZES),
    "zoomed": ({}, (640, 450), None),
    "forced": ({"forced_colors": "active"}, (1280, 900), None),
}
"""Views of each page with the rules to check: all rules once, then those that color or size can affect.

A window of 640 pixels equals one of 1,280 at 200 % zoom.
"""
UNDECIDED = {
    # A script cannot compute system-forced colors, or text over drawings in them.
    "color-contrast",
}


def barriers(page: Page, rules: object) -> list[str]:
    """Return the violations that axe reports, and its undecided results that are not known.

    axe is already loaded on the page.
    """
    options = {"runOnly": rules, "resultTypes": ["violations", "incomplete"]}
    found = page.evaluate("options => axe.run(document, options)", options)
    certain = [f"{one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in found["violations"]]
    doubtful = [one for one in found["incomplete"] if one["id"] not in UNDECIDED]
    return certain + [f"undecided {one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in doubtful]


def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than its window (WCAG 1.4.10)."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


def show(page: Page, view: str) -> object:
    """Bring a page into a view and return the rules to check in it."""
    media, (width, height), rules = VIEWS[view]
    page.emulate_media(**media)
    page.set_viewport_size({"width": width, "height": height})
    return rules


def looked_at(page: Page, view: str) -> list[str]:
    """Check the open page in one view and return the problems."""
    rules = show(page, view)
    seen = [f"{view}: {one}" for one in barriers(page, rules)] if rules else []
    if (wide := overflow(page)) > 0:
        seen.append(f"{view}: {wide} pixels too wide")
    return seen


@pytest.mark.timeout(900)
@pytest.mark.parametrize("state", ["empty", "full"])
def test_no_page_has_a_barrier(state: str, chromium: Browser, tmp_path: Path) -> None:
    """Every page and state has no violation of WCAG 2.2 AA and does not scroll sideways.

    Checked empty and with content. Each person has one window, because a new one costs more than a page.
    """
    found: dict[str, list[str]] = {}
    with (
        serving(tmp_path / "data", policies(tmp_path / "policies")) as (url, _),
        contextlib.ExitStack() as windows,
    ):
        tour, pages = Tour(url, ["--data", str(tmp_path / "data")], chromium), dict[str, Page]()
        if state == "full":
            tour.fill()
        for name, person, visit in tour.empty() if state == "empty" else tour.full():
            if person not in pages:
                pages[person] = windows.enter_context(tour.window(person)).new_page()
            page = pages[person]
            show(page, "light")
            visit(page)
            page.evaluate(Axe().axe_script)
            if seen := [one for view in VIEWS for one in looked_at(page, view)]:
                found[name] = seen
    assert found == {}

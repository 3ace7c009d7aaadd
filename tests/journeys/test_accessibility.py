"""No barrier that a machine can find: every page in every state, light, dark, narrow and in forced colors."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from desk_tour import Tour, policies
from support import serving

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
VIEWS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 720}},
    "forced": {"forced_colors": "active"},
    "zoomed": {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},
}
UNDECIDED = {
    # Colors that the system forces, and text over what is drawn by it, cannot be computed by a script.
    "color-contrast",
}


WHAT: dict[str, object] = {
    "light": RULES,
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "narrow": {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]},
}
"""What each view is looked through for: all of it once, and then what another color or window can change."""


def barriers(page: Page, rules: object) -> list[str]:
    """Return what axe finds, and what it could not decide that is not known."""
    found = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations", "incomplete"]}).response
    certain = [f"{one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in found["violations"]]
    doubtful = [one for one in found["incomplete"] if one["id"] not in UNDECIDED]
    return certain + [f"undecided {one['id']}: {[node['target'] for node in one['nodes'][:3]]}" for one in doubtful]


def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than its window (WCAG 1.4.10)."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


@pytest.fixture(scope="module")
def places(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tour, Tour]]:
    """One service before anything came, and one in which every page has something to show."""
    made = []
    with contextlib.ExitStack() as stack:
        for name in ("empty", "full"):
            folder: Path = tmp_path_factory.mktemp(name)
            url, _ = stack.enter_context(serving(folder / "data", policies(folder / "policies")))
            made.append(Tour(url, ["--data", str(folder / "data")], chromium))
        made[1].fill()
        yield made[0], made[1]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("view", VIEWS)
def test_no_page_has_a_barrier(places: tuple[Tour, Tour], view: str) -> None:
    """Zero violations of WCAG 2.2 AA on every page and state, and nothing to scroll sideways."""
    empty, full = places
    found: dict[str, list[str]] = {}
    for tour, pages in ((empty, empty.empty()), (full, full.full())):
        contexts = {name: tour.context(name, **VIEWS[view]) for name in tour.people}
        for name, person, visit in pages:
            page = contexts[person].new_page()
            visit(page)
            seen = barriers(page, WHAT[view]) if view in WHAT else []
            if (wide := overflow(page)) > 0:
                seen.append(f"{wide} pixels too wide")
            if seen:
                found[name] = seen
            page.close()
        for context in contexts.values():
            context.close()
    assert found == {}

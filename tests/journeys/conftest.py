"""Fixtures for journeys: a real Chromium and a real server process."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from antechamber.settings import Location
from journey import Journey
from support import serving

HANG_MILLISECONDS = 60_000
"""Timeout after which a page is treated as hung; a busy machine may need seconds instead of milliseconds."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all journeys; without Chromium they fail instead of being skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "the journeys need Chromium; scripts/test installs it where it can"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=HANG_MILLISECONDS)
        expect.set_options(timeout=HANG_MILLISECONDS)
        yield browser
        browser.close()


@pytest.fixture
def live(location: Location, policies: Path) -> Iterator[tuple[str, Location]]:
    """A served location on each engine, and its address."""
    with serving(location, policies) as (url, _process):
        yield url, location


@pytest.fixture
def scripts(request: pytest.FixtureRequest) -> bool:
    """Return whether the browser runs scripts."""
    on: bool = request.param
    return on


@pytest.fixture
def journey(live: tuple[str, Location], chromium: Browser, scripts: bool) -> Iterator[Journey]:  # noqa: FBT001 -- a fixture
    """A journey whose pages must not log any error."""
    with contextlib.closing(Journey(live, chromium, scripts=scripts)) as made:
        yield made
        assert made.violations == []


@pytest.fixture
def with_scripts(live: tuple[str, Location], chromium: Browser) -> Iterator[Journey]:
    """A journey with scripts, whose pages must not log any error."""
    with contextlib.closing(Journey(live, chromium, scripts=True)) as made:
        yield made
        assert made.violations == []

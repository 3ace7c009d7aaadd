"""A real Chromium against a real server process."""

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
"""After this a page is taken to hang; a busy machine may take seconds for what takes milliseconds otherwise."""
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
    """One browser for all journeys; without Chromium they fail rather than pass unseen."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "the journeys need Chromium; scripts/test installs it where it can"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=HANG_MILLISECONDS)
        expect.set_options(timeout=HANG_MILLISECONDS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def unmeasured(at_own_speed: None) -> None:
    """Services of journeys run at their own speed."""


@pytest.fixture
def live(location: Location, policies: Path) -> Iterator[tuple[str, Location]]:
    """A served place of each engine, and its address."""
    with serving(location, policies) as (url, _process):
        yield url, location


@pytest.fixture
def scripts(request: pytest.FixtureRequest) -> bool:
    """Whether the browser runs scripts."""
    on: bool = request.param
    return on


@pytest.fixture
def journey(live: tuple[str, Location], chromium: Browser, scripts: bool) -> Iterator[Journey]:  # noqa: FBT001 -- a fixture
    """A journey whose pages may not complain about anything."""
    with contextlib.closing(Journey(live, chromium, scripts=scripts)) as made:
        yield made
        assert made.violations == []


@pytest.fixture
def with_scripts(live: tuple[str, Location], chromium: Browser) -> Iterator[Journey]:
    """A journey with scripts, whose pages may not complain about anything."""
    with contextlib.closing(Journey(live, chromium, scripts=True)) as made:
        yield made
        assert made.violations == []

"""A real Chromium against a real server process."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from antechamber.config import Place
from support import serving

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
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def live(place: Place, policies: Path) -> Iterator[tuple[str, Place]]:
    """A served place of each engine, and its address."""
    with serving(place, policies) as (url, _process):
        yield url, place

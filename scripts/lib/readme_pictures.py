"""The two pictures of the README, light and dark: a proposal at the desk, from the demo's events."""

from base64 import b64decode
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page

from antechamber.cli.demo import BOT, MIGRATION, WATCHER, run, send
from antechamber.resources import folder
from lib.desk_tour import window

PICTURES: Final = folder("templates") / "assets" / "pictures"
MAX_BYTES: Final = 120_000
Theme = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")


def take(url: str, where: list[str], browser: Browser) -> list[Path]:
    """Send the demo's events to a fresh service, take the pictures and return their files.

    `where` holds the command-line options for the service's location. Raises ValueError if a picture is too large.
    """
    send(url, {name: run("token", "issue", name, *where) for name in (BOT, WATCHER)})
    PICTURES.mkdir(exist_ok=True)
    with window(browser, viewport={"width": 1200, "height": 760}) as opened:
        page = opened.new_page()
        page.goto(run("user", "add", "cora", "--role", "curator", *where, "--url", url))
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name=MIGRATION["content"].partition("\n")[0]).first.click()
        page.get_by_role("button", name="Approve").first.wait_for()
        return [_take(page, theme) for theme in THEMES]


def _take(page: Page, theme: Theme) -> Path:
    file = PICTURES / f"desk-{theme}.webp"
    page.emulate_media(color_scheme=theme)
    # Playwright itself writes PNG, which is twice as large.
    session = page.context.new_cdp_session(page)
    picture = b64decode(session.send("Page.captureScreenshot", {"format": "webp", "quality": 90})["data"])
    if len(picture) > MAX_BYTES:
        message = f"{file} would have {len(picture):,} bytes, more than {MAX_BYTES:,}"
        raise ValueError(message)
    file.write_bytes(picture)
    return file

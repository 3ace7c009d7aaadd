"""Views of the queue in a browser: filters by mouse and key, dense lists, touch screens and the reader's zone."""

import re

from playwright.sync_api import Page, expect

from journey import EITHER_WAY, Journey
from support import antechamber, until, where

TEXTS = [
    "The staging host is rebuilt on Mondays.",
    "Cold starts take forty seconds in the morning.",
    "Lint before the review of any change.",
]

CONTRASTS = """() => {
    const channels = (color) => color.match(/[0-9.]+/g).map(Number);
    const light = ([red, green, blue]) => [[red, 0.2126], [green, 0.7152], [blue, 0.0722]]
        .map(([value, part]) => [value / 255, part])
        .reduce((sum, [value, part]) =>
            sum + part * (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4), 0);
    return [...document.querySelectorAll('main kbd')].filter((one) => one.checkVisibility()).map((one) => {
        let behind = one;
        while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
        const [paper, own] = [behind, one].map((each, at) =>
            channels(getComputedStyle(each)[at ? 'color' : 'backgroundColor']));
        const alpha = Number(getComputedStyle(one).opacity);
        const ink = [0, 1, 2].map((at) => own[at] * alpha + paper[at] * (1 - alpha));
        const [more, less] = [light(ink), light(paper)].sort((a, b) => b - a);
        return (more + 0.05) / (less + 0.05);
    });
}"""
"""Returns the contrast of each visible keycap's letter with what is behind it."""


def fill(journey: Journey) -> None:
    """Submit proposals of two kinds."""
    for number, text in enumerate(TEXTS):
        journey.submit(payload={"kind": "fact" if number else "procedure", "content": text, "tags": ["host"]})


@EITHER_WAY
def test_a_curator_works_inside_a_view_and_saves_it(journey: Journey) -> None:
    """A link in a row narrows the queue, the view is saved as a tab, and decisions stay inside it until it is empty."""
    fill(journey)
    page = journey.sign_in("cora")
    expect(page.locator(".rows a.whole")).to_have_count(len(TEXTS))
    page.goto(f"{journey.url}/review?q=kind:fact")
    expect(page.locator(".rows a.whole")).to_have_count(2)
    page.get_by_text("Filters and views").click()
    page.get_by_label("Save this filter as a view named").fill("Facts")
    page.get_by_role("button", name="Save").click()
    tab = page.get_by_label("Views").get_by_role("link", name=re.compile("Facts"))
    expect(tab).to_have_attribute("aria-current", "true")
    expect(tab).to_contain_text("2")
    page.get_by_role("button", name="Start reviewing").click()
    expect(page.locator(".progress")).to_have_text(re.compile(r"0 today,\s+1 of 2"))
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".progress")).to_have_text(re.compile(r"1 today,\s+1 of 1"))
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("No waiting proposal matches")).to_be_visible()
    page.get_by_role("link", name="Remove kind:fact").click()
    expect(page.locator(".rows a.whole")).to_have_count(1)


def test_times_are_those_of_the_reader(with_scripts: Journey) -> None:
    """A relative time has the exact one in the reader's zone as its title; a time in a table is in that zone."""
    fill(with_scripts)
    page = with_scripts.sign_in("cora")
    expect(page.locator(".rows time").first).to_have_text(re.compile(r"just now|ago$"))
    # The text alone may still be the server's. Chromium may not poll a condition itself: the page forbids eval.
    until(lambda: page.evaluate("document.cookie.includes('zone=')"), "the page knows its zone")
    offset = page.evaluate("String(-new Date().getTimezoneOffset())")
    assert {one["value"] for one in page.context.cookies() if one["name"] == "zone"} == {offset}
    title = page.locator(".rows time").first.get_attribute("title") or ""
    assert title == page.evaluate(
        "at => new Intl.DateTimeFormat('en-CA', { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' })"
        ".format(new Date(at))",
        page.locator(".rows time").first.get_attribute("datetime"),
    )
    page.goto(f"{with_scripts.url}/submissions")
    expect(page.locator("td time").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d$"))


def shown_rows(page: Page) -> int:
    """Return how many rows of the queue are in the window as a whole."""
    count: int = page.evaluate(
        "[...document.querySelectorAll('.rows > li')]"
        ".filter((one) => one.getBoundingClientRect().bottom <= innerHeight).length"
    )
    return count


def test_dense_lists_show_fifteen_rows(with_scripts: Journey) -> None:
    """With dense lists, a window of 850 pixels shows fifteen rows of the queue at least, each on one line."""
    with_scripts.submit_each({"content": " ".join(f"{one}{letter}" * 3 for letter in "abcdef")} for one in range(20))
    page = with_scripts.sign_in("cora")
    page.set_viewport_size({"width": 1280, "height": 850})
    sparse = shown_rows(page)
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Dense: one line for each row").check()
    page.get_by_role("button", name="Save").click()
    page.goto(f"{with_scripts.url}/review")
    assert shown_rows(page) >= 15 > sparse


def test_a_phone_reaches_settings_and_shows_no_keys(with_scripts: Journey) -> None:
    """On a touch screen no key hint is visible, and settings are one tap away."""
    fill(with_scripts)
    added = antechamber(
        "user", "add", "tess", "--role", "curator", *where(with_scripts.location), "--url", with_scripts.url
    )
    window = with_scripts._chromium.new_context(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    with_scripts.keep(window)
    page = window.new_page()
    page.goto(added.stdout.strip())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
    page.wait_for_load_state()
    assert page.locator("kbd").count() > 0
    assert page.locator("kbd:visible").count() == 0
    page.get_by_role("link", name="Settings").tap()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


@EITHER_WAY
def test_the_queue_leads_on_from_the_row_of_the_proposal(journey: Journey) -> None:
    """The way back to the queue selects the row from which a person came, also inside a filter."""
    fill(journey)
    page = journey.sign_in("cora")
    for text in (TEXTS[1], TEXTS[2]):
        page.goto(f"{journey.url}/review?q=a")
        page.get_by_role("link", name=text).click()
        page.get_by_role("link", name="Filtered queue").click()
        expect(page.get_by_role("link", name=text)).to_be_focused()


def test_every_keycap_is_as_legible_as_text(with_scripts: Journey) -> None:
    """The letters on the keycaps have the contrast of text (WCAG 1.4.3) in both color schemes."""
    fill(with_scripts)
    page = with_scripts.sign_in("cora")
    page.get_by_role("link", name=TEXTS[0]).click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.wait_for_load_state()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ratios = page.evaluate(CONTRASTS)
        assert len(ratios) > 10
        assert min(ratios) >= 4.5, scheme


OVERLAPS = """() => {
    const note = document.querySelector('#done');
    const box = note.getBoundingClientRect();
    return [...document.querySelectorAll('button, .button')]
        .filter((one) => one.checkVisibility() && !note.contains(one))
        .filter((one) => {
            const other = one.getBoundingClientRect();
            return other.left < box.right && box.left < other.right && other.top < box.bottom && box.top < other.bottom;
        })
        .map((one) => one.textContent.trim());
}"""


@EITHER_WAY
def test_no_button_overlaps_the_note_of_a_decision(journey: Journey) -> None:
    """On a desktop and on a phone, the note of what was done and the buttons have their own places."""
    fill(journey)
    page = journey.sign_in("cora")
    page.locator(".rows a.whole").first.click()
    page.get_by_role("button", name="Approve").click()
    note = page.locator("#done")
    expect(note).to_contain_text("Approved")
    for width, height in ((1280, 800), (390, 800), (320, 640)):
        page.set_viewport_size({"width": width, "height": height})
        for place in ("0", "document.body.scrollHeight"):
            page.evaluate(f"window.scrollTo(0, {place})")
            assert page.evaluate(OVERLAPS) == []


def test_the_underline_of_a_link_is_below_its_underscores(with_scripts: Journey) -> None:
    """An underscore ends about an eighth of the size of the letters below the line; the underline is farther down."""
    with_scripts.submit(content="Read the notes first.")
    page = with_scripts.sign_in("cora")
    offsets = page.evaluate(
        "() => [...document.querySelectorAll('main a')].map((one) => getComputedStyle(one))"
        ".filter((one) => one.textDecorationLine.includes('underline'))"
        ".map((one) => parseFloat(one.textUnderlineOffset) / parseFloat(one.fontSize))"
    )
    assert offsets
    assert min(offsets) >= 0.2

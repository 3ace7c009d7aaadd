"""Live updates in open tabs: counters and a notice without a reload, and no rows that move under the cursor."""

from playwright.sync_api import Page, expect

from journey import Journey
from support import until


def places(page: Page) -> list[tuple[str | None, float]]:
    """Return the position of each row of the queue on the page."""
    return [(row.get_attribute("href"), (row.bounding_box() or {"y": 0})["y"]) for row in page.locator("a.whole").all()]


def test_another_tab_learns_of_a_decision(with_scripts: Journey) -> None:
    """The open proposal shows the decision, the open queue shows a notice, and rows stay in place."""
    journey = with_scripts
    for name in ("first", "second"):
        journey.submit(content=f"The {name} lesson of the day.")
    bob, eve = journey.sign_in("bob"), journey.sign_in("eve")
    watching = bob.context.new_page()
    watching.goto(bob.url)
    before = places(watching)
    bob.get_by_role("link", name="The first lesson of the day.").click()
    eve.get_by_role("link", name="The first lesson of the day.").click()
    expect(bob.locator("#news")).to_be_hidden()
    eve.get_by_role("button", name="Approve", exact=True).click()
    expect(bob.locator("#news")).to_contain_text("decided or changed meanwhile")
    expect(watching.locator("#news")).to_contain_text("The queue changed")
    expect(watching.locator("[data-count=pending]")).to_have_text("1")
    assert places(watching) == before
    expect(bob.locator("#warnings")).to_be_visible()
    bob.get_by_role("button", name="Show it").click()
    expect(bob.get_by_text("Decided proposal")).to_be_visible()


def test_a_hidden_tab_holds_no_stream(with_scripts: Journey) -> None:
    """Browsers allow few connections per host, so a background tab closes its stream."""
    page = with_scripts.sign_in("bob")
    page.add_init_script(
        """
        window.away = false;
        window.streams = [];
        window.EventSource = class extends EventSource {
            constructor(url) { super(url); window.streams.push(this); }
        };
        Object.defineProperty(document, 'hidden', {get: () => window.away});
        """
    )
    page.reload()
    until(lambda: page.evaluate("window.streams.length === 1"), "the page follows the service")

    def look(*, away: bool) -> list[int]:
        page.evaluate("away => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }", away)
        states: list[int] = page.evaluate("window.streams.map((one) => one.readyState)")
        return states

    closed = 2
    assert look(away=True) == [closed]
    assert look(away=False)[0] == closed
    assert page.evaluate("window.streams.length") == 2


def test_an_open_proposal_shows_a_colleagues_note_beside_what_was_typed(with_scripts: Journey) -> None:
    """A note and a flag are noticed; a closed notice waits for the next change, and to show it loses no text."""
    journey = with_scripts
    proposal = journey.submit(content="Deploy on Fridays.")["proposal_id"]
    bob, eve = journey.sign_in("bob"), journey.sign_in("eve")
    for page in (bob, eve):
        page.goto(f"{journey.url}/review/{proposal}")
    bob.get_by_text("Edit or redact").click()
    bob.get_by_label("Text to remember").fill("Deploy on Mondays.")
    eve.get_by_label("Note, optional").fill("Not on holidays.")
    eve.get_by_role("button", name="Add note").click()
    news = bob.locator("#news")
    expect(news).to_contain_text("A note or an assignment was added meanwhile.")
    for link in bob.get_by_role("navigation").get_by_role("link").all():
        link.click(trial=True)
    news.get_by_role("button", name="Close").click()
    expect(news).to_be_hidden()
    eve.get_by_role("button", name="Request second review").click()
    expect(news).to_contain_text("This proposal was decided or changed meanwhile.")
    bob.locator("h1").first.click()
    bob.keyboard.press(".")
    expect(bob.locator("#conversation")).to_contain_text("Not on holidays.")
    expect(bob.locator("#scope")).to_contain_text("second review requested")
    expect(bob.get_by_label("Text to remember")).to_have_value("Deploy on Mondays.")
    expect(bob.get_by_label("Text to remember")).to_be_focused()

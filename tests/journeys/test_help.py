"""The help in a real browser: from a page to its chapter, and from one document to another."""

from playwright.sync_api import expect

from journey import EITHER_WAY, Journey

pytestmark = EITHER_WAY


def test_a_curator_reads_about_the_page_at_hand(journey: Journey) -> None:
    """Help leads to the heading about the page, links lead on to other documents, and the picture follows the theme."""
    proposal = journey.submit()["proposal_id"]
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{proposal}")
    page.get_by_role("link", name="Help", exact=True).click()
    expect(page).to_have_url(f"{journey.url}/help/desk#a-proposal")
    expect(page.get_by_role("heading", name="A proposal")).to_be_in_viewport()
    page.get_by_role("article").get_by_role("link", name="guidelines").click()
    expect(page).to_have_url(f"{journey.url}/help/policies#guidelinestoml")
    expect(page.get_by_role("heading", name="guidelines.toml")).to_be_in_viewport()
    page.get_by_role("navigation", name="Documents").get_by_role("link", name="For agents").click()
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="Ledger commands").click()
    expect(page.get_by_role("heading", name="Ledger commands")).to_be_in_viewport()
    page.get_by_role("navigation", name="Documents").get_by_role("link", name="Overview").click()
    picture = page.get_by_role("article").get_by_role("img")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        expect(picture).to_have_js_property("currentSrc", f"{journey.url}/assets/pictures/desk-{theme}.webp")
        expect(picture).to_have_js_property("naturalWidth", 1200)


def test_a_wide_table_scrolls_in_its_box_on_a_phone(journey: Journey) -> None:
    """At 320 pixels the page is no wider than the window, and the table of codes is wider than its box."""
    page = journey.sign_in("bob", width=320)
    page.goto(f"{journey.url}/help/agents#answers-and-error-codes")
    box = page.get_by_role("region", name="Answers and error codes, table")
    expect(box).to_be_in_viewport()
    widths = box.evaluate("box => [box.scrollWidth, box.clientWidth, document.documentElement.scrollWidth]")
    assert widths[0] > widths[1]
    assert widths[2] == 320

"""The desk by keyboard in a real browser: one key per decision, and no key by accident."""

import random
import re
import string

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from journey import Journey
from support import HANG_SECONDS

on_sqlite = pytest.mark.parametrize("location", ["sqlite"], indirect=True)
"""What the browser's key handling alone decides is the same on each engine, so one suffices."""
NUMBERS = ("first", "second", "third", "fourth")


def queue(journey: Journey, number: int = 4, *, motion: bool = False) -> Page:
    """Submit a few events and sign a curator in."""
    for name in NUMBERS[:number]:
        journey.submit(content=f"The {name} lesson.")
    return journey.sign_in("bob", motion=motion)


def armed(page: Page) -> Page:
    """Wait until the page accepts keys."""
    page.wait_for_selector("body[data-armed]")
    return page


def press(page: Page, *keys: str) -> None:
    """Press keys one after another on a page that accepts them."""
    armed(page)
    for key in keys:
        page.keyboard.press(key)


def opened(page: Page, name: str) -> Page:
    """Open one proposal by its text."""
    page.get_by_role("link", name=f"The {name} lesson.").click()
    expect(page.locator("#warnings")).to_be_visible()
    return armed(page)


@on_sqlite
def test_a_button_that_is_pressed_twice_sends_its_form_once(with_scripts: Journey) -> None:
    """A second Enter before the answer sends nothing, so that the next page says what was recorded."""
    page = opened(queue(with_scripts, 2), "first")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/approve*", hold)
    page.get_by_role("button", name="Approve").first.focus()
    page.keyboard.press("Enter")
    while not held:
        page.wait_for_timeout(10)
    page.keyboard.press("Enter")
    # A second request would be held by now; nothing on the page says that none was sent.
    page.wait_for_timeout(300)
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_role("status")).to_contain_text("Approved")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")


@on_sqlite
@pytest.mark.parametrize("motion", [True, False], ids=["motion", "no motion"])
def test_a_queue_is_worked_off_by_keys_alone(with_scripts: Journey, motion: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    """Open with j and Enter; then one key approves, two reject, one skips, and the next item opens by itself."""
    page = queue(with_scripts, motion=motion)
    press(page, "j", "j", "k", "Enter")
    expect(page.locator("p.text").first).to_have_text("The first lesson.")
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    press(page, "r", "2")
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    expect(page.locator("p.text").first).to_have_text("The third lesson.")
    press(page, "s")
    expect(page.locator("p.text").first).to_have_text("The fourth lesson.")
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    press(page, "u")
    expect(page.locator("a.whole")).to_have_text(["The third lesson."])
    assert with_scripts.remembered() == ["The fourth lesson.", "The first lesson."]


@on_sqlite
def test_keys_are_dead_while_a_person_types(with_scripts: Journey) -> None:
    """In fields, in the list of reasons, with modifiers and on repeat no letter decides."""
    page = opened(queue(with_scripts, 1), "first")
    press(page, "e")
    expect(page.get_by_label("Text to remember")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type(" a r 1 s")
    expect(page.get_by_label("Text to remember")).to_have_value("The first lesson. a r 1 s")
    page.get_by_label("Note").first.click()
    page.keyboard.type("ar1s")
    page.keyboard.press("Enter")
    page.locator("h1").click()
    page.keyboard.press("a")
    for key in ("Control+a", "Alt+a", "Meta+a", "1", "Backspace", "Delete", "Space", "Enter"):
        page.keyboard.press(key)
    page.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true}))")
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true, bubbles: true}))")
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', isComposing: true, bubbles: true}))"
    )
    page.reload()
    expect(page.get_by_text("None yet.")).to_be_visible()
    assert with_scripts.remembered() == []


@on_sqlite
def test_an_edit_is_five_keys_and_its_text(with_scripts: Journey) -> None:
    """Focus the text, change it, move to the reasons, press a digit, save the preview; other keys decide nothing."""
    page = opened(queue(with_scripts, 1), "first")
    press(page, "e")
    page.keyboard.press("Control+a")
    page.keyboard.type("Said more clearly.")
    page.locator("h1").click()
    press(page, "a", "s", "f", "r", "1", "z", "1")
    expect(page.get_by_text("None yet.")).to_be_visible()
    press(page, "e", "Tab", "Tab", "4")
    expect(page.get_by_role("heading", name="Your change")).to_be_focused()
    press(page, "e")
    expect(page.get_by_label("Text to remember")).to_be_focused()
    expect(page.get_by_label("Text to remember")).to_have_value("Said more clearly.")
    page.locator("h1").click()
    press(page, "a", "s", "f", "r", "1")
    expect(page.get_by_text("None yet.")).to_be_visible()
    press(page, "e", "Tab", "Tab", "4")
    expect(page.get_by_role("heading", name="Your change")).to_be_focused()
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("It waits for a second person")
    other = with_scripts.sign_in("eve")
    other.get_by_role("link", name="Said more clearly.").click()
    expect(other.locator("#history .tag")).to_have_text("unclear")
    press(other, "a")
    expect(other.get_by_role("status")).to_contain_text("Approved")
    assert with_scripts.remembered() == ["Said more clearly."]


@on_sqlite
def test_a_key_pressed_for_the_last_page_does_nothing_on_this_one(with_scripts: Journey) -> None:
    """A held or early key approves one item and not the next, even during the page transition."""
    page = opened(queue(with_scripts, 3, motion=True), "first")
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.keyboard.press("a")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    armed(page)
    assert with_scripts.remembered() == ["The first lesson."]


def test_a_key_that_comes_too_early_is_refused_in_words(with_scripts: Journey) -> None:
    """A key pressed before a page accepts keys does nothing and shows a notice, if necessary on the next page."""
    page = opened(queue(with_scripts, 2), "first")
    page.clock.install()
    page.reload()
    page.keyboard.press("a")
    expect(page.locator("#early")).to_have_text("Not ready yet: press again.")
    page.keyboard.press("x")
    page.clock.run_for(3000)
    expect(page.locator("#early")).to_have_text("")
    assert with_scripts.remembered() == []
    armed(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/review/**", hold)
    page.keyboard.press("s")
    while not held:
        page.wait_for_timeout(10)
    page.keyboard.press("a")
    held[0].continue_()
    page.unroute("**/review/**", hold)
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    expect(page.locator("#early")).to_have_text("Not ready yet: press again.")
    page.clock.run_for(3000)
    expect(page.locator("#early")).to_have_text("")
    assert with_scripts.remembered() == []
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")


@on_sqlite
def test_what_is_pressed_without_a_connection_is_not_lost(with_scripts: Journey) -> None:
    """Without a connection, keys and buttons send nothing, a notice says so, and what was typed stays."""
    page = opened(queue(with_scripts, 1), "first")
    page.get_by_label("Note, optional").fill("Typed before.")
    page.locator("h1").first.click()
    notice = page.locator("#early")
    page.context.set_offline(True)
    press(page, "a")
    expect(notice).to_have_text("No connection: nothing was sent. Try again.")
    expect(notice).to_have_text("")
    page.get_by_role("button", name="Skip").click()
    expect(notice).to_have_text("No connection: nothing was sent. Try again.")
    expect(page.get_by_label("Note, optional")).to_have_value("Typed before.")
    page.context.set_offline(False)
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert with_scripts.remembered() == ["The first lesson."]
    # The stream of news says on the console that it was cut.
    cut = [one for one in with_scripts.violations if "ERR_INTERNET_DISCONNECTED" in one]
    with_scripts.violations[:] = [one for one in with_scripts.violations if one not in cut]


def test_keys_stay_inside_the_filter(with_scripts: Journey) -> None:
    """Start, approve and skip lead to matching items; then the queue offers all of it."""
    journey = with_scripts
    page = queue(journey, 3)
    journey.submit(content="Another remark.")
    page.goto(f"{journey.url}/review?q=lesson")
    expect(page.locator("a.whole")).to_have_count(3)
    press(page, "g")
    expect(page.get_by_text("Inside the filter")).to_be_visible()
    for _ in range(3):
        expect(page.locator("p.text").first).to_contain_text("lesson")
        press(page, "a")
        expect(page.get_by_role("status")).to_contain_text("Approved")
    expect(page.get_by_text("No waiting proposal matches")).to_be_visible()
    page.get_by_role("button", name="Continue in the whole queue").click()
    expect(page.locator("p.text").first).to_have_text("Another remark.")


@on_sqlite
def test_escape_takes_a_rejection_back_before_it_is_one(with_scripts: Journey) -> None:
    """After Escape, or without a started rejection, a digit does nothing."""
    page = opened(queue(with_scripts, 1), "first")
    press(page, "1", "r", "Escape", "1", "r")
    expect(page.get_by_text("Press a digit, or Escape.")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.reload()
    expect(page.get_by_text("None yet.")).to_be_visible()


@on_sqlite
def test_a_key_that_cannot_act_says_why(with_scripts: Journey) -> None:
    """Beside an edit that is not saved, and for a button that is disabled, a key does nothing and says so."""
    page = opened(queue(with_scripts, 2), "first")
    press(page, "e")
    page.keyboard.type("Said more clearly.")
    page.keyboard.press("Tab")
    page.keyboard.press("s")
    expect(page.locator("#early")).to_have_text("Your edit is not saved: choose a reason, or restore the text.")
    expect(page.get_by_label("Text to remember")).to_have_value(re.compile("^Said more clearly"))
    page.reload()
    address = page.url
    press(page, "f")
    expect(page.get_by_role("status").filter(has_text="second")).to_be_visible()
    page.goto(address)
    expect(page.get_by_role("button", name="Request second review")).to_be_disabled()
    press(page, "f")
    expect(page.locator("#early")).to_have_text("Not possible here; the reason is below the buttons.")


@on_sqlite
def test_no_reason_moves_after_the_first_key_of_a_rejection(with_scripts: Journey) -> None:
    """What is said between the two keys moves none of the buttons that the second key presses."""
    page = opened(queue(with_scripts, 1), "first")
    reasons = page.get_by_role("button", name=re.compile("^Reject: "))
    before = [one.bounding_box() for one in reasons.all()]
    assert len(before) == 9
    press(page, "r")
    expect(page.get_by_text("Press a digit, or Escape.")).to_be_visible()
    assert [one.bounding_box() for one in reasons.all()] == before


@on_sqlite
def test_help_names_the_keys_and_a_key_can_be_another(with_scripts: Journey) -> None:
    """The question mark shows the keys; each person can change or disable them."""
    page = opened(queue(with_scripts, 2), "first")
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Approve what is shown")
    page.keyboard.press("a")
    page.get_by_role("link", name="Change or switch off").click()
    page.get_by_label("Approve what is shown").fill("y")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Settings saved")
    page.get_by_role("link", name="Queue").click()
    opened(page, "first")
    press(page, "a")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_contain_text("y")
    press(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert with_scripts.remembered() == ["The first lesson."]
    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_label("Use single keys").uncheck()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Queue").click()
    page.locator("a.whole").filter(has_text="The second lesson.").click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.keyboard.press("y")
    page.keyboard.press("a")
    page.wait_for_timeout(500)
    assert page.locator("kbd").count() == 0
    assert with_scripts.remembered() == ["The first lesson."]


@on_sqlite
def test_undo_is_one_key_and_the_heading_has_the_focus(with_scripts: Journey) -> None:
    """After each decision the next heading has the focus, and z undoes the decision from any page."""
    page = queue(with_scripts, 3)
    press(page, "g")
    expect(page.locator("p.text").first).to_have_text("The first lesson.")
    press(page, "a")
    expect(page.locator("h1")).to_be_focused()
    assert with_scripts.remembered() == ["The first lesson."]
    press(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Undone")
    expect(page.locator("p.text").first).to_have_text("The first lesson.")
    assert with_scripts.remembered() == []
    press(page, "r", "9")
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    press(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Undone")
    press(page, "f")
    expect(page.get_by_role("status")).to_contain_text("Second review requested")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    page.goto(f"{with_scripts.url}/review/latest")
    press(page, "j", "z")
    expect(page.get_by_role("status")).to_contain_text("Undone")
    assert with_scripts.remembered() == []


@on_sqlite
def test_merging_and_superseding_are_two_keys(with_scripts: Journey) -> None:
    """M marks the choices beside similar memories; odd digits supersede, even ones merge."""
    page = queue(with_scripts, 3)
    press(page, "g")
    press(page, "a")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    press(page, "m", "2")
    expect(page.get_by_role("status")).to_contain_text("Merged")
    expect(page.locator("p.text").first).to_have_text("The third lesson.")
    assert with_scripts.remembered() == ["The first lesson."]
    press(page, "m", "Escape", "1", "m", "1")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert with_scripts.remembered() == ["The third lesson."]
    press(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Undone")
    assert with_scripts.remembered() == ["The first lesson."]


@on_sqlite
@pytest.mark.timeout(240)
def test_a_hundred_decisions_without_a_pointer(with_scripts: Journey) -> None:
    """A hundred approvals, rejections and undos by keyboard are each announced, with the focus on the heading."""
    journey, number = with_scripts, 100
    journey.submit_each({"content": " ".join(f"{one}{letter}" * 3 for letter in "abcdef")} for one in range(number))
    page = journey.sign_in("bob")
    press(page, "g")
    for one in range(number):
        keys = (("a",), ("r", "1"), ("r", "9"), ("a",), ("a",))[one % 5]
        press(page, *keys)
        expect(page.get_by_role("status")).to_contain_text("Approved" if keys == ("a",) else "Rejected")
        expect(page.locator("h1")).to_be_focused()
        if one % 10 == 5:
            press(page, "z")
            expect(page.get_by_role("status")).to_contain_text("Undone")
            press(page, *keys)
            expect(page.get_by_role("status")).to_contain_text("Approved" if keys == ("a",) else "Rejected")
    expect(page.get_by_text("Nothing to review")).to_be_visible()
    params = {"submission_scope": "project", "scope_id": "apollo", "limit": 200}
    headers = {"authorization": f"Bearer {journey.token}"}
    read = httpx.get(f"{journey.url}/v1/memories", params=params, headers=headers, timeout=HANG_SECONDS).json()["items"]
    assert len(read) == number * 3 // 5


def hammer(page: Page, fields: list[Locator], rounds: int, chance: random.Random) -> None:
    """Type 250 keys per round into random fields, including all keys that decide outside of fields."""
    signs = string.ascii_letters + string.digits + string.punctuation + "  "
    special = ("Enter", "Backspace", "Delete", "ArrowLeft", "Home", "End", "Escape")
    for _ in range(rounds):
        field = chance.choice(fields)
        field.focus()
        # Enter submits a filter and leaves the page; in all other fields here Enter submits nothing.
        filters = field.evaluate("field => field.form?.method === 'get'")
        # Sent as key events in one call: the page must handle each of them as a key press.
        page.evaluate(
            """keys => {
                const field = document.activeElement;
                for (const key of keys) {
                    for (const kind of ['keydown', 'keyup']) {
                        field.dispatchEvent(new KeyboardEvent(kind, {key, bubbles: true, cancelable: true}));
                    }
                }
            }""",
            [chance.choice(signs) for _ in range(240)],
        )
        for key in chance.choices(special, k=4):
            if key != "Enter" or not filters:
                page.keyboard.press(key)
        page.keyboard.type("".join(chance.choices("ars19zfmbgejk", k=6)))


@on_sqlite
def test_enter_in_a_note_sends_nothing(with_scripts: Journey) -> None:
    """The first button of a form, which Enter presses, does nothing on the pages of proposal, event, and group."""
    journey = with_scripts
    journey.submit(content="Another lesson.", idempotency_key="first")
    refused = journey.submit(content="Refused.", idempotency_key="first")["quarantine_id"]
    page = opened(queue(journey, 2), "first")
    for path in (
        page.url,
        f"{journey.url}/quarantine/{refused}",
        f"{journey.url}/review/group?producer=worker:release-bot",
    ):
        page.goto(path)
        note = page.locator("input[name=reason_text]").first
        first = note.evaluate("field => [...field.form.elements].find((one) => one.type === 'submit')?.disabled")
        assert first is True, path


@on_sqlite
def test_ten_thousand_keystrokes_in_text_fields_decide_nothing(with_scripts: Journey) -> None:
    """Text typed into any field of the desk stays text."""
    journey, chance = with_scripts, random.Random(7)  # noqa: S311 -- no secret
    journey.submit(content="Another lesson.", idempotency_key="first")
    refused = journey.submit(content="Refused.", idempotency_key="first")["quarantine_id"]
    page = opened(queue(journey, 1), "first")
    page.get_by_text("Edit or redact").click()
    notes = page.locator("input[name=reason_text]")
    hammer(page, [page.locator("#content"), notes], 16, chance)
    for path, fields in {
        "/review?q=lesson": "#q",
        f"/quarantine/{refused}": "input[name=reason_text]",
        "/review/group?producer=worker:release-bot": "input[name=reason_text]",
        "/memories": "input[type=search], input[name=scope]",
        "/audit": "input[name=curator], input[name=scope_id]",
        "/submissions": "input[name=producer_identity]",
    }.items():
        page.goto(f"{journey.url}{path}")
        armed(page)
        hammer(page, [field for field in page.locator(fields).all() if field.is_visible()], 4, chance)
    page.goto(f"{journey.url}/review/latest")
    expect(page.get_by_text("No decisions yet")).to_be_visible()
    assert journey.remembered() == []

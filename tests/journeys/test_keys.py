"""The desk by keys alone, in a real browser: one key a decision, and no key where it was not meant."""

from playwright.sync_api import Page, expect

from journey import Journey

NUMBERS = ("first", "second", "third", "fourth")


def queue(journey: Journey, number: int = 4) -> Page:
    """Submit a few events and sign a curator in."""
    for name in NUMBERS[:number]:
        journey.submit(content=f"The {name} lesson.")
    return journey.sign_in("bob")


def armed(page: Page) -> Page:
    """Wait until keys act on this page."""
    page.wait_for_selector("body[data-armed]")
    return page


def press(page: Page, *keys: str) -> None:
    """Press keys one after another on an armed page."""
    armed(page)
    for key in keys:
        page.keyboard.press(key)


def opened(page: Page, name: str) -> Page:
    """Open one proposal by its text."""
    page.get_by_role("link", name=f"The {name} lesson.").click()
    expect(page.get_by_role("heading", name="Proposal", exact=True)).to_be_visible()
    return armed(page)


def test_a_queue_is_worked_off_by_keys_alone(with_scripts: Journey) -> None:
    """Open by j and Enter; then one key approves, two reject, one skips, and the next item comes by itself."""
    page = queue(with_scripts)
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


def test_keys_are_dead_while_somebody_types(with_scripts: Journey) -> None:
    """In fields, in the list of reasons, with modifiers and on repeat no letter decides anything."""
    page = opened(queue(with_scripts, 1), "first")
    press(page, "e")
    expect(page.get_by_label("Text to remember")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type(" a r 1 s")
    expect(page.get_by_label("Text to remember")).to_have_value("The first lesson. a r 1 s")
    page.get_by_label("Note").first.click()
    page.keyboard.type("ar1s")
    page.keyboard.press("Enter")
    page.get_by_label("Reason").focus()
    page.keyboard.type("a")
    page.locator("h1").click()
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


def test_a_key_pressed_for_the_last_page_does_nothing_on_this_one(with_scripts: Journey) -> None:
    """A held or hasty key approves one item, not the one behind it."""
    page = opened(queue(with_scripts, 3), "first")
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.keyboard.press("a")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")
    armed(page)
    assert with_scripts.remembered() == ["The first lesson."]


def test_escape_takes_a_rejection_back_before_it_is_one(with_scripts: Journey) -> None:
    """After Escape a digit means nothing; without a rejection begun it never does."""
    page = opened(queue(with_scripts, 1), "first")
    press(page, "1", "r", "Escape", "1", "r")
    expect(page.get_by_text("Press the digit of a choice")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.reload()
    expect(page.get_by_text("None yet.")).to_be_visible()


def test_help_names_the_keys_and_a_key_can_be_another(with_scripts: Journey) -> None:
    """The question mark shows them; each person chooses their own, or none."""
    page = opened(queue(with_scripts, 2), "first")
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Approve what is shown")
    page.keyboard.press("a")
    page.get_by_role("link", name="Change or switch off").click()
    page.get_by_label("Approve what is shown").fill("y")
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("status")).to_contain_text("Kept")
    page.get_by_role("link", name="Queue").click()
    opened(page, "first")
    press(page, "a")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_contain_text("y")
    press(page, "y")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert with_scripts.remembered() == ["The first lesson."]
    page.get_by_role("link", name="bob").click()
    page.get_by_label("Use single keys").uncheck()
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("link", name="Queue").click()
    page.locator("a.whole").filter(has_text="The second lesson.").click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.keyboard.press("y")
    page.keyboard.press("a")
    page.wait_for_timeout(500)
    assert page.locator("kbd").count() == 0
    assert with_scripts.remembered() == ["The first lesson."]


def test_undo_is_one_key_and_the_heading_has_the_focus(with_scripts: Journey) -> None:
    """After each decision the next heading is focused, and z takes the decision back from wherever it led."""
    page = queue(with_scripts, 3)
    press(page, "g")
    expect(page.locator("p.text").first).to_have_text("The first lesson.")
    press(page, "a")
    expect(page.locator("h1")).to_be_focused()
    assert with_scripts.remembered() == ["The first lesson."]
    press(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    expect(page.locator("p.text").first).to_have_text("The first lesson.")
    assert with_scripts.remembered() == []
    press(page, "r", "9")
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    press(page, "z")
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    press(page, "f")
    expect(page.get_by_role("status")).to_contain_text("second curator is asked for")
    expect(page.locator("p.text").first).to_have_text("The second lesson.")


def test_merging_and_superseding_are_two_keys(with_scripts: Journey) -> None:
    """M lights the choices beside similar memories; odd digits supersede, even ones merge."""
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
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    assert with_scripts.remembered() == ["The first lesson."]

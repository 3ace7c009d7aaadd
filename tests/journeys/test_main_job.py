"""The main task in a real browser: submit over HTTP, review at the desk, read as memory; with and without scripts."""

import unicodedata

import httpx
from playwright.sync_api import expect

from journey import EITHER_WAY, Journey
from support import HANG_SECONDS

pytestmark = EITHER_WAY

TEXT = "Run the migration before the deploy."


def test_an_approved_proposal_becomes_memory_and_not_before(journey: Journey) -> None:
    """After submit, sign-in and approval the memory is readable, and not before."""
    journey.submit(content=TEXT)
    page = journey.sign_in("bob")
    assert journey.remembered() == []
    page.get_by_role("link", name=TEXT).click()
    expect(page.locator("#warnings")).to_be_visible()
    assert journey.remembered() == []
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert journey.remembered() == [TEXT]
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("link", name=TEXT).click()
    expect(page.get_by_text("History")).to_be_visible()


def test_a_rejected_proposal_is_never_remembered(journey: Journey) -> None:
    """A proposal rejected with a reason is not remembered, and its producer can read the reason."""
    answer = journey.submit(content=TEXT)
    page = journey.sign_in("bob")
    page.get_by_role("link", name=TEXT).click()
    page.get_by_label("Note").first.fill("Nobody does that.")
    page.get_by_role("button", name="Reject: wrong").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    expect(page.get_by_text("Nothing to review")).to_be_visible()
    assert journey.remembered() == []
    headers = {"authorization": f"Bearer {journey.token}"}
    told = httpx.get(
        f"{journey.url}/v1/submissions/{answer['submission_id']}", headers=headers, timeout=HANG_SECONDS
    ).json()["review"]
    assert (told["state"], told["reason_code"]) == ("rejected", "wrong")


def test_an_edited_text_is_remembered_once_a_second_person_approves(journey: Journey) -> None:
    """An edit counts as one approval; the edited text becomes memory when a second person approves it."""
    journey.submit(content=TEXT)
    editor = journey.sign_in("bob")
    editor.get_by_role("link", name=TEXT).click()
    editor.get_by_text("Edit or redact").click()
    editor.get_by_label("Text to remember").fill("Run the migration first.")
    editor.get_by_role("button", name="Edit: unclear").click()
    expect(editor.get_by_role("heading", name="Your change")).to_be_visible()
    expect(editor.locator("ins")).to_contain_text(["first"])
    assert journey.remembered() == []
    editor.get_by_role("button", name="Save this change").click()
    expect(editor.get_by_role("status")).to_contain_text("second person")
    assert journey.remembered() == []
    second = journey.sign_in("cleo", width=380)
    second.get_by_role("link", name="Run the migration first.").click()
    second.get_by_role("button", name="Approve").click()
    expect(second.get_by_role("status")).to_contain_text("Approved")
    assert journey.remembered() == ["Run the migration first."]


ODD = (
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u26a0\ufe0f "
    "\u2764\ufe0f\u200d\U0001f525 \u6771\u4eac\u3000\u5927\u962a soft\u00adhyphen bidi\u202eecived\u202c "
    "zwsp\u200b\u200bx\u200c tag\U000e0041 line\u2028end \u0085\u000b\u000c\u0001 \ufeff\ufffe "
    "e\u0301\u0301\u0301\u0301\u0301 \u27e6U+200C\u27e7\n\n\tdef f(x):\n\t\treturn x  # p\u0430ypal\n\u3000\u6771"
)


def test_an_edit_changes_only_what_was_typed(journey: Journey) -> None:
    """A round trip through a real browser's form changes no other character, with and without scripts."""
    journey.submit(content=ODD)
    editor, second = journey.sign_in("bob"), journey.sign_in("cleo")
    editor.locator("a.whole").first.click()
    editor.get_by_text("Edit or redact").click()
    text = editor.get_by_label("Text to remember")
    text.press("Control+End")
    text.press_sequentially(" Done.")
    editor.get_by_role("button", name="Edit: unclear").click()
    expect(editor.locator("ins")).to_have_count(1)
    expect(editor.locator("ins")).to_contain_text("Done.")
    expect(editor.locator("del")).to_have_count(0)
    editor.get_by_role("button", name="Go on editing").click()
    editor.get_by_role("button", name="Edit: unclear").click()
    editor.get_by_role("button", name="Save this change").click()
    expect(editor.get_by_role("status")).to_contain_text("second person")
    second.locator("a.whole").first.click()
    second.get_by_role("button", name="Approve", exact=True).click()
    expect(second.get_by_role("status")).to_contain_text("Approved")
    assert journey.remembered() == [unicodedata.normalize("NFC", ODD) + " Done."]


def test_a_stale_edit_keeps_what_was_typed(journey: Journey) -> None:
    """Of two curators on one proposal the later one sees the current state and keeps the typed text."""
    journey.submit(content=TEXT)
    first, second = journey.sign_in("bob"), journey.sign_in("cleo")
    for page in (first, second):
        page.get_by_role("link", name=TEXT).click()
    first.get_by_role("button", name="Approve").click()
    second.get_by_text("Edit or redact").click()
    second.get_by_label("Text to remember").fill("My careful wording.")
    second.get_by_role("button", name="Edit: unclear").click()
    expect(second.get_by_role("alert")).to_contain_text("Not recorded")
    expect(second.get_by_role("textbox", name="Text", exact=True)).to_have_value("My careful wording.")
    assert journey.remembered() == [TEXT]
    journey.violations = [text for text in journey.violations if "status of 409" not in text]


def test_hostile_text_is_drawn_and_never_run(journey: Journey) -> None:
    """Markup, hidden and bidirectional characters are shown as text."""
    hostile = "<script>document.title='owned'</script>\u202eevil\u2066 [link](javascript:alert(1)) \U000e0041"
    journey.submit(content=hostile)
    page = journey.sign_in("bob")
    page.locator("a.whole").first.click()
    text = page.locator("p.text").first
    expect(text).to_contain_text("document.title='owned'")
    expect(text.locator("mark").first).to_have_text(
        "warning, HTML or script that acts by itself: <script end of warning"
    )
    expect(text.locator("mark").first).to_have_attribute("title", "HTML or script that acts by itself")
    expect(page.locator("#warnings").get_by_text("control of text direction, 2 times")).to_be_visible()
    expect(text.locator(".mark")).to_have_text(["U+202E", "U+2066", "U+E0041"])
    assert page.title().startswith("<script>document.title='owned'</script>")
    tokens = hostile
    for hidden in ("202E", "2066", "E0041"):
        tokens = tokens.replace(chr(int(hidden, 16)), f"\u27e6U+{hidden}\u27e7")
    page.get_by_text("Edit or redact").click()
    expect(page.get_by_label("Text to remember")).to_have_value(tokens)
    assert text.locator("a").count() == 0

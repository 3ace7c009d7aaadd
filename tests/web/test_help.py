"""The help: the documents as pages, their links, and the chapter that each page of the desk links to."""

import re
from html import unescape

import pytest

from antechamber.resources import document
from antechamber.web.help_chapters import CHAPTERS, PAGES, Chapter
from antechamber.web.markdown import Heading, render
from support import Service, event

by_name = pytest.mark.parametrize("chapter", CHAPTERS, ids=[chapter.file for chapter in CHAPTERS])


def fetched(service: Service) -> dict[str, str]:
    """Return the pages of all chapters by address, as a signed-in person gets them."""
    desk = service.sign_in()
    return {chapter.address: desk.browser.get(chapter.address).text for chapter in CHAPTERS}


def article(page: str) -> str:
    """Return the part of a page that shows the document."""
    found = re.search(r'<article class="document">(.*?)</article>', page, re.DOTALL)
    assert found
    return found[1]


def ids(page: str) -> list[str]:
    """Return the ids of a document's headings."""
    return re.findall(r'<h\d id="([^"]+)"', article(page))


@by_name
def test_the_whole_text_of_a_document_is_shown(chapter: Chapter) -> None:
    """Every word of the source is on the page, and no mark of the source is left over as text."""
    source = document(chapter.file).read_text(encoding="utf-8")
    html = render(source, lambda target: target).html
    shown = unescape(re.sub(r"<[^>]*>", " ", html))
    kept = re.sub(r"\]\([^)]*\)|^```\w+$|^\d+\. |<picture>.*?</picture>", " ", source, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"\w+", kept)) <= set(re.findall(r"\w+", shown))
    prose = re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", html, flags=re.DOTALL)
    assert re.findall(r"\*\*|`|\]\(|&lt;/?\w+|^\||^#", prose, re.MULTILINE) == []


def test_every_link_of_the_help_leads_to_a_page_and_a_heading(service: Service) -> None:
    """Links between documents, the list of documents and the contents stay inside the help and name existing ids."""
    pages = fetched(service)
    followed = 0
    for address, page in pages.items():
        main = page.partition("<main")[2].partition("</main>")[0]
        for target in re.findall(r'href="([^"]*)"', main):
            if target.startswith("https://"):
                continue
            path, _, fragment = target.partition("#")
            assert (path or address) in pages, target
            assert not fragment or fragment in ids(pages[path or address]), target
            followed += 1
    assert followed > 150


def test_a_link_to_a_file_that_is_not_shipped_is_text(service: Service) -> None:
    """The overview names the changelog and the proofs without links, and links the documents that are shipped."""
    page = article(service.sign_in().browser.get("/help").text)
    assert "CHANGELOG.md" in page
    assert "1,000 kill -9, 0 lost, 0 doubled" in re.sub(r"<[^>]*>", "", page)
    assert re.findall(r'href="(?!/help|#|https:)[^"]*"', page) == []
    assert '<a href="/help/scripts#guarantees">' in page


def test_headings_have_the_ids_that_a_repository_page_gives_them() -> None:
    """Lower case, hyphens for spaces, no punctuation, code without its marks, and a number for each repetition."""
    made = render("# The `log`: keys, and more!\n\n## Keys\n\n## Keys\n\n### a_b - Ärger\n\n## Keys\n", lambda _: None)
    assert made.headings == (
        Heading(1, "the-log-keys-and-more", "The log: keys, and more!"),
        Heading(2, "keys", "Keys"),
        Heading(2, "keys-1", "Keys"),
        Heading(3, "a_b---ärger", "a_b - Ärger"),
        Heading(2, "keys-2", "Keys"),
    )
    assert [heading.fragment for heading in made.headings] == re.findall(r'id="([^"]+)"', made.html)


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "a <b onclick='x()'>b</b>",
        "<picture><img src='x' onerror='x()'></picture>",
        '<picture>\n<source media="print" srcset="a">\n<img src="b" alt="c">\n</picture>',
        "[x](javascript:alert(1))",
        "[x](data:text/html,y)",
    ],
)
def test_raw_html_and_other_schemes_are_shown_as_text(source: str) -> None:
    """No element of the source becomes one of the page."""
    html = render(source, lambda target: target).html
    assert re.findall(r"<(?!/?p>)", html) == []
    assert unescape(re.sub("</?p>", "", html)).strip() == source.strip()


def test_each_box_that_scrolls_has_a_name_of_its_own() -> None:
    """Tables and code are in regions that the keyboard reaches, named by section and number."""
    source = "## One\n\n|a|b|\n|-|-|\n|1|2|\n\n```sh\nls <x>\n```\n\n## One\n\n|a|b|\n|-|-|\n|1|2|\n\n    indented\n"
    html = render(source, lambda _: None).html
    boxes = re.findall(r'<div class="scroll" tabindex="0" role="region" aria-label="([^"]+)">', html)
    assert boxes == ["One, table 1", "One, code 1", "One, table 2", "One, code 2"]
    assert "<pre><code>ls &lt;x&gt;\n</code></pre>" in html
    assert html.count("</div>") == len(boxes)


def test_options_in_a_text_are_not_divided_at_their_hyphens() -> None:
    """A short word of code with a hyphen stays on one line; a long one may be divided, so that pages stay narrow."""
    html = render(f"`serve --data <DIR>` and `{'a-' * 40}`", lambda _: None).html
    assert '<code>serve <span class="unbroken">--data</span> &lt;DIR&gt;</code>' in html
    assert f"<code>{'a-' * 40}</code>" in html


def test_a_picture_has_a_light_and_a_dark_variant_or_is_text() -> None:
    """The block of a picture becomes one if both files are shipped; otherwise its text is shown."""
    source = (
        'Before.\n<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="d.webp">\n'
        '  <img src="l.webp" alt="A &lt;desk&gt;">\n</picture>\n\nAfter. ![plain](p.webp) ![gone](q.webp)\n'
    )
    shown = render(source, lambda target: None if target == "q.webp" else f"/assets/{target}").html
    assert '<source media="(prefers-color-scheme: dark)" srcset="/assets/d.webp"><img src="/assets/l.webp"' in shown
    assert '<img src="/assets/p.webp" alt="plain"' in shown
    assert "q.webp" not in shown
    assert "gone" in shown
    without = render(source, lambda _: None).html
    assert "<img" not in without
    assert without.startswith("<p>Before.</p>\n<p>A &amp;lt;desk")


def test_the_picture_of_the_overview_is_served(service: Service) -> None:
    """Both variants are files of the service."""
    page = service.sign_in().browser.get("/help").text
    found = re.search(r'<picture><source media="[^"]+" srcset="([^"]+)"><img src="([^"]+)" alt="([^"]+)">', page)
    assert found
    assert found[1] != found[2]
    for address in found.group(1, 2):
        response = service.client.get(address)
        assert (response.status_code, response.headers["content-type"]) == (200, "image/webp")


def test_each_page_of_the_desk_links_to_its_chapter(service: Service) -> None:
    """The link named Help leads from each kind of page to the heading that explains it."""
    receipt = service.submit(event(idempotency_key="first")).json()
    refused = service.submit(event("Another text.", idempotency_key="first")).json()
    desk = service.sign_in()
    proposal = receipt["proposal_id"]
    desk.decide(proposal, "approve")
    memory = service.recall()[0]["memory_id"]
    wanted = {
        "/review": "/help/desk#the-queue",
        "/review?q=deploy": "/help/desk#the-queue",
        f"/review/{proposal}": "/help/desk#a-proposal",
        f"/review/group?like={proposal}": "/help/desk#the-queue",
        "/review/latest": "/help/desk#decisions",
        "/quarantine": "/help/desk#quarantine",
        f"/quarantine/{refused['quarantine_id']}": "/help/desk#quarantine",
        "/memories": "/help/desk#memories",
        f"/memories/{memory}": "/help/desk#memories",
        "/memories/propose": "/help/desk#approve-alone-and-propose",
        "/submissions": "/help/agents#answers-and-error-codes",
        "/audit": "/help/audit#sign-in-and-filter",
        f"/audit/items/{proposal}": "/help/audit#sign-in-and-filter",
        "/dashboard": "/help/desk#dashboard-audit-and-live-updates",
        "/settings": "/help/desk#keys",
        "/policy": "/help/policies#policy-files",
        "/schema": "/help/agents#http-with-curl",
        "/help/tests": "/help",
    }
    assert {*wanted.values(), PAGES["/operations"]} == {*PAGES.values(), "/help"}
    operator = service.sign_in("olga", "operator").browser
    assert f'href="{PAGES["/operations"]}"' in operator.get("/operations").text
    found = {path: re.findall(r'<a href="([^"]+)"[^>]*>Help</a>', desk.browser.get(path).text) for path in wanted}
    assert found == {path: [target] for path, target in wanted.items()}


def test_every_heading_that_a_page_links_to_exists(service: Service) -> None:
    """A heading that is renamed in a document is renamed in the table of pages, too."""
    pages = fetched(service)
    missing = [target for target in PAGES.values() if target.split("#")[1] not in ids(pages[target.split("#")[0]])]
    assert missing == []


def test_the_help_needs_a_sign_in_or_a_token(service: Service) -> None:
    """A person without a session is sent to the sign-in page; an agent gets the document without the bar."""
    refused = service.client.get("/help/desk", follow_redirects=False)
    assert (refused.status_code, refused.headers["location"]) == (303, "/login?next=%2Fhelp%2Fdesk")
    bar = '<nav aria-label="Desk">'
    agent = service.client.get("/help/desk", headers=service.bearer())
    assert agent.status_code == 200
    assert bar not in agent.text
    for role in ("curator", "auditor", "operator"):
        page = service.sign_in(f"{role}-1", role).browser.get("/help/desk").text
        assert bar in page
        assert article(page) == article(agent.text)


@pytest.mark.parametrize("path", ["/help/nothing", "/help/README.md", "/help/..%2fdesk", "/help/desk/keys"])
def test_only_the_chapters_are_pages_of_the_help(service: Service, path: str) -> None:
    """Another name below /help is not found."""
    assert service.sign_in().browser.get(path).status_code == 404

"""Texts as a reader of Markdown sees them, without anything active."""

import re

from hypothesis import given
from hypothesis import strategies as st

from antechamber.web.rendered_text import MAX_RENDERED, render_text

MARKDOWN = (
    "# Deploy\n\n* run `migrate --all`\n* see [the runbook](https://git.example.com/a?b=1&c=2)\n\n"
    "| step | who |\n|---|---|\n| 1\u200b | ada |\n\n```sh\nrm -r <old>\n```\n\n![a picture](https://x.example/p.png)\n"
)


def test_a_text_without_markdown_has_no_such_view() -> None:
    """Plain paragraphs are shown as stored only, and so is a very long text."""
    assert render_text("One line.\nAnother line.\n\nA paragraph.") is None
    assert render_text("# Deploy\n" + "x" * MAX_RENDERED) is None


def test_headings_lists_tables_and_code_are_shown() -> None:
    """Hidden characters are tokens; links and pictures are text with their addresses."""
    shown = str(render_text(MARKDOWN))
    for part in (
        '<p class="heading h1">Deploy</p>',
        "<code>migrate --all</code>",
        "<u>the runbook</u> <code>https://git.example.com/a?b=1&amp;c=2</code>",
        '<td>1<span class="mark" title="ZERO WIDTH SPACE">U+200B</span></td>',
        "<pre><code>rm -r &lt;old&gt;\n</code></pre>",
        "[image: a picture] <code>https://x.example/p.png</code>",
    ):
        assert part in shown


def test_indented_code_and_automatic_links_are_text_too() -> None:
    """An address in angle brackets becomes no link, and indented code keeps its signs."""
    shown = str(render_text("    a < b\n\n<https://x.example/>"))
    assert "<pre><code>a &lt; b\n</code></pre>" in shown
    assert "<u>https://x.example/</u> <code>https://x.example/</code>" in shown


PIECES = [
    "<b>",
    "</p>",
    "<script>",
    "[a](javascript:x)",
    "![i](https://e)",
    "`",
    "```\n",
    "# ",
    "\n",
    "|",
    "-",
    "&lt;",
    '"',
    "*",
    "a",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_no_text_becomes_active(text: str) -> None:
    """Whatever a text holds, the result has only tags of the view and no attribute of the text."""
    shown = str(render_text(text) or "")
    tags = set(re.findall(r"<(/?[a-z0-9]+)", shown))
    allowed = {"p", "ul", "ol", "li", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "u", "em", "strong"}
    assert {tag.lstrip("/") for tag in tags} <= allowed | {"blockquote", "hr", "br", "span"}
    assert not re.search(r"<[^>]*\b(?:href|src|on[a-z]+)=", shown)

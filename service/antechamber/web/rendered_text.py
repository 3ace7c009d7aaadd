"""Renders the text of a proposal as Markdown for reading: no raw HTML, no images, no active links.

Decisions bind the stored text. This view shows its headings, lists, tables and code as a reader of Markdown sees them;
hidden characters are tokens here too.
"""

from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from antechamber.core.review.hidden_text import reveal

MAX_RENDERED: Final = 20_000
"""Maximum characters of a text that is rendered; a longer one is shown as stored only."""
_PLAIN: Final = frozenset({"paragraph_open", "paragraph_close", "inline"})
_PLAIN_INLINE: Final = frozenset({"text", "softbreak"})


def render_text(text: str) -> Markup | None:
    """Return a text as HTML; None if it has no Markdown, or is too long."""
    if len(text) > MAX_RENDERED:
        return None
    tokens = _PARSER.parse(text)
    if all(token.type in _PLAIN for token in tokens) and all(
        child.type in _PLAIN_INLINE for token in tokens for child in token.children or ()
    ):
        return None
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            # The headings of a text are no headings of the page.
            if token.nesting == 1:
                token.attrs["class"] = f"heading {token.tag}"
            token.tag = "p"
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))  # noqa: S704 -- every part is escaped


def _revealed(text: str) -> str:
    """Return text as HTML, with hidden characters as tokens."""
    return "".join(
        f'<span class="mark" title="{escapeHtml(piece.name)}">{escapeHtml(piece.code)}</span>'
        if piece.code
        else escapeHtml(piece.text)
        for piece in reveal(text)
    )


def _write_text(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return _revealed(tokens[index].content)


def _write_code(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"<code>{_revealed(tokens[index].content)}</code>"


def _write_block(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"<pre><code>{_revealed(tokens[index].content)}</code></pre>\n"


def _open_link(_self: RendererHTML, _tokens: Sequence[Token], _index: int, _options: Any, _env: Any) -> str:
    return "<u>"


def _close_link(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Return the end of a link, with the address as text."""
    depth, place = 1, index
    while depth:
        place -= 1
        depth += {"link_open": -1, "link_close": 1}.get(tokens[place].type, 0)
    return f"</u> <code>{_revealed(str(tokens[place].attrs.get('href', '')))}</code>"


def _write_image(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    image = tokens[index]
    return f"[image: {_revealed(image.content)}] <code>{_revealed(str(image.attrs.get('src', '')))}</code>"


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.add_render_rule("text", _write_text)
    made.add_render_rule("code_inline", _write_code)
    made.add_render_rule("fence", _write_block)
    made.add_render_rule("code_block", _write_block)
    made.add_render_rule("link_open", _open_link)
    made.add_render_rule("link_close", _close_link)
    made.add_render_rule("image", _write_image)
    return made


_PARSER: Final = _parser()

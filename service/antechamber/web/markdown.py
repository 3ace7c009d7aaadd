"""Renders a Markdown document as HTML: headings with ids, links that are resolved, tables and code in scroll boxes.

Raw HTML is off. One exception: the block of a picture with a light and a dark variant, which Markdown cannot express,
is recognized in exactly one form:

    <picture>
      <source media="(prefers-color-scheme: dark)" srcset="dark.webp">
      <img src="light.webp" alt="A text">
    </picture>
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markupsafe import Markup

Resolve = Callable[[str], str | None]
"""Returns the address to link to for a target of the source; None shows the link or picture as text."""
_PICTURE: Final = re.compile(
    r'<picture>\n *<source media="\(prefers-color-scheme: dark\)" srcset="([^"\n]+)">\n'
    r' *<img src="([^"\n]+)" alt="([^"\n]+)">\n</picture>(?:\n|$)'
)
_MAX_UNBROKEN: Final = 30
"""Maximum characters of a word that is never divided: it fits into a window of 320 pixels."""


class Heading(NamedTuple):
    """A heading of a document; `fragment` is its id."""

    level: int
    fragment: str
    text: str


class Document(NamedTuple):
    """A rendered document."""

    html: Markup
    headings: tuple[Heading, ...]


def render(text: str, resolve: Resolve) -> Document:
    """Return a document as HTML, with its headings in order."""
    tokens = _PARSER.parse(text)
    headings = tuple(_name_headings(tokens))
    _label_boxes(tokens)
    for token in tokens:
        if token.type == "picture":
            token.attrs |= {name: resolve(str(token.attrs[name])) or "" for name in ("dark", "light")}
        elif token.children:
            token.children = list(_resolved(token.children, resolve))
    return Document(Markup(_PARSER.renderer.render(tokens, _PARSER.options, {})), headings)  # noqa: S704 -- raw HTML is off


def fragment_of(heading: str) -> str:
    """Return a heading's id as GitHub forms it: lower case, without punctuation, with hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name_headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Set the ids of all headings and yield them; the second of two equal ids ends with -1, the third with -2."""
    seen: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            text = _text_of(tokens[number + 1])
            fragment = fragment_of(text)
            seen[fragment] = seen.get(fragment, -1) + 1
            if seen[fragment]:
                fragment += f"-{seen[fragment]}"
            token.attrs["id"] = fragment
            yield Heading(int(token.tag[1]), fragment, text)


def _text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _label_boxes(tokens: Sequence[Token]) -> None:
    """Label tables and code by section and number: each scroll box is a landmark and needs a name of its own."""
    section, counts = "", {"table": 0, "code": 0}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            section = _text_of(tokens[number + 1])
        kind = {"table_open": "table", "fence": "code", "code_block": "code"}.get(token.type)
        if kind:
            counts[kind] += 1
            token.meta["label"] = f"{section}, {kind} {counts[kind]}"


def _resolved(children: Sequence[Token], resolve: Resolve) -> Iterator[Token]:
    """Yield the tokens of a text with resolved links and pictures; of one that leads nowhere, only the text is left."""
    leads = True
    for token in children:
        name = {"link_open": "href", "image": "src"}.get(token.type)
        if name:
            target = resolve(str(token.attrs[name]))
            token.attrs[name], leads = target or "", target is not None
        if leads or token.type not in {"link_open", "link_close", "image"}:
            yield token
        elif token.type == "image":
            yield from token.children or ()


def _read_picture(state: StateBlock, start: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 -- the library's form
    """Read the block of a picture (a block rule of markdown-it)."""
    found = _PICTURE.match(state.src, state.bMarks[start])
    if found and not silent:
        token = state.push("picture", "picture", 0)
        token.attrs = dict(zip(("dark", "light", "alt"), found.groups(), strict=True))
        token.block = True
        state.line = start + found[0].rstrip("\n").count("\n") + 1
    return found is not None


def _write_picture(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    dark, light, alt = (escapeHtml(str(tokens[index].attrs[name])) for name in ("dark", "light", "alt"))
    if not (dark and light):
        return f"<p>{alt}</p>\n"
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    return f'<picture>{source}<img src="{light}" alt="{alt}"></picture>\n'


def _open_box(token: Token) -> str:
    label = escapeHtml(str(token.meta["label"]))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'


def _open_table(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"{_open_box(tokens[index])}<table>\n"


def _close_table(_self: RendererHTML, _tokens: Sequence[Token], _index: int, _options: Any, _env: Any) -> str:
    return "</table></div>\n"


def _write_code(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    code = escapeHtml(tokens[index].content)
    return f"{_open_box(tokens[index])}<pre><code>{code}</code></pre></div>\n"


def _write_inline_code(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Return code within a text; a short word with a hyphen, such as an option, is never divided at it."""
    words = [
        f'<span class="unbroken">{escapeHtml(word)}</span>'
        if "-" in word and len(word) <= _MAX_UNBROKEN
        else escapeHtml(word)
        for word in tokens[index].content.split(" ")
    ]
    return f"<code>{' '.join(words)}</code>"


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Like a fenced block, a picture may follow a paragraph without an empty line.
    made.block.ruler.before("fence", "picture", _read_picture, {"alt": ["paragraph"]})
    made.add_render_rule("picture", _write_picture)
    made.add_render_rule("table_open", _open_table)
    made.add_render_rule("table_close", _close_table)
    made.add_render_rule("code_inline", _write_inline_code)
    for kind in ("fence", "code_block"):
        made.add_render_rule(kind, _write_code)
    return made


_PARSER: Final = _parser()

"""Items of a Markdown file for agents, such as AGENTS.md or CLAUDE.md, which prescribe no form.

Each item of a bulleted list is an item, and so is each paragraph, table, quotation and numbered list. A code block
belongs to the paragraph before it. A line that ends with a colon belongs to each item of the list below it.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from antechamber.core.memory_files.claude_imports import is_import
from antechamber.core.memory_files.item import FileItem, read_text
from antechamber.core.memory_files.managed_block import kind_named, managed_items

_PARSER: Final = MarkdownIt("commonmark").enable("table").disable("inline")
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LIST_MARK: Final = re.compile(r"[ \t]*[-*+](?:[ \t]+|$)")
_COMMENTS: Final = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_HARD_BREAK: Final = re.compile(r"(?: {2,}|\\)$")
_TAB: Final = 4
_MAX_MARK: Final = 6
"""Columns of a list mark; a wider gap begins an indented code block."""
_Kind = Literal["heading", "paragraph", "bullets", "numbered", "code", "other", "none"]
_KINDS: Final[dict[str, _Kind]] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "bullets",
    "ordered_list_open": "numbered",
    "fence": "code",
    "code_block": "code",
    "hr": "none",
}


class _Block(NamedTuple):
    """A block of the file's top level, by the numbers of its first line and of the line after it."""

    kind: _Kind
    start: int
    end: int
    text: str
    """Text of a heading or a paragraph."""
    bullets: list["_Block"]
    """Items of a bulleted list."""


def read_markdown(raw: bytes, scope: str, *, for_claude: bool = False) -> list[FileItem]:
    """Return the items of a Markdown file, in its order; those of a managed block carry their memory ids.

    `scope` is the scope of the import: managed blocks of other scopes are left out. With `for_claude`, so are imports
    of other files. Raises MemoryFileError.
    """
    managed, rest = managed_items(read_text(raw), scope, for_claude=for_claude)
    if found := _FRONT_MATTER.match(rest):
        rest = "\n" * found[0].count("\n") + rest[found.end() :]
    items = [item for item in _free_items(rest) if item.content and not (for_claude and is_import(item.content))]
    return sorted([*managed, *items], key=lambda item: item.line)


def _free_items(text: str) -> Iterator[FileItem]:
    lines = text.split("\n")
    heading: str | None = None
    lead: _Block | None = None
    for block in _blocks(text):
        joined = lead if lead and _belongs(lead, block) else None
        if lead and not joined:
            yield _item(lead, heading, lead.text)
        lead = block if block.kind == "paragraph" else None
        if block.kind == "heading":
            heading = block.text or None
        elif block.kind == "bullets":
            for bullet in block.bullets:
                content = bullet.text or _dedented(lines[bullet.start : bullet.end])
                gap = "\n" if "\n" in content else " "
                yield _item(bullet, heading, f"{joined.text}{gap}{content}" if joined and content else content)
        elif block.kind in {"numbered", "code", "other"}:
            source = "\n".join(lines[block.start : block.end]).strip("\n")
            yield _item(joined or block, heading, f"{joined.text}\n\n{source}" if joined else source)
    if lead:
        yield _item(lead, heading, lead.text)


def _belongs(lead: _Block, block: _Block) -> bool:
    """Return whether a paragraph introduces the block after it."""
    return block.kind == "code" or (block.kind in {"bullets", "numbered"} and lead.text.endswith(":"))


def _item(block: _Block, heading: str | None, content: str) -> FileItem:
    return FileItem(content=content, line=block.start + 1, kind=kind_named(heading), heading=heading)


def _blocks(text: str) -> Iterator[_Block]:
    tokens = _PARSER.parse(text)
    for number, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        kind = _KINDS.get(token.type, "other")
        if token.type == "html_block" and _COMMENTS.fullmatch(token.content):
            kind = "none"
        words = tokens[number + 1].content if kind in {"heading", "paragraph"} else ""
        bullets = list(_bullets(tokens, number)) if kind == "bullets" else []
        yield _Block(kind, token.map[0], token.map[1], _joined(words), bullets)


def _bullets(tokens: list[Token], number: int) -> Iterator[_Block]:
    """Yield the items of the bulleted list that begins at a token."""
    for index in range(number + 1, len(tokens)):
        token = tokens[index]
        if token.level == 0:
            return
        if token.type == "list_item_open" and token.level == 1 and token.map:
            plain = [one.type for one in tokens[index + 1 : index + 5]]
            is_line = plain[:1] == ["paragraph_open"] and plain[3:] == ["list_item_close"]
            words = _joined(tokens[index + 2].content) if is_line else ""
            yield _Block("bullets", token.map[0], token.map[1], words, [])


def _joined(paragraph: str) -> str:
    """Return a paragraph with its line breaks as spaces, except those that Markdown keeps."""
    text = ""
    for line in paragraph.split("\n"):
        text += line.strip() + ("\n" if _HARD_BREAK.search(line) else " ")
    return text.strip()


def _dedented(lines: list[str]) -> str:
    """Return the source of a list item without its mark and the indentation that belongs to it."""
    mark = _LIST_MARK.match(lines[0])
    width = len(mark[0].expandtabs(_TAB)) if mark else 0
    if width > _MAX_MARK:
        width = len(mark[0].rstrip()) + 1 if mark else 0
    first = lines[0].expandtabs(_TAB)[width:]
    return "\n".join([first, *(_without_indent(line, width) for line in lines[1:])]).strip("\n")


def _without_indent(line: str, width: int) -> str:
    """Return a line without at most `width` columns of white space at its beginning."""
    words = line.lstrip(" \t")
    indent = line[: len(line) - len(words)].expandtabs(_TAB)
    return indent[width:] + words

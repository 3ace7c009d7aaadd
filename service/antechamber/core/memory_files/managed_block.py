"""The block of a Markdown file that an export manages: its text between markers, and its items read back.

The block of a scope, with each item's memory id in a comment that Markdown does not show:

    <!-- antechamber:begin project:apollo -->
    …
    ### Procedures

    - Run the migration
      before the deploy.
      <!-- antechamber:memory 0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10 -->
    …
    <!-- antechamber:end project:apollo -->

All lines of a memory are indented, so no memory can contain a marker: markers begin a line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from antechamber.core.contract import KEY_PATTERN, KIND, MemoryItem
from antechamber.core.memory_files.claude_imports import escape_imports, unescape_imports
from antechamber.core.memory_files.item import FileItem, MemoryFileError, check_text, sorted_memories

_HEADINGS: Final = {
    "decision": "Decisions",
    "fact": "Facts",
    "preference": "Preferences",
    "procedure": "Procedures",
    "warning": "Warnings",
}
"""Headings of the shipped kinds; another kind is its own heading."""
_KINDS: Final = {heading: kind for kind, heading in _HEADINGS.items()}
_KINDS_IN_WORDS: Final = _HEADINGS.keys() | {heading.lower(): kind for heading, kind in _KINDS.items()}.keys()
_MARKER: Final = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n]))(<!-- antechamber:(begin|end) ([^\s]+) -->)(?=[ \t]*(?:[\r\n]|\Z))"
)
_BEGIN: Final = re.compile(r"<!-- antechamber:begin (\S+) -->[ \t]*")
_END: Final = re.compile(r"<!-- antechamber:end (\S+) -->[ \t]*")
_MEMORY: Final = re.compile(rf" {{0,3}}<!-- antechamber:memory ({KEY_PATTERN}) -->[ \t]*")
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_NOTE: Final = (
    "<!-- This block is replaced by `antechamber memories export`; propose changes of it with"
    " `antechamber memories import`. -->"
)


class _Marker(NamedTuple):
    """A marker in a file: its bytes' positions, and what it begins or ends."""

    start: int
    end: int
    kind: bytes
    scope: str


def kind_named(heading: str | None) -> str | None:
    """Return the kind that a heading names; None if it names none of the shipped kinds."""
    word = (heading or "").strip().lower()
    return word.removesuffix("s") if word in _KINDS_IN_WORDS else None


def render_block(scope: str, memories: Sequence[MemoryItem], *, for_claude: bool = False) -> str:
    """Return the managed block of a scope, without a line break at its end."""
    lines = [f"<!-- antechamber:begin {scope} -->", _NOTE, "", f"## Memory of {scope}", ""]
    for kind, group in groupby(sorted_memories(memories), lambda memory: memory.kind):
        lines += [f"### {_HEADINGS.get(kind, kind)}", ""]
        for memory in group:
            content = escape_imports(memory.content) if for_claude else memory.content
            first, *others = content.split("\n")
            lines += [f"- {first}", *(f"  {line}" if line else "" for line in others)]
            lines += [f"  <!-- antechamber:memory {memory.memory_id} -->"]
        lines += [""]
    if not memories:
        lines += ["<!-- No memories. -->", ""]
    return "\n".join([*lines, f"<!-- antechamber:end {scope} -->"])


def replace_blocks(raw: bytes, blocks: Mapping[str, str]) -> bytes:
    """Return a file with the blocks of these scopes; every byte outside of them stays.

    A block that the file lacks is appended. Raises MemoryFileError if the file is not UTF-8, or if markers are missing
    or doubled, because then the bounds of a block are unknown.
    """
    check_text(raw)
    for scope, block in blocks.items():
        raw = _replace_block(raw, scope, block)
    return raw


def _replace_block(raw: bytes, scope: str, block: str) -> bytes:
    markers = [_Marker(found.start(1), found.end(1), found[2], found[3].decode()) for found in _MARKER.finditer(raw)]
    own = [number for number, marker in enumerate(markers) if marker.scope == scope]
    if not own:
        line_end = _line_end(raw)
        return raw + _gap(raw, line_end) + _encoded(block, line_end) + line_end
    if [markers[number].kind for number in own] != [b"begin", b"end"] or own[1] != own[0] + 1:
        message = (
            f"the markers of {scope} are damaged: a block has one begin and one end with no other marker between; "
            "restore them, or remove the whole block and it is appended"
        )
        raise MemoryFileError(message)
    begin, end = (markers[number] for number in own)
    return raw[: begin.start] + _encoded(block, _line_end(raw[begin.start : end.start])) + raw[end.end :]


def _line_end(raw: bytes) -> bytes:
    """Return the end of the first line."""
    return b"\r\n" if raw[: raw.find(b"\n") + 1].endswith(b"\r\n") else b"\n"


def _encoded(block: str, line_end: bytes) -> bytes:
    return block.encode().replace(b"\n", line_end)


def _gap(raw: bytes, line_end: bytes) -> bytes:
    """Return what separates a block from the text before it."""
    if raw.endswith(b"\n"):
        return line_end if raw.strip() else b""
    return 2 * line_end if raw else b""


def managed_items(text: str, scope: str, *, for_claude: bool = False) -> tuple[list[FileItem], str]:
    """Return the items of a text that carry a memory id, and the text with their lines blank.

    `text` has line feeds alone. The blocks of other scopes are blank too: their items belong to these scopes. Raises
    MemoryFileError if a block of another scope does not end.
    """
    lines = text.split("\n")
    _blank_others(lines, scope)
    items = []
    heading, kind = "", None
    number = 0
    while number < len(lines):
        if found := _HEADING.fullmatch(lines[number]):
            heading, kind = found[2], _kind_below(*found.groups())
        end = _end_of_item(lines, number) if lines[number].startswith("- ") else number
        if end > number and (found := _MEMORY.fullmatch(lines[end - 1])):
            content = "\n".join([lines[number][2:], *(line.removeprefix("  ") for line in lines[number + 1 : end - 1])])
            item = FileItem(
                content=unescape_imports(content) if for_claude else content,
                line=number + 1,
                kind=kind,
                heading=heading or None,
                memory_id=found[1],
            )
            items.append(item)
            lines[number:end] = [""] * (end - number)
        number = max(end, number + 1)
    return items, "\n".join(lines)


def _kind_below(level: str, heading: str) -> str | None:
    """Return the kind of the items below a heading, if an export may have written it."""
    if heading in _KINDS:
        return _KINDS[heading]
    return heading if level == "###" and KIND.fullmatch(heading) else None


def _blank_others(lines: list[str], scope: str) -> None:
    """Blank the blocks of other scopes."""
    inside: str | None = None
    for number, line in enumerate(lines):
        if found := _BEGIN.fullmatch(line):
            inside = found[1]
        if inside is not None and inside != scope:
            lines[number] = ""
        if (found := _END.fullmatch(line)) and found[1] == inside:
            inside = None
    if inside is not None:
        message = f"the block of {inside} has no end; restore its marker <!-- antechamber:end {inside} -->"
        raise MemoryFileError(message)


def _end_of_item(lines: list[str], start: int) -> int:
    """Return the number after the last line of the list item that begins at `start`."""
    end = start + 1
    for number, line in _following(lines, start):
        if line.strip(" \t"):
            end = number + 1
    return end


def _following(lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that may belong to an item: all indented and empty ones, and those that continue a line."""
    for number in range(start + 1, len(lines)):
        line, before = lines[number], lines[number - 1]
        if line.strip(" \t") and not line.startswith((" ", "\t")):
            continues = before.strip(" \t") and not _MEMORY.fullmatch(before)
            if not continues or line.startswith(("- ", "#", "<!--")):
                return
        yield number, line

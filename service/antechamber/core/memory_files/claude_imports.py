"""At signs in a CLAUDE.md: one before a path imports that file, so a memory's own at signs are escaped.

Markdown shows an escaped at sign as a plain one. In code, an at sign imports nothing and stays as it is.
"""

import re
from collections.abc import Callable
from typing import Final

_FENCE: Final = re.compile(r" *(`{3,}|~{3,})([^\n]*)")
_CODE_SPAN: Final = re.compile(r"((?<![\\`])(`+)(?!`).*?(?<!`)\2(?!`))")
_PLAIN: Final = re.compile(r"(?<!\S)(\\*)@")
_ESCAPED: Final = re.compile(r"(?<!\S)\\(\\*)@")
_IMPORTS: Final = re.compile(r"(?:[-*+][ \t]+)?@\S+(?:\s+@\S+)*")


def escape_imports(content: str) -> str:
    """Escape each at sign that would import a file; `unescape_imports` is the inverse."""
    return _outside_code(content, lambda text: _PLAIN.sub(r"\1\\@", text))


def unescape_imports(content: str) -> str:
    """Return a content as it was before `escape_imports`."""
    return _outside_code(content, lambda text: _ESCAPED.sub(r"\1@", text))


def is_import(text: str) -> bool:
    """Return whether a paragraph consists only of imports of other files."""
    return _IMPORTS.fullmatch(text) is not None


def _outside_code(content: str, change: Callable[[str], str]) -> str:
    """Change the parts of a content that are not code; the change must leave backticks and tildes as they are."""
    lines, fence = [], ""
    for line in content.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            line = "".join(_changed(line, change))  # noqa: PLW2901 -- the line as it is kept
        lines.append(line)
    return "\n".join(lines)


def _changed(line: str, change: Callable[[str], str]) -> list[str]:
    """Return the parts of a line, with those outside of code spans changed."""
    parts, end = [], 0
    for span in _CODE_SPAN.finditer(line):
        parts += [change(line[end : span.start()]), span[0]]
        end = span.end()
    return [*parts, change(line[end:])]

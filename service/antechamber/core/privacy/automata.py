"""Automata of RE2, which write no messages of their own to standard error.

An automaton that runs out of memory for its states goes on without them, more slowly, and with the same result.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import re2

Spans = Sequence[tuple[int, int]]
"""The spans of a match and of its groups, as byte offsets; those of a group without a match are negative."""
ANCHORED: Final = re2._re2.RE2.Anchor.ANCHOR_START  # noqa: SLF001
"""A match begins where the search begins."""
_UNANCHORED: Final = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001


def compile_pattern(pattern: str) -> Any:
    """Compile a pattern of RE2 in which ^ and $ match at lines.

    Raises re2.error if it is not valid.
    """
    return re2.compile(f"(?m){pattern}", _options())


def compile_set(*patterns: str) -> Callable[[bytes], list[int]]:
    """Return a search for all patterns at once: it returns the indexes of those that match anywhere in a text (UTF-8).

    Its call costs half as much as that of a pattern.
    """
    compiled = re2.Set.SearchSet(_options())
    for pattern in patterns:
        compiled.Add(pattern)
    compiled.Compile()
    # The method of the set itself, without the one around it that would encode a string.
    search: Callable[[bytes], list[int]] = compiled._set.Match  # noqa: SLF001
    return search


def search(pattern: Any, data: bytes, start: int, end: int, anchor: Any = _UNANCHORED) -> Spans | None:
    """Return the spans of the first match of a compiled pattern in a part of a text (UTF-8), or None.

    This calls what the binding of RE2 wraps: the objects that it makes of each match take twice as long as the match.
    """
    if start > end:
        return None
    spans: Spans = pattern._regexp.Match(anchor, data, start, end)  # noqa: SLF001
    return spans if spans[0][0] >= 0 else None


class Offsets:
    """Converts ascending byte offsets to code points; a smaller offset than before is counted from the beginning."""

    def __init__(self, data: bytes) -> None:
        """Convert the offsets of a text in UTF-8."""
        self._data = data
        self._is_ascii = data.isascii()
        self._byte = self._point = 0

    def __call__(self, offset: int) -> int:
        """Return the code points before a byte offset."""
        if self._is_ascii:
            return offset
        if offset < self._byte:
            self._byte = self._point = 0
        self._point += len(self._data[self._byte : offset].decode())
        self._byte = offset
        return self._point


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options

"""Cursors of the change feed: what a reader has of the log, as opaque text.

A cursor names the sequence of a leaf and eight hex digits of the leaf's hash, so that a cursor of another log, such as
one that was restored from an older backup, is not taken for one of this log.
"""

import re
from typing import Final, NamedTuple

from blake3 import blake3

_CURSOR: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?(?:-([0-9a-f]{8}))?")


class ChangeCursor(NamedTuple):
    """A reader has all changes before the leaf `sequence`, and `number` of those at it; None means all of them."""

    sequence: int
    number: int | None = None
    check: str | None = None
    """Digits of the hash of the leaf; None for a plain sequence, which is not compared with the log."""

    @property
    def first(self) -> int:
        """The sequence of the first leaf whose changes the reader may lack."""
        return self.sequence + 1 if self.number is None else self.sequence

    def text(self) -> str:
        """Return the cursor as readers get it."""
        number = "" if self.number is None else f".{self.number}"
        return f"{self.sequence}{number}" + ("" if self.check is None else f"-{self.check}")


def read_cursor(text: str) -> ChangeCursor | None:
    """Parse a cursor; None if it is none."""
    match = _CURSOR.fullmatch(text)
    if match is None:
        return None
    return ChangeCursor(int(match[1]), None if match[2] is None else int(match[2]), match[3])


def check_of(leaf: str) -> str:
    """Return the digits that a cursor has of a leaf."""
    return blake3(leaf.encode()).hexdigest()[:8]

"""Text in variation selectors: each of the 256 selectors means one byte, which no reader sees."""

from typing import Final

SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""All variation selectors, as the content of a class of characters."""
_FIRST: Final = 0xFE00
_SUPPLEMENT: Final = 0xE0100
_SHORT: Final = 16
"""Selectors in the first block: the bytes from 0 to 15."""


def spell_selectors(run: str) -> str | None:
    """Return the text that a run of variation selectors spells as UTF-8; None if it is no readable text.

    Two numberings are in use: over both blocks, and ASCII codes in the supplement alone.
    """
    codes = [ord(selector) for selector in run]
    both = [code - _FIRST if code < _SUPPLEMENT else code - _SUPPLEMENT + _SHORT for code in codes]
    alone = [code - _SUPPLEMENT if code >= _SUPPLEMENT else code - _FIRST for code in codes]
    return _read(both) or _read(alone)


def _read(numbers: list[int]) -> str | None:
    try:
        text = bytes(numbers).decode()
    except UnicodeDecodeError:
        return None
    return text if text.replace("\n", " ").isprintable() else None

"""The form in which both engines store a source-event hash: its 32 bytes, for a text of 71 characters.

Only the classes that run statements know this form; values and rows of statements have the text.
"""

from collections.abc import Mapping
from typing import Any, Final

_COLUMN: Final = "source_event_hash"
_PREFIX: Final = "blake3:"


def with_bytes(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a statement with the bytes of the hash, if they have one."""
    text = values.get(_COLUMN)
    return values if text is None else {**values, _COLUMN: bytes.fromhex(text.removeprefix(_PREFIX))}


def with_text(row: dict[str, Any]) -> dict[str, Any]:
    """Replace the bytes of the hash in a row by its text, and return the row."""
    raw = row.get(_COLUMN)
    if raw is not None:
        row[_COLUMN] = _PREFIX + raw.hex()
    return row

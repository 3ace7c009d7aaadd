"""Exports of mem0: the JSON that its `get_all` returns, as an array or under `results`."""

import re
from typing import Any, Final

import msgspec

from antechamber.core.contract import MAX_TAG, MAX_TAGS
from antechamber.core.memory_files.item import FileItem, MemoryFileError
from antechamber.core.memory_files.json_lines import member, required, texts

_WHITE_SPACE: Final = re.compile(r"\s+")
_KEPT: Final = {"id": "mem0_id", "created_at": "created_at"}
"""Members of mem0 that are kept as attributes, and their names there."""
_ADVICE: Final = "export with get_all: an array of objects with id and memory, or an object with results"


def read_mem0(text: str) -> list[FileItem]:
    """Return the items of an export; categories become tags.

    Raises MemoryFileError.
    """
    if not text.strip():
        return []
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        message = f"no JSON; {_ADVICE}"
        raise MemoryFileError(message) from None
    if isinstance(found, dict):
        found = found.get("results", found.get("memories"))
    if not isinstance(found, list):
        message = f"no list of memories; {_ADVICE}"
        raise MemoryFileError(message)
    return [_item(number, one) for number, one in enumerate(found, 1)]


def _item(number: int, one: Any) -> FileItem:
    place = f"memory {number}"
    if not isinstance(one, dict):
        message = f"{place} is no object; {_ADVICE}"
        raise MemoryFileError(message)
    kept = {ours: member(one, theirs, str, place) for theirs, ours in _KEPT.items()}
    return FileItem(
        content=required(one, "memory", place),
        line=number,
        tags=_tags(texts(one, "categories", place) or []) or None,
        attributes={name: value for name, value in kept.items() if value is not None} or None,
    )


def _tags(categories: list[str]) -> list[str]:
    """Return categories as tags: without white space, and no more than a memory may have."""
    tags = {_WHITE_SPACE.sub("-", category.strip())[:MAX_TAG] for category in categories}
    return sorted(tags - {""})[:MAX_TAGS]

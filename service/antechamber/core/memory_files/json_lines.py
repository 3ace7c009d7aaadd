"""Files of JSON lines, as `antechamber memories export --as jsonl` writes them: one memory a line, in all members."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import msgspec

from antechamber.core.contract import MemoryDetail, MemoryItem
from antechamber.core.conversion import parse_json
from antechamber.core.memory_files.item import FileItem, MemoryFileError, sorted_memories

_MEMBERS: Final = frozenset(MemoryDetail.__struct_fields__)


def render_lines(memories: Sequence[MemoryItem]) -> bytes:
    """Return memories as JSON lines, without scores."""
    whole = (msgspec.structs.replace(memory, score=msgspec.UNSET) for memory in sorted_memories(memories))
    return b"".join(msgspec.json.encode(memory) + b"\n" for memory in whole)


def check_lines(text: str, scopes: Collection[str]) -> None:
    """Check that a file holds nothing but memories of these scopes, because an export replaces it as a whole.

    Raises MemoryFileError.
    """
    for number, line in objects(text):
        scope = f"{line.get('submission_scope')}:{line.get('scope_id')}"
        if not isinstance(line.get("memory_id"), str) or scope not in scopes:
            message = f"line {number} is no memory of {', '.join(sorted(scopes))} and would be lost; name another file"
            raise MemoryFileError(message)


def read_lines(text: str) -> list[FileItem]:
    """Return the items of JSON lines; each line needs `content` and has only members of a memory.

    Raises MemoryFileError.
    """
    return [_item(number, line) for number, line in objects(text)]


def objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each line that is not empty.

    Raises MemoryFileError if a line is no JSON object.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, decode_object(line, f"line {number}")


def decode_object(text: str, place: str) -> dict[str, Any]:
    """Decode a JSON object.

    Raises MemoryFileError, which names the place.
    """
    try:
        return parse_json(text, dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        message = f"{place} is no JSON object"
        raise MemoryFileError(message) from None


def member(holder: dict[str, Any], name: str, kind: type[Any], place: str) -> Any:
    """Return a member; None if it is absent or null.

    Raises MemoryFileError if it has another type.
    """
    value = holder.get(name)
    if value is not None and not isinstance(value, kind):
        message = f"{place}: {name} has the wrong type"
        raise MemoryFileError(message)
    return value


def required(holder: dict[str, Any], name: str, place: str) -> str:
    """Return a text that must be there.

    Raises MemoryFileError.
    """
    value: str | None = member(holder, name, str, place)
    if value is None:
        message = f"{place}: {name} is missing"
        raise MemoryFileError(message)
    return value


def texts(holder: dict[str, Any], name: str, place: str) -> list[str] | None:
    """Return an array of texts; None if it is absent or null.

    Raises MemoryFileError.
    """
    values: list[Any] | None = member(holder, name, list, place)
    if values is not None and not all(isinstance(value, str) for value in values):
        message = f"{place}: {name} is no array of texts"
        raise MemoryFileError(message)
    return values


def _item(number: int, line: dict[str, Any]) -> FileItem:
    place = f"line {number}"
    if unknown := sorted(line.keys() - _MEMBERS):
        message = f"{place} has members that no memory has: {', '.join(unknown)}; put them into attributes"
        raise MemoryFileError(message)
    span = member(line, "source_span", dict, place) or {}
    return FileItem(
        content=required(line, "content", place),
        line=number,
        kind=member(line, "kind", str, place),
        heading=member(span, "heading", str, place),
        tags=texts(line, "tags", place),
        attributes=member(line, "attributes", dict, place),
        memory_id=member(line, "memory_id", str, place),
    )

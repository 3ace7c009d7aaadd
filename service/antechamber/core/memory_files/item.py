"""Items of a memory file, and what all formats share: encoding, size, scopes and order."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from antechamber.core.contract import NAME, SCOPES, MemoryItem
from antechamber.core.errors import AntechamberError

MAX_FILE: Final = 16 * 1024 * 1024
"""Maximum size of a memory file."""
_UTF8_BOM: Final = b"\xef\xbb\xbf"


class MemoryFileError(AntechamberError):
    """A memory file cannot be read or written; the text states where and what to do."""


class FileItem(Struct, frozen=True, kw_only=True):
    """One item of a memory file; what the file does not name is None."""

    content: str
    line: int
    """Line of the file where it begins, from 1."""
    kind: str | None = None
    heading: str | None = None
    tags: list[str] | None = None
    attributes: dict[str, Any] | None = None
    memory_id: str | None = None
    """The memory that an export wrote here."""


def check_scope(scope: str) -> str:
    """Return a scope written `kind:id`.

    Raises ValueError if it is none.
    """
    kind, _, scope_id = scope.partition(":")
    if kind not in SCOPES or not NAME.fullmatch(scope_id):
        message = f"{scope!r} is no scope; write kind:id, e.g. project:apollo. Kinds: {', '.join(SCOPES)}"
        raise ValueError(message)
    return scope


def scope_of(memory: MemoryItem) -> str:
    """Return the scope of a memory, written `kind:id`."""
    return f"{memory.submission_scope}:{memory.scope_id}"


def sorted_memories(memories: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return memories in the order of every export: by kind, then by text."""
    return sorted(memories, key=lambda memory: (memory.kind, memory.content, memory.memory_id))


def check_text(raw: bytes) -> None:
    """Check that a file is text that can be read and rewritten.

    Raises MemoryFileError if it is too large or not UTF-8.
    """
    if len(raw) > MAX_FILE:
        message = f"larger than {MAX_FILE >> 20} MiB; divide it"
        raise MemoryFileError(message)
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 (byte {error.start + 1}); convert it, for example with iconv"
        raise MemoryFileError(message) from None


def read_text(raw: bytes) -> str:
    """Return the text of a file with line feeds alone, without byte order mark.

    Raises MemoryFileError if it is too large or not UTF-8.
    """
    check_text(raw)
    return raw.removeprefix(_UTF8_BOM).decode().replace("\r\n", "\n").replace("\r", "\n")

"""Memory files by format: what an export writes, whether a file is current, and what an import reads."""

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args
from urllib.parse import quote

from antechamber import durable_files
from antechamber.client.markdown_items import read_markdown
from antechamber.core.contract import MemoryItem
from antechamber.core.memory_files.item import MAX_FILE, FileItem, MemoryFileError, read_text, scope_of
from antechamber.core.memory_files.json_lines import check_lines, read_lines, render_lines
from antechamber.core.memory_files.knowledge_graph import read_graph, render_graph
from antechamber.core.memory_files.managed_block import render_block, replace_blocks
from antechamber.core.memory_files.mem0_export import read_mem0

ExportFormat = Literal["agents-md", "claude-md", "jsonl", "mcp-memory"]
ImportFormat = Literal["agents-md", "claude-md", "jsonl", "mcp-memory", "mem0"]
EXPORT_FORMATS: Final[tuple[ExportFormat, ...]] = get_args(ExportFormat)
IMPORT_FORMATS: Final[tuple[ImportFormat, ...]] = get_args(ImportFormat)
ByScope = Mapping[str, Sequence[MemoryItem]]
_MAX_CHANGES: Final = 3
"""Number of times that a file may change while it is rewritten."""
_MAX_DIFF_LINES: Final = 20_000
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def render_file(form: ExportFormat, raw: bytes, scopes: ByScope) -> bytes:
    """Return a file that holds `raw` with the memories of these scopes.

    Raises MemoryFileError if the file is not of this format, or would lose something that is not of an export.
    """
    match form:
        case "agents-md" | "claude-md":
            for_claude = form == "claude-md"
            return replace_blocks(
                raw, {scope: render_block(scope, scopes[scope], for_claude=for_claude) for scope in scopes}
            )
        case "mcp-memory":
            return render_graph(raw, scopes)
        case "jsonl":
            check_lines(read_text(raw), scopes)
            return render_lines([memory for scope in scopes for memory in scopes[scope]])


def read_items(form: ImportFormat, raw: bytes, scope: str) -> list[FileItem]:
    """Return the items of a file that is imported to a scope.

    Raises MemoryFileError.
    """
    if form in {"agents-md", "claude-md"}:
        return read_markdown(raw, scope, for_claude=form == "claude-md")
    readers: dict[str, Callable[[str], list[FileItem]]] = {
        "jsonl": read_lines,
        "mcp-memory": read_graph,
        "mem0": read_mem0,
    }
    return readers[form](read_text(raw))


def read_limited(path: Path) -> bytes:
    """Return the content of a file; empty if there is none.

    Raises MemoryFileError if it cannot be read or is too large.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            message = "no regular file; name another one"
            raise MemoryFileError(message)
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise MemoryFileError(message) from None


class ExportedFile:
    """A file that holds the memories of some scopes."""

    def __init__(self, path: Path, form: ExportFormat, scopes: Iterable[str]) -> None:
        self.path = path
        self._form = form
        self._scopes = sorted(set(scopes))

    def content(self, raw: bytes, memories: Iterable[MemoryItem]) -> bytes:
        """Return what the file should hold if it holds `raw` now; memories of other scopes are left out.

        Raises MemoryFileError.
        """
        by_scope: dict[str, list[MemoryItem]] = {scope: [] for scope in self._scopes}
        for memory in memories:
            if (scope := scope_of(memory)) in by_scope:
                by_scope[scope].append(memory)
        return render_file(self._form, raw, by_scope)

    def write(self, memories: Sequence[MemoryItem]) -> bool:
        """Rewrite the file as a whole, so that no reader sees a part; return whether it changed.

        If another program changes the file meanwhile, its version is read again. Raises MemoryFileError.
        """
        with self._named():
            for _ in range(_MAX_CHANGES):
                before = _state(self.path)
                raw = read_limited(self.path)
                wanted = self.content(raw, memories)
                if wanted == raw and before is not None:
                    return False
                if _state(self.path) == before:
                    self._rewrite(wanted)
                    return True
            message = "another program changes it again and again; try again"
            raise MemoryFileError(message)

    def _rewrite(self, wanted: bytes) -> None:
        try:
            durable_files.rewrite(self.path, wanted)
        except OSError as error:
            message = f"cannot be written: {error.strerror}"
            raise MemoryFileError(message) from None

    def difference(self, memories: Sequence[MemoryItem]) -> str | None:
        """Return the difference from what the file should hold, as `diff -u` shows it; None if it is current.

        Raises MemoryFileError.
        """
        with self._named():
            raw = read_limited(self.path)
            wanted = self.content(raw, memories)
        if wanted == raw and self.path.exists():
            return None
        return _difference(str(self.path), raw, wanted)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Have errors name the file."""
        try:
            yield
        except MemoryFileError as error:
            message = f"{self.path}: {error}"
            raise MemoryFileError(message) from None


def _state(path: Path) -> tuple[int, ...] | None:
    """Return what changes with each write of a file; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _difference(name: str, raw: bytes, wanted: bytes) -> str:
    before, after = (text.decode().splitlines(keepends=True) for text in (raw, wanted))
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return f"--- {name}\n+++ {name} (current)\nThe difference is too long to show.\n"
    lines = difflib.unified_diff(before, after, name, f"{name} (current)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def file_for(pattern: str, scope: str) -> Path:
    """Return the file of a scope: in the pattern, `{scope}` is its name with `-` for signs that file names may lack."""
    return Path(pattern.replace("{scope}", _UNSAFE.sub("-", scope)))


def uri_of(path: Path) -> str:
    """Return the URI that names a file in source spans, without the folders of this machine.

    Within a repository it is `repo://`, the name of its folder, and the path; otherwise the name alone.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 -- a link keeps its own name
    for folder in whole.parents:
        if (folder / ".git").exists() and folder.name:
            return f"repo://{quote(folder.name)}/{quote(whole.relative_to(folder).as_posix())}"
    return f"file:{quote(whole.name)}"

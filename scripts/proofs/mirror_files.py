"""What a mirror's file holds, and what the service returns in its place."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from antechamber.client import Submitter
from antechamber.client.mirror_file import MirrorFile
from proofs.mirror_world import SCOPES


def recalled(port: int, token: str) -> dict[str, Any]:
    """Return all memories of the mirrored scopes, as GET /v1/memories returns them, by id."""
    found: dict[str, Any] = {}
    with Submitter(f"http://127.0.0.1:{port}", token) as client:
        for scope in SCOPES:
            after: str | None = None
            while page := client.memories(scopes=[scope], after=after, limit=200):
                found |= {item.memory_id: item for item in page.items}
                if (after := page.next) is None:
                    break
    return msgspec.to_builtins(found)  # type: ignore[no-any-return]


def held_by(file: Path) -> dict[str, Any]:
    """Return all memories in a mirror's file by id."""
    mirror = MirrorFile(file, SCOPES)
    try:
        return {item.memory_id: msgspec.to_builtins(item) for item in mirror.memories()}
    finally:
        mirror.close()


def found_broken(file: Path) -> list[str]:
    """Return what SQLite finds broken in a mirror's file."""
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as mirror:
        found = [str(row[0]) for row in mirror.execute("PRAGMA integrity_check")]
    return [text for text in found if text != "ok"]

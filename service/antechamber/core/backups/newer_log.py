"""What an export of a log says that is newer than a backup: erasures to repeat, and the last checkpoint."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.backups.manifest import BackupError, LogState
from antechamber.core.conversion import parse_json
from antechamber.core.log.merkle import Frontier, leaf_hash

_SUBJECTS: Final = ("proposal_id", "quarantine_id")


class Erasure(Struct, frozen=True, kw_only=True):
    """The text of a proposal or quarantined event that was erased after the backup."""

    subject: str
    reason_code: str
    erased_at: str
    """RFC 3339 in UTC."""


class NewerLog(Struct, frozen=True, kw_only=True):
    """What an export adds to a backup; `checkpoint` is the signed note that closes the export."""

    checkpoint: str
    erasures: list[Erasure]


class _Line(Struct, kw_only=True):
    """A line of an export of the whole log: a leaf, or the closing record."""

    record: str
    leaf: dict[str, Any] | None = None
    sequence: int | None = None
    checkpoint: str | None = None
    count: int | None = None


def read_newer_log(lines: Iterable[bytes], state: LogState) -> NewerLog:
    """Read an export of the whole log, whose first leaves must be those of the backup.

    Signatures are not checked here: that is the work of `antechamber verify`.

    Raises BackupError if it is no such export, is cut off, or is of another log.
    """
    tree = Frontier()
    erasures: list[Erasure] = []
    for line in lines:
        found = _parse(line)
        if found.checkpoint is not None and found.count == tree.size and tree.size >= state.size:
            return NewerLog(checkpoint=found.checkpoint, erasures=erasures)
        if found.leaf is None or found.sequence != tree.size:
            message = f"the export is damaged after leaf {tree.size - 1}; verify it with: antechamber verify"
            raise BackupError(message)
        tree.append(leaf_hash(canonical(found.leaf)))
        if tree.size == state.size and tree.root().hex() != state.root:
            message = f"the export is of another log: its first {state.size} leaves are not those of the backup"
            raise BackupError(message)
        if tree.size > state.size and found.leaf.get("action") == "erase":
            erasures.append(_erasure(found.leaf))
    message = f"the export is cut off after {tree.size} leaves, or older than the backup, which has {state.size}"
    raise BackupError(message)


def _parse(line: bytes) -> _Line:
    try:
        return parse_json(line, _Line)
    except msgspec.MsgspecError:
        message = "the file is no export of the whole log; make one with: antechamber export log"
        raise BackupError(message) from None


def _erasure(leaf: dict[str, Any]) -> Erasure:
    named = leaf.get("subject")
    subject = next((named[name] for name in _SUBJECTS if name in named), "") if isinstance(named, dict) else ""
    return Erasure(subject=str(subject), reason_code=str(leaf.get("reason_code")), erased_at=str(leaf.get("time")))

"""Comparison of the log with checkpoints that were signed before: each must be a prefix of the log."""

from collections.abc import Callable

from antechamber.core.errors import ContradictionError
from antechamber.core.log.checkpoint_text import (
    Checkpoint,
    NoteError,
    VerifierKey,
    read_checkpoint,
    read_key,
    read_text,
)
from antechamber.core.log.ports import LogRows
from antechamber.core.log.tree import Tree

Verify = Callable[[bytes, bytes, bytes], bool]
"""Return whether a signature is valid, from the public key, the signature and the text."""


def compare(log: LogRows, tree: Tree, notes: list[str], verify: Verify, *, pinned: bool = False) -> None:
    """Compare the log with earlier checkpoints; those of an abandoned log are compared only if `pinned`.

    Raises ContradictionError if one of them is not a prefix of the log.
    """
    keys = [read_key(key) for key in log.verifier_keys()]
    for note in notes:
        before = _read(note, keys, verify, "The pinned checkpoint" if pinned else "The checkpoint that is kept")
        if before.origin != keys[-1].name and not pinned:
            continue
        if before.size > tree.size:
            message = (
                f"It had {before.size} leaves when it was signed last, and has {tree.size} now: an older backup "
                "was put in its place, or leaves were taken away. Restore the newest backup; if there is no "
                "newer one, auditors have to know: antechamber log new-key --restored"
            )
            raise ContradictionError(message)
        if tree.root(before.size) != before.root:
            message = (
                f"Its first {before.size} leaves are not those that were signed: the database was altered, or an "
                "older backup was restored and grew into something else. Restore the newest backup; if there is no "
                "newer one, auditors have to know: antechamber log new-key --restored"
            )
            raise ContradictionError(message)


def _read(note: str, keys: list[VerifierKey], verify: Verify, what: str) -> Checkpoint:
    """Read a checkpoint with the key of the log that signed it.

    Raises ContradictionError if it is damaged, or belongs to another log.
    """
    for key in keys:
        try:
            return read_checkpoint(note, key, verify)
        except NoteError:
            continue
    text = parse_note(note)
    if text is not None and text.origin not in {key.name for key in keys}:
        message = f"{what} is of another log, {text.origin[:80]!a}: they do not belong together."
        raise ContradictionError(message)
    message = f"{what} is damaged: it is no signed note, or its signature is wrong."
    raise ContradictionError(message)


def read_newest(log: LogRows, tree: Tree, notes: list[str], verify: Verify) -> Checkpoint | None:
    """Return the largest of some checkpoints of a log of which `tree` may be only the beginning; None without any.

    Raises ContradictionError if one is not signed by a key of the log, or not of the log that begins with `tree`.
    """
    keys = [read_key(key) for key in log.verifier_keys()]
    found = [_read(note, keys, verify, "The checkpoint") for note in notes]
    compare(log, tree, [n for n, one in zip(notes, found, strict=True) if one.size <= tree.size], verify, pinned=True)
    return max(found, key=lambda one: one.size, default=None)


def parse_note(note: str | None) -> Checkpoint | None:
    """Return the parsed text of a checkpoint, whose signature is not checked; None if it is not readable."""
    try:
        return read_text(note or "")
    except NoteError:
        return None

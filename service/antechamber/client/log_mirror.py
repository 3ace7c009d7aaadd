"""A verified copy of a log in a folder, in the layout in which the log serves it (c2sp.org/tlog-tiles).

Each file is verified against a signed checkpoint before it gets its name, and the folder's own checkpoint is replaced
last. So everything below it is complete and verified at any moment, and a copy that was interrupted goes on.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from antechamber import durable_files
from antechamber.checkpoint_signer import verify
from antechamber.client.log_tile_tree import TileTree, WrongTileError
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError, BusyError
from antechamber.core.log.checkpoint_text import (
    MAX_NOTE,
    Checkpoint,
    NoteError,
    VerifierKey,
    read_checkpoint,
    read_key,
    read_text,
)
from antechamber.core.log.cosignature import read_cosignature, read_witness_key
from antechamber.core.log.merkle import BLOCK, leaf_hash
from antechamber.core.log.tiles import ENTRIES, TileError, TilePlace, edge, read_bundle, width_at

CHECKPOINT: Final = "checkpoint"
KEYS: Final = "mirror.keys"
"""The verifier keys that were given last, one per line."""
WITNESSES: Final = "mirror.witnesses"
"""The keys of the witnesses that were given last, one per line."""
LOCK: Final = "mirror.lock"
EVIDENCE: Final = "evidence"
"""Folder with one folder for each checkpoint that was refused."""


class LogMirrorError(AntechamberError):
    """Raised when the folder cannot be used, or no key is known; nothing is wrong with the log."""


class MisbehaviorError(AntechamberError):
    """Raised when a log is not what it signed, or not what it was; the text says where the evidence is."""


class NotCosignedError(AntechamberError):
    """Raised when a witness has not cosigned the checkpoint yet; nothing is known to be wrong with the log."""


class TileReader(Protocol):
    """Reads a log; see client.log_reader."""

    def checkpoint(self) -> bytes:
        """Return the signed checkpoint as it came."""

    def tile(self, place: TilePlace) -> bytes | None:
        """Return a tile or bundle, or None."""


class Mirrored(NamedTuple):
    """What the folder holds now, and how many leaves it held before."""

    checkpoint: Checkpoint
    before: int


class _WrongError(AntechamberError):
    """What is wrong with the log, and the files that show it."""

    def __init__(self, text: str, files: Mapping[str, bytes] | None = None) -> None:
        super().__init__(text)
        self.files = dict(files or {})


class LogMirror:
    """The copy in one folder; use it inside `opened_mirror`."""

    def __init__(
        self, folder: Path, keys: list[VerifierKey], reader: TileReader, witnesses: Sequence[VerifierKey]
    ) -> None:
        self._folder = folder
        self._keys = keys
        self._reader = reader
        self._witnesses = witnesses

    def update(self, report: Callable[[int, int], None] = lambda _done, _due: None) -> Mirrored:
        """Copy what was added to the log; `report` gets the number of verified leaves and that of all.

        Raises MisbehaviorError after the evidence is on disk; NotCosignedError; LogMirrorError; or what the reader
        raises.
        """
        raw = self._reader.checkpoint()
        kept = self._kept()
        try:
            new = self._read(raw)
            self._check_witnesses(raw.decode(), new)
            return self._take(raw, new, self._known(kept), report)
        except (_WrongError, WrongTileError, TileError) as error:
            where = self._keep_evidence(raw, kept, str(error), getattr(error, "files", {}))
            message = f"{error}. Nothing of it was taken over; the evidence is in {where}"
            raise MisbehaviorError(message) from None

    def _kept(self) -> bytes | None:
        path = self._folder / CHECKPOINT
        return path.read_bytes() if path.exists() else None

    def _known(self, kept: bytes | None) -> Checkpoint | None:
        """Return the checkpoint of the folder, which was verified before it was written."""
        if kept is None:
            return None
        try:
            return read_text(kept.decode())
        except (NoteError, UnicodeDecodeError):
            message = f"{self._folder / CHECKPOINT} is damaged; move the folder away and copy the log into a new one"
            raise LogMirrorError(message) from None

    def _read(self, raw: bytes) -> Checkpoint:
        """Verify the signature of a checkpoint with the first key; an older one signs nothing after its replacement."""
        try:
            note = raw.decode()
        except UnicodeDecodeError:
            text = "The checkpoint is no UTF-8 text"
            raise _WrongError(text) from None
        try:
            return read_checkpoint(note, self._keys[0], verify)
        except NoteError as error:
            problem = str(error)
        with contextlib.suppress(NoteError):
            origin = read_text(note[:MAX_NOTE]).origin
            if origin != self._keys[0].name:
                text = f"The checkpoint is of another log, {origin[:80]!a}, and not of {self._keys[0].name}"
                raise _WrongError(text)
        text = f"The checkpoint cannot be trusted: {problem}. If the log changed its key, give the new one with --key"
        raise _WrongError(text)

    def _check_witnesses(self, note: str, checkpoint: Checkpoint) -> None:
        """Verify that each witness cosigned a checkpoint.

        Raises NotCosignedError for the first that did not, so that a fork that no witness saw is not taken over.
        """
        for witness in self._witnesses:
            try:
                at = read_cosignature(note, witness, verify)
            except NoteError as error:
                text = f"The checkpoint cannot be trusted: {error}"
                raise _WrongError(text) from None
            if at is None:
                leaves = counted(checkpoint.size, "leaf", "leaves")
                message = f"the witness {witness.name} has not cosigned the checkpoint of {leaves} yet"
                raise NotCosignedError(message)

    def _take(
        self, raw: bytes, new: Checkpoint, old: Checkpoint | None, report: Callable[[int, int], None]
    ) -> Mirrored:
        before = old.size if old else 0
        if new.size < before:
            text = f"The log shrank: it had {before} leaves, and its checkpoint has {new.size} now"
            raise _WrongError(text)
        tree = TileTree(new, self._reader, self._folder / "tile")
        if old is not None and tree.root(old.size) != old.root:
            text = (
                f"The log was forked: its first {old.size} leaves do not add up to the root that it signed for them "
                "before"
            )
            raise _WrongError(text, {f"tile/{place.path}": data for place, data in tree.edges.items()})
        if new.size > before:
            self._copy(tree, before, report)
        self._store(CHECKPOINT, raw)
        self._drop_grown(before, new.size)
        return Mirrored(new, before)

    def _copy(self, tree: TileTree, before: int, report: Callable[[int, int], None]) -> None:
        """Copy the tiles and bundles that the first `before` leaves do not fill."""
        size = tree.size
        levels = max(place.level for place in tree.edges) if tree.edges else 0
        for level in range(levels, 0, -1):
            for index in range(before >> 8 * (level + 1), size >> 8 * (level + 1)):
                self._store_tile(TilePlace(level, index), tree.tile(level, index))
        for place, data in tree.edges.items():
            self._store_tile(place, data)
        for index in range(before // BLOCK, -(-size // BLOCK)):
            hashes = tree.tile(0, index)
            if width_at(0, index, size) == BLOCK:
                self._store_tile(TilePlace(0, index), hashes)
            self._copy_bundle(TilePlace(ENTRIES, index, width_at(0, index, size)), hashes)
            report(min((index + 1) * BLOCK, size), size)

    def _copy_bundle(self, place: TilePlace, tile: bytes) -> None:
        path = self._folder / "tile" / place.path
        with contextlib.suppress(FileNotFoundError, TileError):
            if _hashes(path.read_bytes(), place) == tile:
                return
        bundle = self._reader.tile(place)
        if bundle is None and not place.is_full:
            # A log may remove a partial bundle once the full one exists.
            full = self._reader.tile(place._replace(width=BLOCK))
            bundle = None if full is None else _first(full, place.width)
        if bundle is None:
            text = f"The log does not serve tile/{place.path}, which its checkpoint covers"
            raise _WrongError(text)
        try:
            hashes = _hashes(bundle, place)
        except TileError as error:
            text = f"tile/{place.path} is no bundle of entries: {error}"
            raise _WrongError(text, {f"tile/{place.path}": bundle}) from None
        if hashes != tile:
            text = f"The entries in tile/{place.path} are not those that the log signed"
            raise _WrongError(text, {f"tile/{place.path}": bundle})
        self._store(f"tile/{place.path}", bundle)

    def _store_tile(self, place: TilePlace, data: bytes) -> None:
        path = self._folder / "tile" / place.path
        if not path.exists() or path.read_bytes() != data:
            self._store(f"tile/{place.path}", data)

    def _store(self, name: str, data: bytes) -> None:
        path = self._folder / name
        _make_folder(path.parent)
        durable_files.replace(path, data)

    def _drop_grown(self, before: int, size: int) -> None:
        """Remove the partial files of the earlier checkpoint that have grown since."""
        now = {place.path for place in _partial(size)}
        for place in _partial(before):
            if place.path not in now:
                path = self._folder / "tile" / place.path
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    path.parent.rmdir()

    def _keep_evidence(self, raw: bytes, kept: bytes | None, text: str, files: Mapping[str, bytes]) -> Path:
        """Store the refused checkpoint, the one before it, and the files that show what is wrong."""
        name = f"{EVIDENCE}/{hashlib.sha256(raw).hexdigest()[:16]}"
        found = {"checkpoint": raw, "reason.txt": f"{text}.\n".encode()} | dict(files)
        for path, data in (found | ({} if kept is None else {"checkpoint.before": kept})).items():
            self._store(f"{name}/{path}", data)
        return self._folder / name


def _partial(size: int) -> Iterator[TilePlace]:
    for place in edge(size):
        yield place
        if place.level == 0:
            yield place._replace(level=ENTRIES)


def _hashes(bundle: bytes, place: TilePlace) -> bytes:
    return b"".join(map(leaf_hash, read_bundle(bundle, place.width)))


def _first(bundle: bytes, width: int) -> bytes:
    """Return the beginning of a full bundle, with as many entries."""
    at = 0
    for _ in range(width):
        at += 2 + int.from_bytes(bundle[at : at + 2], "big")
    return bundle[:at]


def _make_folder(folder: Path) -> None:
    """Create a folder and those above it, each of them on disk."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        durable_files.sync_folder(folder.parent)


@contextlib.contextmanager
def opened_mirror(
    folder: Path, reader: TileReader, keys: Sequence[VerifierKey], witnesses: Sequence[VerifierKey] = ()
) -> Iterator[LogMirror]:
    """Yield the mirror in a folder, which is created.

    `keys` and `witnesses` replace those that were trusted before, if any are given; each witness has to cosign.

    Raises LogMirrorError if no key is known, or another log's is given; BusyError if another process has the folder.
    """
    _make_folder(folder.absolute())
    with (folder / LOCK).open("a") as lock:
        if not durable_files.take_lock(lock):
            message = f"another process writes into {folder}"
            raise BusyError(message)
        trusted = _trust(folder, keys)
        cosigning = _remember(folder / WITNESSES, witnesses, read_witness_key)
        for draft in folder.rglob("*.new"):
            # The rest of a process that was killed.
            draft.unlink()
        yield LogMirror(folder, trusted, reader, cosigning)


def _trust(folder: Path, keys: Sequence[VerifierKey]) -> list[VerifierKey]:
    """Return the trusted keys, after those that are given were stored."""
    stored = _stored(folder / KEYS, read_key)
    if not keys and not stored:
        message = (
            "the first call needs --key VKEY: the line that antechamber log key prints, or /v1/audit/key, from a "
            "source that you trust"
        )
        raise LogMirrorError(message)
    names = {key.name for key in (*keys, *stored)}
    if len(names) > 1:
        message = f"{folder} and the keys are of different logs, {' and '.join(sorted(names))}; use another folder"
        raise LogMirrorError(message)
    return _remember(folder / KEYS, keys, read_key)


def _remember(path: Path, keys: Sequence[VerifierKey], read: Callable[[str], VerifierKey]) -> list[VerifierKey]:
    """Return the keys in a file, which those that are given replace."""
    stored = _stored(path, read)
    if keys and list(keys) != stored:
        durable_files.replace(path, "".join(f"{key}\n" for key in keys).encode())
    return list(keys) or stored


def _stored(path: Path, read: Callable[[str], VerifierKey]) -> list[VerifierKey]:
    return [read(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

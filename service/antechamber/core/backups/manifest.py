"""The manifest of a backup: what the archive holds, and which archives of the same origin are too old to keep."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from antechamber.core.conversion import parse_json
from antechamber.core.errors import AntechamberError

VERSION: Final = 1
MAX_MANIFEST: Final = 1 << 20
"""Maximum size of a manifest in bytes."""
DATABASES: Final = {"sqlite": "antechamber.db", "postgres": "antechamber.pgdump"}
"""Name of the member with the database, by engine."""
KEYS: Final = ("secret.key", "log.key", "quarantine.key")
_POLICY: Final = re.compile(r"policies/(?:detectors/)?[A-Za-z0-9][A-Za-z0-9_-]{0,100}\.toml")
_DIGITS: Final = re.compile(r"\d+")
_Digest = Annotated[str, Meta(pattern=r"^blake3:[0-9a-f]{64}\Z")]
_Size = Annotated[int, Meta(ge=0, le=1 << 62)]
_Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z\Z")]
_Word = Annotated[str, Meta(pattern=r"^[\w.+-]{1,200}\Z")]


class BackupError(AntechamberError):
    """Raised when a backup cannot be made, read or restored; the text states what to do."""


class ArchiveMember(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file in an archive; `size` is in bytes."""

    name: str
    size: _Size
    digest: _Digest


class LogState(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far the log of the backup goes: number of leaves, root in hexadecimal, last signed checkpoint."""

    size: _Size
    root: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    checkpoint: Annotated[str, Meta(max_length=100_000)] | None


class Origin(Struct, frozen=True, kw_only=True):
    """When an archive was made (RFC 3339 in UTC), and from which instance: a keyed digest of its `secret.key`."""

    created_at: _Moment
    instance: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first member of an archive; `members` are the others, in the order in which they follow."""

    format: Literal["antechamber-backup"] = "antechamber-backup"
    version: Literal[1] = VERSION
    product: _Word
    engine: Literal["sqlite", "postgres"]
    schema_step: _Word
    origin: Origin
    log: LogState
    keys: bool
    members: Annotated[list[ArchiveMember], Meta(max_length=500)]

    @property
    def total(self) -> int:
        """The bytes of all members."""
        return sum(member.size for member in self.members)


class _Version(Struct):
    """The part of a manifest that every version has."""

    format: str
    version: int


def read_manifest(raw: bytes) -> Manifest:
    """Parse a manifest.

    Raises BackupError if it is not one, is of a newer version, or lists members that no archive has.
    """
    try:
        head = parse_json(raw, _Version)
        if head.format == "antechamber-backup" and head.version > VERSION:
            message = f"the archive has format version {head.version}: restore it with the version that made it"
            raise BackupError(message)
        manifest = parse_json(raw, Manifest)
    except msgspec.MsgspecError as error:
        message = f"this is no backup of Antechamber: its manifest cannot be read: {error}"
        raise BackupError(message) from None
    _check_members(manifest)
    return manifest


def _check_members(manifest: Manifest) -> None:
    names = [member.name for member in manifest.members]
    expected = {DATABASES[manifest.engine], *(KEYS if manifest.keys else ())}
    strange = [name for name in names if name not in expected and not _POLICY.fullmatch(name)]
    if strange or len(set(names)) != len(names) or not expected <= set(names):
        found = strange[0] if strange else "a member twice, or one too few"
        message = f"this is no backup of Antechamber: its manifest lists {found[:100]!a}"
        raise BackupError(message)


def is_policy(name: str) -> bool:
    """Return whether a path relative to the data folder is that of a policy file."""
    return _POLICY.fullmatch(name) is not None


def same_scheme(name: str, other: str) -> bool:
    """Return whether two file names differ only in their numbers, as those of archives made at several times."""
    return _DIGITS.sub("0", name) == _DIGITS.sub("0", other)


def surplus(archives: Iterable[tuple[str, Origin]], newest: tuple[str, Origin], keep: int) -> Sequence[str]:
    """Return the names of the archives to remove so that `keep` remain, oldest first; `newest` always remains.

    Archives of another instance, and of another naming scheme than that of the newest, are left alone.
    """
    name, origin = newest
    own = sorted(
        (found.created_at, other)
        for other, found in archives
        if other != name and found.instance == origin.instance and same_scheme(other, name)
    )
    return [other for _, other in own[: max(len(own) - (keep - 1), 0)]]

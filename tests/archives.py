"""Archives of backups made by hand, for tests."""

import io

from antechamber.backup_archive import write_archive
from antechamber.backup_archive.files import measure
from antechamber.core.backups.manifest import LogState, Manifest, Origin

ORIGIN = Origin(created_at="2026-11-23T10:00:00.123456Z", instance="ab" * 32)
CONTENTS = {"antechamber.db": b"x" * 70_000, "policies/producers.toml": b"# none\n"}


def quiet(_done: int, _total: int) -> None:
    """Show no progress."""


def archive(passphrase: bytes | None = None, contents: dict[str, bytes] = CONTENTS) -> bytes:
    """Return the bytes of an archive."""
    manifest = Manifest(
        product="1.0",
        engine="sqlite",
        schema_step="0006_notes-abc",
        origin=ORIGIN,
        log=LogState(size=0, root="00" * 32, checkpoint=None),
        keys=False,
        members=[measure(name, io.BytesIO(content)) for name, content in contents.items()],
    )
    file = io.BytesIO()
    write_archive(file, manifest, [io.BytesIO(content) for content in contents.values()], passphrase, quiet)
    return file.getvalue()

"""Archives of backups: a strict tar with a manifest first, optionally encrypted with a passphrase."""

from antechamber.backup_archive.files import ArchiveReader, origin_of, write_archive

__all__ = ["ArchiveReader", "origin_of", "write_archive"]

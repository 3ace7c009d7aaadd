"""Errors of opening a store."""

from typing import Final

from antechamber.core.errors import AntechamberError

OTHER_SCHEMA: Final = (
    "this data was written by another version, a newer one or one before the first release; install that version, or "
    "restore a backup of before"
)


OLDER_SCHEMA: Final = "this data was written by an older version; make a backup, then run: antechamber migrate"


MOVED: Final = "moved"
"""Note in a SQLite file whose data lives in a PostgreSQL database now."""


class StoreError(AntechamberError):
    """The store cannot be opened; the text says what to do."""

"""Errors of opening a store."""

from typing import Final

from antechamber.core.errors import AntechamberError

OTHER_SCHEMA: Final = (
    "this data was written by another version, a newer one or one before the first release; install that version, or "
    "restore a backup of before"
)


OLDER_SCHEMA: Final = "this data was written by an older version; make a backup, then run: antechamber migrate"


UNFINISHED: Final = (
    "a restore into this database was not finished; repeat it, into the same folder: antechamber backup restore"
)


RESTORE: Final = (
    "Stop the service and restore the newest backup that is good: antechamber backup verify, antechamber backup restore"
)


MOVED: Final = "moved"
"""Name of the note in a SQLite file whose data was moved to a PostgreSQL database."""


class StoreError(AntechamberError):
    """Error for a store that cannot be opened; its text states what to do."""

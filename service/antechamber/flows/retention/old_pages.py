"""Empties the write-ahead log of a served folder after another process erased texts in it."""

from typing import Final

from antechamber.core.ports.store import Store

MARK: Final = "old_pages"
"""Name of the note that the store makes when it could not empty the write-ahead log itself."""


def empty_old_pages(store: Store) -> None:
    """Remove from the files what other processes deleted.

    Raises BusyError or UnavailableError.
    """
    with store.read() as tx:
        marked = tx.reports.meta(MARK) is not None
    if marked:
        store.write(lambda tx: tx.retention.drop_old_pages()).result()

"""The address under which the service is served, noted in the store for other processes."""

from typing import Final

from antechamber.core.ports.store import Store

_ADDRESS: Final = "address"
"""Name of the note that holds the address."""


class PublicAddress:
    """Notes the address under which the service is served, for the links that the command line prints."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._noted: str | None = None

    def note(self, url: str) -> None:
        """Store the address.

        A repeated call with the same address does nothing, so among several processes the one started last sets the
        address.

        Raises BusyError or UnavailableError.
        """
        if self._noted == url:
            return
        if self.last() != url:
            self._store.write(lambda tx: tx.reports.set_meta(_ADDRESS, url)).result()
        self._noted = url

    def last(self) -> str | None:
        """Return the address under which the service was served last, or None if it never was."""
        with self._store.read() as tx:
            return tx.reports.meta(_ADDRESS)

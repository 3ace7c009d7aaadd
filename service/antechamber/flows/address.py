"""The address by which browsers reach the service, noted in the store for the command line."""

from typing import Final

from antechamber.core.ports import Store

_ADDRESS: Final = "address"


class Address:
    """Part of Access: where sign-in links lead to."""

    _store: Store

    def note_address(self, url: str) -> None:
        """Remember the address under which the service is served.

        Raises BusyError or UnavailableError.
        """
        if self.address() != url:
            self._store.write(lambda rows: rows.set_meta(_ADDRESS, url)).result()

    def address(self) -> str | None:
        """Return the address under which the service was served last; None where it never was."""
        with self._store.read() as rows:
            return rows.meta(_ADDRESS)

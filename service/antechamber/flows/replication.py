"""Checks that the database server cannot lose a commit that it acknowledged, when operators require that."""

from typing import Final

from antechamber.core.errors import AntechamberError
from antechamber.core.ports.store import Store
from antechamber.core.replication import find_hazards

REMEDY: Final = (
    "set synchronous_standby_names (with Patroni: synchronous_mode and synchronous_mode_strict), synchronous_commit, "
    "fsync and full_page_writes on the server; or leave out --require-synchronous"
)


class UnsafeServerError(AntechamberError):
    """Error for a server that could lose an acknowledged commit; its text states the causes and what to do."""


class Replication:
    """Looks at the settings of the server that the store writes to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.alarm: str | None = None
        """What is wrong with the server that commits now; None if nothing is, or before the first look."""

    def look(self) -> None:
        """Look at the server, over the connection that commits; after a failover it is another server.

        Raises BusyError or UnavailableError.
        """
        hazards = find_hazards(self._store.write(lambda tx: tx.doctor.durability_settings()).result())
        self.alarm = f"The server could lose an acknowledged commit: {'; '.join(hazards)}." if hazards else None

    def require(self) -> None:
        """Refuse a server that could lose an acknowledged commit.

        Raises UnsafeServerError, BusyError or UnavailableError.
        """
        self.look()
        if self.alarm is not None:
            message = f"{self.alarm} To start, {REMEDY}"
            raise UnsafeServerError(message)

"""The interface to the other processes of this host: their figures, and the disk of the data folder."""

from typing import NamedTuple, Protocol

from antechamber.core.metrics.meters import Snapshot


class Disk(NamedTuple):
    """The disk of the data folder, in bytes."""

    free: int
    size: int


class Snapshots(Protocol):
    """Figures that the processes of a host publish for each other."""

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the figures of this process; raises OSError."""

    def others(self) -> list[Snapshot]:
        """Return the figures of the other running processes, and the counters of ended ones."""

    def leave(self) -> None:
        """Release the name of this process; from now on it counts as ended."""

    def disk(self) -> Disk | None:
        """Return the space on the disk, or None if it cannot be found out."""

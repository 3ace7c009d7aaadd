"""The store: transactions over all rows."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from antechamber.core.log.ports import LogRows
from antechamber.core.ports.access import AccessRows
from antechamber.core.ports.admission import AdmissionRows
from antechamber.core.ports.memories import MemoryRows
from antechamber.core.ports.quarantine import QuarantineRows
from antechamber.core.ports.reports import ReportRows
from antechamber.core.ports.review import ReviewRows
from antechamber.core.ports.review_queue import QueueRows

T = TypeVar("T")


Item = TypeVar("Item")


class Rows(AdmissionRows, MemoryRows, QueueRows, ReviewRows, QuarantineRows, AccessRows, ReportRows, LogRows, Protocol):
    """One open transaction, or one read snapshot (whose writes the engine refuses)."""


class Store(Protocol):
    """Durable rows: writes are grouped into common transactions, reads see one snapshot."""

    def write(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk.

        The future raises what `work` raised (nothing of it is kept), BusyError or UnavailableError. Where several
        processes share the store `work` may run again on what another one wrote first.
        """

    def gather(
        self, work: Callable[[Sequence[Item], Rows], list[T]], items: Sequence[Item], size: int
    ) -> Future[list[T]]:
        """Run `work` on these items and all others that wait for the same `work`, in one call and transaction.

        `size` is how many bytes they hold together. Raises UnavailableError where too much waits already.
        """

    def promote(self, work: Callable[[Rows], T]) -> Future[T]:
        """Like `write`, with the right to admit memories."""

    def read(self) -> AbstractContextManager[Rows]:
        """Open a read snapshot."""

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from some thread after the queue or the quarantine changed; return what ends that."""

    def trouble(self) -> str | None:
        """Say why nothing is stored until the process is started again; None while all is well."""

    def lost(self) -> str | None:
        """Say which end of the log is missing from the files; None where nothing is known to be missing."""

    def accept_loss(self) -> None:
        """Go on with the log as it is, because what is missing is given up."""

    def close(self) -> None:
        """Finish what was accepted and release everything."""

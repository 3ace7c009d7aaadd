"""The interface of the store: transactions over all rows."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

from antechamber.core.log.ports import LogRows
from antechamber.core.metrics.meters import Meters
from antechamber.core.ports.access import AccessRows
from antechamber.core.ports.admission import AdmissionRows
from antechamber.core.ports.blind import BlindRows
from antechamber.core.ports.changes import ChangeRows
from antechamber.core.ports.doctor import DoctorRows
from antechamber.core.ports.memories import MemoryRows
from antechamber.core.ports.notes import NoteRows
from antechamber.core.ports.quarantine import QuarantineRows
from antechamber.core.ports.rehearsal import RehearsalRows
from antechamber.core.ports.reports import ReportRows
from antechamber.core.ports.retention import RetentionRows
from antechamber.core.ports.review import ReviewRows
from antechamber.core.ports.review_queue import QueueRows
from antechamber.core.ports.sealed_events import SealedEventRows
from antechamber.core.ports.search import SearchRows
from antechamber.core.ports.upkeep import UpkeepRows
from antechamber.core.ports.webhooks import WebhookRows

T = TypeVar("T")


Item = TypeVar("Item")


class Rows(Protocol):
    """One open transaction, or one read snapshot, in which the engine refuses writes: one port for each subject."""

    @property
    def admission(self) -> AdmissionRows:
        """What an admission reads and writes."""

    @property
    def memories(self) -> MemoryRows:
        """Receipts and memories that agents read back."""

    @property
    def search(self) -> SearchRows:
        """The search index of active memories."""

    @property
    def changes(self) -> ChangeRows:
        """The change feed of memories."""

    @property
    def queue(self) -> QueueRows:
        """The review queue."""

    @property
    def review(self) -> ReviewRows:
        """Proposals, decisions on them, and the memories that decisions change."""

    @property
    def blind(self) -> BlindRows:
        """Calibration items and second looks, which measure how decisions are made."""

    @property
    def notes(self) -> NoteRows:
        """Notes about proposals, and whose turn a proposal is."""

    @property
    def quarantine(self) -> QuarantineRows:
        """Quarantined events and the decisions on them."""

    @property
    def sealed_events(self) -> SealedEventRows:
        """Encrypted private events, and what curators revealed of them."""

    @property
    def access(self) -> AccessRows:
        """Tokens, accounts and sessions."""

    @property
    def reports(self) -> ReportRows:
        """What auditors and operators read."""

    @property
    def rehearsal(self) -> RehearsalRows:
        """What the rehearsal of a policy reads."""

    @property
    def retention(self) -> RetentionRows:
        """Texts that the policy no longer keeps."""

    @property
    def doctor(self) -> DoctorRows:
        """The check of the store's own guarantees."""

    @property
    def webhooks(self) -> WebhookRows:
        """Endpoints of webhooks, and the alarms that are sent to them."""

    @property
    def upkeep(self) -> UpkeepRows:
        """Reads of memories, and when these come up for review."""

    @property
    def log(self) -> LogRows:
        """The transparency log."""


class Store(Protocol):
    """Durable rows: writes share transactions by group commit, reads see one snapshot."""

    @property
    def engine(self) -> Literal["sqlite", "postgres"]:
        """The database engine."""

    @property
    def meters(self) -> Meters:
        """What the writer counts and measures."""

    def write(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk.

        The future raises BusyError or UnavailableError, or what `work` raised; then nothing that `work` wrote is kept.
        If several processes share the store, `work` may run again on top of what another process committed first.
        """

    def gather(
        self, work: Callable[[Sequence[Item], Rows], list[T]], items: Sequence[Item], size: int, *, here: bool = False
    ) -> Future[list[T]]:
        """Run `work` on these items and all others that wait for the same `work`, in one call and transaction.

        `size` is the number of bytes that the items hold together. With `here` an embedded engine may run it in this
        thread before it returns, if nothing else waits and its commits are quick.

        Raises UnavailableError if too much waits already.
        """

    def promote(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run `work` as `write` does, with the right to admit memories."""

    def read(self) -> AbstractContextManager[Rows]:
        """Open a read snapshot."""

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from any thread after the queue or the quarantine changed; return a function that stops this."""

    def trouble(self) -> str | None:
        """Return why nothing is stored until the process is restarted, or None if all is well."""

    def replica_alarm(self) -> str | None:
        """Return why reads leave the replica out, or None if it is read or there is none."""

    def lost(self) -> str | None:
        """Return which end of the log is missing from the files, or None if nothing is known to be missing."""

    def accept_loss(self) -> None:
        """Continue with the log as it is and give up the missing part."""

    def size(self) -> int:
        """Return the bytes of the database with its indexes.

        Raises BusyError or UnavailableError.
        """

    def close(self) -> None:
        """Finish the accepted work and release all resources."""

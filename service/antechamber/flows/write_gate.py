"""A store that accepts no writes while the log contradicts the last checkpoint."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar, cast

from antechamber.core.ports.store import Item, Rows, Store
from antechamber.flows.checkpoint_signing import Checkpoints

T = TypeVar("T")


class _Checked(NamedTuple):
    """Work that checks the log again before it starts.

    Two are equal if both members are equal, so that the store still groups them.
    """

    checkpoints: Checkpoints
    work: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        self.checkpoints.check()
        return self.work(*arguments)


class WriteGate:
    """Wraps a store (implements core.ports.store.Store); each write raises ClosedError while the log is in doubt."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self.engine = store.engine
        self.meters = store.meters
        self.read = store.read
        self.size = store.size
        self.watch = store.watch
        self.trouble = store.trouble
        self.replica_alarm = store.replica_alarm
        self.lost = store.lost
        self.accept_loss = store.accept_loss
        self.close = store.close

    def write(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run `work` in a transaction, which first checks the size of the log."""
        size = self._checkpoints.check()
        return self._store.write(lambda tx: self._inside(work, size, tx))

    def gather(
        self, work: Callable[[Sequence[Item], Rows], list[T]], items: Sequence[Item], size: int, *, here: bool = False
    ) -> Future[list[T]]:
        """Run `work` on these items and all others that wait for the same `work`; this adds no query."""
        self._checkpoints.check()
        checked = cast("Callable[[Sequence[Item], Rows], list[T]]", _Checked(self._checkpoints, work))
        return self._store.gather(checked, items, size, here=here)

    def promote(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run a decision in a transaction, which first checks the size of the log."""
        size = self._checkpoints.check()
        return self._store.promote(lambda tx: self._inside(work, size, tx))

    def _inside(self, work: Callable[[Rows], T], size: int, tx: Rows) -> T:
        self._checkpoints.check_inside(tx.log, size)
        return work(tx)

"""Mirrors: local copies of the memories of some scopes, in a file or in memory, kept equal by the change feed."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from antechamber.client.changes import HOLD_SECONDS, read_changes
from antechamber.client.delivery import DeliverySteps
from antechamber.client.memory_copy import MemoryCopy
from antechamber.client.mirror_file import MirrorFile
from antechamber.client.wire import ReadError
from antechamber.core.contract import MAX_CHANGES, MemoryItem

CURSOR: Final = "/after"
"""The pointer of a refusal because of the cursor."""


class _Base:
    """What blocking and asynchronous mirrors share: everything except waiting."""

    def __init__(self, path: Path | str | None, scopes: Sequence[str]) -> None:
        self._file: MirrorFile | MemoryCopy = MemoryCopy(scopes) if path is None else MirrorFile(Path(path), scopes)

    def memories(self) -> list[MemoryItem]:
        """Return the memories of the copy, the newest first."""
        return self._file.memories()

    def _turn(self, hold: int) -> DeliverySteps[bool]:
        """Apply one page; return whether there may be more."""
        after = self._file.cursor()
        try:
            page = yield from read_changes(self._file.scopes, after, limit=MAX_CHANGES, hold=hold)
        except ReadError as error:
            if after is None or error.pointer != CURSOR:
                raise
            # The service has another log, for example because it was restored from a backup.
            self._file.reset()
            self._file.clean()
            return True
        self._file.apply(after, page)
        if len(page.items) < MAX_CHANGES:
            self._file.clean()
        return bool(page.items)

    def _update(self) -> DeliverySteps[None]:
        while (yield from self._turn(0)):
            pass

    def _wait(self) -> DeliverySteps[None]:
        yield from self._turn(HOLD_SECONDS)

    def _follow(self) -> DeliverySteps[None]:
        while True:
            yield from self._wait()


class Mirror(_Base):
    """A copy that its owner updates; close it, or use it in a with statement."""

    def __init__(
        self, path: Path | str | None, scopes: Sequence[str], run: Callable[[DeliverySteps[None]], Any]
    ) -> None:
        """Open a copy, or create it; `Submitter.mirror` does so. Raises MirrorError."""
        super().__init__(path, scopes)
        self._run = run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self) -> None:
        """Apply all changes until now; afterwards the copy equals `GET /v1/memories`.

        While the service cannot be reached, it waits. Raises ReadError if the service refuses, MirrorError.
        """
        self._run(self._update())

    def wait(self) -> None:
        """Apply the next changes; if there are none for some seconds, return without one. See update."""
        self._run(self._wait())

    def follow(self) -> None:
        """Apply changes as they happen, without end; see update."""
        self._run(self._follow())

    def close(self) -> None:
        """Close the file; the copy stays."""
        self._file.close()


class AsyncMirror(_Base):
    """A copy for asyncio: it writes in threads; close it, or use it in an async with statement."""

    def __init__(
        self, path: Path | str | None, scopes: Sequence[str], run: Callable[[DeliverySteps[None]], Awaitable[None]]
    ) -> None:
        """Open a copy, or create it; `AsyncSubmitter.mirror` does so. Raises MirrorError."""
        super().__init__(path, scopes)
        self._run = run

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def update(self) -> None:
        """Apply all changes until now; see Mirror.update."""
        await self._run(self._update())

    async def wait(self) -> None:
        """Apply the next changes, or return after some seconds without one; see Mirror.wait."""
        await self._run(self._wait())

    async def follow(self) -> None:
        """Apply changes as they happen, until cancelled; see Mirror.update."""
        await self._run(self._follow())

    def close(self) -> None:
        """Close the file; the copy stays."""
        self._file.close()

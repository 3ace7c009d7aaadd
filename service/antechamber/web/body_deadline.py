"""Reads request bodies of all routes, with limits on bytes, on time and on the number of concurrent uploads."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from litestar.types import Receive

from antechamber.core.contract import MAX_BODY
from antechamber.core.errors import UnavailableError, refuse

UPLOAD_SECONDS: Final = 20.0
"""Deadline of a body; 4 MiB within it is 1.7 Mbit/s."""
MAX_UPLOADS: Final = 2048
"""Concurrent uploads of one caller; if one more starts, the oldest is aborted."""
MAX_STRANGE_UPLOADS: Final = 256
"""The same limit for all requests without a caller together, e.g. those of the sign-in form."""
MAX_UPLOAD_BYTES: Final = 128 << 20
"""Bytes of all unfinished uploads; beyond it the largest upload is aborted."""
TOO_LARGE: Final = f"a submission may have {MAX_BODY} bytes, a batch 4 MiB, a request to /mcp 1 MiB"
LATE: Final = f"the upload took longer than {UPLOAD_SECONDS:.0f} seconds"
BROKEN_OFF: Final = "the upload broke off before its declared end"
ENDING: Final = "the service is shutting down"
TOO_MANY: Final = "too many uploads are unfinished at once"
_EVERY: Final = 1.0
RawHeaders = Iterable[tuple[bytes, bytes]]


class _Upload:
    """A body that is being read."""

    __slots__ = ("begun", "caller", "given_up", "held", "task")

    def __init__(self, task: "asyncio.Task[Any]", caller: object) -> None:
        self.task = task
        self.caller = caller
        self.begun = task.get_loop().time()
        self.held = 0
        """Bytes received while more are expected."""
        self.given_up: Exception | None = None


class BodyReader:
    """Reads bodies under limits. One check of all uploads per second costs less than a timer for each."""

    def __init__(
        self,
        seconds: float = UPLOAD_SECONDS,
        most: int = MAX_UPLOADS,
        most_strange: int = MAX_STRANGE_UPLOADS,
        most_bytes: int = MAX_UPLOAD_BYTES,
    ) -> None:
        self._seconds = seconds
        self._most, self._most_strange, self._most_bytes = most, most_strange, most_bytes
        # The uploads of each caller, oldest first.
        self._open: dict[object, dict[_Upload, None]] = {}
        self._held = 0

    async def read(self, headers: RawHeaders, receive: Receive, max_size: int, caller: object) -> bytes:
        """Read a body of at most `max_size` bytes sent by `caller` (None for a request without token or session).

        Raises RequestRefusedError (`body-too-large`, before reading if the headers declare it; `malformed` for a body
        that breaks off or takes too long), UnavailableError if it is aborted in favor of other uploads or because the
        process stops.
        """
        declared = next((int(value) for name, value in headers if name == b"content-length" and value.isdigit()), None)
        if declared is not None and declared > max_size:
            raise refuse("body-too-large", TOO_LARGE)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine always runs in a task
        upload = _Upload(task, caller)
        self._enter(upload)
        try:
            return await self._whole(upload, receive, max_size, declared)
        except asyncio.CancelledError:
            if upload.given_up is None:
                raise
            task.uncancel()
            raise upload.given_up from None
        finally:
            self._leave(upload)

    async def _whole(self, upload: _Upload, receive: Receive, max_size: int, declared: int | None) -> bytes:
        chunks, size, more = list[bytes](), 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise refuse("malformed", BROKEN_OFF)
            chunk, more = message["body"], message["more_body"]
            chunks.append(chunk)
            size += len(chunk)
            if size > max_size:
                raise refuse("body-too-large", TOO_LARGE)
            if more:
                self._hold(upload, len(chunk))
        if declared is not None and size != declared:
            raise refuse("malformed", BROKEN_OFF)
        return b"".join(chunks)

    def _enter(self, upload: _Upload) -> None:
        """Register an upload; abort the oldest one of a caller with too many."""
        own = self._open.setdefault(upload.caller, {})
        own[upload] = None
        if len(own) > (self._most_strange if upload.caller is None else self._most):
            self._give_up(next(iter(own)), UnavailableError(TOO_MANY))

    def _hold(self, upload: _Upload, size: int) -> None:
        """Count the bytes kept until the rest arrives; abort the largest upload if all together are too many."""
        if upload.given_up is not None:
            return
        upload.held += size
        self._held += size
        if self._held > self._most_bytes:
            every = (each for own in self._open.values() for each in own)
            self._give_up(max(every, key=lambda each: each.held), UnavailableError(TOO_MANY))

    def _leave(self, upload: _Upload) -> None:
        own = self._open.get(upload.caller, {})
        if upload in own:
            del own[upload]
            self._held -= upload.held
            if not own:
                del self._open[upload.caller]

    def _give_up(self, upload: _Upload, error: Exception) -> None:
        """Cancel the task that reads a body, so that its read raises this error."""
        self._leave(upload)
        upload.given_up = error
        upload.task.cancel()

    async def watch(self, stopping: asyncio.Event) -> None:
        """Abort uploads past their deadline, and all unfinished ones once the process stops."""
        while True:
            await asyncio.sleep(_EVERY)
            now, ending = asyncio.get_running_loop().time(), stopping.is_set()
            for upload in [each for own in self._open.values() for each in own]:
                if ending:
                    self._give_up(upload, UnavailableError(ENDING))
                elif now - upload.begun > self._seconds:
                    self._give_up(upload, refuse("malformed", LATE))

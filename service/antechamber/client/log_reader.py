"""Reads a log as tiles over HTTP (c2sp.org/tlog-tiles), with a limit on the size and the time of each answer."""

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

import httpx

from antechamber.client.wire import address_of, connection_options, preparing, trusted
from antechamber.core.addresses import redact_address
from antechamber.core.errors import AntechamberError
from antechamber.core.log.checkpoint_text import MAX_NOTE
from antechamber.core.log.merkle import HASH_SIZE
from antechamber.core.log.tiles import ENTRIES, MAX_BUNDLE, TilePlace

TIMEOUT_SECONDS: Final = 30.0
"""Seconds for the connection, and for each part of an answer."""
TOTAL_SECONDS: Final = 300.0
"""Seconds for a whole answer."""
_HEADERS: Final = {"accept-encoding": "identity"}


class LogReadError(AntechamberError):
    """Raised when the log cannot be read now, or refuses it; nothing is known to be wrong with the log itself."""

    temporary = True


class LogReader:
    """Reads one log; `url` is the address of the service, or that of its log, which ends with /log."""

    def __init__(self, url: str, token: str = "") -> None:
        """Check the address.

        Raises AddressError.
        """
        base = url.rstrip("/")
        address = address_of(base if base.endswith("/log") else f"{base}/log")
        self._shown = redact_address(str(address))
        options: dict[str, Any] = {"headers": {}, "verify": trusted(address)}
        if token:
            options = connection_options(url, token, TIMEOUT_SECONDS, "http")
        options |= {"base_url": address, "headers": _HEADERS | options["headers"], "timeout": TIMEOUT_SECONDS}
        with preparing():
            self._client = httpx.Client(**options)

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Close the connection."""
        self._client.close()

    def checkpoint(self) -> bytes:
        """Return the signed checkpoint as it came.

        Raises LogReadError.
        """
        note = self._get("/checkpoint", MAX_NOTE)
        if note is None:
            message = f"{self._shown} has no checkpoint: it was not signed yet, or this is no log"
            raise LogReadError(message)
        return note

    def tile(self, place: TilePlace) -> bytes | None:
        """Return a tile or bundle; None if the log does not have it.

        An answer that is longer than the longest valid one is cut off one byte after that.

        Raises LogReadError.
        """
        return self._get(f"/tile/{place.path}", MAX_BUNDLE if place.level == ENTRIES else place.width * HASH_SIZE)

    def _get(self, path: str, limit: int) -> bytes | None:
        try:
            with self._client.stream("GET", path) as response:
                if response.status_code == httpx.codes.NOT_FOUND:
                    return None
                self._check(response)
                return b"".join(_limited(response, limit + 1))
        except httpx.HTTPError as error:
            message = f"{self._shown} cannot be read: {str(error) or type(error).__name__}"
            raise LogReadError(message) from None

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.OK and response.headers.get("content-encoding", "identity") == "identity":
            return
        if status == httpx.codes.OK:
            problem = "sent a compressed answer, which was not asked for"
        elif status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            problem = f"answered {status}: set ANTECHAMBER_TOKEN to the token of an auditor of all scopes"
        else:
            problem = f"answered {status}"
        message = f"{self._shown} {problem}"
        error = LogReadError(message)
        error.temporary = status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.TOO_MANY_REQUESTS
        raise error


def _limited(response: httpx.Response, limit: int) -> Iterator[bytes]:
    """Yield the first `limit` bytes of an answer.

    Raises LogReadError if they take too long.
    """
    end = time.monotonic() + TOTAL_SECONDS
    for chunk in response.iter_raw():
        yield chunk[:limit]
        limit -= len(chunk)
        if limit <= 0:
            return
        if time.monotonic() > end:
            message = f"an answer of the log took longer than {TOTAL_SECONDS:.0f} seconds"
            raise LogReadError(message)

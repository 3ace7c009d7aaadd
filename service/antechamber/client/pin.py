"""Pinning: each checkpoint goes to somebody outside, who can show it when the log is called altered."""

from collections.abc import Callable
from typing import Final

import httpx

from antechamber.core.errors import AntechamberError

_SECONDS: Final = 10.0
"""How long one attempt may take."""


class PinError(AntechamberError):
    """A checkpoint that did not arrive; the text says why."""


def pinning(url: str) -> Callable[[str], None]:
    """Return what posts a checkpoint to an address, as text/plain; any 2xx says that it is kept.

    What it returns raises PinError.
    """

    def post(note: str) -> None:
        headers = {"content-type": "text/plain; charset=utf-8"}
        try:
            response = httpx.post(url, content=note.encode(), headers=headers, timeout=_SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            message = f"{url} cannot be reached: {error}"
            raise PinError(message) from None
        if not response.is_success:
            message = f"{url} answered {response.status_code}"
            raise PinError(message)

    return post

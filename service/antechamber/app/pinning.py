"""Pinning: sends each checkpoint to an external service, as evidence against a later change of the log."""

from collections.abc import Callable
from typing import Final

import httpx

from antechamber.core.addresses import redact_address
from antechamber.core.errors import AntechamberError

_SECONDS: Final = 10.0
"""Timeout of one attempt."""


class PinError(AntechamberError):
    """A checkpoint did not arrive; the text states why."""


def build_publisher(url: str) -> Callable[[str], None]:
    """Return a function that posts a checkpoint to an address, as text/plain; any 2xx status confirms it.

    That function raises PinError, whose text shows neither credentials nor query of the address.
    """
    where = redact_address(url)

    def post(note: str) -> None:
        try:
            response = _post_note(url, note)
        except (httpx.HTTPError, OSError, ImportError) as error:  # the last two: certificates and proxies are unusable
            message = f"{where} cannot be reached: {error}"
            raise PinError(message) from None
        except (httpx.InvalidURL, ValueError):
            # The text of these errors may contain a part of the address.
            message = f"{where} cannot be reached: it is no address"
            raise PinError(message) from None
        if not response.is_success:
            message = f"{where} answered {response.status_code}"
            raise PinError(message)

    return post


def _post_note(url: str, note: str) -> httpx.Response:
    """Post a note; credentials of the address go into a header, so that no library logs them with the address."""
    address = httpx.URL(url)
    return httpx.post(
        address.copy_with(userinfo=b""),
        content=note.encode(),
        headers={"content-type": "text/plain; charset=utf-8"},
        auth=(address.username, address.password) if address.userinfo else None,
        timeout=_SECONDS,
    )

"""Sends lines of events: posts them in order, and sends the same bytes again if the answer permits a retry."""

import re
import time
from collections.abc import Callable
from typing import Final

import httpx
import msgspec
from msgspec import Struct

from antechamber.client.wire import AddressError, address_of
from antechamber.core.addresses import redact_address
from antechamber.core.contract import MAX_BATCH, MAX_LINES, Reason
from antechamber.core.errors import AntechamberError

ATTEMPTS: Final = 6
_TIMEOUT: Final = 30.0
_LONGEST_WAIT: Final = 30.0
_TOKEN: Final = re.compile(r"[!-~]+")
_RETRYABLE: Final = frozenset({409, 429, 500, 502, 503, 504})


class SendError(AntechamberError):
    """The service gave no usable answer; sending the same file again is safe."""


class Answer(Struct, frozen=True):
    """The service's answer to one line."""

    status: int
    disposition: str | None
    duplicate: bool
    idempotency_key: str | None
    line: int
    """Number of the line in its batch, from 1."""
    detail: str | None = None
    submission_id: str | None = None
    reasons: list[Reason] = []


class Sender:
    """Posts batches of lines with one token; `wait` sleeps between attempts.

    Raises SendError if the token or the address cannot be used.
    """

    def __init__(self, url: str, token: str, wait: Callable[[float], None] = time.sleep) -> None:
        if not _TOKEN.fullmatch(token):
            message = "this is no token: it has no spaces, line breaks or letters beyond ASCII"
            raise SendError(message)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
        try:
            self._client = httpx.Client(base_url=address_of(url), headers=headers, timeout=_TIMEOUT)
        except AddressError as error:
            raise SendError(str(error)) from None
        self._wait = wait

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, lines: list[bytes]) -> list[Answer]:
        """Post one batch; after an unclear answer send the same bytes again.

        Raises SendError if that does not help, or if the service refuses the batch as a whole.
        """
        body = b"\n".join(lines)
        reason = "no answer"
        for attempt in range(ATTEMPTS):
            if attempt:
                self._wait(min(_LONGEST_WAIT, 0.5 * 2**attempt))
            try:
                response = self._client.post("/v1/submissions/batch", content=body)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                continue
            if response.status_code == httpx.codes.OK:
                return _answers(response.content, len(lines))
            reason = _say(response)
            if response.status_code not in _RETRYABLE:
                break
        where = redact_address(str(self._client.base_url))
        message = f"{where}: {reason.rstrip('.')}. Nothing is lost: send the same file again."
        raise SendError(message)


def _answers(content: bytes, number: int) -> list[Answer]:
    """Return one answer for each line sent.

    Raises SendError for anything else, so that no line is lost silently.
    """
    try:
        answers = [msgspec.json.decode(line, type=Answer) for line in content.split(b"\n") if line]
    except msgspec.MsgspecError:
        answers = []
    if len(answers) != number:
        message = "the answer is not one of Antechamber's; check the address. Sending the same file again is safe."
        raise SendError(message)
    return answers


def _say(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {response.status_code}"


def batches(lines: list[bytes]) -> list[list[bytes]]:
    """Divide lines into batches that the service accepts: at most 1,000 lines and 4 MiB each."""
    found: list[list[bytes]] = []
    size = MAX_BATCH
    for line in lines:
        if not found or size + len(line) + 1 > MAX_BATCH or len(found[-1]) == MAX_LINES:
            found.append([])
            size = 0
        found[-1].append(line)
        size += len(line) + 1
    return found

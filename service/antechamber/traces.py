"""Where finished requests and transactions are reported for traces, if the operator wants traces.

The recorder is one for the process, as the log is: the store and the web layer report to it without knowing who sends.
"""

from typing import NamedTuple, Protocol


class AnsweredRequest(NamedTuple):
    """A request that was answered; `traceparent` is the caller's header of this name (W3C Trace Context), if any."""

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    traceparent: str | None


class Recorder(Protocol):
    """Takes what is finished; its methods return at once and raise nothing. Any thread may call them."""

    def record_request(self, request: AnsweredRequest) -> None:
        """Take an answered request."""

    def record_transaction(self, seconds: float, commit_seconds: float, items: int) -> None:
        """Take a committed transaction with `items` pieces of work; `commit_seconds` are its last part."""


class _Process:
    recorder: Recorder | None = None


def recorder() -> Recorder | None:
    """Return the recorder of this process; None if there are no traces."""
    return _Process.recorder


def record_to(recorder: Recorder | None) -> None:
    """Set the recorder of this process."""
    _Process.recorder = recorder

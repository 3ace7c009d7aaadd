"""Sending many events: in batches, with progress, and an answer for each of them."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

import click
from msgspec import Struct

from antechamber.client.delivery import divide_into_batches
from antechamber.client.errors import OperationError
from antechamber.client.submitter import Submitter
from antechamber.client.wire import AddressError
from antechamber.core.addresses import redact_address
from antechamber.core.contract import Reason, Receipt
from antechamber.core.outcomes import OUTCOMES

TIMEOUT_SECONDS: Final = 30.0
"""Time to wait for the answer to a batch."""


class Line(Struct, frozen=True, kw_only=True):
    """An event to send, and the line of the file that it comes from."""

    number: int
    body: bytes
    key: str


Answer = tuple[Line, Receipt]


def send_lines(url: str, token: str, lines: Sequence[Line]) -> tuple[list[Answer], str | None]:
    """Send all lines in order, with a progress bar; stop after a batch in which a line got no answer.

    Returns the answers in order, and why some lines have none; None if all have one.
    """
    answers: list[Answer] = []
    batches = list(divide_into_batches(lines, lambda line: len(line.body)))
    hidden = not sys.stderr.isatty()
    try:
        with (
            Submitter(url, token, timeout=TIMEOUT_SECONDS) as submitter,
            click.progressbar(batches, label="Submitting", file=sys.stderr, hidden=hidden) as progress,
        ):
            for batch in progress:
                outcomes = submitter.submit_batch(line.body for line in batch)
                problem, remedy = None, "send the same file again"
                for line, outcome in zip(batch, outcomes, strict=True):
                    if (receipt := _receipt_of(outcome)) is not None:
                        answers.append((line, receipt))
                    elif problem is None and isinstance(outcome, OperationError):
                        problem = f"{redact_address(url)}: {outcome.reason.rstrip('.')} (line {line.number})"
                        # The only answer that counts as none is that to a token.
                        remedy += "" if outcome.receipt is None else " with a valid token"
                if problem is not None:
                    return answers, f"{problem}. Nothing is lost: {remedy}."
    except AddressError as error:
        return answers, str(error)
    return answers, None


def _receipt_of(outcome: Receipt | OperationError) -> Receipt | None:
    """Return the service's answer to a line; None if there is none, or if it refused the token and read no line."""
    receipt = outcome if isinstance(outcome, Receipt) else outcome.receipt
    return None if receipt is None or receipt.status == OUTCOMES["unauthorized"].status else receipt


def is_refused(receipt: Receipt) -> bool:
    """Return whether an answer is a refusal."""
    return receipt.status >= 400  # noqa: PLR2004 -- HTTP's range of errors


def is_recorded(receipt: Receipt) -> bool:
    """Return whether the service stores an answer to the line; every other answer left its key free."""
    return receipt.status < 300 or receipt.status == 422  # noqa: PLR2004 -- the contract's statuses


def explain(reasons: Iterable[Reason]) -> str:
    """Return the reasons of a refusal, each with its pointer."""
    return "; ".join(
        f"{reason.code}: {reason.message}{f' at {reason.pointer}' if reason.pointer else ''}" for reason in reasons
    )

"""Verbs for programs and people that submit events."""

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, get_args

import click
import msgspec
from msgspec import Struct

from antechamber.cli.options import fail, json_option, own_token, service_option, show
from antechamber.client.delivery import divide_into_batches
from antechamber.client.errors import OperationError
from antechamber.client.submitter import Submitter
from antechamber.client.wire import AddressError
from antechamber.core.addresses import redact_address
from antechamber.core.admission.canonical import decode
from antechamber.core.admission.receipt import refusal_detail
from antechamber.core.contract import Disposition, Reason, Receipt
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.outcomes import OUTCOMES
from antechamber.core.outgoing import body_of, hash_event

_DISPOSITIONS: Final[tuple[str, ...]] = get_args(Disposition)
_REJECTED: Final = frozenset(name for name in _DISPOSITIONS if name.startswith("rejected-"))
_MAX_LISTED: Final = 20
"""Number of invalid lines that are listed."""
_TIMEOUT_SECONDS: Final = 30.0
"""Time to wait for the answer to a batch."""


class _Line(Struct, frozen=True):
    """A completed line of the file."""

    number: int
    body: bytes
    key: str


_Answer = tuple[_Line, Receipt]


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    type=click.Choice((*_DISPOSITIONS, "rejected")),
    help="End with status 1 if a line gets this disposition; repeatable. rejected means all three refusals.",
)
@service_option
@json_option
def submit(file: Any, fail_on: tuple[str, ...], url: str, *, as_json: bool) -> None:
    """Submit events, one JSON body a line; FILE may be - for standard input.

    Where a line lacks source_event_hash or idempotency_key they are filled in, the key from the content: sending
    the same file twice is safe. The token comes from ANTECHAMBER_TOKEN. If a line is no event, nothing is sent.

    Exit status 1: a line could not be sent or recorded, or has a disposition that --fail-on names. Fix what is named
    and send the file again.
    """
    token = own_token()
    lines = _complete(file.read())
    answers, problem = _send(url, token, lines)
    receipts = [receipt for _, receipt in answers]
    if as_json:
        show(_count(receipts) | {"lines": [_describe(line, receipt) for line, receipt in answers]})
    else:
        first = {receipt.submission_id: line.number for line, receipt in reversed(answers) if not _is_refused(receipt)}
        for line, receipt in answers:
            click.echo(_sentence(line, receipt, first.get(receipt.submission_id)), err=_is_refused(receipt))
        _summarize(receipts)
    if not lines:
        click.echo("No line was sent: there is none.", err=True)
    if problem is not None:
        fail(AntechamberError(f"{len(answers)} of {len(lines)} lines were answered. {problem}"))
    failures = {name for choice in fail_on for name in (_REJECTED if choice == "rejected" else (choice,))}
    if any(not _is_recorded(receipt) or receipt.disposition in failures for receipt in receipts):
        sys.exit(1)


def _send(url: str, token: str, lines: list[_Line]) -> tuple[list[_Answer], str | None]:
    """Send all lines in order, with a progress bar; stop after a batch in which a line got no answer.

    Returns the answers in order, and why some lines have none; None if all have one.
    """
    answers: list[_Answer] = []
    batches = list(divide_into_batches(lines, lambda line: len(line.body)))
    hidden = not sys.stderr.isatty()
    try:
        with (
            Submitter(url, token, timeout=_TIMEOUT_SECONDS) as submitter,
            click.progressbar(batches, label="Submitting", file=sys.stderr, hidden=hidden) as progress,
        ):
            for batch in progress:
                outcomes = submitter.submit_batch(line.body for line in batch)
                problem: str | None = None
                for line, outcome in zip(batch, outcomes, strict=True):
                    if (receipt := _receipt_of(outcome)) is not None:
                        answers.append((line, receipt))
                    elif problem is None and isinstance(outcome, OperationError):
                        problem = f"{redact_address(url)}: {outcome.reason.rstrip('.')} (line {line.number})"
                if problem is not None:
                    return answers, f"{problem}. Nothing is lost: send the same file again."
    except AddressError as error:
        return answers, str(error)
    return answers, None


def _receipt_of(outcome: Receipt | OperationError) -> Receipt | None:
    """Return the service's answer to a line; None if there is none, or if it refused the token and read no line."""
    receipt = outcome if isinstance(outcome, Receipt) else outcome.receipt
    return None if receipt is None or receipt.status == OUTCOMES["unauthorized"].status else receipt


def _is_refused(receipt: Receipt) -> bool:
    return receipt.status >= 400  # noqa: PLR2004 -- HTTP's range of errors


def _is_recorded(receipt: Receipt) -> bool:
    """Return whether the service stores an answer to the line; every other answer left its key free."""
    return receipt.status < 300 or receipt.status == 422  # noqa: PLR2004 -- the contract's statuses


def _name(receipt: Receipt) -> str:
    """Return the disposition of a line, or the status of its refusal."""
    return receipt.disposition or f"refused ({receipt.status})"


def _count(receipts: list[Receipt]) -> dict[str, Any]:
    counts = Counter(map(_name, receipts))
    return {**counts, "replayed": sum(receipt.duplicate for receipt in receipts)}


def _describe(line: _Line, receipt: Receipt) -> dict[str, Any]:
    """Return the JSON output about one line."""
    detail = refusal_detail(receipt.reasons, OUTCOMES[receipt.reasons[0].code]) if _is_refused(receipt) else None
    own = {"line": line.number, "idempotency_key": line.key, "detail": detail}
    return msgspec.to_builtins(receipt) | own  # type: ignore[no-any-return]


def _sentence(line: _Line, receipt: Receipt, first: int | None) -> str:
    """Return a sentence about the result of a line; `first` is the line of this file that owns the submission."""
    sentence = f"line {line.number}: {_name(receipt)}{', replayed' if receipt.duplicate else ''}"
    if any(reason.code == "key-reused" for reason in receipt.reasons):
        owner = f"line {first}" if first else "an earlier event"
        return f'{sentence}: key "{line.key}" belongs to {owner}, submission {receipt.submission_id}'
    if receipt.submission_id is not None:
        sentence += f", submission {receipt.submission_id}"
    return f"{sentence}: {_explain(receipt.reasons)}" if _is_refused(receipt) else sentence


def _explain(reasons: Iterable[Reason]) -> str:
    """Return the reasons of a refusal, each with its pointer."""
    return "; ".join(
        f"{reason.code}: {reason.message}{f' at {reason.pointer}' if reason.pointer else ''}" for reason in reasons
    )


def _summarize(receipts: list[Receipt]) -> None:
    """Print the number of lines by disposition; each number includes replays."""
    replayed = Counter(_name(receipt) for receipt in receipts if receipt.duplicate)
    for name, number in sorted(Counter(map(_name, receipts)).items()):
        replays = f", of which {replayed[name]} replayed" if replayed[name] else ""
        click.echo(f"{number:>7} {name}{replays}")


def _complete(raw: bytes) -> list[_Line]:
    """Complete and check every line before the first one is sent, so that an invalid line prevents a partial send."""
    lines, invalid = list[_Line](), list[str]()
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                event = body_of(line, None)
                lines.append(_Line(number, event.body, event.key))
            except RequestRefusedError as error:
                invalid.append(f"line {number}: {_explain(error.reasons)}")
    if invalid:
        for sentence in invalid[:_MAX_LISTED]:
            click.echo(sentence, err=True)
        rest = f" The other {len(invalid) - _MAX_LISTED} are not shown." if len(invalid) > _MAX_LISTED else ""
        total = len(invalid) + len(lines)
        fail(AntechamberError(f"{len(invalid)} of {total} lines are no events, so nothing was sent.{rest}"))
    return lines


@click.command("hash")
@click.argument("file", type=click.File("rb"))
def hash_file(file: Any) -> None:
    """Print the source-event hash of a body, or of {payload, source_span}, in FILE (- for standard input)."""
    try:
        click.echo(hash_event(decode(file.read())))
    except RequestRefusedError as error:
        fail(AntechamberError(f"{error.code}: {error} ({error.reasons[0].pointer or 'the whole body'})"))

"""Verbs for programs and people that submit events."""

import sys
from collections import Counter
from typing import Any, Final, get_args

import click
import msgspec

from antechamber.cli.options import fail, json_option, own_token, service_option, show
from antechamber.cli.sending import Line, explain, is_recorded, is_refused, send_lines
from antechamber.cli.terminal import say
from antechamber.core.admission.canonical import decode
from antechamber.core.admission.receipt import refusal_detail
from antechamber.core.contract import Disposition, Receipt
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.outcomes import OUTCOMES
from antechamber.core.outgoing import body_of, hash_event

_DISPOSITIONS: Final[tuple[str, ...]] = get_args(Disposition)
_REJECTED: Final = frozenset(name for name in _DISPOSITIONS if name.startswith("rejected-"))
_MAX_LISTED: Final = 20
"""Number of invalid lines that are listed."""


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
    answers, problem = send_lines(url, token, lines)
    receipts = [receipt for _, receipt in answers]
    if as_json:
        show(_count(receipts) | {"lines": [_describe(line, receipt) for line, receipt in answers]})
    else:
        first = {receipt.submission_id: line.number for line, receipt in reversed(answers) if not is_refused(receipt)}
        for line, receipt in answers:
            say(_sentence(line, receipt, first.get(receipt.submission_id)), err=is_refused(receipt))
        _summarize(receipts)
    if not lines:
        click.echo("No line was sent: there is none.", err=True)
    if problem is not None:
        fail(AntechamberError(f"{len(answers)} of {counted(len(lines), 'line')} answered. {problem}"))
    failures = {name for choice in fail_on for name in (_REJECTED if choice == "rejected" else (choice,))}
    if any(not is_recorded(receipt) or receipt.disposition in failures for receipt in receipts):
        sys.exit(1)


def _name(receipt: Receipt) -> str:
    """Return the disposition of a line, or the status of its refusal."""
    return receipt.disposition or f"refused ({receipt.status})"


def _count(receipts: list[Receipt]) -> dict[str, Any]:
    counts = Counter(map(_name, receipts))
    return {**counts, "replayed": sum(receipt.duplicate for receipt in receipts)}


def _describe(line: Line, receipt: Receipt) -> dict[str, Any]:
    """Return the JSON output about one line."""
    detail = refusal_detail(receipt.reasons, OUTCOMES[receipt.reasons[0].code]) if is_refused(receipt) else None
    own = {"line": line.number, "idempotency_key": line.key, "detail": detail}
    return msgspec.to_builtins(receipt) | own  # type: ignore[no-any-return]


def _sentence(line: Line, receipt: Receipt, first: int | None) -> str:
    """Return a sentence about the result of a line; `first` is the line of this file that owns the submission."""
    sentence = f"line {line.number}: {_name(receipt)}{', replayed' if receipt.duplicate else ''}"
    if any(reason.code == "key-reused" for reason in receipt.reasons):
        owner = f"line {first}" if first else "an earlier event"
        return f'{sentence}: key "{line.key}" belongs to {owner}, submission {receipt.submission_id}'
    if receipt.submission_id is not None:
        sentence += f", submission {receipt.submission_id}"
    return f"{sentence}: {explain(receipt.reasons)}" if is_refused(receipt) else sentence


def _summarize(receipts: list[Receipt]) -> None:
    """Print the number of lines by disposition; each number includes replays."""
    replayed = Counter(_name(receipt) for receipt in receipts if receipt.duplicate)
    for name, number in sorted(Counter(map(_name, receipts)).items()):
        replays = f", of which {replayed[name]} replayed" if replayed[name] else ""
        click.echo(f"{number:>7} {name}{replays}")


def _complete(raw: bytes) -> list[Line]:
    """Complete and check every line before the first one is sent, so that an invalid line prevents a partial send."""
    lines, invalid = list[Line](), list[str]()
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                event = body_of(line, None)
                lines.append(Line(number=number, body=event.body, key=event.key))
            except RequestRefusedError as error:
                invalid.append(f"line {number}: {explain(error.reasons)}")
    if invalid:
        for sentence in invalid[:_MAX_LISTED]:
            say(sentence, err=True)
        rest = f" The other {len(invalid) - _MAX_LISTED} are not shown." if len(invalid) > _MAX_LISTED else ""
        total = len(invalid) + len(lines)
        fail(AntechamberError(f"Invalid events: {len(invalid)} of {counted(total, 'line')}. Nothing was sent.{rest}"))
    return lines


@click.command("hash")
@click.argument("file", type=click.File("rb"))
def hash_file(file: Any) -> None:
    """Print the source-event hash of a body, or of {payload, source_span}, in FILE (- for standard input)."""
    try:
        click.echo(hash_event(decode(file.read())))
    except RequestRefusedError as error:
        named = (f"{one.code}: {one.message} ({one.pointer or 'the whole body'})" for one in error.reasons)
        fail(AntechamberError("; ".join(named)))

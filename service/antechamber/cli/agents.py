"""Verbs for programs and people that submit events."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, get_args

import click
import msgspec
from msgspec import Struct

from antechamber.cli.options import fail, json_option, own_token, service_option, show
from antechamber.client.http import Answer, Sender, SendError, batches
from antechamber.core.admission.canonical import decode
from antechamber.core.admission.submission import read_draft, read_event
from antechamber.core.contract import Disposition, Reason
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.outgoing import fill_in, hash_event

_DISPOSITIONS: Final[tuple[str, ...]] = get_args(Disposition)
_REJECTED: Final = frozenset(name for name in _DISPOSITIONS if name.startswith("rejected-"))
_MOST: Final = 20
"""Number of invalid lines that are listed."""


class _Line(Struct, frozen=True):
    """A completed line of the file."""

    number: int
    body: bytes
    key: str


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
    lines = _completed(file.read())
    answers, problem = _send(url, token, lines)
    answered = list(zip(lines, answers, strict=False))
    if as_json:
        show(_counts(answers) | {"lines": [_shown(*one) for one in answered]})
    else:
        first = {answer.submission_id: line.number for line, answer in reversed(answered) if not _refused(answer)}
        for line, answer in answered:
            click.echo(_sentence(line, answer, first.get(answer.submission_id)), err=_refused(answer))
        _summarize(answers)
    if not lines:
        click.echo("No line was sent: there is none.", err=True)
    if problem is not None:
        fail(AntechamberError(f"{len(answers)} of {len(lines)} lines were answered. {problem}"))
    wanted = {one for name in fail_on for one in (_REJECTED if name == "rejected" else (name,))}
    if any(not _recorded(answer) or answer.disposition in wanted for answer in answers):
        sys.exit(1)


def _send(url: str, token: str, lines: list[_Line]) -> tuple[list[Answer], SendError | None]:
    """Send all lines with a progress bar; return the answers in order, and the error that stopped the rest."""
    answers: list[Answer] = []
    try:
        with (
            contextlib.closing(Sender(url, token)) as sender,
            click.progressbar(
                batches([one.body for one in lines]),
                label="Submitting",
                file=sys.stderr,
                hidden=not sys.stderr.isatty(),
            ) as groups,
        ):
            for group in groups:
                answers += sender.send(group)
    except SendError as error:
        return answers, error
    return answers, None


def _refused(answer: Answer) -> bool:
    return answer.status >= 400  # noqa: PLR2004 -- HTTP's range of errors


def _recorded(answer: Answer) -> bool:
    """Return whether the service stores an answer to the line; every other answer left its key free."""
    return answer.status < 300 or answer.status == 422  # noqa: PLR2004 -- the contract's statuses


def _name(answer: Answer) -> str:
    """Return the disposition of a line, or the status of its refusal."""
    return answer.disposition or f"refused ({answer.status})"


def _counts(answers: Iterable[Answer]) -> dict[str, Any]:
    counts = Counter(map(_name, answers))
    return {**counts, "replayed": sum(answer.duplicate for answer in answers)}


def _shown(line: _Line, answer: Answer) -> dict[str, Any]:
    """Return the JSON output about one line."""
    return msgspec.to_builtins(answer) | {"line": line.number, "idempotency_key": line.key}  # type: ignore[no-any-return]


def _sentence(line: _Line, answer: Answer, first: int | None) -> str:
    """Return a sentence about the result of a line; `first` is the line of this file that owns the submission."""
    said = f"line {line.number}: {_name(answer)}{', replayed' if answer.duplicate else ''}"
    if any(reason.code == "key-reused" for reason in answer.reasons):
        owner = f"line {first}" if first else "an earlier event"
        return f'{said}: key "{line.key}" belongs to {owner}, submission {answer.submission_id}'
    if answer.submission_id is not None:
        said += f", submission {answer.submission_id}"
    return f"{said}: {_why(answer.reasons)}" if _refused(answer) else said


def _why(reasons: Iterable[Reason]) -> str:
    """Return the reasons of a refusal, each with its pointer."""
    return "; ".join(f"{one.code}: {one.message}{f' at {one.pointer}' if one.pointer else ''}" for one in reasons)


def _summarize(answers: list[Answer]) -> None:
    """Print the number of lines by disposition; each number includes replays."""
    again = Counter(_name(answer) for answer in answers if answer.duplicate)
    for name, number in sorted(Counter(map(_name, answers)).items()):
        replays = f", of which {again[name]} replayed" if again[name] else ""
        click.echo(f"{number:>7} {name}{replays}")


def _completed(raw: bytes) -> list[_Line]:
    """Complete and check every line before the first one is sent, so that an invalid line prevents a partial send."""
    lines, bad = list[_Line](), list[str]()
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                body = fill_in(line)
                lines.append(_Line(number, body, read_event(read_draft(body)).idempotency_key))
            except RequestRefusedError as error:
                bad.append(f"line {number}: {_why(error.reasons)}")
    if bad:
        for one in bad[:_MOST]:
            click.echo(one, err=True)
        rest = f" The other {len(bad) - _MOST} are not shown." if len(bad) > _MOST else ""
        fail(AntechamberError(f"{len(bad)} of {len(bad) + len(lines)} lines are no events, so nothing was sent.{rest}"))
    return lines


@click.command("hash")
@click.argument("file", type=click.File("rb"))
def hash_file(file: Any) -> None:
    """Print the source-event hash of a body, or of {payload, source_span}, in FILE (- for standard input)."""
    try:
        click.echo(hash_event(decode(file.read())))
    except RequestRefusedError as error:
        fail(AntechamberError(f"{error.code}: {error} ({error.reasons[0].pointer or 'the whole body'})"))

"""Verbs for whoever sends events."""

import contextlib
import sys
from collections import Counter
from typing import Any, Final

import click

from antechamber.cli.common import fail, json_option, own_token, service_option, show
from antechamber.client.http import Sender, SendError, batches
from antechamber.core.canonical import decode
from antechamber.core.errors import AntechamberError, RefusedError
from antechamber.core.events import fill_in, hash_event

_REFUSED: Final = "refused"


@click.command()
@click.argument("file", type=click.File("rb"))
@service_option
@json_option
def submit(file: Any, url: str, *, as_json: bool) -> None:
    """Submit events, one JSON body a line; FILE may be - for standard input.

    Where a line lacks source_event_hash or idempotency_key they are filled in, the key from the content: sending
    the same file twice is safe. The token comes from ANTECHAMBER_TOKEN. Exit status 1 says that some lines got no
    disposition: mend what is named and send the file again.
    """
    secret = own_token()
    counts = _send(url, secret, _completed(file.read()), quiet=as_json)
    if as_json:
        show(dict(counts))
    else:
        for name, number in sorted((+counts).items()):
            click.echo(f"{number:>7}  {name}")
    if any(name.startswith(_REFUSED) for name in counts):
        sys.exit(1)


def _send(url: str, token: str, lines: list[bytes], *, quiet: bool) -> Counter[str]:
    """Send all lines with a progress bar, name each refused one, and count by disposition."""
    counts: Counter[str] = Counter()
    try:
        with (
            contextlib.closing(Sender(url, token)) as sender,
            click.progressbar(batches(lines), label="Submitting", file=sys.stderr) as groups,
        ):
            for answer in (answer for group in groups for answer in sender.send(group)):
                counts[answer.disposition or f"{_REFUSED} ({answer.status})"] += 1
                counts["replayed"] += answer.duplicate
                if answer.status >= 400 and not quiet:  # noqa: PLR2004 -- refused
                    click.echo(f"\n{answer.idempotency_key}: {answer.detail}", err=True)
    except SendError as error:
        fail(error)
    return counts


def _completed(raw: bytes) -> list[bytes]:
    """Fill in every line before the first one is sent, so that a bad line stops nothing half-way."""
    lines = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                lines.append(fill_in(line))
            except RefusedError as error:
                fail(
                    AntechamberError(
                        f"line {number}: {error.code} at {error.reasons[0].pointer or 'the line'}: {error}"
                    )
                )
    return lines


@click.command("hash")
@click.argument("file", type=click.File("rb"))
def hash_file(file: Any) -> None:
    """Print the source-event hash of a body, or of {payload, source_span}, in FILE (- for standard input)."""
    try:
        click.echo(hash_event(decode(file.read())))
    except RefusedError as error:
        fail(AntechamberError(f"{error.code}: {error} ({error.reasons[0].pointer or 'the whole body'})"))

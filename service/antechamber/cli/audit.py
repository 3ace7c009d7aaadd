"""Verbs for auditors and for the operator of the log's key."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from antechamber import app, durable_files
from antechamber.cli.log_mirror import mirror
from antechamber.cli.options import fail, json_option, location_options, show
from antechamber.cli.terminal import escape, escape_json, say
from antechamber.core.access.sessions import SHOWN, EndedAccess
from antechamber.core.contract import REASON_CODES
from antechamber.core.errors import AntechamberError
from antechamber.core.rows.notes import NoteFilter
from antechamber.core.rows.review import AuditFilter
from antechamber.core.rows.submissions import SubmissionFilter
from antechamber.core.times import parse_time
from antechamber.flows.audit_package import export_package
from antechamber.flows.export import Exporter
from antechamber.resources import verifier
from antechamber.settings import Location

_STANDARD: Final = Path("-")
_TAKER = Exporter("command-line", "operator")


@click.command()
@click.argument(
    "what", type=click.Choice(["review-records", "dispositions", "notes", "log", "package"]), default="review-records"
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="Form of a record; CSV is for reading and brings no proofs.",
)
@click.option("--since", help="Decided, received or written at or after this RFC 3339 time.")
@click.option("--until", help="Decided, received or written before this RFC 3339 time.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    default="-",
    help="File to write; standard output by default.",
)
@location_options
def export(what: str, form: Any, since: str | None, until: str | None, output: Path, location: Location) -> None:
    """Export review records, dispositions, notes, or the whole log; the closing record has their number.

    Only the whole log (antechamber export log) proves that nothing is missing. A package is a ZIP archive with the
    whole log, its checkpoint, the key, the verifier and a README with the one command that verifies it. An export is
    itself recorded, and shown at /audit. Verify one with: antechamber verify

    A file has its name once it is complete; until then, one of an earlier export stays as it is.
    """
    times: dict[str, Any] = {"since": _moment("--since", since), "until": _moment("--until", until)}
    if what in {"log", "package"} and (form == "csv" or since or until):
        message = "the log is exported whole and as JSONL: leave out --format, --since and --until"
        raise click.UsageError(message)
    unit, watched = "bytes" if what == "package" else "lines", output != _STANDARD and sys.stderr.isatty()
    try:
        with _writing(output) as file, app.opened_log(location) as opened:
            if what == "log":
                chunks = opened.export.log(_TAKER)
            elif what == "package":
                _refuse_terminal(file)
                chunks = export_package(opened.export, opened.proofs, verifier().read_bytes(), _TAKER)
            elif what == "dispositions":
                chunks = opened.export.dispositions(SubmissionFilter(**times), form, _TAKER)
            elif what == "notes":
                chunks = opened.export.notes(NoteFilter(**times), form, _TAKER)
            else:
                chunks = opened.export.review_records(AuditFilter(**times), form, _TAKER)
            count = _write(_shown(chunks, form) if file.isatty() else chunks, file, unit, watched=watched)
    except AntechamberError as error:
        fail(error)
    if output != _STANDARD:
        start = "\r" if watched else ""
        click.echo(f"{start}Wrote {count:,} {unit} to {output}.", err=True)


@contextlib.contextmanager
def _writing(output: Path) -> Iterator[BinaryIO]:
    """Yield what an export is written to: standard output, a pipe, a device, or a file that appears when complete.

    Raises AntechamberError.
    """
    try:
        if output == _STANDARD:
            yield sys.stdout.buffer
        elif output.exists() and not output.is_file():
            with output.open("wb") as stream:
                yield stream
        else:
            target = output.resolve()
            durable_files.remove_drafts(target.parent, lambda name: name == target.name)
            with durable_files.appearing(target, replacing=True) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{output} cannot be written: {durable_files.explain(error, output)}"
        raise AntechamberError(message) from None


def _refuse_terminal(output: BinaryIO) -> None:
    """End the program before a binary file gets to a terminal."""
    if output.isatty():
        message = "a package is a ZIP archive, which no terminal can show: name a file with --output"
        raise click.UsageError(message)


def _shown(chunks: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Escape an export for a terminal; a chunk ends with a line, so that no character is cut."""
    for chunk in chunks:
        yield (escape if form == "csv" else escape_json)(chunk.decode()).encode()


def _moment(option: str, text: str | None) -> int | None:
    """Parse an RFC 3339 time, or a date, which means its first moment in UTC."""
    if text is None:
        return None
    try:
        return parse_time(f"{text}T00:00:00Z" if len(text) == len("2026-11-20") else text)
    except ValueError as error:
        message = f"it takes a date or an RFC 3339 time, as 2026-11-20T10:00:00Z: {error}"
        raise click.BadParameter(message, param_hint=option) from None


def _write(chunks: Iterable[bytes], output: BinaryIO, unit: str, *, watched: bool) -> int:
    """Write chunks, show the progress if it is watched, and return the number of units."""
    count = 0
    for chunk in chunks:
        output.write(chunk)
        count += len(chunk) if unit == "bytes" else chunk.count(b"\n")
        if watched:
            click.echo(f"\r{count:>12,} {unit}", err=True, nl=False)
    return count


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def verify(arguments: tuple[str, ...]) -> None:
    """Verify an export of the whole log offline: EXPORT --checkpoint FILE --key VKEY [--previous FILE] [--records].

    An export of records needs --records, and proves each record, but never that none is missing. The same program as
    scripts/verify_export.py, which needs nothing of ours and can be had from /audit.
    """
    spec = importlib.util.spec_from_file_location("verify_export", verifier())
    if spec is None or spec.loader is None:
        fail(AntechamberError("the verifier is missing from this installation"))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    sys.exit(program.main(list(arguments), "antechamber verify"))


@click.group()
def log() -> None:
    """The log of all changes: its checkpoints, and the key that signs them."""


log.add_command(mirror)


@log.command("checkpoint")
@click.option("--size", type=click.IntRange(0), help="Print an earlier one, by its number of leaves.")
@location_options
def checkpoint(location: Location, size: int | None) -> None:
    """Sign all changes so far and print the checkpoint. Keep a copy that no one who runs this service can reach."""
    try:
        with app.opened_log(location) as opened:
            signed = opened.checkpoints.checkpoint() if size is None else opened.proofs.published_checkpoint(size)
            click.echo(signed.note, nl=False)
    except AntechamberError as error:
        fail(error)


@log.command("key")
@location_options
def key(location: Location) -> None:
    """Print the verifier keys, the one in use first."""
    try:
        with app.opened_log(location) as opened:
            click.echo("\n".join(opened.proofs.verifier_keys()))
    except AntechamberError as error:
        fail(error)


@log.command("new-key")
@click.option("--restored", is_flag=True, help="An older backup had to be restored: begin a log of another name.")
@click.option("--lost", is_flag=True, help="log.key is lost: go on without the old key's signature.")
@location_options
@json_option
def new_key(location: Location, *, restored: bool, lost: bool, as_json: bool) -> None:
    """Sign with a new key from now on, and print it. A running service takes it up by itself.

    The old key signs a last checkpoint, whose last leaf names the new one: so auditors can follow from key to key.

    \b
    With --restored, after an older backup had to be restored:
      - a log of another name begins, whose first leaf names the checkpoint that was lost;
      - all tokens, sign-in links and sessions end and are listed, because those that were ended after the
        backup are not known any more; issue new tokens with: antechamber token issue
      - accounts stay and are listed, too; disable those that should not sign in with: antechamber user disable
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    ended = None
    try:
        with app.opened_log(location, lost=lost) as opened:
            if restored:
                key, ended = opened.checkpoints.give_up()
            else:
                key = opened.checkpoints.change_key()
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"verifier_key": key} | ({} if ended is None else list_ended(ended)))
        return
    click.echo(key)
    if ended is not None:
        print_ended(ended)


def print_ended(ended: EndedAccess) -> None:
    """Print the access that ended and the accounts that can sign in again."""
    for name, rows in list_ended(ended).items():
        click.echo(f"{name.replace('_', ' ')}: {len(rows)}")
        for row in rows:
            say("  " + "  ".join(row.values()))


def list_ended(ended: EndedAccess) -> dict[str, list[dict[str, str]]]:
    """Return the access that ended and the accounts that can sign in again."""
    return {
        "revoked_tokens": [{"token_id": row.token_id, "role": row.role, "name": row.name} for row in ended.tokens],
        "ended_links": [{"link": row.digest[:SHOWN], "role": row.role, "name": row.name} for row in ended.links],
        "ended_sessions": [
            {"session": row.digest[:SHOWN], "role": row.role, "name": row.name} for row in ended.sessions
        ],
        "active_accounts": [{"name": row.name, "role": row.role, "person": row.person} for row in ended.users],
    }


@click.command()
@click.argument("subject", metavar="ID")
@click.option(
    "--reason",
    type=click.Choice([*REASON_CODES, "retention"]),
    default="private",
    show_default=True,
    help="Why it goes.",
)
@click.option("--yes", is_flag=True, help="Do not ask; for scripts.")
@location_options
def erase(subject: str, reason: str, location: Location, *, yes: bool) -> None:
    """Permanently erase all text of a decided proposal or settled quarantined event.

    The leaf of the erasure stays, and so does every proof; what was committed to cannot be opened any more. The
    event's hash stays too, because its receipt replays. Backups keep what they have.
    """
    try:
        # Report a mistyped or damaged folder before the question.
        app.open_store(location, create=False).close()
    except AntechamberError as error:
        fail(error)
    if not yes:
        click.confirm(f"Erase the text of {subject}? It cannot be brought back.", abort=True)
    try:
        app.erase(location, subject, reason)
    except AntechamberError as error:
        fail(error)
    click.echo(f"Erased the text of {subject}.")

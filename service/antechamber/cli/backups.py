"""Verbs for backups: make one while the service runs, check it, restore it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from antechamber.app import backups as app
from antechamber.app.restoring import Newer, Restored, restore_backup
from antechamber.cli.audit import list_ended, print_ended
from antechamber.cli.options import fail, json_option, location_options, show
from antechamber.cli.terminal import say
from antechamber.core.backups.manifest import BackupError, Manifest
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.settings import Location

_MIN_PASSPHRASE: Final = 12
_MAX_PASSPHRASE: Final = 4096

_passphrase_option: Final = click.option(
    "--passphrase-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File whose first line is the passphrase, of at least 12 characters.",
)
_archive: Final = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group()
def backup() -> None:
    """Backups: make one while the service runs, check it, restore it into an empty folder.

    \b
    Every night, with the seven newest kept:
      antechamber backup create /backups/antechamber-$(date +%Y%m%d).tar --data data --keep 7
      antechamber backup verify /backups/antechamber-20261123.tar
      antechamber backup restore /backups/antechamber-20261123.tar --data restored
    """  # noqa: D301 -- click does not rewrap a paragraph after this character


@backup.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--without-keys", is_flag=True, help="Leave secret.key, log.key and quarantine.key out; keep them apart.")
@_passphrase_option
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Afterwards remove the oldest backups of this data in the same folder, so that N remain. Only archives whose "
    "names differ from FILE in their digits alone.",
)
@location_options
@json_option
def create(
    file: Path, *, without_keys: bool, passphrase_file: Path | None, keep: int | None, location: Location, as_json: bool
) -> None:
    """Write a backup of all data, while the service runs, to the new file FILE.

    It holds every answer that was given before it began, the keys, the log's last checkpoint and the folder's own
    policy. FILE appears only once it is complete, is never replaced, and belongs to its owner alone. A PostgreSQL
    database needs pg_dump on the PATH, of the server's version or newer.

    \b
    Examples:
      antechamber backup create /backups/antechamber-$(date +%Y%m%d).tar --data data --keep 7
      antechamber backup create /mnt/cloud/antechamber-1.bak --data data --passphrase-file ~/backup.pass
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        created = app.create_backup(
            location,
            file,
            keys=not without_keys,
            passphrase=_passphrase(passphrase_file),
            keep=keep,
            progress=_progress("Copied"),
        )
    except AntechamberError as error:
        fail(error)
    if as_json:
        facts = {"file": str(created.path), "bytes": created.size, "removed": [str(old) for old in created.removed]}
        show(facts | _facts(created.manifest))
        return
    click.echo(f"Wrote {created.path}: {counted(created.size, 'byte')}, {_describe(created.manifest)}.")
    for old in created.removed:
        click.echo(f"Removed {old}.")


@backup.command()
@_archive
@_passphrase_option
@click.option(
    "--database-url",
    envvar="ANTECHAMBER_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="Empty PostgreSQL database in which a dump is opened; it is empty again afterwards.",
)
@json_option
def verify(file: Path, passphrase_file: Path | None, database_url: str | None, *, as_json: bool) -> None:
    """Check a backup without changing it: each digest, and all checks of `antechamber doctor` on a copy.

    The copy is in the folder for temporary files (TMPDIR) and is removed afterwards.

    \b
    Example:
      antechamber backup verify /backups/antechamber-20261123.tar
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        verified = app.verify_backup(
            file,
            passphrase=_passphrase(passphrase_file),
            database_url=database_url,
            progress=_progress("Checked"),
        )
    except AntechamberError as error:
        fail(error)
    if as_json:
        facts = {"whole": not verified.findings, "opened": verified.opened, "findings": verified.findings}
        show(facts | _facts(verified.manifest))
    elif verified.findings:
        say("\n".join(verified.findings))
    else:
        click.echo(f"The backup holds: {_describe(verified.manifest)}.")
        if not verified.opened:
            click.echo("Its dump was not opened; name an empty database to check its content: --database-url URL")
    if verified.findings:
        sys.exit(1)


@backup.command()
@_archive
@_passphrase_option
@click.option(
    "--keys",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder with secret.key, log.key and quarantine.key, for a backup that was made without them.",
)
@click.option(
    "--pinned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The newest checkpoint that was kept elsewhere; the new log names it.",
)
@click.option(
    "--log-export",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An export of the log from after the backup: erasures in it that the backup does not have are listed.",
)
@location_options
@json_option
def restore(  # noqa: PLR0913 -- one argument for each option
    *,
    file: Path,
    passphrase_file: Path | None,
    keys: Path | None,
    pinned: Path | None,
    log_export: Path | None,
    location: Location,
    as_json: bool,
) -> None:
    """Restore a backup into the new or empty folder of --data, and into an empty database if it was one of PostgreSQL.

    The log goes on under a new name, and its first entry names the end of the backup. All tokens, sign-in links and
    sessions end and are listed, because those that were ended after the backup are not known any more; issue new
    tokens. If the command is interrupted, no other command uses the folder, and the restore can be repeated.

    \b
    Example:
      antechamber backup restore /backups/antechamber-20261123.tar --data restored
      antechamber serve --data restored
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        restored = restore_backup(
            file,
            location,
            passphrase=_passphrase(passphrase_file),
            keys=keys,
            newer=Newer(None if pinned is None else pinned.read_bytes().decode("utf-8", "replace"), log_export),
            progress=_progress("Restored"),
        )
    except AntechamberError as error:
        fail(error)
    if as_json:
        show(
            {"data": str(location.data), "verifier_key": restored.verifier_key, "erasures": restored.erasures}
            | _facts(restored.manifest)
            | list_ended(restored.ended)
        )
        return
    _print_restored(restored, location)


def _print_restored(restored: Restored, location: Location) -> None:
    click.echo(f"Restored {location.data}: {_describe(restored.manifest)}.")
    click.echo(f"The log goes on under a new name: {restored.verifier_key}")
    print_ended(restored.ended)
    if restored.erasures:
        click.echo("These texts were erased after the backup; decide what waits at the desk, then erase them again:")
    for one in restored.erasures:
        click.echo(f"  antechamber erase {one.subject} --reason {one.reason_code} --data {location.data}")


def _describe(manifest: Manifest) -> str:
    keys = "with keys" if manifest.keys else "without keys"
    leaves = counted(manifest.log.size, "leaf", "leaves")
    return f"made {manifest.origin.created_at}, {manifest.engine}, {leaves} of the log, {keys}"


def _facts(manifest: Manifest) -> dict[str, Any]:
    return {
        "created_at": manifest.origin.created_at,
        "engine": manifest.engine,
        "leaves": manifest.log.size,
        "keys": manifest.keys,
        "policies": [member.name for member in manifest.members if member.name.startswith("policies/")],
    }


def _passphrase(file: Path | None) -> bytes | None:
    """Read the first line of a file.

    Raises BackupError if it is too short, or much too long.
    """
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            line = opened.readline(_MAX_PASSPHRASE + 1).rstrip(b"\r\n")
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise BackupError(message) from None
    if not _MIN_PASSPHRASE <= len(line) <= _MAX_PASSPHRASE:
        message = f"the first line of {file} has to be a passphrase of {_MIN_PASSPHRASE} to {_MAX_PASSPHRASE} bytes"
        raise BackupError(message)
    return line


def _progress(verb: str) -> Callable[[int, int], None]:
    """Return a function that shows on a terminal how far a long work is, at each full percent or MiB."""
    if not sys.stderr.isatty():
        return lambda _done, _total: None
    shown = ""

    def show_progress(done: int, total: int) -> None:
        nonlocal shown
        text = f"\r{verb} {done * 100 // total} %" if total else f"\r{verb} {done >> 20:,} MiB"
        if text != shown:
            shown = text
            width = shutil.get_terminal_size().columns
            click.echo(f"{text[:width]} ", err=True, nl=bool(total and done == total))

    return show_progress

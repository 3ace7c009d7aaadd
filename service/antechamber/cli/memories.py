"""Verbs for memory files: export memories to them, keep them current, and import from them."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from antechamber.cli.memory_import import import_file, read_scope
from antechamber.cli.options import fail, own_token, service_option
from antechamber.cli.terminal import escape, escape_json, say
from antechamber.client.memory_files import (
    EXPORT_FORMATS,
    ExportedFile,
    ExportFormat,
    file_for,
)
from antechamber.client.memory_reading import read_memories, with_address
from antechamber.client.mirror import AsyncMirror
from antechamber.client.submitter import AsyncSubmitter, Submitter
from antechamber.core.contract import MAX_SCOPES, MemoryItem
from antechamber.core.errors import AntechamberError

_TROUBLE: Final = 2
"""Exit status of --check if it cannot compare."""


def read_scopes(context: click.Context, option: click.Parameter, scopes: tuple[str, ...]) -> list[str]:
    """Check scopes, each of them once; the service reads only some at a time."""
    checked = sorted({read_scope(context, option, scope) for scope in scopes})
    if len(checked) > MAX_SCOPES:
        message = f"at most {MAX_SCOPES} scopes are read at a time; use several files"
        raise click.BadParameter(message)
    return checked


_scopes_option = click.option(
    "--scope",
    "scopes",
    metavar="KIND:ID",
    multiple=True,
    required=True,
    callback=read_scopes,
    help=f"Scope to read, written kind:id; repeatable, up to {MAX_SCOPES}.",
)
_form_option = click.option(
    "--as", "form", type=click.Choice(EXPORT_FORMATS), required=True, help="Format of the file."
)


@click.group()
def memories() -> None:
    """Memories in files that people and frameworks use: AGENTS.md, CLAUDE.md, JSON lines, the MCP memory server.

    The token comes from ANTECHAMBER_TOKEN. Export and sync need the right to read the scopes; import needs the right to
    submit.
    """


memories.add_command(import_file)


@memories.command("export")
@_scopes_option
@_form_option
@click.option(
    "--write",
    "file",
    metavar="FILE",
    help="Write to this file instead of standard output; {scope} in it makes a file for each scope.",
)
@click.option("--check", is_flag=True, help="Write nothing; end with status 1 and a difference if FILE is not current.")
@service_option
def export_memories(scopes: list[str], form: ExportFormat, file: str | None, url: str, *, check: bool) -> None:
    """Export the active memories of scopes: the same memories give the same bytes.

    In agents-md and claude-md, a block between markers belongs to the export, and every byte outside of it stays. In
    mcp-memory, entities that are not of an export stay. A jsonl file belongs to the export as a whole.

    Exit status with --check: 0 if each file is current, 1 if one is not, 2 if that could not be found out.
    """
    if check and file is None:
        message = "--check compares the file that --write names; add --write FILE"
        raise click.UsageError(message)
    try:
        files = [] if file is None else _files(file, form, scopes)
        found = _read(url, own_token(), scopes)
        if check:
            sys.exit(_compare(files, found))
        if file is None:
            _print(ExportedFile(Path(), form, scopes).content(b"", found), form)
        for one in files:
            _write(one, found)
    except AntechamberError as error:
        if check:
            say(f"Error: {with_address(error, url)}", err=True)
            sys.exit(_TROUBLE)
        fail(with_address(error, url))


@memories.command()
@_scopes_option
@_form_option
@click.option(
    "--write", "file", metavar="FILE", required=True, help="File to keep; {scope} in it makes a file for each scope."
)
@click.option("--once", is_flag=True, help="Write what changed until now and end, as export does.")
@service_option
def sync(scopes: list[str], form: ExportFormat, file: str, url: str, *, once: bool) -> None:
    """Keep exported files current: write them again whenever a memory of the scopes is admitted or ends.

    Runs until Ctrl-C or SIGTERM, and ends with status 0 then. While the service cannot be reached, it waits. A file
    that cannot be written is reported and tried again; a service that refuses ends it with status 1.
    """
    token, files = own_token(), _files(file, form, scopes)
    try:
        if once:
            found = _read(url, token, scopes)
            for one in files:
                _write(one, found)
        else:
            asyncio.run(_sync_until_asked(url, token, scopes, files))
    except AntechamberError as error:
        fail(with_address(error, url))


def _files(pattern: str, form: ExportFormat, scopes: Sequence[str]) -> list[ExportedFile]:
    """Return the files of a pattern, each with its scopes."""
    files: dict[Path, list[str]] = {}
    for scope in scopes:
        files.setdefault(file_for(pattern, scope), []).append(scope)
    return [ExportedFile(path, form, own) for path, own in files.items()]


def _read(url: str, token: str, scopes: Sequence[str]) -> list[MemoryItem]:
    """Return all active memories of scopes.

    Raises ReadError or AddressError.
    """
    with Submitter(url, token) as submitter:
        return read_memories(submitter, scopes)


def _compare(files: Sequence[ExportedFile], found: Sequence[MemoryItem]) -> int:
    """Print the difference of each file that is not current; return the exit status."""
    status = 0
    for file in files:
        if (difference := file.difference(found)) is not None:
            say(difference, nl=False)
            click.echo(f"{file.path} is not current; without --check it is written.", err=True)
            status = 1
    return status


def _print(content: bytes, form: ExportFormat) -> None:
    """Write an export to standard output: its exact bytes, or on a terminal an escaped text."""
    if sys.stdout.isatty():
        escaped = escape if form in {"agents-md", "claude-md"} else escape_json
        content = escaped(content.decode()).encode()
    sys.stdout.buffer.write(content)


def _write(file: ExportedFile, found: Sequence[MemoryItem]) -> None:
    click.echo(f"{file.path}: {'written' if file.write(found) else 'unchanged'}")


async def _sync_until_asked(url: str, token: str, scopes: Sequence[str], files: Sequence[ExportedFile]) -> None:
    """Follow the scopes until a signal asks to end.

    Raises ReadError or AddressError.
    """
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    async with AsyncSubmitter(url, token) as submitter, submitter.mirror(None, scopes) as mirror:
        following = asyncio.create_task(_follow(mirror, files))
        stopping = asyncio.create_task(asked.wait())
        await asyncio.wait([following, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def _follow(mirror: AsyncMirror, files: Sequence[ExportedFile]) -> None:
    """Write the files after each change, and restore them if another program altered them."""
    problems: dict[Path, str] = {}
    while True:
        await mirror.update()
        found = mirror.memories()
        for file in files:
            problem = await asyncio.to_thread(_try_to_write, file, found)
            if problem != problems.get(file.path, "") and problem:
                say(f"Error: {problem}. It is tried again.", err=True)
            problems[file.path] = problem
        await mirror.wait()


def _try_to_write(file: ExportedFile, found: Sequence[MemoryItem]) -> str:
    """Write a file if it is not current; return why that is impossible, or an empty text."""
    try:
        if file.write(found):
            click.echo(f"{file.path}: written")
            sys.stdout.flush()
    except AntechamberError as error:
        return str(error)
    return ""

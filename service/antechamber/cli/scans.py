"""The verb that scans texts and submission bodies for what the policy refuses or warns of."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import click
import msgspec

from antechamber.cli.options import json_option, policies_option
from antechamber.cli.terminal import say, say_json
from antechamber.core.errors import PolicyError
from antechamber.flows.scan import UNREADABLE, FileScanner, Hit
from antechamber.policy_files import read_policy
from antechamber.resources import folder


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--ndjson", is_flag=True, help='Read one {"id", "text"} or {"id", "body"} per line.')
@policies_option("Policy folder with the rules and their actions. Default: the shipped policy.")
@json_option
def scan(files: tuple[str, ...], policies: Path | None, *, ndjson: bool, as_json: bool) -> None:
    """Scan texts for secrets, personal data, hostile and hidden text; FILE may be - for standard input.

    Prints one line per finding: file, line, column, what was found, rule and action, never the value. Findings with
    the action warn do not change the exit status. Submodules and links to nothing are skipped. Write -- before names
    that a program lists: they may begin with a hyphen.

    Exit status 1: a finding has the action reject or quarantine, or a file or line cannot be read. 2: wrong usage.
    """
    try:
        scanner = FileScanner(read_policy(policies or folder("policies")).gate)
    except PolicyError as error:
        raise click.UsageError(str(error)) from None
    refused = False
    for file in _readable(files):
        name = click.format_filename(file)
        for hit in _scan_file(scanner, file, ndjson=ndjson):
            refused |= hit.finding.is_private
            if as_json:
                say_json(_encode(hit, name, ndjson=ndjson))
            if not as_json or hit.kind == UNREADABLE:
                # A line of JSON has no place for the number and the reason of an unreadable one.
                say(_describe(hit, name), err=as_json)
    sys.exit(int(refused))


def _readable(files: tuple[str, ...]) -> list[str]:
    """Return the files that have a text; a list from Git also has folders of submodules, and links to nothing.

    Raises UsageError if a file does not exist, or is another folder, or if none of them has a text: a check of nothing
    would look like one that found nothing.
    """
    readable = []
    for file in files:
        path, name = Path(file), click.format_filename(file)
        if file == "-" or path.is_file() or (path.exists() and not path.is_dir()):
            readable.append(file)
        elif path.is_symlink() and not path.exists():
            say(f"{name}: skipped, because it is a link to nothing", err=True)
        elif path.is_dir() and ((path / ".git").is_file() or not any(path.iterdir())):
            say(f"{name}: skipped, because it is the folder of a submodule", err=True)
        else:
            message = f"{name} is a folder; name its files" if path.is_dir() else f"there is no file {name}"
            raise click.UsageError(message)
    if not readable:
        message = "none of these is a file with a text"
        raise click.UsageError(message)
    return readable


def _scan_file(scanner: FileScanner, file: str, *, ndjson: bool) -> Iterator[Hit]:
    with cast("BinaryIO", click.open_file(file, "rb")) as stream:
        yield from scanner.scan_lines(stream) if ndjson else scanner.scan_text(stream)


def _encode(hit: Hit, name: str, *, ndjson: bool) -> str:
    """Return a finding as one line of JSON; the id of a text is the name of its file."""
    found = hit.finding
    line: dict[str, Any] = {
        "id": hit.id if ndjson else name,
        "rule": found.rule_id,
        "kind": hit.kind,
        "action": found.action,
        "pointer": found.pointer,
        "start": found.start,
        "end": found.end,
        "decoded": found.decoded,
    }
    return msgspec.json.encode(line).decode()


def _describe(hit: Hit, name: str) -> str:
    """Return a finding as a line for people."""
    found = hit.finding
    what = f"{hit.title} ({found.rule_id}, {found.action})"
    if hit.column is not None:
        return f"{name}:{hit.line}:{hit.column}: {what}"
    if hit.kind == UNREADABLE:
        return f"{name}:{hit.line}: {what}"
    return f"{name}:{hit.line}: {what} at {found.pointer or 'text'}, characters {found.start} to {found.end}"

"""The verb that proposes the items of a memory file."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import click
import msgspec
from msgspec import Struct

from antechamber.cli.options import fail, json_option, own_token, service_option, show
from antechamber.cli.sending import Line, explain, is_refused, send_lines
from antechamber.cli.terminal import say
from antechamber.client.memory_files import IMPORT_FORMATS, ImportFormat, read_items, read_limited, uri_of
from antechamber.client.memory_reading import ScopeMemories, with_address
from antechamber.client.submitter import Submitter
from antechamber.core.contract import PRODUCER, Receipt
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.memory_files.import_plan import ImportTarget, PlannedItem, plan_import
from antechamber.core.memory_files.item import MAX_FILE, FileItem, MemoryFileError, check_scope

Result = Literal["new", "changed", "proposed", "unchanged", "refused", "unanswered"]
_PROPOSALS: Final[tuple[Result, ...]] = ("new", "changed", "proposed")
_OTHERS: Final[tuple[Result, ...]] = ("unchanged", "refused", "unanswered")


def read_scope(_: click.Context, __: click.Parameter, scope: str) -> str:
    """Check the scope of an option."""
    try:
        return check_scope(scope)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


class ImportedItem(Struct, frozen=True, kw_only=True):
    """An item of a file, and what became of it, or what would."""

    planned: PlannedItem
    result: Result
    detail: str = ""
    receipt: Receipt | None = None


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--from", "form", type=click.Choice(IMPORT_FORMATS), required=True, help="Format of the file.")
@click.option(
    "--producer", metavar="IDENTITY", help="Who proposes, e.g. repo:apollo. Default: the producer of the token."
)
@click.option(
    "--scope", metavar="KIND:ID", callback=read_scope, required=True, help="Scope of the proposals, written kind:id."
)
@click.option("--kind", default="fact", show_default=True, help="Kind of the items for which the file names none.")
@click.option(
    "--source",
    metavar="URI",
    help="Name of the file in source spans. Default: repo://, the repository's folder and the path in it.",
)
@click.option("--dry-run", is_flag=True, help="Show what an import would do, and send nothing.")
@service_option
@json_option
def import_file(  # noqa: PLR0913 -- one argument for each option
    *,
    file: str,
    form: ImportFormat,
    producer: str | None,
    scope: str,
    kind: str,
    source: str | None,
    dry_run: bool,
    url: str,
    as_json: bool,
) -> None:
    """Propose each item of FILE (- for standard input) for a scope, without asking.

    An item's source is the file and its heading. Its key is made from its content, so importing the file again adds
    only what changed. An item that an export wrote is compared with its memory: if it was edited, the proposal names
    that memory in supersedes. Ends with the line `N proposals, M unchanged`.

    Exit status: 0 if every item is proposed or unchanged; 1 if one is refused or has no answer, or the file or the
    service cannot be read; 2 for wrong usage. After a failure, import the same file again.
    """
    if file == "-" and source is None:
        message = "standard input has no name; add --source URI, for example --source repo://apollo/AGENTS.md"
        raise click.UsageError(message)
    token = own_token()
    try:
        items = _items(file, form, scope)
        with Submitter(url, token) as submitter:
            named = _producer(submitter, producer)
            target = ImportTarget(producer=named, scope=scope, uri=source or uri_of(Path(file)), kind=kind)
            plan = list(plan_import(items, target, ScopeMemories(submitter, scope).find))
            done, problem = (_look_up(submitter, plan), None) if dry_run else _send(url, token, plan)
    except AntechamberError as error:
        fail(with_address(error, url))
    _report(done, file, as_json=as_json, dry_run=dry_run)
    if problem is not None:
        fail(AntechamberError(problem))
    if any(one.result == "refused" for one in done):
        sys.exit(1)


def _items(file: str, form: ImportFormat, scope: str) -> list[FileItem]:
    """Return the items of a file.

    Raises MemoryFileError, which names the file.
    """
    try:
        raw = sys.stdin.buffer.read(MAX_FILE + 1) if file == "-" else read_limited(Path(file))
        return read_items(form, raw, scope)
    except MemoryFileError as error:
        message = f"{click.format_filename(file)}: {error}"
        raise MemoryFileError(message) from None


def _producer(submitter: Submitter, named: str | None) -> str:
    """Return the producer that proposes, which is the token's.

    Raises AntechamberError.
    """
    if named is not None and not PRODUCER.fullmatch(named):
        message = f"{named!r} is no producer; write worker:, tool:, repo: or service: and a name, e.g. repo:apollo"
        raise AntechamberError(message)
    holder = submitter.holder()
    if holder.role != "producer":
        message = "this token is no producer's; set ANTECHAMBER_TOKEN to one that is"
        raise AntechamberError(message)
    if named not in (None, holder.name):
        message = f"ANTECHAMBER_TOKEN is the token of {holder.name}, not of {named}; use the token of {named}"
        raise AntechamberError(message)
    return holder.name


def _look_up(submitter: Submitter, plan: Sequence[PlannedItem]) -> list[ImportedItem]:
    """Return what an import would do with each item; keys that were used before are looked up.

    Raises ReadError.
    """
    return [_settled(one) or _looked_up(submitter, one) for one in plan]


def _looked_up(submitter: Submitter, planned: PlannedItem) -> ImportedItem:
    receipt = submitter.by_key(planned.key)
    if receipt is None:
        return ImportedItem(planned=planned, result="changed" if planned.supersedes else "new")
    return _answered(planned, msgspec.structs.replace(receipt, duplicate=True))


def _settled(planned: PlannedItem) -> ImportedItem | None:
    """Return what became of an item that is not sent; None if it is sent."""
    if planned.step == "unchanged":
        return ImportedItem(planned=planned, result="unchanged", detail=planned.reason)
    if planned.step == "invalid":
        return ImportedItem(planned=planned, result="refused", detail=planned.reason)
    return None


def _answered(planned: PlannedItem, receipt: Receipt) -> ImportedItem:
    """Return what became of an item by the service's answer."""
    if is_refused(receipt):
        return ImportedItem(planned=planned, result="refused", detail=explain(receipt.reasons), receipt=receipt)
    is_new = receipt.disposition == "accepted-for-review" and not receipt.duplicate
    detail = f"submission {receipt.submission_id}"
    return ImportedItem(planned=planned, result="proposed" if is_new else "unchanged", detail=detail, receipt=receipt)


def _send(url: str, token: str, plan: Sequence[PlannedItem]) -> tuple[list[ImportedItem], str | None]:
    """Submit the items; return what became of each, and why some have no answer, or None."""
    lines = [Line(number=one.item.line, body=one.body, key=one.key) for one in plan if one.body]
    answers, problem = send_lines(url, token, lines)
    receipts = {line.key: receipt for line, receipt in answers}
    done = []
    for planned in plan:
        if (settled := _settled(planned)) is not None:
            done.append(settled)
        elif (receipt := receipts.get(planned.key)) is not None:
            done.append(_answered(planned, receipt))
        else:
            done.append(ImportedItem(planned=planned, result="unanswered"))
    return done, problem and f"{len(answers)} of {counted(len(lines), 'item')} answered. {problem}"


def _report(done: Sequence[ImportedItem], file: str, *, as_json: bool, dry_run: bool) -> None:
    """Print what became of each item, and the numbers at the end."""
    counts = Counter(one.result for one in done)
    proposals = sum(counts[name] for name in _PROPOSALS)
    if as_json:
        numbers = {name: counts[name] for name in _OTHERS}
        show({"dry_run": dry_run, "proposals": proposals} | numbers | {"items": [_description(one) for one in done]})
        return
    for one in done:
        if dry_run or one.result != "unchanged":
            _print(one)
    if not done:
        click.echo(f"{click.format_filename(file)} has no items.", err=True)
    if dry_run:
        click.echo("Dry run: nothing was sent.", err=True)
    if counts["refused"]:
        click.echo(f"{counts['refused']} refused; change them and import the file again.", err=True)
    # Programs read this line, so its words stay the same for every number.
    click.echo(f"{proposals} proposals, {counts['unchanged']} unchanged")


def _print(one: ImportedItem) -> None:
    """Print a line about an item; a refused one may hold a secret, so its text is not repeated."""
    item, is_refused_item = one.planned.item, one.result == "refused"
    text = f"line {item.line}: {one.detail}" if is_refused_item else one.planned.title()
    instead = f" (instead of memory {one.planned.supersedes})" if one.planned.supersedes else ""
    say(f"{one.result:<10} {text}{instead}", err=is_refused_item)


def _description(one: ImportedItem) -> dict[str, Any]:
    """Return the JSON output about an item."""
    planned, receipt = one.planned, one.receipt
    return {
        "line": planned.item.line,
        "heading": None if one.result == "refused" else planned.item.heading,
        "kind": planned.kind,
        "content": None if one.result == "refused" else planned.item.content,
        "result": one.result,
        "supersedes": planned.supersedes,
        "idempotency_key": planned.key or None,
        "submission_id": receipt.submission_id if receipt else None,
        "proposal_id": receipt.proposal_id if receipt else None,
        "detail": one.detail,
    }

"""The verb that shows what the guard would do with the tools of an MCP server."""

import asyncio
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from antechamber.cli.options import fail, json_option, show
from antechamber.client.guard_audit import AuditedTool, audit
from antechamber.client.tool_listing import list_tools
from antechamber.core.errors import AntechamberError

_MAX_WIDTH: Final = 60


@click.group()
def guard() -> None:
    """Look at the tools of other MCP servers before an agent calls them through the guard."""


@guard.command(name="audit", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--declared",
    metavar="MODULE:NAME",
    help="The strategies of an agent, as it gives them to Guard; they are imported from this folder.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=600),
    default=20.0,
    show_default=True,
    help="Seconds for the server to start and list its tools.",
)
@json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def audit_tools(command: tuple[str, ...], declared: str | None, timeout: float, *, as_json: bool) -> None:
    """Start an MCP server by its COMMAND, and list its tools with what the guard would do.

    read-only: passed through. declared: followed up as declared. annotated: the server says that a repetition changes
    nothing, but the guard does not rely on that. never-resent: an unclear call waits for a person. For the last two,
    a declaration is suggested from names and schemas; VERIFIED BY lists tools that could find what the tool wrote.

    Exit status 1: the tools could not be listed, or a declaration could not work. 2: wrong usage.
    """
    strategies = _read_declarations(declared) if declared else {}
    try:
        tools = audit(asyncio.run(list_tools(command, timeout)), strategies)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show(tools)
    else:
        click.echo("\n".join(_table(tools)))
    sys.exit(int(any(tool.problem for tool in tools)))


def _read_declarations(name: str) -> Mapping[str, Any]:
    """Import the strategies of an agent.

    Raises click.UsageError if there are none by this name.
    """
    module, _, variable = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        value = getattr(importlib.import_module(module), variable)
    except Exception as error:  # noqa: BLE001 -- importing runs the agent's code
        message = f"--declared {name}: {type(error).__name__}: {error}"
        raise click.UsageError(message) from None
    finally:
        sys.path.pop(0)
    if not isinstance(value, Mapping) or not all(isinstance(tool, str) for tool in value):
        message = f"--declared {name}: it is no dictionary of strategies by tool"
        raise click.UsageError(message)
    return value


def _table(tools: list[AuditedTool]) -> list[str]:
    """Return the lines of a table; texts of the server keep no character that a terminal would obey."""
    rows = [("TOOL", "GUARD", "DECLARE", "VERIFIED BY")]
    rows += [(tool.tool, tool.guard, tool.declare or "", ", ".join(tool.verified_by)) for tool in tools]
    printable = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in printable) for column in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in printable
    ]
    lines += [f"{_printable(tool.tool)}: {tool.problem}" for tool in tools if tool.problem]
    counts = [
        sum(tool.guard == kind for tool in tools) for kind in ("read-only", "declared", "annotated", "never-resent")
    ]
    return [*lines, "{} read-only, {} declared, {} annotated, {} never resent".format(*counts)]


def _printable(text: str) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= _MAX_WIDTH else shown[: _MAX_WIDTH - 1] + "…"

"""What the guard would do with each tool of a server, and what could be declared for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from antechamber.client.resend_strategy import CallError, ReadOnly, Strategy, check, required_arguments
from antechamber.client.tool_listing import ListedTool

Treatment = Literal["read-only", "declared", "annotated", "never-resent"]
"""`read-only`: passed through. `declared`: followed up as its declaration says. `annotated`: the server says that a
repetition changes nothing; the guard does not rely on that, and never resends it either. `never-resent`: an unclear
call waits for a person."""
_KEYS: Final = re.compile(
    r"(?:idempot\w*|client_?(?:token|request_?id|reference)|request_?id|dedup\w*)$", re.IGNORECASE
)
_LONG_TEXTS: Final = (
    "body",
    "description",
    "text",
    "content",
    "message",
    "comment",
    "note",
    "notes",
    "summary",
    "title",
)
_READING: Final = frozenset(("get", "list", "search", "find", "read", "query", "fetch", "lookup", "show"))
_WRITING: Final = frozenset(
    (
        "create",
        "add",
        "set",
        "update",
        "delete",
        "remove",
        "send",
        "post",
        "put",
        "write",
        "append",
        "make",
        "new",
        "save",
    )
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class AuditedTool(Struct, frozen=True, kw_only=True):
    """One tool of a server."""

    tool: str
    guard: Treatment
    declare: str | None
    """A declaration that the schema suggests for a tool that is not declared; None if it needs none."""
    verified_by: list[str]
    """Tools that read, and could find what this one wrote; the names and schemas suggest them."""
    problem: str | None = None
    """Why the declaration could not work."""


def audit(tools: Sequence[ListedTool], declared: Mapping[str, Any]) -> list[AuditedTool]:
    """Return what the guard would do with each tool, given the declarations of an agent, by name of the tool."""
    found = [_audited(tool, tools, declared) for tool in tools]
    listed = {tool.name for tool in tools}
    return found + [
        AuditedTool(
            tool=name, guard="declared", declare=None, verified_by=[], problem="the server lists no tool of this name"
        )
        for name in declared
        if name not in listed
    ]


def _audited(tool: ListedTool, tools: Sequence[ListedTool], declared: Mapping[str, Any]) -> AuditedTool:
    if tool.name in declared:
        return _audit_declaration(tool, tools, declared[tool.name])
    if _only_reads(tool):
        return AuditedTool(tool=tool.name, guard="read-only", declare=None, verified_by=[])
    verified_by = _find_reads(tool, tools)
    return AuditedTool(
        tool=tool.name,
        guard="annotated" if _hints(tool, "idempotentHint") else "never-resent",
        declare=_suggest(tool, verified_by),
        verified_by=verified_by,
    )


def _audit_declaration(tool: ListedTool, tools: Sequence[ListedTool], strategy: Any) -> AuditedTool:
    problem = _find_problem(tool.name, tools, strategy)
    reads = isinstance(strategy, ReadOnly)
    return AuditedTool(
        tool=tool.name,
        guard="read-only" if reads else "declared",
        declare=None,
        verified_by=[] if reads else _find_reads(tool, tools),
        problem=problem,
    )


def _find_problem(name: str, tools: Sequence[ListedTool], strategy: Strategy | ReadOnly) -> str | None:
    """Return why the guard would refuse a declaration, or None."""
    try:
        check(strategy)
    except CallError as error:
        return str(error)
    arguments = {tool.name: tool for tool in tools}
    for needed, names in required_arguments(strategy, name).items():
        if needed not in arguments:
            return f"the server lists no tool {needed}"
        schema = arguments[needed].input_schema
        unknown = names - set(_properties(arguments[needed]))
        if unknown and "properties" in schema and schema.get("additionalProperties") is not True:
            return f"{needed} has no argument {', '.join(sorted(unknown))}"
    return None


def _suggest(tool: ListedTool, verified_by: list[str]) -> str:
    key = next((name for name in _texts(tool) if _KEYS.match(name)), None)
    if key is not None:
        return f'IdempotencyKey(argument="{key}")'
    if _hints(tool, "idempotentHint"):
        return "ResendTolerant()"
    texts = list(_texts(tool))
    carrier = next((name for name in _LONG_TEXTS if name in texts), texts[0] if texts else None)
    if verified_by and carrier is not None:
        return f'ReconcileRead(argument="{carrier}", read="{verified_by[0]}", …)'
    return "NeverResend()"


def _find_reads(tool: ListedTool, tools: Sequence[ListedTool]) -> list[str]:
    """Return the tools that read what this one writes, by the words of their names; those without a common word last.

    Such a tool takes a text to look for. One without any noun, such as `search`, may look everywhere.
    """
    nouns = _nouns(tool.name)
    readers = [one for one in tools if one.name != tool.name and _seems_to_read(one) and any(_texts(one))]
    related = [one.name for one in readers if nouns & _nouns(one.name)]
    return related + [one.name for one in readers if not _nouns(one.name)]


def _only_reads(tool: ListedTool) -> bool:
    return _hints(tool, "readOnlyHint") and not _hints(tool, "destructiveHint")


def _seems_to_read(tool: ListedTool) -> bool:
    """Return whether a tool reads, by its annotation or, as many servers annotate nothing, by its name."""
    if tool.annotations and "readOnlyHint" in tool.annotations:
        return _only_reads(tool)
    words = _words(tool.name)
    return bool(words) and not _WRITING.intersection(words) and bool(_READING.intersection(words))


def _hints(tool: ListedTool, name: str) -> bool:
    return (tool.annotations or {}).get(name) is True


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _nouns(name: str) -> set[str]:
    return {word.removesuffix("s") for word in _words(name) if word not in _READING | _WRITING}


def _properties(tool: ListedTool) -> dict[str, Any]:
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _texts(tool: ListedTool) -> Iterable[str]:
    """Return the names of arguments that take a text."""
    return [name for name, schema in _properties(tool).items() if isinstance(schema, dict) and _is_text(schema)]


def _is_text(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type")
    if kinds == "string" or (isinstance(kinds, list) and "string" in kinds):
        return "enum" not in schema
    options = schema.get("anyOf")
    return isinstance(options, list) and any(isinstance(one, dict) and _is_text(one) for one in options)

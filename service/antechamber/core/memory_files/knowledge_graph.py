"""Knowledge graphs of the MCP memory server: JSON lines of entities with observations, and of relations.

An export makes an entity of each memory, named `antechamber:` and its id, and relates it to an entity of its scope.
Entities and relations that are not of an export are kept, and so are those of other scopes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from antechamber.core.contract import KEY, MemoryItem
from antechamber.core.memory_files.item import FileItem, MemoryFileError, read_text, sorted_memories
from antechamber.core.memory_files.json_lines import decode_object, member, objects, required, texts

_OWN: Final = "antechamber:"
_BELONGS: Final = "belongs_to"
_Line = tuple[int, dict[str, Any]]


def render_graph(raw: bytes, scopes: Mapping[str, Sequence[MemoryItem]]) -> bytes:
    """Return a graph with the memories of these scopes; lines that are not of these scopes stay.

    Raises MemoryFileError if the file is no graph.
    """
    text = read_text(raw)
    lines = list(objects(text))
    for number, line in lines:
        _check(line, f"line {number}")
    kept = _kept(lines, {_OWN + scope for scope in scopes})
    rows = text.split("\n")
    before = "".join(f"{rows[number - 1]}\n" for number in kept).encode()
    new = (msgspec.json.encode(line) + b"\n" for scope in sorted(scopes) for line in _lines(scope, scopes[scope]))
    return before + b"".join(new)


def _kept(lines: list[_Line], replaced: set[str]) -> list[int]:
    """Return the numbers of the lines that an export of these scopes' entities keeps."""
    belongs = [
        (line["from"], line["to"])
        for _, line in lines
        if line["type"] == "relation" and line["relationType"] == _BELONGS and line["to"] not in replaced
    ]
    others = {name for pair in belongs for name in pair}
    names = {number: line["name"] if line["type"] == "entity" else line["from"] for number, line in lines}
    return [number for number, name in names.items() if not name.startswith(_OWN) or name in others]


def _lines(scope: str, memories: Sequence[MemoryItem]) -> Iterator[dict[str, Any]]:
    ordered = sorted_memories(memories)
    here = {memory.memory_id for memory in ordered}
    yield {"type": "entity", "name": _OWN + scope, "entityType": "scope", "observations": []}
    for memory in ordered:
        name = _OWN + memory.memory_id
        yield {"type": "entity", "name": name, "entityType": memory.kind, "observations": [memory.content]}
    for memory in ordered:
        name = _OWN + memory.memory_id
        yield {"type": "relation", "from": name, "to": _OWN + scope, "relationType": _BELONGS}
        for origin in memory.derived_from:
            if origin in here:
                yield {"type": "relation", "from": name, "to": _OWN + origin, "relationType": "derived_from"}


def read_graph(text: str) -> list[FileItem]:
    """Return the items of a graph: each observation and each relation, named by their entities.

    The graph may be JSON lines, or one object with `entities` and `relations` as the server's tool `read_graph` returns
    it. Raises MemoryFileError.
    """
    items: list[FileItem] = []
    for number, line in _all_lines(text):
        place = f"line {number}"
        _check(line, place)
        if line["type"] == "entity":
            items += _observed(line, number, texts(line, "observations", place) or [])
        elif not line["from"].startswith(_OWN):
            content = f"{line['from']} {line['relationType']} {line['to']}"
            items.append(FileItem(content=content, line=number, heading=line["from"]))
    return items


def _all_lines(text: str) -> Iterator[_Line]:
    if not text.lstrip().startswith("{") or '"entities"' not in text:
        yield from objects(text)
        return
    try:
        graph = decode_object(text, "the file")
    except MemoryFileError:
        # An observation of a graph in lines may contain the word.
        yield from objects(text)
        return
    for name, kind in (("entities", "entity"), ("relations", "relation")):
        for one in member(graph, name, list, "the file") or []:
            if not isinstance(one, dict):
                message = f"{name} has a member that is no object"
                raise MemoryFileError(message)
            yield 1, {"type": kind} | one


def _check(line: dict[str, Any], place: str) -> None:
    """Check that a line is an entity or a relation.

    Raises MemoryFileError.
    """
    wanted = {"entity": ("name", "entityType"), "relation": ("from", "to", "relationType")}
    kind = required(line, "type", place)
    if kind not in wanted:
        message = f"{place}: type is neither entity nor relation"
        raise MemoryFileError(message)
    for name in wanted[kind]:
        required(line, name, place)


def _observed(entity: dict[str, Any], number: int, observations: list[str]) -> Iterator[FileItem]:
    """Yield the observations of an entity; an exported entity begins with its memory's text."""
    name = entity["name"]
    memory_id = name.removeprefix(_OWN)
    if name.startswith(_OWN) and KEY.fullmatch(memory_id) and observations:
        kind = entity["entityType"]
        yield FileItem(content=observations[0], line=number, kind=kind, heading=name, memory_id=memory_id)
        for text in observations[1:]:
            yield FileItem(content=text, line=number, kind=kind, heading=name)
        return
    for text in observations:
        yield FileItem(content=f"{name}: {text}", line=number, heading=name)

"""The plan of an import: which items of a file become proposals, and which the service has already."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.canonical import NORMAL_TRIM, normalize_text
from antechamber.core.contract import MAX_BODY, MemoryItem
from antechamber.core.errors import RequestRefusedError
from antechamber.core.memory_files.item import FileItem, scope_of
from antechamber.core.outgoing import body_of

Step = Literal["new", "changed", "unchanged", "invalid"]
_TITLE_CHARACTERS: Final = 60


class ImportTarget(Struct, frozen=True, kw_only=True):
    """Who proposes what a file holds, for which scope, and from where."""

    producer: str
    scope: str
    """Written `kind:id`."""
    uri: str
    """Names the file in each source span."""
    kind: str
    """Kind of items for which the file names none."""


class PlannedItem(Struct, frozen=True, kw_only=True):
    """An item of a file, and what an import does with it."""

    item: FileItem
    step: Step
    kind: str
    key: str = ""
    body: bytes = b""
    supersedes: str | None = None
    reason: str = ""

    def title(self) -> str:
        """Return line, heading and first words of the item, for people."""
        words = " ".join(self.item.content.split())
        short = words if len(words) <= _TITLE_CHARACTERS else words[: _TITLE_CHARACTERS - 1] + "…"
        heading = f"{self.item.heading}: " if self.item.heading else ""
        return f"line {self.item.line}: {heading}{short}"


def plan_import(
    items: Iterable[FileItem], target: ImportTarget, memory: Callable[[str], MemoryItem | None]
) -> Iterator[PlannedItem]:
    """Yield what becomes of each item of a file; `memory` returns a memory by its id, or None."""
    seen = set[str]()
    for item in items:
        known = None if item.memory_id is None else memory(item.memory_id)
        planned = _plan(item, target, known if known and scope_of(known) == target.scope else None)
        if planned.key in seen:
            yield PlannedItem(item=item, step="unchanged", kind=planned.kind, reason="twice in this file")
            continue
        if planned.key:
            seen.add(planned.key)
        yield planned


def _plan(item: FileItem, target: ImportTarget, known: MemoryItem | None) -> PlannedItem:
    kind = item.kind or (known.kind if known else target.kind)
    if known and _is_same(item, kind, known):
        return PlannedItem(item=item, step="unchanged", kind=kind, reason=f"is memory {known.memory_id}")
    try:
        body = body_of(_event(item, kind, target, known), None)
        if known:
            # The same text may have been proposed before without this claim, under the key of its content.
            own = "im1-" + blake3(f"{body.key}\n{known.memory_id}".encode()).hexdigest()[:32]
            body = body_of({**_event(item, kind, target, known), "idempotency_key": own}, None)
    except RequestRefusedError as error:
        reason = "; ".join(f"{one.code}: {one.message} at {one.pointer or 'the whole item'}" for one in error.reasons)
        return PlannedItem(item=item, step="invalid", kind=kind, reason=reason)
    if len(body.body) > MAX_BODY:
        reason = f"body-too-large: a submission may have {MAX_BODY} bytes; divide the item"
        return PlannedItem(item=item, step="invalid", kind=kind, reason=reason)
    return PlannedItem(
        item=item,
        step="changed" if known else "new",
        kind=kind,
        key=body.key,
        body=body.body,
        supersedes=known.memory_id if known else None,
    )


def _event(item: FileItem, kind: str, target: ImportTarget, known: MemoryItem | None) -> dict[str, Any]:
    """Return the event that proposes an item; what the file does not name stays as the known memory has it."""
    scope, _, scope_id = target.scope.partition(":")
    tags = item.tags if item.tags is not None else known.tags if known else None
    attributes = item.attributes if item.attributes is not None else known.attributes if known else None
    payload = {"kind": kind, "content": item.content} | ({"tags": tags} if tags else {})
    event: dict[str, Any] = {
        "producer_identity": target.producer,
        "submission_scope": scope,
        "scope_id": scope_id,
        "payload": payload | ({"attributes": attributes} if attributes else {}),
        "source_span": {"uri": target.uri} | ({"heading": item.heading} if item.heading else {}),
    }
    return event | ({"supersedes": known.memory_id} if known else {})


def _is_same(item: FileItem, kind: str, known: MemoryItem) -> bool:
    """Return whether an item says what a memory says; editors may have removed white space at the ends of lines."""
    return (
        kind == known.kind
        and _lines(item.content) == _lines(known.content)
        and (item.tags is None or sorted(item.tags) == known.tags)
        and item.attributes in (None, known.attributes)
    )


def _lines(content: str) -> list[str]:
    return [line.rstrip() for line in normalize_text(content).strip(NORMAL_TRIM).split("\n")]

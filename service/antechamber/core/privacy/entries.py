"""Entries of a scan: one text or one submission body per line of NDJSON."""

from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from antechamber.core.admission.canonical import decode, escape_pointer
from antechamber.core.contract import HASH, MAX_DEPTH, SCOPES, Scope
from antechamber.core.conversion import json_decoder, parse_json
from antechamber.core.errors import AntechamberError, RequestRefusedError

NO_ID: Final = Raw(b"null")


class UnreadableError(AntechamberError):
    """Raised when a text or line cannot be read; `entry_id` is its id, as JSON, if that could be read."""

    def __init__(self, message: str, entry_id: Raw = NO_ID) -> None:
        super().__init__(message)
        self.entry_id = entry_id


class _Line(Struct, frozen=True):
    """The members of a line; others are ignored, so that a line may carry labels of its own."""

    id: Raw = NO_ID
    text: str | UnsetType = UNSET
    body: Raw | UnsetType = UNSET


class _Id(Struct, frozen=True):
    id: Raw = NO_ID


class Entry(Struct, frozen=True):
    """One text, or the values of one body by their pointers."""

    id: Raw
    text: str | None = None
    values: dict[str, Any] = {}
    scope: Scope | None = None
    """Kind of scope that a body names."""


_decoder: Final = json_decoder(_Line)


def read_entry(line: bytes) -> Entry:
    """Read one line: `{"id": …, "text": "…"}` or `{"id": …, "body": {…}}`; `id` is any JSON value.

    A body needs no hash, key, producer or scope. Raises UnreadableError.
    """
    try:
        read = _decoder.decode(line)
        decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(_explain(error), _find_id(line)) from None
    except RequestRefusedError as error:
        message = f"the line cannot be read: {error}"
        raise UnreadableError(message, _find_id(line)) from None
    if isinstance(read.text, str) and not isinstance(read.body, Raw):
        return Entry(read.id, text=read.text)
    if isinstance(read.body, Raw) and not isinstance(read.text, str):
        return _read_body(read.id, bytes(read.body))
    message = "the line needs either text or body"
    raise UnreadableError(message, read.id)


def _explain(error: Exception) -> str:
    """Return what is wrong with a line, without any of its values."""
    if isinstance(error, msgspec.DecodeError):
        return f"the line is not what a scan reads: {error}"
    return "the line is nested too deeply" if isinstance(error, RecursionError) else "the line is not UTF-8"


def _find_id(line: bytes) -> Raw:
    """Return the id of a line whose other members are wrong."""
    try:
        return parse_json(line, _Id).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NO_ID


def _read_body(entry_id: Raw, raw: bytes) -> Entry:
    body = msgspec.json.decode(raw)
    if not isinstance(body, dict):
        message = "the body is no object"
        raise UnreadableError(message, entry_id)
    if _is_deep(body):
        message = f"the body is nested deeper than {MAX_DEPTH} levels"
        raise UnreadableError(message, entry_id)
    values = {f"/{escape_pointer(name)}": value for name, value in body.items() if not _is_hash(name, value)}
    scope = body.get("submission_scope")
    return Entry(entry_id, values=values, scope=scope if scope in SCOPES else None)


def _is_deep(body: dict[str, Any]) -> bool:
    """Return whether a body has more levels than a submission may have; the body is the first."""
    level: list[Any] = [body]
    for _ in range(MAX_DEPTH):
        members = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = [member for member in members if isinstance(member, dict | list)]
    return bool(level)


def _is_hash(name: str, value: Any) -> bool:
    """Return whether a member is the hash of the event, which holds nothing of its text."""
    return name == "source_event_hash" and isinstance(value, str) and HASH.fullmatch(value) is not None

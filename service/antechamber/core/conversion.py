"""Conversion of values and JSON to declared types, in any thread.

msgspec (0.22) reads the annotations of a struct when it first converts to it, and makes the unfinished result visible:
another thread that converts to the same struct meanwhile follows a null pointer, which ends the process (SIGSEGV). Each
type is therefore read under a lock before its first use.
"""

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")
_reading: Final = Lock()
_read: Final[set[Any]] = set()
"""Types whose structs, nested ones included, have been read."""


def convert(value: Any, kind: type[T], *, strict: bool = True, from_attributes: bool = False) -> T:
    """Return a value as a type; arguments and errors are those of `msgspec.convert`.

    Raises msgspec.ValidationError.
    """
    if kind not in _read:
        _prepare(kind)
    return msgspec.convert(value, kind, strict=strict, from_attributes=from_attributes)


def parse_json(raw: bytes | str, kind: type[T]) -> T:
    """Return JSON as a type.

    Raises msgspec.DecodeError, or its subclass ValidationError if the value has another type.
    """
    if kind not in _read:
        _prepare(kind)
    return msgspec.json.decode(raw, type=kind)


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a decoder of JSON to a type."""
    with _reading:
        return msgspec.json.Decoder(kind)


def _prepare(kind: Any) -> None:
    json_decoder(kind)
    _read.add(kind)

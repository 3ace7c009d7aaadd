"""Lines of the log: time, level, what happened and in which request; never a text, token or key.

A line for people ends with its fields as `name=value`; a line for programs is a JSON object. A traceback has the places
and the types of errors. The message of an error is part of it only if it cannot quote what a caller sent: that of our
own errors, of the operating system and of SQLite.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from antechamber.core.errors import AntechamberError

LogFormat = Literal["human", "json"]
REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")
"""The id of the request that is handled; empty outside of requests."""
_FIELDS: Final = "fields"
"""Name of the fields in a record of the logging module."""
_BREAKS: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127) if code != ord("\n")} | {
    code: f"\\u{code:04x}"
    for code in (*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that could change how a terminal shows a line."""


def note(log: logging.Logger, level: int, what: str, **fields: Any) -> None:
    """Log what happened, with fields that programs can read; None is left out."""
    log.log(level, what, extra={_FIELDS: {name: value for name, value in fields.items() if value is not None}})


def format_moment(seconds: float) -> str:
    """Return a time as RFC 3339 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure(form: LogFormat, level: int, stream: TextIO | None = None) -> None:
    """Write the log of this process to standard error, in one form, from a level on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(form))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("antechamber").setLevel(level)


class LineFormatter(logging.Formatter):
    """Forms a line of a record; continuation lines of a message are indented, so that no text can imitate a line."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._as_json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = format_moment(record.created)
        fields = dict(getattr(record, _FIELDS, {}))
        if request := fields.pop("request", None) or REQUEST.get():
            fields["request"] = request
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        places = list(_places(error)) if error is not None else []
        message = record.getMessage()
        if self._as_json:
            line = {"time": time, "level": record.levelname.lower(), "logger": record.name, "message": message}
            return json.dumps(line | fields | ({"traceback": places} if places else {}), default=str)
        shown = "".join(f" {name}={_shown(value)}" for name, value in fields.items())
        text = f"{message}{shown}".translate(_BREAKS)
        return f"{time} {record.levelname} " + "\n    ".join([*text.split("\n"), *places])


def _shown(value: object) -> str:
    """Return a field's value; a text with spaces or quotes is written as JSON."""
    text = str(value)
    plain = text.isprintable() and not any(character in text for character in ' "=') and text
    return text if plain else json.dumps(text)


def _places(error: BaseException | None, known: list[BaseException] | None = None) -> Iterator[str]:
    """Yield the places of a traceback and the type of each error, the first cause first; none of `known` again.

    The errors of a group come before the group.
    """
    known, chain = [] if known is None else known, list[BaseException]()
    while error is not None and error not in known:
        known.append(error)
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for one in reversed(chain):
        for member in one.exceptions if isinstance(one, BaseExceptionGroup) else ():
            yield from _places(member, known)
        for frame in traceback.extract_tb(one.__traceback__):
            yield f"{frame.filename}:{frame.lineno} in {frame.name}"
        yield describe(one)


def describe(error: BaseException) -> str:
    """Return the type of an error, and its message if that cannot quote what a caller sent."""
    name = type(error).__name__
    safe = isinstance(error, AntechamberError | OSError) or type(error).__module__ == "sqlite3"
    return f"{name}: {error}".translate(_BREAKS).replace("\n", " ") if safe else name

"""Named SQL statements, read once from the `.sql` files beside this module."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol

from blake3 import blake3

from antechamber.core.log.leaf import LeafWrite

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Split a file into its statements by their `-- name:` lines.

    Raises ValueError where two statements share a name.
    """
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        message = "two statements share a name"
        raise ValueError(message)
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}


def _scripts(*place: str) -> list[tuple[str, str]]:
    """Return name and text of the `.sql` files of one folder, by name; none where there is no such folder."""
    folder = files("antechamber.store").joinpath(*place)
    if not folder.is_dir():
        return []
    return sorted(
        (file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )


@cache
def statements(engine: str) -> dict[str, str]:
    """Return every statement by its name: the shared ones, and in their place what an engine says differently."""
    found: dict[str, str] = {}
    for _, text in _scripts("sql"):
        for name, body in parse(text).items():
            if name in found:
                message = f"statement {name} is written twice"
                raise ValueError(message)
            found[name] = body
    return found | overrides(engine)


def overrides(engine: str) -> dict[str, str]:
    """Return the statements that an engine says differently; each begins with a comment that tells why."""
    return {name: body for _, text in _scripts("sql", engine) for name, body in parse(text).items()}


def migrations(engine: str) -> list[tuple[str, str]]:
    """Return the schema's steps of one engine, its own and those of both, by number: name and SQL.

    The name ends in a digest, so that a folder made by an edited step is not taken for one made by this.
    """
    scripts = sorted(_scripts("schema", "both") + _scripts("schema", engine))
    return [(f"{name}-{blake3(text.encode()).hexdigest()[:8]}", text) for name, text in scripts]


class Statements(Protocol):
    """Named SQL statements inside one transaction or snapshot: all that an engine has to offer to the rooms above."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        """Return the first row."""

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Return all rows."""

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield rows without holding them all."""

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row for each of many sets of values."""

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Do several such look-ups, each a statement and its sets of values, that do not depend on each other."""

    def take(self, number: int) -> list[int]:
        """Return as many integer keys of submissions that nobody uses."""

    def run(self, statement: str, /, **values: Any) -> int:
        """Run a write and return how many rows it touched."""

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], order: Sequence[str], /) -> None:
        """Run an `INSERT … VALUES` for all rows; `order` names the columns by which several writers take turns."""

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""

    def log(self, leaves: Iterable[LeafWrite], /) -> None:
        """Append leaves to the log: last thing in the transaction, so that nobody waits behind its lock for long."""

    def announce(self) -> None:
        """Tell everybody who watches, after the commit, that the queue or the quarantine changed."""

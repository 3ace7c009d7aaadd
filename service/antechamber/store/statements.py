"""Named SQL statements, read once from the `.sql` files of this package."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol

from blake3 import blake3

from antechamber.core.log.rows import LeafWrite

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_INCLUDED: Final = re.compile(r"^ *-- include: (\w+)$", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Split the text of a file into its statements by their `-- name:` lines.

    Raises ValueError if two statements share a name.
    """
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        message = "two statements share a name"
        raise ValueError(message)
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}


def _scripts(*folder: str) -> list[tuple[str, str]]:
    """Return names and texts of the `.sql` files of one folder, sorted by name; none if there is no such folder."""
    directory = files("antechamber.store").joinpath(*folder)
    if not directory.is_dir():
        return []
    return sorted(
        (file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in directory.iterdir()
        if file.name.endswith(".sql")
    )


@cache
def statements(engine: str) -> dict[str, str]:
    """Return every statement by its name: the shared ones, replaced by the engine's overrides.

    A line `-- include: NAME` is replaced by the statement of that name, so that an engine can override one part, and
    several statements can share one.

    Raises ValueError if two shared statements have the same name, and KeyError if an included one does not exist.
    """
    shared: dict[str, str] = {}
    for _, text in _scripts("sql"):
        for name, body in parse(text).items():
            if name in shared:
                message = f"statement {name} is written twice"
                raise ValueError(message)
            shared[name] = body
    found = shared | overrides(engine)

    def whole(body: str) -> str:
        return _INCLUDED.sub(lambda match: whole(found[match[1]]), body)

    return {name: whole(body) for name, body in found.items()}


def overrides(engine: str) -> dict[str, str]:
    """Return the statements of one engine; each begins with a `-- Why:` comment that gives the reason."""
    return {name: body for _, text in _scripts("sql", engine) for name, body in parse(text).items()}


def migrations(engine: str) -> list[tuple[str, str]]:
    """Return name and SQL of one engine's schema steps, its own and those of both engines, sorted by number.

    The name ends in a digest of the SQL, so that a database made by an edited step is not accepted as one made by this.
    """
    scripts = sorted(_scripts("schema", "both") + _scripts("schema", engine))
    return [(f"{name}-{blake3(text.encode()).hexdigest()[:8]}", text) for name, text in scripts]


def fed(leaves: Sequence[LeafWrite]) -> list[dict[str, Any]]:
    """Return what leaves add to the change feed, for the statement `add_change`, once they end the log."""
    return [{"back": len(leaves) - place, **leaf.feed._asdict()} for place, leaf in enumerate(leaves, 1) if leaf.feed]


class Statements(Protocol):
    """Named SQL statements inside one transaction or snapshot: what an engine must implement."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        """Return the first row, or None."""

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Return all rows."""

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield rows without loading all of them into memory."""

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row, or None, for each of many sets of values."""

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Run several independent look-ups, each a statement with its sets of values; return a list for each."""

    def take(self, number: int) -> list[int]:
        """Return this many unused integer keys of submissions."""

    def run(self, statement: str, /, **values: Any) -> int:
        """Run a write and return the number of affected rows."""

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], order: Sequence[str], /) -> None:
        """Run an `INSERT … VALUES` for all rows, sorted by the columns `order` so that writers do not deadlock."""

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""

    def append_leaves(self, leaves: Iterable[LeafWrite], /) -> None:
        """Append leaves to the log at the end of the transaction, so that its lock is held only briefly."""

    def announce(self) -> None:
        """Notify all watchers, after the commit, that the queue or the quarantine changed."""

    def write_through(self) -> None:
        """Have the database's own file hold this transaction soon after the commit, not only the log beside it."""

    def drop_old_pages(self) -> None:
        """Remove what this transaction deleted from the engine's files soon after the commit, as far as it can."""

    def rewrite_files(self) -> None:
        """Write the engine's files again soon after the commit, without what earlier transactions deleted."""

    def check_files(self) -> Iterator[str]:
        """Yield what the engine itself finds broken in its files or schema."""

    def check_schema(self) -> Iterator[str]:
        """Yield the triggers, and what else guards or presents the rows, that are not those of this version."""

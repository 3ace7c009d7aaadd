"""Named SQL statements, read once from the `.sql` files beside this module."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

from blake3 import blake3

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

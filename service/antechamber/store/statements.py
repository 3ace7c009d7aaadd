"""Named SQL statements, read once from the `.sql` files beside this module."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

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


@cache
def statements() -> dict[str, str]:
    """Return every shared statement by its name."""
    found: dict[str, str] = {}
    for file in sorted(files("antechamber.store").joinpath("sql").iterdir(), key=lambda file: file.name):
        for name, body in parse(file.read_text(encoding="utf-8")).items():
            if name in found:
                message = f"statement {name} is written twice"
                raise ValueError(message)
            found[name] = body
    return found


def migrations(engine: str) -> list[tuple[str, str]]:
    """Return the schema's steps of one engine, by number: file name without ending, and SQL."""
    folder = files("antechamber.store").joinpath("schema", engine)
    return [
        (file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]

"""Output of stored and received texts: exact for files and programs, and without what a terminal would obey for people.

Escape sequences, other control characters and invisible ones that reorder a line are escaped on a terminal alone.
"""

import re
import sys
from collections.abc import Callable
from typing import Final

import click

_DOUBTFUL: Final = re.compile(r"\r\n|[^\x20-\x7e\t\n]")


def escape(text: str) -> str:
    r"""Return a text with `\x1b`, `\u202e` and the like in place of each character that is not printed as itself."""
    return _DOUBTFUL.sub(lambda match: _escaped(match[0], lambda one: ascii(one)[1:-1]), text)


def escape_json(text: str) -> str:
    r"""Return JSON of the same value, with `\u001b`, `\u202e` and the like for what is not printed as itself."""
    return _DOUBTFUL.sub(lambda match: _escaped(match[0], _in_json), text)


def _escaped(found: str, form: Callable[[str], str]) -> str:
    return found if found == "\r\n" or found.isprintable() else form(found)


def _in_json(character: str) -> str:
    raw = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text; on a terminal it is escaped."""
    stream = sys.stderr if err else sys.stdout
    click.echo(escape(text) if stream.isatty() else text, err=err, nl=nl)


def say_json(text: str) -> None:
    """Print JSON; on a terminal it is escaped, and stays JSON of the same value."""
    click.echo(escape_json(text) if sys.stdout.isatty() else text)

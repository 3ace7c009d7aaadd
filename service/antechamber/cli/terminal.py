"""Output of stored and received texts: exact for files and programs, and without what a terminal would obey for people.

Escape sequences, other control characters and invisible ones that reorder a line are escaped on a terminal alone.
Standard streams that are closed or full end no command with a traceback.
"""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

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


class Program(click.Group):
    """A group of commands that may run with closed standard streams, and explains an output that takes no more."""

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the call; this prints help and version.

        Raises click.ClickException if the output cannot be written.
        """
        open_closed_streams()
        with _explained_output():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was called.

        Raises click.ClickException if the output cannot be written.
        """
        with _explained_output():
            return super().invoke(ctx)


@contextlib.contextmanager
def _explained_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE or not _comes_from_output(error):
            raise
        _drop_what_is_buffered()
        message = f"the output cannot be written: {error.strerror}. Anything that the command changed stays changed"
        raise click.ClickException(message) from None


def open_closed_streams() -> None:
    """Open /dev/null for each standard stream that is closed; else the next file that is opened would be the stream."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 -- standard error
        os.set_inheritable(descriptor, True)  # noqa: FBT003 -- takes no keyword
    os.close(descriptor)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 -- open while the program runs
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _comes_from_output(error: OSError) -> bool:
    """Return whether click.echo raised the error, and no other file."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code is click.echo.__code__


def _drop_what_is_buffered() -> None:
    """Send the rest of the output to /dev/null, because Python tries to write it once more at the end."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

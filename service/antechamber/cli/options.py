"""Options and output functions that all verbs share."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast

import click
import msgspec

from antechamber.cli.terminal import escape, say_json
from antechamber.core.errors import AntechamberError
from antechamber.settings import Location

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

_data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ANTECHAMBER_DATA",
    show_envvar=True,
    required=True,
    help="Folder with the secret and, without --database-url, the database; made by init, serve, migrate. Back it up.",
)
_url_option = click.option(
    "--database-url",
    envvar="ANTECHAMBER_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="PostgreSQL database instead of the folder's own, e.g. postgresql://user@host/name.",
)
_checkpoint_option = click.option(
    "--checkpoint-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="ANTECHAMBER_CHECKPOINT_FILE",
    show_envvar=True,
    help="Where the last signed checkpoint is kept, best outside the folder and its backup. Default: in the folder.",
)


def location_options(verb: _Verb) -> _Verb:
    """Add --data, --database-url and --checkpoint-file to a verb, as one argument `location`.

    Files that the verb creates belong to their owner alone.
    """

    @functools.wraps(verb)
    def with_place(*, data: Path, database_url: str | None, checkpoint_file: Path | None, **others: Any) -> Any:
        before = os.umask(0o077)
        try:
            return verb(
                location=Location(data=data, database_url=database_url, checkpoint_file=checkpoint_file), **others
            )
        finally:
            os.umask(before)

    return cast("_Verb", _data_option(_url_option(_checkpoint_option(with_place))))


service_option: Final = click.option(
    "--url",
    default="http://127.0.0.1:8080",
    show_default=True,
    envvar="ANTECHAMBER_URL",
    show_envvar=True,
    help="Address of the service.",
)
ledger_option: Final = click.option(
    "--ledger",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="ANTECHAMBER_LEDGER",
    show_envvar=True,
    required=True,
    help="File in which an agent records everything before it is sent; made at its first use.",
)


def policies_option(what: str) -> Callable[[_Verb], _Verb]:
    """Return the option --policies, whose help says what the folder is for."""
    return click.option(
        "--policies",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="ANTECHAMBER_POLICIES",
        show_envvar=True,
        help=what,
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")


def fail(error: Exception) -> NoReturn:
    """End the program with a text that states what to do."""
    raise click.ClickException(escape(str(error)) if sys.stderr.isatty() else str(error))


def own_token() -> str:
    """Return the token in the environment, or end the program with a hint how to get one."""
    token = os.environ.get("ANTECHAMBER_TOKEN", "")
    if not token:
        fail(AntechamberError("set ANTECHAMBER_TOKEN to a producer's token; see: antechamber token issue --help"))
    return token


def show(value: Any) -> None:
    """Print a value as JSON."""
    say_json(msgspec.json.encode(value).decode())

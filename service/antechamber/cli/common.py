"""What all verbs share: options, and how they speak."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast

import click
import msgspec

from antechamber.config import Place

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

_data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ANTECHAMBER_DATA",
    required=True,
    help="Folder that holds the secret and, without --database-url, the database; made at first use. Back it up.",
)
_url_option = click.option(
    "--database-url",
    envvar="ANTECHAMBER_DATABASE_URL",
    metavar="URL",
    help="PostgreSQL database instead of the folder's own, e.g. postgresql://user@host/name.",
)


def place_options(verb: _Verb) -> _Verb:
    """Let a verb take --data and --database-url as one argument, `place`."""

    @functools.wraps(verb)
    def with_place(*, data: Path, database_url: str | None, **others: Any) -> Any:
        return verb(place=Place(data=data, database_url=database_url), **others)

    return cast("_Verb", _data_option(_url_option(with_place)))


TOKEN_ADVICE: Final = "set ANTECHAMBER_TOKEN to a producer's token; see: antechamber token issue --help"  # noqa: S105 -- none
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")


def fail(error: Exception) -> NoReturn:
    """End with a text that says what to do."""
    raise click.ClickException(str(error))


def show(value: Any) -> None:
    """Print JSON."""
    click.echo(msgspec.json.encode(value).decode())

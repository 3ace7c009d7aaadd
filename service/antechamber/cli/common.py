"""What all verbs share: options, and how they speak."""

from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ANTECHAMBER_DATA",
    required=True,
    help="Folder that holds the database and the secret; made at first use. Back up this folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")


def fail(error: Exception) -> NoReturn:
    """End with a text that says what to do."""
    raise click.ClickException(str(error))


def show(value: Any) -> None:
    """Print JSON."""
    click.echo(msgspec.json.encode(value).decode())

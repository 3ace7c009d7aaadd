"""The verb for the first run: a data folder with a policy."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from antechamber.app.first_run import refuse_used, write_first_policy
from antechamber.cli.options import fail, json_option, show
from antechamber.core.errors import AntechamberError, PolicyError
from antechamber.core.first_policy import check_owner, check_producer, check_scope, write_producers


@click.command()
@click.argument("data", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--owner", "owners", multiple=True, help="Person who answers for the producers; repeat it for one for each."
)
@click.option("--producer", "producers", multiple=True, metavar="KIND:NAME", help="Who may propose; repeatable.")
@click.option(
    "--scope", "scopes", multiple=True, metavar="KIND:ID", help="Where all of them propose and read; repeatable."
)
@json_option
def init(
    data: Path, owners: tuple[str, ...], producers: tuple[str, ...], scopes: tuple[str, ...], *, as_json: bool
) -> None:
    """Make the folder DIR with a policy: who may propose memories, and where.

    On a terminal it asks for what is not given as an option. The policy is in DIR/policies; `serve --data DIR` uses it
    unless --policies names another one. A folder that holds anything is refused.

    \b
    Example:
      antechamber init data --owner ada --producer worker:release-bot --scope project:apollo
      antechamber serve --data data
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        refuse_used(data)
        owners = owners or _ask("Owner, the person who answers for the producers", "--owner", check_owner)
        producers = producers or _ask("Producers, e.g. worker:release-bot", "--producer", check_producer)
        scopes = scopes or _ask("Scopes, e.g. project:apollo", "--scope", check_scope)
        folder, policy = write_first_policy(data, write_producers(owners, producers, scopes))
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"policies": str(folder), "digest": policy.digest(), "producers": list(policy.producers)})
        return
    click.echo(f"Wrote {folder / 'producers.toml'}. Next:")
    click.echo(f"  antechamber serve --data {data}")
    click.echo(f"  antechamber user add NAME --role curator --data {data}")
    for producer in policy.producers:
        click.echo(f"  antechamber token issue {producer} --data {data}")
    names = ", ".join(dict.fromkeys(producer.owner for producer in policy.producers.values()))
    click.echo(f"Owners do not judge proposals of their own producers: a curator other than {names} decides.")


def _ask(question: str, option: str, check: Callable[[str], str]) -> tuple[str, ...]:
    """Ask for one or more values, separated by commas or blanks, until all are valid.

    Raises PolicyError without a terminal.
    """
    if not sys.stdin.isatty():
        message = f"{option} is missing; without a terminal nothing is asked"
        raise PolicyError(message)

    def valid(text: str) -> tuple[str, ...]:
        try:
            # Only names of persons hold blanks.
            words = text.split(",") if check is check_owner else text.replace(",", " ").split()
            return tuple(check(word) for word in words) or (check(text),)
        except PolicyError as error:
            raise click.BadParameter(str(error)) from None

    answer: tuple[str, ...] = click.prompt(question, value_proc=valid)
    return answer

"""The command line: one verb per job, help that teaches, JSON where a program reads it."""

import importlib
import logging
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final, cast

import click

from antechamber import __version__

_VERBS: Final = {
    "doctor": "service.doctor",
    "erase": "audit.erase",
    "export": "audit.export",
    "hash": "agents.hash_file",
    "ledger": "ledgers.ledger",
    "log": "audit.log",
    "mcp": "mcp.mcp",
    "migrate": "service.migrate",
    "policy": "service.policy",
    "recover": "ledgers.recover",
    "serve": "service.serve",
    "submit": "agents.submit",
    "token": "people.token",
    "user": "people.user",
    "verify": "audit.verify",
}
"""Where each verb is."""


class Verbs(Mapping[str, click.Command]):
    """The verbs, each imported when it is asked for: none waits for what only another one needs."""

    def __getitem__(self, verb: str) -> click.Command:
        """Import a verb.

        Raises KeyError where there is none of that name.
        """
        module, _, name = _VERBS[verb].partition(".")
        found: click.Command = getattr(importlib.import_module(f"antechamber.cli.{module}"), name)
        return found

    def __iter__(self) -> Iterator[str]:
        """Name all verbs."""
        return iter(_VERBS)

    def __len__(self) -> int:
        """Count the verbs."""
        return len(_VERBS)


@click.group(
    # Nobody adds to it.
    commands=cast("MutableMapping[str, click.Command]", Verbs()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="antechamber")
def main() -> None:
    """Antechamber: what worker agents want remembered waits here until a curator decides.

    \b
    A first round, in three terminals or with scripts/demo:
      antechamber serve --data data
      antechamber user add ada --role curator --data data       prints a sign-in link
      antechamber token issue worker:release-bot --data data    prints a token
      ANTECHAMBER_TOKEN=… antechamber submit events.jsonl
    """  # noqa: D301 -- the character by which click leaves a paragraph as it is
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

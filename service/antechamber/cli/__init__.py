"""The command line: one verb per job, with help texts, and JSON output for programs."""

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final, cast

import click

from antechamber import __version__
from antechamber.cli.terminal import Program
from antechamber.logs import configure
from antechamber.permanence import permanent

_VERBS: Final = {
    "backup": "backups.backup",
    "calibrate": "calibration.calibrate",
    "demo": "demo.demo",
    "doctor": "service.doctor",
    "erase": "audit.erase",
    "export": "audit.export",
    "guard": "guard.guard",
    "hash": "agents.hash_file",
    "init": "first_run.init",
    "ledger": "ledgers.ledger",
    "log": "audit.log",
    "mcp": "mcp.mcp",
    "memories": "memories.memories",
    "migrate": "service.migrate",
    "policy": "policies.policy",
    "recover": "ledgers.recover",
    "retention": "retention.retention",
    "scan": "scans.scan",
    "serve": "service.serve",
    "submit": "agents.submit",
    "token": "people.token",
    "user": "people.user",
    "verify": "audit.verify",
    "webhook": "webhooks.webhook",
}
"""Module and name of each verb."""


class Verbs(Mapping[str, click.Command]):
    """The verbs, each imported on first use, so that none waits for imports of another."""

    def __getitem__(self, verb: str) -> click.Command:
        """Import a verb.

        Raises KeyError if there is none of that name.
        """
        module, _, name = _VERBS[verb].partition(".")
        path = f"antechamber.cli.{module}"
        if path not in sys.modules:
            with permanent():
                importlib.import_module(path)
        command: click.Command = getattr(sys.modules[path], name)
        return command

    def __iter__(self) -> Iterator[str]:
        """Return the names of all verbs."""
        return iter(_VERBS)

    def __len__(self) -> int:
        """Return the number of verbs."""
        return len(_VERBS)


@click.group(
    cls=Program,
    epilog="Exit status: 0 if it is done; 1 if something was refused, failed or found, which the text explains; 2 if "
    "the call is wrong. A command with further statuses lists them.",
    # click never adds a command to it.
    commands=cast("MutableMapping[str, click.Command]", Verbs()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="antechamber")
def main() -> None:
    """Antechamber: what worker agents want remembered waits here until a curator decides.

    \b
    A first round, in three terminals or with antechamber demo:
      antechamber init data        asks for owner, producers and scopes
      antechamber serve --data data
      antechamber user add ada --role curator --data data       prints a sign-in link
      antechamber token issue worker:release-bot --data data    prints a token
      ANTECHAMBER_TOKEN=… antechamber submit events.jsonl

    All documents are at /help of the running service, for people who signed in and for agents with a token.
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    configure("human", logging.WARNING)
    # Migrations and erasures are logged by the verb that makes them.
    logging.getLogger("antechamber.app").setLevel(logging.INFO)

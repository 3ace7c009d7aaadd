"""The command line: one verb per job, help that teaches, JSON where a program reads it."""

import logging

import click

from antechamber import __version__
from antechamber.cli import agents, audit, ledgers, mcp, people, service


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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


for command in (
    service.serve,
    service.migrate,
    people.token,
    people.user,
    agents.submit,
    agents.hash_file,
    ledgers.recover,
    ledgers.ledger,
    mcp.mcp,
    service.policy,
    audit.export,
    audit.verify,
    audit.log,
    audit.erase,
    service.doctor,
):
    main.add_command(command)

"""The command line of scripts/prove."""

import signal
import sys

import click

from proofs import together


class Proofs(click.Group):
    """The proofs as commands; a run imports only its own proof, and a help text all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all proofs, and the one that runs all of them."""
        del ctx
        return [*together.PROOFS, "all"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name; None if there is none."""
        del ctx
        if cmd_name == "all":
            return together.command
        if cmd_name not in together.PROOFS:
            return None
        command: click.Command = together.load(cmd_name).command
        return command


@click.group(cls=Proofs, context_settings={"help_option_names": ["-h", "--help"]})
def prove() -> None:
    """Break on purpose what may break, and count whether every promise holds.

    Each proof ends with its closing numbers and has status 1 where a promise broke or too little was tried. Progress
    goes to standard error. A proof fails with --sabotage, so that one sees that it notices.
    """
    # What ends a proof also ends the services that it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


if __name__ == "__main__":
    prove(prog_name="scripts/prove")

"""The command line of scripts/prove."""

import click

from proofs import together


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def prove() -> None:
    """Break on purpose what may break, and count whether every promise holds.

    Each proof ends with its closing numbers and has status 1 where a promise broke or too little was tried. Progress
    goes to standard error. A proof fails with --sabotage, so that one sees that it notices.
    """


for name, proof in together.PROOFS.items():
    prove.add_command(proof.command, name)
prove.add_command(together.command, "all")

if __name__ == "__main__":
    prove(prog_name="scripts/prove")

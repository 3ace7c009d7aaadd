"""Runs the command line as `python -m antechamber.cli`."""

from antechamber.cli import main

main()

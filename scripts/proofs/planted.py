"""A plugin of pytest that plants a mistake, so that one sees that a part of the tests notices it.

The variable PLANTED names the part.
"""

import os
import subprocess
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext

import proving
import support
from antechamber.store.postgres.statements import PostgresStatements

_PATIENCE: Final = 5
"""Seconds after which a page counts as hung, because those without scripts never become ready for keys."""


def _reverse_rows() -> None:
    """Reverse the rows of each look-up on PostgreSQL."""
    rows = PostgresStatements.all

    def reversed_rows(self: PostgresStatements, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        return rows(self, statement, **values)[::-1]

    PostgresStatements.all = reversed_rows  # type: ignore[method-assign]


def _leave_scripts_out() -> None:
    """Switch scripts off in every window."""
    support.HANG_SECONDS = _PATIENCE
    window = Browser.new_context

    def without_scripts(self: Browser, **options: Any) -> BrowserContext:
        return window(self, **options | {"java_script_enabled": False})

    Browser.new_context = without_scripts  # type: ignore[method-assign]


def _sabotage_nothing() -> None:
    """Take away the option with which the tests sabotage a proof."""
    run = proving.run

    def unharmed(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(*(argument for argument in arguments if argument != "--sabotage"))

    proving.run = unharmed


# The plugin is imported before the tests, which take names from the changed modules.
{"repeats": _reverse_rows, "journeys": _leave_scripts_out, "alarms": _sabotage_nothing}[os.environ["PLANTED"]]()

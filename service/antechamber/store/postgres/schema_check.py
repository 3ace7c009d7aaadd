"""Comparison of the triggers of a PostgreSQL database, and of their functions, with those that its migrations make.

The server writes the definition of a trigger in a form of its own, so that both are compared by their parts.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from antechamber.store.statements import migrations

_TRIGGER: Final = re.compile(
    r"CREATE TRIGGER (?P<name>\w+) (?P<time>BEFORE|AFTER) (?P<events>.*?) ON (?P<table>\w+) "
    r"FOR EACH (?P<level>ROW|STATEMENT) (?:WHEN \((?P<condition>.*)\) )?EXECUTE FUNCTION (?P<call>.*)"
)
_MADE: Final = re.compile(r"^CREATE TRIGGER [^;]*(?=;$)", re.MULTILINE)
_FUNCTION: Final = re.compile(
    r"^CREATE (?:OR REPLACE )?FUNCTION antechamber\.(\w+)\([^$]*?AS \$\$(.*?)\$\$", re.DOTALL | re.MULTILINE
)
Trigger = tuple[str, ...]


def compare_triggers(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield each trigger or rule that is missing, planted, or not that of this version.

    The rows of `found` have `relation`, `name`, `definition`, `function` and `source`; a rule has no function.
    """
    wanted, functions = _wanted()
    rows = {(row["relation"], row["name"]): row for row in found}
    for relation, name in sorted(rows.keys() | wanted.keys()):
        row = rows.get((relation, name))
        what = f"trigger {name} on {relation}" if row is None or row["function"] else f"rule {name} on {relation}"
        if row is None:
            yield f"{what} is missing from the schema"
        elif (relation, name) not in wanted:
            yield f"{what} does not belong to the schema"
        elif _parts(row["definition"]) != wanted[relation, name] or functions.get(row["function"]) != row["source"]:
            yield f"{what} differs from that of the schema"


@cache
def _wanted() -> tuple[dict[tuple[str, str], Trigger], dict[str, str]]:
    """Return the parts of each trigger that the migrations make, by table and name, and the texts of functions."""
    triggers: dict[tuple[str, str], Trigger] = {}
    functions: dict[str, str] = {}
    for _, script in migrations("postgres"):
        functions |= dict(_FUNCTION.findall(script))
        for text in _MADE.findall(script):
            parts = _parts(text)
            triggers[parts[2], parts[0]] = parts
    return triggers, functions


def _parts(definition: str) -> Trigger:
    """Return name, time, table, level, events, condition and call of a trigger; nothing of what is none of ours."""
    match = _TRIGGER.fullmatch(" ".join(definition.replace("antechamber.", "").split()))
    if match is None:
        return ()
    events = sorted(" ".join(sorted(event.replace(",", " ").split())) for event in match["events"].split(" OR "))
    condition = re.sub(r"[()]|::\w+", "", match["condition"] or "").lower()
    return (match["name"], match["time"], match["table"], match["level"], *events, condition, match["call"])

"""Store what the patterns of the shipped rules need, so that no start of a process has to read these patterns.

Run it after a change of a shipped rule, or of how patterns are read.
"""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from antechamber.core.privacy.patterns.literals import Needs, Words, needs_of
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.search import stored_needs
from antechamber.core.privacy.search.rule_needs import context_of, needs_of_rule, shapes_of_rule
from antechamber.core.privacy.search.shapes import shapes_needed
from antechamber.core.privacy.search.stored_needs import StoredNeeds, key_of
from antechamber.policy_files import read_policy
from antechamber.resources import folder

FILE: Final = Path(stored_needs.__file__).with_name(stored_needs.FILE)
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


def main() -> None:
    """Read the patterns of all shipped rules, and write the file."""
    argparse.ArgumentParser(prog="scripts/store_needs", description=__doc__).parse_args()
    found = read_rules(read_policy(folder("policies")).gate.rules)
    # A run that is interrupted leaves the old file.
    new = FILE.with_suffix(".new")
    new.write_bytes(b'{"needs": %b,\n"shapes": %b}\n' % (_lines(found.needs), _lines(found.shapes)))
    new.replace(FILE)
    print(f"{FILE.name}: the needs of {len(found.needs):,} patterns, and the shapes of {len(found.shapes):,}")


def read_rules(rules: Iterable[Rule]) -> StoredNeeds:
    """Return what the patterns of some rules need, from the patterns themselves."""
    found = StoredNeeds({}, {})

    def needs(pattern: str) -> Needs:
        return found.needs.setdefault(key_of(pattern), needs_of(pattern))

    def shapes(pattern: str, *, bounded: bool) -> Words | None:
        return found.shapes.setdefault(key_of(pattern, bounded=bounded), shapes_needed(pattern, bounded=bounded))

    for rule in rules:
        if needs_of_rule(rule, needs).literals is None and not context_of(rule):
            shapes_of_rule(rule, shapes)
    return found


def _lines(entries: Mapping[str, Any]) -> bytes:
    """Return a JSON object with one line for each member, so that a change of a rule changes few lines."""
    return b"{\n%b\n}" % b",\n".join(b"%b: %b" % (_ENCODE(key), _ENCODE(entries[key])) for key in sorted(entries))


if __name__ == "__main__":
    main()

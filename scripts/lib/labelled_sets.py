"""Labelled sets for the detectors: secrets, personal data, hostile and hidden text, and harmless texts.

All texts are made at run time from a seed, from vendors' documented formats and without knowledge of the rules.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from lib.labelled import (
    benign_texts,
    disclosed_texts,
    encoded_texts,
    held_out_texts,
    hostile_texts,
    personal_texts,
    prose_texts,
    secret_texts,
)
from lib.labelled.recipes import Labelled

SEED: Final = 18
NUMBERS: Final = 100
"""Harmless identifiers of each kind, unless more are wanted."""
SETS: Final[dict[str, Callable[[random.Random], Iterator[Labelled]]]] = {
    "prefixed": secret_texts.make_prefixed,
    "unprefixed": secret_texts.make_unprefixed,
    "private-keys": secret_texts.make_private_keys,
    "assignments": secret_texts.make_assignments,
    "sentences": secret_texts.make_sentences,
    "held-out": secret_texts.make_held_out,
    "held-out-2": held_out_texts.make_held_out_2,
    "held-out-3": held_out_texts.make_held_out_3,
    "encodings": encoded_texts.make_encoded,
    "email": personal_texts.make_emails,
    "card": personal_texts.make_cards,
    "iban": personal_texts.make_ibans,
    "national-id": personal_texts.make_national_ids,
    "network": personal_texts.make_networks,
    "phone": personal_texts.make_phones,
    "details": personal_texts.make_personal_details,
    "hostile": hostile_texts.make_hostile,
    "hostile-members": hostile_texts.make_hostile_members,
    "disguised": hostile_texts.make_disguised,
    "held-out-prose": prose_texts.make_held_out_prose,
    "held-out-disclosed-secrets": disclosed_texts.make_held_out_disclosed_secrets,
    "benign": benign_texts.make_benign,
}
"""The maker of each set by its name."""


def make_sets(names: list[str] | None = None, seed: int = SEED, numbers: int = NUMBERS) -> Iterator[Labelled]:
    """Yield the texts of the named sets, or of all; the same ones for the same seed.

    `numbers` is how many harmless identifiers of each kind there are.
    """
    for name in names or SETS:
        rng = random.Random(f"{seed} {name}")  # noqa: S311 -- repeatable on purpose
        yield from benign_texts.make_benign(rng, numbers) if name == "benign" else SETS[name](rng)


def main() -> None:
    """Print sets as NDJSON."""
    parser = argparse.ArgumentParser(prog="lib.labelled_sets", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"sets to print: {', '.join(SETS)}; default: all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--numbers", type=int, default=NUMBERS, help="harmless identifiers of each kind")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sets if name not in SETS]
    if unknown:
        parser.error(f"no set is called {unknown[0]}")
    for one in make_sets(arguments.sets, arguments.seed, arguments.numbers):
        sys.stdout.buffer.write(msgspec.json.encode(one) + b"\n")


if __name__ == "__main__":
    main()

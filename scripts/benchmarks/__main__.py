"""Measurements of Antechamber beside what a user can pick instead; each section starts all that it compares.

Figures are ratios within one run on one machine, medians over the rounds with their spread. Progress goes to standard
error; standard output holds a table, or JSON lines with --json: one for each measurement, then one for each side.
"""

import argparse
import sys
import textwrap
from collections.abc import Callable
from typing import Any, Final

from benchmarks import (
    audit,
    batch,
    cell,
    desk,
    engines,
    gate,
    growth,
    hostile,
    keys,
    ledger,
    lock,
    log,
    metrics,
    others,
    overload,
    search,
    single,
    storm,
)

SECTIONS: Final[dict[str, tuple[str, Callable[..., bool]]]] = {
    "single": ("submissions one by one beside a typed Litestar POST that stores nothing", single.run),
    "batch": ("NDJSON of 1,000 lines beside single submissions and a bare executemany", batch.run),
    "storm": ("a hundred retries of each of a thousand keys beside first submissions", storm.run),
    "peers": ("single submissions beside Redis, PostgreSQL, DBOS and two services, all durable", others.run),
    "growth": ("the same load on stores of 10,000 and a million submissions, or of --rows", growth.run),
    "overload": ("a thousand connections with bodies of 60 kB: what is refused, and memory", overload.run),
    "desk": ("pages of the desk with a million proposals that wait, on both engines", desk.run),
    "keys": ("from the key of a decision until the next page takes keys, in Chromium", keys.run),
    "search": ("what search finds on the labelled set, and how fast it is on large stores", search.run),
    "audit": ("a log of a million leaves: its export, its proofs and the verifier, on both engines", audit.run),
    "log": ("submissions with the log beside the same service without it, on both engines", log.run),
    "lock": ("1, 2 and 4 processes over one PostgreSQL beside the same without the lock of the log", lock.run),
    "cell": ("what cells without work take of a machine", cell.run),
    "metrics": ("submissions with metrics beside the same service without them, on both engines", metrics.run),
    "ledger": ("what an agent's write-ahead ledger costs, and how it recovers 100,000 operations", ledger.run),
    "engines": ("1, 2 and 4 processes over one PostgreSQL beside FastAPI with a unique key", engines.run),
    "gate": ("the scan of events by size, and the most expensive texts that a search finds", gate.run),
    "hostile": ("how long an agent waits while one caller attacks, by KIND of attack", hostile.run),
}
QUICK: Final = "single"
"""The section for --quick without a name: the service and the no-op, in less than a minute."""


def positive(text: str) -> int:
    """Parse an integer of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        message = f"{text} is no whole number from 1"
        raise argparse.ArgumentTypeError(message)
    return number


def _sizes(text: str) -> list[int]:
    """Parse sizes such as 10k and 1M."""
    units = {"k": 1_000, "M": 1_000_000}
    try:
        sizes = [int(one.rstrip("kM")) * units.get(one[-1:], 1) for one in text.split(",")]
        return [positive(str(one)) for one in sizes]
    except (ValueError, argparse.ArgumentTypeError):
        message = f"{text} is no list of sizes such as 10k,1M,10M"
        raise argparse.ArgumentTypeError(message) from None


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<12}{text}" for name, (text, _) in SECTIONS.items())
    kinds = textwrap.fill(", ".join(hostile.KINDS), 100, initial_indent="  ", subsequent_indent="  ")
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=f"{__doc__}\n\nsections, all of them unless one is named:\n{listed}\n\nkinds of attack:\n{kinds}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", nargs="?", choices=SECTIONS, help="what to measure")
    parser.add_argument("--quick", action="store_true", help=f"fewer sides and rounds; without a section, {QUICK}")
    parser.add_argument("--rounds", type=positive, help="how often everything is measured; 5 by default")
    parser.add_argument("--rows", type=_sizes, help="sizes for growth, as in 10k,1M,10M")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    attack = parser.add_argument_group("hostile")
    attack.add_argument("kinds", nargs="*", metavar="KIND", help="kinds of attack, all of them unless some are named")
    attack.add_argument("--connections", type=positive, help=f"hostile connections; {hostile.CONNECTIONS:,} by default")
    attack.add_argument("--sign-ins", type=positive, help=f"sign-ins at once; {hostile.SIGN_INS} by default")
    attack.add_argument("--seconds", type=positive, help=f"length of each attack; {hostile.SECONDS} by default")
    return parser


def _named(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """Return the sections to run; an option that belongs to one section selects it."""
    of_hostile = [arguments.kinds, arguments.connections, arguments.sign_ins, arguments.seconds]
    for section, given, what in (
        ("growth", bool(arguments.rows), "--rows"),
        ("hostile", any(of_hostile), "KIND, --connections, --sign-ins and --seconds"),
    ):
        if given:
            arguments.section = arguments.section or section
            if arguments.section != section:
                parser.error(f"to {section} alone: {what}")
    if unknown := set(arguments.kinds) - set(hostile.KINDS):
        parser.error(f"no kind of attack: {', '.join(sorted(unknown))}; known are {', '.join(hostile.KINDS)}")
    return [arguments.section] if arguments.section else [QUICK] if arguments.quick else list(SECTIONS)


def main() -> None:
    """Run one section or all; exit with 1 if a measurement failed."""
    parser = _parser()
    arguments = parser.parse_args()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    names = _named(parser, arguments)
    how = {"quick": arguments.quick, "as_json": arguments.json, "tell": tell}
    attack = hostile.Attack(*(getattr(arguments, name) for name in hostile.Attack._fields))
    more: dict[str, dict[str, Any]] = {"growth": {"rows": arguments.rows or ()}, "hostile": {"attack": attack}}
    done = [SECTIONS[name][1](arguments.rounds, **how, **more.get(name, {})) for name in names]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()

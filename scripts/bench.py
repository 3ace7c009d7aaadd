"""Measurements of Antechamber beside what a user would pick instead; each section starts all that it compares.

Figures are ratios within one run on one machine, medians over the rounds with their spread. Progress goes to standard
error; standard output holds a table, or JSON lines with --json: one for each measurement, then one for each side.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Final

import bench_audit
import bench_batch
import bench_desk
import bench_engines
import bench_growth
import bench_ledger
import bench_log
import bench_others
import bench_overload
import bench_single
import bench_storm

SECTIONS: Final[dict[str, tuple[str, Callable[..., bool]]]] = {
    "single": ("submissions one by one beside a typed Litestar POST that stores nothing", bench_single.run),
    "batch": ("NDJSON of 1,000 lines beside single submissions and a bare executemany", bench_batch.run),
    "storm": ("a hundred retries of each of a thousand keys beside first submissions", bench_storm.run),
    "peers": ("single submissions beside Redis, PostgreSQL, DBOS and two services, all durable", bench_others.run),
    "growth": ("the same load on stores of 10,000 and a million submissions, or of --rows", bench_growth.run),
    "overload": ("a thousand connections with bodies of 60 kB: what is refused, and memory", bench_overload.run),
    "desk": ("pages of the desk with a million proposals that wait, on both engines", bench_desk.run),
    "audit": ("a log of a million leaves: its export, its proofs and the verifier, on both engines", bench_audit.run),
    "log": ("submissions with the log beside the same service without it, on both engines", bench_log.run),
    "ledger": ("what an agent's write-ahead ledger costs, and how it recovers 100,000 operations", bench_ledger.run),
    "engines": ("1, 2 and 4 processes over one PostgreSQL beside FastAPI with a unique key", bench_engines.run),
}
QUICK: Final = "single"
"""The section of --quick without a name: ours and the no-op, less than a minute."""


def positive(text: str) -> int:
    """Read a whole number from 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        message = f"{text} is no whole number from 1"
        raise argparse.ArgumentTypeError(message)
    return number


def _sizes(text: str) -> list[int]:
    """Read sizes such as 10k and 1M."""
    units = {"k": 1_000, "M": 1_000_000}
    try:
        sizes = [int(one.rstrip("kM")) * units.get(one[-1:], 1) for one in text.split(",")]
        return [positive(str(one)) for one in sizes]
    except (ValueError, argparse.ArgumentTypeError):
        message = f"{text} is no list of sizes such as 10k,1M,10M"
        raise argparse.ArgumentTypeError(message) from None


def main() -> None:
    """Run one section or all; exit 1 where something could not be measured."""
    listed = "\n".join(f"  {name:<12}{text}" for name, (text, _) in SECTIONS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=f"{__doc__}\n\nsections, all of them unless one is named:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", nargs="?", choices=SECTIONS, help="what to measure")
    parser.add_argument("--quick", action="store_true", help=f"fewer sides and rounds; without a section, {QUICK}")
    parser.add_argument("--rounds", type=positive, help="how often everything is measured; 5 by default")
    parser.add_argument("--rows", type=_sizes, help="sizes for growth, as in 10k,1M,10M")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    arguments = parser.parse_args()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if arguments.rows:
        arguments.section = arguments.section or "growth"
        if arguments.section != "growth":
            parser.error(f"--rows belongs to growth, not to {arguments.section}")
    names = [arguments.section] if arguments.section else [QUICK] if arguments.quick else list(SECTIONS)
    how = {"quick": arguments.quick, "as_json": arguments.json, "tell": tell}
    done = []
    for name in names:
        more = {"rows": arguments.rows or ()} if name == "growth" else {}
        done.append(SECTIONS[name][1](arguments.rounds, **how, **more))
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()

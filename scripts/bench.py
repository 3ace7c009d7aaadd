"""Measurements of Antechamber beside what a user would pick instead; each section starts all that it compares.

Figures are ratios within one run on one machine, medians over the rounds with their spread. Progress goes to standard
error; standard output holds a table, or JSON lines with --json: one for each measurement, then one for each side.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Final

import bench_engines

SECTIONS: Final[dict[str, tuple[str, Callable[..., bool]]]] = {
    "engines": ("1, 2 and 4 processes over one PostgreSQL beside FastAPI with a unique key", bench_engines.run),
}


def main() -> None:
    """Run a section; exit 1 where something could not be measured."""
    listed = "\n".join(f"  {name:<12}{text}" for name, (text, _) in SECTIONS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=f"{__doc__}\n\nsections:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", choices=SECTIONS, help="what to measure")
    parser.add_argument("--quick", action="store_true", help="fewer sides, one short round, less than a minute")
    parser.add_argument("--rounds", type=int, help="how often everything is measured; 5 by default, 1 with --quick")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    arguments = parser.parse_args()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    _, run = SECTIONS[arguments.section]
    sys.exit(0 if run(arguments.rounds, quick=arguments.quick, as_json=arguments.json, tell=tell) else 1)


if __name__ == "__main__":
    main()

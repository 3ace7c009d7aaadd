"""Choose which tests need no repetition on PostgreSQL in a quick run, because others run the same statements there.

A test of a started process is repeated in any case, as its statements are not seen. Renew the list if the quick form of
`scripts/prove repeats` has become slow; a new test is repeated until then.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Final

from lib.choose_measured import TESTS, choose, read_seconds

FILE: Final = TESTS / "same_statements.txt"


def main() -> None:
    """Run all repetitions, and write the list."""
    argparse.ArgumentParser(prog="scripts/choose_repeats", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["--numprocesses", str((os.cpu_count() or 1) + 1), "--part", "repeats"]
        command = [sys.executable, "-m", "pytest", *options, "-p", "lib.statement_record", f"--junitxml={report}"]
        subprocess.run(command, cwd=TESTS.parent, env=os.environ | {"STATEMENT_RECORD": folder}, check=True)  # noqa: S603 -- our own tests
        run, seconds = read_statements(Path(folder)), read_seconds(report)
    chosen = choose(run, {test: seconds[test] for test in run}, (), shortest=0)
    new = FILE.with_suffix(".new")
    new.write_text("".join(f"{name}\n" for name in sorted(chosen)))
    new.replace(FILE)
    saved = sum(seconds[one] for one in chosen)
    print(f"{FILE.name}: {len(chosen):,} of {len(seconds):,} tests, {saved:,.0f} of {sum(seconds.values()):,.0f} s")


def read_statements(folder: Path) -> dict[str, set[Hashable]]:
    """Return the statements of each test, each with the function that runs it, from the files of the plugin."""
    found = defaultdict[str, set[Hashable]](set)
    for file in folder.glob("*.json"):
        for test, own in json.loads(file.read_text()).items():
            found[test].update(map(tuple, own))
    return found


if __name__ == "__main__":
    main()

"""Choose the long tests that need no coverage, because other tests run the same lines and branches.

Tests with coverage take a third longer. The run measures every test that may need it. Renew the list if the tests have
become slow, or if a line that was covered is covered no longer; a new test is measured until then.
"""

import argparse
import ast
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parents[2] / "tests"
FILE: Final = TESTS / "unmeasured.txt"
SHORT: Final = 0.5
"""Seconds below which a test, with all its cases, is measured in any case."""
RUNS: Final = 2
"""Other tests that run a line; one alone may miss it, because some lines are run only if threads meet."""


def main() -> None:
    """Measure the tests one by one, and write the list."""
    argparse.ArgumentParser(prog="scripts/choose_measured", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder) / "coverage", Path(folder) / "report.xml"
        options = ["--numprocesses", str((os.cpu_count() or 1) + 1), "--part", "candidates", "--cov", "--cov-report="]
        command = [sys.executable, "-m", "pytest", *options, "--cov-context=test", f"--junitxml={report}"]
        subprocess.run(command, cwd=TESTS.parent, env=os.environ | {"COVERAGE_FILE": str(data)}, check=True)  # noqa: S603 -- our own tests
        lines, seconds = read_lines(data), read_seconds(report)
    chosen = choose(lines, seconds, by_chance())
    new = FILE.with_suffix(".new")
    new.write_text("".join(f"{name}\n" for name in sorted(chosen)))
    new.replace(FILE)
    print(f"{FILE.name}: {len(chosen):,} of {len(seconds):,} tests, {sum(seconds[one] for one in chosen):,.0f} s")


def choose(
    lines: Mapping[str, Collection[Hashable]], seconds: Mapping[str, float], chance: Collection[str]
) -> set[str]:
    """Return the long tests without which everything is still run, the longest first.

    `lines` has the lines or branches that each test runs, `chance` the tests that run other ones each time: these
    replace no other test.
    """
    runs: Counter[Hashable] = Counter()
    for test, own in lines.items():
        runs.update(() if test in chance else own)
    chosen = set[str]()
    for test in sorted(seconds, key=lambda one: (one not in chance, -seconds[one], one)):
        own = lines.get(test, ())
        least = RUNS if test in chance else RUNS + 1
        if seconds[test] >= SHORT and all(runs[one] >= least for one in own):
            chosen.add(test)
            runs.subtract(() if test in chance else own)
    return chosen


def read_lines(data: Path) -> dict[str, set[Hashable]]:
    """Return the branches that each test ran, from coverage's file, whose tables its documentation describes."""
    with sqlite3.connect(data) as connection:
        rows = connection.execute(
            "SELECT c.context, a.file_id, a.fromno, a.tono FROM arc a JOIN context c ON c.id = a.context_id"
        )
        found = defaultdict[str, set[Hashable]](set)
        for context, *branch in rows:
            if context:
                found[_name(context.partition("|")[0])].add(tuple(branch))
    return found


def read_seconds(report: Path) -> Counter[str]:
    """Return the seconds of each test with all its cases, from a JUnit report."""
    found: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 -- our own file
        path = case.attrib["classname"].replace(".", "/") + ".py"
        found[_name(f"{path}::{case.attrib['name']}")] += float(case.attrib["time"])
    return found


def by_chance() -> set[str]:
    """Return the tests whose examples differ from run to run: those of hypothesis."""
    return {
        f"{file.relative_to(TESTS)}::{node.name}"
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and any("given" in ast.unparse(one) for one in node.decorator_list)
    }


def _name(case: str) -> str:
    """Return the test of a case, below the folder of the tests."""
    return re.sub(r"\[.*", "", case, flags=re.DOTALL).removeprefix("tests/")


if __name__ == "__main__":
    main()

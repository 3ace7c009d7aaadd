"""The parts of the suite, and which tests need no coverage because others run their lines."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from lib.choose_measured import by_chance, choose, read_lines, read_seconds
from parts import TESTS, UNMEASURED, may_have, select


def test_a_long_test_is_left_out_if_others_run_its_lines() -> None:
    """The longest goes first; two others must remain for each line, and a short test stays."""
    lines = {"a": {1, 2}, "b": {1, 2}, "c": {1, 2}, "d": {2, 3}, "short": {1, 2, 3}}
    assert choose(lines, {"a": 9, "b": 5, "c": 2, "d": 7, "short": 0.1}, ()) == {"a", "b"}
    assert choose(lines, {"a": 0.4, "b": 0.4, "c": 2, "d": 7, "short": 0.1}, ()) == {"c"}
    assert choose({}, {"in processes": 3}, ()) == {"in processes"}


def test_a_test_with_examples_by_chance_replaces_no_other() -> None:
    """It is left out if others run its lines, and kept for what it alone runs."""
    lines = {"chance": {1}, "x": {1}, "y": {1}}
    assert choose(lines, {"chance": 1, "x": 9, "y": 9}, {"chance"}) == {"chance"}
    assert choose(lines | {"chance": {2}}, {"chance": 1, "x": 9, "y": 9}, {"chance"}) == set()


def test_lines_and_seconds_of_all_cases_of_a_test_are_added(tmp_path: Path) -> None:
    """They are read from the files that coverage and pytest write."""
    with sqlite3.connect(tmp_path / "data") as data:
        data.execute("CREATE TABLE context (id, context)")
        data.execute("CREATE TABLE arc (file_id, context_id, fromno, tono)")
        cases = ["", "tests/web/test_a.py::test_b[1]|run", "tests/web/test_a.py::test_b[x[2]\n]|setup"]
        data.executemany("INSERT INTO context VALUES (?, ?)", enumerate(cases))
        data.executemany("INSERT INTO arc VALUES (1, ?, ?, 5)", [(0, 3), (1, 4), (2, 6)])
    assert read_lines(tmp_path / "data") == {"web/test_a.py::test_b": {(1, 4, 5), (1, 6, 5)}}
    case = '<testcase classname="tests.web.test_a" name="test_b[{}]" time="1.5"/>'
    (tmp_path / "report.xml").write_text(f"<suite>{case.format(1)}{case.format('x[2]&#10;')}</suite>")
    assert read_seconds(tmp_path / "report.xml") == {"web/test_a.py::test_b": 3}


RUN = ("measured", "others", "repeats", "journeys", "alarms")
"""The parts that `scripts/test` and the proofs run."""


class Places:
    """A plugin of pytest that notes the parts of each collected test, and the parts for which its file is read."""

    def __init__(self) -> None:
        """Start without a test."""
        self.parts: dict[str, list[str]] = {}
        self.files: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the tests."""
        self.parts = {item.nodeid: [] for item in items}
        for part in RUN:
            for item in select(items, part)[0]:
                self.parts[item.nodeid].append(part)
        for path in {item.path for item in items}:
            name = path.relative_to(TESTS.parent).as_posix()
            self.files[name] = [part for part in RUN if may_have(path, part)]


def print_places() -> None:
    """Collect all tests, and print what is noted as the last line; for a process of its own."""
    places = Places()
    status = pytest.main(["--collect-only", "-qq", str(TESTS)], plugins=[places])
    sys.stdout.write(f"\n{json.dumps([status, places.parts, places.files])}\n")


def python(*command: str) -> str:
    """Run Python beside the tests, and return what it printed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent / "scripts")))}
    done = subprocess.run(  # noqa: S603 -- our own tests
        [sys.executable, *command], cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 5}, done.stdout + done.stderr  # 5 says that there are none
    return done.stdout


def test_each_test_is_in_one_part_and_its_file_is_read_for_that_part() -> None:
    """The parts that are run have all tests, each once; no file with a test of a part is left out of it."""
    status, parts, files = json.loads(python("-c", "import test_parts; test_parts.print_places()").splitlines()[-1])
    assert (status, {part for found in parts.values() for part in found}) == (0, set(RUN))
    assert {name: found for name, found in parts.items() if len(found) != 1} == {}
    assert {name for name, (part,) in parts.items() if part not in files[name.partition("::")[0]]} == set()
    assert not [name for name, found in parts.items() if found == ["repeats"] and name.startswith("tests/store")]
    assert files["tests/test_alarms.py"] == ["alarms"]


def test_a_part_runs_its_tests_only() -> None:
    """A file without a test of the part is not even read, if it is named too."""
    named = [str(TESTS / file) for file in ("journeys/test_help.py", "web/test_notes.py", "store/test_roles.py")]
    options = ("-m", "pytest", "--collect-only", "-q", "--part")
    found = [line.partition("::")[0] for line in python(*options, "repeats", *named).splitlines() if "::" in line]
    assert set(found) == {"tests/web/test_notes.py"}
    assert "::" not in python(*options, "alarms", *named)


def test_each_line_of_the_list_names_a_test() -> None:
    """A test that was renamed leaves no line behind, and property tests are recognized."""
    for name in UNMEASURED:
        file, _, test = name.partition("::")
        assert f"def {test}" in (TESTS / file).read_text(), name
    assert "core/test_canonical.py::test_normalizing_leaves_its_input_alone" in by_chance()

"""The parts of the suite, and which tests need no coverage because others run their lines."""

import sqlite3
import subprocess
import sys
from pathlib import Path

from lib.choose_measured import by_chance, choose, read_lines, read_seconds
from parts import TESTS, UNMEASURED


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


def collected(*options: str) -> list[str]:
    """Return the names of the tests that pytest would run of four files."""
    files = ("journeys/test_help.py", "test_alarms.py", "web/test_notes.py", "store/test_roles.py")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options, *(str(TESTS / file) for file in files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own tests
    assert done.returncode in {0, 5}, done.stdout  # 5 says that there are none
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_each_test_is_in_one_part() -> None:
    """The parts that are run have all tests, each once, and the store is no repetition."""
    parts = {part: collected("--part", part) for part in ("measured", "others", "repeats", "journeys", "alarms")}
    assert sorted(name for names in parts.values() for name in names) == sorted(collected())
    assert all(parts.values())
    assert {name.partition("::")[0] for name in parts["repeats"]} == {"tests/web/test_notes.py"}


def test_each_line_of_the_list_names_a_test() -> None:
    """A test that was renamed leaves no line behind, and property tests are recognized."""
    for name in UNMEASURED:
        file, _, test = name.partition("::")
        assert f"def {test}" in (TESTS / file).read_text(), name
    assert "core/test_canonical.py::test_normalizing_leaves_its_input_alone" in by_chance()

"""`scripts/score_detectors`: counts by kind, wrong results, and adapters to other engines."""

import json
import os
from pathlib import Path

import pytest

from lib import other_engines, score_detectors
from lib.labelled.recipes import Labelled
from lib.score_detectors import Result, score, sum_up

TOKEN = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
LINES = [
    {"id": 1, "label": "secret", "kind": "tokens", "text": f"use {TOKEN}"},
    {"id": 2, "label": "secret", "kind": "tokens", "text": "use the one from yesterday"},
    {"id": 3, "label": "secret", "kind": "sentences", "body": {"payload": {"content": TOKEN}}},
    {"id": 4, "label": "benign", "kind": "prose", "text": "Run the migration first."},
    {"id": 5, "label": "benign", "text": "write to mira@orbit-works.net"},
]
GITLEAKS = """#!/bin/sh
for report; do [ "$last" = --report-path ] && break; last=$report; done
for folder; do :; done
grep -l ghp_ "$folder"/* | sed 's/.*/{"File": "&"},/' | tr -d '\\n' | sed 's/,$//; s/^/[/; s/$/]/' > "$report"
exit 1
"""
TRUFFLEHOG = """#!/bin/sh
echo '{"level": "info"}'
echo progress
grep -l ghp_ "$2"/* | sed 's/.*/{"SourceMetadata": {"Data": {"Filesystem": {"file": "&"}}}}/'
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of labelled lines."""
    path = tmp_path / "lines.ndjson"
    path.write_text("\n".join(json.dumps(line) for line in LINES) + "\n\n")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the program in this process."""
    monkeypatch.setattr("sys.argv", ["score_detectors", *arguments])
    score_detectors.main()


def test_counts_are_by_label_and_kind() -> None:
    """Each text counts once; sums leave out the kinds of passwords where they say so."""
    lines = [Labelled(str(number), "secret", kind, "") for number, kind in enumerate(["a", "a", "sentences"])]
    scores = score(lines, ["0", "2"], ["2"])
    assert scores == {("secret", "a"): Result(2, 1, 0), ("secret", "sentences"): Result(1, 1, 1)}
    assert sum_up(scores) == {
        ("secret", "all secret"): Result(3, 2, 1),
        ("secret", "without passwords"): Result(2, 1, 0),
    }


def test_a_file_is_scored(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The counts of a file are recall for labelled texts and false alarms for harmless ones."""
    run(monkeypatch, str(file), "--alone", "--json")
    counts = json.loads(capsys.readouterr().out)["antechamber"]
    assert counts["secret"]["tokens"] == {"texts": 2, "found": 1, "refused": 1}
    assert counts["secret"]["all secret"] == {"texts": 3, "found": 2, "refused": 2}
    assert counts["benign"][""] == {"texts": 1, "found": 1, "refused": 1}
    assert counts["benign"]["prose"]["found"] == 0


def test_the_table_has_a_row_for_each_kind(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows have the shares of our engine; harmless texts come last."""
    run(monkeypatch, str(file), "--alone")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["label", "kind", "texts", "refused", "found"]
    assert ["secret", "tokens", "2", "50.0%", "50.0%"] in rows
    assert [row[0] for row in rows[1:]] == sorted((row[0] for row in rows[1:]), key=lambda label: label == "benign")


def test_wrong_results_are_listed(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list has the missed text and the false alarm, with rule and action."""
    run(monkeypatch, str(file), "--wrong")
    missed, alarm = capsys.readouterr().out.splitlines()
    assert missed == "secret/tokens/ not found: 'use the one from yesterday'"
    assert alarm.startswith("benign// ")
    assert "email-address (reject)" in alarm


def test_generated_sets_can_be_chosen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file, the named sets are scored."""
    run(monkeypatch, "--set", "sentences", "--set", "email", "--alone", "--json")
    counts = json.loads(capsys.readouterr().out)["antechamber"]
    assert counts["secret"]["sentences"]["texts"] == 60
    assert set(counts) == {"secret", "personal"}
    run(monkeypatch, "--set", "sentences", "--subkinds", "--alone", "--json")
    counts = json.loads(capsys.readouterr().out)["antechamber"]
    assert counts["secret"]["sentences/ja"]["texts"] == 10
    assert "without passwords" not in counts["secret"]


def test_nothing_to_score_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file ends the program with a text."""
    (tmp_path / "empty").touch()
    with pytest.raises(SystemExit, match="no labelled text"):
        run(monkeypatch, str(tmp_path / "empty"))


def test_installed_programs_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program on the path reads each text as a file, and its report gives the ids back."""
    for name, program in (("gitleaks", GITLEAKS), ("trufflehog", TRUFFLEHOG)):
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    engines = other_engines.list_engines()
    for name in ("gitleaks", "trufflehog"):
        assert engines[name]({"a": "nothing", "b": f"use {TOKEN}", "c": TOKEN}) == {"b", "c"}

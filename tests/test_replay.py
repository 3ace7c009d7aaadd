"""The replay of guidance events, on a file with three."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
EVENT = {"repo": "acme/app", "path": "AGENTS.md", "item": "1", "heading": "Tests", "text": "Run the tests first."}
EVENTS = (EVENT, EVENT, EVENT | {"text": "Run the tests before the push."})


def test_a_file_is_replayed_and_its_counts_hold(tmp_path: Path) -> None:
    """One event, its repetition, and its slot with another text, which is a conflict if the key names the slot."""
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, EVENTS)))
    command = [sys.executable, "-m", "lib.replay_guidance", "--review", str(file)]
    there = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run(command, env=there, capture_output=True, text=True, timeout=100, check=False)  # noqa: S603 -- our own program
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rejected-conflict              1   expected        1   ok" in done.stdout
    assert "conflicts in quarantine 1, with their pair 1, expected 1" in done.stdout
    assert "2 proposals reviewed in" in done.stdout
    assert "approved together 2, alone 0" in done.stdout
    assert "All counts hold." in done.stdout

"""Runs `scripts/prove` as a separate process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

TESTS = Path(__file__).resolve().parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/prove` with arguments."""
    command = [sys.executable, "-m", "proofs", *arguments]
    there = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent / "scripts"), str(TESTS)])}
    return subprocess.run(command, env=there, capture_output=True, text=True, timeout=540, check=False)  # noqa: S603 -- our own program


def prove(proof: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run a proof; return its exit status and its final counts."""
    done = run(proof, "--json", *options)
    assert done.stdout, done.stderr
    numbers: dict[str, Any] = msgspec.json.decode(done.stdout)
    return done.returncode, numbers

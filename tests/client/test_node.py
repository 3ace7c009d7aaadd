"""A second client in another language, with the official package, produces the same hashes and one proposal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antechamber.client import Ledger

NODE = Path(__file__).resolve().parent.parent / "node"
VECTORS = NODE.parent / "vectors" / "hash-vectors.json"


def run(script: str, *arguments: str, **environment: str) -> Any:
    """Run a script of the second client and return what it prints."""
    done = subprocess.run(  # noqa: S603 -- our own script
        ["node", str(NODE / script), *arguments],  # noqa: S607 -- found by scripts/test
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_second_client_computes_the_same_hashes() -> None:
    """Each vector's hash is computed from the contract alone."""
    accepted = json.loads(VECTORS.read_text())["accepted"]
    assert run("vectors.mjs", str(VECTORS)) == [vector["source_event_hash"] for vector in accepted]


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_second_client_proposes_and_reads_the_answer(live: tuple[str, str], tmp_path: Path, way: str) -> None:
    """Over both transports the receipt names the hash computed there, and calling again changes nothing."""
    url, token = live
    ledger = str(tmp_path / "agent.ledger")
    environment = {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token, "ANTECHAMBER_LEDGER": ledger}
    target = [f"{url}/mcp"] if way == "http" else [sys.executable, "-m", "antechamber.cli", "mcp"]
    report = run("propose.mjs", way, *target, **environment)
    assert report["tools"] == [
        "propose_memory",
        "submission_status",
        "answer_question",
        "memory_scopes",
        "search_memory",
    ]
    receipt = report["first"]["structuredContent"]
    assert (receipt["disposition"], receipt["source_event_hash"]) == ("accepted-for-review", report["hash"])
    assert report["again"]["structuredContent"]["submission_id"] == receipt["submission_id"]
    assert report["unknown"]["isError"]
    assert "this tool has no such argument" in report["unknown"]["content"][0]["text"]
    assert report["status"]["structuredContent"]["review"]["state"] == "pending"
    if way == "stdio":
        with Ledger(ledger) as opened:
            assert [entry.source_event_hash for entry in opened.entries("committed")] == [report["hash"]]


def test_the_page_of_javascript_runs_as_it_is_written(live: tuple[str, str], tmp_path: Path) -> None:
    """The block of the document has at most 40 lines, hashes each vector rightly, and its calls do what it says."""
    document = (NODE.parent.parent / "service" / "antechamber" / "client" / "README.md").read_text()
    block = document.partition("```js\n")[2].partition("```")[0]
    assert len([line for line in block.splitlines() if line]) <= 40
    vectors = "JSON.parse(await (await import('node:fs/promises')).readFile(process.argv[2], 'utf8')).accepted"
    ending = f"console.log({vectors}.map(({{ event }}) => hashOf(event)));"
    printed = re.sub(
        r"^console\.log\((.*)\);(?: //.*)?$", r"console.log(JSON.stringify(\1));", block + ending, flags=re.MULTILINE
    )
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")
    (tmp_path / "page.mjs").write_text(printed)
    url, token = live
    done = subprocess.run(  # noqa: S603 -- the block of our own document
        ["node", str(tmp_path / "page.mjs"), str(VECTORS)],  # noqa: S607 -- found by scripts/test
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token},
    )
    assert done.returncode == 0, done.stderr
    first, again, status, found, hashes = map(json.loads, done.stdout.splitlines())
    assert (first["disposition"], first["duplicate"], again["duplicate"]) == ("accepted-for-review", False, True)
    assert (status["submission_id"], status["review"]["state"]) == (first["submission_id"], "pending")
    assert found == {"items": [], "next": None}
    assert hashes == [vector["source_event_hash"] for vector in json.loads(VECTORS.read_text())["accepted"]]

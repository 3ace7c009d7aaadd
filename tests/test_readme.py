"""README's promises: its commands run as they stand there."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import httpx
import pytest

from antechamber.cli import main
from support import Databases, antechamber, free_port, serving

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


@contextlib.contextmanager
def shell(script: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a block of README in a shell of its own process group, and end all of it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(  # noqa: S603 -- our own README
        ["/bin/sh", "-ec", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"} | environment,
    )
    watchdog = threading.Timer(90, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)


def read_until(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """Read the output until a pattern appears in it."""
    seen = ""
    assert process.stdout is not None
    for line in process.stdout:
        seen += line
        if match := re.search(pattern, seen):
            return match
    pytest.fail(f"{pattern} never appeared in:\n{seen}")


def test_the_sixty_second_start_ends_with_a_memory() -> None:
    """The first block starts the demo; whoever opens its link and approves sees the memory as an agent reads it."""
    with shell(BLOCKS[0], ROOT) as demo:
        link = read_until(demo, r"(http://\S+)/login\?link=(\S+)")
        with httpx.Client(base_url=link.group(1), follow_redirects=True) as browser:
            page = browser.post("/login", data={"link": link.group(2)}).text
            found = re.search(r'href="(/review/[^"]+)">Run the database', page)
            assert found
            proposal = browser.get(found.group(1)).text
            fields = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', proposal))
            assert "Approved" in browser.post(f"{found.group(1)}/approve", data=fields).text
        read_until(demo, r"An agent now remembers:\s+Run the database migration")


def test_the_start_by_hand_accepts_and_then_replays(tmp_path: Path) -> None:
    """The second block, typed into an empty folder, submits twice: accepted, then replayed."""
    port = str(free_port())
    script = BLOCKS[1].replace(
        "antechamber serve --data data &\n",
        "antechamber serve --data data > log &\nuntil grep -q ready log; do sleep 0.1; done\n",
    )
    with shell(script, tmp_path, ANTECHAMBER_PORT=port, ANTECHAMBER_URL=f"http://127.0.0.1:{port}") as session:
        read_until(session, r"1  accepted-for-review(.|\n)*1  replayed")


def test_growing_takes_three_commands(postgres: Databases, tmp_path: Path) -> None:
    """The third block makes the schema and starts two processes on one database, both ready."""
    url, ports = postgres.empty(), [free_port(), free_port()]
    script = re.sub(r"export ANTECHAMBER_DATABASE_URL=\S+", f"export ANTECHAMBER_DATABASE_URL='{url}'", BLOCKS[2])
    for named, port in zip(("8080", "8081"), ports, strict=True):
        assert f"--port {named}" in script
        script = script.replace(f"--port {named}", f"--port {port}")
    with shell(script, tmp_path) as session:
        read_until(session, r"Took step(.|\n)*Antechamber is ready(.|\n)*Antechamber is ready")
        for port in ports:
            assert httpx.get(f"http://127.0.0.1:{port}/readyz").json() == {"status": "ready"}
    postgres.drop(url)


def test_the_python_client_settles_and_submits(tmp_path: Path, policies: Path) -> None:
    """The Python block, run twice in an agent's folder, gets one receipt and makes one proposal."""
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    with serving(tmp_path / "data", policies) as (url, _):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(tmp_path / "data")).stdout.strip()
        code = f"url, token = {url!r}, {token!r}\n{block}\nprint(receipt.disposition, receipt.submission_id)"
        ran = [
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603 -- our own README
            for _ in range(2)
        ]
    assert ran[0].stdout.startswith("accepted-for-review ")
    assert ran[1].stdout == ran[0].stdout


def test_every_command_is_documented() -> None:
    """Each command of the command line stands in README."""
    for name, command in main.commands.items():
        assert f"`antechamber {name}" in README
        if isinstance(command, click.Group):
            for verb in command.commands:
                assert f"{name} {verb}" in README

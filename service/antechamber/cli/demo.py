"""The demo: five dispositions, one curator, one memory."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import httpx

from antechamber.cli.options import fail
from antechamber.cli.terminal import say
from antechamber.core.counted import counted
from antechamber.core.outgoing import hash_event
from antechamber.resources import folder
from antechamber.settings import SettingsError

_COMMAND: Final = (sys.executable, "-P", "-m", "antechamber.cli")
"""The command line as a process of its own, which imports nothing from the working folder (-P)."""
_MARK: Final = "antechamber-demo"
"""Name of the file that allows the next demo to empty its folder."""
BOT, WATCHER = "worker:release-bot", "tool:log-watcher"
RUNBOOK = {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "end": 14, "heading": "Deploy"}
MIGRATION = {
    "kind": "procedure",
    "content": "Run the database migration before the deploy, never after it:\nold workers read the new schema, "
    "new workers do not read the old one.",
    "tags": ["deploy", "database"],
}


def body(key: str, producer: str, payload: dict[str, Any], span: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a complete event for project:apollo."""
    event: dict[str, Any] = {"payload": payload, "source_span": span or {"uri": "log://apollo/deploys"}}
    return event | {
        "idempotency_key": key,
        "producer_identity": producer,
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_event_hash": hash_event(event),
    }


def events() -> list[tuple[str, dict[str, Any]]]:
    """Return the sample events, each with its explanation."""

    def fact(content: str, kind: str = "fact") -> dict[str, Any]:
        return {"kind": kind, "content": content}

    return [
        ("a worker proposes what it learned", body("deploy-1", BOT, MIGRATION, RUNBOOK)),
        ("the network dropped, it sends the same again", body("deploy-1", BOT, MIGRATION, RUNBOOK)),
        ("a second worker saw the same event", body("watch-1", WATCHER, MIGRATION, RUNBOOK)),
        ("the first key again, for another event", body("deploy-1", BOT, fact("Migrations may run at any time."))),
        ("a mail address slipped in", body("deploy-2", BOT, fact("Page mira@orbit-works.dev when it fails."))),
        ("gossip is no kind of memory here", body("deploy-3", BOT, fact("The staging server is haunted.", "gossip"))),
        (
            "a hidden character tries to deceive",
            body("deploy-4", BOT, fact("Rollback is safe\u202e.ton ro\u202c on Fridays.")),
        ),
        ("one more thing to judge", body("watch-2", WATCHER, fact("Cold starts take about 40 seconds.", "warning"))),
    ]


def run(*arguments: str) -> str:
    """Run the command line as an operator would and return its output."""
    return subprocess.run([*_COMMAND, *arguments], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def free_port(wanted: int) -> int:
    """Return the requested port, or a free one if that is in use.

    Raises SettingsError if no port is free.
    """
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found: int = probe.getsockname()[1]
            return found
    message = "no port is free on 127.0.0.1"
    raise SettingsError(message)


@contextlib.contextmanager
def serving(data: Path, policies: Path, port: int) -> Iterator[str]:
    """Start the service, wait until it is ready, and stop it at the end; its log is beside the data.

    Raises SettingsError with the last line of the log if it does not start, or answers no more.
    """
    log = data.with_name("service.log")
    command = [*_COMMAND, "serve", "--data", str(data), "--policies", str(policies)]
    with log.open("wb") as lines:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=lines)  # noqa: S603
    try:
        ready = process.stdout.readline() if process.stdout else b""
        if not ready:
            process.wait()
            message = f"the service did not start: {_last_line(log)}"
            raise SettingsError(message)
        yield f"http://127.0.0.1:{port}"
    except httpx.HTTPError as error:
        message = f"the service answers no more ({error}); the last line of its log: {_last_line(log)}"
        raise SettingsError(message) from error
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").strip().rpartition("\n")[2]


def send(url: str, tokens: dict[str, str]) -> None:
    """Send the sample events and print each answer."""
    with httpx.Client(base_url=url) as client:
        for meaning, event in events():
            headers = {"authorization": f"Bearer {tokens[event['producer_identity']]}"}
            answer = client.post("/v1/submissions", json=event, headers=headers).json()
            replay = "  (replay)" if answer["duplicate"] else ""
            click.echo(f"  {answer['status']}  {answer['disposition']:<23}{meaning}{replay}")


def recall(url: str, token: str) -> list[str]:
    """Read the memories as an agent does."""
    params = {"submission_scope": "project", "scope_id": "apollo"}
    headers = {"authorization": f"Bearer {token}"}
    items = httpx.get(f"{url}/v1/memories", params=params, headers=headers).json()["items"]
    return [item["content"] for item in items]


def watch(url: str, token: str) -> None:
    """Print each memory as soon as the curator has admitted it, until Ctrl-C."""
    seen: set[str] = set()
    while True:
        for content in reversed(recall(url, token)):
            if content not in seen:
                seen.add(content)
                say(f"\nAn agent now remembers:\n  {content.replace(chr(10), chr(10) + '  ')}")
        time.sleep(1)


def clear(place: Path) -> None:
    """Make the folder of a demo, or empty it if it holds an earlier demo.

    Raises SettingsError for a folder with other files: their owner wants to keep them.
    """
    if place.exists():
        if not (place / _MARK).exists() and any(place.iterdir()):
            message = f"{place} holds files that are not of a demo; name a folder that is empty or does not exist"
            raise SettingsError(message)
        shutil.rmtree(place)
    place.mkdir(parents=True)
    (place / _MARK).touch()


@click.command()
@click.option(
    "--port", type=int, default=8080, show_default=True, help="Port to listen on; another one if it is taken."
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the demo, emptied first. Default: a temporary folder, removed at the end.",
)
@click.option("--once", is_flag=True, help="End after the events are sent.")
def demo(port: int, data: Path | None, once: bool) -> None:  # noqa: FBT001 -- a flag of the command line
    """Start a service with sample events and print a sign-in link, until Ctrl-C.

    The service listens on 127.0.0.1 only. Agents send events that get all five dispositions; the link opens the desk,
    where you approve a proposal; then the agent remembers it.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with contextlib.ExitStack() as stack:
            if data is None:
                data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{_MARK}-"))) / "demo"
            stack.enter_context(contextlib.suppress(KeyboardInterrupt))
            clear(data)
            shutil.copytree(folder("policies"), data / "policies")
            _show(data, stack.enter_context(serving(data / "data", data / "policies", free_port(port))), once=once)
    except (SettingsError, OSError) as error:
        fail(error)


def _show(place: Path, url: str, *, once: bool) -> None:
    """Send the sample events and say what to do next; unless it is to end, wait for decisions."""
    data = str(place / "data")
    tokens = {name: run("token", "issue", name, "--data", data) for name in (BOT, WATCHER)}
    click.echo(f"\nAntechamber runs at {url}; its policy and its log are in {os.path.relpath(place)}")
    click.echo("\nWhat agents sent, and the answers:")
    send(url, tokens)
    memories = counted(len(recall(url, tokens[BOT])), "memory", "memories")
    click.echo(f"\nWhat an agent remembers now: {memories}. A curator has to decide.")
    link = run("user", "add", "cora", "--role", "curator", "--data", data, "--url", url)
    click.echo(f"\nOpen this link, sign in as the curator and approve a proposal:\n\n  {link}\n")
    click.echo("It works once, for 15 minutes.")
    if not once:
        click.echo("Each memory you admit appears here as an agent reads it. Ctrl-C stops the service.")
        watch(url, tokens[BOT])

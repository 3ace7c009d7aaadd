"""The demo: five dispositions, one curator, one memory."""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from antechamber.core.outgoing import hash_event
from antechamber.resources import folder

ROOT = Path(__file__).resolve().parents[2]
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
        ("somebody's mail address slipped in", body("deploy-2", BOT, fact("Page mira@orbit-works.dev when it fails."))),
        ("gossip is no kind of memory here", body("deploy-3", BOT, fact("The staging server is haunted.", "gossip"))),
        (
            "a hidden character tries to deceive",
            body("deploy-4", BOT, fact("Rollback is safe\u202e.ton ro\u202c on Fridays.")),
        ),
        ("one more thing to judge", body("watch-2", WATCHER, fact("Cold starts take about 40 seconds.", "warning"))),
    ]


def run(*arguments: str) -> str:
    """Run the command line as an operator would and return its output."""
    command = [sys.executable, "-m", "antechamber.cli", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def free_port(wanted: int) -> int:
    """Return the requested port, or a free one if that is in use."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found: int = probe.getsockname()[1]
            return found
    sys.exit("No port is free on 127.0.0.1.")


@contextlib.contextmanager
def serving(data: Path, policies: Path, port: int) -> Iterator[str]:
    """Start the service, wait until it is ready, and stop it at the end."""
    command = [sys.executable, "-m", "antechamber.cli", "serve", "--data", str(data), "--policies", str(policies)]
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE)  # noqa: S603
    try:
        ready = process.stdout.readline() if process.stdout else b""
        if not ready:
            sys.exit("The service did not start; its message is above.")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def send(url: str, tokens: dict[str, str]) -> None:
    """Send the sample events and print each answer."""
    with httpx.Client(base_url=url) as client:
        for meaning, event in events():
            headers = {"authorization": f"Bearer {tokens[event['producer_identity']]}"}
            answer = client.post("/v1/submissions", json=event, headers=headers).json()
            replay = "  (replay)" if answer["duplicate"] else ""
            print(f"  {answer['status']}  {answer['disposition']:<23}{meaning}{replay}")


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
                print(f"\nAn agent now remembers:\n  {content.replace(chr(10), chr(10) + '  ')}", flush=True)
        time.sleep(1)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="port to listen on; another one if it is taken")
    parser.add_argument("--data", type=Path, default=ROOT / ".demo", help="folder of the demo, emptied first")
    parser.add_argument("--once", action="store_true", help="stop after the events are sent")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    shutil.rmtree(arguments.data, ignore_errors=True)
    policies, data = arguments.data / "policies", arguments.data / "data"
    shutil.copytree(folder("policies"), policies)
    with serving(data, policies, free_port(arguments.port)) as url:
        tokens = {name: run("token", "issue", name, "--data", str(data)) for name in (BOT, WATCHER)}
        print(f"\nAntechamber runs at {url}, its policy in {os.path.relpath(policies)}")
        print("\nWhat agents sent, and the answers:")
        send(url, tokens)
        print(f"\nWhat an agent remembers now: {len(recall(url, tokens[BOT]))} memories. A curator has to decide.")
        link = run("user", "add", "cora", "--role", "curator", "--data", str(data), "--url", url)
        print(f"\nOpen this link, sign in as the curator and approve a proposal:\n\n  {link}\n")
        print("It works once, for 15 minutes.")
        if not arguments.once:
            print("Each memory you admit appears here as an agent reads it. Ctrl-C stops the service.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                watch(url, tokens[BOT])


if __name__ == "__main__":
    main()

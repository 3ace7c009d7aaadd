"""A server that is killed (kill -9) under load keeps everything that it acknowledged."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber import app
from antechamber.settings import Location
from support import PRODUCERS, event, serving, write_policies

KILLS = 5
WRITERS = 8
MIN_ANSWERS = 100
"""Acknowledged submissions before each kill."""
BATCH_LINES = 1000

Answered = list[tuple[dict[str, Any], Any]]
"""Events and the receipts that the server sent for them."""


def client_of(url: str, token: str) -> httpx.Client:
    """Return a client of the release bot."""
    return httpx.Client(base_url=url, timeout=30, headers={"authorization": f"Bearer {token}"})


def submit_until(stop: threading.Event, url: str, token: str, numbers: Iterator[int], answered: Answered) -> None:
    """Submit events and collect the receipts until the connection breaks."""
    with client_of(url, token) as client:
        while not stop.is_set():
            body = event(f"Sentence {next(numbers)}.")
            try:
                response = client.post("/v1/submissions", json=body)
            except httpx.TransportError:
                return
            if response.is_success:
                answered.append((body, response.json()))


def submit_again(url: str, token: str, answered: Answered) -> list[dict[str, Any]]:
    """Submit the same events in batches and return the answers without their line numbers."""
    lines = [msgspec.json.encode(body) for body, _ in answered]
    answers: list[dict[str, Any]] = []
    with client_of(url, token) as client:
        for start in range(0, len(lines), BATCH_LINES):
            batch = b"\n".join(lines[start : start + BATCH_LINES])
            response = client.post("/v1/submissions/batch", content=batch)
            answers += map(msgspec.json.decode, response.content.splitlines())
    return [{name: value for name, value in answer.items() if name != "line"} for answer in answers]


@pytest.mark.timeout(600)
def test_a_killed_server_keeps_what_it_acknowledged(location: Location, tmp_path: Path) -> None:
    """After kill -9 under load every 2xx answer is still stored, byte for byte, and exactly once."""
    policies = write_policies(tmp_path / "policies", producers=PRODUCERS)
    with app.opened_access(location, create=True) as access:
        _, token = access.tokens.issue("worker:release-bot", "producer", [], None)
    numbers, answered = itertools.count(1), list[tuple[dict[str, Any], Any]]()
    for _ in range(KILLS):
        with serving(location, policies) as (url, process):
            enough, stop = len(answered) + MIN_ANSWERS, threading.Event()
            with client_of(url, token) as client, ThreadPoolExecutor(WRITERS) as pool:
                writers = [pool.submit(submit_until, stop, url, token, numbers, answered) for _ in range(WRITERS)]
                try:
                    while len(answered) < enough and not all(writer.done() for writer in writers):
                        client.get("/healthz")
                finally:
                    # Also if the test fails: the pool waits for its writers, which end with the server.
                    process.kill()
                    process.wait()
                    stop.set()
                for writer in writers:
                    writer.result()
            assert len(answered) >= enough
    with serving(location, policies) as (url, _):
        answers = submit_again(url, token, answered)
    receipts = [receipt for _, receipt in answered]
    assert answers == [receipt | {"duplicate": True} for receipt in receipts]
    assert len({receipt["proposal_id"] for receipt in receipts}) == len(receipts)

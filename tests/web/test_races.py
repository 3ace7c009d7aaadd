"""Concurrent requests and interrupted uploads, against a real server."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from antechamber import app
from antechamber.settings import Location
from support import event, serving, write_policies

AT_ONCE = 32
PAIR = ("worker:release-bot", "tool:watcher")


class Server:
    """A running server and clients with the tokens of both producers."""

    def __init__(self, location: Location, url: str) -> None:
        """Issue tokens in the server's location."""
        with app.opened_access(location) as access:
            self.tokens = {name: access.tokens.issue(name, "producer", [], None)[1] for name in PAIR}
        self.url = url
        self.client = httpx.Client(base_url=url, timeout=30, limits=httpx.Limits(max_connections=2 * AT_ONCE))

    def headers(self, name: str = "worker:release-bot") -> dict[str, str]:
        """Return a producer's headers."""
        return {"authorization": f"Bearer {self.tokens[name]}"}

    def submit(self, body: dict[str, Any]) -> httpx.Response:
        """Post one submission as the producer it names."""
        return self.client.post("/v1/submissions", json=body, headers=self.headers(body["producer_identity"]))

    def by_key(self, key: str) -> httpx.Response:
        """Read the submission under a key of the release bot."""
        return self.client.get(f"/v1/submissions/by-key/{key}", headers=self.headers())

    def upload(self, path: str, raw: bytes, rest: bytes, length: str) -> int:
        """Send the start of a request's body and disconnect; return the answer's status."""
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: {self.headers()['authorization']}\r\n"
        target = urlsplit(self.url)
        with socket.create_connection((target.hostname, target.port), timeout=20) as connection:
            connection.sendall(f"{head}{length}\r\n\r\n".encode() + raw + rest)
            connection.shutdown(socket.SHUT_WR)
            return int(connection.makefile("rb").readline().split()[1])


@pytest.fixture(scope="module")
def server(lasting_place: Location) -> Iterator[Server]:
    """A real server process; each test uses its own keys and contents."""
    policies = write_policies(lasting_place.data.parent / "policies")
    with serving(lasting_place, policies) as (url, _):
        made = Server(lasting_place, url)
        yield made
        made.client.close()


def at_once(call: Callable[[dict[str, Any]], httpx.Response], bodies: list[dict[str, Any]]) -> list[httpx.Response]:
    """Make all calls at the same moment, each from a separate thread."""
    gate = threading.Barrier(len(bodies))

    def one(body: dict[str, Any]) -> httpx.Response:
        gate.wait()
        return call(body)

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(one, bodies))


def test_identical_submissions_at_once_make_one_proposal(server: Server) -> None:
    """Of thirty-two parallel retries one gets the first receipt and the others get replays of it."""
    body = event("Sent by many threads.")
    responses = at_once(server.submit, [body] * AT_ONCE)
    assert {response.status_code for response in responses} == {201}
    assert len({response.content.replace(b'"duplicate":true', b'"duplicate":false') for response in responses}) == 1
    assert sum(response.json()["duplicate"] for response in responses) == AT_ONCE - 1
    assert sum("idempotent-replayed" in response.headers for response in responses) == AT_ONCE - 1
    assert len({response.headers["location"] for response in responses}) == 1


def test_two_bodies_under_one_key_at_once_make_one_proposal(server: Server) -> None:
    """Of two events racing for a key one wins; the other is quarantined once, and all its senders get 422."""
    first = event("The one.")
    second = event("The other.", idempotency_key=first["idempotency_key"])
    responses = at_once(server.submit, [first, second] * (AT_ONCE // 2))
    groups = [responses[::2], responses[1::2]]
    won, lost = sorted(groups, key=lambda group: group[0].status_code)
    assert {response.status_code for response in won} == {201}
    assert {response.status_code for response in lost} == {422}
    assert {response.json()["disposition"] for response in lost} == {"rejected-conflict"}
    assert len({response.json()["proposal_id"] for response in won}) == 1
    assert len({response.json()["quarantine_id"] for response in lost}) == 1
    assert {response.json()["submission_id"] for response in responses} == {won[0].json()["submission_id"]}
    for group in (won, lost):
        assert len({response.content.replace(b'"duplicate":true', b'"duplicate":false') for response in group}) == 1
        assert sum(response.json()["duplicate"] for response in group) == AT_ONCE // 2 - 1


def test_one_event_under_many_keys_at_once_makes_one_proposal(server: Server) -> None:
    """The same content from two producers under thirty-two keys becomes one proposal, and the rest are duplicates."""
    bodies = [event("Seen by both.", producer_identity=name) for name in PAIR * (AT_ONCE // 2)]
    answers = [response.json() for response in at_once(server.submit, bodies)]
    assert sorted(answer["status"] for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert len({answer["proposal_id"] for answer in answers}) == 1
    assert len({answer["submission_id"] for answer in answers}) == AT_ONCE
    evidence = [answer for answer in answers if answer["status"] == 200 and answer["duplicate_of"] is None]
    assert len(evidence) == 1


def test_a_seal_and_a_submission_at_once_agree(server: Server) -> None:
    """The first of a seal and a submission binds the key, and all callers get the same receipt."""
    body = event("Sealed or not.")
    path = f"/v1/submissions/by-key/{body['idempotency_key']}/seal"

    def call(one: dict[str, Any]) -> httpx.Response:
        return server.submit(one) if one else server.client.put(path, headers=server.headers())

    answers = [response.json() for response in at_once(call, [body, {}] * (AT_ONCE // 2))]
    assert len({answer["submission_id"] for answer in answers}) == 1
    assert len({answer["disposition"] for answer in answers}) == 1
    assert sum(not answer["duplicate"] for answer in answers) == 1


@pytest.mark.parametrize("path", ["/v1/submissions", "/v1/submissions/batch"])
@pytest.mark.parametrize("form", ["too short", "bad chunk"])
def test_an_upload_that_breaks_off_is_400_and_admits_nothing(server: Server, path: str, form: str) -> None:
    """A body that ends before its declared length is malformed, even if the received part is a complete event."""
    body = event(f"Cut off on {path}, {form}.")
    raw = msgspec.json.encode(body) + b"\n"
    if form == "too short":
        status = server.upload(path, raw, b"", f"content-length: {len(raw) + 50}")
    else:
        status = server.upload(path, f"{len(raw):x}\r\n".encode() + raw, b"\r\nzz\r\n", "transfer-encoding: chunked")
    assert status == 400
    assert server.by_key(body["idempotency_key"]).status_code == 404

"""The configurations for nginx and Caddy, each run by the real program in front of a real service."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest

from certificate import make_certificate
from lib.proxies import NAME, ORIGIN, SITES, NamedClient, proxying
from support import HANG_SECONDS, antechamber, event, serving, until, write_policies


class Front(NamedTuple):
    """A service behind a proxy."""

    url: str
    certificate: Path
    token: str
    link: str
    access_log: Path
    """Of the proxy."""
    service_log: Path

    def client(self, **headers: str) -> httpx.Client:
        """Return a client that checks the proxy's certificate for its name."""
        return NamedClient(self.url, self.certificate, HANG_SECONDS, **headers)


@pytest.fixture(scope="module", params=list(SITES))
def front(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """A service behind each proxy, with a producer's token and a curator's link."""
    folder = tmp_path_factory.mktemp(request.param)
    certificate = make_certificate(folder, NAME)
    data, policies = folder / "data", write_policies(folder / "policies")
    behind = ("--public-url", ORIGIN, "--client-address-header", "X-Forwarded-For")
    log = folder / "service.log"
    with (
        serving(data, policies, options=behind, log_file=log) as (url, _process),
        proxying(request.param, folder, url) as address,
    ):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        link = antechamber("user", "add", "cora", "--role", "curator", "--data", str(data)).stdout.strip()
        yield Front(address, certificate.public, token, link.removeprefix(ORIGIN), folder / "access.log", log)


def test_an_agent_submits_over_tls_and_replays(front: Front) -> None:
    """An event gets its receipt through the proxy, the same one again, and the absolute addresses name the site."""
    body = event("Deploys run on Monday.")
    with front.client(authorization=f"Bearer {front.token}") as client:
        first, second = (client.post("/v1/submissions", json=body) for _ in range(2))
        assert (first.status_code, second.status_code) == (201, 201)
        assert second.headers["idempotent-replayed"] == "true"
        assert first.headers["strict-transport-security"]
        assert client.get(first.headers["location"]).status_code == 200


def test_a_full_batch_passes_and_a_larger_one_gets_the_answer_of_the_service(front: Front) -> None:
    """4 MiB pass; a body just above is refused by the service with its own code, a far larger one with its status.

    Each has a connection of its own: nginx closes one whose body was refused before its end, and the next request on
    it may get no answer.
    """
    line = msgspec.json.encode(event("Batch through a proxy.")) + b"\n"
    padding = b"\n" * 1024
    full = line + padding * ((4 * 1024 * 1024 - len(line)) // 1024)

    def send(body: bytes) -> httpx.Response:
        with front.client(authorization=f"Bearer {front.token}") as client:
            return client.post("/v1/submissions/batch", content=body, headers={"content-type": "application/x-ndjson"})

    passed = send(full)
    assert (passed.status_code, passed.json()["status"]) == (200, 201)
    refused = send(full + padding * 8)
    assert (refused.status_code, refused.json()["reasons"][0]["code"]) == (413, "body-too-large")
    assert send(padding * 6 * 1024).status_code == 413


def test_a_stream_arrives_while_it_is_open(front: Front) -> None:
    """A curator signs in through the proxy, and the open desk hears of a proposal at once."""
    with front.client(origin=ORIGIN) as browser, front.client(authorization=f"Bearer {front.token}") as agent:
        page = browser.get(front.link).text
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
        assert browser.post("/login", data=fields).status_code == 303
        assert browser.get("/review").status_code == 200
        with browser.stream("GET", "/review/changes") as stream:
            lines = stream.iter_lines()
            assert stream.headers["content-type"].startswith("text/event-stream")
            agent.post("/v1/submissions", json=event("Streams pass through a proxy."))
            assert any(line.startswith("data:") for line in lines)


def test_a_client_cannot_choose_the_address_that_its_failures_count_for(front: Front) -> None:
    """The proxy replaces a forged address, and the service sees the address that the proxy saw."""
    with front.client(origin=ORIGIN) as browser:
        forged = {"x-forwarded-for": "203.0.113.9"}
        assert browser.post("/login", data={"name": "ada", "password": "x"}, headers=forged).status_code == 401
    until(lambda: "sign-in failed by=password address=127.0.0.1\n" in front.service_log.read_text(), "the log")


def test_the_log_of_the_proxy_has_no_secret(front: Front) -> None:
    """Neither a sign-in link, nor a token, nor a text is in the access log of the proxy."""
    with front.client(authorization=f"Bearer {front.token}") as client:
        client.get(f"/login?link=antl_{'0' * 36}")
        body = event("A text that no log keeps.", idempotency_key="a-key-that-no-log-keeps")
        client.post("/v1/submissions", json=body, headers={"idempotency-key": body["idempotency_key"]})
        client.get(f"/v1/submissions/by-key/{body['idempotency_key']}?x=1")
    until(lambda: front.access_log.exists() and "by-key" in front.access_log.read_text(), "the request is logged")
    written = front.access_log.read_text()
    assert "antl_" not in written
    assert "antp_" not in written
    assert "/login" in written
    assert "no-log-keeps" not in written
    assert "x=1" not in written

"""The fast path of the submit route returns the same bytes and headers as the framework path."""

from typing import Any

import httpx
import msgspec
import pytest

from antechamber.core.contract import MAX_BODY
from support import Service, event

CASES: dict[str, tuple[bytes | dict[str, Any], dict[str, str]]] = {
    "accepted": ({}, {}),
    "key in the header": ({"idempotency_key": None}, {"idempotency-key": "header-key"}),
    "keys that differ": ({}, {"idempotency-key": "another"}),
    "a bad key": ({}, {"idempotency-key": "a b"}),
    "private": ({"visibility": "private"}, {}),
    "not granted": ({"scope_id": "elsewhere"}, {}),
    "another producer": ({"producer_identity": "tool:watcher"}, {}),
    "direct write": ({"durable": True}, {}),
    "no JSON": (b"{", {"idempotency-key": "k-1"}),
    "empty": (b"", {}),
    "too large": (b"x" * (MAX_BODY + 1), {"idempotency-key": "k-1"}),
}


def ask(service: Service, scheme: str, case: str) -> httpx.Response:
    """Send a case; the scheme's spelling selects the path."""
    body, headers = CASES[case]
    raw = body if isinstance(body, bytes) else msgspec.json.encode(event(case, **{"idempotency_key": "k", **body}))
    sent = {"authorization": f"{scheme} {service.token()}", **headers}
    return service.client.post("/v1/submissions", content=raw, headers=sent)


@pytest.mark.parametrize("case", CASES)
def test_both_ways_answer_alike(service: Service, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, body and headers agree; only counters, times and the request's id may differ."""
    taken: list[str] = []
    ordinary = type(service.app)._ordinary

    def watched(self: Any, headers: Any) -> Any:
        bearer = ordinary(self, headers)
        taken.append("short" if bearer else "long")
        return bearer

    monkeypatch.setattr(type(service.app), "_ordinary", watched)
    service.client.get("/v1/submissions/by-key/none", headers=service.bearer())
    first = ask(service, "bearer", case)
    again = [ask(service, scheme, case) for scheme in ("Bearer", "bearer", "Bearer")]
    assert taken == ["long", "short", "long", "short"]
    assert {answer.status_code for answer in (first, *again)} == {first.status_code}
    volatile = {"received_at"} if first.json()["submission_id"] is None else set()
    bodies = [{name: value for name, value in answer.json().items() if name not in volatile} for answer in again]
    assert bodies[0] == bodies[1] == bodies[2]
    ids = {answer.headers.pop("x-request-id") for answer in again}
    assert len(ids) == len(again)
    kept = [sorted((name, value) for name, value in answer.headers.multi_items()) for answer in again]
    assert kept[0] == kept[1] == kept[2]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Basic Zm9v"},
        {"authorization": ""},
    ],
    ids=["host", "token", "scheme", "empty"],
)
def test_what_is_not_ordinary_takes_the_long_way(service: Service, headers: dict[str, str]) -> None:
    """A foreign host and a bad token are refused as everywhere, even right after a valid request."""
    assert service.submit(event("Warm.")).status_code == 201
    sent = service.bearer() | headers
    answer = service.client.post("/v1/submissions", content=msgspec.json.encode(event("Cold.")), headers=sent)
    assert answer.status_code in {400, 401}
    assert service.submit(event("Cold.")).json()["disposition"] == "accepted-for-review"


def test_a_revoked_token_is_refused_within_a_second(service: Service) -> None:
    """The fast path caches a token look-up no longer than the framework path does."""
    assert service.submit(event()).status_code == 201
    service.state.access.tokens.revoke("worker:release-bot")
    while service.submit(event()).status_code != 401:
        pass
    assert service.submit(event()).status_code == 401

"""Fixtures: a service, a network with scripted faults in front of it, and senders without backoff."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antechamber.client import Ledger, retry
from client.network import Network
from support import Service, issue_token, running, serving


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff of microseconds."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE_SECONDS", 0.00001)


@pytest.fixture
def service(tmp_path: Path, policies: Path) -> Iterator[Service]:
    """A service on SQLite, because a sender behaves the same with each engine."""
    with running(tmp_path / "data", policies) as running_service:
        yield running_service


@pytest.fixture
def network(service: Service) -> Network:
    """A network with scripted faults in front of the service."""
    return Network(service)


@pytest.fixture
def live(tmp_path: Path, policies: Path) -> Iterator[tuple[str, str]]:
    """A service as a separate process, and a producer's token."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, _):
        yield url, issue_token(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of an agent's ledger."""
    return tmp_path / "agent.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """An open ledger."""
    with Ledger(path) as opened:
        yield opened

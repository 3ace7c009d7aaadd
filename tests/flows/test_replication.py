"""A server that could lose an acknowledged commit is refused at the start, and is an alarm later."""

from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from antechamber.core.ports.store import Store
from antechamber.flows.replication import Replication, UnsafeServerError

SAFE = {"synchronous_standby_names": "b", "synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"}


class Server:
    """A server with settings that change; it offers only what `Replication` uses."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings

    def write(self, work: Callable[[Any], Any]) -> Future[Any]:
        """Run work in a transaction that sees the settings of now."""
        done: Future[Any] = Future()
        done.set_result(work(SimpleNamespace(doctor=SimpleNamespace(durability_settings=lambda: self.settings))))
        return done


def test_the_next_primary_may_be_unsafe_and_the_one_after_it_safe() -> None:
    """Each look sees the server that commits now, so the alarm begins and ends with a failover."""
    server = Server(SAFE)
    replication = Replication(cast("Store", server))
    replication.require()
    assert replication.alarm is None
    server.settings = SAFE | {"fsync": "off", "synchronous_standby_names": ""}
    replication.look()
    assert "synchronous_standby_names is empty" in (replication.alarm or "")
    assert "fsync is off" in (replication.alarm or "")
    server.settings = SAFE
    replication.look()
    assert replication.alarm is None


def test_an_unsafe_server_is_refused_with_what_to_do() -> None:
    """The message names the cause, the remedy and the option."""
    with pytest.raises(
        UnsafeServerError, match=r"synchronous_standby_names is empty.*synchronous_mode.*--require-sync"
    ):
        Replication(cast("Store", Server(SAFE | {"synchronous_standby_names": ""}))).require()

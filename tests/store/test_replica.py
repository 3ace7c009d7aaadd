"""Reads over a real streaming standby: as new as the primary, or read from the primary."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from litestar.testing import TestClient

from antechamber.app.factory import create_app
from antechamber.background import Background
from antechamber.core.remedies import REMEDIES
from antechamber.settings import Settings
from antechamber.store.errors import StoreError
from antechamber.store.postgres import replica as module
from antechamber.store.postgres.replica import ReplicaReads
from antechamber.store.postgres.store import PostgresStore, migrate
from store.faults import Cluster
from support import URL, quick_folder, until, write_policies


class Pair(NamedTuple):
    """A primary with a database of Antechamber, and its standby."""

    primary: Cluster
    standby: Cluster

    def leaves(self, cluster: Cluster) -> int:
        """Return the number of leaves that one of them shows."""
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            row = connection.execute("SELECT count(*) FROM antechamber.log_leaves").fetchone()
        return int(row[0]) if row else 0

    def raw(self, cluster: Cluster, sql: str) -> None:
        """Run a statement on one of them."""
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute(sql)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A primary and a standby that streams from it."""
    with quick_folder() as folder:
        primary = Cluster(folder)
        migrate(primary.url)
        standby_folder = folder / "standby"
        standby_folder.mkdir()
        shutil.chown(standby_folder, (folder / "data").owner())
        folder.chmod(0o755)
        standby = primary.replica(standby_folder)
        yield Pair(primary, standby)
        standby.close()
        primary.close()


@pytest.fixture
def reads(pair: Pair) -> Iterator[ReplicaReads]:
    """A store that reads the standby."""
    background = Background()
    made = ReplicaReads(PostgresStore(pair.primary.url, background), pair.standby.url, background)
    yield made
    made.close()


def served_by_standby(store: ReplicaReads) -> bool:
    """Return whether a read is one of the standby."""
    with store.read() as tx:
        return bool(tx.sql.one("has_replayed", position="0/0")["ready"])  # type: ignore[attr-defined]


def note(store: ReplicaReads, value: str) -> None:
    """Commit a value."""
    store.write(lambda tx: tx.reports.set_meta("test", value)).result()


def noted(store: ReplicaReads) -> str | None:
    """Read the value."""
    with store.read() as tx:
        return tx.reports.meta("test")


def test_each_read_sees_every_commit_before_it(reads: ReplicaReads) -> None:
    """Reads come from the standby, and show each write that was answered before."""
    until(lambda: served_by_standby(reads), "a read over the standby")
    for number in range(50):
        note(reads, str(number))
        assert noted(reads) == str(number)
    assert reads.replica_alarm() is None


def test_a_standby_that_is_behind_is_not_read_and_is_an_alarm_in_time(
    pair: Pair, reads: ReplicaReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where replay pauses, reads go to the primary at once; after some seconds it is an alarm, until it goes on."""
    pair.raw(pair.standby, "SELECT pg_wal_replay_pause()")
    try:
        note(reads, "later")
        assert noted(reads) == "later"
        assert not served_by_standby(reads)
        monkeypatch.setattr(module, "MAX_LAG_SECONDS", 0.0)
        until(reads.replica_alarm, "the alarm of a standby that is behind")
        assert "bytes and more than" in str(reads.replica_alarm())
        assert noted(reads) == "later"
    finally:
        pair.raw(pair.standby, "SELECT pg_wal_replay_resume()")
    monkeypatch.undo()
    until(lambda: reads.replica_alarm() is None and served_by_standby(reads), "a read over the standby")


def test_a_dead_standby_is_left_out_until_it_is_back(pair: Pair, reads: ReplicaReads) -> None:
    """Reads go to the primary while the standby is down; later the standby is read again, without a restart."""
    pair.standby.stop("immediate")
    try:
        note(reads, "alone")
        assert noted(reads) == "alone"
        until(reads.replica_alarm, "the alarm of a dead standby")
        assert "cannot be used" in str(reads.replica_alarm())
        background = Background()
        late = ReplicaReads(PostgresStore(pair.primary.url, background), pair.standby.url, background)
        assert noted(late) == "alone"
        late.close()
    finally:
        pair.standby.start()
    until(lambda: reads.replica_alarm() is None and served_by_standby(reads), "a read over the standby")


def test_a_commit_that_the_primary_does_not_show_is_not_read(pair: Pair, reads: ReplicaReads) -> None:
    """While a commit waits for a synchronous standby it is on the asynchronous one already; reads do not show it."""
    until(lambda: served_by_standby(reads), "a read over the standby")
    with reads.read() as tx:
        size = tx.log.size()
    leaf = f"INSERT INTO antechamber.log_leaves (id, leaf, subject) VALUES ({size}, '{{}}', 'x')"
    pair.raw(pair.primary, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    pair.raw(pair.primary, "SELECT pg_reload_conf()")
    waits = threading.Thread(target=pair.raw, args=(pair.primary, leaf))
    try:
        waits.start()
        until(lambda: pair.leaves(pair.standby) == size + 1, "the commit on the standby")
        assert pair.leaves(pair.primary) == size
        with reads.read() as tx:
            assert tx.log.size() == size
    finally:
        pair.raw(pair.primary, "ALTER SYSTEM RESET synchronous_standby_names")
        pair.raw(pair.primary, "SELECT pg_reload_conf()")
        waits.join()
    with reads.read() as tx:
        assert tx.log.size() == size + 1


def test_the_service_shows_a_dead_standby_and_goes_on(pair: Pair, tmp_path: Path) -> None:
    """A service over a replica answers, lists the alarm with its remedy while the standby is down, and stays ready."""
    pair.raw(pair.primary, "CREATE DATABASE desk")
    own, copied = (cluster.url.replace("/postgres?", "/desk?") for cluster in pair)
    migrate(own)
    settings = Settings(
        data=tmp_path / "data",
        policies=write_policies(tmp_path / "policies"),
        database_url=own,
        read_database_url=copied,
    )
    app = create_app(settings)
    with TestClient(app, base_url=URL) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        pair.standby.stop("immediate")
        try:
            until(lambda: "replica" in app.state.dashboard.alarms_by_source(), "the alarm")
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()) == (200, {"status": "degraded"})
            alarm = app.state.operations.health().alarms[0]
            assert alarm.remedy == REMEDIES["replica"]
        finally:
            pair.standby.start()
        until(lambda: "replica" not in app.state.dashboard.alarms_by_source(), "the end of the alarm")


def test_only_a_standby_of_the_same_database_is_accepted(pair: Pair) -> None:
    """A primary, and a server of another database, are refused with the reason."""
    for url, reason in (
        (pair.primary.url, "no standby but a primary"),
        (pair.standby.url.replace("/postgres?", "/template1?"), "another database"),
    ):
        background = Background()
        primary = PostgresStore(pair.primary.url, background)
        with pytest.raises(StoreError, match=reason):
            ReplicaReads(primary, url, background)
        primary.close()

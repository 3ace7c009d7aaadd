"""PostgreSQL under races and failures: one answer each, nothing stored twice, nothing acknowledged lost."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import psycopg
import pytest
from psycopg import errors

from antechamber import app
from antechamber.core.access.callers import Bearer
from antechamber.core.admission.disposition import AssignedIds
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.admit import Admission, JudgedReply
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.replies import Reply
from antechamber.settings import Location
from antechamber.store.errors import OTHER_SCHEMA, StoreError
from antechamber.store.postgres.rows import single
from antechamber.store.postgres.schema import verify
from antechamber.store.postgres.store import READERS, PostgresStore, migrate
from store.faults import Backends, Cluster, Deed, Proxy
from support import Databases, Service, antechamber, database, event, name_of, quick_folder, running, until, where

PAIR = ("worker:release-bot", "tool:watcher")


class Process:
    """One of several processes on a database, without its web: a store and the admission over it."""

    def __init__(self, location: Location, policies: Path) -> None:
        """Open the store."""
        self.store: Store = app.open_store(location)
        self._admission = Admission(self.store, PolicyReloader(policies), bytes(32), app.clock, os.urandom)

    def post(self, body: dict[str, Any]) -> "Future[list[JudgedReply]]":
        """Hand a submission in, as the HTTP route does."""
        bearer = Bearer(id=1, name=body["producer_identity"], role="producer", read=[])
        read = self._admission.read(msgspec.json.encode(body), [], bearer)
        assert not isinstance(read, Reply)
        return self._admission._admit([read])

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Hand a submission in and return the answer."""
        return said(self.post(body))

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Keep the writer busy, so that all that comes meanwhile shares the next transaction."""
        busy, go_on = threading.Event(), threading.Event()

        def work(_rows: Rows) -> None:
            busy.set()
            go_on.wait()

        stalling = self.store.write(work)
        until(busy.is_set, "the writer is busy")
        try:
            yield
        finally:
            go_on.set()
        stalling.result()


def said(done: "Future[list[JudgedReply]]") -> dict[str, Any]:
    """Wait for an answer and return its members."""
    members: dict[str, Any] = msgspec.json.decode(done.result()[0].reply.body)
    return members


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as every replay gives it."""
    return {name: value for name, value in answer.items() if name not in {"duplicate", "line"}}


def readable(store: Store) -> bool:
    """Tell whether a store can be read."""
    try:
        with store.read() as rows:
            rows.totals()
    except UnavailableError:
        return False
    return True


def is_refusal(answer: httpx.Response, status: int, code: str) -> bool:
    """Tell whether an answer is the contract's: come again with the same key, and when."""
    body = answer.json()
    return (
        (answer.status_code, body["type"], body["retry_same_key"]) == (status, f"/contract#{code}", True)
        and body["safe_new_key"] is False
        and int(answer.headers["retry-after"]) > 0
    )


@pytest.fixture
def shared(postgres: Databases, tmp_path: Path) -> Iterator[Location]:
    """A place on a database of the server that all tests share."""
    url = postgres.fresh()
    yield Location(data=tmp_path / "data", database_url=url)
    postgres.drop(url)


@pytest.fixture
def behind(shared: Location) -> Backends:
    """The server's side of that database."""
    return Backends(shared.database_url or "")


@pytest.fixture
def process(shared: Location, policies: Path) -> Iterator[Process]:
    """A process on that database."""
    made = Process(shared, policies)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def cluster(postgres: Databases) -> Iterator[Cluster]:  # noqa: ARG001 -- whose folder for locks outlives this one's
    """A server of this module's own."""
    with quick_folder() as folder:
        made = Cluster(folder)
        yield made
        made.close()


@pytest.fixture(scope="module")
def databases(cluster: Cluster) -> Databases:
    """The databases of this module's server."""
    return Databases(cluster.url)


@pytest.fixture
def own(databases: Databases, tmp_path: Path) -> Iterator[Location]:
    """A place on this module's server, without a network between."""
    url = databases.fresh()
    yield Location(data=tmp_path / "data", database_url=url)
    databases.drop(url)


@pytest.fixture
def backends(own: Location) -> Backends:
    """The server's side of that place."""
    return Backends(own.database_url or "")


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    """A network in front of this module's server."""
    made = Proxy(cluster.port)
    yield made
    made.close()


@pytest.fixture
def far(own: Location, proxy: Proxy) -> Location:
    """The same place over the network."""
    return Location(data=own.data, database_url=proxy.through(own.database_url or ""))


@pytest.fixture
def remote(far: Location, policies: Path) -> Iterator[Process]:
    """A process that reaches its database over the network."""
    made = Process(far, policies)
    yield made
    made.store.close()


@pytest.fixture
def distant(far: Location, policies: Path) -> Iterator[Service]:
    """The whole service, over the network."""
    with running(far, policies) as service:
        service.token()
        yield service


@pytest.fixture
def helper() -> Iterator[ThreadPoolExecutor]:
    """Threads for calls that wait."""
    with ThreadPoolExecutor(12) as pool:
        yield pool


# Races between processes


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_race_for_a_key_ends_in_one_receipt(
    own: Location, proxy: Proxy, distant: Service, policies: Path, helper: ThreadPoolExecutor, isolation: str
) -> None:
    """While one process commits, another one with the same submission waits, and then gives the first answer again.

    The database's own default isolation makes no difference.
    """
    backends, body = Backends(own.database_url or ""), event("Raced for.")
    backends.ask(f"ALTER DATABASE {name_of(own.database_url or '')} SET default_transaction_isolation = '{isolation}'")
    with running(own, policies) as near:
        near.submit(event("So that the producer is known."))
        distant.state.admission._store._store._writer._transactions.connection.close()
        proxy.at_commit("Raced for.", "hold")
        first = helper.submit(distant.submit, body)
        try:
            until(proxy.held.is_set, "the first process commits")
            second = helper.submit(near.submit, body)
            until(backends.waiting, "the second process waits for the first one")
        finally:
            proxy.released.set()
        answers = [first.result(), second.result()]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert [answer.json()["duplicate"] for answer in answers] == [False, True]
    assert plain(answers[0].json()) == plain(answers[1].json())
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [2]


def test_batches_in_opposite_order_never_stand_in_each_others_way(
    shared: Location, behind: Backends, policies: Path, helper: ThreadPoolExecutor
) -> None:
    """Two processes with the same keys and contents from both ends: no error reaches anybody, a key has one receipt."""
    with running(shared, policies) as one, running(shared, policies) as other:
        headers = {(service, name): service.bearer(name) for service in (one, other) for name in PAIR}

        def send(service: Service, name: str, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
            raw = b"\n".join(msgspec.json.encode(body) for body in bodies)
            answer = service.client.post("/v1/submissions/batch", content=raw, headers=headers[service, name])
            assert answer.status_code == 200, answer.text
            return [msgspec.json.decode(line) for line in answer.content.splitlines()]

        answers: list[dict[str, Any]] = []
        for turn in range(4):
            contents = [f"Turn {turn}, number {number}." for number in range(40)]
            bodies = {name: [event(content, producer_identity=name) for content in contents] for name in PAIR}
            bodies |= {f"{name} backwards": bodies[name][::-1] for name in PAIR}
            calls = [
                helper.submit(send, service, name, bodies[f"{name}{order}"])
                for order in ("", " backwards")
                for service in (one, other)
                for name in PAIR
            ]
            answers += [line for call in calls for line in call.result()]
    receipts: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        receipts.setdefault(answer["idempotency_key"], []).append(answer)
    assert len(receipts) == 4 * 40 * 2
    for same in receipts.values():
        assert [answer["duplicate"] for answer in same].count(False) == 1
        assert [plain(answer) for answer in same] == [plain(same[0])] * len(same)
    assert {answer["status"] for answer in answers} == {200, 201}
    assert behind.ask("SELECT count(*) FROM antechamber.proposals") == [160]
    assert behind.ask("SELECT count(*) FROM antechamber.evidence") == [160]


def test_single_submissions_of_many_threads_over_two_processes_agree(
    shared: Location, process: Process, behind: Backends, policies: Path, helper: ThreadPoolExecutor
) -> None:
    """A storm of retries that hits two processes at once leaves one row a key."""
    other = Process(shared, policies)
    bodies = [event(f"Stormy {number % 10}.", producer_identity=PAIR[number % 2]) for number in range(30)]
    storms = [bodies, bodies[::-1], bodies[7:] + bodies[:7], bodies[::-1][7:] + bodies[::-1][:7]]

    def send(number: int) -> list[dict[str, Any]]:
        sender = (process, other)[number % 2]
        return [sender.submit(body) for body in storms[number // 2 % 4]]

    answers = [answer for answered in helper.map(send, range(8)) for answer in answered]
    other.store.close()
    assert {answer["status"] for answer in answers} == {200, 201}
    assert len({answer["submission_id"] for answer in answers}) == 30
    assert sum(not answer["duplicate"] for answer in answers) == 30
    assert behind.ask("SELECT count(*) FROM antechamber.submissions") == [30]
    assert behind.ask("SELECT count(*) FROM antechamber.proposals") == [10]


# What PostgreSQL undoes is done again


def test_a_deadlock_is_broken_and_the_work_done_again(
    process: Process, shared: Location, behind: Backends, helper: ThreadPoolExecutor
) -> None:
    """Whoever took locks in another order does not fail us: the work runs again and its result is kept."""
    ids = [process.submit(event(f"Proposal {number}."))["proposal_id"] for number in range(2)]
    holds = threading.Event()
    runs: list[int] = []

    def work(rows: Rows) -> str:
        runs.append(1)
        rows.hold_proposal(ids[0])
        holds.set()
        rows.hold_proposal(ids[1])
        return rows.claim_meta("after", "the deadlock")

    lock = "SELECT id FROM proposals WHERE proposal_id = %s FOR UPDATE"
    with database(shared) as other:
        # So it is always the store's transaction that finds the deadlock, and is undone.
        other.execute("SET deadlock_timeout = '1min'")
        with other.transaction():
            other.execute(lock, [ids[1]])
            done = process.store.write(work)
            until(holds.is_set, "the store holds its first lock")
            until(behind.waiting, "the store waits for the other one's lock")
            helper.submit(other.execute, lock, [ids[0]]).result()
        assert done.result() == "the deadlock"
    assert len(runs) > 1
    assert behind.ask("SELECT value FROM antechamber.meta WHERE name = 'after'") == ["the deadlock"]


@pytest.mark.parametrize("moment", ["at once", "at COMMIT"])
def test_a_serialization_failure_is_tried_again(process: Process, behind: Backends, moment: str) -> None:
    """What the server says may work another time is done another time, and nobody hears of it."""
    behind.ask(
        "CREATE SEQUENCE antechamber.tries; GRANT USAGE ON SEQUENCE antechamber.tries TO public;"
        "CREATE FUNCTION stumble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('antechamber.tries') < 3 THEN RAISE serialization_failure; END IF; RETURN NEW; END $$;"
    )
    kind = {"at once": "TRIGGER stumbles BEFORE", "at COMMIT": "CONSTRAINT TRIGGER stumbles AFTER"}[moment]
    when = {"at once": "", "at COMMIT": "DEFERRABLE INITIALLY DEFERRED"}[moment]
    behind.ask(f"CREATE {kind} INSERT ON antechamber.submissions {when} FOR EACH ROW EXECUTE FUNCTION stumble()")
    answer = process.submit(event())
    assert (answer["status"], answer["duplicate"]) == (201, False)
    assert behind.ask("SELECT count(*) FROM antechamber.submissions") == [1]
    assert behind.ask("SELECT last_value FROM antechamber.tries") == [3]


# Waiting for a lock


@contextlib.contextmanager
def taken(location: Location, body: dict[str, Any]) -> Iterator[None]:
    """Hold a key as another process does that does not come to an end."""
    with database(location) as other:
        other.execute("BEGIN")
        other.execute(
            "INSERT INTO submissions (submission_id, producer, idempotency_key, disposition, status, keyed, "
            "channel, policy_digest, received_at, receipt) "
            "SELECT 'held', id, %s, 'rejected-invalid', 422, 0, 'http', '', 1, '{}' "
            "FROM producers WHERE producer_identity = %s",
            [body["idempotency_key"], body["producer_identity"]],
        )
        yield
        other.execute("ROLLBACK")


def test_a_key_that_another_process_holds_is_busy_and_stays_free(shared: Location, policies: Path) -> None:
    """After a bounded wait: 409, come again with the same key; then it works as if nothing had been."""
    body = event("Held elsewhere.")
    with running(shared, policies) as service:
        service.submit(event("To know the producer."))
        with taken(shared, body):
            answer = service.submit(body)
        assert is_refusal(answer, 409, "busy")
        again = service.submit(body)
    assert (again.status_code, again.json()["duplicate"]) == (201, False)


def test_whoever_waits_with_a_held_key_is_not_harmed(process: Process, shared: Location) -> None:
    """Work of the same group that needs nothing of what is held gets its answer and is stored."""
    body = event("Held elsewhere.")
    process.submit(event("To know the producer."))
    with taken(shared, body):
        with process.stalled():
            before = [process.post(event(f"Before {number}.")) for number in range(3)]
            held = process.post(body)
            after = [process.post(event(f"After {number}.")) for number in range(3)]
            other = process.store.write(lambda rows: rows.claim_meta("beside", "stored"))
        with pytest.raises(BusyError):
            held.result()
        assert {said(done)["status"] for done in (*before, *after)} == {201}
        assert other.result() == "stored"
    assert process.submit(body)["duplicate"] is False


def test_many_who_want_a_held_key_wait_together(process: Process, shared: Location) -> None:
    """Retries of one key that is held elsewhere do not add their waits up, least of all for those behind them."""
    body = event("Held elsewhere.")
    process.submit(event("To know the producer."))
    with taken(shared, body):
        with process.stalled():
            held = [process.post(body) for _ in range(12)]
            behind_them = process.post(event("Behind them."))
        # One patience and some, and far less than one for each.
        assert behind_them.result(timeout=15)[0].reply.status == 201
        for one in held:
            with pytest.raises(BusyError):
                one.result()
    assert process.submit(body)["duplicate"] is False


def test_work_that_breaks_a_promise_harms_no_other_work(process: Process, shared: Location, policies: Path) -> None:
    """Whatever a failed statement takes along: it fails for its own caller, and all else goes on, however often.

    The second process has only just connected, the first one has done everything before.
    """
    body = event("Bound.")
    process.submit(body)
    other = Process(shared, policies)

    def work(rows: Rows) -> None:
        rows.seal(body["producer_identity"], body["idempotency_key"], AssignedIds(submission_id="sealed"), b"{}", "", 1)

    for number in range(24):
        for sender in (process, other):
            with sender.stalled():
                broken = sender.store.write(work)
                sound = [sender.post(event(f"Sound {number}-{beside} {id(sender)}.")) for beside in range(number % 3)]
                replayed = sender.post(body)
            with pytest.raises(psycopg.IntegrityError):
                broken.result()
            assert {said(one)["status"] for one in (*sound, replayed)} == {201}
    other.store.close()


# A connection that is lost


def test_a_connection_lost_before_commit_is_renewed_and_the_work_done_again(process: Process, behind: Backends) -> None:
    """An administrator ends the connection in the middle of the work: it is stored once, and nobody hears of it."""
    runs: list[int] = []

    def work(rows: Rows) -> str:
        value = rows.claim_meta("once", f"run {len(runs)}")
        runs.append(1)
        if len(runs) == 1:
            behind.terminate()
        return value

    assert process.store.write(work).result() == "run 1"
    assert len(runs) == 2
    assert process.submit(event())["duplicate"] is False
    assert behind.ask("SELECT value FROM antechamber.meta WHERE name = 'once'") == ["run 1"]


@pytest.mark.parametrize("deed", ["cut before", "cut after", "hang up"])
def test_a_connection_lost_at_commit_is_settled_by_asking(
    remote: Process, proxy: Proxy, backends: Backends, deed: Deed
) -> None:
    """Whether the server committed or not: the answer is the first one, and one row is there."""
    for number in range(8):
        remote.submit(event(f"Warm {number}."))
    for turn in range(3):
        text = f"Lost at COMMIT, {turn}."
        proxy.at_commit(text, deed)
        answer = remote.submit(event(text))
        assert proxy.held.is_set()
        assert (answer["status"], answer["duplicate"]) == (201, False)
        query = "SELECT submission_id FROM antechamber.submissions WHERE submission_id = %s"
        assert backends.ask(query, answer["submission_id"]) == [answer["submission_id"]]
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [11]


def test_a_transaction_that_was_given_up_cannot_commit_later(shared: Location) -> None:
    """A server slow enough to begin on a lost transaction only after we asked for its end must not finish it."""
    with psycopg.connect(shared.database_url or "", autocommit=True) as server:
        server.execute("SET search_path = antechamber")

        def run(statement: str, **values: Any) -> list[Any]:
            return server.execute(single(statement), {"writer_id": "slow"} | values).fetchall()

        server.execute("INSERT INTO writers (writer_id, commits) VALUES ('slow', 6)")
        assert run("settle_commit", commits=7, next=8) == [(8,)]
        with pytest.raises(errors.NotNullViolation):
            server.execute(single("mark_commit"), {"writer_id": "slow", "commits": 7})
        assert run("settle_commit", commits=7, next=8) == [(8,)]
        server.execute(single("mark_commit"), {"writer_id": "slow", "commits": 9})
        assert run("settle_commit", commits=9, next=10) == [(9,)]


@pytest.mark.parametrize("end", ["commits", "dies"])
def test_a_lost_commit_that_is_still_under_way_is_waited_for(
    remote: Process, proxy: Proxy, backends: Backends, end: str
) -> None:
    """The old process of the server still commits when we come back: we wait for its end, whichever it is."""
    backends.ask(
        "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " WHILE NOT pg_try_advisory_xact_lock(7) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER lingers AFTER UPDATE ON antechamber.writers DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION linger()"
    )
    with psycopg.connect(backends._url, autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(7)")
        proxy.at_commit("Slowly.", "hang up")
        done = remote.post(event("Slowly."))
        (first,) = until(backends.waiting, "the store waits for the old transaction")
        if end == "commits":
            until(lambda: set(backends.waiting()) - {first}, "it waits again after its first patience is at an end")
        else:
            backends.ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND query = 'COMMIT' AND state = 'active'"
            )
        gate.execute("SELECT pg_advisory_unlock(7)")
        answer = said(done)
    assert (answer["status"], answer["duplicate"]) == (201, False)
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [1]
    assert backends.ask("SELECT count(*) FROM antechamber.proposals") == [1]


def test_a_long_outage_ends_in_clear_answers_and_leaves_nothing_behind(
    cluster: Cluster, remote: Process, proxy: Proxy, backends: Backends, helper: ThreadPoolExecutor
) -> None:
    """The answer of a COMMIT is lost and the server stays away: that is said, and afterwards the key tells the truth.

    What is lost at the COMMIT that follows is not mistaken for the one before.
    """
    body, next_body = event("Unknown."), event("The next one.")
    proxy.at_commit("Unknown.", "cut for long")
    asked = remote.post(body)
    until(lambda: backends.ask("SELECT count(*) FROM antechamber.submissions") == [1], "the server committed")
    cluster.stop()
    try:
        for reading in [helper.submit(readable, remote.store) for _ in range(4)]:
            assert not reading.result()
        with pytest.raises(UnavailableError):
            asked.result()
    finally:
        cluster.start()
    proxy.admits = True
    proxy.at_commit("The next one.", "cut before")
    answer = remote.submit(next_body)
    assert proxy.held.is_set()
    assert (answer["status"], answer["duplicate"]) == (201, False)
    query = "SELECT count(*) FROM antechamber.submissions WHERE submission_id = %s"
    assert backends.ask(query, answer["submission_id"]) == [1]
    assert remote.submit(body)["duplicate"] is True
    until(lambda: readable(remote.store), "the readers are back")
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [2]


# A server that goes away


@pytest.mark.parametrize("failure", ["fast", "immediate", "terminate", "kill"])
def test_a_server_that_goes_away_loses_nothing(
    cluster: Cluster, own: Location, backends: Backends, policies: Path, helper: ThreadPoolExecutor, failure: str
) -> None:
    """Under load it restarts, crashes or hangs up: 201 or a clear 503, all well afterwards, and every 201 is kept."""
    break_it: dict[str, Callable[[], None]] = {
        "fast": lambda: cluster.restart("fast"),
        "immediate": lambda: cluster.restart("immediate"),
        "terminate": backends.terminate,
        "kill": backends.kill,
    }
    answers: list[tuple[dict[str, Any], httpx.Response]] = []
    over = threading.Event()
    with running(own, policies) as service:
        service.token()

        def load(number: int) -> None:
            turn = 0
            while not over.is_set():
                body = event(f"{failure} {number}-{turn}.")
                answers.append((body, service.submit(body)))
                turn += 1

        loads = [helper.submit(load, number) for number in range(3)]
        try:
            until(lambda: len(answers) > 30, "the load runs")
            break_it[failure]()
            seen = len(answers)
            until(lambda: sum(answer.status_code == 201 for _, answer in answers[seen:]) > 30, "the service is back")
        finally:
            over.set()
        for done in loads:
            done.result()
        refused = [answer for _, answer in answers if answer.status_code != 201]
        assert all(is_refusal(answer, 503, "unavailable") for answer in refused)
        assert not any(answer.json()["duplicate"] for _, answer in answers if answer.status_code == 201)
        until(lambda: service.client.get("/readyz").status_code == 200, "the readers are back")
        for body, answer in answers:
            again = service.submit(body)
            assert again.status_code == 201
            if answer.status_code == 201:
                assert again.headers["idempotent-replayed"] == "true"
                assert plain(again.json()) == plain(answer.json())
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [len(answers)]


def test_a_network_that_swallows_everything_is_noticed(
    distant: Service, proxy: Proxy, backends: Backends, helper: ThreadPoolExecutor
) -> None:
    """Nothing arrives and nothing is refused: writers and readers hear 503 and not nothing; then all is well again."""
    known, body = event("Before."), event("Into the dark.")
    assert distant.submit(known).status_code == 201
    path = f"/v1/submissions/by-key/{known['idempotency_key']}"
    with contextlib.ExitStack() as held:
        for _ in range(READERS):
            held.enter_context(distant.state.admission._store.read())
    proxy.light.clear()
    try:
        reading = helper.submit(distant.client.get, path, headers=distant.bearer())
        writing = helper.submit(distant.submit, body)
        # Far more than it takes, and far less than one patience for each connection that is there.
        answers = [call.result(timeout=40) for call in (reading, writing)]
    finally:
        proxy.light.set()
    assert all(is_refusal(answer, 503, "unavailable") for answer in answers)
    until(lambda: distant.submit(body).status_code == 201, "writing works again")
    until(lambda: distant.client.get(path, headers=distant.bearer()).status_code == 200, "reading works again")
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [2]


# A server that is slow, full or short of connections


def test_what_takes_too_long_is_ended(
    shared: Location, behind: Backends, policies: Path, helper: ThreadPoolExecutor
) -> None:
    """The server cancels a statement that does not end: 503, for writers and readers alike, and nothing is kept."""
    body = event("Slow.")
    behind.ask(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;"
        "CREATE TRIGGER dawdles BEFORE INSERT ON antechamber.submissions FOR EACH ROW EXECUTE FUNCTION dawdle()"
    )
    with running(shared, policies) as service:
        service.token()
        store = service.state.admission._store._store

        def read() -> None:
            with store.read() as rows:
                rows._link.rows("SELECT pg_sleep(60)")

        reading = helper.submit(read)
        assert is_refusal(service.submit(body), 503, "unavailable")
        with pytest.raises(UnavailableError):
            reading.result()
        behind.ask("DROP TRIGGER dawdles ON antechamber.submissions")
        assert service.submit(body).json()["duplicate"] is False


def test_readers_that_find_no_connection_hear_so(shared: Location, policies: Path) -> None:
    """All connections are taken: 503 after a bounded wait, and all is well once one is given back."""
    with running(shared, policies) as service, contextlib.ExitStack() as held:
        body = event()
        service.submit(body)
        path, headers = f"/v1/submissions/by-key/{body['idempotency_key']}", service.bearer()
        store = service.state.admission._store._store
        for _ in range(READERS):
            held.enter_context(store.read())
        with pytest.raises(UnavailableError, match="free"), store.read():
            pass
        assert is_refusal(service.client.get(path, headers=headers), 503, "unavailable")
        held.close()
        assert service.client.get(path, headers=headers).status_code == 200


def test_a_full_disk_is_said_and_survived(cluster: Cluster, own: Location, backends: Backends, policies: Path) -> None:
    """The server can extend no file: 503; with room again the same key works, and nothing acknowledged is missing."""
    with running(own, policies) as service:
        bodies = [event(f"{number} {os.urandom(20_000).hex()}") for number in range(60)]
        answers: list[httpx.Response] = []
        with cluster.full(1 << 20):
            for body in bodies:
                answers.append(service.submit(body))
                if answers[-1].status_code != 201:
                    break
            assert is_refusal(answers[-1], 503, "unavailable")
            assert service.client.get("/healthz").status_code == 200
        refused = bodies[len(answers) - 1]
        until(lambda: service.submit(refused).status_code == 201, "there is room again")
        for body, answer in zip(bodies, answers[:-1], strict=False):
            again = service.submit(body)
            assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
            assert plain(again.json()) == plain(answer.json())
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [len(answers)]


# What an administrator did


def test_a_guard_that_was_switched_off_is_named(shared: Location, process: Process) -> None:
    """Whoever owns the tables can switch triggers off; the check says which."""
    with process.store.read() as rows:
        assert list(rows.check()) == []
    with database(shared) as owner:
        owner.execute("ALTER TABLE memories DISABLE TRIGGER memories_need_their_approvals")
        with process.store.read() as rows:
            assert list(rows.check()) == ["memories_need_their_approvals on memories is switched off"]
        owner.execute("ALTER TABLE memories ENABLE TRIGGER memories_need_their_approvals")
    with process.store.read() as rows:
        assert list(rows.check()) == []


def test_an_empty_database_is_refused_with_the_command_to_run(postgres: Databases) -> None:
    """Serving makes no schema; the text says what does."""
    url = postgres.empty()
    with pytest.raises(StoreError, match="run: antechamber migrate"):
        PostgresStore(url)
    postgres.drop(url)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("DELETE FROM antechamber.steps", "run: antechamber migrate"),
        ("UPDATE antechamber.steps SET name = '0000_before' WHERE name < '0002'", OTHER_SCHEMA),
        ("INSERT INTO antechamber.steps (name) VALUES ('9999_later')", OTHER_SCHEMA),
    ],
)
def test_a_schema_of_another_version_is_refused(shared: Location, change: str, text: str) -> None:
    """Neither an older nor a newer schema is served, and a newer one is not migrated either."""
    url = shared.database_url or ""
    verify(url)
    Backends(url).ask(change)
    with pytest.raises(StoreError) as refusal:
        verify(url)
    assert text in str(refusal.value)
    if text == OTHER_SCHEMA:
        with pytest.raises(StoreError, match="another version"):
            migrate(url)


def test_two_migrations_at_once_take_each_step_once(
    postgres: Databases, tmp_path: Path, helper: ThreadPoolExecutor
) -> None:
    """They take turns: one takes the steps, the other finds nothing to do."""
    url = postgres.empty()
    location = Location(data=tmp_path / "data", database_url=url)
    (tmp_path / "data").mkdir(mode=0o700)
    runs = list(helper.map(lambda _: antechamber("migrate", *where(location), "--json"), range(2)))
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    taken_steps = [step for run in runs for step in msgspec.json.decode(run.stdout)["taken"]]
    assert taken_steps == sorted(Backends(url).ask("SELECT name FROM antechamber.steps"))
    postgres.drop(url)


# Whoever may sign in to the database


class Guest:
    """A database of one's own on the common server, and a user who may do there what a test grants."""

    def __init__(self, databases: Databases, url: str, rights: str) -> None:
        """Make the user."""
        self._databases = databases
        self.server = Backends(databases.url)
        self.owner = Backends(url)
        self.database = name_of(url)
        self.name, password = f"guest_{self.database}", os.urandom(8).hex()
        self.server.ask(f"CREATE ROLE {self.name} LOGIN PASSWORD '{password}' {rights}")
        parts = urlsplit(url)
        self.url = parts._replace(netloc=f"{self.name}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()
        self._address = url

    def close(self) -> None:
        """Take everything away again."""
        self._databases.drop(self._address)
        self.server.ask(f"DROP ROLE {self.name}")


@pytest.fixture
def invite(postgres: Databases) -> Iterator[Callable[..., Guest]]:
    """What makes guests: with what rights, and on an empty database or on one with our schema."""
    guests: list[Guest] = []

    def make(rights: str = "", *, empty: bool = False) -> Guest:
        guests.append(Guest(postgres, postgres.empty() if empty else postgres.fresh(), rights))
        return guests[-1]

    yield make
    for guest in guests:
        guest.close()


@pytest.mark.parametrize("rights", ["INHERIT", "NOINHERIT"])
def test_a_user_with_both_roles_and_nothing_else_serves(
    invite: Callable[..., Guest], tmp_path: Path, policies: Path, rights: str
) -> None:
    """To serve takes no ownership: events come in, a curator admits one, an agent reads it."""
    guest = invite(rights)
    guest.server.ask(f"GRANT antechamber_admission, antechamber_promotion TO {guest.name}")
    with running(Location(data=tmp_path / "data", database_url=guest.url), policies) as service:
        proposal = service.submit(event("Admitted by a guest.")).json()["proposal_id"]
        assert service.sign_in().decide(proposal, "approve").status_code == 303
        assert [item["content"] for item in service.recall()] == ["Admitted by a guest."]
        assert service.client.get("/readyz").status_code == 200


@pytest.mark.parametrize("granted", [None, "antechamber_admission", "antechamber_promotion"])
def test_a_user_who_lacks_a_role_is_refused_with_the_grant_to_run(
    invite: Callable[..., Guest], granted: str | None
) -> None:
    """Half of the roles would fail at the first decision; so it is said at the start, with what to do."""
    guest = invite()
    if granted is not None:
        guest.server.ask(f"GRANT {granted} TO {guest.name}")
    with pytest.raises(StoreError, match="GRANT antechamber_admission, antechamber_promotion TO"):
        PostgresStore(guest.url).close()


def test_whoever_may_not_create_anything_cannot_migrate(invite: Callable[..., Guest]) -> None:
    """The text names what is missing, and the database stays empty."""
    guest = invite(empty=True)
    with pytest.raises(StoreError, match="may not do that: permission denied"):
        migrate(guest.url)
    assert guest.owner.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'antechamber'") == []


def test_an_owner_whom_an_administrator_gave_the_roles_migrates(invite: Callable[..., Guest]) -> None:
    """On a shared server the roles are there already: membership is all that an owner of a database needs."""
    guest = invite(empty=True)
    guest.server.ask(f"ALTER DATABASE {guest.database} OWNER TO {guest.name}")
    with pytest.raises(StoreError, match="role"):
        migrate(guest.url)
    assert guest.owner.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'antechamber'") == []
    guest.server.ask(f"GRANT antechamber_admission, antechamber_promotion TO {guest.name}")
    assert migrate(guest.url)
    PostgresStore(guest.url).close()


def test_an_owner_who_may_not_make_roles_is_told_so(databases: Databases) -> None:
    """On a server that has our roles not yet, making them takes a right of its own."""
    server = Backends(databases.url)
    roles = ("antechamber_admission", "antechamber_promotion")
    for role in roles:
        server.ask(f"ALTER ROLE {role} RENAME TO {role}_away")
    guest = Guest(databases, databases.empty(), "")
    try:
        server.ask(f"ALTER DATABASE {guest.database} OWNER TO {guest.name}")
        with pytest.raises(StoreError, match="create role"):
            migrate(guest.url)
        server.ask(f"ALTER ROLE {guest.name} CREATEROLE")
        assert migrate(guest.url)
        PostgresStore(guest.url).close()
    finally:
        guest.close()
        for role in roles:
            server.ask(f"DROP ROLE IF EXISTS {role}")
            server.ask(f"ALTER ROLE {role}_away RENAME TO {role}")


def test_a_database_in_another_encoding_is_not_migrated(postgres: Databases) -> None:
    """What producers write could not be kept in it; the text says how to make another one."""
    server, name = Backends(postgres.url), f"{name_of(postgres.empty())}_latin"
    server.ask(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = urlsplit(postgres.url)._replace(path=f"/{name}").geturl()
    with pytest.raises(StoreError, match="LATIN1; create it with: ENCODING 'UTF8'"):
        migrate(url)
    postgres.drop(url)
    postgres.drop(url.replace("_latin", ""))


def test_a_server_that_does_not_keep_what_it_commits_is_refused(cluster: Cluster, own: Location) -> None:
    """With fsync off an answered submission could be gone after a power cut."""
    server = Backends(cluster.url)

    def switch(state: str) -> None:
        server.ask(f"ALTER SYSTEM SET fsync = {state}")
        server.ask("SELECT pg_reload_conf()")
        until(lambda: server.ask("SHOW fsync") == [state], "the server took the setting up")

    switch("off")
    try:
        with pytest.raises(StoreError, match="switch it on"):
            PostgresStore(own.database_url or "")
    finally:
        switch("on")
    PostgresStore(own.database_url or "").close()


# News of the queue


class Ear:
    """Somebody who watches a store's queue."""

    def __init__(self, store: Store) -> None:
        """Begin to watch."""
        self.heard = 0
        self.end = store.watch(self._wake)

    def _wake(self) -> None:
        self.heard += 1

    def begins(self) -> None:
        """Wait until a connection listens, which is news of its own; what follows is counted from none."""
        until(lambda: self.heard, "a connection listens")
        self.heard = 0


def test_whoever_watches_another_process_hears_of_its_changes(
    process: Process, shared: Location, policies: Path
) -> None:
    """News travel between processes, and still do after the connection that listens was lost."""
    other = Process(shared, policies)
    ear = Ear(other.store)
    ear.begins()
    process.submit(event())
    until(lambda: ear.heard == 1, "the first news")
    ear.heard = 0
    Backends(shared.database_url or "").terminate()
    ear.begins()
    process.submit(event("Another."))
    until(lambda: ear.heard == 1, "news over the next connection")
    ear.end()
    deaf, listening = ear.heard, Ear(other.store)
    process.submit(event("A third."))
    until(lambda: listening.heard, "news for who still watches")
    assert ear.heard == deaf
    other.store.close()


def test_what_was_undone_is_no_news(location: Location, policies: Path) -> None:
    """On both engines whoever watches hears of what was stored, once, and not of what was rolled back or replayed."""
    process = Process(location, policies)
    ear = Ear(process.store)
    if location.database_url is not None:
        ear.begins()

    def work(rows: Any) -> None:
        rows.announce()
        raise LookupError

    with pytest.raises(LookupError):
        process.store.write(work).result()
    body = event()
    process.submit(body)
    process.submit(body)
    process.submit(event("The last."))
    until(lambda: ear.heard >= 2, "the news of two proposals")
    process.store.close()
    assert ear.heard == 2


def test_a_network_that_forgot_its_connections_keeps_nobody_away(
    remote: Process, proxy: Proxy, own: Location, policies: Path, helper: ThreadPoolExecutor
) -> None:
    """A firewall drops what it knew without a word: who writes, reads or listens finds a way past it."""
    near = Process(own, policies)
    ear = Ear(remote.store)
    ear.begins()
    assert remote.submit(event())["status"] == 201
    until(lambda: ear.heard, "the first news")
    ear.heard = 0
    proxy.forget()
    near.submit(event("News."))
    near.store.close()
    writing = helper.submit(remote.submit, event("Over a new connection."))
    until(lambda: readable(remote.store), "reading works again")
    answer = writing.result()
    assert (answer["status"], answer["duplicate"]) == (201, False)
    until(lambda: ear.heard, "the news arrive")

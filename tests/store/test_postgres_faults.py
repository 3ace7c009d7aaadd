"""PostgreSQL under races and failures: one answer per request, no duplicates, and no lost acknowledgment."""

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
from antechamber.core.admission.disposition import SealWrite
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports.store import Rows, Store
from antechamber.event_vault import EventVault
from antechamber.flows.admit import Admission, CountedReply
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.replies import Reply
from antechamber.settings import Location
from antechamber.store.errors import OTHER_SCHEMA, StoreError
from antechamber.store.postgres.schema import verify
from antechamber.store.postgres.statements import single
from antechamber.store.postgres.store import READERS, PostgresStore, migrate
from store.faults import Backends, Cluster, Deed, Proxy
from support import Databases, Service, antechamber, database, event, name_of, quick_folder, running, until, where

PAIR = ("worker:release-bot", "tool:watcher")


class Process:
    """One of several processes on a database, without HTTP: a store and the admission flow on top."""

    def __init__(self, location: Location, policies: Path) -> None:
        self.store: Store = app.open_store(location)
        self._admission = Admission(
            self.store, PolicyReloader(policies), bytes(32), EventVault(bytes(32)), app.clock, os.urandom
        )

    def post(self, body: dict[str, Any]) -> "Future[list[CountedReply]]":
        """Submit an event, as the HTTP route does."""
        bearer = Bearer(id=1, name=body["producer_identity"], role="producer", read=[])
        read = self._admission.read(msgspec.json.encode(body), [], bearer)
        assert not isinstance(read, Reply)
        return self._admission._admit([read])

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Submit an event and return the answer."""
        return said(self.post(body))

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Block the writer, so that all work submitted meanwhile shares the next transaction."""
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


def said(done: "Future[list[CountedReply]]") -> dict[str, Any]:
    """Wait for an answer and return its members."""
    members: dict[str, Any] = msgspec.json.decode(done.result()[0][0].body)
    return members


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in the form that every replay has."""
    return {name: value for name, value in answer.items() if name not in {"duplicate", "line"}}


def readable(store: Store) -> bool:
    """Return whether a store can be read."""
    try:
        with store.read() as tx:
            tx.reports.totals()
    except UnavailableError:
        return False
    return True


def is_refusal(answer: httpx.Response, status: int, code: str) -> bool:
    """Return whether an answer is the contract's 503: retry with the same key after a stated time."""
    body = answer.json()
    return (
        (answer.status_code, body["type"], body["retry_same_key"]) == (status, f"/contract#{code}", True)
        and body["safe_new_key"] is False
        and int(answer.headers["retry-after"]) > 0
    )


@pytest.fixture
def shared(postgres: Databases, tmp_path: Path) -> Iterator[Location]:
    """A location on a database of the server that all tests share."""
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
def cluster(postgres: Databases) -> Iterator[Cluster]:  # noqa: ARG001 -- its folder for locks must outlive this server
    """A separate server for this module."""
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
    """A location on this module's server, connected directly."""
    url = databases.fresh()
    yield Location(data=tmp_path / "data", database_url=url)
    databases.drop(url)


@pytest.fixture
def backends(own: Location) -> Backends:
    """The server's side of that location."""
    return Backends(own.database_url or "")


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    """A proxy in front of this module's server."""
    made = Proxy(cluster.port)
    yield made
    made.close()


@pytest.fixture
def far(own: Location, proxy: Proxy) -> Location:
    """The same location through the proxy."""
    return Location(data=own.data, database_url=proxy.through(own.database_url or ""))


@pytest.fixture
def remote(far: Location, policies: Path) -> Iterator[Process]:
    """A process that reaches its database through the proxy."""
    made = Process(far, policies)
    yield made
    made.store.close()


@pytest.fixture
def distant(far: Location, policies: Path) -> Iterator[Service]:
    """The whole service, connected through the proxy."""
    with running(far, policies) as service:
        service.token()
        yield service


@pytest.fixture
def helper() -> Iterator[ThreadPoolExecutor]:
    """Threads for calls that block."""
    with ThreadPoolExecutor(12) as pool:
        yield pool


# Races between processes


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_race_for_a_key_ends_in_one_receipt(
    own: Location, proxy: Proxy, distant: Service, policies: Path, helper: ThreadPoolExecutor, isolation: str
) -> None:
    """A second process with the same submission waits for the first one's commit and then returns the first answer.

    The database's default isolation level makes no difference.
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
    """Two processes that submit the same keys in opposite orders return no error, and each key has one receipt."""
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
    """A burst of retries over two processes leaves one row per key."""
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


# Rolled-back work is retried


def test_a_deadlock_is_broken_and_the_work_done_again(
    process: Process, shared: Location, behind: Backends, helper: ThreadPoolExecutor
) -> None:
    """Work that PostgreSQL rolled back as a deadlock victim runs again, and its result is kept."""
    ids = [process.submit(event(f"Proposal {number}."))["proposal_id"] for number in range(2)]
    holds = threading.Event()
    runs: list[int] = []

    def work(tx: Rows) -> str:
        runs.append(1)
        tx.review.hold_proposal(ids[0])
        holds.set()
        tx.review.hold_proposal(ids[1])
        return tx.reports.claim_meta("after", "the deadlock")

    lock = "SELECT id FROM proposals WHERE proposal_id = %s FOR UPDATE"
    with database(shared) as other:
        # The other session waits longer, so the store's transaction always detects the deadlock and is rolled back.
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
    """A serialization failure is retried, and the caller sees no error."""
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
    """Hold a key as another process would whose transaction does not end."""
    with database(location) as other:
        other.execute("BEGIN")
        other.execute(
            "INSERT INTO submissions (submission_id, producer, idempotency_key, disposition, status, keyed, "
            "channel, policy, received_at, receipt) "
            "SELECT 'held', id, %s, 'rejected-invalid', 422, 0, 'http', (SELECT min(id) FROM policies), 1, '{}' "
            "FROM producers WHERE producer_identity = %s",
            [body["idempotency_key"], body["producer_identity"]],
        )
        yield
        other.execute("ROLLBACK")


def test_a_key_that_another_process_holds_is_busy_and_stays_free(shared: Location, policies: Path) -> None:
    """A key that another process holds gives 409 after a bounded wait, and the same key works once it is released."""
    body = event("Held elsewhere.")
    with running(shared, policies) as service:
        service.submit(event("To know the producer."))
        with taken(shared, body):
            answer = service.submit(body)
        assert is_refusal(answer, 409, "busy")
        again = service.submit(body)
    assert (again.status_code, again.json()["duplicate"]) == (201, False)


def test_whoever_waits_with_a_held_key_is_not_harmed(process: Process, shared: Location) -> None:
    """Work grouped with a blocked key but independent of it is answered and stored."""
    body = event("Held elsewhere.")
    process.submit(event("To know the producer."))
    with taken(shared, body):
        with process.stalled():
            before = [process.post(event(f"Before {number}.")) for number in range(3)]
            held = process.post(body)
            after = [process.post(event(f"After {number}.")) for number in range(3)]
            other = process.store.write(lambda tx: tx.reports.claim_meta("beside", "stored"))
        with pytest.raises(BusyError):
            held.result()
        assert {said(done)["status"] for done in (*before, *after)} == {201}
        assert other.result() == "stored"
    assert process.submit(body)["duplicate"] is False


def test_many_who_want_a_held_key_wait_together(process: Process, shared: Location) -> None:
    """Retries of one held key wait at the same time, so later work does not wait for the sum of their timeouts."""
    body = event("Held elsewhere.")
    process.submit(event("To know the producer."))
    with taken(shared, body):
        with process.stalled():
            held = [process.post(body) for _ in range(12)]
            behind_them = process.post(event("Behind them."))
        # A little more than one timeout, and far less than one for each retry.
        assert behind_them.result(timeout=15)[0][0].status == 201
        for one in held:
            with pytest.raises(BusyError):
                one.result()
    assert process.submit(body)["duplicate"] is False


def test_work_that_breaks_a_promise_harms_no_other_work(process: Process, shared: Location, policies: Path) -> None:
    """Work whose statement fails gets the error alone; all other work continues, however often this happens.

    The second process has only just connected; the first has used every statement before.
    """
    body = event("Bound.")
    process.submit(body)
    other = Process(shared, policies)

    def work(tx: Rows) -> None:
        tx.admission.seal(
            SealWrite(
                producer_identity=body["producer_identity"],
                idempotency_key=body["idempotency_key"],
                submission_id="sealed",
                receipt=b"{}",
                policy_digest="",
                sealed_at=1,
            )
        )

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


# Lost connections


def test_keys_that_a_new_primary_gives_out_again_are_not_used(
    process: Process, shared: Location, behind: Backends, policies: Path
) -> None:
    """A sequence advances on the standby only with a commit, so a failover sets it back behind keys in memory."""
    process.submit(event("first"))
    (before,) = behind.ask("SELECT max(id) FROM antechamber.submissions")
    behind.ask("SELECT setval('antechamber.submissions_id_seq', %s)", before)
    behind.terminate()
    other = Process(shared, policies)
    try:
        stored = [other.submit(event(f"other {number}")) for number in range(30)]
    finally:
        other.store.close()
    stored += [process.submit(event(f"this {number}")) for number in range(30)]
    assert {answer["disposition"] for answer in stored} == {"accepted-for-review"}
    assert behind.ask("SELECT count(*) FROM antechamber.submissions") == [61]


def test_a_connection_lost_before_commit_is_renewed_and_the_work_done_again(process: Process, behind: Backends) -> None:
    """When an administrator ends the connection during the work, it is stored once and the caller sees no error."""
    runs: list[int] = []

    def work(tx: Rows) -> str:
        value = tx.reports.claim_meta("once", f"run {len(runs)}")
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
    """When a COMMIT's answer is lost, the store looks up the outcome, returns the first answer and keeps one row."""
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
    """A slow server that reaches a lost transaction only after its outcome was settled cannot commit it."""
    with psycopg.connect(shared.database_url or "", autocommit=True) as server:
        server.execute("SET search_path = antechamber")

        def run(statement: str, **values: Any) -> list[Any]:
            return server.execute(single(statement), {"writer_id": "slow"} | values).fetchall()

        server.execute("INSERT INTO writers (writer_id, commits) VALUES ('slow', 6)")
        assert run("resolve_commit", commits=7, next=8) == [(8,)]
        with pytest.raises(errors.NotNullViolation):
            server.execute(single("mark_commit"), {"writer_id": "slow", "commits": 7})
        assert run("resolve_commit", commits=7, next=8) == [(8,)]
        server.execute(single("mark_commit"), {"writer_id": "slow", "commits": 9})
        assert run("resolve_commit", commits=9, next=10) == [(9,)]


@pytest.mark.parametrize("end", ["commits", "dies"])
def test_a_lost_commit_that_is_still_under_way_is_waited_for(
    remote: Process, proxy: Proxy, backends: Backends, end: str
) -> None:
    """When the server is still committing as the store reconnects, the store waits for the outcome."""
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
    """If the server stays down after a lost COMMIT, the answer is 503, and later the key shows the outcome.

    A COMMIT lost after that is not confused with the first one.
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


# Server outages


@pytest.mark.parametrize("failure", ["fast", "immediate", "terminate", "kill"])
def test_a_server_that_goes_away_loses_nothing(
    cluster: Cluster, own: Location, backends: Backends, policies: Path, helper: ThreadPoolExecutor, failure: str
) -> None:
    """Under load the server restarts, crashes or disconnects: answers are 201 or 503, and every 201 is stored."""
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
    """When the network drops all packets silently, writers and readers get 503, and the service recovers afterwards."""
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
        # Far more than needed, and far less than one timeout for each open connection.
        answers = [call.result(timeout=40) for call in (reading, writing)]
    finally:
        proxy.light.set()
    assert all(is_refusal(answer, 503, "unavailable") for answer in answers)
    until(lambda: distant.submit(body).status_code == 201, "writing works again")
    until(lambda: distant.client.get(path, headers=distant.bearer()).status_code == 200, "reading works again")
    assert backends.ask("SELECT count(*) FROM antechamber.submissions") == [2]


# A slow or full server, or one without free connections


def test_what_takes_too_long_is_ended(
    shared: Location, behind: Backends, policies: Path, helper: ThreadPoolExecutor
) -> None:
    """The server cancels a statement that runs too long: 503 for writers and readers, and nothing is stored."""
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
            with store.read() as tx:
                tx.sql._link.rows("SELECT pg_sleep(60)")

        reading = helper.submit(read)
        assert is_refusal(service.submit(body), 503, "unavailable")
        with pytest.raises(UnavailableError):
            reading.result()
        behind.ask("DROP TRIGGER dawdles ON antechamber.submissions")
        assert service.submit(body).json()["duplicate"] is False


def test_the_doctor_may_take_longer_than_a_request(process: Process) -> None:
    """A check looks at all rows, so neither the server nor the watchdog ends it; the next transaction has limits."""
    with process.store.read() as tx:
        assert list(tx.doctor.check()) == []
        tx.sql._link.rows("SELECT pg_sleep(9)")
    with process.store.read() as tx:
        assert tx.sql._link.rows("SHOW statement_timeout") == [{"statement_timeout": "5s"}]


def test_no_statement_waits_for_the_compiler_of_the_server(process: Process, behind: Backends) -> None:
    """A server compiles large statements by default (`jit`), which takes seconds; neither reads nor writes use it."""
    assert behind.ask("SHOW jit") == ["on"]
    with process.store.read() as tx:
        assert tx.sql._link.rows("SHOW jit") == [{"jit": "off"}]
    written = process.store.write(lambda tx: tx.sql._link.rows("SHOW jit")).result()
    assert written == [{"jit": "off"}]


def test_readers_that_find_no_connection_hear_so(shared: Location, policies: Path) -> None:
    """When all connections are in use, a reader gets 503 after a bounded wait, and works again once one is free."""
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
    """When the server cannot extend a file: 503; with space again the same key works and no receipt is lost."""
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


# Changes by an administrator


def test_a_guard_that_was_switched_off_is_named(shared: Location, process: Process) -> None:
    """The owner of the tables can switch triggers off; the check names the table."""
    with process.store.read() as tx:
        assert list(tx.doctor.check()) == []
    with database(shared) as owner:
        owner.execute("ALTER TABLE memories DISABLE TRIGGER memories_need_their_approvals")
        with process.store.read() as tx:
            assert list(tx.doctor.check()) == ["memories_need_their_approvals on memories is switched off"]
        owner.execute("ALTER TABLE memories ENABLE TRIGGER memories_need_their_approvals")
    with process.store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_a_standby_is_never_read(cluster: Cluster, own: Location) -> None:
    """Its rows are of an earlier time: a connected service waits for the primary, and another one does not start."""
    store = app.open_store(own)
    with cluster.standby():
        with pytest.raises(UnavailableError), store.read():
            pass
        with pytest.raises(StoreError, match="standby"):
            PostgresStore(own.database_url or "")

    def reads() -> bool:
        try:
            with store.read() as tx:
                return tx.log.size() >= 0
        except UnavailableError:
            return False

    until(reads, "the primary is back")
    store.close()


def test_an_empty_database_is_refused_with_the_command_to_run(postgres: Databases) -> None:
    """Serving does not create a schema; the error names the command that does."""
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
    """Neither an older nor a newer schema is served, and a newer one is not migrated."""
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
    """Of two migrations at once, one applies the steps and the other finds nothing to do."""
    url = postgres.empty()
    location = Location(data=tmp_path / "data", database_url=url)
    (tmp_path / "data").mkdir(mode=0o700)
    runs = list(helper.map(lambda _: antechamber("migrate", *where(location), "--json"), range(2)))
    assert [run.returncode for run in runs] == [0, 0]
    assert {line.split()[1] for run in runs for line in run.stderr.splitlines()} == {"INFO"}
    taken_steps = [step for run in runs for step in msgspec.json.decode(run.stdout)["taken"]]
    assert taken_steps == sorted(Backends(url).ask("SELECT name FROM antechamber.steps"))
    postgres.drop(url)


# Database users and roles


class Guest:
    """A separate database on the shared server, and a user with the rights that a test grants."""

    def __init__(self, databases: Databases, url: str, rights: str) -> None:
        """Create the user."""
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
        """Drop the database and the user."""
        self._databases.drop(self._address)
        self.server.ask(f"DROP ROLE {self.name}")


@pytest.fixture
def invite(postgres: Databases) -> Iterator[Callable[..., Guest]]:
    """Return a function that creates guests with given rights, on an empty database or on one with the schema."""
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
    """A user with both roles and no ownership can serve: events are submitted, approved and read."""
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
    """A user without one of the roles is refused at the start, with the GRANT to run.

    Otherwise the first decision would fail.
    """
    guest = invite()
    if granted is not None:
        guest.server.ask(f"GRANT {granted} TO {guest.name}")
    with pytest.raises(StoreError, match="GRANT antechamber_admission, antechamber_promotion TO"):
        PostgresStore(guest.url).close()


def test_whoever_may_not_create_anything_cannot_migrate(invite: Callable[..., Guest]) -> None:
    """A user who may not create objects gets an error that names the missing right, and the database stays empty."""
    guest = invite(empty=True)
    with pytest.raises(StoreError, match="may not do that: permission denied"):
        migrate(guest.url)
    assert guest.owner.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'antechamber'") == []


def test_an_owner_whom_an_administrator_gave_the_roles_migrates(invite: Callable[..., Guest]) -> None:
    """On a shared server where the roles exist, membership is enough for the owner of a database to migrate."""
    guest = invite(empty=True)
    guest.server.ask(f"ALTER DATABASE {guest.database} OWNER TO {guest.name}")
    with pytest.raises(StoreError, match="role"):
        migrate(guest.url)
    assert guest.owner.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'antechamber'") == []
    guest.server.ask(f"GRANT antechamber_admission, antechamber_promotion TO {guest.name}")
    assert migrate(guest.url)
    PostgresStore(guest.url).close()


def test_an_owner_who_may_not_make_roles_is_told_so(databases: Databases) -> None:
    """On a server without the roles, migrating requires the right to create them, and the error names it."""
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
    """A database that cannot store every text of producers is not migrated; the error names the command for another."""
    server, name = Backends(postgres.url), f"{name_of(postgres.empty())}_latin"
    server.ask(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = urlsplit(postgres.url)._replace(path=f"/{name}").geturl()
    with pytest.raises(StoreError, match="LATIN1; create it with: ENCODING 'UTF8'"):
        migrate(url)
    postgres.drop(url)
    postgres.drop(url.replace("_latin", ""))


def test_a_server_that_does_not_keep_what_it_commits_is_refused(cluster: Cluster, own: Location) -> None:
    """With fsync off a receipt could be lost after a power cut, so the server is refused."""
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


# Change notifications of the queue


class Ear:
    """A watcher of a store's queue."""

    def __init__(self, store: Store) -> None:
        """Start watching."""
        self.heard = 0
        self.end = store.watch(self._wake)

    def _wake(self) -> None:
        self.heard += 1

    def begins(self) -> None:
        """Wait for the notification that a connection listens, then count from zero."""
        until(lambda: self.heard, "a connection listens")
        self.heard = 0


def test_whoever_watches_another_process_hears_of_its_changes(
    process: Process, shared: Location, policies: Path
) -> None:
    """Notifications reach another process, also after the listening connection was lost."""
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
    """On both engines a watcher is notified once of stored changes, and never of rolled-back or replayed ones."""
    process = Process(location, policies)
    ear = Ear(process.store)
    if location.database_url is not None:
        ear.begins()

    def work(tx: Any) -> None:
        tx.sql.announce()
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
    """When a firewall silently forgets its connections, writers, readers and listeners reconnect."""
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

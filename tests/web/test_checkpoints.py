"""The log's signer: it never contradicts an earlier checkpoint, reports when it cannot sign, and handles new keys."""

import base64
import contextlib
import http.server
import json
import logging
import os
import re
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from antechamber import app
from antechamber.app import erase, examine, open_log, open_store, opened_log
from antechamber.app.pinning import PinError, build_publisher
from antechamber.checkpoint_signer import verify as verify_signature
from antechamber.checkpoint_signer import write_key
from antechamber.core.errors import BusyError, ClosedError, EraseError, LogError
from antechamber.core.log.checkpoint_text import read_checkpoint, read_text
from antechamber.core.log.leaf import of_direct_write
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.core.ports.store import Store
from antechamber.flows.checkpoint_signing import NOT_COMPARED, SIGN_AFTER, SIGN_EVERY, Checkpoints
from antechamber.flows.direct_writes import DirectWrites
from antechamber.flows.export import Export, Exporter
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_proofs import LogProofs
from antechamber.settings import Location
from support import (
    PRODUCERS,
    Service,
    antechamber,
    database,
    dump,
    event,
    free_port,
    leaf_texts,
    locked,
    running,
    until,
    write_policies,
)
from web.test_audit_api import fill, get, lines, verified


def owner_does(location: Location, *statements: str) -> None:
    """Run statements as the owner of the database, with its guards off."""
    with database(location) as raw:
        triggers: dict[str, str] = {}
        if location.database_url:
            raw.execute("ALTER TABLE log_leaves DISABLE TRIGGER USER; ALTER TABLE checkpoints DISABLE TRIGGER USER")
        else:
            triggers = dict(raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
            for name in triggers:
                raw.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *triggers.values()):
            raw.execute(statement)


def readiness(service: Service) -> tuple[str, list[str]]:
    """Return the public status and the findings; operators cannot sign in while the log is in doubt."""
    answer = service.client.get("/readyz")
    assert answer.status_code == 200
    return answer.json()["status"], service.state.dashboard.alarms()


def test_the_key_is_made_once_and_for_its_owner_alone(location: Location, policies: Path) -> None:
    """The key is created once with mode 0600, and the same log continues after a restart."""
    with running(location, policies) as service:
        key = get(service, "key").text
        size = read_text(get(service, "checkpoint").text).size
    assert stat.S_IMODE((location.data / "log.key").stat().st_mode) == 0o600
    with running(location, policies) as service:
        assert get(service, "key").text == key
        assert read_text(get(service, "checkpoint").text).size >= size


def test_of_two_that_start_at_once_one_enters_the_key(location: Location, store: Store) -> None:
    """Of two processes that start at once, one registers the key and the other loads it from their shared folder."""
    entered: list[str] = []

    def another_is_first() -> int:
        entered.extend(LogProofs(store, open_log(store, location, app.clock)).verifier_keys())
        return app.clock()

    log = open_log(store, location, another_is_first)
    assert entered == LogProofs(store, log).verifier_keys()
    with store.read() as tx:
        assert tx.log.verifier_keys() == entered


def test_of_two_folders_for_one_database_the_second_is_refused(
    location: Location, store: Store, tmp_path: Path
) -> None:
    """Of two folders for one database the second is refused, even at a simultaneous start: the key must be copied."""

    def another_is_first() -> int:
        open_log(store, location, app.clock)
        return app.clock()

    elsewhere = Location(data=tmp_path, database_url=location.database_url)
    with pytest.raises(LogError, match="copy the file from the machine that signs"):
        open_log(store, elsewhere, another_is_first)


def test_an_older_backup_of_the_database_trips_the_signer(location: Location, policies: Path) -> None:
    """The checkpoint file proves that a database is older: nothing is signed or written."""
    with running(location, policies) as service:
        service.token()
        size = read_text(get(service, "checkpoint").text).size
        tokens = service._tokens
        service.submit(event("What the backup does not have."))
        after = read_text(get(service, "checkpoint").text).size
        assert after > size
    owner_does(location, f"DELETE FROM log_leaves WHERE id >= {size}", f"DELETE FROM checkpoints WHERE size > {size}")
    with running(location, policies) as service:
        service._tokens = tokens
        status, alarms = readiness(service)
        assert status == "degraded"
        assert re.search(rf"had {after} leaves when it was signed last, and has \d+ now: an older backup", alarms[0])
        assert get(service, "checkpoint").status_code == 503
        # No complete export is served; single leaves can be proven by the earlier checkpoint.
        for kind in ("export", "review-records", "dispositions"):
            assert get(service, kind).status_code == 503
        assert get(service, "proof/inclusion", sequence=0).status_code == 200
        assert service.submit(event("Something else.")).status_code == 503
    assert any("an older backup" in line for line in examine(location))


def test_a_restored_log_continues_under_another_name_and_names_the_lost_checkpoint(
    location: Location, policies: Path
) -> None:
    """The leaf of the new key names the abandoned checkpoint, which is kept as evidence."""
    with running(location, policies) as service:
        size = read_text(get(service, "checkpoint").text).size
        service.submit(event("What the backup does not have."))
        lost = read_text(get(service, "checkpoint").text)
    owner_does(
        location, f"DELETE FROM log_leaves WHERE id >= {size}", f"DELETE FROM checkpoints WHERE size > {size}",
        "DELETE FROM tokens",
    )  # fmt: skip
    with opened_log(location) as (log, _, _), pytest.raises(LogError):
        log.checkpoint()
    with opened_log(location) as (log, _, _):
        new = log.give_up()[0]
    assert not new.startswith(lost.origin)
    assert [read_text(file.read_text()) for file in location.data.glob("log.checkpoint.given-up-*")] == [lost]
    with running(location, policies) as service:
        assert readiness(service) == ("ready", [])
        assert get(service, "key").text.split("\n")[0] == new
        (leaf,) = [
            one["leaf"] for one in lines(get(service, "export"))[:-1] if one["leaf"]["reason_code"] == "restored"
        ]
        assert leaf["subject"]["abandoned_size"] == str(lost.size)
        assert leaf["subject"]["abandoned_root"] == lost.root.hex()


def test_an_altered_leaf_trips_the_signer(location: Location, policies: Path) -> None:
    """The signer detects an altered leaf even if the log's size is unchanged."""
    with running(location, policies) as service:
        service.submit(event())
        get(service, "checkpoint")
    owner_does(location, "UPDATE log_leaves SET leaf = replace(leaf, 'operator', 'producer') WHERE id = 1")
    with running(location, policies) as service:
        status, alarms = readiness(service)
    assert status == "degraded"
    assert "are not those that were signed" in alarms[0]
    assert any("is not that of the first" in line for line in examine(location))


def test_an_altered_node_is_never_signed(location: Location, store: Store) -> None:
    """The signer recomputes nodes from leaves, so it never signs an altered node; the doctor names the node."""
    grow(store, 600)
    log = open_log(store, location, app.clock)
    log.checkpoint()
    owner_does(location, "UPDATE log_nodes SET hash = (SELECT hash FROM log_nodes WHERE number = 1) WHERE number = 0")
    grow(store, 1)
    with pytest.raises(LogError, match="not those that were signed"):
        log.checkpoint()
    assert any("node 0 of level 8" in line for line in examine(location))


@pytest.fixture
def store(location: Location) -> Iterator[Store]:
    """A store without a service."""
    made = open_store(location)
    yield made
    made.close()


def grow(store: Store, number: int) -> None:
    """Add leaves by creating accounts, as the command line does."""

    def add(tx: Any) -> None:
        tx.sql.append_leaves(one for one in made)

    from store.test_log import logged  # noqa: PLC0415 -- the helper of the log's own tests

    made = [logged(f"user {number}") for number in range(number)]
    store.write(add).result()


def test_the_log_is_signed_after_a_number_of_leaves_or_an_interval(location: Location, store: Store) -> None:
    """The log is signed after a number of leaves or an interval, and not again without a change."""
    now = [1_795_168_800_000_000]
    log = open_log(store, location, lambda: now[0])
    log.tick(at_once=True)
    first = LogProofs(store, log).published_checkpoint()
    grow(store, 1)
    log.tick()
    assert LogProofs(store, log).published_checkpoint() == first
    now[0] += SIGN_EVERY
    log.tick()
    second = LogProofs(store, log).published_checkpoint()
    assert second.size == first.size + 1
    now[0] += 10 * SIGN_EVERY
    log.tick()
    assert LogProofs(store, log).published_checkpoint() == second
    grow(store, SIGN_AFTER)
    log.tick()
    assert LogProofs(store, log).published_checkpoint().size == second.size + SIGN_AFTER


def test_what_cannot_be_signed_is_tried_again_each_minute(location: Location, store: Store) -> None:
    """A failed signature is retried each minute, and the alarm ends once it succeeds."""
    now = [1_795_168_800_000_000]
    log = open_log(store, location, lambda: now[0])
    log.tick(at_once=True)
    state, log._signer._state = log._signer._state, Path("/proc/no-such-folder/checkpoint")
    grow(store, 1)
    log.tick(at_once=True)
    assert "cannot be kept" in (log.alarm or "")
    # The comparison was impossible, which is not a contradiction.
    assert log.doubt is None
    log._signer._state = state
    log.tick()
    assert log.alarm
    now[0] += SIGN_EVERY
    log.tick()
    assert log.alarm is None
    assert LogProofs(store, log).published_checkpoint().size == LogProofs(store, log).status().size


def test_a_contradiction_ends_with_its_cause(location: Location, store: Store) -> None:
    """The check runs every second, so the desk opens as soon as the right file is restored."""
    log = open_log(store, location, app.clock)
    assert log.doubt == NOT_COMPARED
    log.tick(at_once=True)
    assert log.doubt is None
    state = location.data / "log.checkpoint"
    good = state.read_text()
    state.write_text("damaged\n")
    log.look()
    assert "damaged" in (log.doubt or "")
    with pytest.raises(ClosedError):
        log.check()
    log.tick()
    assert log.doubt
    state.write_text(good)
    log.tick()
    assert (log.doubt, log.alarm) == (None, None)


def test_two_processes_sign_one_log(location: Location, store: Store) -> None:
    """Two processes with a folder each and the same key sign consistent checkpoints."""
    log = open_log(store, location, app.clock)
    log.tick(at_once=True)
    other = Location(data=location.data.parent / "other", database_url=location.database_url)
    other.data.mkdir()
    with pytest.raises(LogError, match="copy it from the machine that signs"):
        open_log(store, other, app.clock)
    (other.data / "log.key").write_bytes((location.data / "log.key").read_bytes())
    if location.database_url is None:
        # The database of one folder was signed in that folder alone.
        (other.data / "log.checkpoint").write_bytes((location.data / "log.checkpoint").read_bytes())
    beside = open_log(store, other, app.clock)
    for signing in (log, beside, log, beside):
        grow(store, 3)
        assert signing.checkpoint().size == LogProofs(store, signing).status().size
    assert log.contradictions() == beside.contradictions() == []


def test_a_leaf_of_yesterday_is_pointed_at(location: Location, store: Store, tmp_path: Path) -> None:
    """A leaf older than its predecessor is reported but no alteration: the tree defines the order."""
    log = open_log(store, location, app.clock)
    late = of_direct_write("worker:release-bot", app.clock() - 90_000_000_000)
    store.write(lambda tx: tx.sql.append_leaves([late])).result()
    chunks = Export(store, log, LogProofs(store, log), app.clock, os.urandom).log(Exporter("ida", "auditor"))
    (tmp_path / "log.jsonl").write_bytes(b"".join(chunks))
    (tmp_path / "checkpoint.txt").write_text(LogProofs(store, log).published_checkpoint().note)
    arguments = [str(tmp_path / "log.jsonl"), "--checkpoint", str(tmp_path / "checkpoint.txt")]
    said = antechamber("verify", *arguments, "--key", LogProofs(store, log).verifier_keys()[0])
    assert said.returncode == 0
    assert "Leaf 1: its time lies 1 day" in said.stdout


def test_many_threads_sign_one_log(location: Location, store: Store) -> None:
    """With requests for signatures beside the timer, sizes only grow and each checkpoint belongs to the log."""
    log = open_log(store, location, app.clock)
    sizes: list[int] = []

    def work() -> None:
        for _ in range(5):
            grow(store, 1)
            sizes.append(log.checkpoint().size)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sizes) == 20
    assert log.contradictions() == []
    assert log.checkpoint().size == LogProofs(store, log).status().size


def test_the_old_key_signs_that_there_is_a_new_one(location: Location, policies: Path, tmp_path: Path) -> None:
    """An auditor with the old key learns the new one from the log, and a running service adopts it."""
    with running(location, policies) as service:
        old = get(service, "key").text
        kept = tmp_path / "kept.txt"
        kept.write_text(get(service, "checkpoint").text)
        with opened_log(location) as (log, _, _):
            new = log.change_key()
        last = get(service, "checkpoint").text
        leaf = lines(get(service, "export"))[-2]["leaf"]
        assert (leaf["action"], leaf["from"], leaf["to"]) == ("log-key", old.strip(), new)
        assert f"+{old.split('+')[1]}+" in old
        assert last.split("\n")[0] == new.split("+")[0]
        service.submit(event())
        assert get(service, "key").text == f"{new}\n{old}"
        status, said = verified(service, tmp_path, get(service, "export").content, "--previous", str(kept))
        assert (status, "earlier checkpoint" in said) == (0, True)
        assert readiness(service)[0] == "ready"
    assert examine(location) == []


def test_a_change_of_keys_that_was_cut_off_is_finished(location: Location, store: Store) -> None:
    """A key change is completed at the next start if the store has the new key and the file does not."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    old, new = log._signer.key, log._signer.draft()
    store.write(lambda tx: tx.log.add_verifier_key(str(new), 1)).result()
    assert log.checkpoint().size == LogProofs(store, log).status().size
    assert LogProofs(store, log).verifier_keys()[0] == str(new)
    assert log.contradictions() == []
    # The old key signed the tree that ends with the leaf naming the new key.
    with store.read() as tx:
        size = tx.log.size()
        leaf = json.loads(tx.log.leaf_texts(size - 1, 1)[0])
    assert leaf["to"] == str(new)
    assert read_checkpoint(LogProofs(store, log).published_checkpoint(size).note, old, verify_signature).size == size


def test_a_lost_key_stops_the_service_and_can_be_given_up(location: Location, policies: Path) -> None:
    """A service without its key refuses to sign with a fresh one until an operator gives the old one up."""
    with running(location, policies) as service:
        old = get(service, "key").text.split("+")[0]
    (location.data / "log.key").unlink()
    with pytest.raises(LogError, match=r"log\.key is missing"):
        Service(location, policies)
    with opened_log(location, lost=True) as (log, _, _):
        new = log.change_key()
    with running(location, policies) as service:
        assert get(service, "key").text.split("\n")[0] == new
        # It is still the same log: earlier checkpoints bind it.
        assert new.startswith(f"{old}+")
        assert readiness(service)[0] == "ready"
    with pytest.raises(LogError, match="is there"), opened_log(location, lost=True):
        pass


def test_a_lost_key_is_no_way_around_what_was_signed(location: Location, policies: Path) -> None:
    """With an older backup, `--lost` still compares the log with the last checkpoint."""
    with running(location, policies) as service:
        size = read_text(get(service, "checkpoint").text).size
        service.submit(event("What the backup does not have."))
        get(service, "checkpoint")
    owner_does(location, f"DELETE FROM log_leaves WHERE id >= {size}", f"DELETE FROM checkpoints WHERE size > {size}")
    (location.data / "log.key").unlink()
    with opened_log(location, lost=True) as (log, _, _), pytest.raises(LogError, match="older backup"):
        log.change_key()


def test_nothing_is_given_up_without_need(location: Location, store: Store) -> None:
    """`--restored` is refused for an intact log, because it would mislead auditors."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    grow(store, 1)
    with pytest.raises(LogError, match="nothing was lost"):
        log.give_up()
    assert log.contradictions() == []


def test_a_log_that_could_not_be_given_up_is_still_held_to_its_word(location: Location, store: Store) -> None:
    """When the store is busy, giving up fails without effect, and the next attempt names what was lost."""
    grow(store, 3)
    log = open_log(store, location, app.clock)
    lost = log.checkpoint()
    owner_does(location, f"DELETE FROM log_leaves WHERE id >= {lost.size - 1}", "DELETE FROM checkpoints")
    with locked(location), pytest.raises(BusyError):
        log.give_up()
    with pytest.raises(LogError, match="older backup"):
        log.checkpoint()
    log.give_up()
    with store.read() as tx:
        leaf = json.loads(tx.log.leaf_texts(tx.log.size() - 1, 1)[0])
    assert leaf["subject"]["abandoned_size"] == str(lost.size)
    assert log.contradictions() == []
    assert log.contradictions(lost.note)


@pytest.mark.parametrize("how", ["gone", "empty", "elsewhere"])
def test_what_was_signed_last_is_missed(location: Location, store: Store, how: str) -> None:
    """The signer refuses to sign without the last checkpoint; a saved copy may replace the file."""
    log = open_log(store, location, app.clock)
    kept = log.checkpoint().note
    grow(store, 1)
    state = location.data / "log.checkpoint"
    if how == "gone":
        state.unlink()
    elif how == "empty":
        state.write_bytes(b"")
    else:
        location = Location(
            data=location.data, database_url=location.database_url, checkpoint_file=location.data.parent / "kept"
        )
        state = location.data.parent / "kept"
        log = open_log(store, location, app.clock)
    with pytest.raises(LogError, match="missing or empty"):
        log.checkpoint()
    state.write_text(kept)
    assert log.checkpoint().size == LogProofs(store, log).status().size


def test_a_log_without_its_last_checkpoint_can_continue_with_a_new_key(location: Location, store: Store) -> None:
    """Without the last checkpoint the loss is unknown, so the leaf of the new key names none."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    (location.data / "log.checkpoint").unlink()
    new = log.give_up()[0]
    assert LogProofs(store, log).verifier_keys()[0] == new
    assert log.contradictions() == []


def test_a_key_of_another_log_changes_nothing(location: Location, store: Store) -> None:
    """A key of another log in the key file of a running service has no effect."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    write_key(location.data / "other.key", "antechamber/another")
    (location.data / "other.key").replace(location.data / "log.key")
    log._signer.refresh()
    with pytest.raises(LogError, match="of another log"):
        log.change_key()


def test_giving_up_that_was_cut_off_is_finished(location: Location, store: Store) -> None:
    """Giving up is completed at the next start if the store has the new log's key; the old checkpoint is set aside."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    new = log._signer.draft(other_log=True)
    store.write(lambda tx: tx.log.add_verifier_key(str(new), 1)).result()
    assert read_text(log.checkpoint().note).origin == new.name
    assert len(list(location.data.glob("log.checkpoint.given-up-*"))) == 1


def test_where_it_is_kept_is_remembered(location: Location, store: Store) -> None:
    """--checkpoint-file is remembered when it is omitted later; its lock is a different file, whatever its name."""
    kept = location.data.parent / "log.lock"
    log = open_log(
        store, Location(data=location.data, database_url=location.database_url, checkpoint_file=kept), app.clock
    )
    log.checkpoint()
    grow(store, 1)
    signed = open_log(store, location, app.clock).checkpoint()
    assert kept.read_text() == signed.note
    assert not (location.data / "log.checkpoint").exists()


def test_a_slow_signer_does_not_delay_others(location: Location, store: Store) -> None:
    """While one signer works, other processes and threads get BusyError instead of waiting."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    beside = open_log(store, location, app.clock)
    with beside._signer.turn(), pytest.raises(BusyError):
        log.checkpoint()
    with log._turn(), ThreadPoolExecutor(1) as pool, pytest.raises(BusyError):
        pool.submit(log.checkpoint).result()


def test_the_last_checkpoint_is_the_largest(location: Location, store: Store) -> None:
    """The largest checkpoint is used even if a slow process stored a smaller one later."""
    log = open_log(store, location, app.clock)
    first = log.checkpoint()
    grow(store, 1)
    last = log.checkpoint()
    late = first.note + "\u2014 somebody AAAAAAAA\n"
    store.write(
        lambda tx: tx.log.add_checkpoint(SignedCheckpoint(size=first.size, note=late, signed_at=last.signed_at))
    ).result()
    assert LogProofs(store, log).published_checkpoint() == last


@pytest.mark.parametrize(
    "text",
    [
        "", "PRIVATE+KEY+a+b", "PRIVATE+KEY+name+00000000+AAAA", "\udcff", "PRIVATE+KEY+x+0badc0de+" + "A" * 44,
        "PRIVATE+KEY+a b+0badc0de+" + "A" * 44,
    ],
)  # fmt: skip
def test_a_damaged_key_is_named(location: Location, policies: Path, text: str) -> None:
    """The error about a damaged key names the remedy."""
    with running(location, policies):
        pass
    (location.data / "log.key").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(LogError, match="backup of this folder"):
        Service(location, policies)


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"something\n", b"antechamber/x\n1\nAAAA\n\n\xe2\x80\x94 antechamber/x AAAA\n"]
)
def test_a_damaged_checkpoint_trips_the_signer(location: Location, policies: Path, text: bytes) -> None:
    """The signer refuses to sign if the last checkpoint is unreadable."""
    with running(location, policies) as service:
        get(service, "checkpoint")
    (location.data / "log.checkpoint").write_bytes(text)
    with running(location, policies) as service:
        status, alarms = readiness(service)
        assert status == "degraded"
        assert "not signed any more" in alarms[0]


def test_another_key_than_the_stores_is_not_used(location: Location, store: Store) -> None:
    """A key that differs from the store's, as after a wrong copy, is refused."""
    open_log(store, location, app.clock).checkpoint()
    other = Location(data=location.data.parent / "other", database_url=None)
    other.data.mkdir()
    stranger = open_store(other)
    open_log(stranger, other, app.clock)
    stranger.close()
    (location.data / "log.key").write_bytes((other.data / "log.key").read_bytes())
    with pytest.raises(LogError, match="copy the file from"):
        open_log(store, location, app.clock)


def test_a_pinned_checkpoint_is_compared_by_the_doctor(location: Location, policies: Path) -> None:
    """The doctor accepts a pinned checkpoint of this log and reports one of another log."""
    with running(location, policies) as service:
        note = get(service, "checkpoint").text
    assert examine(location, note) == []
    assert "of another log" in examine(location, note.replace("antechamber/", "elsewhere/"))[0]
    assert "no signed note" in examine(location, "\x7fELF" * 1000)[0]
    assert "damaged" in examine(location, note[:-10] + "AAAAAAAA=\n")[0]


keeper_heard: list[str] = []
"""The credentials in the last request to a keeper."""


@contextlib.contextmanager
def keeper(status: int = 204) -> Iterator[tuple[str, list[str]]]:
    """Run a server that keeps checkpoints; yield its address and the received checkpoints."""
    kept: list[str] = []

    class Keeper(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.append(self.rfile.read(int(self.headers["content-length"])).decode())
            keeper_heard[:] = self.headers.get_all("authorization", [])
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Suppress the log."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keeper)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/pins", kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_each_checkpoint_is_sent_to_the_keeper_of_copies(location: Location, store: Store) -> None:
    """Each checkpoint is sent to the keeper once; a failure raises an alarm and is retried."""
    with keeper() as (url, kept):
        log = open_log(store, location, app.clock, url)
        log.tick(at_once=True)
        for _ in range(2):
            log.pin()
        assert kept == [LogProofs(store, log).published_checkpoint().note]
    grow(store, 1)
    log.tick(at_once=True)
    log.pin()
    assert "could not be pinned" in (log.pin_alarm or "")
    with keeper() as (url, kept):
        log._publish = build_publisher(url)
        log.pin()
    assert (log.pin_alarm, kept) == (None, [LogProofs(store, log).published_checkpoint().note])


def test_a_keeper_that_refuses_is_named() -> None:
    """When a keeper refuses a checkpoint, the alarm includes its answer."""
    with keeper(500) as (url, _), pytest.raises(PinError, match="answered 500"):
        build_publisher(url)("note")
    for nowhere in ("http://a..b/", f"http://{'a' * 64}.example/", "http://127.0.0.1:1/\x01"):
        with pytest.raises(PinError, match="cannot be reached"):
            build_publisher(nowhere)("note")


def test_certificates_that_cannot_be_read_keep_a_checkpoint_from_its_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of certificates that is not there is an error that names the keeper, as a refused connection is."""
    monkeypatch.setenv("SSL_CERT_FILE", "/no such file")
    with pytest.raises(PinError, match=r"https://127\.0\.0\.1:1/ cannot be reached: .*No such file"):
        build_publisher("https://127.0.0.1:1/")("note")


@pytest.mark.parametrize(
    "secret", ["//me:s3cr3t@127.0.0.1:{port}/pins", "//127.0.0.1:{port}/pins?key=s3cr3t", "//me:1/s3cr3t@127.0.0.1"]
)
def test_a_keeper_is_named_without_its_password(
    service: Service, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No page, /readyz answer or log shows the keeper's password; the host stays visible."""
    caplog.set_level(logging.DEBUG)
    log = service.state.checkpoints
    log._publish = build_publisher("http:" + secret.format(port=free_port()))
    service.submit(event())
    log.tick(at_once=True)
    log.pin()
    operator = service.sign_in("olga", "operator").browser
    seen = [operator.get(path).text for path in ("/readyz", "/dashboard", "/operations")]
    seen.append(service.sign_in().browser.get("/review").text)
    for text in seen:
        assert "could not be pinned" in text
        assert "http://127.0.0.1:" in text or "may hold a password" in text
    assert "s3cr3t" not in "\n".join([*seen, *map(logging.LogRecord.getMessage, caplog.records)])


def test_a_keeper_gets_its_credentials_by_header(caplog: pytest.LogCaptureFixture) -> None:
    """Credentials in the keeper's address are sent as a header, and appear in no library's log."""
    caplog.set_level(logging.DEBUG)
    with keeper() as (url, kept):
        build_publisher(url.replace("//", "//me:s3%40cr3t@"))("note")
    assert kept == ["note"]
    assert keeper_heard == [f"Basic {base64.b64encode(b'me:s3@cr3t').decode()}"]
    assert "cr3t" not in caplog.text


def test_a_new_policy_is_in_the_log_before_it_is_in_force(service: Service, policies: Path) -> None:
    """A new policy is logged with both digests before it is in force; reloading an equal one is no change."""
    keeper: PolicyReloader = service.state.admission._policies
    before = keeper.current.digest
    write_policies(policies, PRODUCERS.replace('owner = "ada"', 'owner = "mona"'))
    keeper.refresh()
    keeper.refresh()
    assert keeper.current.digest != before
    leaves = [one["leaf"] for one in lines(get(service, "export"))[:-1]]
    changes = [(leaf["from"], leaf["to"]) for leaf in leaves if leaf["action"] == "policy"]
    assert changes == [(None, before), (before, keeper.current.digest)]
    with database(service.location) as raw:
        (text,) = raw.execute("SELECT policy FROM policy_changes ORDER BY id DESC LIMIT 1").fetchone()
    assert "mona" in text


def test_a_producer_that_asks_for_a_durable_write_is_in_the_log_once_an_hour(service: Service) -> None:
    """A producer's requests for durable writes are logged once an hour, however many there are and over any route."""
    for _ in range(3):
        assert service.submit(event(durable=True)).status_code == 403
        assert service.client.post("/v1/memories", headers=service.bearer()).status_code == 403
    assert (
        service.client.post("/v1/memories", headers=service.bearer("notes", "reader", ("project:a",))).status_code
        == 403
    )
    service.submit(event())
    leaves = [one["leaf"] for one in lines(get(service, "export"))[:-1]]
    asked = [leaf for leaf in leaves if leaf["action"] == "direct-write"]
    assert [(leaf["actor"], leaf["to"]) for leaf in asked] == [("worker:release-bot", "rejected-invalid")]


def test_a_request_for_a_durable_write_that_could_not_be_noted_is_noted_next_time(
    location: Location, store: Store
) -> None:
    """A request that could not be logged is logged with the next one; the refusal neither waits nor fails."""
    direct = DirectWrites(store, app.clock)
    with locked(location):
        direct.note("worker:release-bot")
        until(lambda: not direct._noted, "the note is given up")
    direct.note("worker:release-bot")
    until(lambda: bool(actions_of(location)), "the request is noted")
    assert actions_of(location) == ["direct-write"]
    store.close()
    direct.note("worker:other")
    assert set(direct._noted) == {"worker:release-bot"}


def actions_of(location: Location) -> list[str]:
    """Return the actions in the log."""
    with database(location) as raw:
        return [json.loads(leaf)["action"] for leaf in leaf_texts(raw)]


def test_an_erased_text_is_nowhere_and_every_proof_holds(location: Location, policies: Path, tmp_path: Path) -> None:
    """Erasing a retracted memory or a quarantined event removes words, index and salts, and all leaves stay."""
    with running(location, policies) as service:
        ids = fill(service)
        desk = service.sign_in()
        page = desk.browser.get(f"/quarantine/{ids['quarantine_id']}").text
        hidden = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', page))
        assert desk.post(f"/quarantine/{ids['quarantine_id']}/keep", hidden).status_code == 303
        kept = tmp_path / "kept.txt"
        kept.write_text(get(service, "checkpoint").text)
        erase(location, ids["proposal_id"], "private")
        erase(location, ids["quarantine_id"], "other")
        page = desk.browser.get(f"/quarantine/{ids['quarantine_id']}").text
        hidden = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key|undoes)" value="([^"]*)"', page))
        assert desk.post(f"/quarantine/{ids['quarantine_id']}/undo", hidden).status_code == 403
        for text in ("quokkas", "Something else"):
            assert text not in dump(location)
        if location.database_url is None:
            with database(location) as raw:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert b"quokka" not in b"".join(file.read_bytes() for file in location.data.rglob("*") if file.is_file())
        status = service.client.get(f"/v1/submissions/{ids['submission_id']}", headers=service.bearer()).json()
        assert (status["review"]["notes"], status["review"]["content"], status["review"]["reason_text"]) == (
            [],
            None,
            None,
        )
        refused = service.answer(ids["submission_id"], "The quokkas of house 4.", "answer")
        assert (refused.status_code, refused.json()["reasons"][0]["code"]) == (409, "already-decided")
        for kind in ("export", "review-records", "dispositions", "notes"):
            of_records = [] if kind == "export" else ["--records"]
            status, said = verified(service, tmp_path, get(service, kind).content, *of_records)
            assert status == 0, said
        assert verified(service, tmp_path, get(service, "export").content, "--previous", str(kept))[0] == 0
        told = [(one["leaf"]["action"], one["leaf"]["reason_code"]) for one in lines(get(service, "export"))[-3:-1]]
        assert set(told) >= {("erase", "other")}
        assert "(erased)" in desk.browser.get(f"/review/{ids['proposal_id']}").text
        assert "its text erased" in desk.browser.get(f"/audit/items/{ids['proposal_id']}").text
        assert desk.browser.get("/memories", params={"q": "quokkas"}).text.count("(erased)") == 0
        answer = desk.decide(ids["proposal_id"], "undo", reason_code="other", reason_text="again")
        assert answer.status_code in {403, 409}
        # The event's hash stays, so the same event is still recognized.
        assert service.submit(event("Feed the quokkas first.")).json()["reasons"][0]["code"] == "already-decided"
    assert examine(location) == []


def test_another_text_of_the_row_is_still_found(service: Service) -> None:
    """After an erasure, the remaining proposals of the same row in the queue are still shown and found."""
    texts = [f"Feed the quokkas {when} the gates are opened in the morning." for when in ("before", "after")]
    first, _ = (service.submit(event(text)).json()["proposal_id"] for text in texts)
    service.wait_until_sorted()
    desk = service.sign_in()
    assert desk.decide(first, "reject", reason_code="wrong").status_code == 303
    erase(service.location, first, "private")
    assert texts[1] in desk.browser.get("/review", params={"q": '"after the gates"'}).text
    assert texts[0] not in dump(service.location)


def test_what_waits_or_is_remembered_is_not_erased(service: Service) -> None:
    """Only decided texts can be erased, and only once; unknown ids are refused."""
    waiting = service.submit(event("Waits.")).json()["proposal_id"]
    admitted = service.submit(event("Stays.")).json()["proposal_id"]
    rejected = service.submit(event("Goes.")).json()["proposal_id"]
    desk = service.sign_in()
    assert desk.decide(admitted, "approve").status_code == 303
    assert desk.decide(rejected, "reject", reason_code="wrong").status_code == 303
    erase(service.location, rejected, "private")
    for subject, why in (
        (waiting, "still waits"),
        (admitted, "retract it"),
        (rejected, "before"),
        ("x", "there is no"),
    ):
        with pytest.raises(EraseError, match=why):
            erase(service.location, subject, "private")
    assert examine(service.location) == []


def test_a_text_without_its_erasure_on_record_cannot_be_taken_away(service: Service) -> None:
    """The database's own guards refuse a removal of text without a logged erasure, even over a raw connection."""
    ids = fill(service)
    mark = '{"content":"(erased)","kind":"erased"}'
    for statement in (
        f"UPDATE review_records SET shown = '{mark}'",
        "UPDATE review_records SET reason_text = '(erased)'",
        f"UPDATE memories SET payload = '{mark}', source_span = '{{\"uri\":\"erased:\"}}'",
        f"UPDATE proposals SET payload = '{mark}', source_span = '{{\"uri\":\"erased:\"}}'",
        "UPDATE quarantine SET payload = NULL WHERE payload IS NOT NULL",
        "UPDATE exports SET actor = 'nobody'",
        "DELETE FROM checkpoints",
        "UPDATE log_keys SET verifier_key = 'x'",
        "DELETE FROM policy_changes",
    ):
        get(service, "export")
        with database(service.location) as raw, pytest.raises(Exception, match=r"append-only|never changes|stays"):
            raw.execute(statement)
    assert ids


UNLOGGED = {
    "GET": "reads change nothing; exports alone are logged, because they take something away",
    "POST /login": "sessions open and end; who may sign in is logged",
    "POST /logout": "as above",
    "POST /policy/rehearsal": "a rehearsal changes nothing",
    "POST /policy/rehearsal/stop": "as above",
    "POST /settings": "somebody's own keys",
    "POST /settings/sessions": "as POST /login",
    "POST /review/views": "somebody's own filters",
    "POST /review/next": "a claim: a courtesy with an end",
    "POST /review/{proposal_id}/claim": "as above",
    "POST /review/{proposal_id}/skip": "puts a proposal behind the others",
    "POST /review/{proposal_id}/seen": "clears a reminder of a person",
}
"""Routes that write no leaf, with the reason; a new route must log or be listed here."""
LOGGED = {
    "POST /v1/submissions",
    "POST /v1/submissions/batch",
    "PUT /v1/submissions/by-key/{idempotency_key}/seal",
    "POST /mcp",
    "POST /review/{proposal_id}/{decision}",
    *(f"POST /review/{{proposal_id}}/{act}" for act in ("note", "question", "assignment")),
    "POST /v1/submissions/{submission_id}/notes",
    "POST /review/group/{decision}",
    "POST /quarantine/{quarantine_id}/{decision}",
    "POST /quarantine/group/{decision}",
    "POST /memories/propose",
    "POST /memories/{memory_id}/keep",
    *(f"POST /quarantine/{{quarantine_id}}/{act}" for act in ("reveal", "release", "destroy", "clear")),
    "POST /settings/password",
    "POST /operations/{change}",
    *(f"{method} /v1/memories{rest}" for method in ("POST", "PUT", "PATCH", "DELETE") for rest in ("", "/{rest}")),
}


def test_what_writes_no_leaf_is_an_explicit_list(service: Service) -> None:
    """Every route that may change something writes a leaf or is listed with its reason."""
    from support import methods_of  # noqa: PLC0415 -- beside its only use

    routes = {f"{method} {route.path_format}" for route in service.app.routes for method in methods_of(route)}
    acting = {route for route in routes if not route.startswith(("GET ", "HEAD ", "OPTIONS "))}
    assert acting == LOGGED | {route for route in UNLOGGED if " " in route}


def leaves_of(service: Service) -> int:
    """Count the leaves."""
    with database(service.location) as raw:
        found: int = raw.execute("SELECT count(*) FROM log_leaves").fetchone()[0]
        return found


def test_what_is_on_that_list_writes_no_leaf(service: Service) -> None:
    """Routes on the list write no leaf, and all other actions at the desk do."""
    proposal = service.submit(event()).json()["proposal_id"]
    service.submit(event("Another."))
    desk = service.sign_in()
    service.wait_until_sorted()
    form = desk.form(proposal)
    before = leaves_of(service)
    desk.post("/review/next", {"csrf": form["csrf"]})
    desk.post(f"/review/{proposal}/claim", form)
    desk.post(f"/review/{proposal}/skip", form)
    desk.post(f"/review/{proposal}/seen", form)
    desk.post("/settings", {"csrf": form["csrf"], "keys": "off"})
    desk.post("/review/views", {"csrf": form["csrf"], "name": "mine", "filter": "scope:project"})
    for path in ("/review", "/audit", "/memories", "/dashboard", "/submissions", "/quarantine"):
        assert desk.browser.get(path).status_code == 200
    desk.post("/logout", {"csrf": form["csrf"]})
    service.state.access.sign_in.create_link("bob")
    assert leaves_of(service) == before
    service.sign_in().decide(proposal, "approve")
    assert leaves_of(service) == before + 2


def test_a_log_that_cannot_be_signed_is_named(location: Location, store: Store) -> None:
    """A folder without write permission is named in the alarm."""
    log = open_log(store, location, app.clock)
    log.checkpoint()
    grow(store, 1)
    log._signer._state = Path("/proc/no-such-folder/checkpoint")
    with pytest.raises(LogError, match="cannot be kept"):
        log.checkpoint()
    assert isinstance(log, Checkpoints)

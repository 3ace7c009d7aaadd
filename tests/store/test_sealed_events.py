"""Sealed events in the database, on both engines: what raw SQL cannot do, and what the doctor notices."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from antechamber import app
from antechamber.core.ports.store import Store
from antechamber.settings import Location
from antechamber.store.postgres.import_sqlite import TABLES
from raw_sql import Raw
from support import Databases, Desk, Service, antechamber, database, event, fill, running, where, write_policies

VALUE = "zoe.quill" + "@" + "lovelace.dev"
SCOPES = """
reveal = ["bob"]

[scope.project]
keep_private = "sealed"
actions = {email-address = "quarantine"}
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy that keeps private events of projects sealed."""
    return write_policies(tmp_path / "policies", scopes=SCOPES)


def act(desk: Desk, quarantine_id: str, kind: str, **fields: str) -> str:
    """Fill in a form of a sealed event, send it and return where it leads."""
    page = desk.browser.get(f"/quarantine/{quarantine_id}").text
    form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', page))
    answer = desk.post(f"/quarantine/{quarantine_id}/{kind}", form | fields)
    assert answer.status_code in {200, 303}, answer.text
    return answer.headers.get("location", "")


def seal_some(service: Service) -> None:
    """Make one event of each: revealed and waiting, destroyed, released and half approved by its redactor, kept out."""
    bob = service.sign_in()
    waiting, destroyed, released = (
        service.submit(event(f"Ask {VALUE} {word}.")).json()["quarantine_id"] for word in ("a", "b", "c")
    )
    service.submit(event("Declared.", visibility="private"))
    act(bob, waiting, "reveal", span="1", reveal_reason="Is it public?")
    act(bob, destroyed, "destroy")
    proposal = act(bob, released, "release", content="Ask them.").removeprefix("/review/").partition("?")[0]
    assert bob.decide(proposal, "approve").status_code == 303


@pytest.fixture(scope="module")
def filled(lasting_place: Location) -> Location:
    """A location with sealed events of every state, whose service has ended."""
    return fill(lasting_place, seal_some, scopes=SCOPES)


@pytest.fixture
def sealed(filled: Location, copy: Callable[[Location], AbstractContextManager[Location]]) -> Iterator[Location]:
    """A copy of that location."""
    with copy(filled) as location:
        yield location


@pytest.fixture
def raw(sealed: Location) -> Iterator[Raw]:
    """A connection that bypasses the service, with sealed events of every state."""
    with database(sealed) as connection:
        made = Raw(sealed, connection)
        if made.engine == "sqlite":
            made.execute("PRAGMA foreign_keys = ON")
        yield made


OF = "WHERE quarantine = (SELECT min(quarantine) FROM sealed_events"


@pytest.mark.parametrize(
    "sql",
    [
        f"UPDATE sealed_events SET expires_at = expires_at + 1 {OF} WHERE ended_at IS NULL)",
        f"UPDATE sealed_events SET key_check = 'x' {OF} WHERE ended_at IS NULL)",
        f"UPDATE sealed_events SET ended_at = 1 {OF} WHERE ended_at IS NULL)",
        f"UPDATE sealed_events SET wrapped_key = NULL {OF} WHERE ended_at IS NULL)",
        f"UPDATE sealed_events SET ended_at = ended_at + 1 {OF} WHERE ended_at IS NOT NULL)",
        (
            "UPDATE sealed_events SET ended_at = NULL, ciphertext = fingerprint, wrapped_key = fingerprint "
            "FROM quarantine AS q WHERE sealed_events.ended_at IS NOT NULL AND q.id = sealed_events.quarantine"
        ),
        "DELETE FROM sealed_events",
        (
            "INSERT INTO sealed_events (quarantine, ciphertext, wrapped_key, key_check, expires_at) "
            "SELECT q.id, e.ciphertext, e.wrapped_key, e.key_check, 1 FROM quarantine AS q, sealed_events AS e "
            "WHERE q.visibility = 'private' AND e.ended_at IS NULL"
        ),
        "UPDATE reveals SET person = 'eve'",
        "UPDATE reveals SET reason_text = 'Another.'",
        "UPDATE reveals SET reason_text = '(erased)'",
        "DELETE FROM reveals",
        (
            "INSERT INTO reveals (reveal_id, quarantine, pointer, rule_ids, span, reason_text, curator, person, "
            "decision_key, policy_digest, revealed_at) SELECT 'r', e.quarantine, '/x', 'x', 1, 'x', r.curator, "
            "r.person, 'k', 'x', 1 FROM reveals AS r, sealed_events AS e WHERE e.ended_at IS NOT NULL"
        ),
        (
            "INSERT INTO reveals (reveal_id, quarantine, pointer, rule_ids, span, reason_text, curator, person, "
            "decision_key, policy_digest, revealed_at) SELECT 'r', quarantine, '/x', 'x', 1, 'x', curator, 'eve', 'k', "
            "'x', 1 FROM reveals"
        ),
        "UPDATE proposals SET redacted_by = NULL WHERE redacted_by IS NOT NULL",
        (
            "UPDATE quarantine SET state = 'settled' WHERE id IN (SELECT quarantine FROM sealed_events "
            "WHERE ended_at IS NULL)"
        ),
    ],
)
def test_what_was_sealed_only_ends(raw: Raw, sql: str) -> None:
    """Ciphertext and key end together and once; what was revealed, and who redacted, stays on record."""
    raw.refused(sql)


def test_a_redactor_is_never_the_only_approver(raw: Raw) -> None:
    """A record of the redactor that needs no second person is refused, and one such approval makes no memory."""
    changes = {"review_record_id": "'forged'", "decision_key": "'forged'"}
    alone = raw.copy("review_records", "WHERE decision = 'approve'", approvals_required="1", **changes)
    raw.refused(alone)
    row = raw.one("SELECT id, proposal, shown, shown_hash FROM review_records WHERE decision = 'approve'")
    raw.execute("UPDATE proposals SET state = 'approved' WHERE id = :proposal", {"proposal": row["proposal"]})
    raw.refused(
        "INSERT INTO memories (memory_id, proposal, version, review_record, payload, text_hash, submission_scope, "
        "scope_id, source_span, admitted_at) SELECT 'forged', p.id, p.version, CAST(:id AS BIGINT), :shown, "
        ":shown_hash, p.submission_scope, p.scope_id, p.source_span, 1 FROM proposals AS p WHERE p.id = :proposal",
        row,
    )


@pytest.mark.parametrize(
    ("table", "sql", "finding"),
    [
        (
            "sealed_events",
            "UPDATE sealed_events SET ended_at = 1, ciphertext = NULL, wrapped_key = NULL WHERE ended_at IS NULL",
            "was sealed, and differs from its decisions",
        ),
        ("reveals", "UPDATE reveals SET reason_text = 'Another.'", "differs from what its leaf commits to"),
        ("reveals", "UPDATE reveals SET person = 'eve'", "differs from what its leaf commits to"),
        ("reveals", "DELETE FROM reveals", "leaves for"),
        ("proposals", "UPDATE proposals SET redacted_by = NULL", "redacted by another person"),
        (
            "review_records",
            "UPDATE review_records SET approvals_required = 1 WHERE decision = 'approve'",
            "makes the redactor of a text its only approver",
        ),
    ],
)
def test_the_doctor_notices_changes_behind_the_triggers(sealed: Location, table: str, sql: str, finding: str) -> None:
    """A change that was made while the triggers were off is a finding."""
    assert app.examine(sealed) == []
    with database(sealed) as owner:
        if sealed.database_url is None:
            triggers = owner.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", [table]
            ).fetchall()
            for name, _ in triggers:
                owner.execute(f"DROP TRIGGER {name}")
            owner.execute(sql)
            for _, made in triggers:
                owner.execute(made)
        else:
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            owner.execute(sql)
            owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    assert any(finding in one for one in app.examine(sealed)), app.examine(sealed)


def test_exports_with_sealed_events_are_verified(sealed: Location, tmp_path: Path) -> None:
    """An auditor verifies the whole log and the review records, in which the decisions on sealed events are."""
    files = {name: tmp_path / name for name in ("log", "review-records", "checkpoint", "key")}
    for name in ("log", "review-records"):
        assert antechamber("export", name, "--output", str(files[name]), *where(sealed)).returncode == 0
    for name in ("checkpoint", "key"):
        files[name].write_text(antechamber("log", name, *where(sealed)).stdout)
    records = files["review-records"].read_text()
    assert '"decision":"destroy"' in records
    assert '"decision":"release"' in records
    assert VALUE not in records + files["log"].read_text()
    signed = ["--checkpoint", str(files["checkpoint"]), "--key", files["key"].read_text().split()[0]]
    for command in ([str(files["log"])], [str(files["review-records"]), "--records"]):
        verified = antechamber("verify", *command, *signed)
        assert verified.returncode == 0, verified.stdout


def test_an_erased_event_keeps_no_reason_of_a_reveal(location: Location, policies: Path) -> None:
    """Erasing a settled event also erases why its spans were revealed; the doctor finds nothing wrong."""
    with running(location, policies) as service:
        bob = service.sign_in()
        sealed = service.submit(event(f"Ask {VALUE}.")).json()["quarantine_id"]
        act(bob, sealed, "reveal", span="1", reveal_reason="Is it public?")
        act(bob, sealed, "destroy")
    app.erase(location, sealed, "private")
    with database(location) as raw:
        assert raw.execute("SELECT reason_text FROM reveals").fetchall() == [("(erased)",)]
    assert app.examine(location) == []


def test_a_move_takes_sealed_events_along(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """After `migrate --move` the sealed event can be read with the folder's key."""
    own = Location(data=tmp_path / "data")
    with running(own, policies) as service:
        seal_some(service)
    assert {"sealed_events", "reveals"} <= set(TABLES)
    there = Location(data=own.data, database_url=postgres.empty())
    moved = antechamber("migrate", "--move", *where(there))
    assert moved.returncode == 0, moved.stderr
    assert app.examine(there) == []
    with running(there, policies) as service:
        page = service.sign_in().browser.get("/quarantine").text
        sealed = re.findall(r'<li data-item>\s*<a id="([^"]+)"', page)
        texts = [service.sign_in().browser.get(f"/quarantine/{one}").text for one in sealed]
    assert sum("[redacted] a." in text and VALUE not in text for text in texts) == 1
    postgres.drop(there.database_url or "")


def test_a_text_that_ended_is_not_found(store: Store) -> None:
    """A store without sealed events has no text, no reveal, and nothing that expires."""
    with store.read() as tx:
        assert tx.sealed_events.text(1) is None
        assert tx.sealed_events.reveals(1) == []
        assert not tx.sealed_events.has_reveal("k")
    assert store.write(lambda tx: tx.sealed_events.end_expired(1, 10)).result() == 0

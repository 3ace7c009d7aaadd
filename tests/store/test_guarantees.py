"""What the file itself refuses: raw SQL on a plain connection cannot make a memory that no curator approved."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antechamber.config import DATABASE
from support import Service, event, running

MEMORY = """
INSERT INTO memories (memory_id, proposal, version, review_record, payload, text_hash, submission_scope, scope_id,
    source_span, admitted_at)
SELECT :memory_id, p.id, :version, :record, :payload, :text_hash, :scope, :scope_id, p.source_span, 1
FROM proposals AS p WHERE p.proposal_id = :proposal_id
"""


@pytest.fixture
def filled(service: Service) -> Service:
    """A service with an approved, a rejected, a half-approved and a pending proposal."""
    bob = service.sign_in("bob")
    for name in ("approved", "rejected", "pending"):
        service.submit(event(f"A text that is {name}.", idempotency_key=name))
    wide = event(
        "A text that is half approved.", idempotency_key="half", submission_scope="organization", scope_id="labs"
    )
    service.submit(wide)
    assert bob.decide(proposal(service, "approved"), "approve").status_code == 303
    assert bob.decide(proposal(service, "rejected"), "reject", reason_code="wrong").status_code == 303
    assert bob.decide(proposal(service, "half"), "approve").status_code == 303
    assert service.submit(event(idempotency_key="private", visibility="private")).status_code == 422
    return service


def proposal(service: Service, key: str) -> str:
    """Return the proposal of a key."""
    path = f"/v1/submissions/by-key/{key}"
    proposal_id: str = service.client.get(path, headers=service.bearer()).json()["proposal_id"]
    return proposal_id


@pytest.fixture(params=[False, True], ids=["plain", "recursive triggers"])
def raw(filled: Service, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """A connection as anybody with the file would open it, foreign keys on."""
    connection = sqlite3.connect(filled.data / DATABASE, isolation_level=None, timeout=5)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA recursive_triggers = {int(request.param)}")
    yield connection
    connection.close()


def record(raw: sqlite3.Connection, service: Service, key: str) -> dict[str, Any]:
    """Return the last review record of a key's proposal, as the parts of a forged memory."""
    row = raw.execute(
        "SELECT r.id AS record, r.resulting_version AS version, r.shown AS payload, r.shown_hash AS text_hash, "
        "p.submission_scope AS scope, p.scope_id, p.proposal_id "
        "FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal WHERE p.proposal_id = ? ORDER BY r.id DESC",
        (proposal(service, key),),
    ).fetchone()
    return dict(row) | {"memory_id": "forged"}


def refused(raw: sqlite3.Connection, sql: str, values: dict[str, Any] | None = None) -> None:
    """Expect a statement to break a promise of the schema and to change nothing."""
    before = list(raw.iterdump())
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(sql, values or {})
    assert list(raw.iterdump()) == before


def forged(raw: sqlite3.Connection, service: Service, key: str, **parts: Any) -> None:
    """Expect a forged memory to be refused."""
    refused(raw, MEMORY, record(raw, service, key) | parts)


def test_the_forgery_itself_is_well_formed(raw: sqlite3.Connection, filled: Service) -> None:
    """The statement that all forgeries use admits a memory once everything it needs is there."""
    parts = record(raw, filled, "half")
    raw.execute("INSERT INTO users (name, person, role, created_at) VALUES ('zoe', 'zoe', 'curator', 1)")
    raw.execute(
        "INSERT INTO review_records SELECT NULL, 'second', proposal, version, resulting_version, decision, "
        "reason_code, reason_text, (SELECT id FROM users WHERE name = 'zoe'), 'zoe', shown, shown_hash, "
        "resulting, resulting_hash, "
        "approvals_required, 'second', policy_digest, decided_at FROM review_records WHERE id = ?",
        (parts["record"],),
    )
    raw.execute("UPDATE proposals SET state = 'approved' WHERE proposal_id = ?", (parts["proposal_id"],))
    assert raw.execute(MEMORY, parts).rowcount == 1


def test_a_memory_needs_a_review_record(raw: sqlite3.Connection, filled: Service) -> None:
    """Without its approving record, or with one that is no approval, there is no memory."""
    raw.execute("UPDATE proposals SET state = 'approved' WHERE state <> 'approved'")
    forged(raw, filled, "half", record=999, version=7)
    forged(raw, filled, "rejected")
    forged(raw, filled, "half", proposal_id=proposal(filled, "pending"), scope="project", scope_id="apollo")


@pytest.mark.parametrize(
    "part",
    [
        {"payload": '{"content":"Something else.","kind":"fact"}'},
        {"text_hash": "blake3:" + "0" * 64},
        {"version": 2},
        {"scope": "project"},
        {"scope_id": "elsewhere"},
        {},
    ],
    ids=["text", "hash", "version", "scope", "scope id", "one approval of two"],
)
def test_a_memory_needs_the_approvals_of_its_very_text(
    raw: sqlite3.Connection, filled: Service, part: dict[str, Any]
) -> None:
    """Another text, hash, version or place, or one person where two are wanted, is refused."""
    raw.execute("UPDATE proposals SET state = 'approved' WHERE state <> 'approved'")
    forged(raw, filled, "half", **part)


def test_two_approvals_by_one_person_are_one(raw: sqlite3.Connection, filled: Service) -> None:
    """A second account of the same person does not make a second person."""
    parts = record(raw, filled, "half")
    raw.execute("INSERT INTO users (name, person, role, created_at) VALUES ('bob-too', 'bob', 'curator', 1)")
    raw.execute(
        "INSERT INTO review_records SELECT NULL, 'second', proposal, version, resulting_version, decision, "
        "reason_code, reason_text, (SELECT id FROM users WHERE name = 'bob-too'), 'bob', shown, shown_hash, resulting, "
        "resulting_hash, approvals_required, 'second', policy_digest, decided_at FROM review_records WHERE id = ?",
        (parts["record"],),
    )
    raw.execute("UPDATE proposals SET state = 'approved' WHERE proposal_id = ?", (parts["proposal_id"],))
    refused(raw, MEMORY, parts)


def test_an_undecided_proposal_makes_no_memory(raw: sqlite3.Connection, filled: Service) -> None:
    """The proposal itself has to stand as approved."""
    forged(raw, filled, "half")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE review_records SET reason_text = 'rewritten'",
        "UPDATE review_records SET resulting = '{}'",
        "DELETE FROM review_records",
        "INSERT OR REPLACE INTO review_records SELECT * FROM review_records",
        (
            "REPLACE INTO review_records SELECT id + 100, review_record_id, proposal, version, "
            "resulting_version, decision, "
            "reason_code, reason_text, curator, person, shown, shown_hash, resulting, resulting_hash, "
            "approvals_required, "
            "decision_key || 'x', policy_digest, decided_at FROM review_records"
        ),
        (
            "INSERT INTO review_records SELECT * FROM review_records WHERE true "
            "ON CONFLICT DO UPDATE SET reason_text = 'rewritten'"
        ),
        (
            "INSERT INTO review_records SELECT NULL, 'x', proposal, version, resulting_version, decision, reason_code, "
            "reason_text, curator, 'somebody else', shown, shown_hash, resulting, resulting_hash, "
            "approvals_required, 'x', "
            "policy_digest, decided_at FROM review_records"
        ),
        "UPDATE memories SET payload = '{}'",
        "UPDATE memories SET scope_id = 'elsewhere'",
        "DELETE FROM memories",
        "INSERT OR REPLACE INTO memories SELECT * FROM memories",
        "UPDATE submissions SET receipt = '{}'",
        "UPDATE submissions SET disposition = 'rejected-invalid'",
        "DELETE FROM submissions",
        "UPDATE submissions SET source_event_hash = 'blake3:0' WHERE keyed = 1",
        "UPDATE quarantine SET payload = '{}' WHERE keyed = 1",
        "UPDATE quarantine SET source_event_hash = 'blake3:0' WHERE keyed = 1",
        (
            "INSERT INTO submissions SELECT NULL, 'x', producer, idempotency_key, disposition, reason_code, status, "
            "submission_scope, scope_id, source_event_hash, visibility, fingerprint, keyed, proposal, duplicate_of, "
            "policy_digest, received_at, receipt, 0 FROM submissions"
        ),
        (
            "INSERT INTO proposals SELECT NULL, 'x', producer, owner, submission_scope, scope_id, "
            "source_event_hash, payload, "
            "edited_payload, source_span, visibility, supersedes, observed_at, received_at, state, version, withdrawn, "
            "decided_at FROM proposals"
        ),
    ],
)
@pytest.mark.usefixtures("filled")
def test_what_is_written_stays(raw: sqlite3.Connection, sql: str) -> None:
    """Records, memories and submissions are neither changed, deleted, replaced nor doubled."""
    refused(raw, sql)


def test_a_memory_that_ended_does_not_come_back(raw: sqlite3.Connection) -> None:
    """A memory may end, once."""
    raw.execute("UPDATE memories SET state = 'retracted'")
    refused(raw, "UPDATE memories SET state = 'active'")


def test_nothing_private_is_in_any_file(tmp_path: Path, policies: Path) -> None:
    """Neither a refused private value nor an unkeyed digest of it is left in the data folder."""
    secret = "gh" + "p_" + "Q7x" * 12
    bodies = [
        event(f"The token is {secret}."),
        event("Private by word.", visibility="private", payload={"kind": "fact", "content": secret[::-1]}),
        event("In the scope.", scope_id=secret),
        event("In a name.", payload={"kind": "fact", "content": "x", "attributes": {"a": [secret]}}),
    ]
    first = event("Harmless.", idempotency_key="one")
    bodies.append(event(f"Now with {secret}.", idempotency_key="one"))
    with running(tmp_path / "data", policies) as service:
        assert service.submit(first).status_code == 201
        answers = [service.submit(body) for body in bodies for _ in range(2)]
        assert {answer.status_code for answer in answers} == {422}
        assert not any(secret in answer.text for answer in answers)
        read = service.sign_in().browser.get("/quarantine").text
        assert secret not in read
    stored = b"".join(file.read_bytes() for file in (tmp_path / "data").iterdir())
    for body in bodies:
        digest = body["source_event_hash"].removeprefix("blake3:")
        assert digest.encode() not in stored
        assert bytes.fromhex(digest) not in stored
    assert secret.encode() not in stored
    assert secret[::-1].encode() not in stored

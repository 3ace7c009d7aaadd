"""Constraints of the database itself, on both engines: raw SQL cannot make a memory that no curator approved."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from antechamber.core.errors import BusyError
from antechamber.settings import Location
from raw_sql import Raw
from support import Service, database, dump, event, fill, running

MEMORY = """
INSERT INTO memories (memory_id, proposal, version, review_record, payload, text_hash, submission_scope, scope_id,
    source_span, admitted_at)
SELECT :memory_id, p.id, CAST(:version AS BIGINT), CAST(:record AS BIGINT), :payload, :text_hash, :scope, :scope_id,
    p.source_span, 1
FROM proposals AS p WHERE p.proposal_id = :proposal_id
"""


def propose_and_decide(service: Service) -> None:
    """Make an approved, a rejected, a half-approved and a pending proposal."""
    bob = service.sign_in("bob")
    for name in ("approved", "rejected", "pending"):
        service.submit(event(f"A text that is {name}.", idempotency_key=name))
    assert bob.write(proposal(service, "approved"), "note", "A note.").status_code == 303
    assert bob.write(proposal(service, "pending"), "question", "A question?").status_code == 303
    wide = event(
        "A text that is half approved.", idempotency_key="half", submission_scope="organization", scope_id="labs"
    )
    service.submit(wide)
    assert bob.decide(proposal(service, "approved"), "approve").status_code == 303
    assert bob.decide(proposal(service, "rejected"), "reject", reason_code="wrong").status_code == 303
    assert bob.decide(proposal(service, "half"), "approve").status_code == 303
    assert service.submit(event(idempotency_key="private", visibility="private")).status_code == 422
    service.wait_until_sorted()


@pytest.fixture(scope="module")
def lasting(lasting_place: Location) -> Location:
    """A filled location, whose service has ended."""
    return fill(lasting_place, propose_and_decide)


@pytest.fixture
def filled(
    lasting: Location, copy: Callable[[Location], AbstractContextManager[Location]], policies: Path
) -> Iterator[Service]:
    """A filled service of its own for each test."""
    with copy(lasting) as location, running(location, policies) as service:
        yield service


def proposal(service: Service, key: str) -> str:
    """Return the proposal of a key."""
    path = f"/v1/submissions/by-key/{key}"
    proposal_id: str = service.client.get(path, headers=service.bearer()).json()["proposal_id"]
    return proposal_id


@pytest.fixture
def raw(filled: Service) -> Iterator[Raw]:
    """A connection that bypasses the service, with foreign keys on."""
    with database(filled.location) as connection:
        made = Raw(filled.location, connection)
        if made.engine == "sqlite":
            made.execute("PRAGMA foreign_keys = ON")
        yield made


def record(raw: Raw, service: Service, key: str) -> dict[str, Any]:
    """Return the last review record of a key's proposal, as the values of a forged memory."""
    row = raw.one(
        "SELECT r.id AS record, r.resulting_version AS version, r.shown AS payload, r.shown_hash AS text_hash, "
        "p.submission_scope AS scope, p.scope_id, p.proposal_id "
        "FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal "
        "WHERE p.proposal_id = :proposal_id ORDER BY r.id DESC",
        proposal_id=proposal(service, key),
    )
    return row | {"memory_id": "forged"}


def forged(raw: Raw, service: Service, key: str, **parts: Any) -> None:
    """Expect a forged memory to be refused."""
    raw.refused(MEMORY, record(raw, service, key) | parts)


def approve_again(raw: Raw, record: int, person: str) -> None:
    """Add a second approval of the same text, by another account of this person, and mark the proposal as approved."""
    raw.execute(
        "INSERT INTO users (name, person, role, created_at) VALUES ('another', :person, 'curator', 1)",
        {"person": person},
    )
    curator = "(SELECT id FROM users WHERE name = 'another')"
    changes = {"review_record_id": "'second'", "decision_key": "'second'", "curator": curator, "person": f"'{person}'"}
    raw.execute(raw.copy("review_records", f"WHERE id = {record}", **changes))
    raw.execute("UPDATE proposals SET state = 'approved' WHERE state <> 'approved'")


def test_the_forgery_itself_is_well_formed(raw: Raw, filled: Service) -> None:
    """The statement that all forgeries use inserts a memory once all its conditions are met."""
    parts = record(raw, filled, "half")
    approve_again(raw, parts["record"], "zoe")
    assert raw.execute(MEMORY, parts).rowcount == 1


def test_a_memory_needs_a_review_record(raw: Raw, filled: Service) -> None:
    """Without its approving record, or with a record that is not an approval, no memory can be inserted."""
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
def test_a_memory_needs_the_approvals_of_its_very_text(raw: Raw, filled: Service, part: dict[str, Any]) -> None:
    """A memory with another text, hash, version or scope, or one approval where two are needed, is refused."""
    raw.execute("UPDATE proposals SET state = 'approved' WHERE state <> 'approved'")
    forged(raw, filled, "half", **part)


def test_two_approvals_by_one_person_are_one(raw: Raw, filled: Service) -> None:
    """A second account of the same person does not count as a second approval."""
    parts = record(raw, filled, "half")
    approve_again(raw, parts["record"], "bob")
    raw.refused(MEMORY, parts)


def test_an_undecided_proposal_makes_no_memory(raw: Raw, filled: Service) -> None:
    """A memory requires that its proposal is approved."""
    forged(raw, filled, "half")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE review_records SET reason_text = 'rewritten'",
        "UPDATE review_records SET resulting = '{}'",
        "UPDATE review_records SET self_edit = 1",
        "DELETE FROM review_records",
        "UPDATE memories SET payload = '{}'",
        "UPDATE memories SET scope_id = 'elsewhere'",
        "DELETE FROM memories",
        "UPDATE submissions SET receipt = '{}'",
        "UPDATE submissions SET disposition = 'rejected-invalid'",
        "DELETE FROM submissions",
        "UPDATE submissions SET source_event_hash = fingerprint WHERE keyed = 1",
        "UPDATE quarantine SET payload = '{}' WHERE keyed = 1",
        "UPDATE quarantine SET source_event_hash = fingerprint WHERE keyed = 1",
        "UPDATE notes SET text = 'Rewritten.'",
        "UPDATE notes SET text = '(erased)'",
        "UPDATE notes SET persons = '[]', kind = 'note'",
        "DELETE FROM notes",
    ],
)
def test_what_is_written_stays(raw: Raw, sql: str) -> None:
    """Records, memories and submissions can be neither changed nor deleted."""
    raw.refused(sql)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("note", {"kind": "'question'"}),
        (
            "note",
            {"curator": "NULL", "person": "NULL", "producer": "(SELECT producer FROM proposals WHERE id = proposal)"},
        ),
        ("question", {"person": "'eve'"}),
        ("question", {"proposal": "(SELECT id FROM proposals WHERE state = 'rejected')"}),
        ("question", {"kind": "'answer'", "question": "id"}),
        ("question", {"curator": "NULL", "person": "NULL", "producer": "(SELECT max(id) + 1 FROM producers)"}),
        ("question", {"note_id": "note_id"}),
        ("question", {"note_key": "note_key"}),
    ],
    ids=[
        "a question about a decided proposal",
        "a producer on a decided proposal",
        "another person",
        "a rejected one",
        "an answer",
        "a stranger",
        "an old id",
        "an old form",
    ],
)
def test_only_a_curator_or_the_producer_writes_a_note(raw: Raw, kind: str, changes: dict[str, str]) -> None:
    """Raw SQL writes no note on a decided proposal, of another person or producer, and none twice."""
    copied = {"note_id": "'forged'", "note_key": "'forged'"} | changes
    raw.refused(raw.copy("notes", f"WHERE kind = '{kind}'", **copied))


def test_a_curator_writes_a_note_after_the_decision(raw: Raw) -> None:
    """The statement of the refused notes is well formed: a note of a curator is taken."""
    copied = {"note_id": "'later'", "note_key": "'later'"}
    assert raw.execute(raw.copy("notes", "WHERE kind = 'note'", **copied)).rowcount == 1


def test_only_the_editor_approves_alone(raw: Raw, filled: Service) -> None:
    """An approval that does without a second person is that of the editor, and of no wide or flagged proposal."""
    ids = {"review_record_id": "'forged'", "decision_key": "'forged'"}
    forged = raw.copy("review_records", "WHERE approvals_required = 2 AND decision = 'approve'", self_edit="1", **ids)
    raw.refused(forged)
    raw.refused(raw.copy("review_records", "WHERE decision = 'reject'", self_edit="1", **ids))
    half = proposal(filled, "pending")
    assert filled.sign_in("eve").decide(half, "edit", content="Edited.", reason_code="unclear").status_code == 303
    edit = raw.copy("review_records", "WHERE decision = 'edit'", self_edit="1", **ids)
    raw.refused(edit.replace("'forged'", "review_record_id", 1))
    raw.execute("UPDATE proposals SET second = 1 WHERE state = 'pending'")
    raw.refused(edit)
    raw.execute("UPDATE proposals SET second = 0 WHERE state = 'pending'")
    assert raw.execute(edit).rowcount == 1


def test_a_refused_statement_is_judged_while_the_service_writes(raw: Raw, filled: Service) -> None:
    """Commits of the running service do not count as changes made by a refused statement."""
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            # A write that times out while it waits for the comparison is refused, which is equally fine here.
            with contextlib.suppress(BusyError):
                filled.state.access.tokens.issue(f"worker:busy-{number}", "producer", [], None)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for table in ("review_records", "memories", "submissions"):
            raw.refused(f"DELETE FROM {table}")
    finally:
        over.set()
        writing.join()


def test_nothing_is_written_twice(raw: Raw) -> None:
    """Keys, contents, records and memories cannot be duplicated, and a record cannot name another curator."""
    raw.refused(raw.copy("submissions", submission_id="'x'"))
    raw.refused(raw.copy("proposals", proposal_id="'x'"))
    raw.refused(raw.copy("memories", memory_id="'x'"))
    others = {"review_record_id": "'x'", "decision_key": "'x'"}
    raw.refused(raw.copy("review_records", "LIMIT 1", **others, person="'somebody else'"))
    again = "WHERE true ON CONFLICT (review_record_id) DO UPDATE SET reason_text = 'rewritten'"
    raw.refused(raw.copy("review_records", again))


def test_nothing_is_replaced_in_bulk(raw: Raw) -> None:
    """Removal by TRUNCATE, MERGE or REPLACE is refused like UPDATE and DELETE."""
    if raw.engine == "postgres":
        for table in ("review_records", "memories", "submissions"):
            raw.refused(f"TRUNCATE {table} CASCADE")
        raw.refused("MERGE INTO memories USING (SELECT 1) AS one ON true WHEN MATCHED THEN DELETE")
        return
    for table in ("review_records", "memories"):
        raw.refused(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")
    replaced = raw.copy("review_records", id="id + 100", decision_key="decision_key || 'x'")
    raw.refused(replaced.replace("INSERT", "REPLACE", 1))


def test_a_table_of_ones_own_does_not_stand_in_for_the_records(raw: Raw, filled: Service) -> None:
    """Approvals in a temporary table of the same name, which PostgreSQL would resolve first, do not count."""
    parts = record(raw, filled, "half")
    raw.execute("UPDATE proposals SET state = 'approved' WHERE state <> 'approved'")
    raw.execute("CREATE TEMPORARY TABLE review_records AS SELECT * FROM review_records")
    raw.execute("UPDATE review_records SET approvals_required = 1")
    raw.refused(MEMORY.replace("INTO memories", "INTO main.memories") if raw.engine == "sqlite" else MEMORY, parts)


CHANGE = """
INSERT INTO memory_changes (memory, state, review_record, changed_at)
SELECT m.id, :state, r.id, 1 FROM memories AS m, review_records AS r WHERE r.decision = :decision
"""


def test_a_memory_changes_only_by_a_decision_that_says_so(raw: Raw, filled: Service) -> None:
    """Neither a memory's state nor its change can be written without the review record that causes it."""
    for state in ("superseded", "retracted", "expired"):
        raw.refused("UPDATE memories SET state = :state", {"state": state})
        for decision in ("approve", "reject"):
            raw.refused(CHANGE, {"state": state, "decision": decision})
    raw.refused(CHANGE, {"state": "active", "decision": "reject"})
    memory = filled.recall()[0]["memory_id"]
    desk = filled.sign_in("bob")
    assert desk.decide(proposal(filled, "approved"), "retract", reason_code="wrong").status_code == 303
    assert filled.recall() == []
    raw.refused("UPDATE memories SET state = 'active'")
    for decision in ("approve", "retract", "reject"):
        raw.refused(CHANGE, {"state": "active", "decision": decision})
    assert desk.decide(proposal(filled, "approved"), "undo").status_code == 303
    assert [item["memory_id"] for item in filled.recall()] == [memory]


def test_changes_of_memories_are_append_only(raw: Raw, filled: Service) -> None:
    """A memory change cannot be rewritten, removed or reassigned."""
    assert (
        filled.sign_in("bob").decide(proposal(filled, "approved"), "expire", reason_code="outdated").status_code == 303
    )
    raw.refused("UPDATE memory_changes SET changed_at = 0")
    raw.refused("DELETE FROM memory_changes")
    raw.refused(raw.copy("memory_changes", "LIMIT 1"))
    if raw.engine == "sqlite":
        raw.refused(raw.copy("memory_changes", "LIMIT 1", id="id").replace("INSERT", "INSERT OR REPLACE", 1))


def test_a_record_takes_back_one_of_the_same_proposal_once(raw: Raw, filled: Service) -> None:
    """An undo that names a foreign record, an undo, or an already undone record is refused."""
    desk = filled.sign_in("bob")
    assert desk.decide(proposal(filled, "rejected"), "undo").status_code == 303
    filled.wait_until_sorted()
    another = "(SELECT id FROM review_records WHERE decision = 'approve' ORDER BY id LIMIT 1)"
    own = "(SELECT id FROM review_records WHERE decision = 'undo')"
    for undoes in (another, own, "undoes"):
        changes = {"review_record_id": "'next'", "decision_key": "'next'", "undoes": undoes}
        raw.refused(raw.copy("review_records", "WHERE decision = 'undo'", **changes))


def test_nothing_private_is_left(location: Location, policies: Path) -> None:
    """Neither a refused private value nor an unkeyed digest of it remains in the data folder or the database."""
    secret = "gh" + "p_" + "Q7x" * 12
    bodies = [
        event(f"The token is {secret}."),
        event("Private by word.", visibility="private", payload={"kind": "fact", "content": secret[::-1]}),
        event("In the scope.", scope_id=secret),
        event("In a name.", payload={"kind": "fact", "content": "x", "attributes": {"a": [secret]}}),
    ]
    first = event("Harmless.", idempotency_key="one")
    bodies.append(event(f"Now with {secret}.", idempotency_key="one"))
    with running(location, policies) as service:
        assert service.submit(first).status_code == 201
        answers = [service.submit(body) for body in bodies for _ in range(2)]
        assert {answer.status_code for answer in answers} == {422}
        assert not any(secret in answer.text for answer in answers)
        read = service.sign_in().browser.get("/quarantine").text
        assert secret not in read
    stored = dump(location).encode() + b"".join(
        file.read_bytes() for file in location.data.rglob("*") if file.is_file()
    )
    for body in bodies:
        digest = body["source_event_hash"].removeprefix("blake3:")
        assert digest.encode() not in stored
        assert bytes.fromhex(digest) not in stored
    assert secret.encode() not in stored
    assert secret[::-1].encode() not in stored

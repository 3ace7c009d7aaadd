"""The two database roles on PostgreSQL: admission cannot make a memory, and promotion can do nothing else."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest

from antechamber.settings import Location
from support import Databases, Service, database, event, fill

ADMISSION, PROMOTION = "antechamber_admission", "antechamber_promotion"
TABLES = (
    "meta",
    "writers",
    "processes",
    "producers",
    "policies",
    "proposals",
    "derivations",
    "submissions",
    "evidence",
    "quarantine",
    "sealed_events",
    "reveals",
    "notes",
    "open_questions",
    "attention",
    "log_leaves",
    "log_keys",
    "checkpoints",
    "log_nodes",
    "policy_changes",
    "direct_writes",
    "exports",
    "erasures",
    "retention_runs",
    "password_changes",
    "replays",
    "users",
    "review_records",
    "memories",
    "memories_search",
    "search_scopes",
    "search_terms",
    "search_postings",
    "search_words",
    "memory_changes",
    "change_feed",
    "claims",
    "tally",
    "daily_counts",
    "daily_attempts",
    "folds",
    "tokens",
    "links",
    "sessions",
    "sign_in_failures",
    "webhooks",
    "webhook_replays",
    "raised_alarms",
    "review_dates",
    "upkeep",
    "memory_reads",
    "blind_items",
    "blind_decisions",
    "screen_times",
    "identities",
    "role_changes",
    "finished_sign_ins",
)


def admit(service: Service) -> None:
    """Make one approved and one pending proposal."""
    admitted = service.submit(event("Admitted.")).json()["proposal_id"]
    assert service.sign_in().write(admitted, "note", "A note.").status_code == 303
    assert service.sign_in().decide(admitted, "approve").status_code == 303
    service.submit(event("Waiting."))


@pytest.fixture(scope="module")
def filled(postgres: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Location]:
    """A location with an approved and a pending proposal, whose service has ended."""
    location = Location(data=tmp_path_factory.mktemp("location") / "data", database_url=postgres.fresh())
    yield fill(location, admit)
    postgres.drop(location.database_url or "")


@pytest.fixture
def owner(filled: Location, copy: Callable[[Location], AbstractContextManager[Location]]) -> Iterator[Any]:
    """A connection of the owner to a copy of that location."""
    with copy(filled) as location, database(location) as connection:
        yield connection


def denied(owner: Any, role: str, sql: str) -> None:
    """Expect a role to lack the right to do something."""
    owner.execute(f"SET ROLE {role}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owner.execute(sql)
    owner.execute("RESET ROLE")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO memories (memory_id) VALUES ('forged')",
        "INSERT INTO memories SELECT * FROM memories",
        "UPDATE memories SET state = 'retracted'",
        "DELETE FROM memories",
        "TRUNCATE memories",
        "INSERT INTO memories_search SELECT * FROM memories_search",
        "INSERT INTO memory_changes SELECT * FROM memory_changes",
        "DELETE FROM memory_changes",
        "UPDATE proposals SET second = 0",
        "UPDATE proposals SET replaces = NULL",
        "INSERT INTO review_records (review_record_id) VALUES ('forged')",
        "UPDATE review_records SET reason_text = 'rewritten'",
        "DELETE FROM review_records",
        "UPDATE notes SET text = 'rewritten'",
        "DELETE FROM notes",
        "UPDATE proposals SET state = 'approved'",
        "UPDATE proposals SET payload = '{}'",
        "DELETE FROM proposals",
        "UPDATE submissions SET receipt = '{}'",
        "DELETE FROM submissions",
        "DELETE FROM quarantine",
        "UPDATE users SET role = 'curator'",
        "UPDATE tokens SET role = 'auditor'",
        "ALTER TABLE memories DISABLE TRIGGER ALL",
        "DROP TRIGGER memories_need_their_approvals ON memories",
        "CREATE OR REPLACE FUNCTION antechamber.check_memory() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'",
        "CREATE TABLE antechamber.another (id INT)",
    ],
)
def test_admission_can_neither_promote_nor_rewrite(owner: Any, sql: str) -> None:
    """The admission role has no right to make or change a memory."""
    denied(owner, ADMISSION, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO submissions (submission_id) VALUES ('forged')",
        "INSERT INTO proposals (proposal_id) VALUES ('forged')",
        "INSERT INTO users (name, person, role, created_at) VALUES ('zoe', 'zoe', 'curator', 1)",
        "INSERT INTO tokens (token_id) VALUES ('forged')",
        "INSERT INTO sessions (digest) VALUES ('forged')",
        "UPDATE review_records SET person = 'zoe'",
        "DELETE FROM review_records",
        "DELETE FROM memories",
        "UPDATE memory_changes SET state = 'active'",
        "TRUNCATE review_records",
        "INSERT INTO notes (note_id) VALUES ('forged')",
        "DELETE FROM notes",
    ],
)
def test_promotion_can_do_nothing_else(owner: Any, sql: str) -> None:
    """The promotion role cannot create events, people, tokens or sessions, and cannot rewrite anything."""
    denied(owner, PROMOTION, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE proposals SET payload = '{}'",
        "UPDATE memories SET payload = '{}'",
        "UPDATE review_records SET shown = '{}'",
        "UPDATE notes SET text = 'rewritten'",
        "UPDATE review_records SET reason_text = 'rewritten'",
        "UPDATE log_leaves SET salt = 'x'",
    ],
)
def test_promotion_erases_and_never_rewrites(owner: Any, sql: str) -> None:
    """The promotion role may erase a text but not replace it: the triggers distinguish the two."""
    owner.execute(f"SET ROLE {PROMOTION}")
    with pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(sql)


def test_a_role_changes_only_with_its_record_and_from_the_present_one(owner: Any) -> None:
    """Admission records a change, which sets the role; one from another role is refused, and promotion has no right."""
    insert = "INSERT INTO role_changes (\"user\", previous, role, changed_at) SELECT id, '{}', 'auditor', 1 FROM users"
    denied(owner, PROMOTION, insert.format("curator"))
    owner.execute(f"SET ROLE {ADMISSION}")
    with pytest.raises(psycopg.errors.CheckViolation, match="from the one that the user has"):
        owner.execute(insert.format("operator"))
    owner.execute(insert.format("curator"))
    assert {role for (role,) in owner.execute("SELECT role FROM users").fetchall()} == {"auditor"}


def test_promotion_makes_no_memory_without_its_approvals(owner: Any) -> None:
    """The right to insert is not enough: the trigger requires the review records."""
    owner.execute(f"SET ROLE {PROMOTION}")
    owner.execute("UPDATE proposals SET state = 'approved' WHERE state = 'pending'")
    with pytest.raises(psycopg.errors.CheckViolation, match="needs the approvals"):
        owner.execute(
            "INSERT INTO memories (memory_id, proposal, version, review_record, payload, text_hash, submission_scope, "
            "scope_id, source_span, admitted_at) SELECT 'forged', p.id, p.version, r.id, p.payload, r.resulting_hash, "
            "p.submission_scope, p.scope_id, p.source_span, 1 FROM proposals AS p, review_records AS r "
            "WHERE p.id <> r.proposal"
        )


def test_neither_role_signs_in_owns_or_leads_to_more(owner: Any) -> None:
    """Both roles are plain (no login, ownership or attribute), and this test covers every table."""
    roles = owner.execute(
        "SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls "
        "FROM pg_roles WHERE rolname IN (%s, %s) ORDER BY rolname",
        (ADMISSION, PROMOTION),
    ).fetchall()
    assert roles == [(name, False, False, False, False, False, False) for name in (ADMISSION, PROMOTION)]
    tables = owner.execute(
        "SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'antechamber' AND tablename <> 'steps'"
    ).fetchall()
    assert {name for name, _ in tables} == set(TABLES)
    assert {name for _, name in tables}.isdisjoint({ADMISSION, PROMOTION})
    assert owner.execute(
        "SELECT count(*) FROM pg_auth_members WHERE member::regrole::text = %s", (ADMISSION,)
    ).fetchone() == (0,)

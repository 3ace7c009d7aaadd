"""The log: one leaf for each change, in the change's own transaction, gap-free, and never altered."""

import hashlib
import json
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
import rfc8785

from antechamber.app import erase, open_store
from antechamber.config import Place
from antechamber.core.log.leaf import Leaf, Logged, commitment, leaf_bytes
from antechamber.core.log.merkle import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)
from antechamber.core.log.tree import Tree
from antechamber.core.ports import Rows, Store
from antechamber.flows.access import AccessError
from support import Databases, Service, database, event, running, write_policies


def leaves(place: Place) -> list[dict[str, Any]]:
    """Return all leaves; their places must be 0, 1, 2 and so on."""
    with database(place) as raw:
        rows = raw.execute("SELECT id, leaf, subject, salt FROM log_leaves ORDER BY id").fetchall()
    assert [row[0] for row in rows] == list(range(len(rows)))
    return [json.loads(row[1]) | {"text": row[1], "found_by": row[2], "salt": row[3]} for row in rows]


def told(place: Place) -> list[dict[str, Any]]:
    """Return all leaves but the two with which every service begins: its key and its policy."""
    first, second, *rest = leaves(place)
    assert (first["action"], second["action"]) == ("log-key", "policy")
    return rest


def actions(place: Place) -> list[tuple[Any, ...]]:
    """Return what happened to what."""
    return [(leaf["action"], leaf["actor"], leaf["from"], leaf["to"]) for leaf in told(place)]


def test_every_change_has_its_leaf(service: Service) -> None:
    """From the first token to a memory that is retracted, in the order of commits."""
    first = service.submit(event("Run the migration first.", idempotency_key="a")).json()
    service.submit(event("Run the migration first.", idempotency_key="a"))
    service.submit(event("Page mira@orbit-works.dev.", idempotency_key="b"))
    service.submit(event("Something else.", idempotency_key="a"))
    service.client.put("/v1/submissions/by-key/c/seal", headers={"authorization": f"Bearer {service.token()}"})
    desk = service.sign_in()
    assert desk.decide(first["proposal_id"], "approve").status_code == 303
    found = told(service.place)
    bot = "worker:release-bot"
    assert actions(service.place) == [
        ("issue-token", "command-line", None, "issued"),
        ("submit", bot, None, "accepted-for-review"),
        ("submit", bot, None, "rejected-private"),
        ("submit", bot, None, "rejected-conflict"),
        ("seal", bot, None, "rejected-invalid"),
        ("add-user", "command-line", None, "curator"),
        ("approve", "bob", "pending", "approved"),
        ("memory", "bob", None, "active"),
    ]
    accepted, memory = found[1], found[7]
    assert accepted["subject"] == {"submission_id": first["submission_id"], "proposal_id": first["proposal_id"]}
    assert (accepted["found_by"], accepted["policy_digest"]) == (first["submission_id"], first["policy_digest"])
    assert accepted["time"] == first["received_at"]
    assert memory["subject"]["review_record_id"] == found[6]["subject"]["review_record_id"]
    assert [leaf["reason_code"] for leaf in found[2:5]] == ["private-detected", "key-reused", "sealed"]
    assert all("migration" not in leaf["text"] and "mira" not in leaf["text"] for leaf in found)


def test_a_leaf_is_canonical_and_its_commitment_opens(service: Service) -> None:
    """RFC 8785 bytes; whoever has the salt and the text can show that they belong together."""
    receipt = service.submit(event("Run the migration first.", idempotency_key="a"))
    (leaf,) = [one for one in leaves(service.place) if one["action"] == "submit"]
    plain = {name: leaf[name] for name in leaf if name not in {"text", "found_by", "salt"}}
    assert leaf["text"].encode() == rfc8785.dumps(plain)
    with database(service.place) as raw:
        payload, span = raw.execute("SELECT payload, source_span FROM proposals").fetchone()
    told = {"payload": payload, "receipt": receipt.text, "source_span": span}
    digest = hashlib.sha256(bytes(leaf["salt"]) + rfc8785.dumps(told)).hexdigest()
    assert leaf["payload_commitment"] == f"sha256:{digest}"
    assert leaf["payload_commitment"] != commitment(bytes(32), told)


COMMITTED = {
    "person", "producer_identity", "proposal_version", "reason_text", "resulting", "scope_id", "shown",
    "submission_scope", "target",
}  # fmt: skip
"""What the leaf of a review record commits to."""


def test_the_commitment_of_a_decision_opens_to_all_that_an_auditor_asks_first(service: Service) -> None:
    """Texts, typed reason and version; the producer, the scope, the person and the memory that is named."""
    first = service.submit(event("Feed the quokkas.")).json()["proposal_id"]
    second = service.submit(event("Feed the quokkas twice.")).json()["proposal_id"]
    desk = service.sign_in("bob", person="robert")
    assert desk.decide(first, "approve").status_code == 303
    memory = service.recall()[0]["memory_id"]
    assert desk.decide(second, "supersede", target=memory, reason_text="It grew.").status_code == 303
    (record, leaf) = _opened(service.place, "supersede")
    payload = '{"content":"Feed the quokkas twice.","kind":"procedure"}'
    assert {name: record[name] for name in COMMITTED} == {
        "person": "robert",
        "producer_identity": "worker:release-bot",
        "proposal_version": 1,
        "reason_text": "It grew.",
        "resulting": payload,
        "scope_id": "apollo",
        "shown": payload,
        "submission_scope": "project",
        "target": memory,
    }
    for name in COMMITTED:
        altered = {**record, name: "another"}
        opened = [hashlib.sha256(bytes(leaf["salt"]) + rfc8785.dumps(one)).hexdigest() for one in (record, altered)]
        assert leaf["payload_commitment"] == f"sha256:{opened[0]}"
        assert leaf["payload_commitment"] != f"sha256:{opened[1]}", name


def _opened(place: Place, action: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the rows hold of a decision, under the names of the commitment, and its leaf."""
    (leaf,) = [one for one in leaves(place) if one["action"] == action]
    names = sorted(COMMITTED)
    columns = ", ".join("version" if name == "proposal_version" else name for name in names)
    with database(place) as raw:
        row = raw.execute(f"SELECT {columns} FROM audited_records WHERE decision = '{action}'").fetchone()
    return dict(zip(names, row, strict=True)), leaf


def test_a_withdrawn_proposal_has_a_leaf_of_its_own(service: Service) -> None:
    """A retry that turned out private changes the proposal, too."""
    service.submit(event("Run the migration first.", idempotency_key="a"))
    for _ in range(2):
        service.submit(event("Run the migration first.", idempotency_key="a", visibility="private"))
    assert actions(service.place)[1:] == [
        ("submit", "worker:release-bot", None, "accepted-for-review"),
        ("submit", "worker:release-bot", None, "rejected-conflict"),
        ("withdraw", "worker:release-bot", "pending", "withdrawn"),
    ]


def test_people_and_tokens_have_their_leaves(service: Service) -> None:
    """Also where one name ends several tokens; what changes nothing has none."""
    service.token()
    service.state.access.issue("worker:release-bot", "producer", [], None)
    assert service.state.access.revoke("worker:release-bot") == 2
    assert service.state.access.revoke("worker:release-bot") == 0
    service.sign_in("bob")
    service.state.access.set_password("bob", "hashed")
    assert service.state.access.disable("bob")
    with pytest.raises(AccessError, match="no account bob"):
        service.state.access.set_password("bob", "hashed")
    assert [action for action, *_ in actions(service.place)] == [
        "issue-token",
        "issue-token",
        "revoke-token",
        "revoke-token",
        "add-user",
        "set-password",
        "disable-user",
    ]


def logged(name: str) -> Logged:
    """Return a leaf."""
    leaf = Leaf(action="add-user", actor="command-line", role="operator", subject={"user": name}, time="now")
    return Logged(leaf_bytes(leaf), name, None)


def test_work_that_fails_leaves_no_leaf(store: Store, place: Place) -> None:
    """Neither alone nor in the company of work that succeeds."""
    gate = threading.Event()

    def wait(rows: Rows) -> None:
        rows.log([logged("first")])
        gate.wait(10)

    def fail(rows: Rows) -> None:
        rows.log([logged("never")])
        message = "it does not work"
        raise ValueError(message)

    waiting = [store.write(wait), store.write(fail), store.write(lambda rows: rows.log([logged("last")]))]
    gate.set()
    with pytest.raises(ValueError, match="does not work"):
        waiting[1].result()
    waiting[0].result()
    waiting[2].result()
    assert [leaf["found_by"] for leaf in leaves(place)] == ["first", "last"]


def test_several_writers_leave_no_gap(place: Place, store: Store) -> None:
    """Two stores on one place, as two processes or the command line beside the service."""
    other = open_store(place)
    try:
        with ThreadPoolExecutor(8) as pool:
            names = [f"user {number}" for number in range(200)]
            futures = pool.map(
                lambda name: (store, other)[hash(name) % 2].write(lambda rows: rows.log([logged(name)])).result(), names
            )
            assert list(futures) == [None] * len(names)
    finally:
        other.close()
    assert {leaf["found_by"] for leaf in leaves(place)} == set(names)


def test_as_many_leaves_as_nobody_writes_at_once_are_written(store: Store, place: Place) -> None:
    """Some megabytes in one transaction, more than any socket takes at once."""
    store.write(lambda rows: rows.log(logged(f"user {number}") for number in range(6_000))).result()
    assert len(leaves(place)) == 6_000


def test_the_tree_over_stored_nodes_is_that_of_all_leaves(store: Store) -> None:
    """Grown in two steps over a complete node of the sixteenth level: roots, proofs, and what was there before."""
    frontier, sizes, roots = Frontier(), (300, 66_000), {}
    for size in sizes:
        made = [logged(f"user {number}") for number in range(frontier.size, size)]
        for one in made:
            frontier.append(leaf_hash(one.leaf))
        store.write(lambda rows, made=made: rows.log(made)).result()
        roots[size] = frontier.root()
        with store.read() as rows:
            tree = Tree(rows)
            assert (tree.size, tree.root(size)) == (size, roots[size])
            grown = tree.grown
        for level, (first, hashes) in grown.items():
            store.write(
                lambda rows, level=level, first=first, hashes=hashes: rows.add_nodes(level, first, hashes)
            ).result()
    assert set(grown) == {8, 16}
    with store.read() as rows:
        assert Tree(rows).grown == {}
        tree = Tree(rows, 66_000)
        assert [tree.root(size) for size in sizes] == list(roots.values())
        path = consistency_proof(300, 66_000, tree.nodes)
        assert verify_consistency(300, 66_000, path, roots[300], roots[66_000])
        for index in (0, 299, 300, 40_000, 65_535, 65_536, 65_999):
            path = inclusion_proof(index, 66_000, tree.nodes)
            leaf = leaf_hash(rows.leaf_texts(index, 1)[0].encode())
            assert verify_inclusion(leaf, index, 66_000, path, roots[66_000])


def busy(service: Service) -> None:
    """Do one of everything that is logged."""
    first = service.submit(event("Run the migration first.", idempotency_key="a")).json()
    service.submit(event("Run the migration first.", idempotency_key="same"))
    service.submit(event("Page mira@orbit-works.dev.", idempotency_key="b"))
    service.submit(event("Too old.", idempotency_key="old", observed_at="2020-01-01T00:00:00Z"))
    conflict = service.submit(event("Something else.", idempotency_key="a")).json()
    service.client.put("/v1/submissions/by-key/c/seal", headers={"authorization": f"Bearer {service.token()}"})
    service.submit(event("To be withdrawn.", idempotency_key="w"))
    service.submit(event("To be withdrawn.", idempotency_key="w", visibility="private"))
    desk = service.sign_in()
    assert desk.decide(first["proposal_id"], "approve").status_code == 303
    assert desk.decide(first["proposal_id"], "retract", reason_code="wrong").status_code == 303
    place = f"/quarantine/{conflict['quarantine_id']}"
    form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', desk.browser.get(place).text))
    assert desk.post(f"{place}/keep", form | {"reason_code": "other"}).status_code == 303
    service.state.access.add_user("gone", "auditor", None, None)
    service.state.access.disable("gone")
    service.state.access.issue("worker:other", "producer", [], None)
    service.state.access.revoke("worker:other")
    service.submit(event(durable=True))
    gone = service.submit(event("To be erased.", idempotency_key="e")).json()["proposal_id"]
    assert desk.decide(gone, "reject", reason_code="wrong").status_code == 303
    exported = service.client.get(
        "/v1/audit/review-records", params={"decision": "reject"}, headers=service.bearer("auditing", "auditor")
    )
    assert exported.status_code == 200
    erase(service.place, gone, "private")
    service.state.access.set_password("bob", "hashed")


def checked(place: Place) -> list[str]:
    """Return what the doctor finds in the log."""
    store = open_store(place)
    try:
        with store.read() as rows:
            return list(rows.check())
    finally:
        store.close()


def test_the_doctor_finds_the_log_and_the_store_in_agreement(service: Service) -> None:
    """After one of everything; a salt may go only with its text, by an erasure on record."""
    busy(service)
    assert checked(service.place) == []
    with database(service.place) as raw:
        raw.execute("UPDATE log_leaves SET salt = NULL")
    found = checked(service.place)
    assert found
    assert all("lost the salt of its commitment" in line for line in found)


TAMPERED = {
    "UPDATE submissions SET disposition = 'rejected-invalid' WHERE idempotency_key = 'b'": "and its leaf",
    "UPDATE submissions SET received_at = received_at + 1000000 WHERE idempotency_key = 'old'": "says time",
    "UPDATE submissions SET policy_digest = 'another' WHERE idempotency_key = 'old'": "says policy_digest another",
    "UPDATE submissions SET receipt = replace(receipt, '201', '200') WHERE idempotency_key = 'a'": "commits to",
    "UPDATE proposals SET source_span = '{}' WHERE withdrawn = 1": "commits to",
    "UPDATE quarantine SET payload = '{}' WHERE keyed = 0": "commits to",
    "UPDATE review_records SET reason_text = 'Never said.' WHERE decision = 'retract'": "commits to",
    "UPDATE review_records SET reason_code = 'other' WHERE decision = 'retract'": "says reason_code other",
    "UPDATE review_records SET person = 'grace' WHERE decision = 'retract'": "commits to",
    "UPDATE review_records SET target = (SELECT min(id) FROM memories) WHERE decision = 'retract'": "commits to",
    "UPDATE proposals SET submission_scope = 'session' WHERE state = 'approved'": "commits to",
    "UPDATE proposals SET scope_id = 'gemini' WHERE state = 'approved'": "commits to",
    "UPDATE producers SET producer_identity = 'worker:another'": "commits to",
    "UPDATE quarantine SET scope_id = 'gemini' WHERE state = 'settled'": "commits to",
    "UPDATE memory_changes SET changed_at = changed_at + 1000000": "says time",
    "UPDATE proposals SET withdrawn = 0": "leaves for",
    "UPDATE tokens SET revoked_at = NULL": "leaves for",
    "UPDATE users SET role = 'auditor' WHERE name = 'bob'": "says to auditor",
    "DELETE FROM log_leaves WHERE id = 3": "leaf 3 of the log is missing",
    "DELETE FROM log_leaves WHERE id > 9": "leaves for",
    "UPDATE log_leaves SET subject = 'x' WHERE id = 1": "has no leaf",
    "UPDATE log_leaves SET leaf = replace(leaf, ':', ': ') WHERE id = 1": "not in its canonical form",
    "UPDATE log_leaves SET leaf = 'garbage' WHERE id = 3": "cannot be read",
    "UPDATE log_leaves SET leaf = '[]' WHERE id = 3": "cannot be read",
    "UPDATE log_leaves SET leaf = '{}' WHERE id = 3": "cannot be read",
    "UPDATE proposals SET payload = 'garbage' WHERE withdrawn = 1": "differs from its source-event hash",
    "UPDATE policy_changes SET policy = '{}'": "has another text",
    "UPDATE policy_changes SET previous = 'blake3:another'": "says from blake3:another",
    "UPDATE exports SET filters = '{}'": "commits to",
    "UPDATE exports SET size = 1": "commits to",
    "UPDATE exports SET exported_at = 9000000000000000000": "cannot be read",
    "UPDATE password_changes SET actor = 'bob'": "says actor bob",
    "UPDATE password_changes SET \"user\" = (SELECT id FROM users WHERE name = 'gone')": "says subject",
    "DELETE FROM password_changes": "leaves for",
    "UPDATE direct_writes SET hour = 1": "says to another hour",
    "UPDATE erasures SET proposal = (SELECT id FROM proposals WHERE withdrawn = 1)": "says subject",
    "INSERT INTO log_nodes (level, number, hash) SELECT 8, 0, hash FROM (SELECT salt AS hash FROM log_leaves "
    "WHERE salt IS NOT NULL LIMIT 1) AS one": "more than its leaves lead to",
    "UPDATE log_keys SET verifier_key = 'garbage' || id": "is not that of the first",
    "UPDATE checkpoints SET note = 'garbage' || id": "is not that of the first",
}
"""What somebody may do who owns the database and switches its guards off, and what the doctor says."""


@pytest.fixture(scope="module")
def worked(lasting_place: Place) -> Place:
    """A place in which one of everything was done, and whose service has ended."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as service:
        busy(service)
    return lasting_place


@pytest.fixture
def copied(worked: Place, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A copy of it, to be altered."""
    shutil.copytree(worked.data, tmp_path / "copy")
    if worked.database_url is None:
        yield Place(data=tmp_path / "copy")
        return
    databases: Databases = request.getfixturevalue("postgres")
    url = databases.fresh(worked.database_url)
    yield Place(data=tmp_path / "copy", database_url=url)
    databases.drop(url)


@pytest.mark.parametrize("statement", TAMPERED)
def test_the_doctor_names_what_was_altered(copied: Place, statement: str) -> None:
    """Whatever was changed behind the log's back."""
    with database(copied) as raw:
        if copied.database_url:
            tables = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'antechamber'").fetchall()
            for (table,) in tables:
                raw.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        else:
            raw.execute("PRAGMA foreign_keys = OFF")
            raw.execute("PRAGMA ignore_check_constraints = ON")
            for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                raw.execute(f"DROP TRIGGER {name}")
        raw.execute(statement)
    found = [line for line in checked(copied) if "switched off" not in line]
    assert any(TAMPERED[statement] in line for line in found), found


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log_leaves SET leaf = '{}'",
        "UPDATE log_leaves SET subject = 'x'",
        "UPDATE log_leaves SET id = id + 10",
        "UPDATE log_leaves SET salt = X'00'",
        "DELETE FROM log_leaves",
        "INSERT INTO log_leaves (id, leaf, subject) VALUES (0, '{}', 'x')",
    ],
)
def test_what_is_logged_stays(place: Place, store: Store, statement: str) -> None:
    """Even for whoever opens the database by hand; only a salt may go."""
    store.write(lambda rows: rows.log([Logged(b"{}", "a", bytes(32))])).result()
    with database(place) as raw:
        if place.database_url:
            statement = statement.replace("X'00'", "'x'::bytea")
        with pytest.raises((sqlite3.Error, psycopg.Error), match=r"append-only|unique"):
            raw.execute(statement)
    with database(place) as raw:
        raw.execute("UPDATE log_leaves SET salt = NULL")
    assert leaves(place)[0]["salt"] is None

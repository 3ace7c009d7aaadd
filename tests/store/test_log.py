"""The log: one leaf for each change, in the change's own transaction, gap-free, and never altered."""

import contextlib
import gc
import hashlib
import json
import random
import re
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
import rfc8785

from antechamber.app import erase, examine, open_store
from antechamber.app.calibration import opened_calibration
from antechamber.app.webhooks import opened_webhooks
from antechamber.core.access.secret_format import digest_secret, mint
from antechamber.core.access.sessions import AccessError
from antechamber.core.log.leaf import Leaf, commitment, leaf_bytes
from antechamber.core.log.merkle import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)
from antechamber.core.log.rows import LeafWrite
from antechamber.core.log.tree import Tree
from antechamber.core.ports.store import Rows, Store
from antechamber.core.retention import Removal, RetentionRun
from antechamber.settings import Location
from antechamber.store.sqlite.packed_leaf import unpack
from support import Databases, Desk, Service, database, event, fill


def leaves(location: Location) -> list[dict[str, Any]]:
    """Return all leaves; their sequences must be 0, 1, 2 and so on."""
    with database(location) as raw:
        rows = raw.execute(
            "SELECT l.id, l.leaf, coalesce(l.subject, s.submission_id), l.salt "
            "FROM log_leaves AS l LEFT JOIN submissions AS s ON s.id = l.submission ORDER BY l.id"
        ).fetchall()
    assert [row[0] for row in rows] == list(range(len(rows)))
    texts = [unpack(row[1]) for row in rows]
    return [
        json.loads(text) | {"text": text, "found_by": row[2], "salt": row[3]}
        for text, row in zip(texts, rows, strict=True)
    ]


def told(location: Location) -> list[dict[str, Any]]:
    """Return all leaves except the first two of every service: its key and its policy."""
    first, second, *rest = leaves(location)
    assert (first["action"], second["action"]) == ("log-key", "policy")
    return rest


def actions(location: Location) -> list[tuple[Any, ...]]:
    """Return action, actor, and old and new state of each leaf."""
    return [(leaf["action"], leaf["actor"], leaf["from"], leaf["to"]) for leaf in told(location)]


def test_every_change_has_its_leaf(service: Service) -> None:
    """Every change from the first token to a retracted memory has its leaf, in the order of commits."""
    first = service.submit(event("Run the migration first.", idempotency_key="a")).json()
    service.submit(event("Run the migration first.", idempotency_key="a"))
    service.submit(event("Page mira@orbit-works.dev.", idempotency_key="b"))
    service.submit(event("Something else.", idempotency_key="a"))
    service.client.put("/v1/submissions/by-key/c/seal", headers={"authorization": f"Bearer {service.token()}"})
    desk = service.sign_in()
    assert desk.decide(first["proposal_id"], "approve").status_code == 303
    found = told(service.location)
    bot = "worker:release-bot"
    assert actions(service.location) == [
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
    """A leaf is RFC 8785 bytes; with the salt and the text its commitment can be verified."""
    receipt = service.submit(event("Run the migration first.", idempotency_key="a"))
    (leaf,) = [one for one in leaves(service.location) if one["action"] == "submit"]
    plain = {name: leaf[name] for name in leaf if name not in {"text", "found_by", "salt"}}
    assert leaf["text"].encode() == rfc8785.dumps(plain)
    with database(service.location) as raw:
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
    """The commitment covers texts, typed reason and version, producer, scope, person and the named memory."""
    first = service.submit(event("Feed the quokkas.")).json()["proposal_id"]
    second = service.submit(event("Feed the quokkas twice.")).json()["proposal_id"]
    desk = service.sign_in("bob", person="robert")
    assert desk.decide(first, "approve").status_code == 303
    memory = service.recall()[0]["memory_id"]
    assert desk.decide(second, "supersede", target=memory, reason_text="It grew.").status_code == 303
    (record, leaf) = _opened(service.location, "supersede")
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


def _opened(location: Location, action: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the stored values of a decision, under the names of the commitment, and its leaf."""
    (leaf,) = [one for one in leaves(location) if one["action"] == action]
    names = sorted(COMMITTED)
    columns = ", ".join("version" if name == "proposal_version" else name for name in names)
    with database(location) as raw:
        row = raw.execute(f"SELECT {columns} FROM audited_records WHERE decision = '{action}'").fetchone()
    return dict(zip(names, row, strict=True)), leaf


def test_a_withdrawn_proposal_has_a_leaf_of_its_own(service: Service) -> None:
    """A retry with a private finding withdraws the proposal, and that change has its own leaf."""
    service.submit(event("Run the migration first.", idempotency_key="a"))
    for _ in range(2):
        service.submit(event("Run the migration first.", idempotency_key="a", visibility="private"))
    assert actions(service.location)[1:] == [
        ("submit", "worker:release-bot", None, "accepted-for-review"),
        ("submit", "worker:release-bot", None, "rejected-conflict"),
        ("withdraw", "worker:release-bot", "pending", "withdrawn"),
    ]


def test_people_and_tokens_have_their_leaves(service: Service) -> None:
    """Changes of people and tokens have leaves, one for each token of a name; an operation without effect has none."""
    service.token()
    service.state.access.tokens.issue("worker:release-bot", "producer", [], None)
    assert service.state.access.tokens.revoke("worker:release-bot") == 2
    assert service.state.access.tokens.revoke("worker:release-bot") == 0
    service.sign_in("bob")
    service.state.access.passwords.set("bob", "hashed")
    assert service.state.access.accounts.disable("bob")
    with pytest.raises(AccessError, match="no account bob"):
        service.state.access.passwords.set("bob", "hashed")
    assert [action for action, *_ in actions(service.location)] == [
        "issue-token",
        "issue-token",
        "revoke-token",
        "revoke-token",
        "add-user",
        "set-password",
        "disable-user",
    ]


def logged(name: str) -> LeafWrite:
    """Return a leaf."""
    leaf = Leaf(action="add-user", actor="command-line", role="operator", subject={"user": name}, time="now")
    return LeafWrite(leaf_bytes(leaf), name, None)


def test_work_that_fails_leaves_no_leaf(store: Store, location: Location) -> None:
    """Work that fails leaves no leaf, whether alone or in a group with work that succeeds."""
    gate = threading.Event()

    def wait(tx: Rows) -> None:
        tx.sql.append_leaves([logged("first")])
        gate.wait(10)

    def fail(tx: Rows) -> None:
        tx.sql.append_leaves([logged("never")])
        message = "it does not work"
        raise ValueError(message)

    waiting = [store.write(wait), store.write(fail), store.write(lambda tx: tx.sql.append_leaves([logged("last")]))]
    gate.set()
    with pytest.raises(ValueError, match="does not work"):
        waiting[1].result()
    waiting[0].result()
    waiting[2].result()
    assert [leaf["found_by"] for leaf in leaves(location)] == ["first", "last"]


def test_several_writers_leave_no_gap(location: Location, store: Store) -> None:
    """Two stores on one location, such as two processes or the command line beside the service, leave no gap."""
    other = open_store(location)
    try:
        with ThreadPoolExecutor(8) as pool:
            names = [f"user {number}" for number in range(200)]
            futures = pool.map(
                lambda name: (
                    (store, other)[hash(name) % 2].write(lambda tx: tx.sql.append_leaves([logged(name)])).result()
                ),
                names,
            )
            assert list(futures) == [None] * len(names)
    finally:
        other.close()
    assert {leaf["found_by"] for leaf in leaves(location)} == set(names)


def test_as_many_leaves_as_nobody_writes_at_once_are_written(store: Store, location: Location) -> None:
    """Several megabytes of leaves are written in one transaction, more than a socket accepts at once."""
    store.write(lambda tx: tx.sql.append_leaves(logged(f"user {number}") for number in range(6_000))).result()
    assert len(leaves(location)) == 6_000


def test_the_tree_over_stored_nodes_is_that_of_all_leaves(store: Store) -> None:
    """A tree grown in two steps across a complete node of level 16 has the roots and proofs of all its leaves."""
    frontier, sizes, roots = Frontier(), (300, 66_000), {}
    for size in sizes:
        made = [logged(f"user {number}") for number in range(frontier.size, size)]
        for one in made:
            frontier.append(leaf_hash(one.leaf))
        store.write(lambda tx, made=made: tx.sql.append_leaves(made)).result()
        roots[size] = frontier.root()
        with store.read() as tx:
            tree = Tree(tx.log)
            assert (tree.size, tree.root(size)) == (size, roots[size])
            grown = tree.grown
        for level, (first, hashes) in grown.items():
            store.write(
                lambda tx, level=level, first=first, hashes=hashes: tx.log.add_nodes(level, first, hashes)
            ).result()
    assert set(grown) == {8, 16}
    with store.read() as tx:
        assert Tree(tx.log).grown == {}
        tree = Tree(tx.log, 66_000)
        assert [tree.root(size) for size in sizes] == list(roots.values())
        path = consistency_proof(300, 66_000, tree.nodes)
        assert verify_consistency(300, 66_000, path, roots[300], roots[66_000])
        for index in (0, 299, 300, 40_000, 65_535, 65_536, 65_999):
            path = inclusion_proof(index, 66_000, tree.nodes)
            leaf = leaf_hash(tx.log.leaf_texts(index, 1)[0].encode())
            assert verify_inclusion(leaf, index, 66_000, path, roots[66_000])


def test_the_hashes_of_a_tree_are_freed_with_it(store: Store) -> None:
    """They are freed at once: the collector runs after many containers, and thousands of hashes are in a few."""
    store.write(lambda tx: tx.sql.append_leaves(logged(f"user {number}") for number in range(300))).result()
    with store.read() as tx:
        tree = Tree(tx.log)
        tree.root(290)
        hashes = weakref.ref(tree.nodes)
        gc.disable()
        try:
            del tree
            assert hashes() is None
        finally:
            gc.enable()


def busy(service: Service) -> None:
    """Perform one of every operation that is logged."""
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
    location = f"/quarantine/{conflict['quarantine_id']}"
    form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', desk.browser.get(location).text))
    assert desk.post(f"{location}/keep", form | {"reason_code": "other"}).status_code == 303
    service.submit(event("Run the migration first.", idempotency_key="else", producer_identity="tool:watcher"))
    named = event("Two persons.", idempotency_key="two", submission_scope="organization", scope_id="labs")
    two = service.submit(named).json()["proposal_id"]
    assert desk.decide(two, "approve").status_code == 303
    assert service.sign_in("pia").decide(two, "approve", review_after="2035-01-31").status_code == 303
    service.state.access.accounts.add("pat", "auditor", None, "$argon2id$")
    service.state.access.tokens.issue("notes", "reader", ["project:apollo"], 1_000_000_000)
    service.state.access.accounts.add("gone", "auditor", None, None)
    service.state.access.accounts.disable("gone")
    service.state.access.tokens.issue("worker:other", "producer", [], None)
    service.state.access.tokens.revoke("worker:other")
    service.submit(event(durable=True))
    erased = service.submit(event("To be erased.", idempotency_key="e")).json()
    gone = erased["proposal_id"]
    for said in (erased, service.submit(event("To be discussed.", idempotency_key="d")).json()):
        assert desk.write(said["proposal_id"], "note", "Look at this, @pia.").status_code == 303
        assert desk.write(said["proposal_id"], "question", "Which one?").status_code == 303
        assert service.answer(said["submission_id"], "This one.", said["idempotency_key"]).status_code == 201
        assert desk.write(said["proposal_id"], "question", "Which other?").status_code == 303
        assert desk.write(said["proposal_id"], "assignment", person="pia").status_code == 303
    assert desk.decide(gone, "reject", reason_code="wrong").status_code == 303
    exported = service.client.get(
        "/v1/audit/review-records", params={"decision": "reject"}, headers=service.bearer("auditing", "auditor")
    )
    assert exported.status_code == 200
    erase(service.location, gone, "private")
    retain(service, desk)
    service.state.access.passwords.set("bob", "hashed")
    service.submit(event("Derived.", idempotency_key="derived", derived_from=["m1", "m2"]))
    with opened_webhooks(service.location) as webhooks:
        webhook_id, _ = webhooks.add("https://127.0.0.1:9/hook", ["alarm.raised"], allow_private=True)
        webhooks.replay(webhook_id, "1")
        webhooks.remove(webhook_id)
    judge_blind_items(service, two)


CALIBRATION = (
    '{"producer_identity": "worker:release-bot", "submission_scope": "project", "scope_id": "apollo", "payload": '
    '{"kind": "fact", "content": "Known item %s."}, "source_span": {"uri": "repo://apollo/x"}, "verdict": "approve"}'
)


def judge_blind_items(service: Service, decided: str) -> None:
    """Add two calibration items, of which one is decided, and a second look at a decided proposal."""
    items = [CALIBRATION % number for number in (1, 2)]
    with opened_calibration(service.location, service.settings.policies) as calibration:
        calibration.add("\n".join(items).encode())
        asked = calibration.all()[0].proposal_id
    assert service.sign_in().decide(asked, "reject", reason_code="wrong").status_code == 303
    service.sign_in("zoe")
    looks = service.state.desk._looks
    assert looks._store.write(partial(looks._add, decided)).result()


def retain(service: Service, desk: Desk) -> None:
    """Remove the text of a rejected proposal in a run of retention."""
    proposal = service.submit(event("To be removed.", idempotency_key="r")).json()["proposal_id"]
    assert desk.decide(proposal, "reject", reason_code="wrong").status_code == 303
    item = Removal(subject=proposal, records=2)
    with service.state.desk._store.read() as tx:
        size = tx.log.size()
    run = RetentionRun(
        retention_id="r-1", archive="sha256:00", size=size, items=1, policy_digest="blake3:00", begun_at=size
    )

    def remove(tx: Rows) -> int:
        tx.retention.add_run(run)
        return tx.retention.remove(run, [("e-1", item)], size)

    assert service.state.desk._store.promote(remove).result() == 1


def checked(location: Location) -> list[str]:
    """Return the doctor's findings about the log."""
    store = open_store(location)
    try:
        with store.read() as tx:
            return list(tx.doctor.check())
    finally:
        store.close()


def test_the_doctor_finds_the_log_and_the_store_in_agreement(service: Service) -> None:
    """After one of every operation the doctor finds no fault; a salt may go only in a logged erasure."""
    busy(service)
    assert checked(service.location) == []
    with database(service.location) as raw:
        raw.execute("UPDATE log_leaves SET salt = NULL")
    found = checked(service.location)
    assert found
    assert all("lost the salt of its commitment" in line for line in found)


TAMPERED = {
    "UPDATE folds SET pending = 0": "of the queue counts 0 waiting proposals, and",
    "UPDATE folds SET submission_scope = 'session'": "in a row of the queue of another scope",
    "UPDATE folds SET scope_id = 'gemini'": "in a row of the queue of another scope",
    "UPDATE folds SET producer = producer + 1": "of the queue has another producer",
    "UPDATE folds SET owner = 'eve'": "of the queue has another producer, owner",
    "UPDATE folds SET kind = 'fact'": "of the queue has another producer, owner, kind",
    "UPDATE folds SET content = 'never proposed'": "of the queue has another producer, owner, kind, text",
    "UPDATE folds SET tags = ' never '": "of the queue has another producer, owner, kind, text or tags",
    "UPDATE proposals SET fold = (SELECT min(id) FROM folds WHERE pending = 0) WHERE state = 'pending'": "queue counts",
    "UPDATE quarantine SET findings = '[]' WHERE kind = 'private'": "has other findings than its answer",
    "UPDATE quarantine SET findings = 'x' WHERE kind = 'conflict'": "has other findings than its answer",
    "UPDATE submissions SET disposition = 'rejected-invalid' WHERE idempotency_key = 'b'": "and its leaf",
    "UPDATE submissions SET received_at = received_at + 1000000 WHERE idempotency_key = 'old'": "says time",
    "UPDATE policies SET policy_digest = 'another'": "says policy_digest another",
    "UPDATE submissions SET policy = policy + 1 WHERE idempotency_key = 'old'": "leaves for",
    "UPDATE submissions SET receipt = replace(receipt, '422', '200') WHERE idempotency_key = 'b'": "commits to",
    "UPDATE submissions SET receipt = '{}' WHERE idempotency_key = 'a'": "commits to",
    "UPDATE proposals SET source_span = '{}' WHERE withdrawn = 1": "commits to",
    "UPDATE quarantine SET payload = '{}' WHERE keyed = 0": "commits to",
    "UPDATE review_records SET reason_text = 'Never said.' WHERE decision = 'retract'": "commits to",
    "UPDATE review_records SET reason_code = 'other' WHERE decision = 'retract'": "says reason_code other",
    "UPDATE review_records SET person = 'grace' WHERE decision = 'retract'": "commits to",
    "UPDATE review_records SET target = (SELECT min(id) FROM memories) WHERE decision = 'retract'": "commits to",
    "UPDATE proposals SET submission_scope = 'session' WHERE state = 'approved'": "commits to",
    "UPDATE proposals SET scope_id = 'gemini' WHERE state = 'approved'": "commits to",
    "UPDATE producers SET producer_identity = 'tool:x' WHERE producer_identity LIKE 'worker%'": "commits to",
    "UPDATE quarantine SET scope_id = 'gemini' WHERE state = 'settled'": "commits to",
    "UPDATE memory_changes SET changed_at = changed_at + 1000000": "says time",
    "UPDATE proposals SET withdrawn = 0": "leaves for",
    "UPDATE tokens SET revoked_at = NULL": "leaves for",
    "UPDATE users SET role = 'auditor' WHERE name = 'bob'": "says to auditor",
    "DELETE FROM log_leaves WHERE id = 3": "leaf 3 of the log is missing",
    "DELETE FROM log_leaves WHERE id > 9": "leaves for",
    "UPDATE log_leaves SET subject = 'x' WHERE id = 1": "has no leaf",
    "UPDATE log_leaves SET submission = submission + 1000 WHERE submission = 1": "has no leaf",
    "UPDATE log_leaves SET submission = NULL WHERE submission = 1": "has no leaf",
    "UPDATE submissions SET submission_id = 'x' WHERE id = 1": "commits to",
    "UPDATE submissions SET submission_id = 'x' WHERE idempotency_key = 'old'": "another submission_id",
    "UPDATE log_leaves SET leaf = replace(leaf, ':', ': ') WHERE id = 1": "not in its canonical form",
    "UPDATE log_leaves SET leaf = 'garbage' WHERE id = 3": "cannot be read",
    "UPDATE log_leaves SET leaf = replace(leaf, 'release-bot', 'another-bot') WHERE submission = 1": "actor",
    "UPDATE log_leaves SET leaf = '[]' WHERE id = 3": "cannot be read",
    "UPDATE log_leaves SET leaf = '{}' WHERE id = 3": "cannot be read",
    "UPDATE proposals SET payload = 'garbage' WHERE withdrawn = 1": "differs from its source-event hash",
    "UPDATE policy_changes SET policy = '{}'": "has another text",
    "UPDATE policy_changes SET previous = 'blake3:another'": "says from blake3:another",
    "UPDATE exports SET filters = '{}'": "commits to",
    "UPDATE exports SET size = 1": "commits to",
    "UPDATE exports SET exported_at = 9000000000000000000": "says time 9999-12-31",
    "UPDATE password_changes SET actor = 'bob'": "says actor bob",
    "UPDATE password_changes SET \"user\" = (SELECT id FROM users WHERE name = 'gone')": "says subject",
    "UPDATE password_changes SET password_digest = 'x'": "says subject",
    "UPDATE password_changes SET role = 'auditor'": "says role auditor",
    "UPDATE password_changes SET changed_at = 1": "says time",
    "UPDATE password_changes SET password_change_id = 'x'": "has 0 leaves",
    "DELETE FROM password_changes": "leaves for",
    "UPDATE quarantine SET owner = 'eve' WHERE keyed = 0": "another owner than the policy",
    "UPDATE direct_writes SET hour = 1": "says to another hour",
    "UPDATE erasures SET proposal = (SELECT id FROM proposals WHERE withdrawn = 1) "
    "WHERE retention IS NULL": "says subject",
    "INSERT INTO log_nodes (level, number, hash) SELECT 8, 0, hash FROM (SELECT salt AS hash FROM log_leaves "
    "WHERE salt IS NOT NULL LIMIT 1) AS one": "more than its leaves lead to",
    "UPDATE log_keys SET verifier_key = 'garbage' || id": "is not that of the first",
    "UPDATE checkpoints SET note = 'garbage' || id": "is not that of the first",
    "UPDATE checkpoints SET size = size - 1": "is not that of the first",
    "UPDATE submissions SET idempotency_key = 'another' WHERE idempotency_key = 'old'": "another idempotency_key",
    "UPDATE submissions SET idempotency_key = 'another' WHERE idempotency_key = 'a'": "commits to",
    "UPDATE submissions SET idempotency_key = 'x' WHERE idempotency_key = 'e'": "another idempotency_key",
    "UPDATE submissions SET producer = (SELECT max(id) FROM producers) + 1": "leaves for",
    "UPDATE submissions SET status = 200 WHERE idempotency_key = 'old'": "another status",
    "UPDATE submissions SET submission_scope = 'session' WHERE idempotency_key = 'old'": "another submission_scope",
    "UPDATE submissions SET submission_scope = 'session' WHERE idempotency_key = 'a'": "commits to",
    "UPDATE submissions SET submission_scope = 'session' WHERE idempotency_key = 'e'": "another submission_scope",
    "UPDATE submissions SET scope_id = 'zeus' WHERE idempotency_key = 'same'": "another scope_id",
    "UPDATE submissions SET source_event_hash = NULL WHERE idempotency_key = 'old'": "another source_event_hash",
    "UPDATE submissions SET source_event_hash = NULL WHERE idempotency_key = 'a'": "commits to",
    "UPDATE submissions SET status = 200 WHERE idempotency_key = 'a'": "another status",
    "UPDATE submissions SET source_event_hash = NULL WHERE idempotency_key = 'e'": "another source_event_hash",
    "UPDATE submissions SET visibility = 'shareable' WHERE idempotency_key = 'a'": "visibility",
    "UPDATE submissions SET fingerprint = salt FROM log_leaves AS l WHERE l.id = 5 AND status = 201": "fingerprint",
    "UPDATE submissions SET keyed = 1 - keyed WHERE idempotency_key = 'b'": "another kind of answer",
    "UPDATE submissions SET duplicate_of = NULL WHERE idempotency_key = 'same'": "another duplicate_of",
    "UPDATE submissions SET proposal = proposal + 5 WHERE idempotency_key = 'same'": "another proposal_id",
    "UPDATE submissions SET reason_code = 'stale' WHERE idempotency_key = 'a'": "says reason_code stale",
    "UPDATE proposals SET proposal_id = 'x' WHERE withdrawn = 1": "commits to",
    "UPDATE proposals SET producer = (SELECT max(id) FROM producers) + 1 WHERE withdrawn = 1": "than its submission",
    "UPDATE proposals SET owner = 'eve' WHERE withdrawn = 1": "another owner",
    "UPDATE proposals SET scope_id = 'zeus' WHERE withdrawn = 1": "than its submission",
    "UPDATE proposals SET submission_scope = 'session' WHERE withdrawn = 1": "than its submission",
    "UPDATE proposals SET source_event_hash = salt FROM log_leaves AS l "
    "WHERE l.submission = 1 AND withdrawn = 1": "than its submission",
    "UPDATE proposals SET visibility = 'shareable' WHERE withdrawn = 1": "than its submission",
    "UPDATE proposals SET supersedes = '\"x\"' WHERE withdrawn = 1": "fingerprint",
    "UPDATE proposals SET derived_from = '[\"x\"]' WHERE withdrawn = 1": "fingerprint",
    "UPDATE proposals SET received_at = 1 WHERE withdrawn = 1": "than its submission",
    "UPDATE proposals SET state = 'approved' WHERE withdrawn = 1": "another state than",
    "UPDATE proposals SET state = 'rejected' WHERE state = 'approved'": "another state than",
    "UPDATE proposals SET version = version + 1 WHERE state = 'approved'": "another version than",
    "UPDATE proposals SET edited_payload = '{}' WHERE state = 'approved'": "another text than",
    "UPDATE proposals SET edited_payload = '{}' WHERE withdrawn = 1": "another text than",
    "UPDATE proposals SET begun = 1 WHERE withdrawn = 1": "another number of approvals",
    "UPDATE proposals SET second = 1 WHERE withdrawn = 1": "another need of a second person",
    "UPDATE proposals SET replaces = 1 WHERE withdrawn = 1": "another memory to supersede",
    "UPDATE proposals SET decided_at = 1 WHERE state = 'approved'": "another time of its decision",
    "UPDATE evidence SET owner = 'eve'": "another owner",
    "UPDATE evidence SET received_at = 1": "the evidence that it is",
    "UPDATE evidence SET producer = producer + 1": "the evidence that it is",
    "DELETE FROM evidence": "the evidence that it is",
    "UPDATE quarantine SET state = 'settled' WHERE keyed = 1": "from its decisions",
    "UPDATE quarantine SET scope_id = 'zeus' WHERE keyed = 0": "another scope_id than its answer",
    "UPDATE quarantine SET source_event_hash = fingerprint WHERE keyed = 0": "another source_event_hash than",
    "UPDATE quarantine SET answer = '{}' WHERE kind = 'private'": "differs from the submission",
    "UPDATE quarantine SET kind = 'conflict' WHERE kind = 'private'": "leaves for",
    "DELETE FROM quarantine WHERE kind = 'private'": "another quarantine_id",
    "UPDATE review_records SET person = 'eve'": "names another person",
    "UPDATE review_records SET proposal = (SELECT id FROM proposals WHERE withdrawn = 1)": "says subject",
    "UPDATE review_records SET shown_hash = 'x' WHERE decision = 'retract'": "another hash than its text",
    "UPDATE review_records SET resulting_hash = 'x' WHERE decision = 'approve'": "another hash than its text",
    "UPDATE review_records SET version = 7 WHERE decision = 'approve'": "commits to",
    "UPDATE review_records SET resulting_version = 7 WHERE decision = 'retract'": "another version than",
    "UPDATE review_records SET decision = 'expire' WHERE decision = 'retract'": "says action expire",
    "UPDATE review_records SET approvals_required = 1 WHERE approvals_required = 2": "fewer approvals than",
    "UPDATE review_records SET decided_at = 1 WHERE decision = 'retract'": "says time",
    "UPDATE memories SET scope_id = 'zeus'": "another scope than",
    "UPDATE memories SET submission_scope = 'session'": "another scope than",
    'UPDATE memories SET source_span = \'{"uri":"repo://x"}\'': "another source than",
    "UPDATE memories SET supersedes = '\"x\"'": "another claim than",
    "UPDATE memories SET derived_from = '[\"x\"]'": "another claim than",
    "UPDATE memories SET replaces = 1": "another admission than",
    "UPDATE memories SET version = 7": "another admission than",
    "UPDATE memories SET admitted_at = 1": "another admission than",
    "UPDATE memories SET text_hash = 'x'": "another admission than",
    "UPDATE memories SET state = 'active'": "another state than",
    "UPDATE memories SET payload = '{}'": "approvals of its text",
    "UPDATE memory_changes SET review_record = (SELECT max(id) FROM review_records) WHERE id = 1": "says subject",
    "UPDATE tokens SET name = 'worker:else' WHERE name = 'worker:other'": "token",
    "UPDATE tokens SET role = 'auditor' WHERE name = 'worker:other'": "another name, role, scope",
    "UPDATE tokens SET read = '[\"*:*\"]' WHERE name = 'notes'": "another name, role, scope",
    "UPDATE tokens SET expires_at = NULL WHERE name = 'notes'": "another name, role, scope",
    "UPDATE tokens SET digest = 'x' WHERE name = 'notes'": "another name, role, scope, expiry or secret",
    "UPDATE tokens SET created_at = 1 WHERE name = 'notes'": "says time",
    "DELETE FROM tokens WHERE name = 'notes'": "leaves for",
    "INSERT INTO tokens (token_id, name, role, read, digest, created_at) "
    "VALUES ('x', 'worker:x', 'reader', '[]', 'x', 1)": "has no leaf",
    "UPDATE users SET person = 'eve' WHERE name = 'bob'": "of another person",
    "UPDATE users SET password = 'x' WHERE name = 'bob'": "another password",
    "UPDATE users SET password = NULL WHERE name = 'pat'": "another password",
    "UPDATE users SET name = 'eve' WHERE name = 'gone'": "has no leaf",
    "UPDATE users SET disabled_at = NULL WHERE name = 'gone'": "leaves for",
    "INSERT INTO users (name, person, role, created_at) VALUES ('eve', 'eve', 'curator', 1)": "has no leaf",
    "UPDATE producers SET producer_identity = 'worker:x' WHERE producer_identity = 'worker:release-bot'": "says actor",
    "UPDATE direct_writes SET producer_identity = 'worker:x'": "has no leaf",
    "UPDATE exports SET actor = 'x'": "says actor",
    "UPDATE exports SET role = 'operator'": "says role",
    "UPDATE exports SET exported = 'log'": "says to",
    "UPDATE erasures SET reason_code = 'other'": "says reason_code",
    "UPDATE erasures SET retention = NULL WHERE retention IS NOT NULL": "says subject",
    "UPDATE retention_runs SET retention_id = 'another'": "says subject",
    "UPDATE retention_runs SET archive = 'another'": "says subject",
    "UPDATE retention_runs SET size = size + 1": "says subject",
    "UPDATE retention_runs SET items = items + 1": "says subject",
    "UPDATE retention_runs SET policy_digest = 'another'": "says policy_digest another",
    "UPDATE retention_runs SET begun_at = begun_at + 1000000": "says time",
    "DELETE FROM retention_runs": "leaves for",
    "UPDATE tally SET number = number + 1": "were counted",
    "UPDATE change_feed SET submission_scope = 'session'": "which is about something else",
    "UPDATE change_feed SET scope_id = 'zeus'": "which is about something else",
    "UPDATE change_feed SET sequence = sequence + 1 WHERE change = 'retracted'": "another change in the feed",
    "UPDATE change_feed SET memory = memory + 1000": "another change in the feed",
    "UPDATE change_feed SET change = 'expired' WHERE change = 'retracted'": "another change in the feed",
    "UPDATE change_feed SET changed_at = 1": "another change in the feed",
    "DELETE FROM change_feed WHERE change = 'retracted'": "another change in the feed",
    "UPDATE notes SET text = 'Rewritten.' WHERE kind = 'note'": "commits to",
    "UPDATE notes SET persons = '[\"eve\"]' WHERE kind = 'note'": "commits to",
    "UPDATE notes SET persons = '[\"bob\"]' WHERE kind = 'assignment'": "assigned to another person",
    "UPDATE notes SET kind = 'note' WHERE kind = 'answer'": "says action note",
    "UPDATE notes SET person = 'eve' WHERE kind = 'note'": "names another person",
    "UPDATE notes SET producer = producer + 1 WHERE kind = 'answer'": "written by another producer",
    "UPDATE notes SET question = id WHERE kind = 'answer'": "answers no question",
    "UPDATE notes SET proposal = (SELECT min(id) FROM proposals) WHERE kind = 'question'": "says subject",
    "UPDATE notes SET policy_digest = 'another' WHERE kind = 'note'": "says policy_digest another",
    "UPDATE notes SET written_at = 1 WHERE kind = 'note'": "says time",
    "UPDATE notes SET note_id = 'another' WHERE id = 1": "has 0 leaves",
    "DELETE FROM notes WHERE kind = 'assignment'": "leaves for",
    "UPDATE open_questions SET question = (SELECT min(id) FROM notes WHERE kind = 'note')": "do not wait for",
    "UPDATE attention SET person = 'eve' WHERE cause = 'assigned'": "assigned to another person",
    "UPDATE review_records SET self_edit = 1 WHERE decision = 'approve'": "commits to",
    "UPDATE review_records SET self_edit = 1 WHERE decision = 'retract'": "lets a person approve alone",
    "UPDATE derivations SET memory_id = 'm3' WHERE memory_id = 'm2'": "derived from other memories",
    "UPDATE derivations SET proposal = proposal + 1000": "derived from other memories",
    "DELETE FROM derivations WHERE memory_id = 'm2'": "derived from other memories",
    "INSERT INTO derivations (memory_id, proposal) VALUES ('m1', 1)": "derived from other memories",
    "UPDATE proposals SET derived_from = 'garbage' WHERE derived_from IS NOT NULL": "derived from other memories",
    "UPDATE webhooks SET webhook_id = 'x'": "add-webhook of x has no leaf",
    "UPDATE webhooks SET url = 'https://hooks.example.org/'": "another URL or other events",
    "UPDATE webhooks SET events = '[]'": "another URL or other events",
    "UPDATE webhooks SET events = 'garbage'": "another URL or other events",
    "UPDATE webhooks SET allow_private = 0": "another URL or other events",
    "UPDATE webhooks SET created_at = created_at + 1000000": "says time",
    "UPDATE webhooks SET removed_at = NULL": "leaves for",
    "UPDATE webhook_replays SET replay_id = 'x'": "replay-webhook of x has no leaf",
    "UPDATE webhook_replays SET webhook = webhook + 1": "another webhook or sequence",
    "UPDATE webhook_replays SET sequence = 0": "another webhook or sequence",
    "UPDATE webhook_replays SET replayed_at = replayed_at + 1000000": "says time",
    "DELETE FROM webhook_replays": "leaves for",
    "UPDATE review_dates SET review_date_id = 'x'": "has 0 leaves",
    "UPDATE review_dates SET proposal = (SELECT min(id) FROM proposals)": "says subject",
    "UPDATE review_dates SET review_after = review_after - 1": "commits to",
    "UPDATE review_dates SET review_after = NULL": "says to none",
    "UPDATE review_dates SET curator = (SELECT id FROM users WHERE name = 'bob')": "says actor bob",
    "UPDATE review_dates SET person = 'eve'": "names another person",
    "UPDATE review_dates SET policy_digest = 'another'": "says policy_digest another",
    "UPDATE review_dates SET set_at = 1": "says time",
    "DELETE FROM review_dates": "leaves for",
    "UPDATE upkeep SET active = 1 - active": "comes up for review by another state or date",
    "UPDATE upkeep SET review_after = 1": "comes up for review by another state or date",
    "UPDATE upkeep SET memory = memory + 1000": "comes up for review by another state or date",
    "UPDATE blind_items SET blind_item_id = 'x' WHERE id = 1": "has 0 leaves",
    "UPDATE blind_items SET kind = 'second-look'": "says actor service",
    "UPDATE blind_items SET proposal = proposal + 1000": "has a submission, review record",
    "UPDATE blind_items SET record = NULL": "commits to",
    "UPDATE blind_items SET verdict = 'reject'": "commits to",
    "UPDATE blind_items SET explanation = 'Another.'": "commits to",
    "UPDATE blind_items SET policy_digest = 'another'": "says policy_digest another",
    "UPDATE blind_items SET added_at = 1": "says time",
    "UPDATE blind_decisions SET blind_decision_id = 'x'": "has 0 leaves",
    "UPDATE blind_decisions SET item = item + 1": "another state than its decision",
    "UPDATE blind_decisions SET decision = 'approve'": "commits to",
    "UPDATE blind_decisions SET reason_code = 'other'": "commits to",
    "UPDATE blind_decisions SET warned = 1 - warned": "commits to",
    "UPDATE blind_decisions SET curator = curator + 1": "says actor",
    "UPDATE blind_decisions SET person = 'eve'": "commits to",
    "UPDATE blind_decisions SET policy_digest = 'another'": "says policy_digest another",
    "UPDATE blind_decisions SET decided_at = 1": "says time",
    "DELETE FROM blind_decisions": "leaves for",
    "UPDATE proposals SET state = 'approved' WHERE id = (SELECT min(proposal) FROM blind_items)": "another state",
}
"""Alterations by an owner of the database who switches its guards off, and the doctor's finding for each."""


@pytest.fixture(scope="module")
def worked(lasting_place: Location) -> Location:
    """A location with one of every operation, whose service has ended."""
    return fill(lasting_place, busy)


@pytest.fixture
def copied(worked: Location, copy: Callable[[Location], AbstractContextManager[Location]]) -> Iterator[Location]:
    """A copy of the location, to be altered."""
    with copy(worked) as location:
        yield location


@pytest.fixture(scope="module")
def unguarded(worked: Location, request: pytest.FixtureRequest) -> Iterator[Location]:
    """The location, on PostgreSQL a copy without constraints and triggers: removing them takes longer than a test."""
    if worked.database_url is None:
        yield worked
        return
    databases: Databases = request.getfixturevalue("postgres")
    made = Location(data=worked.data, database_url=databases.fresh(worked.database_url))
    with database(made) as raw:
        remove_guards(raw)
    yield made
    databases.drop(made.database_url or "")


def remove_guards(raw: Any) -> None:
    """Switch off all triggers of PostgreSQL that are on, and drop the constraints of values and foreign keys."""
    on = "SELECT DISTINCT tgrelid::regclass FROM pg_trigger WHERE tgenabled <> 'D' AND NOT tgisinternal"
    for (table,) in raw.execute(on).fetchall():
        raw.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    guards = "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype IN ('f', 'c') AND connamespace = "
    for table, name in raw.execute(f"{guards} 'antechamber'::regnamespace").fetchall():
        raw.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')


def alter(copied: Location, statement: str) -> list[str]:
    """Run a statement behind the log's back, without constraints and triggers; return what the doctor finds."""
    with database(copied) as raw:
        triggers: dict[str, str] = {}
        if copied.database_url:
            remove_guards(raw)
        else:
            raw.execute("PRAGMA foreign_keys = OFF")
            raw.execute("PRAGMA ignore_check_constraints = ON")
            guards = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            triggers = dict(raw.execute(guards).fetchall())
            for name in triggers:
                raw.execute(f"DROP TRIGGER {name}")
        raw.execute(statement)
        for text in triggers.values():
            raw.execute(text)
    return [line for line in checked(copied) if "switched off" not in line]


@pytest.mark.parametrize("statement", TAMPERED)
def test_the_doctor_names_what_was_altered(
    unguarded: Location, copy: Callable[[Location], AbstractContextManager[Location]], statement: str
) -> None:
    """The doctor names every alteration made behind the log's back."""
    with copy(unguarded) as copied:
        found = alter(copied, statement)
    assert any(TAMPERED[statement] in line for line in found), found


ROLES_TAMPERED = {
    "UPDATE role_changes SET role = 'auditor' WHERE previous = 'curator'": "change-role of bob says to auditor",
    "UPDATE role_changes SET previous = 'auditor' WHERE previous = 'curator'": "add-user of bob says to auditor",
    "UPDATE role_changes SET \"user\" = (SELECT id FROM users WHERE name = 'gone')": "role",
    "UPDATE role_changes SET changed_at = 1": "says time",
}
"""Alterations of the record of roles, each with a part of the finding."""


@pytest.mark.parametrize("statement", ROLES_TAMPERED)
def test_the_doctor_names_an_altered_change_of_a_role(copied: Location, statement: str) -> None:
    """Each column of the record of roles is compared with the leaves of its user."""

    def change(tx: Rows) -> None:
        for number, role in enumerate(("operator", "auditor")):
            user = tx.access.user("bob")
            assert user is not None
            tx.access.set_role(user, role, 1_800_000_000_000_000 + number, "provider:acme")

    with contextlib.closing(open_store(copied)) as store:
        store.write(change).result()
    assert checked(copied) == []
    found = alter(copied, statement)
    assert any(ROLES_TAMPERED[statement] in line for line in found), found


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log_leaves SET leaf = '{}'",
        "UPDATE log_leaves SET subject = 'x'",
        "UPDATE log_leaves SET submission = 1, subject = NULL",
        "UPDATE log_leaves SET id = id + 10",
        "UPDATE log_leaves SET salt = X'00'",
        "DELETE FROM log_leaves",
        "INSERT INTO log_leaves (id, leaf, subject) VALUES (0, '{}', 'x')",
    ],
)
def test_what_is_logged_stays(location: Location, store: Store, statement: str) -> None:
    """A raw connection cannot change or delete a leaf; only a salt may be removed."""
    store.write(lambda tx: tx.sql.append_leaves([LeafWrite(b"{}", "a", bytes(32))])).result()
    with database(location) as raw:
        if location.database_url:
            statement = statement.replace("X'00'", "'x'::bytea")
        with pytest.raises((sqlite3.Error, psycopg.Error), match=r"append-only|unique"):
            raw.execute(statement)
    with database(location) as raw:
        raw.execute("UPDATE log_leaves SET salt = NULL")
    assert leaves(location)[0]["salt"] is None


UNNOTICED = {
    "meta.*": "a wrong secret_check keeps the service from starting; the rest is not relied on",
    "processes.*": "signs of life, seconds old",
    "folds.rank": "the order of the queue, by the rules of the time of sorting",
    "folds.turn": "the order of the queue",
    "folds.marks": "what a filter looks for; the page of the proposal looks for its warnings itself",
    "claims.*": "a courtesy with an end",
    "tally.*": "the sums are compared; the hours are figures",
    "replays.*": "figures",
    "daily_counts.*": "figures",
    "daily_attempts.*": "figures",
    "sign_in_failures.*": "slows guessing down, and is forgotten within minutes",
    "proposals.source": "groups items of the queue; what is decided on is the proposal",
    "proposals.contradicts": "a mark in the queue; the page of the proposal looks for the contradiction itself",
    "proposals.observed_at": "what the producer claimed, shown and nowhere compared",
    "submissions.channel": "what the client claimed, a figure",
    "submissions.replays": "a figure",
    "quarantine.visibility": "what the producer claimed; of a private event compared with its submission",
    "quarantine.supersedes": "what the producer claimed",
    "quarantine.derived_from": "what the producer claimed",
    "quarantine.fingerprint": "another one lets the same event be refused once more; of a private event it is compared",
    "quarantine.policy_digest": "compared with the leaf, as that of a submission",
    "quarantine.received_at": "compared with the leaf, as that of a submission",
    "review_records.decision_key": "another one lets a form be sent twice, which its version refuses",
    "review_records.target": "compared with the memory that the decision admitted",
    "tokens.last_used_at": "a figure",
    "tokens.token_id": "its leaf is not found under another one, as that of a name",
    "users.shortcuts": "a preference",
    "users.views": "a preference",
    "users.dense": "a preference",
    "users.created_at": "compared with the leaf, as that of a token",
    "webhooks.state": "a disabled endpoint gets nothing until a replay, as its list says",
    "webhooks.next_sequence": "how far the delivery got; another one sends events again, or skips some",
    "webhooks.last_alarm": "as the next sequence",
    "webhooks.version": "another one voids the delivery under way, which begins again",
    "webhooks.attempts": "decides how long the delivery waits",
    "webhooks.next_at": "decides when the delivery is tried next",
    "webhooks.failing_since": "shown in the list, as the last error",
    "webhooks.last_error": "shown in the list",
    "webhooks.delivered": "a figure",
    "webhooks.delivered_at": "a figure",
    "webhooks.holder": "which process delivers, until its time ends",
    "webhooks.held_until": "as the holder",
    "blind_decisions.decision_key": "another one lets a form be sent twice, which its item refuses",
    "screen_times.*": "figures, kept for some days",
    "raised_alarms.*": "alarms are not in the log, because one may be that the log cannot be written",
    "links.used_at": "a used link works once more until it ends, within 15 minutes",
    "links.user": "proven together with the rest of the row, as that of a session",
    "links.digest": "proven together with the rest of the row, as that of a session",
    "log_leaves.salt": "the test above takes all of them away",
    "links.proof": "lets the link be named, as each column that it proves",
    "links.logged": "leaves without their change are counted",
    "sessions.seen_at": "an idle session works until it reaches the age that the policy sets",
    "sessions.ended_at": "as above",
    "sessions.confirmed_at": "decides when a sensitive action asks for the password again",
    "sessions.proof": "lets the session be named, as each column that it proves",
    "sessions.logged": "leaves without their change are counted",
    "sessions.provider": "decides where a sensitive action asks who it is; the identity there is proven",
    "identities.*": "proven together, as a session; tests/web/test_providers.py plants one",
    "finished_sign_ins.*": "of sign-ins that ended; one works once more until its ticket ends, within 10 minutes",
    "checkpoints.signed_at": "decides when the log is signed next",
    "log_keys.added_at": "compared with the leaf, as the time of a token",
    "log_leaves.id": "a gap is named, as a leaf that is missing",
    "log_nodes.level": "formed anew from the leaves",
    "log_nodes.number": "formed anew from the leaves",
    "log_nodes.hash": "formed anew from the leaves; tests/web.test_checkpoints.py alters one",
    "policy_changes.policy_digest": "compared with the text",
    "policy_changes.changed_at": "compared with the leaf, as the time of a token",
    "direct_writes.asked_at": "compared with the leaf and with the hour",
    "exports.export_id": "its leaf is not found under another one",
    "exports.format": "committed to, as the filters",
    "erasures.erasure_id": "its leaf is not found under another one",
    "erasures.quarantine": "as that of a proposal",
    "erasures.erased_at": "compared with the leaf, as the time of a token",
    "review_records.review_record_id": "its leaf is not found under another one",
    "review_records.quarantine": "as that of a proposal",
    "review_records.curator": "compared with the leaf",
    "review_records.shown": "committed to, as the reason",
    "review_records.resulting": "committed to, as the reason",
    "review_records.undoes": "compared with the leaf, as the proposal",
    "review_records.policy_digest": "compared with the leaf",
    "memories.memory_id": "its leaf is not found under another one",
    "memories.proposal": "compared with the review record, as the version",
    "memories.review_record": "compared with the leaf of the first change and with the version",
    "memory_changes.memory": "compared with the leaf",
    "memory_changes.state": "compared with the leaf and with the memory",
    "submissions.submission_id": "its leaf is not found under another one",
    "quarantine.quarantine_id": "its leaf is not found under another one",
    "quarantine.submission": "compared with the answer",
    "quarantine.producer": "compared with the leaf and the submission",
    "quarantine.keyed": "what is private keeps no text, which a constraint holds",
    "quarantine.submission_scope": "compared with the answer, as the scope id",
    "quarantine.source_span": "committed to, as the payload",
    "sealed_events.quarantine": "bound to the ciphertext, which cannot be decrypted for another event",
    "sealed_events.ciphertext": "authenticated by its key, as tests/test_event_vault.py shows",
    "sealed_events.wrapped_key": "authenticated by the key of the file, as the ciphertext",
    "sealed_events.key_check": "with another one the event cannot be read, and expires",
    "sealed_events.expires_at": "decides when the text is destroyed",
    "sealed_events.ended_at": "tests/store/test_sealed_events.py alters it",
    "sealed_events.expired": "compared with the leaf, as the time of the end",
    "reveals.*": "tests/store/test_sealed_events.py alters some; the leaf commits to or names the others",
    "proposals.redacted_by": "tests/store/test_sealed_events.py alters it",
    "notes.curator": "compared with the leaf",
    "notes.note_key": "another one lets a note be written twice, which changes nothing",
    "open_questions.proposal": "compared with the notes, as the question",
    "attention.proposal": "compared with the notes, as the person",
    "review_dates.decision_key": "another one lets a form be sent twice, which names the date before",
    "upkeep.idle_since": "a figure, which decides when a memory is listed",
    "upkeep.last_read_at": "a figure",
    "memory_reads.*": "figures",
    "attention.cause": "a hint in the queue; an assignment is compared with the notes",
    "evidence.proposal": "compared with the submission, as the producer",
    "evidence.submission": "compared with the submission, as the producer",
}
"""Columns without an alteration of their own above, each with the reason."""


def test_each_column_is_altered_or_has_its_reason(tmp_path: Path) -> None:
    """Every column is either among the alterations above or listed with a reason."""
    location = Location(data=tmp_path / "data")
    open_store(location).close()
    missing = []
    with database(location) as raw:
        tables = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        own = [name for (name,) in tables if not name.startswith(("memories_search", "search_", "_sqlite", "sqlite_"))]
        for table in own:
            for row in raw.execute(f"PRAGMA table_info({table})").fetchall():
                changed = re.compile(rf"UPDATE {table} SET \"?{row[1]}\"? =")
                named = {f"{table}.*", f"{table}.{row[1]}"} & UNNOTICED.keys()
                internal = row[1] == "id" and table != "log_leaves"
                if not (internal or named or any(map(changed.match, [*TAMPERED, *PLANTED, *ROLES_TAMPERED]))):
                    missing.append(f"{table}.{row[1]}")
    assert missing == []


PLANTED = {
    "INSERT INTO sessions (digest, \"user\", created_at, seen_at, proof) SELECT 'x', 1, 1, 1, ''": "session x",
    "UPDATE sessions SET created_at = created_at + 1": "session",
    "UPDATE sessions SET digest = 'y'": "session y",
    'UPDATE sessions SET "user" = (SELECT min(u.id) FROM users AS u WHERE u.id <> sessions."user")': "session",
    "INSERT INTO links (digest, \"user\", expires_at, proof) SELECT 'z', min(id), 1, '' FROM users": "link z",
    "UPDATE links SET expires_at = expires_at + 1": "link",
}
"""Forged or prolonged sign-ins."""


@pytest.mark.parametrize("statement", PLANTED)
def test_the_doctor_names_planted_sign_ins(copied: Location, statement: str) -> None:
    """The doctor names planted sign-ins: their proofs are keyed with a secret outside the database."""
    assert examine(copied) == []
    with database(copied) as raw:
        raw.execute("DELETE FROM sessions WHERE digest <> (SELECT min(digest) FROM sessions)")
        raw.execute(statement)
    assert [line for line in examine(copied) if line.startswith(PLANTED[statement])]


def test_a_planted_session_or_link_lets_no_one_in(service: Service) -> None:
    """A planted session or link grants no access, even if its secret is known to the attacker."""
    service.sign_in()
    access = service.state.access
    link, session = mint("link", bytes(24)), mint("session", bytes(24))
    with database(service.location) as raw:
        (user,) = raw.execute("SELECT id FROM users").fetchone()
        later = access.sessions._clock() + 1_000_000_000
        raw.execute(
            'INSERT INTO links (digest, "user", expires_at, proof) '
            f"VALUES ('{digest_secret(link)}', {user}, {later}, '')"
        )
        raw.execute(
            'INSERT INTO sessions (digest, "user", created_at, seen_at, proof) '
            f"VALUES ('{digest_secret(session)}', {user}, {later - 2_000_000}, {later - 2_000_000}, 'x')"
        )
    assert access.sign_in.consume_link(link) is None
    assert access.sessions.account(session) is None


def settled(desk: Desk, quarantine_id: str, decision: str) -> int:
    """Decide on a quarantined event and return the status."""
    text = desk.browser.get(f"/quarantine/{quarantine_id}").text
    form = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key|undoes)" value="([^"]*)"', text))
    reason = {"reason_code": "other", "reason_text": "again"}
    return desk.post(f"/quarantine/{quarantine_id}/{decision}", form | reason).status_code


@pytest.mark.parametrize("seed", range(3))
def test_the_doctor_finds_nothing_wrong_with_what_curators_do(service: Service, seed: int) -> None:
    """The doctor finds no fault after random decisions by two curators, amid retries that turn out private."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable by its seed
    scopes = [("project", "apollo"), ("project", "apollo"), ("organization", "labs")]
    proposals: list[str] = []
    bodies, refused = [], []
    for number in range(9):
        scope, scope_id = scopes[number % 3]
        body = event(f"Number {number}.", idempotency_key=f"k{number}", submission_scope=scope, scope_id=scope_id)
        bodies.append(body)
        proposals.append(service.submit(body).json()["proposal_id"])
        if number % 4 == 0:
            other = event(f"Another {number}.", idempotency_key=f"k{number}")
            refused.append(service.submit(other).json()["quarantine_id"])
    desks = [service.sign_in("bob"), service.sign_in("pia")]
    kinds = (
        "approve",
        "approve",
        "approve",
        "edit",
        "supersede",
        "reject",
        "merge",
        "flag",
        "undo",
        "retract",
        "expire",
    )
    done = Counter[str]()
    for step in range(90):
        desk, kind, proposal = chance.choice(desks), chance.choice(kinds), chance.choice(proposals)
        memories = service.recall()
        fields = {"reason_code": "other", "reason_text": "why"}
        if kind == "edit":
            fields["content"] = f"Edited at {step}."
        if memories and kind in {"supersede", "merge", "edit"}:
            fields["supersedes" if kind == "edit" else "target"] = chance.choice(memories)["memory_id"]
        done[kind] += desk.decide(proposal, kind, **fields).status_code == 303
        if step % 30 == 29:
            service.submit(chance.choice(bodies) | {"visibility": "private"})
        if step % 6 == 0:
            decision = chance.choice(["keep", "open", "dismiss", "undo"])
            done[decision] += settled(desk, chance.choice(refused), decision) == 303
    assert len(+done) >= 8, done
    assert checked(service.location) == []

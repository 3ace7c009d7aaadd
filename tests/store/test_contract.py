"""The store contract: what every engine does behind core.ports.Store."""

import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from antechamber.core.access.callers import Account, PasswordChange
from antechamber.core.admission.canonical import canonical
from antechamber.core.admission.disposition import (
    AdmissionWrite,
    Candidate,
    Judgement,
    Known,
    SealWrite,
    decide,
    make_candidate,
)
from antechamber.core.admission.receipt import answer_of
from antechamber.core.admission.submission import Draft, read_event
from antechamber.core.errors import StaleDecisionError, UnavailableError
from antechamber.core.policy import Limits, Verdict
from antechamber.core.ports.admission import ReplayKey
from antechamber.core.ports.store import Rows, Store
from antechamber.core.privacy import Finding
from antechamber.core.review import decision as review_decision
from antechamber.core.review.decision import Decision, ReviewedProposal, rule, text_hash
from antechamber.core.rows.access import TokenRow, UserRow
from antechamber.core.rows.memories import MemoryFilter, MemoryPlace
from antechamber.core.rows.review import AuditFilter, ProposalRow
from antechamber.flows.answer_question import answer_question
from support import HANG_SECONDS, event

SECRET = bytes(32)
VERDICT = Verdict(reasons=[], owner="ada", policy_digest="policy", limits=Limits())
_numbers = itertools.count(1)


def candidate_of(content: str = "Run the migration first.", *findings: Finding, **members: Any) -> Candidate:
    """Return a candidate for a fresh event."""
    body = event(content, **members)
    submission = read_event(Draft(body=body, idempotency_key=body["idempotency_key"]))
    return make_candidate(submission, list(findings), SECRET, VERDICT)


def admit(store: Store, one: Candidate) -> tuple[Judgement, AdmissionWrite]:
    """Judge and write a candidate in one transaction, as the admission flow does."""

    def work(tx: Rows) -> tuple[Judgement, AdmissionWrite]:
        book = tx.admission.open_batch([one])
        judgement = decide(one, book.known(one))
        number = next(_numbers)
        write = AdmissionWrite(
            candidate=msgspec.structs.replace(one, received_at=number),
            judgement=judgement,
            submission_id=judgement.original.submission_id if judgement.original else f"s{number}",
            proposal_id=f"p{number}" if judgement.propose else None,
            quarantine_id=f"q{number}" if judgement.quarantine else None,
        )
        if judgement.replay is None:
            write.receipt = msgspec.json.encode(answer_of(write))
            book.enter(write)
            tx.admission.record(book)
        return judgement, write

    return store.write(work).result()


def curator(store: Store, name: str = "bob") -> Account:
    """Return a curator with an account."""
    user = UserRow(id=0, name=name, person=name, role="curator", password=None, created_at=1, disabled_at=None)
    store.write(lambda tx: tx.access.add_user(user)).result()
    with store.read() as tx:
        known = tx.access.user(name)
    assert known
    return Account(id=known.id, name=name, person=name, role="curator", session="")


def found(store: Store, proposal_id: str | None) -> ProposalRow:
    """Return an existing proposal."""
    with store.read() as tx:
        proposal = tx.review.proposal(proposal_id or "")
    assert proposal
    return proposal


def approve(store: Store, proposal: ProposalRow, account: Account) -> str:
    """Approve a proposal in the version that was read and return the memory's id."""
    text = canonical(proposal.payload)
    reviewed = ReviewedProposal(
        state=proposal.state,
        version=proposal.version,
        payload=proposal.payload,
        owners=frozenset({proposal.owner}),
        edited=False,
        withdrawn=False,
        approvals=[],
        curators=1,
    )
    number = next(_numbers)
    decision = Decision(
        kind="approve", version=proposal.version, shown_hash=text_hash(text), decision_key=f"key-{number}"
    )
    entry = review_decision.DecisionWrite(
        decision=decision,
        ruling=rule(reviewed, decision, account.person),
        review_record_id=f"r{number}",
        memory_id=f"m{number}",
        policy_digest="policy",
        decided_at=number,
    )
    store.promote(lambda tx: tx.review.decide(proposal, account, entry)).result()
    return entry.memory_id


def remembered(store: Store, *words: str) -> list[str]:
    """Return the contents of project:apollo that match all words."""
    scopes = [("project", "apollo")]
    with store.read() as tx:
        if words:
            asked = " ".join(words)
            found = [hit.id for hit in answer_question(tx, scopes, asked, every_word=True, after=None, number=100)]
        else:
            found = tx.memories.newest(scopes, None, 100)
        return [hit.payload["content"] for hit in tx.memories.items(found)]


def test_a_candidate_is_unknown_until_it_is_recorded(store: Store) -> None:
    """A candidate is unknown until it is recorded, and recording it makes exactly its own facts known."""
    one = candidate_of()
    with store.read() as tx:
        assert tx.admission.open_batch([one]).known(one) == Known()
    admit(store, one)
    with store.read() as tx:
        known = tx.admission.open_batch([one]).known(one).submission
    assert known
    assert (known.disposition, known.keyed, known.proposal_state) == ("accepted-for-review", False, "pending")


def test_the_same_content_of_another_producer_is_evidence(store: Store) -> None:
    """A second producer's submission becomes evidence; a repeated one by the first producer does not."""
    admit(store, candidate_of("Seen twice."))
    other, _ = admit(store, candidate_of("Seen twice.", producer_identity="tool:watcher"))
    again, _ = admit(store, candidate_of("Seen twice."))
    assert (other.evidence, again.evidence) == (True, False)
    assert again.proposal
    assert again.proposal.own_submission_id
    with store.read() as tx:
        (row,) = tx.queue.page(None, 10)
        evidence = tx.review.evidence(found(store, row.proposal_id).id)
    assert [seen.producer_identity for seen in evidence] == ["tool:watcher"]


def test_a_conflict_is_kept_once_with_its_original(store: Store) -> None:
    """A conflict is quarantined once beside the original, however often it is submitted."""
    admit(store, candidate_of("First.", idempotency_key="one"))
    for _ in range(2):
        judgement, _ = admit(store, candidate_of("Second.", idempotency_key="one"))
    assert judgement.replay
    with store.read() as tx:
        (row,) = tx.quarantine.waiting(None, 10)
        assert tx.quarantine.count(10) == 1
    assert row.payload
    assert row.original_payload
    assert (row.payload["content"], row.original_payload["content"]) == ("Second.", "First.")


def test_of_a_private_event_only_the_findings_are_kept(store: Store) -> None:
    """Of a private event neither text nor hash is stored, and its key is still recognized."""
    one = candidate_of("Ask her.", Finding("/payload/content", "email-address"))
    admit(store, one)
    judgement, _ = admit(store, one)
    assert judgement.replay
    with store.read() as tx:
        (row,) = tx.quarantine.waiting(None, 10)
    assert (row.kind, row.payload, row.findings) == ("private", None, one.findings)


def test_a_sealed_key_is_known(store: Store) -> None:
    """A sealed key binds only its own producer."""
    seal = SealWrite(
        producer_identity="worker:release-bot",
        idempotency_key="sealed",
        submission_id="s",
        receipt=b"{}",
        policy_digest="policy",
        sealed_at=1,
    )
    store.write(lambda tx: tx.admission.seal(seal)).result()
    with store.read() as tx:
        assert tx.admission.known_key("worker:release-bot", "sealed")
        assert tx.admission.known_key("tool:watcher", "sealed") is None
    judgement, _ = admit(store, candidate_of(idempotency_key="sealed"))
    assert judgement.outcome.title == "Key sealed"


def test_many_threads_share_commits_and_lose_nothing(store: Store) -> None:
    """Two hundred admissions from sixteen threads become two hundred submissions in the order of their answers."""
    candidates = [candidate_of(f"Sentence {number}.") for number in range(200)]
    with ThreadPoolExecutor(16) as pool:
        judgements = [judgement for judgement, _ in pool.map(lambda one: admit(store, one), candidates)]
    assert all(judgement.propose for judgement in judgements)
    with store.read() as tx:
        assert tx.queue.count_pending(1000) == 200
        assert tx.reports.totals()["accepted-for-review"] == 200


def test_work_that_fails_spoils_only_itself(store: Store) -> None:
    """When work of one group commit raises, only its own changes are undone."""
    gate = threading.Event()
    held = store.write(lambda _rows: gate.wait(HANG_SECONDS))

    def broken(tx: Rows) -> None:
        tx.reports.set_meta("broken", "half")
        raise ZeroDivisionError

    futures: list[Future[Any]] = [store.write(lambda tx: tx.reports.set_meta("before", "kept"))]
    spoiled = store.write(broken)
    futures.append(store.write(lambda tx: tx.reports.set_meta("after", "kept")))
    gate.set()
    assert held.result()
    for future in futures:
        future.result()
    with pytest.raises(ZeroDivisionError):
        spoiled.result()
    with store.read() as tx:
        assert [tx.reports.meta(name) for name in ("before", "broken", "after")] == ["kept", None, "kept"]


def test_a_producer_of_an_undone_transaction_is_not_taken_for_known(store: Store) -> None:
    """A producer looked up in a transaction that was rolled back is not cached as known."""

    def spoiled(tx: Rows) -> None:
        for content in ("x", "y"):
            one = candidate_of(content, producer_identity="worker:new")
            book = tx.admission.open_batch([one])
            judgement = decide(one, book.known(one))
            ids = {"submission_id": f"undone-{content}", "proposal_id": f"undone-{content}"}
            book.enter(
                AdmissionWrite(
                    candidate=msgspec.structs.replace(one, received_at=1), judgement=judgement, receipt=b"{}", **ids
                )
            )
            tx.admission.record(book)
        raise LookupError

    with pytest.raises(LookupError):
        store.write(spoiled).result()
    judgement, _ = admit(store, candidate_of("x", producer_identity="worker:new"))
    assert judgement.propose
    with store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_a_reader_sees_one_snapshot(store: Store) -> None:
    """Rows written while a snapshot is open do not appear in it."""
    with store.read() as tx:
        assert tx.reports.meta("name") is None
        store.write(lambda writing: writing.reports.set_meta("name", "value")).result()
        assert tx.reports.meta("name") is None
    with store.read() as tx:
        assert tx.reports.meta("name") == "value"


def test_a_snapshot_cannot_write(store: Store) -> None:
    """A snapshot refuses every write."""
    with pytest.raises(UnavailableError), store.read() as tx:
        tx.reports.set_meta("name", "value")
    with store.read() as tx:
        assert tx.reports.meta("name") is None


def test_many_snapshots_may_be_open_at_once(store: Store) -> None:
    """More snapshots than pooled connections can be open at once, and all are released."""
    snapshots = [store.read() for _ in range(10)]
    assert [snapshot.__enter__().reports.meta("name") for snapshot in snapshots] == [None] * 10
    for snapshot in snapshots:
        snapshot.__exit__(None, None, None)
    with store.read() as tx:
        assert tx.reports.meta("name") is None


def test_closing_finishes_what_was_accepted(store: Store) -> None:
    """Work queued before closing is on disk afterwards; later work is refused."""
    gate = threading.Event()
    first = store.write(lambda _rows: gate.wait(10))
    second = store.write(lambda tx: tx.reports.set_meta("late", "kept"))
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.set()
    closing.join(10)
    assert first.result()
    second.result()
    with pytest.raises(UnavailableError):
        store.write(lambda tx: tx.reports.set_meta("later", "lost"))
    store.close()


def test_an_approval_makes_a_memory_that_is_found_by_its_words(store: Store) -> None:
    """All words must match, case and accents are ignored, and no part of a query acts as an operator."""
    bob = curator(store)
    for text in ("Größe of the café", "Don't stop the C++ build"):
        _, named = admit(store, candidate_of(text))
        approve(store, found(store, named.proposal_id), bob)
    assert remembered(store) == ["Don't stop the C++ build", "Größe of the café"]
    assert remembered(store, "CAFE", "größe") == ["Größe of the café"]
    assert remembered(store, "don't", "c++") == ["Don't stop the C++ build"]
    _, named = admit(store, candidate_of("Ελλάς, Straße, й"))
    approve(store, found(store, named.proposal_id), bob)
    assert remembered(store, "ΕΛΛΑΣ", "STRASSE", "и") == ["Ελλάς, Straße, й"]
    for words in (("café", "build"), ("OR",), ('"',), ("*",), ("NEAR(",), ("content:café",), ("-café", "stop")):
        assert remembered(store, *words) == []


def test_words_are_found_whatever_they_are_made_of(store: Store) -> None:
    """Scripts without spaces, long words, numbers and symbols are all searchable, without false matches."""
    bob = curator(store)
    long = "a" * 300
    texts = ["数据库在部署前迁移", f"The key is {long}.", "snake_case v2.10 ①", "naïve Ångström ﬁle", "ตรวจสอบก่อน"]
    for text in texts:
        _, named = admit(store, candidate_of(text))
        approve(store, found(store, named.proposal_id), bob)
    expected = {
        ("部署",): 0,
        ("数据", "迁移"): 0,
        (long,): 1,
        ("a" * 255,): 1,
        ("snake",): 2,
        ("SNAKE_CASE",): 2,
        ("v2.10",): 2,
        ("1",): 2,
        ("naive", "angstrom", "FILE"): 3,
        ("ก่อน",): 4,
    }
    for words, number in expected.items():
        assert remembered(store, *words) == [texts[number]], words
    for words in (("a" * 253,), ("case2",), ("部署后",), ("_",), ("&", "|"), ("snake", "部"), ("!snake",) * 2 + ("x",)):
        assert remembered(store, *words) == [], words
    with store.read() as tx:
        assert tx.review.browse_memories(MemoryFilter(words=["?!"]), None, 10) == []


def test_pages_of_memories_follow_one_another(store: Store) -> None:
    """Each page of memories begins where the previous one ended, within its own scope."""
    bob = curator(store)
    ids = [approve(store, found(store, admit(store, candidate_of(f"Fact {n}."))[1].proposal_id), bob) for n in range(3)]
    with store.read() as tx:
        (newest,) = tx.memories.items(tx.memories.newest([("project", "apollo")], None, 1))
        place = tx.memories.place(newest.memory_id)
        assert place == MemoryPlace(id=newest.id, submission_scope="project", scope_id="apollo")
        rest = tx.memories.items(tx.memories.newest([("project", "apollo"), ("project", "gemini")], newest.id, 10))
        assert tx.memories.newest([("project", "gemini")], None, 1) == tx.memories.items([]) == []
        assert tx.memories.place("unknown") is None
        browsed = tx.review.browse_memories(MemoryFilter(words=["fact"]), newest.memory_id, 10)
    assert [newest.memory_id, *(hit.memory_id for hit in rest)] == ids[::-1]
    assert [hit.memory_id for hit in browsed] == ids[-2::-1]


def test_of_two_decisions_on_one_version_the_second_is_stale(store: Store) -> None:
    """Of two decisions on one version the second is stale and writes nothing, not even its record."""
    _, named = admit(store, candidate_of())
    seen = found(store, named.proposal_id)
    approve(store, seen, curator(store))
    with pytest.raises(StaleDecisionError):
        approve(store, seen, curator(store, "cleo"))
    with store.read() as tx:
        assert [record.person for record in tx.review.records(seen.id)] == ["bob"]


def test_receipts_are_for_their_producer(store: Store) -> None:
    """A producer finds its own submissions by id and by key, with their current state, and no other producer's."""
    one = candidate_of()
    _, named = admit(store, one)
    memory = approve(store, found(store, named.proposal_id), curator(store))
    with store.read() as tx:
        mine = tx.memories.receipt_by_key("worker:release-bot", one.submission.idempotency_key)
        assert mine
        assert mine == tx.memories.receipt_by_id("worker:release-bot", named.submission_id or "")
        assert (mine.state, mine.memory_id, mine.reason_code) == ("approved", memory, None)
        assert tx.memories.receipt_by_id("tool:watcher", named.submission_id or "") is None
        assert tx.memories.receipt_by_key("tool:watcher", one.submission.idempotency_key) is None


def test_a_session_counts_only_where_something_was_accepted(store: Store) -> None:
    """A quarantined submission does not open a session's memories."""
    admit(store, candidate_of(submission_scope="session", scope_id="s1"))
    admit(store, candidate_of(submission_scope="session", scope_id="s2", visibility="private"))
    with store.read() as tx:
        opened = [tx.memories.submitted_in_session("worker:release-bot", name) for name in ("s1", "s2", "s3")]
    assert opened == [True, False, False]


def test_replays_add_up(store: Store) -> None:
    """Replay counts of one hour and channel add up."""
    one = candidate_of()
    admit(store, one)
    with store.read() as tx:
        known = tx.admission.open_batch([one]).known(one).submission
    assert known
    counts: dict[ReplayKey, int] = {(known.submission_id, 7, "http"): 2, (known.submission_id, 7, "batch"): 1}
    for _ in range(2):
        store.write(lambda tx: tx.admission.count_replays(counts)).result()
    with store.read() as tx:
        assert {row.channel: row.replays for row in tx.reports.retries(7, 7, 9)} == {"http": 4, "batch": 2}
        assert [row.channel for row in tx.reports.retries(7, 7, 1)] == ["http"]
        assert tx.reports.retries(8, 9, 9) == []


def test_a_link_works_once_and_in_time(store: Store) -> None:
    """A sign-in link works once and in time; a used, expired or unknown link returns no person."""
    bob = curator(store)
    store.write(lambda tx: tx.access.add_link("digest", bob.id, 100)).result()
    used = [store.write(lambda tx, now=now: tx.access.use_link("digest", now)).result() for now in (101, 50, 51)]
    assert [user.name if user else None for user in used] == [None, "bob", None]
    assert store.write(lambda tx: tx.access.use_link("unknown", 1)).result() is None


def test_a_disabled_account_loses_its_sessions(store: Store) -> None:
    """Disabling an account ends its sessions at once and reports whether the account was active."""
    bob = curator(store)
    store.write(lambda tx: tx.access.add_session("digest", bob.id, 1)).result()
    with store.read() as tx:
        assert tx.access.session("digest")
    assert store.write(lambda tx: tx.access.disable_user("bob", 2)).result()
    assert not store.write(lambda tx: tx.access.disable_user("bob", 3)).result()
    with store.read() as tx:
        assert tx.access.session("digest") is None
        assert [user.disabled_at for user in tx.access.users()] == [2]


def test_tokens_are_found_by_digest_and_revoked_by_name_or_id(store: Store) -> None:
    """Revoking a name ends all its tokens; a second revocation finds none."""
    for number in (1, 2):
        row = TokenRow(
            token_id=f"t{number}",
            name="lens",
            role="reader",
            read=["project:apollo"],
            created_at=1,
            expires_at=None,
            revoked_at=None,
            last_used_at=None,
        )
        store.write(lambda tx, row=row: tx.access.add_token(row, f"digest-{row.token_id}")).result()
    assert store.write(lambda tx: tx.access.revoke_tokens("t1", 5)).result() == 1
    assert store.write(lambda tx: tx.access.revoke_tokens("lens", 6)).result() == 1
    assert store.write(lambda tx: tx.access.revoke_tokens("lens", 7)).result() == 0
    with store.read() as tx:
        assert [row.revoked_at for row in tx.access.tokens()] == [5, 6]
        token = tx.access.token("digest-t1")
        assert tx.access.token("unknown") is None
    assert token
    assert token.read == ["project:apollo"]


def test_an_export_holds_every_decision_in_order_and_filters(store: Store) -> None:
    """An export holds every decision in order and filters by time, scope, decision and curator."""
    bob, cleo = curator(store), curator(store, "cleo")
    for person in (bob, cleo, bob):
        _, named = admit(store, candidate_of(f"Of {next(_numbers)}."))
        approve(store, found(store, named.proposal_id), person)
    with store.read() as tx:
        everything = list(tx.reports.export_review_records(AuditFilter(), 0, 1000))
        assert [row.curator for row in everything] == ["bob", "cleo", "bob"]
        middle = everything[1].decided_at
        chosen = [
            AuditFilter(since=middle),
            AuditFilter(until=middle),
            AuditFilter(curator="cleo"),
            AuditFilter(decision="reject"),
            AuditFilter(submission_scope="project", scope_id="gemini"),
        ]
        assert [len(list(tx.reports.export_review_records(one, 0, 1000))) for one in chosen] == [2, 1, 1, 0, 0]
        newest = tx.reports.latest_review_records(AuditFilter(), None, 2)
        assert [row.sequence for row in newest] == [row.sequence for row in everything[:0:-1]]


def test_a_healthy_store_finds_nothing_wrong(store: Store) -> None:
    """The check reports nothing for rows that the store wrote itself."""
    _, named = admit(store, candidate_of())
    approve(store, found(store, named.proposal_id), curator(store))
    with store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_the_doctor_goes_by_the_password_that_was_set_last(store: Store) -> None:
    """The check uses the latest password even if ids of one millisecond, or of a clock set back, are out of order."""
    curator(store)
    for number in (2, 1):
        change = PasswordChange(
            change_id=f"change-{number}",
            user="bob",
            password=f"hash {number}",
            actor="command-line",
            role="operator",
            session="",
            changed_at=1,
        )
        assert store.write(lambda tx, change=change: tx.access.set_password(change)).result()
    with store.read() as tx:
        assert list(tx.doctor.check()) == []

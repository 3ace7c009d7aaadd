"""Judging a group in one batch gives the same answers and rows as judging its members one by one."""

import itertools
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.core.admission.disposition import AdmissionWrite, Candidate, Judgement, decide, make_candidate
from antechamber.core.admission.receipt import answer_of
from antechamber.core.admission.submission import Draft, read_event
from antechamber.core.policy import Limits, Verdict
from antechamber.core.ports.store import Rows, Store
from antechamber.core.privacy import Finding
from antechamber.store.sqlite.store import SqliteStore
from support import empty_file, event, quick_folder

SECRET = bytes(range(32))
VERDICT = Verdict(
    reasons=[], owner="ada", policy_digest="policy", limits=Limits(conflicts_per_key=2, waiting_per_producer=3)
)
Wish = tuple[str, str, str, str | None, bool]
"""Producer, key, content, visibility, and whether a detector reported a finding."""

wishes = st.tuples(
    st.sampled_from(["worker:a", "worker:b"]),
    st.sampled_from(["k1", "k2", "k3"]),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from([None, None, None, "private"]),
    st.sampled_from([False, False, False, False, True]),
)


def candidate_of(wish: Wish) -> Candidate:
    """Return the candidate that a wish describes."""
    producer, key, content, visibility, found = wish
    body = event(content, producer_identity=producer, idempotency_key=key, visibility=visibility)
    findings = [Finding("/payload/content", "email-address")] if found else []
    return make_candidate(read_event(Draft(body=body, idempotency_key=key)), findings, SECRET, VERDICT)


class Judge:
    """Judges candidates over a store, with ids from a counter."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self.answers: list[tuple[Any, ...]] = []

    def judge(self, group: Sequence[Candidate]) -> None:
        """Judge a group in one transaction and record each answer."""
        self._store.gather(self._judge_group, group, 0).result()

    def _judge_group(self, group: Sequence[Candidate], tx: Rows) -> list[None]:
        book = tx.admission.open_batch(group)
        for one in group:
            judgement = decide(one, book.known(one))
            write = self._write(one, judgement)
            ids = (write.submission_id, write.duplicate_of, write.proposal_id, write.quarantine_id)
            self.answers.append((judgement.outcome.title, judgement.replay, ids, judgement.withdraw))
            if judgement.replay is None or judgement.withdraw:
                number = next(self._numbers)
                write.candidate = msgspec.structs.replace(one, received_at=number)
                write.receipt = msgspec.json.encode(answer_of(write)) if judgement.replay is None else b""
                book.enter(write)
        tx.admission.record(book)
        return [None] * len(group)

    def _write(self, candidate: Candidate, judgement: Judgement) -> AdmissionWrite:
        if judgement.replay is not None:
            return AdmissionWrite(candidate=candidate, judgement=judgement)
        proposal = judgement.proposal
        return AdmissionWrite(
            candidate=candidate,
            judgement=judgement,
            submission_id=judgement.original.submission_id if judgement.original else f"s{next(self._numbers)}",
            duplicate_of=proposal.own_submission_id if proposal else None,
            proposal_id=f"p{next(self._numbers)}" if judgement.propose else proposal and proposal.proposal_id,
            quarantine_id=f"q{next(self._numbers)}" if judgement.quarantine else None,
        )


def outcome(folder: Path, groups: Sequence[Sequence[Candidate]]) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Judge groups over a fresh store; return the answers and the whole content of the store."""
    folder.mkdir()
    (folder / "store.db").write_bytes(empty_file())
    store = SqliteStore(folder / "store.db")
    # Register both producers first, so that their integer keys do not depend on the order of submissions.
    store.write(lambda tx: tx.admission._known_or_new({"worker:a": 0, "worker:b": 0})).result()
    judge = Judge(store)
    for group in groups:
        judge.judge(group)
    store.close()
    with sqlite3.connect(folder / "store.db") as raw:
        held = [line for line in raw.iterdump() if "_sqlite_migrations" not in line]
    raw.close()
    return judge.answers, held


@settings(max_examples=150, deadline=None)
@given(made=st.lists(wishes, max_size=14), cuts=st.sets(st.integers(1, 13), max_size=4))
def test_a_group_is_judged_as_if_one_after_another(made: list[Wish], cuts: set[int]) -> None:
    """However candidates are divided into groups, the answers and the stored rows are the same."""
    candidates = [candidate_of(wish) for wish in made]
    edges = [0, *sorted(cut for cut in cuts if cut < len(candidates)), len(candidates)]
    groups = [candidates[start:end] for start, end in itertools.pairwise(edges)]
    with quick_folder() as folder:
        assert outcome(folder / "grouped", groups) == outcome(folder / "single", [[one] for one in candidates])

"""The receipt of an acceptance is not stored: it is formed from the columns, with the bytes of the first answer."""

import os
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antechamber.core.admission.disposition import AdmissionWrite, Candidate, decide, make_candidate
from antechamber.core.admission.receipt import answer_of
from antechamber.core.admission.submission import Draft, read_event
from antechamber.core.contract import SCOPES
from antechamber.core.ids import uuid7
from antechamber.core.policy import Limits, Verdict
from antechamber.core.ports.store import Rows, Store
from support import event

_NAME = st.text("AZaz09._@-/", max_size=30).map("n{}".format)
_DIGEST = st.binary(min_size=32, max_size=32).map(lambda raw: f"blake3:{raw.hex()}")
submissions = st.fixed_dictionaries(
    {
        "idempotency_key": st.one_of(st.uuids().map(str), st.text("AZaz09._:~-", max_size=30).map("k{}".format)),
        "producer_identity": _NAME.map("worker:{}".format),
        "submission_scope": st.sampled_from(sorted(SCOPES)),
        "scope_id": _NAME,
        "policy_digest": _DIGEST,
        "received_at": st.integers(0, 4_000_000_000_000_000),
    }
)


def judge(group: Sequence[dict[str, Any]], tx: Rows) -> list[tuple[str, str, str] | None]:
    """Admit submissions; return producer, key and first answer of each, None for a key that was used before."""
    made = [candidate_of(one) for one in group]
    book = tx.admission.open_batch(made)
    answers: list[tuple[str, str, str] | None] = []
    for one, candidate in zip(group, made, strict=True):
        judgement = decide(candidate, book.known(candidate))
        if not judgement.propose:
            answers.append(None)
        else:
            ids = {name: uuid7(one["received_at"], os.urandom(10)) for name in ("submission_id", "proposal_id")}
            write = AdmissionWrite(candidate=candidate, judgement=judgement, **ids, salt=bytes(32))
            write.receipt = msgspec.json.encode(answer_of(write))
            book.enter(write)
            answers.append((one["producer_identity"], one["idempotency_key"], write.receipt.decode()))
    tx.admission.record(book)
    return answers


def candidate_of(one: dict[str, Any]) -> Candidate:
    """Return a candidate that the policy accepts."""
    names = ("idempotency_key", "producer_identity", "submission_scope", "scope_id")
    body = event(str(uuid.uuid4()), **{name: one[name] for name in names})
    verdict = Verdict(reasons=[], owner="ada", policy_digest=one["policy_digest"], limits=Limits())
    submission = read_event(Draft(body=body, idempotency_key=one["idempotency_key"]))
    return make_candidate(submission, [], bytes(32), verdict, received_at=one["received_at"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(submissions, min_size=1, max_size=6))
def test_a_receipt_is_formed_again_with_the_same_bytes(store: Store, made: list[dict[str, Any]]) -> None:
    """Whatever a submission says, its receipt is formed with the bytes that were answered first."""
    answers = store.gather(judge, made, 0).result()
    with store.read() as tx:
        assert all(row["receipt"] is None for row in tx.sql.all("logged_submissions"))
        for producer, key, answer in filter(None, answers):
            found = tx.memories.receipt_by_key(producer, key)
            assert found is not None
            assert found.receipt == answer
            assert (tx.admission.known_key(producer, key) or ("", ""))[1] == answer

"""The ledger's rules: each answer leads to exactly one state, and only proof ends an operation."""

import itertools
from typing import Any

import pytest

from antechamber.core.contract import CODES, Code, Reason, Receipt
from antechamber.core.delivery_rules import REFUSED, ServerAnswer, rule, rule_seal
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, OUTCOMES, Outcome

PRODUCER = "worker:release-bot"
KEY, HASH = "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10", "blake3:" + "a" * 64


def receipt(outcome: Outcome, code: Code | None = None, **members: Any) -> Receipt:
    """Return the service's answer for an outcome."""
    known: dict[str, Any] = {
        "status": outcome.status,
        "idempotency_key": KEY,
        "producer_identity": PRODUCER,
        "source_event_hash": HASH,
        "disposition": outcome.disposition,
        "reasons": [Reason(code=code, message="said")] if code else [],
        "retry_same_key": outcome.retry_same_key,
        "safe_new_key": outcome.safe_new_key,
        "received_at": "2026-11-20T10:00:00Z",
    }
    return Receipt(**known | members)


def state(answer: ServerAnswer, *, sole: bool) -> str:
    """Return the state after an answer."""
    return rule(answer, producer=PRODUCER, key=KEY, source_event_hash=HASH, sole=sole).state


@pytest.mark.parametrize("sole", [True, False])
@pytest.mark.parametrize("code", CODES)
def test_each_code_of_the_closed_list_leads_to_one_state(code: Code, sole: bool) -> None:  # noqa: FBT001 -- a case
    """A kept answer ends the operation, a free key only if nothing else can arrive; all else stays open."""
    outcome = OUTCOMES[code]
    found = rule(
        ServerAnswer(status=outcome.status, receipt=receipt(outcome, code)),
        producer=PRODUCER,
        key=KEY,
        source_event_hash=HASH,
        sole=sole,
    )
    if code == "already-decided":
        expected = "committed"
    elif code == "key-reused":
        expected = "needs_review"
    elif outcome.status == 422:
        expected = "failed"
    elif outcome.status in {409, 429, 503} or not sole:
        expected = "uncertain" if outcome.key_bound is False else "failed"
    else:
        expected = "pending" if code in {"unauthorized", "producer-mismatch"} else "failed"
    assert found.state == expected
    assert found.over == (outcome.status in {400, 401, 403, 413})
    assert found.final == (outcome.status in {200, 422})
    assert found.erase == (outcome.disposition == "rejected-private")


@pytest.mark.parametrize("outcome", [ACCEPTED, DUPLICATE])
@pytest.mark.parametrize("sole", [True, False])
def test_what_the_service_has_is_committed(outcome: Outcome, sole: bool) -> None:  # noqa: FBT001 -- a case
    """A receipt commits after one attempt or many, as a first answer or a replay."""
    for duplicate in (True, False):
        answer = ServerAnswer(status=outcome.status, receipt=receipt(outcome, duplicate=duplicate))
        assert state(answer, sole=sole) == "committed"


def test_no_status_alone_commits_anything() -> None:
    """Without a receipt an operation is neither committed nor failed, whatever status a proxy sends."""
    for status, sole in itertools.product([None, *range(100, 600)], [True, False]):
        assert state(ServerAnswer(status=status), sole=sole) == "uncertain"
    assert {400, 401, 403, 413} == REFUSED


@pytest.mark.parametrize(
    "members",
    [
        {"idempotency_key": "another"},
        {"idempotency_key": None},
        {"producer_identity": "tool:watcher"},
        {"source_event_hash": "blake3:" + "b" * 64},
        {"status": 200},
        {"status": 422},
    ],
)
def test_a_receipt_of_something_else_is_no_receipt(members: dict[str, Any]) -> None:
    """Another key, event or status than the answer's leaves the only attempt uncertain."""
    assert state(ServerAnswer(status=201, receipt=receipt(ACCEPTED, **members)), sole=True) == "uncertain"


def test_a_refusal_of_another_key_proves_nothing() -> None:
    """A 422 ends an operation only if it names its key."""
    private = receipt(OUTCOMES["private-detected"], "private-detected", idempotency_key="another")
    assert state(ServerAnswer(status=422, receipt=private), sole=True) == "uncertain"


def test_what_was_never_sent_leaves_the_operation_as_it_was() -> None:
    """The operation is unchanged unless another attempt can still arrive."""
    for sole in (True, False):
        found = rule(
            ServerAnswer(sent=False, reason="no connection"),
            producer=PRODUCER,
            key=KEY,
            source_event_hash=HASH,
            sole=sole,
        )
        assert (found.state, found.final, found.over) == ("pending" if sole else "uncertain", False, True)


def seal(answer: ServerAnswer) -> tuple[str, bool]:
    """Return state and finality after a seal."""
    found = rule_seal(answer, producer=PRODUCER, key=KEY, source_event_hash=HASH)
    return found.state, found.final


def test_a_seal_proves_that_nothing_will_land_or_brings_what_did() -> None:
    """201 is the new seal; 200 is the receipt that existed before."""
    sealed = receipt(OUTCOMES["sealed"], "sealed", source_event_hash=None)
    assert seal(ServerAnswer(status=201, receipt=sealed)) == ("failed", True)
    assert seal(ServerAnswer(status=200, receipt=sealed)) == ("failed", True)
    assert seal(ServerAnswer(status=200, receipt=receipt(ACCEPTED, duplicate=True))) == ("committed", True)
    private = receipt(OUTCOMES["private-detected"], "private-detected")
    assert seal(ServerAnswer(status=200, receipt=private)) == ("failed", True)


def test_a_seal_that_finds_another_event_needs_a_person() -> None:
    """The key was used for another event, so a person decides."""
    other = receipt(ACCEPTED, source_event_hash="blake3:" + "b" * 64)
    assert seal(ServerAnswer(status=200, receipt=other)) == ("needs_review", True)


@pytest.mark.parametrize("status", [None, 400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_seal_that_failed_proves_nothing(status: int | None) -> None:
    """Whatever the answer, the operation stays uncertain."""
    assert seal(ServerAnswer(status=status, reason="no answer")) == ("uncertain", False)
    for members in ({"idempotency_key": "another"}, {"producer_identity": "tool:watcher"}):
        other = receipt(OUTCOMES["sealed"], "sealed", **members)
        assert seal(ServerAnswer(status=status or 201, receipt=other)) == ("uncertain", False)


def test_the_reason_names_codes_and_messages() -> None:
    """The ledger's reason contains the service's answer, or why the outcome is unknown."""
    stale = ServerAnswer(status=422, receipt=receipt(OUTCOMES["stale"], "stale"))
    assert rule(stale, producer=PRODUCER, key=KEY, source_event_hash=HASH, sole=True).reason == "stale: said"
    assert rule(
        ServerAnswer(reason="no answer: reset"), producer=PRODUCER, key=KEY, source_event_hash=HASH, sole=True
    ).reason == ("no answer: reset")
    assert (
        rule(ServerAnswer(status=502), producer=PRODUCER, key=KEY, source_event_hash=HASH, sole=True).reason
        == "status 502"
    )

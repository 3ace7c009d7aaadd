"""Tests of a policy: its decision tables, evaluated before it comes into force."""

from collections.abc import Iterator
from typing import Any, Final, cast

from msgspec.structs import replace

from antechamber.core.admission.canonical import canonical, event_bytes, normalize
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import CODES, Scope
from antechamber.core.policy import DAY, Case, Policy, Producer, covers, evaluate

_NOW: Final = 20_000 * DAY
"""A time late enough after 1970 for any age; the tables contain ages only."""
_UNLISTED: Final = (
    "; producers.toml does not list {}: list it, or define it in the test with producer = {{identity = …}}"
)
ACCEPTED: Final = ("accepted-for-review", "allowed")


def outcome(policy: Policy, case: Case) -> str:
    """Return the result of the policy for one case: `accepted-for-review`, `allowed` (to read), or a code."""
    scope, _, scope_id = case.scope.partition(":")
    producer = case.producer if isinstance(case.producer, Producer) else policy.producers.get(case.producer)
    if producer is None:
        return "producer-mismatch"
    if case.action == "read":
        return "allowed" if covers(producer.read, scope, scope_id) else "scope-not-granted"
    payload, span = normalize({"kind": case.kind, "content": case.content}, {"uri": "repo://example/notes"})
    if policy.gate.find_private({"/payload": payload}, cast("Scope", scope)):
        return "private-detected"
    values: dict[str, Any] = {"submission_scope": scope, "scope_id": scope_id}
    submission = Submission(
        idempotency_key="rehearsal",
        producer_identity=producer.identity,
        source_event_hash="",
        kind=payload["kind"],
        payload_json=canonical(payload).decode(),
        source_span_json=canonical(span).decode(),
        size=len(event_bytes(payload, span)),
        observed_at=_NOW - case.age_days * DAY,
        **values,
    )
    reasons = evaluate(replace(policy, producers={producer.identity: producer}), submission, _NOW)
    return reasons[0].code if reasons else "accepted-for-review"


def failures(policy: Policy) -> list[str]:
    """Evaluate every decision table and describe each case whose result is not the expected one."""
    return list(_failures(policy))


def _failures(policy: Policy) -> Iterator[str]:
    for case in policy.cases:
        if case.expect not in (*ACCEPTED, *CODES):
            yield f'test "{case.name}": expect "{case.expect}" is neither {" nor ".join(ACCEPTED)} nor a code'
        elif (actual := outcome(policy, case)) != case.expect:
            unlisted = _UNLISTED.format(case.producer) if actual == "producer-mismatch" else ""
            advice = unlisted or "; change the policy or the test"
            yield f'test "{case.name}": expected {case.expect}, the policy says {actual}{advice}'

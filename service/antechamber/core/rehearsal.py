"""What another policy would have done with stored submissions and decisions: two policies, compared event by event."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from antechamber.core.admission.canonical import decoded, join_event
from antechamber.core.admission.disposition import Known, KnownProposal, decide, make_candidate
from antechamber.core.admission.scanned_values import KEY_POINTER
from antechamber.core.admission.submission import Submission
from antechamber.core.outcomes import ACCEPTED, DUPLICATE
from antechamber.core.policy import Policy, Verdict, covers, evaluate
from antechamber.core.privacy import ACTIONS, Finding
from antechamber.core.review.decision import (
    APPROVING,
    Approval,
    ReviewedProposal,
    may_finish_alone,
    owner_obstacle,
    required_persons,
    standing_approvals,
    text_hash,
)
from antechamber.core.rows.rehearsal import RehearsedDecision, RehearsedSubmission

ChangeKind = Literal["disposition", "reason", "grant", "finding", "approvals", "memory", "second-person", "owner"]
Cause = tuple[str, str]
"""The code of a refusal, and the rule that found something, or an empty text."""
UNLISTED: Final = "unlisted"
"""In the place of a disposition: the policy does not list the producer, so that nothing is stored (403)."""
EXAMPLES: Final = 3
"""Maximum number of submissions that are named for one group of changes; the latest are."""
MAX_GROUPS: Final = 1_000
"""Groups beyond which new ones no longer name the id of their scope, so that a report stays small."""
_PRIVATE: Final = "private-detected"
_NOT_GRANTED: Final = "scope-not-granted"

TOTALS: Final[dict[ChangeKind, str]] = {
    "disposition": "submissions with another answer",
    "reason": "submissions refused for other reasons",
    "grant": "refused submissions whose scope would be granted (their text is not stored, so the rest is not known)",
    "finding": "submissions with other findings or warnings",
    "approvals": "proposals that need another number of approvals",
    "memory": "active memories that would have been refused",
    "second-person": "active memories whose approvals would no longer be enough",
    "owner": "decisions by a person who would own the producer",
}
"""What changes, for people, by its kind."""
NOT_REPLAYED: Final = {
    "encrypted": "private, kept encrypted",
    "erased": "erased",
    "invalid": "refused by the policy of their time",
    "private": "private, kept without their text",
    "sealed-key": "seals of keys, which have no event",
}
"""Why a submission was not replayed, for people."""


class Change(NamedTuple):
    """One difference between two policies for one submission."""

    kind: ChangeKind
    before: str
    after: str
    reason: str = ""
    rule_id: str = ""


class Treatment(Struct, frozen=True, kw_only=True):
    """What one policy does with one submission."""

    disposition: str
    causes: frozenset[Cause] = frozenset()
    """Why it is refused; empty if it is accepted."""
    actions: dict[str, str]
    """The strictest action of each rule that found something."""
    curators: int
    """Persons who have to approve in its scope."""
    hides_scope: bool
    """Whether its scope id is a private value."""


class ChangeGroup(Struct, frozen=True, kw_only=True):
    """Equal changes of one producer in one scope."""

    change: ChangeKind
    producer_identity: str
    scope: str
    """`kind:id`; `session:*` for all sessions."""
    reason: str | None
    """The code of the refusal that begins or ends."""
    rule_id: str | None
    before: str
    after: str
    number: int
    examples: list[str]
    """Ids of the latest submissions."""


class RehearsalReport(Struct, frozen=True, kw_only=True):
    """What would change."""

    replayed: int
    """Submissions that were judged by both policies."""
    changed: int
    """Submissions with a change."""
    not_replayed: dict[str, int]
    """Submissions without a text, by the cause of that."""
    totals: dict[ChangeKind, int]
    """Submissions by kind of change; decisions for `owner`."""
    groups: list[ChangeGroup]


def submission_of(row: RehearsedSubmission) -> Submission | None:
    """Return a stored submission as it was parsed, or None if its text is not stored."""
    if row.payload is None or row.source_span is None or row.submission_scope is None:
        return None
    return Submission(
        idempotency_key=row.idempotency_key,
        producer_identity=row.producer_identity,
        submission_scope=row.submission_scope,
        scope_id=row.scope_id or "",
        source_event_hash=row.source_event_hash or "",
        kind=decoded(row.payload)["kind"],
        payload_json=row.payload,
        source_span_json=row.source_span,
        size=len(join_event(row.payload.encode(), row.source_span.encode())),
        observed_at=row.observed_at,
        visibility=row.visibility,
        supersedes=_claim(row.supersedes),
        derived_from=_claim(row.derived_from),
    )


def _claim(text: str | None) -> Any:
    return None if text is None else decoded(text)


def known_of(row: RehearsedSubmission) -> Known:
    """Return what the store knew when a submission came: for a duplicate, the proposal that it joined."""
    if row.proposal in {None, row.id}:
        return Known()
    proposal = KnownProposal(id=row.proposal or 0, proposal_id=row.proposal_id or "", state=row.proposal_state or "")
    return Known(proposal=proposal)


def treat(
    policy: Policy, submission: Submission, known: Known, findings: list[Finding], warnings: list[Finding], now: int
) -> Treatment:
    """Judge a submission as admission does at time `now` (microseconds since 1970 UTC).

    `findings` are those that make it private, `warnings` the others.
    """
    disposition, causes = _judge(policy, submission, known, findings, now)
    actions: dict[str, str] = {}
    for finding in sorted((*findings, *warnings), key=lambda one: ACTIONS.index(one.action), reverse=True):
        actions[finding.rule_id] = finding.action
    return Treatment(
        disposition=disposition,
        causes=frozenset(causes),
        actions=actions,
        curators=policy.rules(submission.submission_scope).curators,
        hides_scope=any(finding.pointer == "/scope_id" for finding in findings),
    )


def _judge(
    policy: Policy, submission: Submission, known: Known, findings: list[Finding], now: int
) -> tuple[str, list[Cause]]:
    owner = policy.owner(submission.producer_identity)
    if owner is None:
        return UNLISTED, [("producer-mismatch", "")]
    in_key = [("key-invalid", finding.rule_id) for finding in findings if finding.pointer == KEY_POINTER]
    if in_key:
        return "rejected-invalid", in_key
    reasons = evaluate(policy, submission, now)
    verdict = Verdict(reasons=reasons, owner=owner, policy_digest="", limits=policy.limits)
    # Without a secret: nothing is compared with what came under the same key.
    judgement = decide(make_candidate(submission, findings, b"", verdict, received_at=now), known)
    disposition = str(judgement.outcome.disposition)
    if judgement.outcome in {ACCEPTED, DUPLICATE}:
        return disposition, []
    others = [(reason.code, "") for reason in judgement.reasons if reason.code != _PRIVATE]
    return disposition, [*others, *((_PRIVATE, finding.rule_id) for finding in findings)]


def compare(before: Treatment, after: Treatment) -> Iterator[Change]:
    """Yield what differs between two policies for one submission."""
    if before.disposition != after.disposition:
        for code, rule_id in sorted(after.causes or before.causes):
            yield Change("disposition", before.disposition, after.disposition, code, rule_id)
    else:
        for code, rule_id in sorted(after.causes - before.causes):
            yield Change("reason", "absent", "present", code, rule_id)
        for code, rule_id in sorted(before.causes - after.causes):
            yield Change("reason", "present", "absent", code, rule_id)
    named = {rule_id for _, rule_id in before.causes ^ after.causes}
    for rule_id in sorted({*before.actions, *after.actions} - named):
        old, new = before.actions.get(rule_id, "none"), after.actions.get(rule_id, "none")
        if old != new:
            yield Change("finding", old, new, rule_id=rule_id)
    if before.disposition == after.disposition == ACCEPTED.disposition and before.curators != after.curators:
        yield Change("approvals", str(before.curators), str(after.curators))


def compare_grants(before: Policy, after: Policy, row: RehearsedSubmission) -> Iterator[Change]:
    """Yield the end of a refusal of a submission whose text is not stored: its scope would be granted.

    Whether the event itself would be accepted is not known.
    """
    if row.reason_code == _NOT_GRANTED and not _grants(before, row) and _grants(after, row):
        yield Change("grant", "missing", "granted", _NOT_GRANTED)


def _grants(policy: Policy, row: RehearsedSubmission) -> bool:
    producer = policy.producers.get(row.producer_identity)
    return producer is not None and covers(producer.submit, row.submission_scope or "", row.scope_id or "")


def compare_memory(before: frozenset[Cause], after: frozenset[Cause]) -> Iterator[Change]:
    """Yield why a memory would have been refused: the causes for which its event or its text is refused."""
    if not before:
        for code, rule_id in sorted(after):
            yield Change("memory", "admitted", "refused", code, rule_id)


def compare_review(
    before: Policy, after: Policy, row: RehearsedSubmission, decisions: Sequence[RehearsedDecision]
) -> Iterator[Change]:
    """Yield what differs between two policies for the decisions on a proposal.

    These are the decisions of a person who would own the producer, and the approvals of an active memory that would no
    longer suffice.
    """
    owner = after.owner(row.producer_identity)
    owned = frozenset(one for one in (before.owner(row.producer_identity), row.owner) if one is not None)
    if owner is not None and owner not in owned:
        for one in decisions:
            if owner_obstacle(frozenset({owner}), one.person) is not None:
                yield Change("owner", "another person", "owner")
    if row.memory_payload is not None:
        old, new = _reviewed(before, row, decisions), _reviewed(after, row, decisions)
        if _suffices(old) and not _suffices(new):
            yield Change("second-person", str(required_persons(old)), str(required_persons(new)))


def _reviewed(policy: Policy, row: RehearsedSubmission, decisions: Sequence[RehearsedDecision]) -> ReviewedProposal:
    """Return the facts about an admitted proposal on which the number of approvals depends."""
    text = row.memory_payload or ""
    rules = policy.rules(row.submission_scope or "session")
    current = text_hash(text.encode())
    edits = [one.person for one in decisions if one.decision == "edit" and one.resulting_hash == current]
    return ReviewedProposal(
        state="approved",
        version=row.memory_version or 0,
        payload=decoded(text),
        owners=frozenset(),
        edited=row.edited,
        editor=edits[-1] if edits and row.edited else None,
        self_edit=rules.self_edit,
        withdrawn=False,
        approvals=[
            Approval(person=one.person, version=one.resulting_version, text_hash=one.resulting_hash or "")
            for one in decisions
            if one.decision in APPROVING
        ],
        curators=rules.curators,
        second=row.second,
        memory="active",
        redactor=row.redacted_by,
    )


def _suffices(proposal: ReviewedProposal) -> bool:
    """Return whether the approvals of the current text admit it."""
    persons = standing_approvals(proposal)
    alone = len(persons) == 1 and may_finish_alone(proposal, *persons)
    return alone or len(persons) >= required_persons(proposal)


class _Counted(Struct):
    number: int = 0
    examples: list[str] = field(default_factory=list)


class RehearsalTally:
    """Counts changes in groups; its size does not depend on the number of submissions."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, Change], _Counted] = {}
        self._totals: Counter[ChangeKind] = Counter()
        self._skipped: Counter[str] = Counter()
        self._replayed = 0
        self._changed = 0

    def skip(self, row: RehearsedSubmission) -> None:
        """Count a submission whose text is not stored, by the cause of that."""
        if row.erased:
            cause = "erased"
        elif row.disposition == "rejected-private":
            cause = "encrypted" if row.sealed else "private"
        else:
            cause = "sealed-key" if row.reason_code == "sealed" else "invalid"
        self._skipped[cause] += 1

    def replay(self) -> None:
        """Count a submission that both policies judged."""
        self._replayed += 1

    def add(self, row: RehearsedSubmission, changes: Sequence[Change], *, hides_scope: bool) -> None:
        """Count the changes of one submission."""
        self._changed += bool(changes)
        self._totals.update({change.kind for change in changes if change.kind != "owner"})
        self._totals.update(change.kind for change in changes if change.kind == "owner")
        for change in changes:
            counted = self._group(row, change, hides_scope=hides_scope)
            counted.number += 1
            if row.submission_id not in counted.examples:
                counted.examples = [*counted.examples, row.submission_id][-EXAMPLES:]

    def _group(self, row: RehearsedSubmission, change: Change, *, hides_scope: bool) -> _Counted:
        scope, scope_id = row.submission_scope, row.scope_id
        unnamed = (row.producer_identity, f"{scope}:*", change)
        if hides_scope or scope == "session":
            return self._groups.setdefault(unnamed, _Counted())
        named = (row.producer_identity, f"{scope}:{scope_id}", change)
        key = named if named in self._groups or len(self._groups) < MAX_GROUPS else unnamed
        return self._groups.setdefault(key, _Counted())

    def report(self) -> RehearsalReport:
        """Return everything counted, groups with the most changes first."""
        groups = [
            ChangeGroup(
                change=change.kind,
                producer_identity=producer,
                scope=scope,
                reason=change.reason or None,
                rule_id=change.rule_id or None,
                before=change.before,
                after=change.after,
                number=counted.number,
                examples=counted.examples,
            )
            for (producer, scope, change), counted in sorted(self._groups.items(), key=lambda one: one[0])
        ]
        return RehearsalReport(
            replayed=self._replayed,
            changed=self._changed,
            not_replayed=dict(sorted(self._skipped.items())),
            totals=dict(self._totals),
            groups=sorted(groups, key=lambda one: -one.number),
        )

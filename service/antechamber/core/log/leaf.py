"""Leaves of the log: one for each stored disposition, review record and change, without any of the texts.

A leaf records actor, action, subject, time and policy. A commitment covers the texts that were shown, typed or decided:
a salted digest that proves a text to a reader who has the text and its salt, and reveals nothing once these are erased.
"""

import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Account, PasswordChange
from antechamber.core.admission import disposition as admission_moved
from antechamber.core.admission.canonical import canonical, digest
from antechamber.core.log.rows import ExportRow, LeafWrite, Role
from antechamber.core.review import decision as review_moved
from antechamber.core.review.quarantine import QuarantineDecision
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.review import ProposalRow
from antechamber.core.rows.sealed_events import RevealWrite
from antechamber.core.times import format_time

SALT_SIZE: Final = 32
VERSION: Final = 1


class Leaf(Struct, frozen=True, kw_only=True):
    """The members of a leaf, whose bytes are their RFC 8785 form; its position in the tree is its sequence."""

    action: str
    actor: str
    before: str | None = msgspec.field(name="from", default=None)
    payload_commitment: str | None = None
    policy_digest: str | None = None
    reason_code: str | None = None
    role: Role
    subject: dict[str, str]
    """Public ids by their names in the contract."""
    time: str
    after: str | None = msgspec.field(name="to", default=None)
    version: int = VERSION


class DecisionFacts(Struct, frozen=True, kw_only=True):
    """What the leaf of a review record commits to: the texts, and facts for auditors that the leaf itself omits."""

    person: str
    """The person who decided, regardless of the account's name."""
    producer_identity: str
    proposal_version: int
    """For a quarantined event, the number of decisions before this one."""
    reason_text: str
    resulting: str | None
    scope_id: str | None
    shown: str
    submission_scope: str | None
    """Scope and scope id are None for a quarantined event whose scope id is a private value."""
    self_edit: bool = False
    """Whether the policy let the editor of the text be its only approver."""
    target: str | None
    """The id of the memory that the decision names."""


def leaf_bytes(leaf: Leaf) -> bytes:
    """Return the bytes of a leaf; for values of the profile msgspec's sorted encoding is RFC 8785."""
    return msgspec.json.encode(leaf, order="sorted")


def commitment(salt: bytes, value: Any) -> str:
    """Return the commitment to a value: SHA-256 of a random salt and the value's canonical bytes."""
    return f"sha256:{hashlib.sha256(salt + canonical(value)).hexdigest()}"


def submission_text(payload: str | None, receipt: str, source_span: str | None) -> dict[str, Any]:
    """Return what the leaf of a disposition commits to: the answer, and the event as far as it is stored."""
    return {"payload": payload, "receipt": receipt, "source_span": source_span}


def decision_text(decided: DecisionFacts) -> dict[str, Any]:
    """Return what the leaf of a review record commits to; of `self_edit` only that it is so."""
    members = msgspec.structs.asdict(decided)
    return members if members.pop("self_edit") is False else members | {"self_edit": True}


def _leaf_write(leaf: Leaf, subject: str, salt: bytes | None = None) -> LeafWrite:
    return LeafWrite(leaf_bytes(leaf), subject, salt if leaf.payload_commitment else None)


def _ids(**ids: str | None) -> dict[str, str]:
    return {name: value for name, value in ids.items() if value is not None}


def of_disposition(entry: admission_moved.AdmissionWrite) -> LeafWrite:
    """Return the leaf of a submission with a permanent answer, or of an event that was quarantined."""
    candidate, judgement, submission = entry.candidate, entry.judgement, entry.candidate.submission
    kept = judgement.propose or (judgement.quarantine and not candidate.private)
    text = submission_text(
        submission.payload_json if kept else None,
        entry.receipt.decode(),
        submission.source_span_json if kept else None,
    )
    leaf = Leaf(
        action="submit",
        actor=submission.producer_identity,
        payload_commitment=commitment(entry.salt, text),
        policy_digest=candidate.verdict.policy_digest,
        reason_code=judgement.reasons[0].code if judgement.reasons else None,
        role="producer",
        subject=_ids(
            submission_id=entry.submission_id, proposal_id=entry.proposal_id, quarantine_id=entry.quarantine_id
        ),
        time=format_time(candidate.received_at),
        after=judgement.outcome.disposition,
    )
    own = entry.submission_id if judgement.bind else entry.quarantine_id
    return _leaf_write(leaf, own or "", entry.salt)


def of_withdrawal(entry: admission_moved.AdmissionWrite, proposal_id: str) -> LeafWrite:
    """Return the leaf of a proposal whose producer withdrew the event as private."""
    leaf = Leaf(
        action="withdraw",
        actor=entry.candidate.submission.producer_identity,
        before="pending",
        policy_digest=entry.candidate.verdict.policy_digest,
        reason_code="private-declared",
        role="producer",
        subject={"proposal_id": proposal_id},
        time=format_time(entry.candidate.received_at),
        after="withdrawn",
    )
    return _leaf_write(leaf, proposal_id)


def of_seal(entry: admission_moved.SealWrite) -> LeafWrite:
    """Return the leaf of a key that was sealed."""
    leaf = Leaf(
        action="seal",
        actor=entry.producer_identity,
        payload_commitment=commitment(entry.salt, submission_text(None, entry.receipt.decode(), None)),
        policy_digest=entry.policy_digest,
        reason_code="sealed",
        role="producer",
        subject={"submission_id": entry.submission_id},
        time=format_time(entry.sealed_at),
        after="rejected-invalid",
    )
    return _leaf_write(leaf, entry.submission_id, entry.salt)


def of_decision(proposal: ProposalRow, account: Account, entry: review_moved.DecisionWrite) -> LeafWrite:
    """Return the leaf of a review record."""
    ruling = entry.ruling
    resulting = ruling.resulting.decode() if ruling.resulting else None
    facts = DecisionFacts(
        person=account.person,
        producer_identity=proposal.producer_identity,
        proposal_version=proposal.version,
        reason_text=entry.decision.reason_text,
        resulting=resulting,
        scope_id=proposal.scope_id,
        self_edit=ruling.self_edit,
        shown=ruling.shown.decode(),
        submission_scope=proposal.submission_scope,
        target=ruling.target,
    )
    leaf = Leaf(
        action=entry.decision.kind,
        actor=account.name,
        before=proposal.state,
        payload_commitment=commitment(entry.salt, decision_text(facts)),
        policy_digest=entry.policy_digest,
        reason_code=ruling.reason_code,
        role="curator",
        subject=_ids(review_record_id=entry.review_record_id, proposal_id=proposal.proposal_id, undoes=ruling.undoes),
        time=format_time(entry.decided_at),
        after=ruling.state,
    )
    return _leaf_write(leaf, entry.review_record_id, entry.salt)


def of_settlement(event: QuarantineRow, account: Account, settlement: QuarantineDecision) -> LeafWrite:
    """Return the leaf of a review record of a quarantined event."""
    form, ruling = settlement.form, settlement.ruling
    facts = DecisionFacts(
        person=account.person,
        producer_identity=event.producer_identity,
        proposal_version=event.version,
        reason_text=form.reason_text,
        resulting=None,
        scope_id=event.scope_id,
        shown=ruling.shown.decode(),
        submission_scope=event.submission_scope,
        target=None,
    )
    leaf = Leaf(
        action=form.kind,
        actor=account.name,
        before=event.state,
        payload_commitment=commitment(settlement.salt, decision_text(facts)),
        policy_digest=settlement.policy_digest,
        reason_code=ruling.reason_code,
        role="curator",
        subject=_ids(
            review_record_id=settlement.review_record_id,
            quarantine_id=event.quarantine_id,
            undoes=form.undoes if form.kind == "undo" else None,
        ),
        time=format_time(settlement.decided_at),
        after=ruling.state,
    )
    return _leaf_write(leaf, settlement.review_record_id, settlement.salt)


def of_reveal(quarantine_id: str, account: Account, reveal: RevealWrite) -> LeafWrite:
    """Return the leaf of a span of a sealed event that a curator looked at; a commitment covers the typed reason."""
    leaf = Leaf(
        action="reveal",
        actor=account.name,
        payload_commitment=commitment(reveal.salt, reveal_text(account.person, msgspec.structs.asdict(reveal))),
        policy_digest=reveal.policy_digest,
        role="curator",
        subject={"reveal_id": reveal.reveal_id, "quarantine_id": quarantine_id},
        time=format_time(reveal.revealed_at),
        after="revealed",
    )
    return _leaf_write(leaf, reveal.reveal_id, reveal.salt)


def reveal_text(person: str, reveal: dict[str, Any]) -> dict[str, Any]:
    """Return what the leaf of a revealed span commits to: person and reason, and which span it was, never its text."""
    return {"person": person} | {name: reveal[name] for name in ("pointer", "reason_text", "rule_ids", "span")}


def of_expiry(quarantine_id: str, now: int) -> LeafWrite:
    """Return the leaf of a sealed event whose text expired."""
    leaf = Leaf(
        action="end-sealed",
        actor="service",
        before="sealed",
        reason_code="expired",
        role="operator",
        subject={"quarantine_id": quarantine_id},
        time=format_time(now),
        after="ended",
    )
    return _leaf_write(leaf, quarantine_id)


def of_memory(
    memory_id: str, before: str | None, after: str, account: Account, entry: review_moved.DecisionWrite
) -> LeafWrite:
    """Return the leaf of a memory's change of state by a decision."""
    leaf = Leaf(
        action="memory",
        actor=account.name,
        before=before,
        policy_digest=entry.policy_digest,
        role="curator",
        subject={"memory_id": memory_id, "review_record_id": entry.review_record_id},
        time=format_time(entry.decided_at),
        after=after,
    )
    return _leaf_write(leaf, memory_id)


def of_access(action: str, now: int, after: str, **subject: str) -> LeafWrite:
    """Return the leaf of a change of tokens or accounts, which operators make."""
    leaf = Leaf(
        action=action, actor="command-line", role="operator", subject=subject, time=format_time(now), after=after
    )
    return _leaf_write(leaf, next(iter(subject.values())))


def of_password(change: PasswordChange) -> LeafWrite:
    """Return the leaf of a password that was set; it contains the digest of the salted hash."""
    leaf = Leaf(
        action="set-password",
        actor=change.actor,
        role=change.role,
        subject={
            "password_change_id": change.change_id,
            "user": change.user,
            "password": digest(change.password.encode()),
        },
        time=format_time(change.changed_at),
        after="set",
    )
    return _leaf_write(leaf, change.change_id)


def token_members(token: dict[str, Any]) -> dict[str, str]:
    """Return the members that the leaf of a token contains: id, name, role, scopes, expiry and the secret's digest.

    `token` has the columns of its row; `read` is a list of scopes, `expires_at` microseconds since 1970 UTC or None.
    """
    ends = {} if token["expires_at"] is None else {"expires_at": format_time(token["expires_at"])}
    named = {name: token[name] for name in ("token_id", "name", "role", "digest")}
    return named | ends | {"read": " ".join(token["read"])}


def account_members(name: str, person: str, password: str | None) -> dict[str, str]:
    """Return the members that the leaf of an account contains: user, person and the password's digest, if any."""
    return {"user": name, "person": person} | ({} if password is None else {"password": digest(password.encode())})


def webhook_members(webhook: dict[str, Any]) -> dict[str, str]:
    """Return the members that the leaf of a webhook contains: id, events, the URL's digest, and whether it is private.

    `webhook` has the columns of its row; `events` is a list. The URL itself may hold a secret of its receiver.
    """
    private = {"allow_private": "true"} if webhook["allow_private"] else {}
    named = {"webhook_id": webhook["webhook_id"], "url": digest(webhook["url"].encode())}
    return named | {"events": " ".join(webhook["events"])} | private


def of_export(row: ExportRow, salt: bytes) -> LeafWrite:
    """Return the leaf of an export: actor and kind; the filters are covered by the commitment."""
    leaf = Leaf(
        action="export",
        actor=row.actor,
        payload_commitment=commitment(salt, export_text(row)),
        role=row.role,
        subject={"export_id": row.export_id},
        time=format_time(row.exported_at),
        after=row.exported,
    )
    return _leaf_write(leaf, row.export_id, salt)


def export_text(row: ExportRow) -> dict[str, Any]:
    """Return what the leaf of an export commits to."""
    return {"filters": row.filters, "format": row.format, "size": row.size}


def of_policy(digest: str, previous: str | None, now: int) -> LeafWrite:
    """Return the leaf of a policy that comes into force."""
    leaf = Leaf(
        action="policy",
        actor="policy-files",
        before=previous,
        policy_digest=digest,
        role="operator",
        subject={"policy_digest": digest},
        time=format_time(now),
        after=digest,
    )
    return _leaf_write(leaf, digest)


def of_direct_write(producer: str, now: int) -> LeafWrite:
    """Return the leaf of a producer's request for a durable write, which only a curator can make."""
    leaf = Leaf(
        action="direct-write",
        actor=producer,
        reason_code="direct-write",
        role="producer",
        subject={"producer_identity": producer},
        time=format_time(now),
        after="rejected-invalid",
    )
    return _leaf_write(leaf, f"direct-write {producer}")


def of_erasure(erasure_id: str, reason_code: str, now: int, **subject: str) -> LeafWrite:
    """Return the leaf of an erased text; earlier commitments stay in the log, but their salts are deleted."""
    leaf = Leaf(
        action="erase",
        actor="command-line",
        reason_code=reason_code,
        role="operator",
        subject={"erasure_id": erasure_id, **subject},
        time=format_time(now),
        after="erased",
    )
    return _leaf_write(leaf, erasure_id)


def of_key(key: str, previous: str | None, now: int, **abandoned: str) -> LeafWrite:
    """Return the leaf of the key that signs from now on; `abandoned` names the checkpoint of a log that was lost.

    After the restore of a backup it also names the last sequence of the backup.
    """
    leaf = Leaf(
        action="log-key",
        actor="command-line" if previous else "service",
        before=previous,
        reason_code="restored" if abandoned else None,
        role="operator",
        subject={"verifier_key": key, **abandoned},
        time=format_time(now),
        after=key,
    )
    return _leaf_write(leaf, key)

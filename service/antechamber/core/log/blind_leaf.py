"""Leaves of blind items: one when an item is added, whose commitment covers its verdict, and one for its decision.

Neither names the proposal that a curator sees, so the log does not give blind items away before they are
decided.
"""

from typing import Any, Final

from antechamber.core.access.callers import Account
from antechamber.core.log.leaf import Leaf, commitment, leaf_bytes
from antechamber.core.log.rows import LeafWrite
from antechamber.core.rows.blind import BlindDecisionWrite, BlindItemWrite
from antechamber.core.times import format_time

ITEM_TEXT: Final = (
    "explanation",
    "kind",
    "payload",
    "producer_identity",
    "proposal_id",
    "review_record_id",
    "scope_id",
    "source_span",
    "submission_scope",
    "verdict",
)
"""Members that the leaf of a blind item commits to."""
DECISION_TEXT: Final = ("decision", "person", "reason_code", "warned")
"""Members that the leaf of a decision on a blind item commits to."""


def item_text(item: dict[str, Any]) -> dict[str, Any]:
    """Return what the leaf of a blind item commits to; a second look repeats a text to which other leaves commit."""
    members = {name: item[name] for name in ITEM_TEXT}
    return members if item["kind"] == "calibration" else members | {"payload": None, "source_span": None}


def decision_text(decision: dict[str, Any]) -> dict[str, Any]:
    """Return what the leaf of a decision on a blind item commits to."""
    return {name: decision[name] for name in DECISION_TEXT} | {"warned": bool(decision["warned"])}


def of_item(write: BlindItemWrite) -> LeafWrite:
    """Return the leaf of a new blind item; the service adds second looks, an operator calibration items."""
    event = write.event
    committed = {
        "explanation": write.explanation,
        "kind": write.kind,
        "payload": event.payload,
        "producer_identity": event.producer_identity,
        "proposal_id": write.proposal_id,
        "review_record_id": write.review_record_id,
        "scope_id": event.scope_id,
        "source_span": event.source_span,
        "submission_scope": event.submission_scope,
        "verdict": write.verdict,
    }
    leaf = Leaf(
        action="blind-item",
        actor=actor_of(write.kind),
        payload_commitment=commitment(write.salt, item_text(committed)),
        policy_digest=write.policy_digest,
        role="operator",
        subject={"blind_item_id": write.blind_item_id},
        time=format_time(write.added_at),
        after="added",
    )
    return LeafWrite(leaf_bytes(leaf), write.blind_item_id, write.salt)


def actor_of(kind: str) -> str:
    """Return who adds blind items of a kind."""
    return "command-line" if kind == "calibration" else "service"


def of_blind_decision(account: Account, write: BlindDecisionWrite) -> LeafWrite:
    """Return the leaf of a decision on a blind item, which does not say how it was decided."""
    committed = {
        "decision": write.decision,
        "person": account.person,
        "reason_code": write.reason_code,
        "warned": write.warned,
    }
    leaf = Leaf(
        action="blind-decision",
        actor=account.name,
        payload_commitment=commitment(write.salt, decision_text(committed)),
        policy_digest=write.policy_digest,
        role="curator",
        subject={"blind_decision_id": write.blind_decision_id, "blind_item_id": write.item.blind_item_id},
        time=format_time(write.decided_at),
        after="decided",
    )
    return LeafWrite(leaf_bytes(leaf), write.blind_decision_id, write.salt)

"""Leaves of review dates: who set the day after which a memory comes up for review, and which day it replaces."""

from typing import Any

from antechamber.core.log.leaf import Leaf, commitment, leaf_bytes
from antechamber.core.log.rows import LeafWrite
from antechamber.core.review.review_date import day_name
from antechamber.core.rows.upkeep import ReviewDateWrite
from antechamber.core.times import format_time

_COMMITTED = ("person", "review_after", "scope_id", "submission_scope")


def review_date_text(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the leaf of a review date commits to: person, time and scope."""
    return {name: row[name] for name in _COMMITTED}


def of_review_date(write: ReviewDateWrite) -> LeafWrite:
    """Return the leaf of a review date; its `from` is the day before, null for none, its `to` the new one or `none`."""
    proposal, account = write.proposal, write.account
    committed = {
        "person": account.person,
        "review_after": write.review_after,
        "scope_id": proposal.scope_id,
        "submission_scope": proposal.submission_scope,
    }
    leaf = Leaf(
        action="schedule-review",
        actor=account.name,
        before=day_name(write.before),
        payload_commitment=commitment(write.salt, review_date_text(committed)),
        policy_digest=write.policy_digest,
        role="curator",
        subject={"review_date_id": write.review_date_id, "proposal_id": proposal.proposal_id},
        time=format_time(write.set_at),
        after=day_name(write.review_after) or "none",
    )
    return LeafWrite(leaf_bytes(leaf), write.review_date_id, write.salt)

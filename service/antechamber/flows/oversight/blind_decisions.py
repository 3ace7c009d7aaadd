"""Decisions on blind items: what a curator decided is compared with the verdict, and changes nothing else."""

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.errors import ForbiddenDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.ports.clock import Randomness
from antechamber.core.ports.store import Rows
from antechamber.core.review.blind import second_look_obstacle
from antechamber.core.review.decision import Decision, Ruling
from antechamber.core.rows.blind import BlindDecisionWrite, BlindItem
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.dossier import gather
from antechamber.flows.live_policy import ActivePolicy


class BlindRuling(Struct, frozen=True, kw_only=True):
    """A decision that the rules allow, on the proposal of a blind item."""

    item: BlindItem
    proposal: ProposalRow
    decision: Decision
    ruling: Ruling


def check_judge(tx: Rows, item: BlindItem | None, person: str) -> None:
    """Refuse a second look by a person who decided on the same proposal before.

    Raises ForbiddenDecisionError.
    """
    if item is None or item.original is None:
        return
    if obstacle := second_look_obstacle(tx.blind.judges(item.original), person):
        raise ForbiddenDecisionError(obstacle)


def record_blind(
    tx: Rows, ruled: BlindRuling, account: Account, force: ActivePolicy, now: int, randomness: Randomness
) -> None:
    """Record the decision on a blind item; the warnings of its page are computed as they were shown."""
    dossier = gather(tx, force.policy, ruled.proposal, account.person, now)
    tx.blind.decide(
        ruled.proposal,
        account,
        BlindDecisionWrite(
            blind_decision_id=uuid7(now, randomness(10)),
            item=ruled.item,
            decision=ruled.decision.kind,
            reason_code=ruled.ruling.reason_code,
            warned=bool(dossier.marks or dossier.found.list_cautions()),
            decision_key=ruled.decision.decision_key,
            policy_digest=force.digest,
            decided_at=now,
            salt=randomness(SALT_SIZE),
        ),
    )

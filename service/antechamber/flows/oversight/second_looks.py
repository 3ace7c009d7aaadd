"""Second looks: a share of decided proposals waits again, as a proposal like any other, for another curator."""

from functools import partial
from typing import Any, Final

from antechamber.core.admission.canonical import canonical
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import ERASED
from antechamber.core.rows.blind import BlindEvent, BlindItemWrite
from antechamber.core.rows.review import ProposalRow, ReviewRecordRow
from antechamber.flows.conversation_view import active_curators
from antechamber.flows.dossier import owners_of
from antechamber.flows.live_policy import PolicyReloader

_LOOKED_AT: Final = frozenset({"approve", "edit", "supersede", "reject"})
"""Decisions that are looked at again; a merge judges the memories around a text more than the text."""
_RANGE: Final = 1 << 32


class SecondLooks:
    """Chooses decided proposals by chance, and puts copies of them into the queue."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness

    def consider(self, proposal_id: str) -> bool:
        """Put a proposal that was just decided into the queue again, if chance says so; return whether it did.

        This is a transaction of its own: if the process ends before it, that proposal has no second look.

        Raises BusyError or UnavailableError.
        """
        percent = self._policies.current.policy.oversight.second_looks
        if int.from_bytes(self._randomness(4), "big") * 100 >= percent * _RANGE:
            return False
        return self._store.write(partial(self._add, proposal_id)).result()

    def _add(self, proposal_id: str, tx: Rows) -> bool:
        proposal = tx.review.proposal(proposal_id)
        records = tx.review.records(proposal.id) if proposal is not None else []
        if proposal is None or not _can_be_looked_at(tx, proposal, records):
            return False
        force, last = self._policies.current, records[-1]
        owners = owners_of(
            tx, force.policy, proposal.producer_identity, proposal.owner, *tx.review.refused_owners(proposal.id)
        )
        if not {user.person for user in active_curators(tx)} - owners - {record.person for record in records}:
            return False
        return tx.blind.add(self._write_of(proposal, last, force.digest))

    def _write_of(self, proposal: ProposalRow, record: ReviewRecordRow, policy_digest: str) -> BlindItemWrite:
        now = self._clock()
        return BlindItemWrite(
            blind_item_id=uuid7(now, self._randomness(10)),
            proposal_id=uuid7(now, self._randomness(10)),
            kind="second-look",
            event=_event_of(proposal, now, "blake3:" + self._randomness(32).hex()),
            review_record_id=record.review_record_id,
            verdict="approve" if proposal.state == "approved" else "reject",
            explanation="",
            policy_digest=policy_digest,
            added_at=now,
            salt=self._randomness(SALT_SIZE),
        )


def _can_be_looked_at(tx: Rows, proposal: ProposalRow, records: list[ReviewRecordRow]) -> bool:
    """Return whether the last decision on a proposal can be compared with that of another person."""
    if not records or proposal.state == "pending" or proposal.withdrawn:
        return False
    last = records[-1]
    return (
        last.decision in _LOOKED_AT
        and last.reason_code != "private"
        and canonical(proposal.payload) != ERASED.encode()
        and not tx.blind.is_looked_at(last.review_record_id)
    )


def _event_of(proposal: ProposalRow, now: int, event_hash: str) -> BlindEvent:
    return BlindEvent(
        producer_identity=proposal.producer_identity,
        owner=proposal.owner,
        submission_scope=proposal.submission_scope,
        scope_id=proposal.scope_id,
        payload=_text(proposal.payload),
        source_span=_text(proposal.source_span),
        supersedes=None if proposal.supersedes is None else _text(proposal.supersedes),
        derived_from=None if proposal.derived_from is None else _text(proposal.derived_from),
        visibility=proposal.visibility,
        observed_at=proposal.observed_at,
        received_at=now,
        hash=event_hash,
    )


def _text(value: Any) -> str:
    return canonical(value).decode()

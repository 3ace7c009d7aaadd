"""Proposals of curators: a person proposes through a `service:` producer of theirs, and another person decides."""

import contextlib
import json
from typing import Any, Final
from uuid import UUID

from blake3 import blake3
from msgspec import Struct

from antechamber.core.access.callers import Account, Bearer
from antechamber.core.contract import Reason
from antechamber.core.conversion import parse_json
from antechamber.core.errors import ForbiddenDecisionError, RequestRefusedError
from antechamber.core.outgoing import hash_event
from antechamber.core.policy import Producer
from antechamber.flows.admit import Admission
from antechamber.flows.live_policy import PolicyReloader

_SERVICE: Final = "service:"


class ProposalForm(Struct, frozen=True, kw_only=True):
    """What a person typed to propose."""

    decision_key: str
    """One-time key, so that a form sent twice counts once."""
    producer_identity: str
    scope: str
    """As `project:apollo`."""
    kind: str
    content: str
    tags: str = ""
    """Separated by white space."""
    source: str = ""
    """URI; the desk itself if it is empty."""
    supersedes: str = ""
    """The memory that it should supersede, as a claim."""


class Proposed(Struct, frozen=True, kw_only=True):
    """The answer to a proposal: the proposal that it made or joined, or the reasons of a refusal."""

    status: int
    proposal_id: str | None
    reasons: list[Reason]


class Proposing:
    """Submits what curators propose by the same admission as all producers."""

    def __init__(self, policies: PolicyReloader, admission: Admission) -> None:
        self._policies = policies
        self._admission = admission

    def producers_of(self, person: str) -> list[Producer]:
        """Return the `service:` producers that the policy maps to a person as their owner."""
        listed = self._policies.current.policy.producers.values()
        return [one for one in listed if one.owner == person and one.identity.startswith(_SERVICE)]

    async def propose(self, form: ProposalForm, account: Account) -> Proposed:
        """Submit a proposal in the name of one of the person's producers.

        Raises ForbiddenDecisionError if the person is no curator or the producer is not theirs; nothing is stored.
        """
        if account.role != "curator":
            message = "Only a curator proposes at the desk."
            raise ForbiddenDecisionError(message)
        if form.producer_identity not in {one.identity for one in self.producers_of(account.person)}:
            message = "The policy does not map this producer to you as its owner."
            raise ForbiddenDecisionError(message)
        bearer = Bearer(id=0, name=form.producer_identity, role="producer", read=[])
        reply = await self._admission.submit(_body(form, account), [], bearer)
        answer = parse_json(reply.body, _Answer)
        kept = reply.status < 300  # noqa: PLR2004 -- the contract's statuses of success
        return Proposed(status=reply.status, proposal_id=answer.proposal_id if kept else None, reasons=answer.reasons)


class _Answer(Struct, frozen=True):
    """The members of an answer that the page needs."""

    proposal_id: str | None
    reasons: list[Reason]


def _body(form: ProposalForm, account: Account) -> bytes:
    """Return the body of a submission; a text that cannot be hashed is refused by its reader, who says why."""
    scope, _, scope_id = form.scope.strip().partition(":")
    payload: dict[str, Any] = {"kind": form.kind.strip(), "content": form.content}
    body: dict[str, Any] = {
        # The form of a usual key, derived from that of the form.
        "idempotency_key": str(UUID(bytes=blake3(form.decision_key.encode()).digest(length=16))),
        "producer_identity": form.producer_identity,
        "submission_scope": scope,
        "scope_id": scope_id,
        "payload": payload | ({"tags": tags} if (tags := form.tags.split()) else {}),
        "source_span": {"uri": form.source.strip() or f"desk:{account.name}"},
    }
    if form.supersedes.strip():
        body["supersedes"] = form.supersedes.strip()
    with contextlib.suppress(RequestRefusedError):
        body["source_event_hash"] = hash_event(body)
    return json.dumps(body, ensure_ascii=False).encode()

"""The quarantine: refused events beside the originals they collided with, and what a curator makes of them."""

import asyncio
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.canonical import canonical
from antechamber.core.errors import ForbiddenDecisionError, NotFoundError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.ports import Clock, Randomness, Rows, Store
from antechamber.core.records import QuarantineRow
from antechamber.core.review import InvalidDecisionError, Settlement, SettlementKind, check_note, text_hash
from antechamber.core.roles import Bearer, Person
from antechamber.flows.admit import Admission
from antechamber.flows.policies import PolicyKeeper

PAGE: Final = 50


class SettlementForm(Struct, frozen=True, kw_only=True):
    """What a curator's form about a refused event says."""

    kind: SettlementKind
    decision_key: str
    reason_text: str = ""


class Quarantine:
    """Shows refused events and settles them."""

    def __init__(
        self, store: Store, policies: PolicyKeeper, admission: Admission, clock: Clock, randomness: Randomness
    ) -> None:
        """Join the rules with a store; `admission` takes in what is opened as a proposal of its own."""
        self._store = store
        self._policies = policies
        self._admission = admission
        self._clock = clock
        self._randomness = randomness

    def waiting(self, after: str | None) -> tuple[list[QuarantineRow], str | None]:
        """Return one page of waiting refused events, newest first, and where the next begins."""
        with self._store.read() as rows:
            items = rows.quarantined(after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].quarantine_id if len(items) > PAGE else None

    async def settle(self, quarantine_id: str, form: SettlementForm, person: Person) -> str | None:
        """Settle a refused event and return the proposal that it became, if it was opened as one.

        Opening is admission under a key made of the event's own id, and the record follows: where the service is killed
        between the two, the same again finds the proposal there and only adds the record.

        Raises NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError, BusyError or
        UnavailableError.
        """
        row = await asyncio.to_thread(self._found, quarantine_id)
        self._check(row, form, person)
        opened = await self._open(row) if form.kind == "open" else None
        work = partial(self._record, row, form, person)
        await asyncio.wrap_future(self._store.promote(work))
        return opened

    def _found(self, quarantine_id: str) -> QuarantineRow:
        with self._store.read() as rows:
            row = rows.quarantined_event(quarantine_id)
        if row is None:
            message = "nothing here by that name"
            raise NotFoundError(message)
        return row

    def _check(self, row: QuarantineRow, form: SettlementForm, person: Person) -> None:
        if person.role != "curator":
            message = "Only a curator decides."
            raise ForbiddenDecisionError(message)
        if self._policies.current.policy.owner(row.producer_identity) == person.person:
            message = "You answer for this producer, so somebody else has to judge its events."
            raise ForbiddenDecisionError(message)
        if form.kind == "open" and row.payload is None:
            message = "Nothing of this event was kept, so it cannot be opened. Dismiss it."
            raise InvalidDecisionError(message)
        check_note(form.reason_text, self._policies.current.off)

    async def _open(self, row: QuarantineRow) -> str | None:
        producer = Bearer(id=0, name=row.producer_identity, role="producer", read=[])
        reply = await self._admission.submit(canonical(_event(row)), [], producer)
        answer: dict[str, Any] = msgspec.json.decode(reply.body)
        if answer["proposal_id"] is None:
            said = "; ".join(reason["message"] for reason in answer["reasons"])
            message = f"It cannot become a proposal: {said}."
            raise InvalidDecisionError(message)
        proposal_id: str = answer["proposal_id"]
        return proposal_id

    def _record(self, row: QuarantineRow, form: SettlementForm, person: Person, rows: Rows) -> None:
        now = self._clock()
        if not form.decision_key or rows.decision_with_key(form.decision_key):
            message = "this form was sent before, and counted once"
            raise StaleDecisionError(message)
        shown = canonical(row.payload)
        settlement = Settlement(
            kind=form.kind,
            review_record_id=uuid7(now, self._randomness(10)),
            reason_text=form.reason_text,
            shown=shown,
            shown_hash=text_hash(shown),
            decision_key=form.decision_key,
            policy_digest=self._policies.current.digest,
            decided_at=now,
        )
        rows.settle(row.quarantine_id, person, settlement)


def _event(row: QuarantineRow) -> dict[str, Any]:
    """Return a refused event as a submission of its own, under a key that belongs to nothing else."""
    body = {
        "idempotency_key": f"quarantine:{row.quarantine_id}",
        "producer_identity": row.producer_identity,
        "submission_scope": row.submission_scope,
        "scope_id": row.scope_id,
        "source_event_hash": row.source_event_hash,
        "payload": row.payload,
        "source_span": row.source_span,
        "visibility": row.visibility,
        "supersedes": row.supersedes,
    }
    return {name: value for name, value in body.items() if value is not None}

"""Sealed events: what a curator sees of them, reveals, and makes of them, and their end."""

import asyncio
from functools import partial
from typing import Final, Literal, cast

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.admission.canonical import normalize_text
from antechamber.core.admission.submission import Submission, read_draft, read_event
from antechamber.core.errors import ForbiddenDecisionError, NotFoundError, RequestRefusedError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.outgoing import hash_event
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.ports.vault import VaultError
from antechamber.core.review.decision import InvalidDecisionError
from antechamber.core.review.form_checks import check_note
from antechamber.core.review.quarantine import QuarantineForm, key_for_opening
from antechamber.core.review.sealed_event import (
    MaskedMember,
    MaskedSpan,
    SealedEvent,
    decode_event,
    field_content,
    mask_members,
    miss_examples,
    redact,
    spans_of,
)
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.sealed_events import RevealRow, RevealWrite, SealedText
from antechamber.flows.admit import Admission
from antechamber.flows.desk_views import require
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.quarantine import Quarantine, QuarantinedEvent, explain_refusal, permission_obstacle
from antechamber.flows.replies import Reply, reasons_of

MAX_ENDED: Final = 100
"""Maximum number of expired events that one transaction ends."""
SealedSettling = Literal["release", "destroy", "clear"]


class RevealForm(Struct, frozen=True, kw_only=True):
    """The values of the form that reveals one span."""

    span: int
    """The span's number."""
    decision_key: str
    reason_text: str


class SealedView(Struct, frozen=True, kw_only=True):
    """What a curator sees of a sealed event."""

    members: list[MaskedMember]
    """Every value with its spans masked, the content first; empty if the event cannot be read."""
    spans: list[MaskedSpan]
    content: str
    """The content with its spans replaced, for the field in which the curator changes it."""
    expires_at: int
    blocker: str | None
    """Why this person can only look at the masked text, or None."""
    problem: str | None
    """Why the event cannot be decrypted, or None."""


class Settled(Struct, frozen=True, kw_only=True):
    """The result of a decision on a sealed event."""

    proposal_id: str | None = None
    """The proposal that a released event became."""
    examples: str = ""
    """TOML with examples of a false alarm, shown once."""


class SealedEvents:
    """Shows sealed events, reveals spans of them, settles them, and ends those that expire.

    `quarantine` records the decisions, and `admission` admits what is released.
    """

    def __init__(
        self,
        store: Store,
        policies: PolicyReloader,
        quarantine: Quarantine,
        admission: Admission,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._store = store
        self._policies = policies
        self._quarantine = quarantine
        self._admission = admission
        self._vault = admission.vault
        self._clock = clock
        self._randomness = randomness

    def view(self, one: QuarantinedEvent, account: Account, revealed: int = 0) -> SealedView | None:
        """Return what this person sees of a quarantined event; None if no sealed text of it is there.

        `revealed` is the number of the span that is shown.
        """
        row = one.event
        if row.sealed_until is None or row.sealed_until <= self._clock():
            return None
        blocker = one.blocker or permission_obstacle(self._policies.current.policy, account.person)
        try:
            event = self._decrypt(row)
        except VaultError as error:
            return SealedView(
                members=[], spans=[], content="", expires_at=row.sealed_until, blocker=blocker, problem=str(error)
            )
        spans = spans_of(event)
        return SealedView(
            members=mask_members(event, spans, revealed),
            spans=spans,
            content=field_content(event, spans),
            expires_at=row.sealed_until,
            blocker=blocker,
            problem=None,
        )

    def titles(self) -> dict[str, str]:
        """Return the titles of rules by id."""
        return self._policies.current.gate.titles

    def reveals(self, one: QuarantinedEvent) -> list[RevealRow]:
        """Return what curators revealed of an event, oldest first."""
        with self._store.read() as tx:
            return tx.sealed_events.reveals(one.event.id)

    def reveal(self, quarantine_id: str, form: RevealForm, account: Account) -> None:
        """Record that a curator looks at one span; `view` shows it afterwards.

        Raises SignedOutError, NotFoundError, ForbiddenDecisionError, InvalidDecisionError, StaleDecisionError,
        BusyError or UnavailableError; then nothing is revealed.
        """
        _, event = self._open(quarantine_id, account)
        span = next((span for span in spans_of(event) if span.number == form.span), None)
        if span is None:
            message = "no such span"
            raise NotFoundError(message)
        if not form.reason_text.strip():
            message = "Write why you need to see it. The reason is kept with your name."
            raise InvalidDecisionError(message)
        self._check_note(form.reason_text)
        self._store.promote(partial(self._record_reveal, quarantine_id, span, form, account)).result()

    def _record_reveal(
        self, quarantine_id: str, span: MaskedSpan, form: RevealForm, account: Account, tx: Rows
    ) -> None:
        now = self._clock()
        check_signed_in(account, tx.access.signed_in(account.session), now)
        tx.quarantine.hold(quarantine_id)
        event = require(tx.quarantine.event(quarantine_id))
        if not form.decision_key or tx.sealed_events.has_reveal(form.decision_key) or event.sealed_until is None:
            message = "this form was sent before, or the sealed text is not there any more"
            raise StaleDecisionError(message)
        reveal = RevealWrite(
            reveal_id=uuid7(now, self._randomness(10)),
            pointer=span.pointer,
            rule_ids=" ".join(span.rule_ids),
            span=span.number,
            reason_text=form.reason_text,
            decision_key=form.decision_key,
            policy_digest=self._policies.current.digest,
            revealed_at=now,
            salt=self._randomness(SALT_SIZE),
        )
        tx.sealed_events.reveal(event, account, reveal)

    async def settle(self, quarantine_id: str, form: QuarantineForm, account: Account, content: str) -> Settled:
        """Release an event with this content, destroy it, or clear it as a false alarm; its sealed text ends.

        A release admits the redacted event under a key that no producer can use, in the transaction of the record.

        Raises what `Quarantine.settle` raises, and InvalidDecisionError if the redacted event cannot be admitted.
        """
        if form.kind == "destroy":
            await self._quarantine.settle_sealed(quarantine_id, form, account)
            return Settled()
        one, event = await asyncio.to_thread(self._open, quarantine_id, account)
        self._quarantine.check(one, form, account)
        if form.kind == "clear":
            await self._quarantine.settle_sealed(quarantine_id, form, account)
            return Settled(examples=miss_examples(event, spans_of(event)))
        submission = self._redacted(one.event, event, form, content)
        released = await self._admission.prepare_opened(submission, account.person)
        if isinstance(released, Reply):
            raise InvalidDecisionError(explain_refusal(reasons_of(released), form))
        return Settled(proposal_id=await self._quarantine.settle_sealed(quarantine_id, form, account, released))

    def _redacted(self, row: QuarantineRow, event: SealedEvent, form: QuarantineForm, content: str) -> Submission:
        """Return the redacted event with this content.

        Raises InvalidDecisionError, which says why that is not possible, without any value.
        """
        try:
            return _to_submission(row, redact(event, spans_of(event), content))
        except RequestRefusedError as error:
            raise InvalidDecisionError(explain_refusal(error.reasons, form)) from None

    def end_expired(self) -> None:
        """End the sealed texts that expired; runs in the background."""
        while (
            self._store.write(lambda tx: tx.sealed_events.end_expired(self._clock(), MAX_ENDED)).result() == MAX_ENDED
        ):
            continue

    def _open(self, quarantine_id: str, account: Account) -> tuple[QuarantinedEvent, SealedEvent]:
        """Return an event that this person may read in full, decrypted.

        Raises SignedOutError, NotFoundError, ForbiddenDecisionError or InvalidDecisionError.
        """
        with self._store.read() as tx:
            check_signed_in(account, tx.access.session(account.session), self._clock())
        one = self._quarantine.event(quarantine_id, account)
        blocker = one.blocker or permission_obstacle(self._policies.current.policy, account.person)
        if account.role != "curator" or blocker is not None:
            raise ForbiddenDecisionError(blocker or "Only a curator decides.")
        if one.event.sealed_until is None or one.event.sealed_until <= self._clock():
            message = "the sealed text is not there any more"
            raise StaleDecisionError(message)
        try:
            return one, self._decrypt(one.event)
        except VaultError as error:
            raise InvalidDecisionError(str(error)) from None

    def _decrypt(self, row: QuarantineRow) -> SealedEvent:
        with self._store.read() as tx:
            text: SealedText | None = tx.sealed_events.text(row.id)
        if text is None:
            message = "The sealed text ended meanwhile."
            raise VaultError(message)
        return decode_event(self._vault.open(text, row.quarantine_id))

    def _check_note(self, note: str) -> None:
        check_note(note, self._policies.current.gate)


def _to_submission(row: QuarantineRow, event: dict[str, object]) -> Submission:
    """Return a redacted event as a submission of its producer, parsed like any other.

    Raises RequestRefusedError if it is no valid event any more.
    """
    payload = cast("dict[str, object]", event["payload"])
    payload["content"] = normalize_text(str(payload["content"]))
    body = {
        "idempotency_key": "redacted",
        "producer_identity": row.producer_identity,
        "submission_scope": row.submission_scope,
        "scope_id": row.scope_id,
        **event,
    }
    body["source_event_hash"] = hash_event(body)
    parsed = read_event(read_draft(msgspec.json.encode(body)))
    return msgspec.structs.replace(
        parsed, idempotency_key=key_for_opening(row.quarantine_id), visibility=row.visibility
    )

"""The quarantine: quarantined events beside the originals they conflict with, and the decisions on them."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SignedOutError, check_signed_in
from antechamber.core.admission.canonical import canonical, join_event
from antechamber.core.admission.disposition import Candidate
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import Reason, Scope
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.metrics.definitions import DECISIONS_MADE
from antechamber.core.metrics.meters import Meters
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import (
    CurrentDecision,
    InvalidDecisionError,
    undo_needs_reason,
)
from antechamber.core.review.form_checks import check_note
from antechamber.core.review.hidden_text import fits, pretty, texts_of
from antechamber.core.review.history import last_standing
from antechamber.core.review.quarantine import (
    OF_SEALED,
    QuarantineDecision,
    QuarantineFacts,
    QuarantineForm,
    check_settlement,
    key_for_opening,
    settle,
    settlement_blocker,
)
from antechamber.core.review.quarantine_filter import matches
from antechamber.core.review.queue_filter import QueueFilter
from antechamber.core.review.text_diff import Hunk, compare, hunks
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.review import ReviewRecordRow
from antechamber.flows.admit import Admission
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import owners_of
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.replies import Reply, reasons_of

PAGE: Final = 50
WINDOW: Final = 1000
"""Maximum number of events that one filtered page looks through."""
_ALL: Final = QueueFilter()
IN_LIST: Final = 4000
"""Maximum weight of all texts of a quarantined event and its original to be shown whole in a list."""


class QuarantinedEvent(Struct, frozen=True, kw_only=True):
    """Everything that a curator sees of one quarantined event."""

    event: QuarantineRow
    difference: list[Hunk]
    """Where its text differs from the original's; empty if one of them was not kept, or is not shown whole."""
    whole: bool
    """Whether a list shows it whole; otherwise it is settled on its own page."""
    records: list[ReviewRecordRow]
    standing: CurrentDecision | None
    """The last decision on it that was not undone."""
    undo_needs_reason: bool
    owners: frozenset[str]
    """The producer's owners, then and now, who cannot decide on it."""
    blocker: str | None
    """Why this person cannot decide on it."""


class Quarantine:
    """Shows quarantined events and settles them; `admission` admits events that are opened as proposals."""

    def __init__(
        self, store: Store, policies: PolicyReloader, admission: Admission, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._policies = policies
        self._admission = admission
        self._clock = clock
        self._randomness = randomness
        self.meters: Final = Meters()

    def list_waiting(
        self, after: str | None, account: Account, wanted: QueueFilter = _ALL
    ) -> tuple[list[QuarantinedEvent], str | None]:
        """Return one page of waiting events that match a filter, newest first, and the cursor of the next page.

        One call looks through at most `WINDOW` events; the cursor then also continues behind these.
        """
        with self._store.read() as tx:
            items, following = self._matching(tx, wanted, after, PAGE)
            events = [self._gather(tx, event, account, listed=True) for event in items]
        return events, following

    def next_waiting(self, quarantine_id: str, wanted: QueueFilter = _ALL) -> str | None:
        """Return the next waiting event of the list that matches a filter, or its first one, or None."""
        with self._store.read() as tx:
            for after in (quarantine_id, None):
                items, _ = self._matching(tx, wanted, after, 2)
                for one in items:
                    if one.quarantine_id != quarantine_id:
                        return one.quarantine_id
        return None

    def _matching(
        self, tx: Rows, wanted: QueueFilter, after: str | None, number: int
    ) -> tuple[list[QuarantineRow], str | None]:
        """Return at most `number` matching events behind a cursor, and the cursor behind them if there may be more."""
        found, now = list[QuarantineRow](), self._clock()
        for _ in range(WINDOW // PAGE):
            items = tx.quarantine.waiting(after, PAGE + 1)
            for place, event in enumerate(items[:PAGE]):
                after = event.quarantine_id
                if wanted == _ALL or matches(event, wanted, now):
                    found.append(event)
                if len(found) == number:
                    return found, after if place + 1 < len(items) else None
            if len(items) <= PAGE:
                return found, None
        return found, after

    async def settle_many(
        self, decisions: Sequence[tuple[str, QuarantineForm]], account: Account
    ) -> list[tuple[str, str | None]]:
        """Settle events that a list shows whole, each as `settle` does with its own record; return ids and errors.

        Raises ForbiddenDecisionError if the person is no curator, SignedOutError if the session ended before the end.
        """
        if account.role != "curator":
            message = "Only a curator decides."
            raise ForbiddenDecisionError(message)
        return [(one, await self._settle_listed(one, form, account)) for one, form in decisions]

    async def _settle_listed(self, quarantine_id: str, form: QuarantineForm, account: Account) -> str | None:
        """Settle one event of a list; return why that was refused, or None."""
        try:
            view = await asyncio.to_thread(self._read_for, quarantine_id, account)
            if form.kind != "undo" and not _fits_in_list(view.event):
                return "It is too long to be shown whole in a list; open it and settle it alone."
            await self.settle(quarantine_id, form, account)
        except SignedOutError:
            raise
        except AntechamberError as error:
            return str(error)
        return None

    def event(self, quarantine_id: str, account: Account) -> QuarantinedEvent:
        """Return one quarantined event, waiting or settled.

        Raises NotFoundError if there is no such event.
        """
        with self._store.read() as tx:
            return self._gather(tx, require(tx.quarantine.event(quarantine_id)), account)

    def _gather(self, tx: Rows, event: QuarantineRow, account: Account, *, listed: bool = False) -> QuarantinedEvent:
        records = tx.quarantine.settlements(event.id) if event.version else []
        standing = last_standing(records)
        owners = self._owners(tx, event)
        before, after, whole = event.original_payload, event.payload, not listed or _fits_in_list(event)
        return QuarantinedEvent(
            event=event,
            difference=hunks(compare(before["content"], after["content"])) if before and after and whole else [],
            whole=whole,
            records=records,
            standing=standing,
            undo_needs_reason=standing is not None and undo_needs_reason(standing, account.person, self._clock()),
            owners=owners,
            blocker=settlement_blocker(owners, account.person),
        )

    def own_last_decision(self, quarantine_id: str, account: Account) -> QuarantinedEvent | None:
        """Return the quarantined event that this person just decided on; None if another decision is current."""
        with self._store.read() as tx:
            event = tx.quarantine.event(quarantine_id)
            view = self._gather(tx, event, account) if event else None
        return view if view and view.standing and not view.undo_needs_reason and not view.blocker else None

    def _owners(self, tx: Rows, event: QuarantineRow) -> frozenset[str]:
        """Return the owners of the producers of both events, then and now."""
        policy = self._policies.current.policy
        return owners_of(tx, policy, event.producer_identity, event.owner, event.original_owner)

    async def settle(self, quarantine_id: str, form: QuarantineForm, account: Account) -> str | None:
        """Settle a quarantined event or undo that; return the id of the proposal if the event was opened as one.

        Opening admits the event under a key that no producer can use, in the transaction that writes the record.

        Raises SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError,
        BusyError or UnavailableError.
        """
        if account.role != "curator" or form.kind in OF_SEALED:
            message = "Only a curator decides."
            raise ForbiddenDecisionError(message)
        view = await asyncio.to_thread(self._read_for, quarantine_id, account)
        self.check(view, form, account)
        opened = await self._admission.prepare_opened(_to_submission(view.event)) if form.kind == "open" else None
        if isinstance(opened, Reply):
            raise InvalidDecisionError(explain_refusal(reasons_of(opened), form))
        return await self._write(quarantine_id, form, account, opened)

    async def settle_sealed(
        self, quarantine_id: str, form: QuarantineForm, account: Account, released: Candidate | None = None
    ) -> str | None:
        """Settle a sealed event and end its text; return the id of the proposal that a released event becomes.

        Raises what `settle` raises.
        """
        view = await asyncio.to_thread(self._read_for, quarantine_id, account)
        self.check(view, form, account)
        return await self._write(quarantine_id, form, account, released)

    async def _write(
        self, quarantine_id: str, form: QuarantineForm, account: Account, opened: Candidate | None
    ) -> str | None:
        work = partial(self._record, quarantine_id, form, account, opened)
        proposal_id = await asyncio.wrap_future(self._store.promote(work))
        self.meters.count(DECISIONS_MADE, form.kind)
        return proposal_id

    def check(self, view: QuarantinedEvent, form: QuarantineForm, account: Account) -> None:
        """Refuse a decision that cannot be made on an event.

        Raises ForbiddenDecisionError, InvalidDecisionError or StaleDecisionError.
        """
        check_settlement(_facts(view.event, view.standing, view.owners), form, account.person)
        if form.kind in OF_SEALED and (obstacle := permission_obstacle(self._policies.current.policy, account.person)):
            raise ForbiddenDecisionError(obstacle)
        check_note(form.reason_text, self._policies.current.gate)

    def _read_for(self, quarantine_id: str, account: Account) -> QuarantinedEvent:
        with self._store.read() as tx:
            check_signed_in(account, tx.access.session(account.session), self._clock())
        return self.event(quarantine_id, account)

    def _record(
        self, quarantine_id: str, form: QuarantineForm, account: Account, opened: Candidate | None, tx: Rows
    ) -> str | None:
        """Write the record of a decision, and the proposal that an opened event becomes, whose id is returned.

        Raises InvalidDecisionError if it cannot become one.
        """
        check_signed_in(account, tx.access.signed_in(account.session), self._clock())
        if not form.decision_key or tx.review.decision_with_key(form.decision_key):
            message = "this form was sent before, and counted once"
            raise StaleDecisionError(message)
        tx.quarantine.hold(quarantine_id)
        event, now = require(tx.quarantine.event(quarantine_id)), self._clock()
        facts = _facts(event, last_standing(tx.quarantine.settlements(event.id)), self._owners(tx, event))
        settlement = QuarantineDecision(
            form=form,
            ruling=settle(facts, form, account.person, now),
            review_record_id=uuid7(now, self._randomness(10)),
            policy_digest=self._policies.current.digest,
            decided_at=now,
            salt=self._randomness(SALT_SIZE),
        )
        if form.kind in OF_SEALED:
            tx.sealed_events.end(event.id, now)
        tx.quarantine.settle(event, account, settlement)
        return event.opened_as or self._admit(opened, form, tx) if opened is not None else None

    def _admit(self, opened: Candidate, form: QuarantineForm, tx: Rows) -> str:
        reply = self._admission.admit_opened(opened, tx)
        proposal_id: str | None = msgspec.json.decode(reply.body)["proposal_id"]
        if proposal_id is None:
            raise InvalidDecisionError(explain_refusal(reasons_of(reply), form))
        return proposal_id


def explain_refusal(reasons: Sequence[Reason], form: QuarantineForm) -> str:
    """Return why an event cannot become a proposal, without any value of it, and what a curator can do."""
    causes = (f"{one.message} (at {one.pointer})" if one.pointer else one.message for one in reasons)
    remedy = " Change the text, or destroy the event." if form.kind == "release" else ""
    return f"It cannot become a proposal: {'; '.join(causes)}.{remedy}"


def permission_obstacle(policy: Policy, person: str) -> str | None:
    """Return why a person may not read and settle sealed events, or None."""
    if person in policy.reveal:
        return None
    return "Only the persons that the policy lists under reveal read and settle sealed events."


def _facts(event: QuarantineRow, standing: CurrentDecision | None, owners: frozenset[str]) -> QuarantineFacts:
    """Return the facts that a decision depends on; a conflict's text is kept unless the event is private or erased."""
    return QuarantineFacts(
        state=event.state,
        version=event.version,
        payload=event.payload,
        erased=event.kind == "conflict" and not event.keyed and event.payload is None,
        owners=owners,
        standing=standing,
        sealed=event.sealed_until is not None,
    )


def _fits_in_list(event: QuarantineRow) -> bool:
    payloads = [payload for payload in (event.original_payload, event.payload) if payload]
    spans = [pretty(span) for span in (event.original_span, event.source_span) if span]
    claims = [claim for claim in (event.supersedes, event.original_supersedes) if claim]
    claims += [memory_id for ids in (event.derived_from, event.original_derived_from) for memory_id in ids or ()]
    return fits([*spans, *claims, *(text for payload in payloads for text in texts_of(payload))], IN_LIST)


def _to_submission(row: QuarantineRow) -> Submission:
    """Return a quarantined event as a submission; it was parsed and hashed when it was quarantined."""
    payload, span = canonical(row.payload), canonical(row.source_span)
    return Submission(
        idempotency_key=key_for_opening(row.quarantine_id),
        producer_identity=row.producer_identity,
        submission_scope=cast("Scope", row.submission_scope),
        scope_id=cast("str", row.scope_id),
        source_event_hash=cast("str", row.source_event_hash),
        kind=cast("dict[str, Any]", row.payload)["kind"],
        payload_json=payload.decode(),
        source_span_json=span.decode(),
        size=len(join_event(payload, span)),
        visibility=row.visibility,
        supersedes=row.supersedes,
        derived_from=row.derived_from,
    )

"""Queries for quarantined events and the decisions on them."""

from typing import Any

from antechamber.core.access.callers import Account
from antechamber.core.conversion import convert
from antechamber.core.log.leaf import of_settlement
from antechamber.core.review.decision import text_hash
from antechamber.core.review.quarantine import QuarantineDecision
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.review import ReviewRecordRow
from antechamber.store.memories import decoded
from antechamber.store.statements import Statements


def _refused(row: dict[str, Any]) -> QuarantineRow:
    own = ("payload", "source_span", "findings", "supersedes", "derived_from")
    members = (*own, "original_payload", "original_span", "original_supersedes", "original_derived_from")
    return convert(decoded(row, *members), QuarantineRow, strict=False)


class QuarantineQueries:
    """Implements core.ports.quarantine.QuarantineRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def waiting(self, after: str | None, number: int) -> list[QuarantineRow]:
        return [_refused(row) for row in self._sql.all("waiting_quarantine", after=after, number=number)]

    def event(self, quarantine_id: str) -> QuarantineRow | None:
        row = self._sql.one("quarantined_event", quarantine_id=quarantine_id)
        return _refused(row) if row else None

    def hold(self, quarantine_id: str) -> None:
        self._sql.one("hold_quarantine", quarantine_id=quarantine_id)

    def settlements(self, quarantine: int) -> list[ReviewRecordRow]:
        rows = self._sql.all("review_records_of_quarantine", quarantine=quarantine)
        return convert(rows, list[ReviewRecordRow], strict=False)

    def settle(self, event: QuarantineRow, account: Account, settlement: QuarantineDecision) -> None:
        form, ruling = settlement.form, settlement.ruling
        self._sql.all(
            "add_review_record",
            review_record_id=settlement.review_record_id,
            proposal=None,
            quarantine=event.id,
            version=event.version,
            resulting_version=event.version + 1,
            decision=form.kind,
            reason_code=ruling.reason_code,
            reason_text=form.reason_text,
            curator=account.id,
            person=account.person,
            shown=ruling.shown.decode(),
            shown_hash=text_hash(ruling.shown),
            resulting=None,
            resulting_hash=None,
            approvals_required=1,
            self_edit=0,
            target=None,
            undoes=form.undoes if form.kind == "undo" else None,
            decision_key=form.decision_key,
            policy_digest=settlement.policy_digest,
            decided_at=settlement.decided_at,
        )
        self._sql.append_leaves([of_settlement(event, account, settlement)])
        self._sql.run("settle_quarantine", quarantine=event.id, state=ruling.state)
        self._sql.announce()

    def count(self, most: int) -> int:
        row = self._sql.one("count_quarantined", most=most)
        return row["number"] if row else 0

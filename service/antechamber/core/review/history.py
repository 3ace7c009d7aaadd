"""The history of decisions: which of them were not undone, and what was shown when they were made."""

from collections.abc import Sequence

from antechamber.core.review.decision import CurrentDecision
from antechamber.core.rows.review import ReviewRecordRow


def last_standing(records: Sequence[ReviewRecordRow]) -> CurrentDecision | None:
    """Return the last decision on one proposal or quarantined event that was not undone."""
    gone = {record.undoes for record in records}
    for record in reversed(records):
        if record.decision != "undo" and record.review_record_id not in gone:
            return CurrentDecision(
                review_record_id=record.review_record_id,
                kind=record.decision,
                person=record.person,
                decided_at=record.decided_at,
                shown=record.shown.encode(),
            )
    return None


def text_with_hash(records: Sequence[ReviewRecordRow], shown_hash: str) -> str | None:
    """Return the canonical payload with this hash, if a decision was made on it or resulted in it."""
    for record in records:
        if record.shown_hash == shown_hash:
            return record.shown
        if record.resulting_hash == shown_hash:
            return record.resulting
    return None

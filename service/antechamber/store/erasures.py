"""Deletes the text of a proposal or quarantined event; its keys, hashes and receipts stay."""

from typing import Any, Final, NamedTuple

import msgspec

from antechamber.core.errors import EraseError
from antechamber.core.log.leaf import of_erasure
from antechamber.core.log.rows import FeedEntry
from antechamber.core.review.decision import ERASED
from antechamber.core.review.queue_order import spaced
from antechamber.core.review.similarity import plain
from antechamber.core.search_terms import words_of
from antechamber.store.receipts import receipt_of
from antechamber.store.statements import Statements

ERASED_SPAN: Final = '{"uri":"erased:"}'


class Erasing(NamedTuple):
    """One erasure: its id, its reason, its time (microseconds since 1970 UTC), and the run of retention, if any."""

    erasure_id: str
    reason_code: str
    now: int
    retention: int | None = None
    retention_id: str | None = None


class Erasures:
    """Erases texts with named statements; each erasure appends a leaf."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def find(self, subject: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the row of a proposal and of a quarantined event, of which at least one is None.

        Until the transaction ends, no other one decides on them.
        """
        self._sql.all("hold_proposal", proposal_id=subject)
        self._sql.all("hold_quarantine", quarantine_id=subject)
        return self._sql.one("erasable_proposal", subject=subject), self._sql.one("erasable_event", subject=subject)

    def erase(self, subject: str, erasing: Erasing) -> None:
        """Erase all text of a decided proposal or settled event, with the salts of its commitments.

        Raises EraseError if it does not exist, still waits, is a memory or was erased before.
        """
        proposal, event = self.find(subject)
        row = check_erasable(subject, proposal, event)
        ids = {"proposal": row["id"] if proposal else None, "quarantine": None if proposal else row["id"]}
        self._sql.run(
            "add_erasure",
            erasure_id=erasing.erasure_id,
            reason_code=erasing.reason_code,
            erased_at=erasing.now,
            retention=erasing.retention,
            **ids,
        )
        if proposal:
            self._erase_proposal(row["id"])
        else:
            self._sql.run("erase_event", id=row["id"])
            self._sql.run("erase_reveals", id=row["id"])
        self._sql.run("erase_records", mark=ERASED, **ids)
        self._sql.run("erase_salts", **ids)
        names = {"proposal_id" if proposal else "quarantine_id": subject}
        if erasing.retention_id is not None:
            names["retention_id"] = erasing.retention_id
        feed = FeedEntry("erased", erasing.now, proposal=row["id"]) if proposal else None
        leaf = of_erasure(erasing.erasure_id, erasing.reason_code, erasing.now, **names)
        self._sql.append_leaves([leaf._replace(feed=feed)])

    def finish(self) -> None:
        """Remove what is left of erased texts in the full-text index and the files; call it once at the end."""
        self._sql.run("tidy_words")
        self._sql.drop_old_pages()
        self._sql.announce()

    def _erase_proposal(self, number: int) -> None:
        self._forget_words(number)
        self._sql.run("erase_memories", id=number, mark=ERASED, span=ERASED_SPAN)
        self._sql.run("erase_proposal", id=number, mark=ERASED, span=ERASED_SPAN)
        # A blind item has no submission, so no answer.
        for answer in self._sql.all("answer_of_proposal", id=number):
            self._sql.run("keep_receipt", id=number, receipt=receipt_of(answer))
        self._sql.run("erase_explanation", id=number)
        self._erase_fold(number)
        self._sql.run("erase_notes", id=number)
        self._sql.run("end_attention", proposal=number)

    def _erase_fold(self, proposal: int) -> None:
        """Show another waiting text in the queue row that showed the erased proposal's text, or no text."""
        other = self._sql.one("other_of_fold", id=proposal)
        payload = msgspec.json.decode(other["payload"]) if other else {"content": ""}
        self._sql.run(
            "erase_fold", id=proposal, content=plain(payload["content"]), tags=spaced(payload.get("tags", []))
        )

    def _forget_words(self, proposal: int) -> None:
        """Remove the words of the proposal's memories from the full-text index."""
        for row in self._sql.all("memories_of_proposal", id=proposal):
            words = " ".join(words_of(msgspec.json.decode(row["payload"])["content"]))
            self._sql.run("forget_words", memory=row["id"], words=words)


def check_erasable(subject: str, proposal: dict[str, Any] | None, event: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of the proposal or quarantined event to erase.

    Raises EraseError if there is none, or if it must not be erased.
    """
    row = proposal or event
    if row is None:
        message = f"there is no proposal and no refused event {subject}"
    elif row["erased"] is not None:
        message = f"{subject} was erased before"
    elif row["state"] in {"pending", "waiting"}:
        message = f"{subject} still waits; decide it at the desk first"
    elif row.get("active"):
        message = f"{subject} is a memory; retract it at the desk first"
    else:
        return row
    raise EraseError(message)

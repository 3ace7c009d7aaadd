"""Queries for sealed events: their encrypted texts, how these end, and what was revealed of them."""

from typing import Final

import msgspec

from antechamber.core.access.callers import Account
from antechamber.core.log.leaf import of_expiry, of_reveal
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.sealed_events import RevealRow, RevealWrite, SealedText
from antechamber.store.statements import Statements

_REVEALED: Final = ("reveal_id", "pointer", "rule_ids", "span", "reason_text", "decision_key", "policy_digest")


class SealedEventQueries:
    """Implements core.ports.sealed_events.SealedEventRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def text(self, quarantine: int) -> SealedText | None:
        row = self._sql.one("sealed_text", quarantine=quarantine)
        return SealedText(**row) if row else None

    def end(self, quarantine: int, now: int) -> None:
        self._sql.run("end_sealed_event", quarantine=quarantine, ended_at=now, expired=0)
        self._sql.drop_old_pages()

    def end_expired(self, now: int, number: int) -> int:
        rows = self._sql.all("expired_sealed_events", now=now, number=number)
        for row in rows:
            # Another process may end it at the same time; then it writes the leaf.
            if self._sql.run("end_sealed_event", quarantine=row["quarantine"], ended_at=now, expired=1):
                self._sql.append_leaves([of_expiry(row["quarantine_id"], now)])
        if rows:
            self._sql.drop_old_pages()
            self._sql.announce()
        return len(rows)

    def reveal(self, event: QuarantineRow, account: Account, reveal: RevealWrite) -> None:
        members = msgspec.structs.asdict(reveal)
        self._sql.run(
            "add_reveal",
            **{name: members[name] for name in _REVEALED},
            quarantine=event.id,
            curator=account.id,
            person=account.person,
            revealed_at=reveal.revealed_at,
        )
        self._sql.append_leaves([of_reveal(event.quarantine_id, account, reveal)])

    def reveals(self, quarantine: int) -> list[RevealRow]:
        return [RevealRow(**row) for row in self._sql.all("reveals_of_quarantine", quarantine=quarantine)]

    def has_reveal(self, decision_key: str) -> bool:
        return self._sql.one("reveal_with_key", decision_key=decision_key) is not None

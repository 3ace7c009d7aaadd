"""The store's interface for sealed events."""

from typing import Protocol

from antechamber.core.access.callers import Account
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.sealed_events import RevealRow, RevealWrite, SealedText


class SealedEventRows(Protocol):
    """Encrypted private events, and what curators revealed of them."""

    def text(self, quarantine: int) -> SealedText | None:
        """Return the encrypted text of a quarantined event; None if it has none, or no longer."""

    def end(self, quarantine: int, now: int) -> None:
        """Delete ciphertext and wrapped key of an event that is settled in this transaction."""

    def end_expired(self, now: int, number: int) -> int:
        """Delete ciphertexts and wrapped keys that expired until `now`, at most `number`; return how many these are."""

    def reveal(self, event: QuarantineRow, account: Account, reveal: RevealWrite) -> None:
        """Record that a curator looks at a span."""

    def reveals(self, quarantine: int) -> list[RevealRow]:
        """Return what was revealed of a quarantined event, oldest first."""

    def has_reveal(self, decision_key: str) -> bool:
        """Return whether a form with this key revealed a span already."""

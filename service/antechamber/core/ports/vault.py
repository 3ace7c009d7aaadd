"""What flows need to encrypt private events."""

from typing import Protocol

from antechamber.core.errors import AntechamberError
from antechamber.core.rows.sealed_events import SealedText


class VaultError(AntechamberError):
    """Raised when a sealed event cannot be decrypted; the message says what an operator can do."""


class Vault(Protocol):
    """Encrypts events, each under a key of its own that is wrapped by a key outside the database."""

    def seal(self, text: bytes, quarantine_id: str) -> SealedText:
        """Encrypt a text; only under the same quarantine id it can be decrypted."""

    def open(self, sealed: SealedText, quarantine_id: str) -> bytes:
        """Decrypt a text, which may end in added spaces.

        Raises VaultError if another key wrapped it, or if it or the id was changed.
        """

"""The vault of sealed events: AES-256-GCM under a data key per event, which the key of a file wraps.

The database holds ciphertext and wrapped key. The database alone reveals nothing, and once the wrapped key is deleted,
neither does the file.
"""

import os
from typing import Final

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from antechamber.core.ports.vault import VaultError
from antechamber.core.rows.sealed_events import SealedText

_NONCE: Final = 12
"""Bytes of a nonce (NIST SP 800-38D, 8.2.2: random nonces)."""
_KEY: Final = 32
_BLOCK: Final = 1024
"""Texts are padded to a multiple of this many bytes, so that the ciphertext does not show their length."""
_TEXT: Final = b"antechamber sealed event "
_WRAP: Final = b"antechamber wrapped key "


class EventVault:
    """Implements core.ports.vault.Vault with the key of a data folder."""

    def __init__(self, key: bytes) -> None:
        """Take a key of 32 bytes."""
        self._wrapping = AESGCM(key)
        self.key_check: Final = blake3(b"antechamber quarantine.key", key=key).hexdigest()[:16]

    def seal(self, text: bytes, quarantine_id: str) -> SealedText:
        """Encrypt a text; only under the same quarantine id it can be decrypted."""
        data_key, bound = os.urandom(_KEY), quarantine_id.encode()
        padded = text.ljust(-(-len(text) // _BLOCK) * _BLOCK)
        return SealedText(
            ciphertext=_encrypt(AESGCM(data_key), padded, _TEXT + bound),
            wrapped_key=_encrypt(self._wrapping, data_key, _WRAP + bound),
            key_check=self.key_check,
        )

    def open(self, sealed: SealedText, quarantine_id: str) -> bytes:
        """Decrypt a text, which may end in added spaces.

        Raises VaultError if another key wrapped it, or if it or the id was changed.
        """
        if sealed.key_check != self.key_check:
            message = (
                "This event was sealed with another quarantine.key than that of this data folder. Restore that file, "
                "or copy it from the machine that received the event, and restart the service."
            )
            raise VaultError(message)
        bound = quarantine_id.encode()
        try:
            data_key = _decrypt(self._wrapping, sealed.wrapped_key, _WRAP + bound)
            return _decrypt(AESGCM(data_key), sealed.ciphertext, _TEXT + bound)
        except InvalidTag:
            message = "The sealed text was changed in the database, so it cannot be decrypted. Destroy the event."
            raise VaultError(message) from None


def _encrypt(cipher: AESGCM, text: bytes, bound: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + cipher.encrypt(nonce, text, bound)


def _decrypt(cipher: AESGCM, text: bytes, bound: bytes) -> bytes:
    return cipher.decrypt(text[:_NONCE], text[_NONCE:], bound)

"""Passwords, for whoever has no link at hand. Here and nowhere else is argon2."""

import threading
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from antechamber.core.errors import AntechamberError

_HASHERS_AT_ONCE: Final = 2
"""Each takes 64 MiB, so that a flood of sign-ins cannot exhaust the memory."""
_SHORTEST_PASSWORD: Final = 12


class Passwords:
    """Hashes and checks passwords with argon2id (RFC 9106, low-memory parameters)."""

    def __init__(self) -> None:
        """Begin with nobody's turn."""
        self._hasher = PasswordHasher()
        self._turns = threading.BoundedSemaphore(_HASHERS_AT_ONCE)

    def hash(self, password: str) -> str:
        """Hash a password.

        Raises AntechamberError where it is shorter than 12 characters.
        """
        if len(password) < _SHORTEST_PASSWORD:
            message = f"a password takes at least {_SHORTEST_PASSWORD} characters"
            raise AntechamberError(message)
        with self._turns:
            return self._hasher.hash(password)

    def verify(self, password: str, known: str | None) -> bool:
        """Check a password; None stands for a name without one and takes as long to refuse: hashing is what takes."""
        with self._turns:
            if known is None:
                self._hasher.hash(password)
                return False
            try:
                return self._hasher.verify(known, password)
            except (VerificationError, InvalidHashError):
                return False

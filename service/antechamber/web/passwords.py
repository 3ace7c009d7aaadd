"""Password hashing and its limits; the only module that uses argon2."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from antechamber.core.errors import AntechamberError

T = TypeVar("T")

HASHERS: Final = 2
"""Number of hashing threads; each takes 64 MiB, so that a flood of sign-ins cannot exhaust the memory."""
MAX_SIGN_INS: Final = 16
"""Sign-ins by password in progress or waiting for a thread; further ones are refused at once."""
AGAIN_SECONDS: Final = 5
"""Seconds after which a refused sign-in may be tried again."""
_NICENESS: Final = 10
"""Lowers the priority of hashing threads by this much, in units of nice(1)."""
_SHORTEST_PASSWORD: Final = 12


class TooManySignInsError(AntechamberError):
    """More sign-ins by password than can be answered soon."""

    temporary = True

    def __init__(self) -> None:
        super().__init__("Too many sign-ins at once; try again in a few seconds.")
        self.wait = AGAIN_SECONDS


def _give_way() -> None:
    """Lower the priority of the current thread and of the threads that argon2 starts from it, if the system can."""
    if sys.platform == "linux":
        # On other systems a priority applies to the whole process.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class Passwords:
    """Hashes and verifies passwords with argon2id (RFC 9106, low-memory parameters)."""

    def __init__(self, most: int = MAX_SIGN_INS) -> None:
        self._hasher = PasswordHasher()
        self._most = most
        self._under_way = 0
        self._threads = ThreadPoolExecutor(HASHERS, thread_name_prefix="password", initializer=_give_way)

    async def signing_in(self, work: Callable[[], T]) -> T:
        """Run a sign-in, which hashes, in a dedicated thread; called from the event loop only.

        Raises TooManySignInsError at once if too many are in progress.
        """
        if self._under_way >= self._most:
            raise TooManySignInsError
        self._under_way += 1
        done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        done.add_done_callback(self._leave)
        return await asyncio.shield(done)

    def _leave(self, _: "asyncio.Future[T]") -> None:
        self._under_way -= 1

    def close(self) -> None:
        """Shut down the threads."""
        self._threads.shutdown()

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        Raises AntechamberError if it is shorter than 12 characters.
        """
        if len(password) < _SHORTEST_PASSWORD:
            message = f"a password takes at least {_SHORTEST_PASSWORD} characters"
            raise AntechamberError(message)
        return self._hasher.hash(password)

    def verify(self, password: str, hashed: str | None) -> bool:
        """Verify a password; None means that there is no hash, and takes as long to refuse, because it also hashes."""
        if hashed is None:
            self._hasher.hash(password)
            return False
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

"""Limits against password guessing: attempts are counted by name and by address before a password is checked.

An attempt counts as failed until it succeeds, so that concurrent attempts are counted, too.
"""

from typing import Final

from blake3 import blake3

from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.ports.access import AccessRows

MAX_FAILURES: Final = 5
"""Failures of one name within `COUNTED_MICROSECONDS` after which further attempts are refused."""
MAX_FAILURES_OF_ADDRESS: Final = 50
COUNTED_MICROSECONDS: Final = 15 * 60 * 1_000_000


class TooManyAttemptsError(AntechamberError):
    """Raised after too many failed sign-ins; `wait` is the number of seconds to wait."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"Too many failed attempts. Try again in {counted(max(1, wait // 60), 'minute')}.")
        self.wait = wait


def subjects_of(name: str, address: str = "") -> list[str]:
    """Return the subjects under which attempts are counted: digests of the name and, if it is known, of the address."""
    return [_digest("name", name)] + ([_digest("address", address)] if address else [])


def check_attempts(access: AccessRows, subjects: list[str], now: int) -> None:
    """Refuse a further attempt after too many failures.

    Raises TooManyAttemptsError if a subject reached its limit.
    """
    for subject, limit in zip(subjects, (MAX_FAILURES, MAX_FAILURES_OF_ADDRESS), strict=False):
        count, last = access.failures(subject, now - COUNTED_MICROSECONDS)
        if count >= limit:
            raise TooManyAttemptsError((last + COUNTED_MICROSECONDS - now) // 1_000_000)


def count_attempt(access: AccessRows, subjects: list[str], now: int) -> list[int]:
    """Count an attempt as failed; return the ids of the counted failures.

    Raises TooManyAttemptsError if a subject reached its limit.
    """
    access.hold_failures()
    check_attempts(access, subjects, now)
    return [access.add_failure(subject, now) for subject in subjects]


def forgive(access: AccessRows, subjects: list[str], counted: list[int], now: int) -> None:
    """Delete the count of an attempt that succeeded, and the failures of its name."""
    access.take_back_failures(counted)
    access.forget_failures(subjects[0], now - COUNTED_MICROSECONDS)


def _digest(kind: str, value: str) -> str:
    """Return the digest that an attempt is stored under; the typed name itself may be a password in the wrong field."""
    return blake3(f"{kind}:{value}".encode("utf-8", "surrogatepass")).hexdigest()[:32]

"""Retries: how many attempts of a producer brought nothing new, and when that is a sign of trouble."""

from typing import Final

from msgspec import Struct

MARKED_RATE: Final = 50_000
"""From above this duplicate rate of an hour on, in millionths, a producer's channel is marked: 5 %."""


class DuplicateRateRow(Struct, frozen=True, kw_only=True):
    """Attempts of one producer on one channel, and how many of them brought nothing new."""

    producer_identity: str
    channel: str
    submissions: int
    """Attempts that got an answer of their own."""
    duplicates: int
    """Submissions of what was there already."""
    replays: int
    """Attempts under a key that was answered before."""
    worst: int
    """The highest duplicate rate of a clock hour, in millionths."""

    @property
    def attempts(self) -> int:
        """Submissions and replays."""
        return self.submissions + self.replays

    @property
    def rate(self) -> float:
        """The duplicate rate: the share of attempts that brought nothing new."""
        return (self.duplicates + self.replays) / self.attempts

    @property
    def worst_rate(self) -> float:
        """The highest duplicate rate of a clock hour."""
        return self.worst / 1_000_000

    @property
    def marked(self) -> bool:
        """Whether the duplicate rate of an hour says that something is wrong."""
        return self.worst > MARKED_RATE

    @property
    def tax(self) -> float | None:
        """Attempts per submission; None where there were only replays."""
        return self.attempts / self.submissions if self.submissions else None

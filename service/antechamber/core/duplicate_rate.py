"""Retries: how many attempts of a producer were duplicates, and from which rate they indicate a problem."""

from typing import Final

from msgspec import Struct

MARKED_RATE: Final = 50_000
"""Duplicate rate of an hour, in millionths, above which a producer's channel is marked: 5 %."""


class DuplicateRateRow(Struct, frozen=True, kw_only=True):
    """Attempts of one producer on one channel, and how many of them were duplicates."""

    producer_identity: str
    channel: str
    submissions: int
    """Attempts that received their own answer."""
    duplicates: int
    """Submissions of an event that was stored already."""
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
        """The duplicate rate: the share of attempts that added nothing new."""
        return (self.duplicates + self.replays) / self.attempts

    @property
    def worst_rate(self) -> float:
        """The highest duplicate rate of a clock hour."""
        return self.worst / 1_000_000

    @property
    def marked(self) -> bool:
        """Whether the duplicate rate of an hour indicates a problem."""
        return self.worst > MARKED_RATE

    @property
    def tax(self) -> float | None:
        """Attempts per submission; None if there were only replays."""
        return self.attempts / self.submissions if self.submissions else None

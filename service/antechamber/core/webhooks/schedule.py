"""When an endpoint is tried again, and what a result changes about it."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.rows.webhooks import Webhook

FIRST_PAUSE: Final = 5_000_000
"""Microseconds before the second attempt; each further failure doubles them."""
LONGEST_PAUSE: Final = 21_600_000_000
"""Six hours in microseconds."""
_DOUBLINGS: Final = 13
"""Failures after which the pause grows no more."""
_GONE: Final = 410
"""The status with which a receiver says that it wants no more events (RFC 9110, 15.5.11)."""


class Answer(Struct, frozen=True):
    """The result of one attempt: the status of the receiver, or None and why there was none."""

    status: int | None
    error: str = ""

    @property
    def delivered(self) -> bool:
        """Whether the receiver took the event."""
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004 -- the class of successful statuses

    @property
    def gone(self) -> bool:
        """Whether the receiver wants no more events."""
        return self.status == _GONE

    @property
    def text(self) -> str:
        """Why the attempt failed, for operators."""
        if self.status is None:
            return self.error
        if self.status // 100 == 3:  # noqa: PLR2004 -- the class of redirects
            return f"the receiver answered {self.status}, and redirects are not followed"
        return f"the receiver answered {self.status}"


def pause(attempts: int, random: int) -> int:
    """Return the microseconds to wait after this many failed attempts, of which at least half is not random.

    `random` is a byte, 0 to 255.
    """
    longest = min(FIRST_PAUSE << min(attempts - 1, _DOUBLINGS), LONGEST_PAUSE)
    return longest // 2 + longest * random // 510


def after_attempt(webhook: Webhook, place: tuple[int, int], answer: Answer, now: int, random: int) -> Webhook:
    """Return an endpoint after an attempt; `place` is the position behind the event: next leaf and last alarm."""
    if answer.delivered:
        following, alarm = place
        return replace(
            webhook,
            next_sequence=following,
            last_alarm=alarm,
            delivered=webhook.delivered + 1,
            delivered_at=now,
            attempts=0,
            next_at=0,
            failing_since=None,
            last_error=None,
        )
    attempts = webhook.attempts + 1
    return replace(
        webhook,
        state="disabled" if answer.gone else webhook.state,
        attempts=attempts,
        next_at=now + pause(attempts, random),
        failing_since=webhook.failing_since or now,
        last_error=answer.text,
    )

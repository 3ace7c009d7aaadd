"""What flows need to deliver webhooks: the store's rows of endpoints, and a sender."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.webhooks import AlarmRow, Webhook, WebhookReplay
from antechamber.core.webhooks.message import Message
from antechamber.core.webhooks.schedule import Answer


class WebhookRows(Protocol):
    """Endpoints and the alarms that are sent to them."""

    def add(self, webhook: Webhook) -> None:
        """Store a new endpoint."""

    def all(self) -> list[Webhook]:
        """Return the endpoints that were not removed, oldest first."""

    def remove(self, webhook_id: str, now: int) -> bool:
        """Remove an endpoint; return whether there was one."""

    def replay(self, write: WebhookReplay) -> bool:
        """Move an endpoint back, and make it active; return whether there was one."""

    def take(self, webhook: Webhook, holder: str, now: int, until: int) -> bool:
        """Give an endpoint to a process until a time; return False if another process has it or it changed.

        An endpoint that another process delivered to since it was read has changed: its position would be sent again.
        """

    def note(self, webhook: Webhook, holder: str, until: int) -> bool:
        """Store how far an endpoint got; return False, storing nothing, if it changed or another process has it."""

    def add_alarms(self, sources: Sequence[str], now: int) -> None:
        """Store alarms; those of more than 30 days ago that every endpoint has got are deleted."""

    def alarms(self, after: int, number: int) -> list[AlarmRow]:
        """Return alarms after a number, in order."""

    def last_alarm(self, before: int) -> int:
        """Return the number of the last alarm that was raised when the log was shorter than `before`; 0 if none was."""


class Sender(Protocol):
    """Sends messages to endpoints."""

    async def send(self, url: str, message: Message, *, allow_private: bool) -> Answer:
        """Post a message and return the result; no failure of the receiver or the network raises an error."""

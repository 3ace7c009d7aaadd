"""Messages of webhooks: body and headers after the Standard Webhooks specification (version 1, symmetric key)."""

import base64
from datetime import UTC, datetime
from typing import Any, Final

from blake3 import blake3
from msgspec import Struct, json
from standardwebhooks import Webhook

from antechamber import __version__
from antechamber.core.webhooks.events import Event

_SECRET: Final = b"antechamber webhook "


class Message(Struct, frozen=True, kw_only=True):
    """What is sent for an event: the headers by their names, and the body."""

    headers: dict[str, str]
    body: bytes


def derive_secret(folder_secret: bytes, webhook_id: str) -> str:
    """Return the signing secret of an endpoint, as `whsec_` and 32 bytes in base64.

    It is derived from the folder's 32-byte secret, so that the database holds no part of it.
    """
    return "whsec_" + base64.b64encode(blake3(_SECRET + webhook_id.encode(), key=folder_secret).digest()).decode()


def message_id(webhook_id: str, event: Event) -> str:
    """Return the id of an event at an endpoint, which is the same whenever the event is sent again."""
    place = str(event.sequence) if event.alarm is None else f"alarm_{event.alarm}"
    return f"msg_{webhook_id}_{place}"


def body_of(event: Event, *, scope: tuple[str | None, str | None], link: str, content: str | None) -> bytes:
    """Return the body of an event: ids, scope, words from closed lists and a link; `content` is None unless allowed."""
    kind, scope_id = scope
    data: dict[str, Any] = {"sequence": event.sequence, **event.ids, **event.facts, "link": link}
    if kind is not None and scope_id is not None:
        data |= {"submission_scope": kind, "scope_id": scope_id}
    if content is not None:
        data["content"] = content
    return json.encode({"type": event.type, "timestamp": event.at, "data": data})


def sign_message(secret: str, identity: str, body: bytes, now: int) -> Message:
    """Return the message of a body with its signed headers; `now` is in microseconds since 1970 UTC."""
    moment = datetime.fromtimestamp(now // 1_000_000, UTC)
    headers = {
        "content-type": "application/json",
        "user-agent": f"Antechamber/{__version__}",
        "webhook-id": identity,
        "webhook-timestamp": str(now // 1_000_000),
        "webhook-signature": Webhook(secret).sign(msg_id=identity, timestamp=moment, data=body.decode()),
    }
    return Message(headers=headers, body=body)

"""Form the messages of webhooks: ids, scope and link of an event, and the text only where the policy allows it."""

from antechamber.core.contract import SCOPES
from antechamber.core.policy import Policy
from antechamber.core.ports.store import Rows, Store
from antechamber.core.webhooks.events import Event
from antechamber.core.webhooks.message import Message, body_of, derive_secret, message_id, sign_message
from antechamber.flows.live_policy import PolicyReloader


class WebhookMessages:
    """Forms messages with the state of that moment: a text that was erased or withdrawn is not sent any more.

    `secret` is the folder's 32-byte secret; `address` is the address of the desk, for links.
    """

    def __init__(self, store: Store, policies: PolicyReloader, secret: bytes, address: str) -> None:
        self._store = store
        self._policies = policies
        self._secret = secret
        self._address = address

    def form(self, webhook_id: str, event: Event, now: int) -> Message:
        """Return the signed message of an event.

        Raises BusyError or UnavailableError.
        """
        with self._store.read() as tx:
            scope = (None, None) if event.alarm is not None else tx.log.scope_of(event.sequence)
            allowed = _allows_text(self._policies.current.policy, scope[0])
            content = _content(tx, event) if allowed else None
        body = body_of(event, scope=scope, link=self._address + _path(event), content=content)
        return sign_message(derive_secret(self._secret, webhook_id), message_id(webhook_id, event), body, now)


def _allows_text(policy: Policy, scope: str | None) -> bool:
    return any(policy.rules(one).webhook_text for one in SCOPES if one == scope)


def _content(tx: Rows, event: Event) -> str | None:
    """Return the present text of the event's proposal or memory; None if it was withdrawn as private, or has ended."""
    if "proposal_id" in event.ids:
        proposal = tx.review.proposal(event.ids["proposal_id"])
        return None if proposal is None or proposal.withdrawn else str(proposal.payload["content"])
    memory = tx.review.memory(event.ids["memory_id"])
    return None if memory is None or memory.state != "active" else str(memory.payload["content"])


def _path(event: Event) -> str:
    """Return the page of the desk about an event."""
    if "proposal_id" in event.ids:
        return f"/review/{event.ids['proposal_id']}"
    return f"/memories/{event.ids['memory_id']}" if "memory_id" in event.ids else "/dashboard"

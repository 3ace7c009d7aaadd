"""Connects the log as tiles with the witnesses that cosign it."""

import asyncio

from antechamber.background import Background
from antechamber.checkpoint_signer import verify
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.core.webhooks.message import Message
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_tiles import LogTiles
from antechamber.flows.log_witnesses import LogWitnesses
from antechamber.webhook_sender import HttpSender


def post(url: str, content: bytes, *, allow_private: bool) -> tuple[int, bytes]:
    """Post a text and return status and body of the answer; in a thread without an event loop.

    Raises FetchError.
    """
    message = Message(body=content, headers={"content-type": "text/plain; charset=utf-8"})
    return asyncio.run(HttpSender().post(url, message, allow_private=allow_private))


def connect_tiles(store: Store, policies: PolicyReloader, now: Clock, background: Background) -> LogTiles:
    """Return the log as tiles; alarms about witnesses are listed with the others."""
    witnesses = LogWitnesses(store, policies, post, verify, now)
    background.add_alarms(witnesses.alarms, "witness")
    return LogTiles(store, policies, witnesses)

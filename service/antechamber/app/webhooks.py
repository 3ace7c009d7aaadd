"""Connects the delivery of webhooks, and opens a data location for the command line's work on endpoints."""

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from antechamber.app.maintenance import clock, open_store, refuse_doubt
from antechamber.background import Background
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.webhooks.delivery import WebhookDelivery
from antechamber.flows.webhooks.endpoints import Webhooks
from antechamber.flows.webhooks.messages import WebhookMessages
from antechamber.secret_key import load_secret
from antechamber.settings import Location, Settings
from antechamber.webhook_sender import HttpSender

_ONLY: Final = "service"
"""The holder of all endpoints on SQLite, where one process serves a folder: the next one goes on at once."""


def connect_delivery(
    store: Store, settings: Settings, policies: PolicyReloader, now: Clock, process_id: str, background: Background
) -> WebhookDelivery:
    """Return the delivery of webhooks of a process; processes that share a database hold endpoints by their ids."""
    messages = WebhookMessages(store, policies, load_secret(settings.data), settings.url)
    holder = _ONLY if settings.database_url is None else process_id
    work = background.work("delivering webhooks")
    return WebhookDelivery(store, messages, HttpSender(), now, os.urandom, holder=holder, work=work)


@contextlib.contextmanager
def opened_webhooks(location: Location, *, grants: bool = False) -> Iterator[Webhooks]:
    """Open a store for the command line's work on webhooks.

    `grants` is for work that sends events somewhere: it raises LogError while the log contradicts the last signed
    checkpoint.
    """
    store = open_store(location, create=False)
    try:
        if grants:
            refuse_doubt(store, location)
        yield Webhooks(store, clock, os.urandom, load_secret(location.data))
    finally:
        store.close()

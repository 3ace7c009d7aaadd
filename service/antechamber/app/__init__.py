"""The composition root: connects store, flows and web, and runs them as one process.

This package imports what works on a data location without serving it. `factory` and `server` import the whole web
layer; only `serve` imports them, so that every other verb of the command line starts in a fraction of the time.
"""

from antechamber.app.calibration import opened_calibration
from antechamber.app.maintenance import (
    bind_secret,
    clock,
    erase,
    examine,
    hash_password,
    list_pending_steps,
    migrate,
    open_log,
    open_store,
    opened_access,
    opened_log,
)
from antechamber.app.rehearsing import rehearse
from antechamber.app.retaining import plan_retention, run_retention
from antechamber.app.webhooks import opened_webhooks

__all__ = [
    "bind_secret",
    "clock",
    "erase",
    "examine",
    "hash_password",
    "list_pending_steps",
    "migrate",
    "open_log",
    "open_store",
    "opened_access",
    "opened_calibration",
    "opened_log",
    "opened_webhooks",
    "plan_retention",
    "rehearse",
    "run_retention",
]

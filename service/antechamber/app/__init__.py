"""The composition root: joins store, flows and web, and runs them as one process."""

from antechamber.app.joined import create_app
from antechamber.app.places import (
    bind_secret,
    clock,
    erase,
    examine,
    hash_password,
    migrate,
    open_log,
    open_store,
    opened_access,
    opened_log,
)
from antechamber.app.serving import serve

__all__ = [
    "bind_secret",
    "clock",
    "create_app",
    "erase",
    "examine",
    "hash_password",
    "migrate",
    "open_log",
    "open_store",
    "opened_access",
    "opened_log",
    "serve",
]

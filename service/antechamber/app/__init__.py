"""The composition root: joins store, flows and web, and runs them as one process.

What works on a place without serving it is here; `joined` and `serving` bring in all of the web and are asked for by
name, so that every other verb of the command line starts in a fraction of the time.
"""

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

__all__ = [
    "bind_secret",
    "clock",
    "erase",
    "examine",
    "hash_password",
    "migrate",
    "open_log",
    "open_store",
    "opened_access",
    "opened_log",
]

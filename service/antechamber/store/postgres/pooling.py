"""Find out whether a pooler gives each transaction another session; ours need their own."""

import contextlib
from typing import Final

import psycopg

from antechamber.store.errors import StoreError
from antechamber.store.postgres.connection import CONNECT_SECONDS
from antechamber.store.postgres.statements import single

_OTHERS: Final = 4
POOLED: Final = (
    "the pooler of --database-url gives each transaction another session (PgBouncer: pool_mode = transaction or "
    "statement), in which roles, time limits and LISTEN get lost; set pool_mode = session, or connect directly"
)


def refuse_transaction_pooling(url: str) -> None:
    """Refuse a pooler that shares one session between clients which stay connected.

    One client asks which process of the server serves it, and stays connected but idle. Then others keep a transaction
    open each. If one of them is served by the process of the first, sessions are shared.

    Raises StoreError, also if the server cannot be reached.
    """
    try:
        shared = _shares_sessions(url)
    except psycopg.Error as error:
        message = f"the database cannot be opened: {str(error).strip()}"
        raise StoreError(message) from error
    if shared:
        raise StoreError(POOLED)


def _shares_sessions(url: str) -> bool:
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS))
        first = link.execute(single("serving_process")).fetchone()
        for _ in range(_OTHERS):
            other = stack.enter_context(psycopg.connect(url, connect_timeout=CONNECT_SECONDS))
            if other.execute(single("serving_process")).fetchone() == first:
                return True
    return False

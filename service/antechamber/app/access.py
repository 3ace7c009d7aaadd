"""Connects the flows of access with each other."""

from collections.abc import Callable

from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Store
from antechamber.flows.access import AccessFlows
from antechamber.flows.accounts import Accounts
from antechamber.flows.last_use import LastUse
from antechamber.flows.passwords import AccountPasswords
from antechamber.flows.public_address import PublicAddress
from antechamber.flows.sessions import Sessions
from antechamber.flows.sign_in import SignIn
from antechamber.flows.token_check import TokenCheck
from antechamber.flows.tokens import Tokens


def connect_access(
    store: Store, clock: Clock, randomness: Randomness, secret: bytes, check: Callable[[], object] = lambda: None
) -> AccessFlows:
    """Return the flows of access over one store.

    `secret` is the folder's 32-byte secret; `check` raises ClosedError while sign-in is closed.
    """
    last_use = LastUse(store)
    sessions = Sessions(store, clock, randomness, secret, last_use, check)
    return AccessFlows(
        tokens=Tokens(store, clock, randomness),
        token_check=TokenCheck(store, clock, last_use),
        accounts=Accounts(store, clock, sessions),
        passwords=AccountPasswords(store, clock, randomness, sessions.forget),
        sign_in=SignIn(store, clock, randomness, secret, sessions, check),
        sessions=sessions,
        last_use=last_use,
        address=PublicAddress(store),
    )

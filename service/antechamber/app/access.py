"""Connects the flows of access with each other."""

import asyncio
from collections.abc import Callable

from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Store
from antechamber.flows.access import AccessFlows
from antechamber.flows.accounts import Accounts
from antechamber.flows.last_use import LastUse
from antechamber.flows.passwords import AccountPasswords
from antechamber.flows.providers.sign_in import ProviderSignIn
from antechamber.flows.public_address import PublicAddress
from antechamber.flows.sessions import Sessions
from antechamber.flows.sign_in import SignIn
from antechamber.flows.token_check import TokenCheck
from antechamber.flows.tokens import Tokens
from antechamber.flows.workload.issuer_keys import IssuerKeys
from antechamber.flows.workload.tokens import WorkloadTokens
from antechamber.provider_client import ProviderHttp, provider_setup_problem
from antechamber.webhook_sender import HttpSender
from antechamber.workload_verifier import verify


def fetch(url: str, *, allow_private: bool) -> bytes:
    """Return what an address answers; in a thread without an event loop.

    Raises FetchError.
    """
    return asyncio.run(HttpSender().get(url, allow_private=allow_private))


def connect_access(
    store: Store,
    clock: Clock,
    randomness: Randomness,
    secret: bytes,
    check: Callable[[], object] = lambda: None,
    policy: Callable[[], Policy] = Policy,
) -> AccessFlows:
    """Return the flows of access over one store.

    `secret` is the folder's 32-byte secret; `check` raises ClosedError while sign-in is closed; `policy` returns the
    policy in force. The command line needs none, because it checks no session and no token.
    """
    last_use = LastUse(store)
    sessions = Sessions(store, clock, randomness, secret, last_use, check)
    sessions.follow(policy)
    providers = ProviderSignIn(
        store,
        clock,
        randomness,
        secret,
        sessions,
        check=check,
        policy=policy,
        client=ProviderHttp(),
        verify=verify,
        setup_problem=provider_setup_problem,
    )
    keys, token_check = IssuerKeys(policy, fetch, clock), TokenCheck(store, clock, last_use)
    token_check.accept(WorkloadTokens(policy, keys, verify, clock).bearer)
    return AccessFlows(
        tokens=Tokens(store, clock, randomness),
        token_check=token_check,
        accounts=Accounts(store, clock, sessions),
        passwords=AccountPasswords(store, clock, randomness, sessions.forget),
        sign_in=SignIn(store, clock, randomness, secret, sessions, check),
        sessions=sessions,
        providers=providers,
        last_use=last_use,
        address=PublicAddress(store),
        issuer_keys=keys,
    )

"""The account of a person who signed in at a provider: found, created and given its role, as the policy says."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from antechamber.core.access.callers import AccountRole
from antechamber.core.access.proof import is_proven, prove
from antechamber.core.access.providers import Identified, Provider, account_of, digest_subject, new_name, role_of
from antechamber.core.access.sessions import ProvenElsewhere
from antechamber.core.policy import Policy
from antechamber.core.ports.store import Rows
from antechamber.core.rows.access import UserRow


class ProviderAccounts:
    """Accounts of subjects; `secret` is the folder's 32-byte secret, which proves that they were bound here."""

    def __init__(self, secret: bytes, policy: Callable[[], Policy]) -> None:
        self._secret = secret
        self._policy = policy

    def find(self, provider: Provider, subject: str, tx: Rows) -> UserRow | None:
        """Return the account of a subject: the one that the policy names, else the one that was created for it."""
        named = account_of(provider, subject)
        if named is not None:
            return tx.access.user(named)
        bound = tx.access.identity(digest_subject(provider.issuer, subject))
        if bound is None or not is_proven(self._secret, "identity", bound):
            return None
        return tx.access.user(bound.name)

    def settle(self, provider: Provider, claims: Mapping[str, Any], subject: str, now: int, tx: Rows) -> UserRow | str:
        """Return the account for a sign-in, with the role that the claims give, or the reason for the person why not.

        Sessions of an account whose claims give no role any more end. The caller holds the sessions.
        """
        user, role = self.find(provider, subject, tx), role_of(claims, provider.roles)
        if user is not None and user.disabled_at is not None:
            return "Your account is disabled. Ask an operator."
        if provider.roles and role is None:
            if user is not None:
                tx.access.end_sessions_of(user.name, now)
            return f"{provider.title} gives you no role here. Ask its administrators for one."
        if user is None:
            return self._create(provider, claims, subject, role, now, tx)
        if role is None or role == user.role:
            return user
        tx.access.set_role(user, role, now, _actor(provider))
        return replace(user, role=role)

    def _create(
        self,
        provider: Provider,
        claims: Mapping[str, Any],
        subject: str,
        role: AccountRole | None,
        now: int,
        tx: Rows,
    ) -> UserRow | str:
        if not provider.create or role is None:
            return "You have no account here. Ask an operator for one."
        named = account_of(provider, subject)
        name = named or new_name(provider, claims)
        if name is None:
            return f"{provider.title} gives you no name that an account can have. Ask an operator for an account."
        # Only the policy may say that a new account is of a known person: people can choose their names at a provider.
        if (named is None and self._is_known(name, tx)) or tx.access.user(name) is not None:
            return "The name that you have there is of another person here. Ask an operator for an account."
        user = UserRow(id=0, name=name, person=name, role=role, password=None, created_at=now, disabled_at=None)
        tx.access.add_user(user, _actor(provider))
        added = next(account for account in tx.access.users() if account.name == name)
        if named is None:
            digest = digest_subject(provider.issuer, subject)
            proof = prove(self._secret, "identity", digest, added.id, now)
            tx.access.add_identity(digest, added.id, now, proof)
        return added

    def _is_known(self, name: str, tx: Rows) -> bool:
        """Return whether a person of this name, in any case, is known by an account or the policy."""
        policy = self._policy()
        persons = {user.person for user in tx.access.users()} | set(policy.reveal)
        mapped = {member.account for provider in policy.providers.values() for member in provider.people}
        known = persons | mapped | {producer.owner for producer in policy.producers.values()}
        return name.casefold() in map(str.casefold, known)

    @staticmethod
    def proven(provider: Provider, said: Identified) -> ProvenElsewhere:
        """Return what the session stores of the sign-in."""
        return ProvenElsewhere(name=provider.name, confirmed_at=said.confirmed_at)


def _actor(provider: Provider) -> str:
    """Return the actor of a change that claims of a provider made."""
    return f"provider:{provider.name}"

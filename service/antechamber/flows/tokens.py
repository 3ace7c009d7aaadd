"""Tokens of agents and auditors: issued, listed and revoked by an operator."""

from antechamber.core.access.callers import Account, TokenRole
from antechamber.core.access.secret_format import digest_secret, mint
from antechamber.core.access.sessions import AccessError
from antechamber.core.contract import NAME, PRODUCER
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Store
from antechamber.core.rows.access import TokenRow
from antechamber.flows.operator_check import actor_of


class Tokens:
    """Issues, lists and revokes tokens. A token's secret is shown once and stored only as a digest."""

    def __init__(self, store: Store, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness

    def issue(
        self, name: str, role: TokenRole, read: list[str], lifetime: int | None, account: Account | None = None
    ) -> tuple[str, str]:
        """Create a token that is valid for `lifetime` microseconds; return its id and the secret, which is shown once.

        `account` is the signed-in operator; without one, the command line acts. Raises AccessError if the name or a
        grant is ill-formed, SignedOutError if the operator's session has ended.
        """
        _check_token(name, role, read)
        now, secret = self._clock(), mint(role, self._randomness(24))
        row = TokenRow(
            token_id=uuid7(now, self._randomness(10)),
            name=name,
            role=role,
            read=read,
            created_at=now,
            expires_at=None if lifetime is None else now + lifetime,
            revoked_at=None,
            last_used_at=None,
        )
        digest = digest_secret(secret)
        self._store.write(lambda tx: tx.access.add_token(row, digest, actor_of(tx, account, now))).result()
        return row.token_id, secret

    def all(self) -> list[TokenRow]:
        """Return all tokens."""
        with self._store.read() as tx:
            return tx.access.tokens()

    def revoke(self, name: str, account: Account | None = None) -> int:
        """Revoke tokens by id or name; return how many were revoked.

        Raises SignedOutError if the session of the operator `account` has ended.
        """
        now = self._clock()
        return self._store.write(lambda tx: tx.access.revoke_tokens(name, now, actor_of(tx, account, now))).result()


def _check_token(name: str, role: TokenRole, read: list[str]) -> None:
    grammar = PRODUCER if role == "producer" else NAME
    if not grammar.fullmatch(name):
        form = "kind:name, e.g. worker:release-bot" if role == "producer" else "letters, digits and . _ / @ -"
        message = f'"{name}" is no name for a {role} token: it must be {form}'
        raise AccessError(message)
    if role == "reader" and not read:
        message = "a reader token needs a scope to read (--read), e.g. project:apollo"
        raise AccessError(message)
    for grant in read:
        scope, colon, scope_id = grant.partition(":")
        if not colon or not scope or not scope_id:
            message = f'"{grant}" is no scope to read (--read): write scope:scope_id, e.g. project:apollo'
            raise AccessError(message)
        if role == "reader" and scope == "session" and "*" in grant:
            message = f'"{grant}" to read (--read): a session is private to its producers; name single sessions'
            raise AccessError(message)

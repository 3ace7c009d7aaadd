"""Passwords of accounts: set by an operator, changed by their person, or asked for again by sensitive actions."""

import logging
from collections.abc import Callable
from typing import Any, Final

from antechamber.core.access.callers import COMMAND_LINE, Account, PasswordChange
from antechamber.core.access.sessions import check_signed_in, no_account
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.sign_in_limits import count_attempt, forgive, subjects_of
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)


class AccountPasswords:
    """Sets hashed passwords; the account's other sessions and open links end, and the log records the change.

    `forget_sessions` is called after a change, to clear sessions that are cached in memory.
    """

    def __init__(self, store: Store, clock: Clock, randomness: Randomness, forget_sessions: Callable[[], Any]) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._forget_sessions = forget_sessions

    def check_account(self, name: str) -> None:
        """Check that an active account has this name.

        Raises AccessError if there is none.
        """
        if not self._active(name):
            raise no_account(name)

    def is_set(self, account: Account) -> bool:
        """Return whether the account has a password, which must be given to set a new one."""
        with self._store.read() as tx:
            user = tx.access.user(account.name)
        return user is not None and user.password is not None

    def set(self, name: str, password: str) -> None:
        """Set an account's password, already hashed, as its operator; all its sessions end.

        Raises AccessError if there is no such account.
        """
        change = PasswordChange(
            change_id=uuid7(self._clock(), self._randomness(10)),
            user=name,
            password=password,
            actor=COMMAND_LINE,
            role="operator",
            session="",
            changed_at=self._clock(),
        )
        if not self._store.write(lambda tx: tx.access.set_password(change)).result():
            raise no_account(name)

    def change(self, account: Account, verify: Callable[[str], bool], make: Callable[[], str]) -> bool:
        """Set an account's own password; the session that makes the change stays open.

        `verify` returns whether the current password was given, and is called only if there is one; `make` hashes the
        new one. Return False if the current password is wrong. Each attempt counts as a failed sign-in until it
        succeeds.

        Raises TooManyAttemptsError, SignedOutError, BusyError or UnavailableError, and what `make` raises.
        """
        proven, current = self._prove(account, verify)
        if not proven and current is not None:
            return False
        password = make()

        def replace(tx: Rows) -> bool:
            now = self._clock()
            # The exclusive lock is taken first: two changes that both upgraded from a shared lock would deadlock.
            tx.access.hold_sessions()
            check_signed_in(account, tx.access.session(account.session), now)
            user = tx.access.user(account.name)
            if user is None or user.password != current:
                return False
            change = PasswordChange(
                change_id=uuid7(now, self._randomness(10)),
                user=account.name,
                password=password,
                actor=account.name,
                role=account.role,
                session=account.session,
                changed_at=now,
            )
            return tx.access.set_password(change)

        done = self._store.write(replace).result()
        self._forget_sessions()
        return done

    def confirm(self, account: Account, verify: Callable[[str], bool]) -> bool:
        """Store that a person proved again who it is, for actions that ask for it.

        `verify` returns whether the account's password was given. Return False if it is wrong, or if there is none.
        Each attempt counts as a failed sign-in until it succeeds.

        Raises TooManyAttemptsError, SignedOutError, BusyError or UnavailableError.
        """
        proven, _ = self._prove(account, verify)
        if not proven:
            note(_log, logging.WARNING, "confirmation failed", account=account.name, role=account.role)
            return False

        def store(tx: Rows) -> None:
            now = self._clock()
            check_signed_in(account, tx.access.signed_in(account.session), now)
            tx.access.confirm_session(account.session, now)

        self._store.write(store).result()
        self._forget_sessions()
        note(_log, logging.INFO, "confirmed", account=account.name, role=account.role)
        return True

    def _prove(self, account: Account, verify: Callable[[str], bool]) -> tuple[bool, str | None]:
        """Return whether the account's password was given, and its hash."""
        subjects = subjects_of(account.name)

        def count(tx: Rows) -> tuple[list[int], str | None]:
            check_signed_in(account, tx.access.signed_in(account.session), self._clock())
            user = tx.access.user(account.name)
            return count_attempt(tx.access, subjects, self._clock()), user.password if user else None

        counted, current = self._store.write(count).result()
        proven = current is not None and verify(current)
        if proven or current is None:
            # The attempt is forgiven before the action, so that a refused new password does not count as a guess.
            self._store.write(lambda tx: forgive(tx.access, subjects, counted, self._clock())).result()
        return proven, current

    def _active(self, name: str) -> bool:
        with self._store.read() as tx:
            user = tx.access.user(name)
        return user is not None and user.disabled_at is None

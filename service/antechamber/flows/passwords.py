"""Passwords of accounts: set by an operator, or changed by the person who signs in with them."""

from collections.abc import Callable
from typing import Any

from antechamber.core.access.callers import PasswordChange, Person
from antechamber.core.access.sign_ins import check_signed_in, no_account
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.sign_in_limits import count_attempt, forgive, subjects_of


class AccountPasswords:
    """Sets hashed passwords; the other sessions and the open links of the account end, and the log records it."""

    def __init__(self, store: Store, clock: Clock, randomness: Randomness, forget_sessions: Callable[[], Any]) -> None:
        """Use a store; `forget_sessions` is called after a change, for sessions that are kept in memory."""
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._forget_sessions = forget_sessions

    def check_account(self, name: str) -> None:
        """Refuse a name that no active account has.

        Raises AccessError.
        """
        if not self._active(name):
            raise no_account(name)

    def is_set(self, person: Person) -> bool:
        """Tell whether a person has to give the present password to set a new one."""
        with self._store.read() as rows:
            user = rows.user(person.name)
        return user is not None and user.password is not None

    def set(self, name: str, password: str) -> None:
        """Set an account's password, already hashed, as its operator; all sessions of it end.

        Raises AccessError where there is no such account.
        """
        change = PasswordChange(
            change_id=uuid7(self._clock(), self._randomness(10)),
            user=name,
            password=password,
            actor="command-line",
            role="operator",
            session="",
            changed_at=self._clock(),
        )
        if not self._store.write(lambda rows: rows.set_password(change)).result():
            raise no_account(name)

    def change(self, person: Person, verify: Callable[[str], bool], make: Callable[[], str]) -> bool:
        """Set a person's own password; the session that they do it in goes on.

        `verify` says whether the present password was given, asked only where there is one; `make` hashes the new one.
        Return False where the present password is wrong. Each attempt counts as a failed sign-in until it succeeds.

        Raises TooManyAttemptsError, SignedOutError, BusyError or UnavailableError, and what `make` raises.
        """
        subjects = subjects_of(person.name)

        def count(rows: Rows) -> tuple[list[int], str | None]:
            check_signed_in(person, rows.signed_in(person.session), self._clock())
            user = rows.user(person.name)
            return count_attempt(rows, subjects, self._clock()), user.password if user else None

        counted, known = self._store.write(count).result()
        if known is not None and not verify(known):
            return False
        # The present password was right, so a new one that is refused counts as no guess.
        self._store.write(lambda rows: forgive(rows, subjects, counted, self._clock())).result()
        password = make()

        def replace(rows: Rows) -> bool:
            now = self._clock()
            # Held alone from the start: two changes that both shared the sessions first would wait for each other.
            rows.hold_sessions()
            check_signed_in(person, rows.session(person.session), now)
            user = rows.user(person.name)
            if user is None or user.password != known:
                return False
            change = PasswordChange(
                change_id=uuid7(now, self._randomness(10)),
                user=person.name,
                password=password,
                actor=person.name,
                role=person.role,
                session=person.session,
                changed_at=now,
            )
            return rows.set_password(change)

        done = self._store.write(replace).result()
        self._forget_sessions()
        return done

    def _active(self, name: str) -> bool:
        with self._store.read() as rows:
            user = rows.user(name)
        return user is not None and user.disabled_at is None

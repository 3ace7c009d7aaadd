"""Accounts of people: added, listed and disabled by an operator; each one's own shortcuts and saved views."""

from antechamber.core.access.callers import Account, AccountRole
from antechamber.core.access.sessions import AccessError, check_signed_in
from antechamber.core.contract import NAME
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.queue_filter import with_view
from antechamber.core.rows.access import UserRow
from antechamber.flows.operator_check import actor_of
from antechamber.flows.sessions import Sessions


class Accounts:
    """Keeps accounts; `sessions` forgets looked-up accounts after a change."""

    def __init__(self, store: Store, clock: Clock, sessions: Sessions) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions

    def add(
        self, name: str, role: AccountRole, person: str | None, password: str | None, account: Account | None = None
    ) -> None:
        """Add an account; `password` is already hashed, and `account` is the signed-in operator who adds it.

        Raises AccessError if the name is taken or ill-formed, or if the person's name differs from that of a known
        person only by case; SignedOutError if the operator's session has ended.
        """
        for word in (name, person or name):
            if not NAME.fullmatch(word):
                message = f'"{word}" is no name: use letters, digits and . _ / @ - , and begin with a letter or digit'
                raise AccessError(message)
        now = self._clock()
        user = UserRow(
            id=0,
            name=name,
            person=person or name,
            role=role,
            password=password,
            created_at=now,
            disabled_at=None,
        )

        def work(tx: Rows) -> bool:
            _refuse_other_case(user.person, tx)
            return tx.access.add_user(user, actor_of(tx, account, now))

        if not self._store.write(work).result():
            message = (
                f"the name {name} is taken, and names of disabled accounts stay taken; choose another name, and for "
                f"the same person add: --person {user.person}"
            )
            raise AccessError(message)

    def all(self) -> list[UserRow]:
        """Return all accounts."""
        with self._store.read() as tx:
            return tx.access.users()

    def disable(self, name: str, account: Account | None = None) -> bool:
        """Disable an account and end its sessions; return False if there is no enabled account of this name.

        Raises AccessError if the signed-in operator `account` names itself, SignedOutError if its session has ended.
        """
        if account is not None and account.name == name:
            message = "you cannot disable the account that you are signed in with; ask another operator"
            raise AccessError(message)
        now = self._clock()
        return self._store.write(lambda tx: tx.access.disable_user(name, now, actor_of(tx, account, now))).result()

    def choose(self, account: Account, shortcuts: str | None, *, dense: bool) -> None:
        """Store an account's keyboard shortcuts, and whether its lists are dense, for all of its sessions.

        Raises SignedOutError, BusyError or UnavailableError.
        """

        def work(tx: Rows) -> None:
            check_signed_in(account, tx.access.signed_in(account.session), self._clock())
            tx.access.set_choices(account.id, shortcuts, dense=dense)

        self._store.write(work).result()
        self._sessions.forget()

    def save_view(self, account: Account, name: str, text: str) -> None:
        """Store a filter of the queue under a name, or delete the view if the filter is empty.

        Raises FilterError, SignedOutError, BusyError or UnavailableError.
        """

        def work(tx: Rows) -> None:
            session = tx.access.signed_in(account.session)
            check_signed_in(account, session, self._clock())
            # The views come from the row read here, because `account` may be older than the last saved view.
            tx.access.set_views(account.id, with_view(session.views if session else None, name, text))

        self._store.write(work).result()
        self._sessions.forget()


def _refuse_other_case(person: str, tx: Rows) -> None:
    """Refuse a person whose name differs from a known one only by case: one person would count as two.

    Raises AccessError.
    """
    for known in {user.person for user in tx.access.users()}:
        if known != person and known.casefold() == person.casefold():
            message = f"there is the person {known} already: write --person {known}, or choose a name that differs more"
            raise AccessError(message)

"""Who makes a change of access: an operator who is signed in, or the command line."""

from antechamber.core.access.callers import COMMAND_LINE, Account
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.ports.store import Rows


def actor_of(tx: Rows, account: Account | None, now: int) -> str:
    """Return the name for the leaf of a change; `account` is None for the command line.

    Raises SignedOutError if the account's session has ended.
    """
    if account is None:
        return COMMAND_LINE
    check_signed_in(account, tx.access.signed_in(account.session), now)
    return account.name

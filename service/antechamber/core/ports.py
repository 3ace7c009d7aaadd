"""The ports: what flows ask of a store, of a clock and of chance. `app` joins them with what does it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from antechamber.core.admission import Candidate, Named
from antechamber.core.book import Book
from antechamber.core.contract import Channel
from antechamber.core.desk_ports import RefusedRows, ReviewRows, WaitingRows
from antechamber.core.listing import ListedSubmission, SubmissionFilter
from antechamber.core.log.leaf import Logged
from antechamber.core.log.ports import LogRows
from antechamber.core.records import (
    AuditFilter,
    AuditRow,
    DecisionFigure,
    MemoryHit,
    OldestPending,
    ProcessRow,
    SessionRow,
    StoredReceipt,
    TallyRow,
    TokenCheck,
    TokenRow,
    UserRow,
)
from antechamber.core.retries import RetryRow
from antechamber.core.roles import PasswordChange
from antechamber.core.sign_ins import Begun, Ended

T = TypeVar("T")
Item = TypeVar("Item")
Clock = Callable[[], int]
"""The time now, in microseconds since 1970 UTC."""
Randomness = Callable[[int], bytes]
"""That many unpredictable bytes."""
ReplayKey = tuple[str, int, Channel]
"""Id of a submission, hour since 1970, channel."""


class AdmissionRows(Protocol):
    """What an admission looks up and writes, all inside one transaction."""

    def open_book(self, candidates: Sequence[Candidate]) -> Book:
        """Return all that decides the judgements of a group."""

    def record(self, book: Book) -> None:
        """Write the submissions, proposals, evidence and quarantine that a group's entries ask for."""

    def seal(
        self, producer_identity: str, key: str, named: Named, receipt: bytes, policy_digest: str, now: int
    ) -> None:
        """Bind a free key to a receipt without event."""

    def known_key(self, producer_identity: str, key: str) -> tuple[str, str] | None:
        """Return id and receipt of the submission under a key."""

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        """Add counted replays to their submissions and to the producers' hours."""


class RecallRows(Protocol):
    """What agents read back."""

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        """Return a producer's own receipt."""

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        """Return the receipt under a producer's own key."""

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        """Tell whether this producer had something accepted in a session."""

    def memory_position(self, submission_scope: str, scope_id: str, memory_id: str) -> int | None:
        """Return where a page that follows this memory begins."""

    def memories(
        self, submission_scope: str, scope_id: str, words: Sequence[str], before: int | None, number: int
    ) -> list[MemoryHit]:
        """Return active memories of exactly this pair, newest first, that hold all the words."""


class AccessRows(Protocol):
    """Tokens, people and sessions. Secrets come in as digests only."""

    def add_token(self, row: TokenRow, digest: str) -> None:
        """Keep a new token."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first."""

    def token(self, digest: str) -> TokenCheck | None:
        """Return the token with this digest."""

    def revoke_tokens(self, name: str, now: int) -> int:
        """Revoke by token id or name; return how many."""

    def touch_tokens(self, used: Mapping[int, int]) -> None:
        """Note when tokens were last used."""

    def add_user(self, user: UserRow) -> bool:
        """Add an account; False where the name is taken."""

    def users(self) -> list[UserRow]:
        """Return all accounts by name."""

    def user(self, name: str) -> UserRow | None:
        """Return one account."""

    def disable_user(self, name: str, now: int) -> bool:
        """Disable an account and end its sessions; False where there is none to disable."""

    def set_password(self, change: PasswordChange) -> bool:
        """Set a password and end the account's other sessions and its links; False where there is no such account."""

    def add_link(self, digest: str, user: int, expires_at: int, proof: str = "") -> None:
        """Keep a one-time sign-in link."""

    def link(self, digest: str) -> Begun | None:
        """Return a link, used or not."""

    def links(self) -> list[Begun]:
        """Return all links."""

    def sessions(self) -> list[Begun]:
        """Return all sessions."""

    def end_access(self, now: int, begun_after: int) -> Ended:
        """End all tokens, links and sessions, each with its leaf; sessions that began before are over anyway."""

    def use_link(self, digest: str, now: int) -> UserRow | None:
        """Consume a link and return whose it is; None where it is used, expired or unknown."""

    def set_views(self, user: int, views: str) -> None:
        """Keep somebody's saved views."""

    def set_keys(self, user: int, keys: str | None) -> None:
        """Keep somebody's choice of keys."""

    def add_session(self, digest: str, user: int, now: int, proof: str = "") -> None:
        """Begin a session."""

    def session(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended."""

    def share_sessions(self) -> None:
        """Let no other transaction end access, by a password, an account or a log given up, until this one ends."""

    def hold_sessions(self) -> None:
        """Let no other transaction act under a session until this one ends."""

    def signed_in(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended; no other transaction can end one until this one ends."""

    def touch_sessions(self, seen: Mapping[str, int]) -> None:
        """Note when sessions were last seen."""

    def end_session(self, digest: str, now: int) -> None:
        """End a session."""

    def failures(self, subject: str, since: int) -> tuple[int, int]:
        """Return how many sign-ins failed for a subject since then, and when the last one did."""

    def hold_failures(self) -> None:
        """Let no other transaction count failed sign-ins until this one ends."""

    def add_failure(self, subject: str, now: int) -> int:
        """Count a failed sign-in and return its id."""

    def take_back_failures(self, ids: Sequence[int]) -> None:
        """Forget failed sign-ins that did not fail after all."""

    def forget_failures(self, subject: str, before: int) -> None:
        """Forget a subject's failures and everybody's old ones."""


class ReportRows(Protocol):
    """What auditors and operators read."""

    def export_review_records(self, chosen: AuditFilter, first: int, end: int) -> list[AuditRow]:
        """Return the review records whose leaves stand from a place on and before another, in their order."""

    def review_record(self, review_record_id: str) -> AuditRow | None:
        """Return one review record."""

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        """Return review records, newest first."""

    def listed_submissions(
        self, chosen: SubmissionFilter, before: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, and where the looking ended if it did before the submissions did."""

    def totals(self) -> dict[str, int]:
        """Return how many submissions got each disposition, and how many proposals stand approved and rejected."""

    def tally_by_hour(self, since_hour: int) -> list[TallyRow]:
        """Return what happened in each hour; `attempts` are replays."""

    def tally_by_producer(self, since_hour: int) -> list[TallyRow]:
        """Return what became of each producer's submissions."""

    def oldest_pending(self) -> OldestPending | None:
        """Return the proposal that has waited longest."""

    def decisions_since(self, since: int) -> list[DecisionFigure]:
        """Return the latest decisions on proposals, 5,000 at most."""

    def retries(self, since_hour: int, last_hour: int, number: int) -> list[RetryRow]:
        """Return attempts by producer and channel, marked ones first, then those with most attempts."""

    def meta(self, name: str) -> str | None:
        """Return a note about the store itself."""

    def set_meta(self, name: str, value: str) -> None:
        """Keep a note about the store itself."""

    def claim_meta(self, name: str, value: str) -> str:
        """Keep a note unless there is one already; return the one that stands."""

    def note_process(self, row: ProcessRow, gone_before: int) -> None:
        """Note a process's sign of life and forget those that gave none since."""

    def forget_process(self, process_id: str) -> None:
        """Forget a process."""

    def processes(self, since: int) -> list[ProcessRow]:
        """Return the processes that gave a sign of life since then, by name."""

    def check(self) -> Iterator[str]:
        """Yield every violation of the store's own promises."""


class Rows(AdmissionRows, RecallRows, WaitingRows, ReviewRows, RefusedRows, AccessRows, ReportRows, LogRows, Protocol):
    """One open transaction, or one read snapshot (whose writes the engine refuses)."""


class Store(Protocol):
    """Durable rows: writes are grouped into common transactions, reads see one snapshot."""

    def write(self, work: Callable[[Rows], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk.

        The future raises what `work` raised (nothing of it is kept), BusyError or UnavailableError. Where several
        processes share the store `work` may run again on what another one wrote first.
        """

    def gather(
        self, work: Callable[[Sequence[Item], Rows], list[T]], items: Sequence[Item], size: int
    ) -> Future[list[T]]:
        """Run `work` on these items and all others that wait for the same `work`, in one call and transaction.

        `size` is how many bytes they hold together. Raises UnavailableError where too much waits already.
        """

    def promote(self, work: Callable[[Rows], T]) -> Future[T]:
        """Like `write`, with the right to admit memories."""

    def read(self) -> AbstractContextManager[Rows]:
        """Open a read snapshot."""

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from some thread after the queue or the quarantine changed; return what ends that."""

    def trouble(self) -> str | None:
        """Say why nothing is stored until the process is started again; None while all is well."""

    def lost(self) -> str | None:
        """Say which end of the log is missing from the files; None where nothing is known to be missing."""

    def accept_loss(self) -> None:
        """Go on with the log as it is, because what is missing is given up."""

    def close(self) -> None:
        """Finish what was accepted and release everything."""


class Statements(Protocol):
    """Named SQL statements inside one transaction or snapshot: all that an engine has to offer to the rooms above."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        """Return the first row."""

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Return all rows."""

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield rows without holding them all."""

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row for each of many sets of values."""

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Do several such look-ups, each a statement and its sets of values, that do not depend on each other."""

    def take(self, number: int) -> list[int]:
        """Return as many integer keys of submissions that nobody uses."""

    def run(self, statement: str, /, **values: Any) -> int:
        """Run a write and return how many rows it touched."""

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], order: Sequence[str], /) -> None:
        """Run an `INSERT … VALUES` for all rows; `order` names the columns by which several writers take turns."""

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""

    def log(self, leaves: Iterable[Logged], /) -> None:
        """Append leaves to the log: last thing in the transaction, so that nobody waits behind its lock for long."""

    def announce(self) -> None:
        """Tell everybody who watches, after the commit, that the queue or the quarantine changed."""

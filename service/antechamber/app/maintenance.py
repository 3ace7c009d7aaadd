"""Data locations: opening, checking and changing a folder or a database, for the service and the command line."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from antechamber.app.access import connect_access
from antechamber.app.data_folder import ServedError, alone, protect, refuse_incomplete, refuse_unfinished
from antechamber.background import Background
from antechamber.checkpoint_signer import KEY_FILE, MARKER_FILE, FileSigner, new_name
from antechamber.core.errors import ContradictionError, DamagedError, LogError, UnusableCheckpointError
from antechamber.core.ids import uuid7
from antechamber.core.log.checkpoint_text import read_key
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.access import AccessFlows
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.export import Export
from antechamber.flows.log_proofs import LogProofs
from antechamber.flows.retention.old_pages import empty_old_pages
from antechamber.flows.sessions import list_planted
from antechamber.logs import note
from antechamber.resources import how_to_install
from antechamber.secret_key import SECRET, load_quarantine_key, load_secret, secret_check
from antechamber.settings import DATABASE, Location, Settings, SettingsError
from antechamber.store.errors import RESTORE
from antechamber.store.sqlite.schema import pending_steps
from antechamber.store.sqlite.store import SqliteStore
from antechamber.store.statements import migrations
from antechamber.web.passwords import Passwords

_log: Final = logging.getLogger(__name__)
_KEPT_WITH: Final = "secret_check"
"""Name of the note in the database that distinguishes the right secret from another one."""


def clock() -> int:
    """Return the system's wall-clock time, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def open_store(
    location: Location,
    *,
    serving: bool = False,
    create: bool = True,
    background: Background | None = None,
    restoring: bool = False,
) -> Store:
    """Open a store, created at first use in the folder if `create` is set; only a server checkpoints.

    `background` lists the store's threads when they fail, `restoring` permits a restore that is not finished. Raises
    AntechamberError if the store cannot be used.
    """
    location.check()
    if not restoring:
        refuse_unfinished(location.data)
    if location.database_url is None and not create:
        _refuse_mistyped(location)
    protect(location.data)
    store = _engine(location, serving=serving, background=background, restoring=restoring)
    try:
        bind_secret(store, location, create=create)
    except BaseException:
        store.close()
        raise
    return store


def _refuse_mistyped(location: Location) -> None:
    """Refuse a folder without our files: its name was probably mistyped.

    Raises SettingsError.
    """
    if (location.data / DATABASE).exists() or (location.database_url is not None and location.data.exists()):
        return
    missing = (
        f"{location.data} holds no data of Antechamber"
        if location.data.exists()
        else f"there is no folder {location.data}"
    )
    url = "" if location.database_url is None else " --database-url URL"
    message = f"{missing}; check the folder's name, or make a new one: antechamber migrate --data {location.data}{url}"
    raise SettingsError(message)


def _engine(location: Location, *, serving: bool, background: Background | None, restoring: bool) -> Store:
    """Open the engine that a location selects."""
    if location.database_url is None:
        if not restoring:
            refuse_incomplete(location.data)
        load_secret(location.data)
        opened = SqliteStore(location.data / DATABASE, exclusive_checkpoints=serving, background=background)
        _note_steps("sqlite", opened.upgraded)
        return opened
    store: Store = _postgres().PostgresStore(location.database_url, background, restoring=restoring)
    return store


def open_stores(settings: Settings, background: Background) -> tuple[Store, Store]:
    """Open the store of a server, and the one that memories, changes, exports and pages are read from.

    The second one reads the replica, if there is one, and closes both. Raises AntechamberError if one cannot be used.
    """
    store = open_store(settings.location, serving=True, background=background)
    if settings.read_database_url is None:
        return store, store
    from antechamber.store.postgres.replica import ReplicaReads  # noqa: PLC0415 -- an optional extra

    try:
        return store, ReplicaReads(store, settings.read_database_url, background)
    except BaseException:
        store.close()
        raise


def _note_steps(engine: str, taken: list[str]) -> None:
    """Log in one line from which step to which the schema went; `migrate --dry-run` lists all of them."""
    if not taken:
        return
    steps = [name for name, _ in migrations(engine)]
    earlier = [name for name in steps if name not in taken]
    what, old = ("upgraded the schema", earlier[-1]) if earlier else ("made the schema", None)
    note(_log, logging.INFO, what, old=old, new=steps[-1], steps=len(taken))


def _postgres() -> Any:
    """Import the engine that needs additional packages.

    Raises SettingsError if they are not installed.
    """
    try:
        from antechamber.store.postgres import store  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = f"--database-url needs the PostgreSQL driver. {how_to_install('postgres')}"
        raise SettingsError(message) from None
    return store


def bind_secret(store: Store, location: Location, *, create: bool = True) -> bytes:
    """Return the folder's secret after comparing it with the one that the database was created with.

    Raises SettingsError if they differ, because another process would give other answers, and for a folder without a
    secret unless `create` permits one for a new database.
    """
    if not create:
        _refuse_mistyped(location)
    with store.read() as tx:
        check = tx.reports.meta(_KEPT_WITH)
    secret = load_secret(location.data, begun=check is not None or not create)
    if check is None:
        check = store.write(lambda tx: tx.reports.claim_meta(_KEPT_WITH, secret_check(secret))).result()
    if check != secret_check(secret):
        message = (
            f"{location.data / SECRET} is not the secret that this database was made with; copy the file from the "
            "machine that made it, or restore it from the backup"
        )
        raise SettingsError(message)
    return secret


def migrate(location: Location, report_moved: Callable[[str, int], None] | None = None) -> list[str]:
    """Create the schema or update an older one; return the names of the applied steps.

    With `report_moved` the data of the folder's own database is moved too; it gets each table's name and its number of
    rows.

    Raises AntechamberError.
    """
    location.check()
    refuse_unfinished(location.data)
    if location.database_url is not None:
        steps: list[str] = _postgres().migrate(location.database_url)
        _note_steps("postgres", steps)
        if report_moved is not None:
            _move(location, location.database_url, report_moved)
        # Created here, so that they can be copied to other machines together with the secret.
        load_quarantine_key(location.data)
        store = open_store(location)
        try:
            open_log(store, location, clock)
        finally:
            store.close()
    else:
        refuse_incomplete(location.data)
        protect(location.data)
        load_secret(location.data)
        load_quarantine_key(location.data)
        upgraded = SqliteStore(location.data / DATABASE, exclusive_checkpoints=False, upgrade=True)
        steps = upgraded.upgraded
        upgraded.close()
        _note_steps("sqlite", steps)
        open_store(location).close()
    return steps


def list_pending_steps(location: Location) -> list[str]:
    """Return the steps that `migrate` would take; nothing is changed, and no folder is made.

    Raises AntechamberError.
    """
    location.check()
    refuse_unfinished(location.data)
    if location.database_url is None:
        return pending_steps(location.data / DATABASE)
    steps: list[str] = _postgres().pending_steps(location.database_url)
    return steps


def _move(location: Location, database_url: str, report: Callable[[str, int], None]) -> None:
    file = location.data / DATABASE
    if not file.exists():
        message = f"{location.data} holds no data of Antechamber; check the folder's name"
        raise SettingsError(message)
    # A running service would go on writing into the file, and lose that.
    with alone(Location(data=location.data), "antechamber migrate --move"):
        # Open it once as usual: that checks its schema and its secret.
        own = Location(data=location.data, checkpoint_file=location.checkpoint_file)
        store = open_store(own)
        try:
            refuse_doubt(store, own)
        finally:
            store.close()
        _postgres().move(file, database_url, report)


@contextlib.contextmanager
def opened_access(location: Location, *, create: bool = False, grants: bool = False) -> Iterator[AccessFlows]:
    """Open a store for the command line's work on tokens and people; it is created only with `create`.

    `grants` is for work that lets someone in: it raises LogError while the log contradicts the last signed checkpoint.
    """
    store = open_store(location, create=create)
    try:
        if grants:
            refuse_doubt(store, location)
        yield connect_access(store, clock, os.urandom, load_secret(location.data))
    finally:
        store.close()


def refuse_doubt(store: Store, location: Location) -> None:
    """Refuse to write to a log that contradicts its last checkpoint; a machine without the key cannot check.

    Raises LogError, whose text states what to do.
    """
    if not (location.data / KEY_FILE).exists():
        return
    checkpoints = open_log(store, location, clock)
    try:
        checkpoints.compare()
    except LogError as error:
        contradicts = isinstance(error, ContradictionError) and not isinstance(error, UnusableCheckpointError)
        why = "contradicts what was signed last" if contradicts else "cannot be compared with what was signed last"
        message = f"Nothing was written, because the log {why}. {error}"
        raise type(error)(message) from None


def open_log(
    store: Store, location: Location, now: Clock, pin_url: str | None = None, *, lost: bool = False
) -> Checkpoints:
    """Open a folder's log with its key, created at first use; `lost` means that the key no longer exists.

    Raises LogError if it is missing or damaged.
    """
    with store.read() as tx:
        keys = tx.log.verifier_keys()
    # A new key in place of a lost one keeps the log's name, because earlier checkpoints must still match.
    name = read_key(keys[-1]).name if keys and lost else None if keys else new_name()
    publish = _publisher(pin_url) if pin_url else None
    if lost and (location.data / KEY_FILE).exists():
        message = f"{location.data / KEY_FILE} is there; change the key without --lost"
        raise LogError(message)
    signer = FileSigner(location.data, location.checkpoint_file, name=name, alone=location.database_url is None)
    checkpoints = Checkpoints(store, signer, now, publish)
    if not lost:
        checkpoints.enter_key()
    return checkpoints


class OpenedLog(NamedTuple):
    """The command line's services for the log."""

    checkpoints: Checkpoints
    proofs: LogProofs
    export: Export


def _publisher(pin_url: str) -> Callable[[str], None]:
    from antechamber.app.pinning import build_publisher  # noqa: PLC0415 -- few services pin, and httpx is slow to import

    return build_publisher(pin_url)


@contextlib.contextmanager
def opened_log(location: Location, *, lost: bool = False) -> Iterator[OpenedLog]:
    """Open a store for the command line's work on the log, and for its exports."""
    store = open_store(location, create=False)
    try:
        checkpoints = open_log(store, location, clock, lost=lost)
        proofs = LogProofs(store, checkpoints)
        yield OpenedLog(checkpoints, proofs, Export(store, checkpoints, proofs, clock, os.urandom))
    finally:
        store.close()


def erase(location: Location, subject: str, reason_code: str) -> None:
    """Erase the text of a decided proposal or settled quarantined event.

    Raises EraseError, or another AntechamberError.
    """
    store = open_store(location, create=False)
    try:
        refuse_doubt(store, location)
        now = clock()
        erasure_id = uuid7(now, os.urandom(10))

        def work(tx: Rows) -> None:
            tx.log.erase(erasure_id, subject, reason_code, now)
            for repeated in tx.blind.end_looks(subject, now):
                tx.log.erase(uuid7(now, os.urandom(10)), repeated, reason_code, now)

        store.promote(work).result()
        note(_log, logging.INFO, "erased", subject=subject, reason=reason_code, erasure=erasure_id)
    finally:
        store.close()
    remove_copies(location)


def remove_copies(location: Location) -> None:
    """Remove what is left of erased texts from the files of a folder; a process that serves the folder does so itself.

    Raises AntechamberError.
    """
    if location.database_url is not None:
        return
    with contextlib.suppress(ServedError), alone(location, "no address: it removes erased texts"):
        store = open_store(location, serving=True, create=False)
        try:
            empty_old_pages(store)
        finally:
            store.close()


def examine(location: Location, pinned: str | None = None) -> list[str]:
    """Check a store, also against a checkpoint kept elsewhere, and return the findings."""
    store = open_store(location, create=False)
    try:
        findings: list[str] = []
        try:
            with store.read() as tx:
                findings += tx.doctor.check()
                begun = bool(tx.log.verifier_keys())
        except DamagedError:
            return [*findings, f"{location.data / DATABASE} is damaged, so nothing else was checked. {RESTORE}"]
        findings += list_planted(store, load_secret(location.data))
        return findings + (
            open_log(store, location, clock).contradictions(pinned) if begun else _check_unsigned(store, location)
        )
    finally:
        store.close()


def _check_unsigned(store: Store, location: Location) -> list[str]:
    """Return findings about a database without a log, from the files of one."""
    findings = [lost] if (lost := store.lost()) is not None else []
    if (location.data / MARKER_FILE).exists():
        findings.append(
            f"a log was signed in {location.data}, and the database has none: it was replaced by another one"
        )
    return findings


def hash_password(password: str) -> str:
    """Return the hash of a password for an account created on the command line."""
    return Passwords().hash(password)

"""Runs of retention on a data location: the archive is on disk, and its digest in the log, before a text is removed."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from antechamber import durable_files
from antechamber.app.data_folder import policies_in_use
from antechamber.app.maintenance import clock, open_log, open_store, refuse_doubt, remove_copies
from antechamber.core.policy import Policy
from antechamber.core.retention import PlanRow, RetentionError, RetentionRun, read_archive
from antechamber.flows.retention.runs import Retention, plan
from antechamber.logs import note
from antechamber.policy_files import read_policy
from antechamber.settings import Location

_log: Final = logging.getLogger(__name__)
Progress = Callable[[int, int], None]


class Retained(Struct, frozen=True, kw_only=True):
    """The result of a run: None as `run` if no text was to be removed; `removed` counts texts that went now."""

    run: RetentionRun | None
    removed: int
    resumed: bool
    summed: bool
    """Whether old counts by hour were added up."""


def plan_retention(location: Location, policies: Path | None) -> list[PlanRow]:
    """Return what a run would remove now; nothing is changed.

    Raises AntechamberError; PolicyError if the policy is not valid.
    """
    policy = _policy(location, policies)
    store = open_store(location, create=False)
    try:
        return plan(store, policy, clock())
    finally:
        store.close()


def run_retention(
    location: Location, policies: Path | None, archive: Path, number: int, progress: Progress
) -> Retained:
    """Write up to `number` items that are no longer kept to a new archive, then delete their texts.

    If `archive` is that of an earlier run, which was interrupted, its removal goes on. Raises RetentionError or another
    AntechamberError.
    """
    policy = _policy(location, policies)
    archive = archive.absolute()
    _check_place(location, archive)
    store = open_store(location, create=False)
    try:
        refuse_doubt(store, location)
        retention = Retention(store, open_log(store, location, clock), policy, clock, os.urandom)
        resumed = archive.exists()
        run = _find_run(retention, archive) if resumed else _write(retention, archive, number)
        removed = 0 if run is None else _remove(retention, run, archive, progress)
        retained = Retained(run=run, removed=removed, resumed=resumed, summed=retention.sum_counts())
    finally:
        store.close()
    remove_copies(location)
    return retained


def _policy(location: Location, policies: Path | None) -> Policy:
    return read_policy(policies_in_use(location.data, policies))


def _check_place(location: Location, archive: Path) -> None:
    """Refuse a place for the archive that cannot work.

    Raises RetentionError.
    """
    if archive.resolve().is_relative_to(location.data.resolve()):
        message = f"{archive} is in the data folder, from which the texts are to be removed; name another folder"
    elif not archive.parent.is_dir():
        message = f"there is no folder {archive.parent}; make it first"
    else:
        return
    raise RetentionError(message)


def _write(retention: Retention, archive: Path, number: int) -> RetentionRun | None:
    """Write an archive and record its run; the file gets its name only after both are on disk.

    Raises RetentionError if it cannot be written; then nothing was removed.
    """
    try:
        durable_files.remove_drafts(archive.parent, lambda name: name == archive.name)
        prepared = retention.prepare(number)
        if not prepared.run.items:
            return None
        with durable_files.appearing(archive) as file:
            digest = hashlib.sha256()
            for line in prepared.lines:
                file.write(line)
                digest.update(line)
            file.flush()
            os.fsync(file.fileno())
            run = msgspec.structs.replace(prepared.run, archive=f"sha256:{digest.hexdigest()}")
            retention.begin(run)
    except OSError as error:
        message = f"{archive} cannot be written, so nothing was removed: {error.strerror or error}"
        raise RetentionError(message) from None
    note(_log, logging.INFO, "archived texts", retention=run.retention_id, items=run.items)
    return run


def _find_run(retention: Retention, archive: Path) -> RetentionRun:
    """Return the run that wrote an archive.

    Raises RetentionError if there is none.
    """
    digest = hashlib.sha256()
    for line in _lines(archive):
        digest.update(line)
    run = retention.run_of(f"sha256:{digest.hexdigest()}")
    if run is None:
        message = f"{archive} exists, and is no archive of this data, or was changed; name a new file"
        raise RetentionError(message)
    return run


def _lines(archive: Path) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises RetentionError if it cannot be read.
    """
    try:
        with archive.open("rb") as file:
            yield from file
    except OSError as error:
        message = f"{archive} cannot be read: {error.strerror}"
        raise RetentionError(message) from None


def _remove(retention: Retention, run: RetentionRun, archive: Path, progress: Progress) -> int:
    """Delete the texts that the file on disk holds."""
    removed = retention.remove(run, read_archive(_lines(archive)), progress)
    note(_log, logging.INFO, "removed texts", retention=run.retention_id, items=removed)
    return removed

"""Opens a data location for the rehearsal of a policy."""

from collections.abc import Callable
from pathlib import Path

from antechamber.app.data_folder import policies_in_use
from antechamber.app.maintenance import open_store
from antechamber.core.rehearsal import RehearsalReport
from antechamber.flows.rehearsal import Rehearsal
from antechamber.policy_files import read_policy
from antechamber.settings import Location


def rehearse(
    location: Location, old: Path | None, new: Path, number: int, progress: Callable[[int, int], None]
) -> RehearsalReport:
    """Replay the last `number` submissions under the policy in `new`, and under `old` or else what `serve` would use.

    The store is only read. Raises AntechamberError; PolicyError if a policy is not valid.
    """
    after = read_policy(new)
    before = read_policy(policies_in_use(location.data, old))
    store = open_store(location, create=False)
    try:
        return Rehearsal(store, before, after).run(number, progress)
    finally:
        store.close()

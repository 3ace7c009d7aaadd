"""Opens a data location for the command line's work on calibration items."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from antechamber.app.data_folder import policies_in_use
from antechamber.app.maintenance import clock, open_store, refuse_doubt
from antechamber.flows.oversight.calibration import Calibration
from antechamber.policy_files import read_policy
from antechamber.secret_key import load_secret
from antechamber.settings import Location


@contextlib.contextmanager
def opened_calibration(location: Location, policies: Path | None) -> Iterator[Calibration]:
    """Open a store for work on calibration items, under the policy in a folder or what `serve` would use.

    Raises AntechamberError; PolicyError if the policy is not valid, LogError while the log contradicts the last signed
    checkpoint.
    """
    policy = read_policy(policies_in_use(location.data, policies))
    store = open_store(location, create=False)
    try:
        refuse_doubt(store, location)
        yield Calibration(store, policy, clock, os.urandom, load_secret(location.data))
    finally:
        store.close()

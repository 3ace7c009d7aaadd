"""One fixture, every engine: the contract suite runs unchanged on each."""

from collections.abc import Iterator

import pytest

from antechamber.app import open_store
from antechamber.core.ports.store import Store
from antechamber.settings import Location


@pytest.fixture
def store(location: Location) -> Iterator[Store]:
    """A fresh store of each engine."""
    made = open_store(location)
    yield made
    made.close()

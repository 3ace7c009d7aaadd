"""The store fixture: the contract suite runs unchanged on every engine."""

from collections.abc import Iterator

import pytest

from antechamber.app import open_store
from antechamber.core.ports.store import Store
from antechamber.settings import Location


@pytest.fixture
def store(location: Location) -> Iterator[Store]:
    """A fresh store on each engine."""
    made = open_store(location)
    yield made
    made.close()

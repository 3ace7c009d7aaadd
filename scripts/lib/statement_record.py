"""A plugin of pytest: writes which statements each test runs on PostgreSQL in this process, and from where.

The variable STATEMENT_RECORD names the folder; each process of the tests writes a file into it.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest

from antechamber.store.postgres import statements
from parts import name_of

_FORMS: Final = ("single", "for_each", "all_at_once")
"""The functions that form each statement from its name, whenever it is run."""
_seen: Final = defaultdict[str, set[tuple[str, str]]](set)
_running: Final = [""]


def _recording(form: Callable[..., str]) -> Callable[..., str]:
    def formed(name: str, *more: Any) -> str:
        frame = sys._getframe(1)  # noqa: SLF001 -- documented, and the only way to the caller
        while frame.f_back is not None and frame.f_code.co_filename == statements.__file__:
            frame = frame.f_back
        _seen[_running[0]].add((name, frame.f_code.co_qualname))
        return form(name, *more)

    return formed


def pytest_configure() -> None:
    """Record what is run from now on."""
    for form in _FORMS:
        setattr(statements, form, _recording(getattr(statements, form)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Note the running test."""
    _running[0] = name_of(item)
    return (yield)


def pytest_sessionfinish() -> None:
    """Write what was recorded."""
    found = {test: sorted(own) for test, own in _seen.items()}
    (Path(os.environ["STATEMENT_RECORD"]) / f"{os.getpid()}.json").write_text(json.dumps(found))

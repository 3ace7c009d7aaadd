"""Automata of RE2, which write no messages of their own to standard error.

An automaton that runs out of memory for its states goes on without them, more slowly, and with the same result.
"""

from typing import Any

import re2


def compile_pattern(pattern: str) -> Any:
    """Compile a pattern of RE2 in which ^ and $ match at lines.

    Raises re2.error if it is not valid.
    """
    return re2.compile(f"(?m){pattern}", _options())


def search_set() -> Any:
    """Return an empty set of patterns that are searched for together."""
    return re2.Set.SearchSet(_options())


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options

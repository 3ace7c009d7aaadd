"""Automata of RE2: what they write."""

import random

import pytest

from antechamber.core.privacy.automata import compile_pattern, compile_set

WORDS = "|".join(
    f"(?:[a-z0-9]{{1,20}}[_ -])?{word}s?(?:[_ -]?(?:key|code|word))?" for word in ("pass", "token", "secret")
)


def test_an_automaton_without_memory_for_its_states_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Random text needs more states than fit; a line on standard error would be none of the log's."""
    generator = random.Random(1)  # noqa: S311 -- the same text in each run
    text = "".join(generator.choice("abcdefghijkl0123456789_ -") for _ in range(200_000))
    pattern = compile_pattern(rf"(?i:(?:\A|[^A-Za-z])(?:({WORDS}))(?:\z|[^a-z0-9_]))")
    assert len([*pattern.finditer(text.encode())]) == 0
    assert not compile_set(WORDS)(text.encode())
    assert capfd.readouterr().err == ""

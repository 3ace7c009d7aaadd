"""Tokens whose first characters are divided, and tokens that are written backwards or with moved letters."""

from codecs import encode

import pytest

from antechamber.core.privacy.forms.splits import Row
from antechamber.core.privacy.forms.turned_runs import find_turned
from antechamber.core.privacy.search.broken_beginnings import Halves, halves_of, random_runs, rows_of_broken
from support import GATE

REST = "aB3dE6gH9jK2mN5p" + "Q8sT1vW4yZ7bC0eF3hI6"


def rows_of(text: str, halves: Halves) -> list[Row]:
    """Return the rows of a text."""
    return rows_of_broken(text, random_runs(text), halves)


HALVES = halves_of(frozenset({"ghp_", "dop_v0_", "sg."}))


@pytest.mark.parametrize(
    "text",
    [
        f"| gh | p_{REST} |",
        f"A=gh\nB=p_{REST}\nexport TOKEN=$A$B",
        f'rest = "p_{REST}"\ntoken = f"gh{{rest}}"',
        f"<td>ghp</td><td>_{REST}</td>",
        f"Use <b>gh</b>p_{REST} for the mirror.",
        f't = "gh"\nt += "p_{REST}"',
    ],
)
def test_a_token_is_found_whose_beginning_is_divided(text: str) -> None:
    """Cells, variables, strings and markup divide it; the piece with the beginning may come behind the other."""
    assert "github-token" in {one.rule_id for one in GATE.find_private({"": text})}


def test_the_pieces_are_the_beginning_and_the_random_run() -> None:
    """Each row has both, with their offsets; a beginning with a version number is compared without its digits."""
    text = f"gh, then p_{REST}"
    assert rows_of(text, HALVES) == [((0, "gh"), (9, f"p_{REST}"))]
    digits = "61b58380a8da9f86" + "11f10a71c297a4ef"
    assert rows_of(f"v1_{digits} dop_", HALVES) == [((36, "dop_"), (0, f"v1_{digits}"))]


@pytest.mark.parametrize(
    "text", ["gh p_get_all_users_of_company1", "gh q_" + REST, "p_" + REST, "gh p_short1A", "sg .env"]
)
def test_names_and_runs_without_the_other_half_are_no_pieces(text: str) -> None:
    """What follows the beginning has to be random, and the first half has to be near."""
    assert rows_of(text, HALVES) == []


def test_without_beginnings_there_are_no_rows() -> None:
    """A policy may have no rules for tokens with a form of their own."""
    assert rows_of(f"gh p_{REST}", halves_of(frozenset())) == []


@pytest.mark.parametrize(
    ("turned", "decoder"), [((f"ghp_{REST}")[::-1], "reversed-token"), (encode(f"ghp_{REST}", "rot13"), "rot13-token")]
)
def test_a_token_is_found_backwards_and_with_moved_letters(turned: str, decoder: str) -> None:
    """The finding marks the run, also where the text does not name the spelling; words in code are not turned."""
    text = f"echo {turned} | decode"
    found = [one for one in GATE.find_private({"": text}) if one.rule_id == "github-token"]
    assert [(text[one.start : one.end], one.decoded) for one in found] == [(turned, (decoder,))]
    assert find_turned(random_runs("sha256_of_the_longest_phg_word2"), halves_of(frozenset({"ghp_"})).wholes) == []

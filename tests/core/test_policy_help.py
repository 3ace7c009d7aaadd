"""What is said about keys of policy files: every key is explained, and what has no place is left as it is."""

import re

import msgspec
import pytest
from msgspec import Struct

from antechamber.core.policy import Case, Guideline, Limits, Producer, Rules
from antechamber.core.policy_help import WANTED, explain_value


@pytest.mark.parametrize(
    ("location", "table"),
    [("producer[]", Producer), ("defaults", Rules), ("limits", Limits), ("guideline[]", Guideline), ("test[]", Case)],
)
def test_every_key_says_what_it_takes(location: str, table: type[Struct]) -> None:
    """A key that is added to a table is added here."""
    known = {re.sub(r"(\[\])+$", "", name) for name in WANTED}
    assert {f"{location}.{one.encode_name}" for one in msgspec.structs.fields(table)} <= known


def test_a_key_that_nothing_is_known_of_is_named_all_the_same() -> None:
    """The message is shorter then, and no less true."""
    assert explain_value("Expected `int` <= 2 - at `$.limits.new`", {"limits": {"new": 3}}) == "limits.new cannot be 3"
    assert explain_value("Expected `int` <= 2 - at `$.limits[0]`", {"limits": 3}) == "limits[0] cannot be this value"


def test_a_problem_without_a_place_is_left_to_its_own_words() -> None:
    """There is nothing to add."""
    assert explain_value("Expected `object`, got `int`", 3) is None

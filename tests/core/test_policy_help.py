"""Help texts for policy files: every key is explained, and unknown positions are left unchanged."""

import re

import msgspec
import pytest
from msgspec import Struct

from antechamber.core.access.providers import NamedSubject, Provider, RoleRule
from antechamber.core.access.workload import Issuer, Subject
from antechamber.core.policy import Case, Guideline, Limits, Producer, Rules, SessionRules, SignInPolicy
from antechamber.core.policy_help import WANTED, explain_value


@pytest.mark.parametrize(
    ("location", "table"),
    [
        ("issuer[]", Issuer),
        ("producer[].subjects[]", Subject),
        ("session.curator", SessionRules),
        ("sign_in", SignInPolicy),
        ("provider[]", Provider),
        ("provider[].roles[]", RoleRule),
        ("provider[].people[]", NamedSubject),
        ("producer[]", Producer),
        ("defaults", Rules),
        ("limits", Limits),
        ("guideline[]", Guideline),
        ("test[]", Case),
    ],
)
def test_every_key_has_a_help_text(location: str, table: type[Struct]) -> None:
    """Every key of every table has a help text."""
    known = {re.sub(r"(\[\])+$", "", name) for name in WANTED}
    assert {f"{location}.{one.encode_name}" for one in msgspec.structs.fields(table)} <= known


def test_a_key_that_nothing_is_known_of_is_named_all_the_same() -> None:
    """An unexplained key is still named, in a shorter message."""
    assert explain_value("Expected `int` <= 2 - at `$.limits.new`", {"limits": {"new": 3}}) == "limits.new cannot be 3"
    assert explain_value("Expected `int` <= 2 - at `$.limits[0]`", {"limits": 3}) == "limits[0] cannot be this value"


def test_a_problem_without_a_place_is_left_to_its_own_words() -> None:
    """A problem without a position keeps its own message."""
    assert explain_value("Expected `object`, got `int`", 3) is None

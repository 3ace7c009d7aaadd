"""Values that only a password looks like are found in sentences on access, in several languages."""

# ruff: noqa: RUF001 -- Chinese has commas of its own

import pytest

from antechamber.core.privacy.access_values import (
    find_access_values,
    is_account_password,
    is_login_password,
    is_unmistakable,
    may_have_access_value,
)
from antechamber.core.privacy.effort import Effort, EffortSpentError

RANDOM = "k3Jq9wZt" + "R2mXv"


def found(text: str) -> list[str]:
    """Return the values that the search finds."""
    return [text[start:end] for start, end in find_access_values(text, Effort())]


@pytest.mark.parametrize(
    "value",
    [
        "Heron_" + "Maple42",
        "Heron&" + "maple7!",
        "31Heron" + "!maple",
        "Heron" + "2041_",
        "+Heron" + "204!",
        "Heron!" + "41",
        "Heron-" + "Maple42",
        "HeronMaple" + "42",
        "Heron_" + "42!",
        "Heron+" + "2011",
        "H3ron!" + "3506",
        "Zaunkönig!" + "77",
        "qw!PxxKAGrR" + "5T",
        RANDOM,
    ],
)
@pytest.mark.parametrize(
    "sentence",
    [
        "Use {} to decrypt the dump.",
        "Der Laptop öffnet sich mit {} seit Montag.",
        "Le compte demande {} au démarrage.",
        "la cuenta usa {} desde ayer",
        "解压用 {} 就行，别外传",
        "アカウントは {} で入れます",
    ],
)
def test_a_value_is_found_in_a_sentence_on_access(value: str, sentence: str) -> None:
    """No word for a password is needed."""
    assert found(sentence.format(value)) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "The table lists Heron_Maple42 and its neighbors.",
        f"Log in and look for commit {RANDOM} there.",
        "Open the session of Ec2SubnetId, Inform6Lexer and S3ClientError.",
        "Log in to Windows-Server2019 or to Blue-Heron42.",
        "The key has level*10, remaining+1000, AnsiToWin32 and 0x030200A4 in it.",
        f'"login": "{RANDOM}", "S3OutputPath": "account"',
        f"account\n{RANDOM}\n",
        "login: bG9nX2xldmVsOiBpbmZvCndvcmtlcnM6IDQK is the base64 of the settings of the account",
        "Press Ctrl+Shift+F5 to open the login.",
        "The account opens on 2026-11-28 at 10:30 with version 1.2.3.",
    ],
)
def test_names_and_ids_are_no_passwords(text: str) -> None:
    """Names of code, of places and of other things stay, and values without a word on access."""
    assert found(text) == []


def test_the_look_is_no_narrower_than_the_search() -> None:
    """What the search finds passes the quick look."""
    for value in ("Heron_Maple42", "31Heron!maple", "Heron2041_", "+Heron204!", "Heron!41", "HeronMaple42", RANDOM):
        assert may_have_access_value(f"log in with {value} now".encode())
    assert not may_have_access_value(b"log in with the usual account")


def test_too_many_values_end_the_search() -> None:
    """Each different value costs effort."""
    with pytest.raises(EffortSpentError):
        list(find_access_values(" ".join(f"Heron_Maple{number}" for number in range(10_000)), Effort()))


def test_plain_words_are_not_unmistakable() -> None:
    """A word, a number and a name are nothing that only a password looks like."""
    assert not any(map(is_unmistakable, ("heron", "20261128", "heron42", "SERVER_NAME_2", "Version_12")))


@pytest.mark.parametrize("unit", ["a1", "Aa1!", "a_", "1 ", "Heron_", "Ab1Cd2"])
def test_the_search_is_linear(unit: str) -> None:
    """A million characters take a second; a quadratic search takes an hour, so that the limit of each test ends it."""
    list(find_access_values(unit * (1_000_000 // len(unit)), Effort(10**9)))


def test_an_exclamation_mark_is_part_of_a_value_only_where_the_sentence_goes_on() -> None:
    """A word with a number and an exclamation mark may end a sentence, too."""
    value = "Harbor" + "88!"
    assert found(f"The printer takes {value} since Monday.") == [value]
    assert found(f"The printer is on floor {value} The login is gone.") == []


@pytest.mark.parametrize(
    ("value", "is_password"),
    [
        ("velvet42", True),
        ("Harbor" + "2042", True),
        ("oauth2", False),
        ("velvet", False),
    ],
)
def test_what_a_sentence_logs_in_with_is_a_word_with_a_number_at_least(value: str, *, is_password: bool) -> None:
    """A word alone is the name of a program."""
    assert is_login_password(value) is is_password


def test_a_value_behind_an_account_is_random_or_two_words_with_a_number() -> None:
    """A name of code is neither."""
    assert all(map(is_account_password, (RANDOM, "lampHarbor" + "_42", "Oe3tcY" + "eV0cm")))
    assert not any(map(is_account_password, ("outputBuffer", "SprintPlanning2025", "abcdefghijkl")))

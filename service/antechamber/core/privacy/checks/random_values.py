"""Random values, and passwords that a login is named with: checks of rules for sentences."""

import re
from collections.abc import Callable
from typing import Final

from antechamber.core.privacy.values.bounds import share_of_changes
from antechamber.core.privacy.values.letters import is_odd
from antechamber.core.privacy.values.passwords import is_wordy

_MIXED: Final = (str.islower, str.isupper, str.isdecimal)
_SHORTEST_RANDOM: Final = 10
_LONGEST_RANDOM: Final = 44
_SHORTEST_WITH_DIGIT: Final = 12
"""Characters of a random value with a single digit, which names of code have too."""
_DIGIT: Final = re.compile("[0-9]")
_LEAST_CHANGES: Final = 0.5
"""Runs of one kind of character per character, …"""
_LONG: Final = 16
_LEAST_CHANGES_OF_LONG: Final = 0.35
_LEAST_NUMBERS: Final = 2
"""… and those of a long value, which has two numbers at least; names of code seldom have."""
_DIGITS: Final = re.compile("[0-9]+")
_CAMEL: Final = re.compile("[A-Z][a-z]{2,}")
_LONGER: Final = re.compile("[A-Z]?[a-z]{4,}")
_CHARACTERS: Final = (12, 16)
"""Characters of a random value per word with a capital in it, and per longer word; names of code have fewer."""
_LONG_WORD: Final = re.compile("[a-z]{4}|[A-Z]{4}|[A-Z][a-z]{3}")
_CAMEL_WITH_NUMBER: Final = re.compile("[a-z]{3,}[A-Z][a-z]{3,}_[0-9]{2,4}")


def is_random_value(value: str) -> bool:
    """Return whether letters of both cases and digits are in disorder, unlike in a name of code."""
    return (
        (_SHORTEST_RANDOM if len(_DIGIT.findall(value)) > 1 else _SHORTEST_WITH_DIGIT) <= len(value) <= _LONGEST_RANDOM
        and value.isascii()
        and value.isalnum()
        and all(any(map(kind, value)) for kind in _MIXED)
        and (share_of_changes(value) >= _LEAST_CHANGES or _is_long_random(value))
        and _count_words(_CAMEL, value) <= max(1, len(value) // _CHARACTERS[0])
        and _count_words(_LONGER, value) <= len(value) // _CHARACTERS[1]
        and not is_wordy(value)
    )


def _count_words(words: re.Pattern[str], value: str) -> int:
    return sum(not is_odd(word) for word in words.findall(value))


def _is_long_random(value: str) -> bool:
    return (
        len(value) >= _LONG
        and len(_DIGITS.findall(value)) >= _LEAST_NUMBERS
        and share_of_changes(value) >= _LEAST_CHANGES_OF_LONG
    )


def is_account_password(value: str) -> bool:
    """Return whether a value behind an account is random, or two words with a number."""
    return (
        is_random_value(value)
        or _CAMEL_WITH_NUMBER.fullmatch(value) is not None
        or (
            _LONG_WORD.search(value) is None
            and all(any(map(kind, value)) for kind in _MIXED)
            and share_of_changes(value) >= _LEAST_CHANGES
        )
    )


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "account-password": is_account_password,
}

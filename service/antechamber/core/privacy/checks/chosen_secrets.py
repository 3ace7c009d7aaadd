"""Checks of secrets that persons choose, and of passwords with quotation marks in them."""

import re
from collections.abc import Callable
from typing import Final

from antechamber.core.privacy.values.letters import is_random_word
from antechamber.core.privacy.values.noise import is_noise
from antechamber.core.privacy.values.passwords import is_bare_password, is_pair_password, is_secret, is_spoken_password
from antechamber.core.privacy.values.phrases import is_counted, is_hyphenated, is_quoted_phrase, is_spoken_phrase

_SIGNS: Final = re.compile("[!#$%^?@~+&*]")
_BRACKETS: Final = re.compile(r"[\[\](){}<>|\\=/:,]")
"""Signs of code, addresses and regular expressions."""
_LEAST_SIGNS: Final = 2
_SHORTEST_SIGNED: Final = 12
_RARE_SIGN: Final = re.compile("(?=.*[A-Za-z])(?=.*[0-9])(?=.*[!#$%&*@^?~]).{8,}")
_LEET: Final = re.compile(r"(?=.{8,})(?:[A-Za-z]+[0-9]+){2,}[A-Za-z]*")
"""Digits in the place of letters, as in `L1m0n3`, or a generated password."""
_WORDS: Final = re.compile("[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SHORTEST_RANDOM: Final = 8
_LEAST_WORDS: Final = 0.5
"""Words and numbers per character: 0.6 in random letters and digits, 0.3 in names of classes."""
_QUOTES: Final = re.compile(r"\\?[\"'’]")  # noqa: RUF001 -- an apostrophe of prose


def is_chosen_secret(value: str) -> bool:
    """Return whether a value is words with hyphens between them, or letters of both cases among signs."""
    return not is_noise(value) and (is_hyphenated(value) or is_counted(value) or _is_signed(value))


def _is_signed(value: str) -> bool:
    return (
        len(value) >= _SHORTEST_SIGNED
        and len(_SIGNS.findall(value)) >= _LEAST_SIGNS
        and any(map(str.islower, value))
        and any(map(str.isupper, value))
        and _BRACKETS.search(value) is None
    )


def is_nested_key(value: str) -> bool:
    """Return whether a value below the name of a service is its key."""
    return is_secret(value) or (is_hyphenated(value) and not is_noise(value))


def is_marked_password(value: str) -> bool:
    """Return whether a value in quotation marks, which has further ones in it, is a password."""
    letters = _QUOTES.sub("", value)
    return is_bare_password(letters) or is_random_word(letters)


def is_recovery_code(value: str) -> bool:
    """Return whether groups of letters and digits are no words."""
    return any(map(str.isdecimal, value))


def is_unmistakable(value: str) -> bool:
    """Return whether only a password looks like a value: with a rare sign, digits for letters, or a phrase."""
    return is_spoken_password(value) and bool(
        is_hyphenated(value) or _RARE_SIGN.fullmatch(value) or _LEET.fullmatch(value)
    )


def is_login_password(value: str) -> bool:
    """Return whether a value in the place of a password is one, and not the name of a class, such as `Widget2Api`."""
    is_disordered = len(value) >= _SHORTEST_RANDOM and len(_WORDS.findall(value)) >= _LEAST_WORDS * len(value)
    return is_unmistakable(value) or (is_disordered and is_pair_password(value))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "chosen-secret": is_chosen_secret,
    "nested-key": is_nested_key,
    "marked-password": is_marked_password,
    "recovery-code": is_recovery_code,
    "unmistakable": is_unmistakable,
    "login-password": is_login_password,
    "spoken-phrase": is_spoken_phrase,
    "quoted-phrase": is_quoted_phrase,
}

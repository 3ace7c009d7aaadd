"""Letters that form no words: what a generator of passwords gives where neither digits nor signs are among them."""

import re
from itertools import pairwise
from typing import Final

_VOWELS: Final = frozenset("aeiouy")
_RUNS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word within a name such as `getXMLNode`; capitals in a row are a word of their own."""
_LONGEST_CONSONANTS: Final = 5
_SHORTEST_HUMP: Final = 2.4
_GIBBERISH_LENGTH: Final = 12
_SHORTEST: Final = 8
_LONGEST: Final = 64
_LEAST_ODD: Final = 2
_LONGEST_WORD: Final = 4.5
_LEAST_STRANGE: Final = 3
_LONGEST_PART: Final = 4.0
_SHORTEST_PART: Final = 2.7
"""Letters per word on average: names of code have more."""
_ROWS: Final = """
    abcdefghijklmnopqrstuvwxyz babdeijlorstuvy cacehiklnoqrstuy dabdegijlmnorsuvy eabcdefghijklmnopqrstuvwxyz
    faefilortuy gaeghilmnorsuy haeilmnortuy iabcdefgjklmnopqrstuvxz jaeiou kaeilnswy labcdefghiklmopstuvyz
    mabeimnopsuy nacdefghijklmnoqrstuvxyz oabcdefghijklmnopqrstuvwxyz pacefhilnoprstuy qu rabcdefgijklmnopqrstuvyz
    sabcdefghiklmnopqstuvwy tacehilnorstuwyz uabcdefgijlmnopqrstvxyz vaeioruvy waehinors xacehioptuy yacdeglmnoprstu
    zaeiouwyz
    """.split()  # noqa: SIM905 -- a list would take a line for each row
_FOLLOWERS: Final = {row[0]: frozenset(row[1:]) for row in _ROWS}
"""Each letter, and those that follow it in words of English, French, Spanish, Italian, Portuguese and German."""
_SHORT_FORMS: Final = frozenset(
    """
    http https xml html sql css js ts jwt tls ssl ssh ldap pgp gpg md sha rsa tcp udp dns npm png svg pdf csv str ptr
    ctx cfg src dst msg btn img mgr fn db nt xhr rpc grpc mtls
    """.split()  # noqa: SIM905 -- a list would take a line for each word
)
"""Short forms in the names of code, which no word contains."""


def is_gibberish(letters: str, shortest: int = _GIBBERISH_LENGTH) -> bool:
    """Return whether letters form no word: many changes of case, or many consonants in a row."""
    if len(letters) < shortest or not (letters.isascii() and letters.isalpha()):
        return False
    runs = _RUNS.findall(letters)
    # The end of a word and the capital of the next one, as in `ReadOverHttps`, are no consonants in a row.
    return len(letters) / len(runs) < _SHORTEST_HUMP or any(map(_has_consonants, runs))


def _has_consonants(letters: str) -> bool:
    """Return whether more consonants are in a row than words have."""
    run = longest = 0
    for letter in letters.lower():
        run = 0 if letter in _VOWELS else run + 1
        longest = max(longest, run)
    return longest > _LONGEST_CONSONANTS


def is_random_word(letters: str) -> bool:
    """Return whether letters of both cases are random, and no name of code, whose parts are words or short forms."""
    if not _SHORTEST <= len(letters) <= _LONGEST or not (letters.isascii() and letters.isalpha()):
        return False
    if letters.islower() or letters.isupper() or letters.istitle():
        return is_gibberish(letters)
    words = _HUMP.findall(letters)
    size = len(letters) / len(words)
    odd = sum(map(is_odd, words))
    strange = odd + sum(word.isupper() and word.lower() not in _SHORT_FORMS for word in words)
    return (
        (odd >= _LEAST_ODD and size <= _LONGEST_WORD)
        or (odd > 0 and strange >= _LEAST_STRANGE and size <= _LONGEST_PART)
        or (strange >= _LEAST_STRANGE and size <= _SHORTEST_PART)
        or any(map(_has_consonants, words))
    )


def is_odd(word: str) -> bool:
    """Return whether a part of a name is no word: without a vowel, or with letters in a row that words do not have."""
    lower = word.lower()
    if lower in _SHORT_FORMS or word.isupper() or len(word) == 1:
        return False
    return not _VOWELS.intersection(lower) or any(two not in _FOLLOWERS[one] for one, two in pairwise(lower))

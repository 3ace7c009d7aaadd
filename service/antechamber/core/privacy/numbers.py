"""Numbers with check digits: payment cards and IBANs, found in linear time even if candidates overlap.

A candidate begins and ends with a group of characters, so candidates overlap. Cards are verified with prefix sums, one
subtraction for each candidate; an IBAN is compared with its country's structure before its check digits are computed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from stdnum import iban as iban_number
from stdnum import numdb

from antechamber.core.privacy.effort import Effort

_CARD_LENGTHS: Final[tuple[tuple[range, int, frozenset[int]], ...]] = (
    (range(4, 5), 1, frozenset({13, 16, 19})),
    (range(51, 56), 2, frozenset({16})),
    (range(2221, 2721), 4, frozenset({16})),
    (range(34, 35), 2, frozenset({15})),
    (range(37, 38), 2, frozenset({15})),
    (range(300, 306), 3, frozenset({14})),
    (range(36, 37), 2, frozenset({14})),
    (range(38, 40), 2, frozenset({14})),
    (range(6011, 6012), 4, frozenset({16, 19})),
    (range(644, 660), 3, frozenset({16, 19})),
    (range(3528, 3590), 4, frozenset({16, 17, 18, 19})),
    (range(62, 63), 2, frozenset({16, 17, 18, 19})),
)
"""Issuer prefixes (ISO/IEC 7812) with their number of digits and the lengths of that issuer's cards."""
_PREFIX: Final = 4
"""Leading digits that determine the issuer."""
_SHORTEST_CARD: Final = 13
_LONGEST_CARD: Final = 19
_DIGITS: Final = re.compile("[0-9](?:[ \xa0-]?[0-9])*")
_SEPARATOR: Final = re.compile("[ \xa0-]")
_ONCE: Final = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED: Final = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
"""The value of each digit that the Luhn formula doubles."""
_ALNUM: Final = re.compile("[0-9A-Za-z](?:[ -]?[0-9A-Za-z])*")
_BREAK: Final = re.compile("[ -]")
_IBAN_HEAD: Final = 4
"""Characters before the account number: country and check digits."""
_SHORTEST_IBAN: Final = 15
_PART: Final = re.compile("([0-9]+)!([nac])")
_KINDS: Final = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
"""Character classes for the registry's codes of digits, letters and both."""
_BASE_36: Final = {code: str(int(chr(code), 36)) for code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_NATIONAL_CHECK: Final = 8
"""Units of effort for a country's own check digits."""


def holds_card(text: str, _effort: Effort) -> bool:
    """Return whether a text contains a payment card number: issuer prefix, length and Luhn digit (ISO/IEC 7812-1).

    Groups of digits before or after the number (an expiry date) do not hide it.
    """
    return any(
        _card_in(run[0], opens=not _in_word(text, run.start() - 1, "."), closes=not _in_word(text, run.end()))
        for run in _DIGITS.finditer(text)
        if run.end() - run.start() >= _SHORTEST_CARD
    )


def _in_word(text: str, place: int, also: str = "") -> bool:
    """Return whether the character at an index is an ASCII letter or digit, or one of `also`."""
    character = text[place] if 0 <= place < len(text) else ""
    return character != "" and ((character.isascii() and character.isalnum()) or character in also)


def _card_in(run: str, *, opens: bool, closes: bool) -> bool:
    """Return whether groups of digits contain a card number.

    A number may begin with the first group only if `opens`, and end with the last group only if `closes`.
    """
    groups = _SEPARATOR.split(run)
    digits = "".join(groups)
    bounds = list(accumulate(map(len, groups), initial=0))
    ends = bytearray(len(digits) + _LONGEST_CARD + 1)
    for end in bounds[1:] if closes else bounds[1:-1]:
        ends[end] = 1
    return any(
        len(set(digits[start:end])) > 1
        for start, end in _luhn_valid(digits, bounds[0 if opens else 1 : -1], ends, _lengths_of())
    )


def _luhn_valid(
    digits: str, starts: Sequence[int], ends: Sequence[int], lengths: Mapping[str, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each possible card number between two bounds whose Luhn digit is correct.

    `ends` has 1 at each index where a number may end. The code is two loops without calls, because they run for every
    group of a text.
    """
    sums = _luhn_sums(digits)
    for start in starts:
        for length in lengths.get(digits[start : start + _PREFIX], ()):
            end = start + length
            # The last digit counts once and the one before it twice, so the doubled digits have the parity of `end`.
            if ends[end] and not (sums[end & 1][end] - sums[end & 1][start]) % 10:
                yield start, end


def _luhn_sums(digits: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return prefix sums of the Luhn values, first with even indexes doubled, then with odd indexes doubled."""
    raw, sums = digits.encode(), []
    for parity in (0, 1):
        counted = bytearray(raw.translate(_ONCE))
        counted[parity::2] = raw[parity::2].translate(_DOUBLED)
        sums.append(list(accumulate(counted, initial=0)))
    return sums[0], sums[1]


@cache
def _lengths_of() -> dict[str, tuple[int, ...]]:
    """Return the possible lengths of card numbers by their first four digits, for known issuers only."""
    found = {}
    for number in range(10**_PREFIX):
        prefix = f"{number:0{_PREFIX}}"
        lengths = {length for prefixes, width, of in _CARD_LENGTHS if int(prefix[:width]) in prefixes for length in of}
        if lengths:
            found[prefix] = tuple(sorted(lengths))
    return found


def holds_iban(text: str, effort: Effort) -> bool:
    """Return whether a text contains an IBAN: country, length, structure and check digits (ISO 13616).

    Text after the IBAN does not hide it. Raises EffortSpentError if there are too many candidates.
    """
    return any(
        _is_iban(candidate, effort)
        for run in _ALNUM.finditer(text)
        if run.end() - run.start() >= _SHORTEST_IBAN
        for candidate in _iban_candidates(run[0].upper())
    )


def _iban_candidates(run: str) -> Iterator[str]:
    """Yield candidates with the length and structure of their country's IBANs, from the beginning of each group."""
    groups = _BREAK.split(run)
    compact = "".join(groups)
    for start in accumulate(map(len, groups[:-1]), initial=0):
        structure = _structure(compact[start : start + 2])
        if structure is not None and (match := structure.match(compact, start)):
            yield match[0]


@cache
def _structure(country: str) -> re.Pattern[str] | None:
    """Return the structure of a country's IBANs in upper case, or None if the country has none."""
    ((_, properties), *_rest) = numdb.get("iban").info(country)
    account = "".join(f"{_KINDS[kind]}{{{size}}}" for size, kind in _PART.findall(properties.get("bban", "")))
    return re.compile(f"{country}[0-9]{{2}}{account}") if account else None


def _is_iban(number: str, effort: Effort) -> bool:
    """Return whether the check digits are correct, including a country's own ones if there are any."""
    if int((number[_IBAN_HEAD:] + number[:_IBAN_HEAD]).translate(_BASE_36)) % 97 != 1:
        return False
    effort.spend(_NATIONAL_CHECK)
    return iban_number.is_valid(number)

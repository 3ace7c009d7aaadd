"""Bank accounts: IBANs by country, length, structure and check digits (ISO 13616)."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from stdnum import iban as iban_number
from stdnum import numdb

from antechamber.core.privacy.effort import Effort

_HEAD: Final = 4
"""Characters before the account number: country and check digits."""
_BEGINNING: Final = re.compile(
    r"(?:(?<![0-9A-Za-z])|(?<=IBAN)|(?<=iban))([A-Za-z]{2})[0-9]{2}(?=[ \xa0.-]?[0-9A-Za-z])"
)
_GAP: Final = r"[ \xa0.-]?"
_PART: Final = re.compile("([0-9]+)!([nac])")
_UNREGISTERED: Final = {
    "AO": 25, "BF": 28, "BJ": 28, "CF": 27, "CG": 27, "CI": 28, "CM": 27, "CV": 25, "DZ": 26, "GA": 27, "GQ": 27,
    "GW": 25, "IR": 26, "KM": 27, "MA": 28, "MG": 27, "ML": 28, "MZ": 25, "NE": 28, "SN": 28, "TD": 27, "TG": 28,
}  # fmt: skip
"""Lengths of the IBANs of countries that use them and are not in the registry of ISO 13616."""
_CLASSES: Final = {"n": "[0-9]", "a": "[A-Za-z]", "c": "[A-Za-z0-9]"}
"""Character classes for the registry's codes of digits, letters and both."""
_SIGNS: Final = re.compile(r"[ \xa0.-]")
_BASE_36: Final = {code: str(int(chr(code), 36)) for code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_NATIONAL_CHECK: Final = 8
"""Units of effort for a country's own check digits."""


def find_ibans(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of IBANs; text after an IBAN does not hide it.

    The account number may be grouped in any way, with one sign between two groups. Raises EffortSpentError if there
    are too many candidates.
    """
    end = 0
    for beginning in _BEGINNING.finditer(text):
        structure = _structure_of(beginning[1].upper())
        if structure is None or beginning.start() < end:
            continue
        match = structure.match(text, beginning.start())
        if match is not None and _is_iban(_SIGNS.sub("", match[0]).upper(), effort):
            end = match.end()
            yield match.span()


@cache
def _structure_of(country: str) -> re.Pattern[str] | None:
    """Return the structure of a country's IBANs with gaps, or None if the country has none."""
    ((_, properties), *_rest) = numdb.get("iban").info(country)
    account = "".join(
        f"(?:{_GAP}{_CLASSES[kind]}){{{size}}}" for size, kind in _PART.findall(properties.get("bban", ""))
    )
    if country in _UNREGISTERED:
        account = f"(?:{_GAP}[A-Za-z0-9]){{{_UNREGISTERED[country] - _HEAD}}}(?![0-9A-Za-z])"
    return re.compile(f"[A-Za-z]{{2}}[0-9]{{2}}{account}") if account else None


def has_check_digits(number: str) -> bool:
    """Return whether a number has the check digits of an IBAN, of whatever country and length (ISO 7064, MOD 97-10)."""
    number = _SIGNS.sub("", number).upper()
    return int((number[_HEAD:] + number[:_HEAD]).translate(_BASE_36)) % 97 == 1


def _is_iban(number: str, effort: Effort) -> bool:
    """Return whether the check digits are correct, including a country's own ones if there are any."""
    if not has_check_digits(number):
        return False
    effort.spend(_NATIONAL_CHECK)
    return number[:2] in _UNREGISTERED or bool(iban_number.is_valid(number))


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"ibans": find_ibans}
CHECKS: Final[dict[str, Callable[[str], bool]]] = {"iban-digits": has_check_digits}

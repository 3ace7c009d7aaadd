"""Numbers without context that have the check digits of a national or tax id: one search for many countries.

A number of nine to eleven digits has the check digits of some country by chance often enough that only a curator can
judge it, so that one rule warns for all of these countries.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from antechamber.core.privacy.checks.national_checks import CHECKS
from antechamber.core.privacy.effort import Effort

_NUMBER: Final = re.compile(
    r"(?=[0-9])(?<![0-9A-Za-z.,:/=_#$-])(?:[0-9]{9,13}|[0-9]{18}|[0-9]{3}(?P<gap>[ -])[0-9]{3}(?P=gap)[0-9]{3}"
    r"|[0-9]{3}-(?:[0-9]{3}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[0-9]{2}-[0-9]{3})|[1-9][0-9] [0-9]{3} [0-9]{3} [0-9]{3}"
    r"|[0-9]{6}[-+][0-9]{4,5}|[0-9]{8}-[0-9]{4}|[0-9]{6}-[0-9]{7}|[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}[. ][0-9]{2}"
    r"|[0-9]{2} [0-9]{2} [0-9]{2} (?:[0-9]{5}|[0-9]{3} [0-9]{2})"
    r"|[0-9]{9}-[0-9]|[0-9]{4}\.[0-9]{2}\.[0-9]{3}|[0-9]{4} [0-9]{6}"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]|[0-9]{6}-[0-9]{2}-[0-9]{4}|9[0-9]{2}-[0-9]{2}-[0-9]{4}"
    r"|[2-9][0-9]{3} [0-9]{4} [0-9]{4}|[0-9]{6} [0-9]{4,5}|[0-9]{6} [0-9]{4} [0-9]{2} ?[0-9]|[0-9]{6}/[0-9]{4})"
    r"(?![0-9A-Za-z_%/:]|[.,-][0-9A-Za-z])"
)
_TIME: Final = re.compile(
    "1[0-9]{9}|20[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9][0-9]{0,4}|1[5-9][0-9]{11}|[0-9]0{5,}|[0-9]+000"
)
"""Seconds and milliseconds since 1970, dates, and rounded amounts, which are rarely an id."""
_COUNTED: Final = re.compile(
    r" ?(?i:bytes|[kmg]i?b|bits|packets|nodes|edges|rows|records|events|requests|messages|items|lines|samples|tokens"
    r"|users|points|objects|files|[mnu\u00b5]s|seconds|iterations|steps|cycles|ticks|px|tris|urls|hits|times)\b"
)
"""What a number counts, directly after it."""
_MEASURED: Final = re.compile(
    r"(?i)(?:isbn(?:-?1[03])?|length|size|offset|version|generation|count|total)[\"' :=#]{1,4}\Z"
)
"""What says before a number that it is a measure, a version or the number of a book."""
_MEASURE_REACH: Final = 24
_COUNTRIES: Final = {
    9: ("nl-bsn", "ca-sin", "au-tfn", "pt-nif", "gr-vat", "il-idnr", "nz-ird", "by-unp", "at-tin"),
    10: ("bg-egn", "cz-rc", "se-personnummer", "is-kennitala", "pl-nip", "ua-rntrc", "ru-inn", "ec-ci", "hu-tax-id"),
    11: (
        "pl-pesel", "ee-ik", "no-fodselsnummer", "de-idnr", "be-nn", "tr-tckimlik", "br-cpf", "gr-amka", "lv-pvn",
        "hr-oib", "ar-cuit", "pe-ruc", "do-cedula",
    ),
    12: ("ru-inn", "uy-rut", "in-aadhaar", "se-personnummer"),
    13: ("ro-cnp", "si-emso", "za-idnr", "kr-rrn", "th-pin"),
    18: ("cn-ric",),
}  # fmt: skip
"""Checks by the number of digits."""
_GROUPED: Final = {
    "[0-9]{4} [0-9]{6}": "at-vnr",
    r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]": "co-nit",
    "[0-9]{6}-[0-9]{2}-[0-9]{4}": "my-nric",
    "9[0-9]{2}-[0-9]{2}-[0-9]{4}": "us-itin",
}
"""Checks of numbers that are an id in this form only; bare, too many numbers would pass them by chance."""
_UNITS: Final = 20
"""Units of effort for the checks of one number."""
_MOST_LOOKS: Final = 24
"""Numbers of one text that are checked; the rule only warns, so that more are of no use to a curator."""


def find_national_numbers(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of numbers that have the check digits of a national or tax id; at most 24 are checked.

    Raises EffortSpentError if there are too many candidates.
    """
    for match in islice(_NUMBER.finditer(text), _MOST_LOOKS):
        digits = re.sub("[^0-9]", "", match[0])
        countries = list(_COUNTRIES.get(len(digits), ()))
        countries += [country for form, country in _GROUPED.items() if re.fullmatch(form, match[0])]
        # Times are written without separators; powers of two are limits and sizes.
        if (
            countries
            and _TIME.fullmatch(match[0]) is None
            and int(digits).bit_count() > 1
            and _COUNTED.match(text, match.end()) is None
            and _MEASURED.search(text, max(0, match.start() - _MEASURE_REACH), match.start()) is None
        ):
            effort.spend(_UNITS)
            if any(CHECKS[country](digits) or CHECKS[country](match[0]) for country in countries):
                yield match.span()


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "national-id-numbers": find_national_numbers
}

"""Phone numbers: international, national after a context word, and national in a typical grouping.

The numbering plans are those of the `phonenumbers` library.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from antechamber.core.privacy.effort import Effort

_UNITS: Final = 12
"""Units of effort for one look at a numbering plan."""
_SHORTEST: Final = 7
"""Digits of the shortest number that is looked up."""
_LONGEST: Final = 15
"""Digits of the longest number (ITU-T E.164)."""
_GAP: Final = r"[ \xa0\u2009\u202f./\u2010-\u2013-]"
_AFTER: Final = r"(?:(?: ?(?:x|ext\.?|Ext\.?|#) ?)[0-9]{1,6})?(?![0-9A-Za-z_]|[.,:/=][0-9]|-[0-9A-Za-z])"
"""An extension, and the end of a number."""
_INTERNATIONAL: Final = re.compile(
    rf"(?<![0-9A-Za-z+.])(?<![0-9A-Za-z]-)(?<![0-9][ \xa0])(?:\+|00{_GAP}?)[1-9][0-9]{{0,14}}"
    rf"(?:(?:{_GAP}{{1,2}}|{_GAP}?\(|\){_GAP}?)[0-9]{{1,12}}){{0,7}}{_AFTER}"
)
_NATIONAL: Final = re.compile(
    rf"[(0-9](?<![0-9A-Za-z+./\\].)(?<![0-9][,:=].)(?<![0-9A-Za-z]-.)[0-9]{{0,11}}(?:(?:{_GAP}|{_GAP}?\(|\){_GAP}?)[0-9]{{1,9}}){{0,6}}{_AFTER}"
)
_GROUPED: Final = re.compile(
    r"(?=[(0-9])(?<![0-9A-Za-z+.,:/=#$_\\])(?<![0-9A-Za-z]-)(?<![0-9][ \xa0])(?:"
    r"(?P<US>\([2-9][0-9]{2}\)[ -]?[2-9][0-9]{2}[ .-][0-9]{4}"
    r"|(?:1[ .-])?[2-9][0-9]{2}(?P<gap>[-. ])[2-9][0-9]{2}(?P=gap)[0-9]{4})"
    r"|(?P<FR>0[1-9](?P<pair>[ .-])[0-9]{2}(?:(?P=pair)[0-9]{2}){3})"
    r"|(?P<GB>0[127][0-9]{2,3} [0-9]{3} ?[0-9]{3,4}|\(?02[0-9]\)? [0-9]{4} [0-9]{4}|07[0-9]{3} [0-9]{3} ?[0-9]{3})"
    r"|(?P<DE>\(?0[1-9][0-9]{1,4}\)?(?: ?[/-] ?| )[0-9]{3,8}(?:[ -][0-9]{2,5})?)"
    r"|(?P<JP>0[1-9][0-9]?-[0-9]{4}-[0-9]{4}|0[789]0-[0-9]{4}-[0-9]{4})"
    r"|(?P<CN>1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4})"
    r"|(?P<BR>\([1-9][0-9]\) ?9?[0-9]{4}-[0-9]{4})"
    r"|(?P<AU>\(0[2378]\) ?[0-9]{4} ?[0-9]{4}|04[0-9]{2} [0-9]{3} [0-9]{3})"
    r")" + _AFTER
)
"""National numbers in the usual grouping of a country, which is the name of the group."""
_EXTENSION: Final = re.compile("(?: ?(?:x|ext[.]?|Ext[.]?|#) ?)[0-9]{1,6}$")
_DASHED: Final = re.compile(r"(?:1[ -])?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}-)[2-9][0-9]{2}-[0-9]{4}")
"""A number of North America with a hyphen before its last four digits, which counts with any area code."""
_PLANS: Final = ("US", "GB", "DE", "FR", "IN", "ES", "IT", "CN")
"""Countries whose national forms are looked up for bare digits, the most frequent ones first."""
_COUNTRIES: Final = ("US", "FR", "GB", "DE", "JP", "CN", "BR", "AU")
_MOST_LOOKS: Final = 24
"""Looks at numbering plans in one text; the rules only warn, so that more are of no use to a curator."""
_DATE: Final = re.compile(
    r"(?:19|20)[0-9]{2}[-./ ][01]?[0-9][-./ ][0-3]?[0-9]|[0-3]?[0-9][-./][01]?[0-9][-./](?:19|20)?[0-9]{2}"
)
_ADDRESS: Final = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")


def find_international_phones(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of phone numbers with a country code, which begin with `+` or `00`; at most 24 are looked up.

    Raises EffortSpentError if there are too many candidates.
    """
    sized = (
        one
        for one in _INTERNATIONAL.finditer(text)
        if _SHORTEST <= _count_digits(_EXTENSION.sub("", one[0])) <= _LONGEST + 2
    )
    for match in islice(sized, _MOST_LOOKS):
        effort.spend(_UNITS)
        number = _EXTENSION.sub("", match[0])
        if _is_in_plan("+" + re.sub("[^0-9]", "", number).removeprefix("00")):
            yield match.span()


def find_national_phones(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of digits that may be a national number; the rule asks for a context word.

    Grouped digits and those with a leading zero count as one; other digits need to fit a numbering plan. At most 24 are
    looked up. Raises EffortSpentError if there are too many candidates.
    """
    sized = (
        one for one in _NATIONAL.finditer(text) if _SHORTEST <= _count_digits(_EXTENSION.sub("", one[0])) <= _LONGEST
    )
    for match in islice(sized, _MOST_LOOKS):
        number = match[0]
        effort.spend(_UNITS)
        number = _EXTENSION.sub("", number)
        if _is_other(number):
            continue
        if number.startswith("0") or not number.isdigit() or any(_is_in_plan(number, plan) for plan in _PLANS):
            yield match.span()


def find_grouped_phones(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of national numbers in a country's usual grouping; at most 24 are looked up.

    Raises EffortSpentError if there are too many candidates.
    """
    for match in islice(_GROUPED.finditer(text), _MOST_LOOKS):
        effort.spend(_UNITS)
        number = _EXTENSION.sub("", match[0])
        if _DASHED.fullmatch(number) or any(match[country] and _is_in_plan(number, country) for country in _COUNTRIES):
            yield match.span()


def _count_digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _is_other(text: str) -> bool:
    """Return whether digits and signs are a date or an IP address."""
    return bool(_DATE.fullmatch(text) or _ADDRESS.fullmatch(text))


def _is_in_plan(number: str, country: str | None = None) -> bool:
    """Return whether the numbering plan of a country has a number.

    Without a country the number is in E.164 form, and has a country code and a length of that country.
    """
    # Imported with the first candidate: it takes 20 ms of a start, and most commands scan no text.
    from phonenumbers import NumberParseException, is_possible_number, is_valid_number, parse  # noqa: PLC0415

    try:
        parsed = parse(number, country)
    except NumberParseException:
        return False
    return is_possible_number(parsed) if country is None else is_valid_number(parsed)


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "phones-international": find_international_phones,
    "phones-national": find_national_phones,
    "phones-grouped": find_grouped_phones,
}

"""Checks of ids that `python-stdnum` does not cover: check digits as issuers publish them, and what is no id at all.

Each function takes a number as it is written. It may raise ValueError, IndexError or KeyError for one of another form.
"""

import re
from collections.abc import Callable, Iterable
from datetime import date
from operator import mul
from typing import Final

from stdnum import luhn, verhoeff
from stdnum.iso7064 import mod_11_2

_SIGNS: Final = re.compile(r"[^0-9A-Za-z]")
_DIGIT: Final = re.compile("[0-9]")


def _digits_of(number: str) -> list[int]:
    return [int(sign) for sign in _SIGNS.sub("", number)]


def _sum(digits: Iterable[int], weights: Iterable[int]) -> int:
    return sum(map(mul, digits, weights))


def is_chinese_id(number: str) -> bool:
    """Return whether 18 characters have a birth date and the check character of ISO 7064 (GB 11643)."""
    try:
        date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    return bool(mod_11_2.is_valid(number.upper()))


def is_russian_snils(number: str) -> bool:
    """Return whether the two check digits of a Russian insurance number are correct (Pension Fund of Russia)."""
    digits = [int(sign) for sign in _SIGNS.sub("", number)]
    total = sum(weight * digit for weight, digit in zip(range(9, 0, -1), digits[:9], strict=True))
    return total % 101 % 100 == digits[9] * 10 + digits[10]


_SINGAPORE: Final = {
    "S": (0, "JZIHGFEDCBA"),
    "T": (4, "JZIHGFEDCBA"),
    "F": (0, "XWUTRQPNMLK"),
    "G": (4, "XWUTRQPNMLK"),
    "M": (3, "XWUTRQPNJLK"),
}
"""First letter of a Singapore NRIC or FIN, with the number that is added and the letters of the remainders."""


def is_singapore_nric(number: str) -> bool:
    """Return whether the last letter of a Singapore NRIC or FIN is correct (Immigration and Checkpoints Authority)."""
    added, letters = _SINGAPORE[number[0].upper()]
    digits = [int(digit) for digit in number[1:8]]
    total = added + sum(weight * digit for weight, digit in zip((2, 7, 6, 5, 4, 3, 2), digits, strict=True))
    return letters[total % 11] == number[8].upper()


_TAIWAN: Final = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
"""Letters of the counties; the first one counts as 10."""


def is_taiwanese_id(number: str) -> bool:
    """Return whether the check digit of a Taiwanese identity card number is correct (Ministry of the Interior)."""
    county = _TAIWAN.index(number[0].upper()) + 10
    digits = [county // 10, county % 10, *map(int, number[1:])]
    weights = (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1)
    return sum(weight * digit for weight, digit in zip(weights, digits, strict=True)) % 10 == 0


def is_hong_kong_id(number: str) -> bool:
    """Return whether the check digit of a Hong Kong identity card number is correct (Immigration Department)."""
    signs = _SIGNS.sub("", number).upper().rjust(9)
    values = [36 if sign == " " else int(sign, 36) for sign in signs[:8]]
    last = 10 if signs[8] == "A" else int(signs[8])
    return (sum(weight * value for weight, value in zip(range(9, 1, -1), values, strict=True)) + last) % 11 == 0


def is_hungarian_tax_id(number: str) -> bool:
    """Return whether the check digit of a Hungarian personal tax number is correct (Act XX of 1996)."""
    digits = [int(digit) for digit in number]
    return sum(place * digit for place, digit in enumerate(digits[:9], 1)) % 11 == digits[9]


def is_australian_medicare(number: str) -> bool:
    """Return whether the ninth digit of an Australian Medicare card is correct (Services Australia)."""
    digits = [int(digit) for digit in _SIGNS.sub("", number)]
    total = sum(weight * digit for weight, digit in zip((1, 3, 7, 9, 1, 3, 7, 9), digits[:8], strict=True))
    return total % 10 == digits[8]


def is_german_pension_id(number: str) -> bool:
    """Return whether the last digit of a German pension insurance number is correct (VKVV, section 2)."""
    signs = _SIGNS.sub("", number).upper()
    letter = ord(signs[8]) - ord("A") + 1
    digits = [int(digit) for digit in f"{signs[:8]}{letter:02}{signs[9:]}"]
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    products = (weight * digit for weight, digit in zip(weights, digits[:12], strict=True))
    return sum(product // 10 + product % 10 for product in products) % 10 == digits[12]


def is_german_health_id(number: str) -> bool:
    """Return whether the last digit of a German health insurance number is correct (SGB V, section 290)."""
    signs = _SIGNS.sub("", number).upper()
    digits = [int(digit) for digit in f"{ord(signs[0]) - ord('A') + 1:02}{signs[1:]}"]
    products = map(mul, digits[:10], (1, 2) * 5)
    return bool(sum(product // 10 + product % 10 for product in products) % 10 == digits[10])


def is_luhn(number: str) -> bool:
    """Return whether the last digit is that of Luhn (ISO/IEC 7812-1, annex B).

    It is that of the NSS of Mexico, the ids of Saudi Arabia, the Emirates ID, and the health card of Ontario, whose
    version code of letters does not count.
    """
    return bool(luhn.is_valid("".join(_DIGIT.findall(number))))


def is_spanish_nuss(number: str) -> bool:
    """Return whether the last two digits of a Spanish social security number are correct (Seguridad Social)."""
    digits = _SIGNS.sub("", number)
    province, rest = int(digits[:2]), int(digits[2:10])
    shift = 10**7 if rest < 10**7 else 10**8
    return (province * shift + rest) % 97 == int(digits[10:12])


def is_brazilian_pis(number: str) -> bool:
    """Return whether the last digit of a Brazilian PIS, PASEP or NIS is correct (Caixa Econômica Federal)."""
    digits = _digits_of(number)
    rest = _sum(digits, (3, 2, 9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if rest < 2 else 11 - rest) == digits[10]  # noqa: PLR2004 -- the rule of the issuer


def is_brazilian_license(number: str) -> bool:
    """Return whether the last two digits of a Brazilian driving license (CNH) are correct (Denatran)."""
    digits = _digits_of(number)
    first = _sum(digits, range(9, 0, -1)) % 11
    second = _sum(digits, range(1, 10)) % 11
    if first == 10:  # noqa: PLR2004 -- the remainder that no digit shows
        first, second = 0, second - 2 if second >= 2 else second + 9  # noqa: PLR2004
    return (first, 0 if second == 10 else second) == (digits[9], digits[10])  # noqa: PLR2004


def is_portuguese_niss(number: str) -> bool:
    """Return whether the last digit of a Portuguese social security number is correct (Segurança Social)."""
    digits = _digits_of(number)
    return 9 - _sum(digits, (29, 23, 19, 17, 13, 11, 7, 5, 3, 2)) % 10 == digits[10]


def is_hungarian_taj(number: str) -> bool:
    """Return whether the last digit of a Hungarian health insurance number is correct (Act XX of 1996)."""
    digits = _digits_of(number)
    return _sum(digits, (3, 7) * 4) % 10 == digits[8]


def is_kazakh_iin(number: str) -> bool:
    """Return whether the date and the last digit of a Kazakh individual number are correct (Act of 2007, No. 223)."""
    digits = _digits_of(number)
    rest = _sum(digits, range(1, 12)) % 11
    if rest == 10:  # noqa: PLR2004 -- then the second row of weights counts
        rest = _sum(digits, (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)) % 11
    date(2000, digits[2] * 10 + digits[3], digits[4] * 10 + digits[5])
    return rest == digits[11]


def is_iranian_code(number: str) -> bool:
    """Return whether the last digit of an Iranian national code is correct (Sabte Ahval)."""
    digits = _digits_of(number)
    rest = _sum(digits, range(10, 1, -1)) % 11
    return digits[9] == (rest if rest < 2 else 11 - rest)  # noqa: PLR2004 -- the rule of the issuer


def is_salvadoran_dui(number: str) -> bool:
    """Return whether the last digit of a Salvadoran DUI is correct (Registro Nacional de las Personas Naturales)."""
    digits = _digits_of(number)
    return -_sum(digits, range(9, 1, -1)) % 10 == digits[8]


def is_uruguayan_ci(number: str) -> bool:
    """Return whether the last digit of a Uruguayan identity card is correct (DNIC)."""
    digits = _digits_of(_SIGNS.sub("", number).zfill(8))
    return -_sum(digits, (2, 9, 8, 7, 6, 3, 4)) % 10 == digits[7]


def is_luxembourgish_matricule(number: str) -> bool:
    """Return whether date and check digits of a Luxembourgish matricule are correct (CTIE: Luhn and Verhoeff)."""
    digits = _SIGNS.sub("", number)
    date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    return bool(luhn.is_valid(digits[:12]) and verhoeff.is_valid(digits[:11] + digits[12]))


def is_polish_card(number: str) -> bool:
    """Return whether the check digit of a Polish identity card is correct (Ministry of the Interior)."""
    values = [int(sign, 36) for sign in _SIGNS.sub("", number)]
    return _sum(values, (7, 3, 1, 9, 7, 3, 1, 7, 3)) % 10 == 0


_NEW_ZEALAND: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Letters of a New Zealand health number; the first one counts as 1."""


def is_new_zealand_nhi(number: str) -> bool:
    """Return whether the check character of a New Zealand health number is correct (HISO 10046)."""
    signs = _SIGNS.sub("", number).upper()
    values = [int(sign) if sign.isdecimal() else _NEW_ZEALAND.index(sign) + 1 for sign in signs]
    total = _sum(values, range(7, 1, -1))
    if signs[6].isdecimal():
        return total % 11 != 0 and (11 - total % 11) % 10 == values[6]
    return 23 - total % 23 == values[6]


_FEWEST: Final = 5
_DATE: Final = re.compile("(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]*|1[5-9][0-9]{8}")
"""A date without signs, with a time or not, and seconds since 1970."""


def is_plain_id(number: str) -> bool:
    """Return whether a number without known check digits may be an id: no date or time, no limit, no mask."""
    digits = "".join(_DIGIT.findall(number))
    return (
        len(digits) >= _FEWEST
        and len(set(digits)) > 2  # noqa: PLR2004 -- 100000 and 99990000 are limits
        and not digits.endswith("0000")
        and not (number.isdecimal() and _DATE.fullmatch(digits))
        and digits not in "01234567890123456789"
        and int(digits).bit_count() > 1
    )


def is_document_id(number: str) -> bool:
    """Return whether a number of letters and digits may be that of a document: neither a word nor a date."""
    digits = "".join(_DIGIT.findall(number))
    return len(digits) > 1 and len(set(digits)) > 1 and (len(digits) < _FEWEST or is_plain_id(digits))


_CLABE: Final = (3, 7, 1, 3, 7, 1, 3, 7, 1, 3, 7, 1, 3, 7, 1, 3, 7)
"""Weights of the digits of a CLABE before the last."""


def is_mexican_account(number: str) -> bool:
    """Return whether a CLABE of 18 digits has its check digit (Banco de México, CLABE)."""
    *digits, last = _digits_of(number)
    total = sum(digit * weight % 10 for digit, weight in zip(digits, _CLABE, strict=True))
    return -total % 10 == last


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "mx-clabe": is_mexican_account,
    "cn-ric": is_chinese_id,
    "ru-snils": is_russian_snils,
    "sg-nric": is_singapore_nric,
    "tw-id": is_taiwanese_id,
    "hk-id": is_hong_kong_id,
    "hu-tax-id": is_hungarian_tax_id,
    "au-medicare": is_australian_medicare,
    "de-vsnr": is_german_pension_id,
    "de-kvnr": is_german_health_id,
    "luhn": is_luhn,
    "es-nuss": is_spanish_nuss,
    "br-pis": is_brazilian_pis,
    "br-cnh": is_brazilian_license,
    "pt-niss": is_portuguese_niss,
    "hu-taj": is_hungarian_taj,
    "kz-iin": is_kazakh_iin,
    "ir-code": is_iranian_code,
    "sv-dui": is_salvadoran_dui,
    "uy-ci": is_uruguayan_ci,
    "lu-matricule": is_luxembourgish_matricule,
    "pl-card": is_polish_card,
    "nz-nhi": is_new_zealand_nhi,
    "plain-id": is_plain_id,
    "document-id": is_document_id,
}
"""Checks by name: those of a country begin with its code."""

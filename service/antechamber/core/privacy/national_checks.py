"""Check digits of national and tax ids: those of `python-stdnum`, and those of countries that it does not cover."""

import re
from collections.abc import Callable
from datetime import date
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

from stdnum.iso7064 import mod_11_2

_STDNUM: Final = {
    "ad": "nrt", "al": "nipt", "ar": "cbu cuit dni", "at": "tin uid vnr", "au": "abn acn tfn", "az": "voen",
    "be": "bis eid nn vat", "bg": "egn pnf vat", "br": "cnpj cpf", "by": "unp", "ca": "bc_phn bn sin",
    "ch": "ssn uid vat", "cl": "rut", "cn": "uscc", "co": "nit", "cr": "cpf", "cu": "ni", "cy": "vat",
    "cz": "bankaccount dic rc", "de": "idnr stnr vat", "dk": "cpr cvr", "do": "cedula rnc", "dz": "nif", "ec": "ci ruc",
    "ee": "ik kmkr registrikood", "eg": "tn", "es": "ccc cif dni nie", "fi": "alv hetu veronumero", "fo": "vn",
    "fr": "nif nir siren siret tva", "gb": "nhs upn utr vat", "gh": "tin", "gn": "nifp", "gr": "amka vat", "gt": "nit",
    "hr": "oib", "hu": "anum", "id": "nik npwp", "ie": "pps vat", "il": "hp idnr", "in_": "aadhaar epic gstin pan vid",
    "is_": "kennitala vsk", "it": "codicefiscale iva", "jp": "cn in_", "ke": "pin", "kr": "brn rrn", "lt": "asmens pvm",
    "lu": "tva", "lv": "pvn", "ma": "ice", "mc": "tva", "md": "idno", "me": "pib", "mk": "edb", "mt": "vat",
    "mu": "nid", "mx": "curp rfc", "my": "nric", "mz": "nuit", "nl": "bsn btw onderwijsnummer",
    "no": "fodselsnummer kontonr mva orgnr", "nz": "bankaccount ird", "pe": "cui ruc", "pk": "cnic",
    "pl": "nip pesel regon", "pt": "cc nif", "py": "ruc", "ro": "cf cnp", "rs": "pib", "ru": "inn ogrn",
    "se": "orgnr personnummer vat", "sg": "uen", "si": "ddv emso", "sk": "dph", "sn": "ninea", "sv": "nit",
    "th": "moa pin", "tn": "mf", "tr": "tckimlik vkn", "tw": "ubn", "ua": "edrpou rntrc",
    "us": "atin ein itin ptin ssn", "uy": "rut", "ve": "rif", "vn": "mst", "za": "idnr tin",
}  # fmt: skip
"""Modules of `stdnum`: the numbers of each country."""
_SIGNS: Final = re.compile(r"[^0-9A-Za-z]")
_FAILURES: Final = (ValueError, LookupError, ArithmeticError, AttributeError, TypeError)
"""What a module of `stdnum` may raise beside its own errors, for example for a date that does not exist."""


@cache
def _load(module: str) -> Any:
    return import_module(f"stdnum.{module}")


def _is_valid(module: str, number: str) -> bool:
    """Return whether a module of `stdnum` accepts a number."""
    return bool(_load(module).is_valid(number))


def _passes(check: Callable[[str], bool], number: str) -> bool:
    """Return whether a number passes a check as it is written, or without its signs; one of another form does not."""
    return any(_passes_so(check, form) for form in dict.fromkeys((number, _SIGNS.sub("", number))))


def _passes_so(check: Callable[[str], bool], number: str) -> bool:
    try:
        return check(number)
    except _FAILURES:
        return False


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


def is_spaced_ssn(number: str) -> bool:
    """Return whether a US social security number with blanks or without signs is one that is assigned."""
    return _is_valid("us.ssn", number.replace(" ", "-"))


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


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    **{
        f"{country}-{number}".replace("_", ""): partial(_passes, partial(_is_valid, f"{country}.{number}"))
        for country, numbers in _STDNUM.items()
        for number in numbers.split()
    },
    "cn-ric": partial(_passes, is_chinese_id),
    "ru-snils": partial(_passes, is_russian_snils),
    "sg-nric": partial(_passes, is_singapore_nric),
    "tw-id": partial(_passes, is_taiwanese_id),
    "hk-id": partial(_passes, is_hong_kong_id),
    "hu-tax-id": partial(_passes, is_hungarian_tax_id),
    "us-ssn-spaced": partial(_passes, is_spaced_ssn),
    "au-medicare": partial(_passes, is_australian_medicare),
    "de-vsnr": partial(_passes, is_german_pension_id),
}
"""Checks by country and number; those of `stdnum` have its module's name."""

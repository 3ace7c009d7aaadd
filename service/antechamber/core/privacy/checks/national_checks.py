"""Checks of national and tax ids by country: those of `python-stdnum`, and our own of what it does not cover."""

import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

from antechamber.core.privacy.checks import check_digits

_STDNUM: Final = {
    "ad": "nrt", "al": "nipt", "ar": "cbu cuit dni", "at": "tin uid vnr", "au": "abn acn tfn", "az": "voen",
    "be": "bis eid nn vat", "bg": "egn pnf vat", "br": "cnpj cpf", "by": "unp", "ca": "bc_phn bn sin",
    "ch": "ssn uid vat", "cl": "rut", "cn": "uscc", "co": "nit", "cr": "cpf", "cu": "ni", "cy": "vat",
    "cz": "bankaccount dic rc", "de": "idnr stnr vat", "dk": "cpr cvr", "do": "cedula rnc", "dz": "nif", "ec": "ci ruc",
    "ee": "ik kmkr registrikood", "eg": "tn", "es": "ccc cif dni nie nif", "eu": "vat",
    "fi": "alv hetu veronumero", "fo": "vn",
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
_ONE_DIGIT: Final = re.compile(r"[A-Za-z]{0,2}([0-9])\1{5,}[A-Za-z]?")
_FAILURES: Final = (ValueError, LookupError, ArithmeticError, AttributeError, TypeError)
"""What a module of `stdnum` may raise beside its own errors, for example for a date that does not exist."""


@cache
def _load(module: str) -> Any:
    return import_module(f"stdnum.{module}")


def _is_valid(module: str, number: str) -> bool:
    """Return whether a module of `stdnum` accepts a number."""
    return bool(_load(module).is_valid(number))


def _passes(check: Callable[[str], bool], number: str) -> bool:
    """Return whether a number passes a check as it is written, or without its signs; one of another form does not.

    A number of one digit passes some checks, and is what tests and documents have in the place of an id.
    """
    if _ONE_DIGIT.fullmatch(_SIGNS.sub("", number)):
        return False
    return any(_is_correct(check, form) for form in dict.fromkeys((number, _SIGNS.sub("", number))))


def _is_correct(check: Callable[[str], bool], number: str) -> bool:
    try:
        return check(number)
    except _FAILURES:
        return False


def is_finnish_id(number: str) -> bool:
    """Return whether a number is a personal identity code of Finland, also a temporary one."""
    return bool(_load("fi.hetu").is_valid(number, allow_temporary=True))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    **{
        f"{country}-{number}".replace("_", ""): partial(_passes, partial(_is_valid, f"{country}.{number}"))
        for country, numbers in _STDNUM.items()
        for number in numbers.split()
    },
    "fi-hetu": partial(_passes, is_finnish_id),
    **{name: partial(_passes, check) for name, check in check_digits.CHECKS.items()},
}
"""Checks by country and number; those of `stdnum` have its module's name."""

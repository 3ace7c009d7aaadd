"""Texts with personal data: addresses, cards, accounts, national ids, phones, dates of birth, streets."""

import importlib
import random
import re
from collections.abc import Iterator
from typing import Any, Final

import phonenumbers
from stdnum import iban, luhn, numdb

from lib.labelled.recipes import CLASSES, Labelled, expand, load, make_word

_ISSUERS: Final = {
    "visa": ("4", 16), "visa-13": ("4", 13), "mastercard": ("5{}", 16), "mastercard-2": ("2221", 16),
    "amex": ("37", 15), "diners": ("36", 14), "discover": ("6011", 16), "jcb": ("3530", 16), "unionpay": ("62", 16),
    "maestro": ("6759", 18), "dankort": ("5019", 16), "uatp": ("1", 15),
}  # fmt: skip
"""Issuer prefix and length of each kind of card (ISO/IEC 7812); `{}` is a digit from 1 to 5."""
_NEED_CONTEXT: Final = frozenset({"visa-13", "amex", "uatp", "maestro", "diners"})
"""Cards whose bare digits are no card without a word beside them."""
_REGIONS: Final = [
    "AE", "AR", "AT", "AU", "BD", "BE", "BG", "BR", "CA", "CH", "CL", "CN", "CO", "CZ", "DE", "DK", "EE", "EG",
    "ES", "FI", "FR", "GB", "GH", "GR", "HK", "HR", "HU", "ID", "IE", "IL", "IN", "IS", "IT", "JP", "KE", "KR",
    "KZ", "LT", "LU", "LV", "MA", "MX", "MY", "NG", "NL", "NO", "NZ", "PE", "PH", "PK", "PL", "PT", "RO", "RS",
    "RU", "SA", "SE", "SG", "SI", "SK", "TH", "TR", "TW", "UA", "US", "UY", "VN", "ZA",
]  # fmt: skip
"""Countries of the phone numbers."""
_MOST_TRIES: Final = 200_000
_PART: Final = re.compile("([0-9]+)!([nac])")
_KINDS: Final = {"n": "dig", "a": "upper", "c": "up"}
"""Classes of characters for the registry's codes of digits, letters and both (ISO 13616)."""


def make_emails(rng: random.Random, count: int = 150) -> Iterator[Labelled]:
    """Yield e-mail addresses in sentences, headers, brackets, links and beside other signs."""
    forms = (
        "Ask {} about it.", "From: Mira Lind <{}>", "mailto:{}", "contact={}", "({})", "Owner is {}, since May.",
        '"email": "{}"', "{}", "Cc: {};", "问{}吧",
    )  # fmt: skip
    for number in range(count):
        local = expand(rng.choice(("{word}", "{word}.{word}", "{word}_{dig*2}", "{word}+ci", "{lower}.{word}")), rng)
        domain = expand(rng.choice(("{word}-works.net", "mail.{word}.io", "{word}{word}.de", "{word}.co.uk")), rng)
        text = forms[number % len(forms)].format(f"{local}@{domain}")
        yield Labelled(f"email-{number}", "personal", "email", "address", text)


def make_cards(rng: random.Random, each: int = 20) -> Iterator[Labelled]:
    """Yield payment cards in groups, and bare where the issuer's numbers may be bare."""
    for subkind, (prefix, length) in _ISSUERS.items():
        for number in range(each):
            body = prefix.replace("{}", str(rng.randrange(1, 6)))
            body += "".join(rng.choices(CLASSES["dig"], k=length - 1 - len(body)))
            digits = body + luhn.calc_check_digit(body)
            grouped = number % 3
            shown = _group(digits, " -"[grouped - 1]) if grouped else digits
            word = "card number " if subkind in _NEED_CONTEXT or number % 2 else ""
            yield Labelled(
                f"card-{subkind}-{number}", "personal", "card", subkind, f"Charge {word}{shown} for the order"
            )


def _group(digits: str, sign: str) -> str:
    """Group a card number as it is printed: 4-6-5 or 4-6-4 digits, else by four."""
    if len(digits) in {14, 15}:
        return sign.join((digits[:4], digits[4:10], digits[10:]))
    return sign.join(digits[place : place + 4] for place in range(0, len(digits), 4))


def make_ibans(rng: random.Random, each: int = 3) -> Iterator[Labelled]:
    """Yield IBANs of all countries of the registry, compact and in groups."""
    for country in _list_countries():
        for number in range(each):
            found = _make_iban(country, rng)
            shown = iban.format(found) if number % 2 else found
            text = rng.choice(("Pay to {} by Friday.", "IBAN: {}", "account {}")).format(shown)
            yield Labelled(f"iban-{country}-{number}", "personal", "iban", country, text)


def _list_countries() -> list[str]:
    """Return the countries of the IBAN registry that have a structure."""
    return [country for _, country, _, properties, _ in numdb.get("iban").prefixes if "bban" in properties]


def _make_iban(country: str, rng: random.Random) -> str:
    """Return a valid IBAN of a country; its account number fits the registry's structure and national check digits."""
    ((_, properties), *_) = numdb.get("iban").info(country)
    recipe = "".join(f"{{{_KINDS[kind]}*{size}}}" for size, kind in _PART.findall(properties["bban"]))
    for _ in range(_MOST_TRIES):
        account = expand(recipe, rng)
        candidate = country + iban.calc_check_digits(f"{country}00{account}") + account
        if iban.is_valid(candidate):
            return candidate
    message = f"no IBAN of {country} found"
    raise ValueError(message)


def make_national_ids(rng: random.Random, each: int = 6) -> Iterator[Labelled]:
    """Yield national and tax ids with a word that names them."""
    for subkind, (recipe, word) in load("national_ids")["ids"].items():
        for number in range(each):
            found = find_valid(subkind, recipe, rng)
            text = rng.choice(("{}: {}", "The {} is {}.", "{} {}")).format(word, found)
            yield Labelled(f"national-id-{subkind}-{number}", "personal", "national-id", subkind, text)


def find_valid(name: str, recipe: str, rng: random.Random) -> str:
    """Return the first random number that a module of python-stdnum calls valid, in the form people write.

    Raises ValueError if none is found.
    """
    module = importlib.import_module(f"stdnum.{name}")
    for _ in range(_MOST_TRIES):
        candidate = expand(recipe, rng, **_DATES)
        if module.is_valid(candidate):
            formatted = module.format(candidate) if hasattr(module, "format") and rng.random() < 0.5 else candidate  # noqa: PLR2004 -- half of them
            return str(formatted)
    message = f"no valid number of {name} found"
    raise ValueError(message)


def _date(rng: random.Random) -> tuple[str, str, str]:
    return f"{rng.randrange(50, 99)}", f"{rng.randrange(1, 13):02}", f"{rng.randrange(1, 29):02}"


_DATES: Final[dict[str, Any]] = {
    "yymmdd": lambda rng: "".join(_date(rng)),
    "ddmmyy": lambda rng: "".join(reversed(_date(rng))),
    "yyyymmdd": lambda rng: "19" + "".join(_date(rng)),
    "yymm": lambda rng: "".join(_date(rng)[:2]),
    "ddmm": lambda rng: _date(rng)[2] + _date(rng)[1],
    "sinfirst": lambda rng: rng.choice("1234567"),
    "ssnfirst": lambda rng: rng.choice("1234567"),
    "nif": lambda rng: rng.choice("0123"),
    "aadhaar": lambda rng: rng.choice("23456789"),
    "J": lambda rng: rng.choice("JKL"),
}


def make_networks(rng: random.Random, each: int = 80) -> Iterator[Labelled]:
    """Yield IPv4, IPv6 and MAC addresses that belong to a machine; none of a documentation or loopback range."""
    forms = ("Connected from {}.", "client={}", "remote_addr: {}", "[{}] GET /", "{}")
    for number in range(each):
        public = f"{rng.choice((5, 34, 52, 81, 93, 146, 185))}." + ".".join(
            str(rng.randrange(1, 255)) for _ in range(3)
        )
        private = rng.choice(("10.{}.{}.{}", "192.168.{1}.{2}", "172.20.{1}.{2}")).format(
            *(rng.randrange(1, 255) for _ in range(3))
        )
        v4 = public if number % 2 else private
        v6 = "2a01:4f8:" + ":".join(f"{rng.randrange(1, 65536):x}" for _ in range(6))
        short = f"2600:1f18:{rng.randrange(1, 65536):x}::{rng.randrange(1, 65536):x}"
        mac = (":", "-")[number % 2].join(f"{rng.randrange(256):02x}" for _ in range(6))
        form = rng.choice(forms)
        yield Labelled(f"ipv4-{number}", "personal", "ip", "v4", form.format(v4))
        yield Labelled(f"ipv6-{number}", "personal", "ip", "v6", form.format(v6 if number % 2 else short))
        yield Labelled(f"mac-{number}", "personal", "mac", "mac", form.format("a4" + mac[2:]))


def make_phones(rng: random.Random, each: int = 4) -> Iterator[Labelled]:
    """Yield phone numbers of sixty countries: international, as a link, and national with a word before it."""
    forms = phonenumbers.PhoneNumberFormat
    for region in _REGIONS:
        for number in range(each):
            found = _make_phone(region, rng)
            text = (
                f"Call {phonenumbers.format_number(found, forms.INTERNATIONAL)} after six.",
                f"phone: {phonenumbers.format_number(found, forms.E164)}",
                phonenumbers.format_number(found, forms.RFC3966),
                f"Tel. {phonenumbers.format_number(found, forms.INTERNATIONAL)}",
            )[number % 4]
            yield Labelled(f"phone-{region}-{number}", "personal", "phone", region, text)


def _make_phone(region: str, rng: random.Random) -> phonenumbers.PhoneNumber:
    """Return a valid mobile number: the example of the region with other last digits."""
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    while True:
        number = phonenumbers.PhoneNumber()
        number.merge_from(example)
        digits = str(example.national_number)
        number.national_number = int(digits[:-4] + f"{rng.randrange(10_000):04}")
        if phonenumbers.is_valid_number(number):
            return number


def make_personal_details(rng: random.Random, each: int = 25) -> Iterator[Labelled]:
    """Yield dates of birth and street addresses with the words that name them."""
    births = (
        "Date of birth: {}",
        "born on {}",
        "DOB {}",
        "geboren am {}",
        "Geburtsdatum: {}",
        "née le {}",
        "出生日期:{}",
    )
    dates = ("{d:02}.{m:02}.{y}", "{y}-{m:02}-{d:02}", "{d}/{m}/{y}", "{d:02}.{m:02}.{y}")
    for number in range(each):
        values = {"d": rng.randrange(1, 29), "m": rng.randrange(1, 13), "y": rng.randrange(1940, 2008)}
        text = rng.choice(births).format(rng.choice(dates).format(**values))
        yield Labelled(f"birth-{number}", "personal", "birth-date", "date", text)
    streets = (
        "Address: {n} {w} Street, Springfield, IL 62704", "lives at {n} {w} Avenue, Apt. {m}",
        "Anschrift: {w}straße {n}, 10115 Berlin", "Adresse : {n} rue de la {w}, 75011 Paris",
        "Dirección: Calle {w} {n}, 28013 Madrid", "Ship to: {n} {w} Road, London SW1A 2AA",
    )  # fmt: skip
    for number in range(each):
        word = make_word(rng).title()
        text = rng.choice(streets).format(n=rng.randrange(1, 400), m=rng.randrange(1, 40), w=word)
        yield Labelled(f"street-{number}", "personal", "street-address", "address", text)

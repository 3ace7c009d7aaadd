"""Personal data: what is found in many texts, and which harmless numbers are not refused; all numbers are seeded."""

import random
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, luhn
from stdnum.iso7064 import mod_97_10

from antechamber.core.privacy.automata import compile_pattern
from antechamber.core.privacy.checks.cards import find_bare_cards, find_cards
from antechamber.core.privacy.checks.emails import find_addresses
from antechamber.core.privacy.checks.ibans import find_ibans
from antechamber.core.privacy.checks.national_numbers import find_national_numbers
from antechamber.core.privacy.checks.network_addresses import find_ip_addresses, find_mac_addresses
from antechamber.core.privacy.checks.phones import find_grouped_phones, find_international_phones, find_national_phones
from antechamber.core.privacy.effort import Effort
from support import GATE

MANY = 1_000
"""Texts per class; enough to see one wrong answer in a thousand, and quick."""
CLEAN = {"127.0.0.1", "0.0.0.0", "169.254.0.9", "192.0.2.1", "198.51.100.2", "203.0.113.3", "255.255.255.0"}  # noqa: S104


def refused(text: str) -> bool:
    """Return whether the gate refuses a text."""
    return bool(GATE.find_private({"/payload/content": text}))


def seen(text: str, *rules: str) -> bool:
    """Return whether one of some rules finds something in a text."""
    return any(finding.rule_id in rules for finding in GATE.scan({"/payload/content": text}))


def share(texts: Iterator[str], holds: Callable[[str], bool]) -> float:
    """Return the share of texts for which something holds."""
    answers = [holds(text) for text in texts]
    return sum(answers) / len(answers)


def digits(source: random.Random, size: int) -> str:
    """Return random digits."""
    return "".join(source.choice("0123456789") for _ in range(size))


def with_luhn(prefix: str, size: int, source: random.Random) -> str:
    """Return a number with a prefix, a length and a correct Luhn digit."""
    body = prefix + digits(source, size - len(prefix) - 1)
    return body + luhn.calc_check_digit(body)


def ean(source: random.Random) -> str:
    """Return an EAN with its check digit."""
    body = digits(source, 12)
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return body + str(-total % 10)


def hexes(source: random.Random, size: int) -> str:
    """Return random hexadecimal digits."""
    return f"{source.getrandbits(4 * size):0{size}x}"


HARMLESS: dict[str, tuple[float, Callable[[random.Random], str]]] = {
    "ean": (0.001, lambda source: f"The article {ean(source)} is sold out."),
    "timing": (0.001, lambda source: f"The run took {source.randint(1, 10**9)} ms, and {source.random() * 1e4:.9f} s."),
    "stamp": (0.001, lambda source: f"ts={source.randint(1_500_000_000_000, 1_900_000_000_000)} of the event"),
    "port": (0.001, lambda source: f"Listen on localhost:{source.randint(1, 65_535)}."),
    "version": (0.001, lambda source: "Use v" + ".".join(str(source.randint(0, 99)) for _ in range(3)) + "."),
    "long version": (0.001, lambda source: "version " + ".".join(str(source.randint(0, 255)) for _ in range(4))),
    "hash": (0.001, lambda source: f"commit {hexes(source, 40)} and sha256:{hexes(source, 64)}"),
    "uuid": (0.001, lambda source: f"job {UUID(int=source.getrandbits(128), version=4)} failed"),
    "isbn": (0.001, lambda source: f"ISBN 978-{digits(source, 1)}-{digits(source, 4)}-{digits(source, 4)}-1"),
    "bare isbn": (0.001, lambda source: f"The book 978{digits(source, 10)} is good."),
    "order": (0.01, lambda source: f"Order {digits(source, source.randint(6, 20))} was sent."),
    "bare order": (0.01, lambda source: f"We ship {digits(source, source.randint(6, 20))} on Monday."),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_harmless_numbers_are_rarely_refused(kind: str) -> None:
    """Of each kind of harmless number, at most the agreed share is refused."""
    limit, make = HARMLESS[kind]
    source = random.Random(f"harmless {kind}")  # noqa: S311
    assert share((make(source) for _ in range(2 * MANY)), refused) <= limit


def test_uuids_rarely_even_start_a_search_for_accounts() -> None:
    """The pattern of accounts matches almost no random UUID."""
    source = random.Random(36)  # noqa: S311
    pattern = compile_pattern(next(rule.pattern for rule in GATE.rules if rule.rule_id == "iban"))
    texts = (f"job {UUID(int=source.getrandbits(128), version=4)} failed" for _ in range(MANY))
    assert share(texts, lambda text: pattern.search(text) is not None) < 0.01


CARDS = [
    ("4", 16), ("4", 13), ("4", 19), ("51", 16), ("2221", 16), ("2720", 16), ("34", 15), ("37", 15), ("300", 14),
    ("36", 14), ("38", 14), ("6011", 16), ("65", 16), ("3528", 16), ("62", 16), ("62", 19), ("5018", 13), ("6759", 18),
    ("5019", 16), ("1", 15), ("2200", 16), ("508", 16), ("9792", 16), ("637", 16),
]  # fmt: skip
GROUPS = {12: "4 4 4", 13: "4 4 5", 14: "4 6 4", 15: "4 6 5", 16: "4 4 4 4", 18: "4 4 4 4 2", 19: "4 4 4 4 3"}


def grouped(number: str, sign: str) -> str:
    """Return a card number in the groups of its length."""
    parts, place = [], 0
    for size in map(int, GROUPS[len(number)].split()):
        parts.append(number[place : place + size])
        place += size
    return sign.join(parts)


@pytest.mark.parametrize(("prefix", "size"), CARDS)
def test_cards_of_each_issuer_are_refused(prefix: str, size: int) -> None:
    """Grouped numbers are refused with any sign between the groups, bare ones beside a word such as card."""
    source = random.Random(f"{prefix} {size}")  # noqa: S311
    for _ in range(40):
        number = with_luhn(prefix, size, source)
        assert refused(f"Pay with {grouped(number, source.choice(' -'))} today.")
        assert refused(f"The card {number} expires 12/29.")
        assert size != 16 or refused(f"Charge {number} now")


def test_a_word_for_an_order_explains_bare_digits() -> None:
    """Sixteen bare digits after a word for an order are none, unless a word for a card is near."""
    number = with_luhn("4", 16, random.Random(5))  # noqa: S311
    for text in (f"order {number}", f"Invoice no. {number}", f'"order_id": "{number}"', f"Bestellung #{number}"):
        assert not refused(text)
    assert refused(f"order {grouped(number, ' ')}")
    assert refused(f"Order {number}, paid with the credit card")


@given(st.text("0123456789 -.a", max_size=40))
def test_each_span_of_a_card_is_one(text: str) -> None:
    """A span begins and ends with a digit, has a correct Luhn digit and never overlaps another one."""
    end = 0
    for start, stop in find_cards(text, Effort()):
        number = "".join(filter(str.isdigit, text[start:stop]))
        assert luhn.is_valid(number)
        assert 12 <= len(number) <= 19
        end, before = stop, end
        assert start >= before or text[start:stop].isdigit()
    assert end <= len(text)


def test_bare_digits_of_other_lengths_need_a_known_prefix() -> None:
    """A correct Luhn digit alone makes no card, and neither does one repeated digit."""
    assert list(find_bare_cards("9999" + "999999999995 0000000000000000", Effort())) == []


def test_near_the_word_card_a_number_of_any_issuer_is_refused() -> None:
    """National cards and the unused ranges of JCB and Maestro count beside a word for a card, not elsewhere."""
    source = random.Random(6)  # noqa: S311
    for prefix, size in (("3515", 16), ("2131", 15), ("5736", 12), ("9211", 16), ("5054", 16)):
        number = with_luhn(prefix, size, source)
        assert refused(f"Paid with {number}"), number
        assert not refused(f"Job {number} took a minute."), number
        assert not refused(f"The card {number[:-1]}{9 - int(number[-1])} expired."), number
    assert not refused("card 6666666666666")


def test_accounts_of_each_country_are_refused() -> None:
    """An IBAN is refused in groups of four, without groups and in lower case."""
    source = random.Random(97)  # noqa: S311
    for country, size, account in (("DE", 18, "n"), ("GB", 18, "a"), ("NL", 14, "a"), ("AT", 16, "n"), ("PL", 24, "n")):
        for _ in range(30):
            head = "ABNA" if account == "a" else ""
            body = head + digits(source, size - len(head))
            number = country + f"{98 - int(mod_97_10.checksum(body + country + '00')):02}" + body
            if iban.is_valid(number):
                spaced = " ".join(number[place : place + 4] for place in range(0, len(number), 4))
                assert all(refused(f"Send it to {one}.") for one in (number, spaced, number.lower()))


def test_addresses_of_persons_are_refused() -> None:
    """Names with dots, signs, digits and letters of other alphabets are found; files and programs are not."""
    source = random.Random(822)  # noqa: S311
    names = ["ada", "j.doe", "o'neil", "jörg", "x_y", "a+tag", "иван", "d-e"]
    hosts = ["love" + "lace.dev", "mail.acme.io", "xn--mnchen-3ya.de", "münchen.de", "uni-x.ac.uk"]
    texts = (f"Ask {source.choice(names)}{digits(source, 2)}@{source.choice(hosts)} first." for _ in range(MANY))
    assert share(texts, refused) >= 0.99
    for text in ("logo@2x.png", "ops@example.com", "git@github.com:a/b", "a@b", "@x.dev", "a@@b.test@"):
        assert list(find_addresses(text, Effort())) == []
    assert [*find_addresses("a@b.de@c.fr", Effort())] == [(0, 6)]
    # What follows or precedes an address in a sentence does not make it a login.
    address = "ada@love" + "lace.dev"
    for text in (f"https://acme.dev/contact?mail={address}", f"https://acme.dev/u/{address}", f"{address}:100"):
        assert refused(text), text
    for text in (
        f"The ssh key is of {address}: ask.",
        f"mailto:{address}",
        f"Mail {address}: done.",
        f"ssh key, {address}",
    ):
        assert refused(text), text


def test_the_id_of_a_message_is_no_address() -> None:
    """Ids of messages have the form of addresses, also several in a row; what follows them may be an address."""
    for text in (
        "Message-ID: <a7f0b005@mail.vantafold.de>", "In-Reply-To: <wZK1@mail.corp.dev>",
        "references:<a@b.corp.dev> <c@d.corp.dev>",
    ):  # fmt: skip
        assert list(find_addresses(text, Effort())) == []
    assert len(list(find_addresses("Message-ID: <x1@a.corp.dev>\nFrom: <ada.lovelace@corp.dev>", Effort()))) == 1


def test_ip_addresses_are_found_and_reserved_ones_are_not() -> None:
    """At least 99 % of addresses of both versions are found; loopback, link-local and documentation ranges are not."""
    source = random.Random(791)  # noqa: S311
    four = (IPv4Address(source.getrandbits(32)) for _ in range(2 * MANY))
    known = (f"host {one}:8080 is up" for one in four if 0 < int(one) >> 24 < 255 and not one.is_loopback)
    assert share(known, lambda text: seen(text, "ip-address")) >= 0.99
    six = (IPv6Address((0x2A << 120) | source.getrandbits(120)) for _ in range(MANY))
    texts = (f"ping6 {one} now" for one in six)
    assert share(texts, lambda text: seen(text, "ip-address")) >= 0.99
    for text in (
        *CLEAN,
        "::1",
        "::",
        "fe80::2",
        "2001:db8::7",
        "3fff::1",
        "1.2.3",
        "300.1.1.1",
        "1.2.3.4.5",
        "12:30:45",
    ):
        assert list(find_ip_addresses(f"See {text} here", Effort())) == []
    for text in (
        "version 10.2.3.4",
        "v10.2.3.4",
        "Chrome/120.0.0.0",
        "pkg==1.2.3.4",
        "std::add::face",
        "x[1::2]",
        "a:::b:c:1",
        "1:2:3:4:5:6:7:8:999",
    ):
        assert list(find_ip_addresses(text, Effort())) == []
    assert [*find_ip_addresses("::ffff:1234:5678 and 2a00::1", Effort())] == [(0, 16), (21, 28)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("allow 10.0.0.0/8", 0), ("10.160.0.0/16 overlaps", 0), ("0.0.0.0/0", 0), ("net 8.8.8.0/24.", 0),
        ("10.0.0.7/8", 1), ("8.8.8.8/32", 1), ("8.8.8.0/24.5", 1), ("8.8.8.0", 1),
        ('AssemblyVersion("15.2.13.30")', 0),
    ],
)  # fmt: skip
def test_a_network_is_no_address_of_a_machine(text: str, number: int) -> None:
    """Where a mask leaves nothing but a network, no machine is named."""
    assert len(list(find_ip_addresses(text, Effort()))) == number


def test_mac_addresses_are_found() -> None:
    """Each of the three forms is found; broadcast, zero, documents, fingerprints and dates are not."""
    source = random.Random(802)  # noqa: S311
    for _ in range(200):
        pure = "3c" + hexes(source, 10)
        pairs = [pure[place : place + 2] for place in range(0, 12, 2)]
        for text in (":".join(pairs), "-".join(pairs).upper(), f"{pure[:4]}.{pure[4:8]}.{pure[8:]}"):
            assert seen(f"eth0 {text} up", "mac-address")
    for text in ("ff:ff:ff:ff:ff:ff", "00-00-5E-00-53-07", "20-11-23-10-11-12", "aa:bb:cc:dd:ee:ff:00", "ab:cd"):
        assert list(find_mac_addresses(text, Effort())) == []


def test_check_digits_of_an_iban_count_beside_a_word_for_an_account() -> None:
    """A country without IBANs, or a wrong length, hides no number with correct check digits."""
    source = random.Random(13)  # noqa: S311
    for country, size in (("AR", 22), ("IR", 20), ("GB", 17), ("PH", 14)):
        body = digits(source, size)
        number = country + f"{98 - int(mod_97_10.checksum(body + country + '00')):02}" + body
        assert refused(f"IBAN: {number}"), number
        assert refused(f"pay to {' '.join(number[place : place + 4] for place in range(0, len(number), 4))}"), number
        assert not refused(f"Batch {number} is done."), number
        assert not refused(f"IBAN: {number[:-1]}{9 - int(number[-1])}"), number


LENGTHS = {
    22: ["IR", "DZ"],
    21: ["AO", "CV", "GW", "MZ"],
    23: ["CF", "CG", "CM", "GA", "GQ", "KM", "MG", "TD"],
    24: ["BF", "BJ", "CI", "MA", "ML", "NE", "SN", "TG"],
}
"""Countries outside the registry of IBANs by the digits that follow the check digits."""


@pytest.mark.parametrize(
    ("country", "size"), [(country, size) for size, countries in LENGTHS.items() for country in countries]
)
def test_countries_outside_the_registry_have_ibans_too(country: str, size: int) -> None:
    """With the length that their banks use, the check digits suffice."""
    body = digits(random.Random(country), size)  # noqa: S311
    number = country + f"{98 - int(mod_97_10.checksum(body + country + '00')):02}" + body
    assert refused(f"Row 14 has {number}, keep it.")
    assert not refused(f"Row 14 has {number[:-1]}{9 - int(number[-1])}, keep it.")


def test_a_card_number_of_ports_that_repeat_is_one() -> None:
    """A row of ports has different ones."""
    assert refused("The card is 5555 5555 " + "5555 4444.")
    assert not refused("The card reader uses 5555 4444 8080 3000.")


def test_an_address_has_a_letter_or_digit_before_its_domain() -> None:
    """A quotation mark before an at sign begins a reference."""
    assert not refused("x: '@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/SqlConn)'")
    assert refused("x: 'mara.o'neil@velmora.net'")


FORMS = {
    "international": (phonenumbers.PhoneNumberFormat.INTERNATIONAL, "Call {} today."),
    "e164": (phonenumbers.PhoneNumberFormat.E164, "whatsapp {}"),
    "national": (phonenumbers.PhoneNumberFormat.NATIONAL, "Her phone is {}."),
}


@pytest.mark.parametrize("form", FORMS)
def test_phone_numbers_of_all_countries_are_found(form: str) -> None:
    """At least 90 % of the example numbers of all numbering plans are found in each form."""
    kind, text = FORMS[form]
    numbers = [phonenumbers.example_number_for_type(country, 1) for country in phonenumbers.SUPPORTED_REGIONS]
    texts = (text.format(phonenumbers.format_number(one, kind)) for one in numbers if one is not None)
    rules = ("phone-number", "phone-number-grouped", "phone-number-national")
    assert share(texts, lambda one: seen(one, *rules)) >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        "+1-379-569-0176x15304", "Call 001-248-463-9369x89172", "(963)797-8096 ext. 67", "Ring me at 454.368.4378 x12",
        "You can reach us: 0290574336", "Call 0290574336", "382-293-4471#4",
    ],
)  # fmt: skip
def test_an_extension_or_an_unused_area_hides_no_phone_number(text: str) -> None:
    """Extensions belong to a number; the usual form of North America counts with any area code."""
    assert seen(text, "phone-number", "phone-number-grouped", "phone-number-national")


def test_a_number_that_a_program_calls_is_no_phone_number() -> None:
    """Bare digits after "call" number the calls of a program."""
    assert not seen("call 48213377 failed", "phone-number", "phone-number-grouped", "phone-number-national")


def test_other_numbers_are_no_phone_numbers() -> None:
    """Timings, versions, ids, hashes and dates are no phone numbers, also after a word such as phone."""
    for text in (
        "It took 1234567 ms.", "phone build 12.5.1", "mobile since 2026-11-23", "call on 10.20.30.40", "1+2345678",
        "tel 12345", "tel 12345x123", "+1 000", "+999 1234567", "phone 99999999999", "phone 1110000999123",
        "0x12345678",
    ):  # fmt: skip
        assert [*find_international_phones(text, Effort()), *find_grouped_phones(text, Effort())] == []
        assert [*find_national_phones(text, Effort())] == []
    assert [*find_grouped_phones("(999) 000-0000, 20 30 40 50", Effort())] == []
    assert [*find_grouped_phones("ring (415) 555-2671 or 06 12 34 56 78", Effort())] == [(5, 19), (23, 37)]


@pytest.mark.parametrize(
    "number",
    [
        "1112.22." + "333", "15 10 86 " + "95088", "120174-" + "3399", "171430710" + "-3", "85.07.30-033" + " 28",
        "1237 " + "010180", "213.123.432" + "-1",
    ],
)  # fmt: skip
def test_an_id_without_a_word_is_known_in_the_form_of_its_country(number: str) -> None:
    """A number with separators is no time, and some are ids in one form only."""
    assert list(find_national_numbers(f"Use {number} here.", Effort())) == [(4, 4 + len(number))]


def test_a_bare_number_has_the_check_digits_of_some_country() -> None:
    """A number without context is a warning where check digits hold; times, dates and round numbers are none."""
    assert next(find_national_numbers("Ask 111222333 or 46 036 257 409.", Effort())) == (4, 13)
    for text in ("1763862000", "20261123", "1763862000123", "100000000", "x111222333", "111222333.5", "123456788"):
        assert list(find_national_numbers(text, Effort())) == []


@pytest.mark.parametrize("text", ["Content-Length: 8506297540", "ISBN-10 3348629500", "resourceVersion 746507177"])
def test_a_measured_number_is_no_id(text: str) -> None:
    """What says what a number measures is directly before it."""
    assert list(find_national_numbers(text, Effort())) == []
    assert list(find_national_numbers(f"It is {text.rsplit(maxsplit=1)[-1]}.", Effort())) != []


def test_homes_and_birth_dates_are_warnings() -> None:
    """A date or street is found after a word that explains it, in several languages, and nowhere else."""
    for text in (
        "Ada was born on 10 December 1985", "geboren am 3.4.1990", "née le 3 mai 1990", "DOB 1985-12-10",
        "出生: 1985年12月10日",
    ):  # fmt: skip
        assert seen(text, "birth-date"), text
    for text in (
        "She lives at 221B Baker Street.", "wohnt Am Markt, Lindenallee 4", "habite 5 bis, avenue Foch",
        "vive en Calle Mayor 3", "abita in Via Garibaldi 7", "адрес: ул. Ленина, д. 5",
    ):  # fmt: skip
        assert seen(text, "street-address"), text
    assert not seen("Released on 2026-11-23 in Main Street 5.", "birth-date", "street-address")
    assert {finding.action for finding in GATE.scan({"": "born 1985-12-10"})} == {"warn"}


def test_an_account_needs_its_countrys_length() -> None:
    """A wrong check digit, length or country is no account, and the search goes on behind it."""
    valid = "DE89 3704 0044 " + "0532 0130 00"
    assert [*find_ibans(f"DE00 1234 ZZ12 3456 {valid} and {valid}", Effort())] == [(20, 47), (52, 79)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("client ::ffff:127.0.0.1 - - GET", []),
        ("client ::ffff:192.0.2.1, ::ffff:7f00:1", []),
        ("client ::ffff:88.198.14.7 - -", ["::ffff:88.198.14.7"]),
        ("host 2a01:4f8::88.198.14.7.", ["2a01:4f8::88.198.14.7"]),
    ],
)
def test_an_address_of_version_4_may_be_written_in_one_of_version_6(text: str, found: list[str]) -> None:
    """It is found once, and its own range decides (RFC 4291, section 2.5.5.2)."""
    findings = [one for one in GATE.scan({"": text}) if one.rule_id == "ip-address"]
    assert [text[one.start : one.end] for one in findings] == found

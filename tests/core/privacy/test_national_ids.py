"""National and tax ids: the numbers of each country's rule are refused beside its words."""

import random
import re
from datetime import date

import pytest

from antechamber.core.privacy.checks.national_checks import CHECKS
from antechamber.core.privacy.rule import Rule
from support import GATE

RULES = [rule for rule in GATE.rules if rule.check in CHECKS and re.fullmatch("[a-z]{2}-.*", rule.rule_id)]
"""Rules whose id begins with a country."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_forty_countries_have_rules() -> None:
    """National or tax ids of at least forty countries are detected."""
    assert len({rule.rule_id[:2] for rule in RULES}) >= 40


def dated(source: random.Random, form: str) -> str:
    """Return the six digits of a birth date in a form of `strftime`."""
    day = date.fromordinal(source.randint(date(1940, 1, 1).toordinal(), date(1999, 12, 28).toordinal()))
    return day.strftime(form)


def guess(form: str, source: random.Random) -> str:
    """Return a random text of a form.

    D is a date that begins with the day, Y one that begins with the year, 9 a digit, A a letter; others are themselves.
    """
    signs = {
        "D": lambda: dated(source, "%d%m%y"),
        "Y": lambda: dated(source, "%y%m%d"),
        "9": lambda: source.choice("0123456789"),
        "A": lambda: source.choice(LETTERS),
    }
    return "".join(signs[sign]() if sign in signs else sign for sign in form)


FORMS = {
    "us-ssn": "999-99-9999", "ca-sin": "999 999 999", "br-cpf": "999.999.999-99", "ar-cuit": "20-99999999-9",
    "cl-rut": "19.999.999-9", "de-idnr": "99 999 999 999", "at-vnr": "1999 D", "ch-ssn": "756.9999.9999.99",
    "be-nn": "Y99999", "nl-bsn": "999999999", "gb-nhs": "999 999 9999", "ie-pps": "9999999A", "es-dni": "99999999A",
    "es-nie": "X9999999A", "pt-nif": "999999999", "gr-amka": "D99999", "dk-cpr": "D-9999", "no-fodselsnummer": "D99999",
    "se-personnummer": "Y-9999", "fi-hetu": "D-999A", "is-kennitala": "D-9999", "ee-ik": "3Y9999", "lv-pk": "D-19999",
    "pl-pesel": "Y99999", "pl-nip": "199-999-99-99", "cz-rc": "Y/9999", "hu-tax-id": "8999999999", "ro-cnp": "1Y999999",
    "bg-egn": "Y9999", "hr-oib": "99999999999", "ru-inn": "999999999999", "ru-snils": "999-999-999 99",
    "ua-rntrc": "9999999999", "tr-tckimlik": "99999999999", "il-idnr": "999999999", "tw-id": "A199999999",
    "hk-id": "A999999(9)", "kr-rrn": "Y-9999999", "jp-in": "999999999999", "in-aadhaar": "9999 9999 9999",
    "sg-nric": "S9999999A", "th-pin": "9-9999-99999-99-9", "za-idnr": "Y9999089", "au-tfn": "999 999 999",
    "nz-ird": "99-999-999", "it-codicefiscale": "AAAAAA85T10A562A", "ec-ci": "0999999999",
    "au-medicare": "2999 99999 1", "de-vsnr": "99 D A 999", "us-ssn-digits": "999 99 9999",
    "de-kvnr": "A999999999", "es-nuss": "28/99999999/99", "br-pis": "999.99999.99-9", "pt-niss": "1999 999 9999",
    "hu-taj": "999-999-999", "nz-nhi": "AAA9999", "kz-iin": "Y999999", "ir-code": "999-999999-9",
    "sa-id": "1999999999", "ae-id": "784-1999-9999999-9", "sv-dui": "99999999-9", "uy-ci": "9.999.999-9",
    "lu-matricule": "20Y99999", "pl-card": "AAA 999999", "br-cnh": "99999999999", "mx-nss": "99-99-99-9999-9",
}  # fmt: skip


@pytest.mark.parametrize("rule_id", FORMS)
def test_each_id_is_refused_beside_a_word_of_its_country(rule_id: str) -> None:
    """Every guessed number with correct check digits is refused beside a context word."""
    rule = next(rule for rule in RULES if rule.rule_id == rule_id)
    assert rule.check is not None
    source, tried = random.Random(rule_id), 0  # noqa: S311
    for _ in range(200_000):
        number = guess(FORMS[rule_id], source)
        if CHECKS[rule.check](number):
            tried += 1
            found = GATE.find_private({"": f"The {rule.context[0]} of Ada is {number}, keep it."})
            assert rule_id in {one.rule_id for one in found}, number
            if tried == 10:
                break
    assert tried


def test_without_a_word_typical_forms_are_warnings() -> None:
    """A number in the typical form of one country is a warning without any word, never a refusal."""
    for rule_id, text in {
        "it-codicefiscale": "RSSMRA85T10" + "A562S",
        "br-cpf-signs": "123.456." + "789-09",
        "es-dni-plain": "12345678" + "Z",
        "us-ssn": "536-22" + "-1234",
        "national-id-number": "111222" + "333",
    }.items():
        found = GATE.scan({"": f"See {text} there."})
        assert rule_id in {one.rule_id for one in found}
        assert not any(one.is_private for one in found)


@pytest.mark.parametrize("name", CHECKS)
def test_no_check_fails_on_odd_values(name: str) -> None:
    """A check of a value of any form answers, because other rules may use it."""
    for value in ("", "x", "\u0661" * 9, "0" * 30, "12 34", "A1234567Z9", "19991399999999999X"):
        assert CHECKS[name](value) in {True, False}


def test_checks_of_other_countries_follow_their_issuers() -> None:
    """Published examples pass, and the same with another last sign does not."""
    for name, number in {
        "cn-ric": "11010519491231002" + "X",
        "ru-snils": "112-233-445 " + "95",
        "sg-nric": "S1234567" + "D",
        "tw-id": "A12345678" + "9",
        "hk-id": "A123456(" + "3)",
        "hu-tax-id": "807159215" + "3",
        "au-medicare": "2123 4567" + "0",
        "de-vsnr": "65 170839 J " + "003",
        "de-kvnr": "A12345678" + "0",
        "nz-nhi": "ZZZ001" + "6",
        "pl-card": "ABA30000" + "0",
        "sv-dui": "00016297-" + "5",
        "uy-ci": "1.234.567-" + "2",
        "hu-taj": "12345678" + "8",
        "lu-matricule": "1893120105" + "732",
    }.items():
        assert CHECKS[name](number), name
        wrong = number[:-1] + ("1" if number[-1] != "1" else "2") if number[-1] != ")" else number[:-2] + "5)"
        assert not CHECKS[name](wrong), name
    assert not CHECKS["cn-ric"]("110105194913310021")
    assert CHECKS["nz-nhi"]("ZBN77VL")
    assert not CHECKS["nz-nhi"]("ZBN77VK")


def test_a_number_of_one_digit_is_no_id() -> None:
    """Tests and documents write one digit again and again in the place of an id, which some checks accept."""
    for name, number in {"br-cpf": "111.111.111-11", "co-nit": "000000000", "es-dni": "00000000T"}.items():
        assert not CHECKS[name](number), name


@pytest.mark.parametrize("unit", ["bytes", "packets", "ms", "rows"])
def test_a_number_that_counts_something_is_no_id(unit: str) -> None:
    """A unit directly after a number says what it counts."""
    assert GATE.scan({"": "We wrote 111222" + "333 there."})
    assert not GATE.scan({"": "We wrote 111222" + f"333 {unit} there."})


def test_numbers_are_checked_as_written_and_without_signs() -> None:
    """A pattern that accepts other separators finds numbers that an issuer writes without them."""
    for number in ("536-22-1234", "536 22 1234", "536.22.1234", "536221234"):
        assert CHECKS["us-ssn"](number), number


def test_numbers_whose_check_digits_have_two_rules_follow_both() -> None:
    """A remainder that no digit shows leads to the second rule of the issuer."""
    source = random.Random(7)  # noqa: S311
    for name, form in {
        "br-cnh": "99999999999",
        "kz-iin": "Y999999",
        "ir-code": "9999999999",
        "br-pis": "99999999999",
    }.items():
        bodies = [guess(form, source)[:-1] for _ in range(600)]
        ends = {body: [digit for digit in "0123456789" if CHECKS[name](body + digit)] for body in bodies}
        assert all(len(digits) <= 1 for digits in ends.values()), name
        assert any(digits == ["0"] for digits in ends.values()), name


def test_dates_limits_and_masks_are_no_plain_ids() -> None:
    """A number without known check digits is an id only if it is nothing else that texts have."""
    assert all(map(CHECKS["plain-id"], ("15160411", "1634-072555")))
    others = ("20261127", "1764259200", "12340000", "11111212", "12345678", "1234")
    assert not any(map(CHECKS["plain-id"], others))


def test_words_and_dates_are_no_numbers_of_documents() -> None:
    """A number of letters and digits has two digits that differ."""
    assert all(map(CHECKS["document-id"], ("LWWFF1VR0", "L01X00T47")))
    assert not any(map(CHECKS["document-id"], ("FASTFORWARD", "REVISION1", "A20261127")))


def test_each_rule_is_data_with_a_source_of_check_digits() -> None:
    """Each rule of a country has context words, apart or in its pattern, or warns only."""
    for rule in RULES:
        assert isinstance(rule, Rule)
        assert rule.context or rule.action == "warn" or rule.rule_id.endswith("-named"), rule.rule_id


def test_no_rule_names_a_context_word_twice() -> None:
    """Case is ignored, so that a word in two cases is one."""
    for rule in GATE.rules:
        words = [word.lower() for word in rule.context]
        assert len(words) == len(set(words)), rule.rule_id

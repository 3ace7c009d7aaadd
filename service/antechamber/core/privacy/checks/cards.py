"""Payment cards: grouped numbers and bare digits of known issuers with a correct Luhn digit (ISO/IEC 7812-1).

A grouped number has the groups that issuers print, such as 4-4-4-4. Bare digits are a card number if there are sixteen
and no word before them says that they number an order; other lengths need a context word, which the rule names.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from antechamber.core.privacy.effort import Effort

_ISSUERS: Final[tuple[tuple[range, int, frozenset[int]], ...]] = (
    (range(4, 5), 1, frozenset({13, 16, 19})),  # Visa
    (range(51, 56), 2, frozenset({16})),  # Mastercard
    (range(2221, 2721), 4, frozenset({16})),  # Mastercard
    (range(34, 35), 2, frozenset({15})),  # American Express
    (range(37, 38), 2, frozenset({15})),  # American Express
    (range(300, 306), 3, frozenset({14, 16, 19})),  # Diners Club
    (range(309, 310), 3, frozenset({14, 16, 19})),  # Diners Club
    (range(36, 37), 2, frozenset({14, 16, 19})),  # Diners Club
    (range(38, 40), 2, frozenset({14, 16, 19})),  # Diners Club
    (range(6011, 6012), 4, frozenset({16, 19})),  # Discover
    (range(644, 660), 3, frozenset({16, 19})),  # Discover
    (range(3528, 3590), 4, frozenset({16, 17, 18, 19})),  # JCB
    (range(62, 63), 2, frozenset({16, 17, 18, 19})),  # UnionPay
    (range(81, 82), 2, frozenset({16, 17, 18, 19})),  # UnionPay, RuPay
    (range(5018, 5019), 4, frozenset(range(12, 20))),  # Maestro
    (range(5019, 5020), 4, frozenset({16})),  # Dankort
    (range(5020, 5021), 4, frozenset(range(12, 20))),  # Maestro
    (range(5038, 5039), 4, frozenset(range(12, 20))),  # Maestro
    (range(5612, 5613), 4, frozenset(range(12, 20))),  # Maestro
    (range(5893, 5894), 4, frozenset(range(12, 20))),  # Maestro
    (range(6304, 6305), 4, frozenset(range(12, 20))),  # Maestro
    (range(6390, 6391), 4, frozenset(range(12, 20))),  # Maestro
    (range(6703, 6704), 4, frozenset(range(12, 20))),  # Maestro, Bancontact
    (range(6706, 6710), 4, frozenset({16, 18, 19})),  # Laser
    (range(6759, 6764), 4, frozenset(range(12, 20))),  # Maestro, Switch, Solo
    (range(6771, 6772), 4, frozenset({16, 18, 19})),  # Laser
    (range(2200, 2206), 4, frozenset({16, 17, 18, 19})),  # Mir, Borica
    (range(5060, 5062), 4, frozenset({16, 18, 19})),  # Verve
    (range(5041, 5042), 4, frozenset({16})),  # Elo
    (range(5066, 5068), 4, frozenset({16})),  # Elo
    (range(509, 510), 3, frozenset({16})),  # Elo
    (range(6277, 6278), 4, frozenset({16})),  # Elo
    (range(6362, 6364), 4, frozenset({16})),  # Elo
    (range(6062, 6063), 4, frozenset({16})),  # Hipercard
    (range(508, 509), 3, frozenset({16})),  # RuPay
    (range(6069, 6074), 4, frozenset({16})),  # RuPay
    (range(9792, 9793), 4, frozenset({16})),  # Troy
    (range(637, 640), 3, frozenset({16})),  # InstaPayment
    (range(1, 2), 1, frozenset({15})),  # UATP
)
"""Issuer prefixes (ISO/IEC 7812) with their number of digits and the lengths of that issuer's cards."""
_PREFIX: Final = 4
"""Leading digits that determine the issuer."""
_ONCE: Final = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED: Final = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
"""The value of each digit that the Luhn formula doubles."""
_GROUPINGS: Final = frozenset(
    {
        (4, 4, 4, 4),
        (4, 6, 5),
        (4, 6, 4),
        (4, 4, 4, 4, 3),
        (4, 4, 4, 4, 2),
        (4, 4, 4, 4, 1),
        (4, 5, 6),
        (4, 4, 5),
        (4, 4, 4, 1),
        (4, 4, 4, 2),
        (4, 4, 4, 3),
        (4, 4, 4),
        (4, 3, 3, 3),
        (6, 13),
        (6, 4, 9),
        (8, 8),
        (6, 10),
    }
)
"""How card numbers are printed and typed: the number of digits in each group."""
_SUMMED: Final = 5
"""Binary logarithm of the digits of which the sums count as one unit of effort."""
_FIRST_GROUPS: Final = frozenset(groups[0] for groups in _GROUPINGS)
_PORTS: Final = frozenset(
    """
    1025 1080 1433 1434 1521 1883 2049 2181 2222 2375 2376 2379 2380 3000 3001 3128 3260 3306 3333 3389 4000 4040 4200
    4222 4317 4318 4443 4444 4567 4646 4848 5000 5001 5044 5060 5061 5173 5222 5353 5432 5433 5555 5601 5671 5672 5678
    5900 5984 5985 5986 6000 6060 6379 6380 6443 6650 6660 6667 6831 7000 7001 7077 7474 7687 7946 8000 8001 8008 8080
    8081 8082 8086 8088 8090 8123 8125 8161 8200 8300 8301 8443 8444 8500 8501 8600 8761 8800 8834 8883 8888 8983 9000
    9001 9042 9090 9091 9092 9093 9094 9100 9101 9115 9160 9200 9300 9411 9418 9443 9600 9990 9999
    """.split()  # noqa: SIM905 -- a list would take a line for each number
)
"""Port numbers that texts list next to each other."""
_MOST_PORTS: Final = 2
"""Groups of a card number that may be such ports."""
_MOST_GROUPS: Final = max(map(len, _GROUPINGS))
_RUN: Final = re.compile(
    r"[0-9](?<![0-9A-Za-z.].)(?<![0-9A-Za-z]-.)[0-9]*(?:[ \xa0.\u2009\u202f\u2010-\u2013-][0-9]+)+(?![0-9A-Za-z])"
)
"""Groups of digits with one sign between two of them; an underscore may be around them."""
_GROUPED: Final = re.compile(
    "(?<![0-9])(?:"
    + "|".join("[^0-9]".join(f"[0-9]{{{size}}}" for size in groups) for groups in sorted(_GROUPINGS))
    + ")"
)
"""A run of groups without such a row of them has no card number."""
_GROUP: Final = re.compile("[0-9]+")
_DUMPED: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{6,8}: (?:[0-9a-f]{4} )*\Z")
"""What is before groups in a line of a hexadecimal dump."""
_DUMP_REACH: Final = 52
"""Characters of a line of such a dump before its ASCII column."""
_BARE: Final = re.compile(
    r"[0-9](?<![0-9A-Za-z.].)(?<![0-9A-Za-z]-.)[0-9]{11,18}(?![0-9A-Za-z]|[.,][0-9]|-[0-9A-Za-z])"
)
_BARE_LENGTH: Final = 16
"""Length of the bare digits that are a card number without a context word."""
_ORDER: Final = re.compile(
    r"(?i)(?:order|invoice|tracking|parcel|shipment|ticket|transaction|booking|reference|ref|serial|sku|batch|build|job"
    r"|trace|span|bestellung|bestellnummer|auftrag|rechnung|sendung|commande|facture|pedido|factura|ordine)\w*"
    r"(?:[ _-]?(?:id|no|nr|num|number|code))?\.?[\"']?[ :#=]{0,3}[\"']?\Z"
)
"""The end of a text before digits that number an order or another thing."""
_PARTITION: Final = 1 << 51
"""Zeebe numbers the keys of its partition P from P * 2**51 on; they look like cards of three issuers, …"""
_KEYS: Final = 1 << 32
"""… as far as this many of them, which no real card is likely to be."""
_ORDER_REACH: Final = 32
"""Characters before bare digits that are searched for such a word."""


def find_cards(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of grouped card numbers and of sixteen bare digits that are one.

    Groups of digits before or after the number (an expiry date) do not hide it. Raises EffortSpentError if there are
    too many candidates.
    """
    known: dict[str, list[tuple[int, int]]] = {}
    for run in _RUN.finditer(text):
        first = run.start()
        found = known.get(run[0])
        if found is None:
            spans = _grouped_in(text, run, effort) if _GROUPED.search(run[0]) is not None else ()
            found = known[run[0]] = [(start - first, end - first) for start, end in spans]
        if found and _DUMPED.search(text, max(0, first - _DUMP_REACH), first) is None:
            yield from ((first + start, first + end) for start, end in found)
    for start, end in find_bare_cards(text, effort):
        if end - start == _BARE_LENGTH and not _ORDER.search(text, max(0, start - _ORDER_REACH), start):
            yield start, end


def find_bare_cards(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of bare digits that are a card number of a known issuer, of any length.

    Raises EffortSpentError if there are too many candidates.
    """
    for match in _BARE.finditer(text):
        effort.spend()
        if _is_card(match[0]):
            yield match.span()


def _grouped_in(text: str, run: re.Match[str], effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of the card numbers among groups of digits; the groups are tried from left to right.

    The code is two loops with prefix sums, because it runs for every group of a text. Most groups do not begin like a
    card number, so that the sums are rarely formed.
    """
    groups = [group.span() for group in _GROUP.finditer(text, *run.span())]
    sizes = tuple(end - start for start, end in groups)
    digits = "".join(text[start:end] for start, end in groups)
    places, free = list(accumulate(sizes, initial=0)), 0
    sums: tuple[list[int], list[int]] | None = None
    for first, size in enumerate(sizes):
        if size in _FIRST_GROUPS and first >= free:
            start = places[first]
            lengths = _lengths_of().get(digits[start : start + _PREFIX], ())
            for count in _counts_of(sizes[first : first + _MOST_GROUPS]) if lengths else ():
                end = places[first + count]
                if end - start not in lengths:
                    continue
                if sums is None:
                    effort.spend(1 + (len(digits) >> _SUMMED))
                    sums = _luhn_sums(digits)
                # The last digit counts once and the one before it twice: the doubled digits have the parity of `end`.
                correct = not (sums[end & 1][end] - sums[end & 1][start]) % 10
                if correct and len(set(digits[start:end])) > 1 and not _are_ports(text, groups[first : first + count]):
                    free = first + count
                    yield groups[first][0], groups[free - 1][1]
                    break


def _are_ports(text: str, groups: list[tuple[int, int]]) -> bool:
    """Return whether most groups of digits are different port numbers, and not parts of a card number."""
    return len({text[start:end] for start, end in groups} & _PORTS) > _MOST_PORTS


def _luhn_sums(digits: str) -> tuple[list[int], list[int]]:
    """Return prefix sums of the Luhn values, first with even indexes doubled, then with odd indexes doubled."""
    raw, sums = digits.encode(), []
    for parity in (0, 1):
        counted = bytearray(raw.translate(_ONCE))
        counted[parity::2] = raw[parity::2].translate(_DOUBLED)
        sums.append(list(accumulate(counted, initial=0)))
    return sums[0], sums[1]


@lru_cache(maxsize=1024)
def _counts_of(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of groups, counted from the first one, that are grouped like a card number."""
    return tuple(count for count in range(len(sizes), 1, -1) if sizes[:count] in _GROUPINGS)


def _is_card(digits: str) -> bool:
    """Return whether digits have an issuer's prefix and length and a correct Luhn digit, and are no counter."""
    return (
        len(digits) in _lengths_of().get(digits[:_PREFIX], ())
        and len(set(digits)) > 1
        and _has_luhn_digit(digits)
        and (int(digits) < _PARTITION or int(digits) % _PARTITION >= _KEYS)
    )


def is_card_number(digits: str) -> bool:
    """Return whether digits have a correct Luhn digit, of whatever issuer, and are not all the same."""
    return len(set(digits)) > 1 and _has_luhn_digit(digits)


def _has_luhn_digit(digits: str) -> bool:
    raw = digits.encode()
    return (sum(raw[-1::-2].translate(_ONCE)) + sum(raw[-2::-2].translate(_DOUBLED))) % 10 == 0


@cache
def _lengths_of() -> dict[str, frozenset[int]]:
    """Return the possible lengths of card numbers by their first four digits, for known issuers only."""
    found: dict[str, frozenset[int]] = {}
    for prefixes, width, lengths in _ISSUERS:
        rest = 10 ** (_PREFIX - width)
        for number in range(prefixes.start * rest, prefixes.stop * rest):
            prefix = f"{number:0{_PREFIX}}"
            found[prefix] = found.get(prefix, frozenset()) | lengths
    return found


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "payment-cards": find_cards,
    "payment-card-digits": find_bare_cards,
}
CHECKS: Final[dict[str, Callable[[str], bool]]] = {"card-number": is_card_number}

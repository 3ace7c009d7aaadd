"""The checks and searches that rules may name; each module of checks defines its own, and this module joins them."""

from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.checks import (
    cards,
    chosen_secrets,
    disguises,
    emails,
    hidden_characters,
    ibans,
    key_formats,
    national_checks,
    national_numbers,
    network_addresses,
    phones,
    random_values,
    seed_phrases,
    url_logins,
)
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.models import disclosed_secrets, disclosed_words, hostile_prose
from antechamber.core.privacy.values import passwords

Check = Callable[[str], bool]
"""Returns whether a value that a pattern matches is real."""
Search = Callable[[str, Effort], Iterator[tuple[int, int]]]
"""Yields the spans of values in a text (code points, end exclusive) in linear time; raises EffortSpentError."""

CHECKS: Final[dict[str, Check]] = {
    **cards.CHECKS,
    **url_logins.CHECKS,
    **chosen_secrets.CHECKS,
    **ibans.CHECKS,
    **key_formats.CHECKS,
    **national_checks.CHECKS,
    **passwords.CHECKS,
    **random_values.CHECKS,
    **seed_phrases.CHECKS,
}
Look = Callable[[bytes], bool]
"""Returns whether a text (UTF-8) may have a value of a search."""

LOOKS: Final[dict[str, Look]] = {
    **seed_phrases.LOOKS,
}
"""Looks that are cheaper than the pattern of a rule with such a search, and rule out more texts."""
SEARCHES: Final[dict[str, Search]] = {
    **cards.SEARCHES,
    **disguises.SEARCHES,
    **emails.SEARCHES,
    **hidden_characters.SEARCHES,
    **hostile_prose.SEARCHES,
    **ibans.SEARCHES,
    **national_numbers.SEARCHES,
    **network_addresses.SEARCHES,
    **phones.SEARCHES,
    **seed_phrases.SEARCHES,
    **disclosed_secrets.SEARCHES,
    **disclosed_words.SEARCHES,
}

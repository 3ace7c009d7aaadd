"""Decides which values of a sentence are secrets, once the words around them have named them as such."""

import re
from typing import Final

from antechamber.core.privacy.chosen_secrets import is_joined, is_unmistakable
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.noise import SIGNED, is_member, is_name, is_template
from antechamber.core.privacy.passwords import (
    is_pair_password,
    is_quoted_password,
    is_random,
    is_secret,
    is_spoken_password,
)
from antechamber.core.privacy.phrases import is_numbered
from antechamber.core.privacy.random_values import is_random_value
from antechamber.core.privacy.spoken_links import TRAIL

_JUDGED: Final = 15
"""Effort of one value …"""
_LENGTH: Final = 4
"""… and the characters of the value that count as one unit in addition."""
_QUERY: Final = re.compile('"&[a-z]+=')
"""The end of a quotation in the query of an address."""
_TRAIL_OF_BARE: Final = ".,;:)\"'"
"""Signs behind a value without quotation marks that are no part of it, if it ends with a sign or a digit of its own."""
_STRONG_LENGTH: Final = 8
_LONG_NUMBER: Final = 6
_OBJECT: Final = re.compile("[a-z][a-z0-9]{1,9}(?:-[a-z][a-z0-9]{1,9}){1,4}-[0-9a-f]{4,16}|[a-z]{3,12}-[0-9a-f]{4,6}")
"""The name of a bucket, a cache or a pod that ends with a part of a hash."""
_WORD_AND_NUMBER: Final = re.compile("[a-z]{6,20}_[0-9]{1,4}|[a-z]{6,20}-[0-9]{4}")
"""What a link leads to and an account or a machine seldom has as its name."""


class ValueJudge:
    """Decides which values of a text are secrets; each different one is verified once."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._known: dict[tuple[str | bool, ...], tuple[int, bool]] = {}
        self.is_password = False
        """Whether the cue names a password, and not a secret of another kind."""
        self.is_lock = False
        """Whether the cue only names what a password opens, so that a value has to be unmistakable."""
        self.is_network = False
        """Whether that is a wireless network, whose name may look like a password."""

    def span(self, match: re.Match[str], *, linked: bool) -> tuple[int, int] | None:
        """Return the span of a match's value if it looks like a secret."""
        group = "quoted" if match["quoted"] else "bare"
        value, start = match[group], match.start(group)
        self.effort.spend()
        case = (group, value, self.is_password, self.is_lock, self.is_network, linked)
        known = self._known.get(case)
        if known is None:
            self.effort.spend(_JUDGED + len(value) // _LENGTH)
            if self.is_lock:
                value = value.rstrip(_TRAIL_OF_BARE) if group == "bare" else value
                known = len(value), is_unmistakable(value) or (not self.is_network and is_joined(value))
            else:
                known = _judge(value, group, is_password=self.is_password, linked=linked)
            self._known[case] = known
        length, found = known
        return (start, start + length) if found else None


def _judge(value: str, group: str, *, is_password: bool, linked: bool) -> tuple[int, bool]:
    """Return the length of a value without what trails it, and whether it looks like a secret."""
    if group == "bare":
        signed = value.rstrip(_TRAIL_OF_BARE)
        # A question mark ends a question more often than a password.
        stripped = signed if SIGNED.fullmatch(signed) and signed[-1] != "?" else value.rstrip(TRAIL)
        value = stripped if "(" not in stripped else value
        value = _QUERY.split(value)[0]
        if "(" not in value:
            value = value.partition(")")[0]
        return len(value), _is_bare(value, is_password=is_password, linked=linked)
    return len(value), is_secret(value) or (is_password and is_quoted_password(value))


def _is_bare(value: str, *, is_password: bool, linked: bool) -> bool:
    """Return whether a value without quotation marks is a secret; without a link it has to be a stronger one."""
    if not is_password:
        return (
            (is_secret(value) or is_random_value(value))
            and len(value) > _STRONG_LENGTH
            and not is_member(value)
            and not _OBJECT.fullmatch(value)
            and not is_template(value)
        )
    if linked:
        return (
            is_spoken_password(value)
            or is_random(value)
            or (value.isdecimal() and len(value) >= _LONG_NUMBER)
            or (_WORD_AND_NUMBER.fullmatch(value) is not None and is_numbered(value))
        )
    return not is_name(value) and (
        is_pair_password(value) or (len(value) >= _STRONG_LENGTH and is_spoken_password(value))
    )

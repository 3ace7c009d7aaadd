"""Bounds on values: entropy, variety and placeholders, which separate secrets from examples of secrets."""

import math
from collections import Counter
from typing import Final

COMMON_PLACEHOLDERS: Final = (
    r"[x*.#-]+",
    r"(?:<.*>|\{.*\}|\[.*\]|%.*%|\$.*|%\(.*)",
    r"(?:your|my|some|the|an?|this|insert|enter|put|replace)[-_ .].*",
    r"(?:change[-_]?me|placeholder|redacted|removed|hidden|masked|todo|none|null|undefined|dummy|fake|sample|example)",
)
"""Values that are no secrets, for rules of the kind `secret`; each pattern matches a whole value, case is ignored."""

MASKED: Final = (
    r"(?:xxxxxxxx|\*\*\*\*|########|0000000000000000|[-_]here$"
    r"|(?:^|[-_./:])your[-_])"
)
"""Parts of values that documents give in the place of a token, behind its real prefix; case is ignored."""


def entropy_of(value: str) -> float:
    """Return the Shannon entropy of a text in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def variety_of(value: str) -> int:
    """Return how many of lower case, upper case, digits and other signs a text has."""
    return (
        any(map(str.islower, value))
        + any(map(str.isupper, value))
        + any(map(str.isdigit, value))
        + (not value.isalnum())
    )

"""Bounds on values: entropy, variety and placeholders, which separate secrets from examples of secrets."""

import binascii
import math
import re
from collections import Counter
from typing import Final

COMMON_PLACEHOLDERS: Final = (
    r"[x*.#-]+",
    r"(?:<.*>|\{.*\}|\[.*\]|%.*%|\$(?:[^A-Za-z].*|[A-Za-z_][\w.:>/\[\]()-]*)?|%\(.*)",
    r"(?:your|my|some|the|an?|this|insert|enter|put|replace)[-_ .].*",
    r"(?:change[-_]?me|placeholder|redacted|removed|hidden|masked|todo|none|null|undefined|dummy|fake|sample|example)",
    r"enter.*here|.*(?:password|secret|token|key)[-_ ]?here",
    r"(?-i:.*EXAMPLE.*)",
)
"""Values that are no secrets, for rules of the kind `secret`; each pattern matches a whole value, case is ignored."""
_PUBLISHED: Final = re.compile(
    # Microsoft, "Use the Azurite emulator" and "Azure Cosmos DB emulator".
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2U[0-9A-Za-z+/]{0,34}={0,2}"
    r"|C2y6yDjf5/R\+ob0N8A7Cgv30VRDJIWEHLM\+4QDU5DE2nQ9nDuVTqobD[0-9A-Za-z+/]{0,34}={0,2}"
    # RFC 7617, RFC 6750 and RFC 6749, and the token that jwt.io shows.
    r"|QWxhZGRpbjpvcGVuIHNlc2FtZQ={0,2}|mF_9\.B5f-4\.1JqM|2YotnFZFEjr1zCsicMWpAA|tGzv3JOkF0XG5Qx2TlKWIA|eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzdWIiOiIxMjM0NTY3ODkw"
    r"[0-9A-Za-z_-]{10,90}\.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
    # age, "Recipients": the public key.
    r"|age1[02-9ac-hj-np-z]{58}"
    # RFC 7515, appendix A.1.
    r"|dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    # Stripe, "API keys"; Slack, "Token types"; Twitter, "Authorizing a request"; Google, "Key URI format"; BIP 39.
    "|sk_test_4eC39HqLyjWDarjtT1zdp7dc|xoxb-123456789012-123456789012[0-9]?-[a-zA-Z]{24}|xvz1evFS4wEEPTGEFPHBog"
    r"|JBSWY3DPEHPK3PXP|(?:abandon\W{1,8}){11}about"
    # Stripe and Mapbox: keys that a page shows to everyone.
    r"|pk_(?:live|test)_[0-9A-Za-z]{20,120}|pk\.eyJ[0-9A-Za-z_-]{20,300}\.[0-9A-Za-z_-]{20,40}"
)
"""Values that documentation gives as an example, and keys that are public: they open nothing."""

_MASKS: Final = re.compile(r"x{8,}|\*{4,}|#{8,}|0{16,}|[-_]here$|(?:^|[-_./:])your[-_]", re.IGNORECASE)
"""Parts of values that documents give in the place of a token, behind its real prefix."""
_BASE64: Final = re.compile("((?:[0-9A-Za-z+/_-]{4}){8,}(?:[0-9A-Za-z+/_-]{2,3})?)={0,2}")
_STANDARD: Final = str.maketrans("-_", "+/")
_LEVELS: Final = 3
_PROSE: Final = re.compile(r"(?=[^,.;:!?]*[,.;:!?])[A-Za-z][a-z']*(?:[,.;:]? [A-Za-z][a-z']*){5,}[.!?]?\s*")
"""Words of letters with blanks and a punctuation mark, which neither a generated password nor a passphrase has."""
_SIGNS_OF_PROSE: Final = re.compile("[\u3001\u3002\uff0c\uff01\uff1f\uff1b]")
"""The same in Chinese and Japanese."""
_RUN: Final = re.compile("[0-9A-Za-z]{16,}")
_FEWEST: Final = 2
"""Different characters of a run that may be a token; masks have one."""
_RUNS: Final = re.compile("[0-9A-Za-z]+")
_KINDS: Final = re.compile("[a-z]+|[A-Z]+|[0-9]+")
_LEAST_CHANGES: Final = 0.45
"""Runs of one kind of character per character: 0.6 in random letters and digits, 0.4 in names such as `getAllUsers`."""


def is_masked(value: str) -> bool:
    """Return whether a value has a mask, and beside it no run of letters and digits that could be a token."""
    rest, masks = _MASKS.subn(" ", value)
    return masks > 0 and all(len(set(run)) <= _FEWEST for run in _RUN.findall(rest))


def is_encoded_prose(value: str) -> bool:
    """Return whether a value is prose in base64, once or several times, and not a passphrase or a generated value."""
    for _ in range(_LEVELS):
        body = _BASE64.fullmatch(value)
        if body is None:
            return False
        data = binascii.a2b_base64(body[1].translate(_STANDARD) + "=" * (-len(body[1]) % 4))
        value = data.decode("ascii", "replace")
        if _PROSE.fullmatch(value) or _SIGNS_OF_PROSE.search(data.decode(errors="replace")):
            return True
    return False


def is_published(value: str) -> bool:
    """Return whether a value is an example of a public document, or a key that is public."""
    return _PUBLISHED.fullmatch(value) is not None


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


def longest_run_of(value: str) -> str:
    """Return the longest run of letters and digits in a text; empty without any."""
    return max(_RUNS.findall(value), key=len, default="")


def share_of_changes(value: str) -> float:
    """Return the runs of one kind (small letters, capitals, digits) in a text, per character."""
    return len(_KINDS.findall(value)) / len(value)


def changes_often(value: str) -> bool:
    """Return whether small letters, capitals and digits change as often in a text as in a random one."""
    return share_of_changes(value) >= _LEAST_CHANGES

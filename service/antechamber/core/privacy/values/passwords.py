"""Checks whether a value is a password or a secret, and not code, prose, a reference, a mask or a placeholder.

A pattern finds the place of a value (`password: …`); these checks judge the value alone. They read a value a constant
number of times.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from antechamber.core.privacy.values.bounds import changes_often, entropy_of, longest_run_of, variety_of
from antechamber.core.privacy.values.letters import is_gibberish, is_random_word
from antechamber.core.privacy.values.noise import SIGNED, is_member, is_noise, is_template
from antechamber.core.privacy.values.phrases import (
    is_counted,
    is_grouped,
    is_hyphenated,
    is_long_phrase,
    is_numbered,
    is_phrase,
    is_spaced,
    is_triple,
)
from antechamber.core.privacy.values.words import PLAIN, TECHNICAL

_SHORTEST: Final = 6
_SHORTEST_QUOTED: Final = 5
_SHORTEST_SECRET: Final = 8
_LEAST_BITS: Final = 2.7
_RANDOM_BITS: Final = 3.2
_RANDOM_LENGTH: Final = 20
_LEAST_DIGITS: Final = 2
_RANDOM_RUN: Final = 12
_LEAST_NUMBERS: Final = 2
_MIXED_BITS: Final = 3.9

_STORE: Final = re.compile(
    r"(?:1password|keepassxc|keepassx?[0-9]?|vault[0-9]?|bitwarden|lastpass|dashlane|passbolt|nordpass)[.,;:!?)\"']*$",
    re.IGNORECASE,
)
"""The program in which a password is kept."""
_OBJECT: Final = re.compile("[a-z]+(?:-[a-z]+)+-[0-9a-f]{4,6}$")
"""The name of an object of Kubernetes that ends with a part of a hash."""
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+[0-9]?$|(?:[A-Z][a-z]+){2,}[0-9]?$")
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:|[\w.-]+)?(?:[/\\][\w.*@#?=-]+)+[/\\]?$")
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+[0-9]{0,2}$")
_STRONG_SIGNS: Final = frozenset("!#$%^?@~+&*")
"""Signs that are rarer in code than its brackets, points and commas."""
_LEAST_SIGNS: Final = 2
_KINDS: Final = 4
_LEAST_CHANGES: Final = 0.6
"""Changes of the kind of character per pair of neighbors: 0.7 in random printable ASCII."""
_LONGEST_GENERATED: Final = 128
_ODD: Final = re.compile("[a-z][A-Z][0-9]{1,3}")
"""A short group that programs put in front of a word, such as `gR7`, and no technical term."""
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_HASH: Final = re.compile(
    r"(?i)(?:sha|md[0-9]|blake|b3|crc|xxh|hash|digest|e?tag_|checksum|sum_|integrity|commit|rev|git|tree|blob|cid|sri|nar"
    r"|fingerprint|price_|prod_|cus_|sub_|pi_|ch_|in_|evt_|acct_|seti_|pm_|si_|txn_|req_|img|image|layer|build|cache|file|trace|span|req)"
)
"""Prefixes of hashes and of identifiers that are no secrets."""
_JOINT: Final = re.compile(r"[-_./:,|\\ ~'\u2019]+")
_WORD: Final = re.compile(r"[^\W\d_]+")
_OF_PLACEHOLDERS: Final = frozenset(
    {"my", "your", "the", "some", "db", "app", "from", "example", "change", "here", "me"}
)
_SHORTEST_KEY: Final = 15
_SHORT_HEX: Final = re.compile("[0-9a-f]{1,63}", re.IGNORECASE)
_HEX: Final = re.compile("[0-9a-f]+", re.IGNORECASE)
_AFTER_PREFIX: Final = re.compile("^[0-9A-Za-z]*[_-]")
_HOST: Final = re.compile(r"@(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:[0-9]))(?::[0-9]{1,5})?(?:/\S*)?$")
"""The host behind an account and a password in an address."""
_NUMBERS: Final = re.compile("[0-9]+")
_VOWELS: Final = frozenset("aeiouy")
_CLASSES: Final = 3


def is_wordy(value: str) -> bool:
    """Return whether a value consists of words, numbers and technical terms, joined by the usual signs."""
    return all(
        not part
        or part.isdecimal()
        or (TECHNICAL.fullmatch(part) and not _ODD.fullmatch(part))
        or (_WORD.fullmatch(part) and not is_gibberish(part))
        for part in _JOINT.split(value.strip("'\"`()[]{}<>,;:.!?"))
    )


def _is_mixed(value: str) -> bool:
    """Return whether a value mixes letters with digits or signs as a password does."""
    return (
        any(map(str.isalpha, value))
        and not all(map(str.isalpha, value))
        and (not is_wordy(value) or SIGNED.fullmatch(value) is not None)
    )


def _is_chosen(value: str) -> bool:
    """Return whether a value looks like what persons and programs choose as a password."""
    return (
        _is_mixed(value)
        or is_phrase(value)
        or is_triple(value)
        or is_numbered(value)
        or is_counted(value)
        or is_grouped(value)
        or is_random_word(value)
        or (value.endswith("!") and value[:-1].isalpha() and not _is_plain(value[:-1]))
    )


def is_spoken_password(value: str) -> bool:
    """Return whether a word of a sentence is a password; a word of a dictionary is none."""
    return (
        len(value) >= _SHORTEST
        and (_is_mixed(value) or is_long_phrase(value) or is_hyphenated(value) or is_random_word(value))
        and not is_noise(value)
        and not _PATH.match(value)
        and not is_member(value)
        and not _SNAKE.match(value)
        and not _STORE.match(value)
    )


def is_generated(value: str) -> bool:
    """Return whether a value mixes all kinds of characters as generators of passwords do, and not as code does.

    A random password is so full of signs that it resembles code, a template or a regular expression.
    """
    if not _SHORTEST_SECRET <= len(value) <= _LONGEST_GENERATED:
        return False
    kinds = [_kind_of(character) for character in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return (
        len(set(kinds)) == _KINDS
        and changes >= _LEAST_CHANGES * (len(value) - 1)
        and value.isascii()
        and not is_template(value)
        and not is_wordy(value)
    )


def _kind_of(character: str) -> int:
    """Return the kind of a character: digit, small letter, capital or sign."""
    return 0 if character.isdecimal() else 1 if character.islower() else 2 if character.isupper() else 3


def is_bare_password(value: str) -> bool:
    """Return whether a value without quotation marks is a password, after a name and `=` or `:`."""
    if is_generated(value) and len(_STRONG_SIGNS.intersection(value)) >= _LEAST_SIGNS:
        return True
    value = value.rstrip(".,;:)")
    if value.isdecimal():
        return len(value) >= _SHORTEST and len(set(value)) > 1
    return len(value) >= _SHORTEST and _is_chosen(value) and not is_noise(value)


def is_lone_password(value: str) -> bool:
    """Return whether a value that ends its line is a password; here a plain word can be one."""
    return is_bare_password(value) or (
        len(value) >= _SHORTEST and value.isalpha() and not _is_plain(value) and not is_noise(value)
    )


def is_quoted_password(value: str) -> bool:
    """Return whether a value in quotation marks is a password, after a name and a separator."""
    if value != value.strip() or len(value) < _SHORTEST_QUOTED:
        return False
    if is_generated(value):
        return True
    if is_noise(value):
        return False
    if " " in value:
        return is_phrase(value) or is_spaced(value)
    if value.isdecimal():
        return len(set(value)) > 1
    return _is_chosen(value) or (value.isalpha() and not value.isupper() and not _is_plain(value))


def _is_plain(word: str) -> bool:
    return word.lower() in PLAIN or bool(_CAMEL.match(word)) or not word.isascii()


def is_secret(value: str) -> bool:
    """Return whether a value is a secret, after a name such as `token` or `api_key`: letters and digits, no words."""
    value = value.rstrip(".,;:)")
    if len(value) >= _RANDOM_LENGTH and is_random_word(value):
        return not is_noise(value)
    return (
        len(value) >= _SHORTEST_SECRET
        and not value.isdecimal()
        and not _UUID.match(value)
        and not _OBJECT.match(value)
        and not is_wordy(value)
        and entropy_of(value) >= _LEAST_BITS
        and (sum(map(str.isdecimal, value)) >= _LEAST_DIGITS or _has_random_letters(value))
        and not is_noise(value)
    )


def _has_random_letters(value: str) -> bool:
    letters = "".join(filter(str.isalpha, value))
    return is_gibberish(letters, _SHORTEST_SECRET) or (len(letters) >= _RANDOM_LENGTH and is_random_word(letters))


def is_random_token(value: str) -> bool:
    """Return whether the longest run of letters and digits in a value is random."""
    run = longest_run_of(value)
    return (
        len(run) >= _RANDOM_LENGTH
        and sum(map(str.isdecimal, run)) > _LEAST_DIGITS
        and sum(map(str.isalpha, run)) > _LEAST_DIGITS
        and entropy_of(run) >= _RANDOM_BITS
        and not is_noise(value)
    )


def is_prefixed_token(value: str) -> bool:
    """Return whether a prefix, which is none of a hash, is followed by a random part of letters and digits."""
    tail = _AFTER_PREFIX.sub("", value)
    run = longest_run_of(tail)
    return (
        not _HASH.match(value)
        and len(run) >= _RANDOM_RUN
        and all(any(map(test, run)) for test in (str.islower, str.isupper))
        and len(_NUMBERS.findall(tail)) >= _LEAST_NUMBERS
        and entropy_of(tail) >= _MIXED_BITS
        and changes_often(tail)
        and not is_noise(value)
    )


def is_known_service_token(value: str) -> bool:
    """Return whether the longest run of letters and digits behind a known prefix is no word; shorter ones suffice."""
    run = longest_run_of(value)
    return len(run) >= _RANDOM_RUN and is_secret(run) and not is_noise(value)


def is_slack_token(value: str) -> bool:
    """Return whether a value is a token of Slack: its parts are numbers and random letters, or their beginnings."""
    parts = value.replace(".xox", "-xox").split("-")[1:]
    return any(part.isdecimal() and len(part) >= _SHORTEST_SECRET for part in parts) or any(map(is_secret, parts))


def is_aiven_password(value: str) -> bool:
    """Return whether what follows the prefix of Aiven's passwords is random, and no name in capital letters."""
    tail = value.partition("_")[2]
    return not tail.isupper() and (is_secret(tail) or is_random_word(tail.replace("_", "")))


def is_bare_key(value: str) -> bool:
    """Return whether the value of a `key` is random: of both cases, or of small letters beyond hexadecimal ones.

    A hexadecimal number behind such a name is as a rule a digest.
    """
    is_digest = _HEX.fullmatch(longest_run_of(value)) is not None
    return is_prefixed_token(value) or (not is_digest and is_hinted(value))


def is_service_value(value: str) -> bool:
    """Return whether a value behind the name of a service is a key of it; short hexadecimal numbers are identifiers."""
    return len(value) >= _SHORTEST_KEY and is_secret(value) and (_SHORT_HEX.fullmatch(value) is None)


def is_placed_password(value: str) -> bool:
    """Return whether a value at the place of a password is one: neither a word, a command nor a path."""
    is_word = value.isalpha() and not is_random_word(value)
    return not is_word and _is_chosen(value) and not is_noise(value) and not _PATH.match(value)


def is_stated_password(value: str) -> bool:
    """Return whether a value of a file of passwords is one: also words, which are no usual ones in its place."""
    words = re.split("[_-]", value)
    return is_command_password(value) or (
        len(value) >= _SHORTEST
        and all(word.isalpha() for word in words)
        and not any(word.lower() in PLAIN or word.lower() in _OF_PLACEHOLDERS for word in words)
        and not is_noise(value)
    )


def is_disordered(value: str) -> bool:
    """Return whether a value is a secret of three kinds of characters in disorder."""
    return is_secret(value) and variety_of(value) >= _CLASSES and changes_often(value)


def is_hinted(value: str) -> bool:
    """Return whether the value of a name for keys is random: disordered, hexadecimal, or small letters and digits."""
    return is_disordered(value) or (is_random_token(value) and len(_NUMBERS.findall(value)) > _CLASSES)


def is_named_random(value: str) -> bool:
    """Return whether a value beside its name is random, and not the name of something."""
    return is_random_token(value) or is_disordered(value) or (len(value) >= _RANDOM_LENGTH and is_random_word(value))


def is_prefixed_hex_token(value: str) -> bool:
    """Return whether a prefix before a hexadecimal number is none of a hash; a context word has to be near."""
    return not _HASH.match(value) and is_random_token(value)


def is_consonant_run(value: str) -> bool:
    """Return whether one of several groups of letters has no vowel, so that they are no words."""
    return any(not _VOWELS.intersection(group) for group in value.lower().split())


def is_command_password(value: str) -> bool:
    """Return whether an argument of a command is a password; a word of letters is none."""
    value = value.rstrip("\"'`.,;:)")
    return (
        len(value) >= _SHORTEST_QUOTED
        and not value.startswith("-")
        and (
            _is_mixed(value)
            or is_long_phrase(value)
            or is_hyphenated(value)
            or is_triple(value)
            or is_counted(value)
            or is_random_word(value)
        )
        and not is_noise(value)
    )


def is_header_secret(value: str) -> bool:
    """Return whether the value of a header is a secret; here a UUID can be one."""
    return bool(_UUID.match(value)) or is_secret(value)


def is_authorization(value: str) -> bool:
    """Return whether the value of an Authorization header is random; a UUID is so too."""
    return bool(_UUID.match(value)) or is_random_token(value)


def is_pair_password(value: str) -> bool:
    """Return whether a word after a user name is a password: three kinds of characters, random letters or words."""
    value = _HOST.sub("", value).rstrip(".,;:)]}>")
    classes = sum(any(map(test, value)) for test in (str.islower, str.isupper, str.isdecimal, _is_sign))
    is_strong = classes >= _CLASSES or is_hyphenated(value) or is_triple(value) or is_random_word(value)
    return is_strong and is_spoken_password(value)


def _is_sign(character: str) -> bool:
    return not character.isalnum() and character not in "-_./\\:"


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "spoken-password": is_spoken_password,
    "bare-password": is_bare_password,
    "lone-password": is_lone_password,
    "quoted-password": is_quoted_password,
    "secret": is_secret,
    "random-token": is_random_token,
    "prefixed-token": is_prefixed_token,
    "service-value": is_service_value,
    "placed-password": is_placed_password,
    "stated-password": is_stated_password,
    "numbered-phrase": is_numbered,
    "disordered": is_disordered,
    "named-random": is_named_random,
    "hinted": is_hinted,
    "known-service-token": is_known_service_token,
    "slack-token": is_slack_token,
    "aiven-password": is_aiven_password,
    "bare-key": is_bare_key,
    "prefixed-hex-token": is_prefixed_hex_token,
    "consonant-run": is_consonant_run,
    "command-password": is_command_password,
    "header-secret": is_header_secret,
    "authorization": is_authorization,
    "pair-password": is_pair_password,
}

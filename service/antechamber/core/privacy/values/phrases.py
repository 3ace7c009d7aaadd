"""Passphrases: values that consist of words, numbers and groups of both, joined by hyphens, points or blanks."""

import re
from typing import Final

from antechamber.core.privacy.values.words import NO_PHRASE, PROSE, TECHNICAL

_PHRASE_WORDS: Final = 4
_PHRASE_JOINT: Final = re.compile("[-_ .]")
_TRIPLE: Final = 3
_LEAST_TRIPLE: Final = 4
"""Letters of a word of such a phrase."""
_PARTS_OF_NAMES: Final = frozenset(
    """
    account agent alert auth backend backup batch bucket build cache client cloud codec common core cron custom data
    database deploy deployment docker engine event file filter frontend gateway generic global group handler head health
    home image index infra internal item json kafka kube ldap level list local main manager media memory metrics mail
    mobile model monitor name network node note operator page parser path pipeline plugin pool proxy queue reader
    record release remote report request response result review router runner sample schema script search shop site
    size source stack static status storage store stream sync system table target task team template text tool type
    upload vault view volume watch webhook worker workflow workspace writer yaml zone field match current existing
    confirm repeat length check checker strength policy rule rules prompt screen link mail expiry
    """.split()  # noqa: SIM905 -- a list would take a line for each word
)
"""Words of which names of files, machines and settings consist."""
_LEAST_JOINTS: Final = 2
_LEAST_WORDS: Final = 2
_MOST_WORDS: Final = 8
_LONGEST_WORD: Final = 9
_LEAST_SPACED: Final = 3
_MOST_SPACED: Final = 5
_SHORTEST_WORD: Final = 3
_LONG_NUMBER: Final = 4
_MESSAGE: Final = re.compile(
    r"\b(?:pass\w*|phrases?|keys?|decrypt\w*|enter|errors?|failed|wrong|invalid|incorrect|bad|try|again|please|could|cannot"
    r"|not|mismatch|required|requires?|denied|unlock|open|file|your|eingeben|falsch\w*|fehler|ung[üu]ltig\w*|bitte|nicht"
    r"|saisi\w*|incorrecte?|erreur|invalide|veuillez|incorrect[oa]|inválid[oa]|introduzca|por favor)\b"
    "|パス|違い|エラー|入力|してください|ません|失敗|错误|不正确|请|输入|失败|密码|口令",
    re.IGNORECASE,
)
"""Words of messages on a passphrase, which are in quotation marks too."""
_LINKING: Final = frozenset({"of", "to", "the", "in", "by", "and", "on", "per", "a", "an", "for", "at", "is"})
"""Words of compounds, such as `state-of-the-art`, that passphrases seldom have."""
_COUNTED: Final = re.compile("[A-Za-z]{2,12}(?:[_-][A-Za-z]{2,12}){1,6}[_-]?[0-9]{3,6}")
_OF_TERMS: Final = frozenset(
    """
    aes case cbc chacha code col ecdsa err error errors gcm hash hmac id issue line md number page pbkdf port row rsa
    scrypt section sha shake sig status step task ticket utf version
    """.split()  # noqa: SIM905 -- a list would take a line for each word
)
"""Words that a number follows in technical terms, such as `aes-256`, `error_code_401` and `issue-1234`."""
_ENDS_WITH_NUMBER: Final = re.compile("[a-z][-_. ][0-9]{2,4}$")


def is_phrase(value: str) -> bool:
    """Return whether a value is a passphrase of plain words, and not a sentence or a name of code."""
    words = _PHRASE_JOINT.split(value)
    return len(words) >= _PHRASE_WORDS and all(map(str.islower, filter(str.isalpha, words))) and _are_words(words)


def is_spoken_phrase(value: str) -> bool:
    """Return whether words that follow the name of a passphrase are one, and no sentence about it."""
    words = value.lower().split(" ")
    return len(set(words)) == len(words) and not any(word in NO_PHRASE or word in PROSE for word in words)


def is_quoted_phrase(value: str) -> bool:
    """Return whether words in quotation marks are a passphrase, and no message, question or name of a field."""
    return _MESSAGE.search(value) is None and value == value.strip() and not value.isupper()


def is_hyphenated(value: str) -> bool:
    """Return whether a value is four words or more joined by hyphens, as in `copper-violin-meadow-thunder`."""
    words = value.split("-")
    return (
        _PHRASE_WORDS <= len(words) <= _MOST_WORDS
        and value.islower()
        and all(word.isalpha() and len(word) <= _LONGEST_WORD for word in words)
        and len(set(words)) == len(words)
        and _are_words(words)
    )


def is_triple(value: str) -> bool:
    """Return whether a value is three everyday words with hyphens, where its place says that it is secret."""
    words = value.split("-")
    return (
        len(words) == _TRIPLE
        and value.islower()
        and all(word.isalpha() and _LEAST_TRIPLE <= len(word) <= _LONGEST_WORD for word in words)
        and len(set(words)) == _TRIPLE
        and _are_words(words)
        and _PARTS_OF_NAMES.isdisjoint(words)
    )


def is_compound(value: str) -> bool:
    """Return whether a value is words joined by hyphens, one of which links others, as in `state-of-the-art`."""
    first, *others = value.split("-")
    return not _LINKING.isdisjoint(others) and all(word.isalpha() and word.islower() for word in (first, *others))


def is_numbered(value: str) -> bool:
    """Return whether a value is words and then a number, as in `mapleRiver_83` and `maple-river-lake-7`."""
    *words, number = _PHRASE_JOINT.split(value.replace("+", "-"))
    return any(map(str.isalpha, words)) and number.isdecimal() and _are_words(words)


def is_counted(value: str) -> bool:
    """Return whether a value is words of any kind and a long number, as in `db_secret_417`."""
    return _COUNTED.fullmatch(value) is not None and _OF_TERMS.isdisjoint(re.split("[_-]|[0-9]+", value.lower()))


def _are_words(words: list[str]) -> bool:
    """Return whether all are plain words or numbers: none is a technical term or links the words of a sentence."""
    return all(
        word.isascii()
        and (word.isdecimal() or (word.isalpha() and len(word) >= _SHORTEST_WORD and word.lower() not in NO_PHRASE))
        for word in words
    )


def is_long_phrase(value: str) -> bool:
    """Return whether a value is a passphrase that does not occur in prose: several words and a number."""
    parts = len(_PHRASE_JOINT.split(value))
    return (
        (is_numbered(value) or _is_phrase_with_number(value))
        and (parts >= _PHRASE_WORDS or value != value.lower() or _has_several_joints(value))
    ) or (is_grouped(value) and (parts >= _PHRASE_WORDS or _are_unusual(_PHRASE_JOINT.split(value))))


def _has_several_joints(value: str) -> bool:
    """Return whether different signs join the words and the number of a value, as in `maple-river_83`."""
    return len(set(_PHRASE_JOINT.findall(value))) > 1 and _ENDS_WITH_NUMBER.search(value) is not None


def _is_phrase_with_number(value: str) -> bool:
    """Return whether a value is words with a long number among them, as in `willow-cobalt-5946-juniper`."""
    return is_phrase(value) and any(len(part) >= _LONG_NUMBER for part in value.split("-") if part.isdecimal())


def is_spaced(value: str) -> bool:
    """Return whether a value is several words or groups with a digit and a capital or sign, and no sentence."""
    groups = value.split(" ")
    return (
        _LEAST_SPACED <= len(groups) <= _MOST_SPACED
        and any(map(str.isdecimal, value))
        and any(map(str.isalpha, value))
        and not value.replace(" ", "").islower()
        and not any(group.lower() in NO_PHRASE or TECHNICAL.fullmatch(group) for group in groups if group.isalpha())
        and not value.endswith((".", "!", "?", ":"))
    )


def _are_unusual(groups: list[str]) -> bool:
    """Return whether several groups are words, none of them technical, as in `Kestrel-94-moss`."""
    words = [group for group in groups if group.isalpha()]
    return len(words) >= _LEAST_WORDS and all(
        len(word) >= _SHORTEST_WORD and word.lower() not in NO_PHRASE and not TECHNICAL.fullmatch(word)
        for word in words
    )


def is_grouped(value: str) -> bool:
    """Return whether a value is several groups with letters of both cases and digits, all joined by the same sign."""
    joint = next((sign for sign in "-_." if sign in value), "-")
    return (
        value.count(joint) >= _LEAST_JOINTS
        and value.replace(joint, "").isalnum()
        and any(map(str.isupper, value))
        and any(map(str.islower, value))
        and any(map(str.isdecimal, value))
    )

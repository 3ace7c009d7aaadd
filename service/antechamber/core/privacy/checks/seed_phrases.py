"""The search for seed phrases of wallets: 12 to 24 words of one list with a valid checksum (BIP 39)."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import groupby
from operator import or_
from typing import Final
from unicodedata import normalize

from mnemonic import Mnemonic

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.effort import Effort

_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f\u3099\u309a])+")
_LENGTHS: Final = (24, 21, 18, 15, 12)
_SHORTEST: Final = 12
_ENOUGH: Final = bytes([True]) * _SHORTEST
_LETTERS: Final = bytes(code if bytes([code]).isalpha() else 32 for code in range(256))
"""Maps a byte that is no ASCII letter to a blank: splitting takes a tenth of the time of a search for words."""
_LOWERED: Final = _LETTERS.lower()
_UNDIVIDED: Final = _LOWERED[:128] + bytes(range(128, 256))
"""The same, but bytes beyond ASCII stay."""
_ASCII: Final = bytes(range(128))
_KINDS: Final = bytes.maketrans(b"\0\1", b"\2\0")
"""Maps whether a word is ASCII to its kind, which is 2 beyond ASCII; that of a word of the lists is 1, of others 0."""
_ROW_BEYOND: Final = re.compile(rb"\x01*\x02[\x01\x02]*")
"""A row of kinds of words that may belong to a phrase, one of them beyond ASCII."""
_SPELLED: Final = 3
"""Letters of a word up to which the first look compares it with the lists: they lack most of the commonest words."""
_WORD_BITS: Final = 11
_CHECKSUM_SHARE: Final = 33
"""One bit in this many is part of the checksum."""
_FARTHEST: Final = 8
"""Characters between two words of a phrase: white space, commas, numbers of a list."""
_LANGUAGES: Final = (
    "english", "french", "spanish", "italian", "portuguese", "czech", "japanese", "korean",
    "chinese_simplified", "chinese_traditional",
)  # fmt: skip
_WORDS: Final = 3
"""Binary logarithm of the number of words in a row that count as one unit of effort."""
Word = tuple[int, int, str]
"""Start, end and text of a word."""


def find_seed_phrases(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of seed phrases.

    Raises EffortSpentError if a text has too many runs of words that could be one.
    """
    for run in _runs(text):
        found: list[tuple[int, int]] = []
        for language in _LANGUAGES:
            found = found or list(_find_in(run, _numbers(language), effort))
        yield from found


def _find_in(run: list[Word], numbers: dict[str, int], effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of the phrases of one language in a run of words of all languages."""
    for is_known, words in groupby(run, key=lambda word: word[2] in numbers):
        if is_known:
            yield from _phrases(list(words), numbers, effort)


def _runs(text: str) -> Iterator[list[Word]]:
    """Yield the runs of neighboring words of the lists that are long enough for a phrase."""
    known = _known()
    lower = text.lower()
    if text.isascii():
        words = lower.encode().translate(_LETTERS).decode().split()
    else:
        words = _WORD.findall(normalize("NFKD", lower))
    # Few texts have this many words of the lists in a row; only these are worth the places of their words.
    if _ENOUGH not in bytes(map(known.__contains__, words)):
        return
    run: list[Word] = []
    for match, word in _words_in(text, words):
        if run and (word not in known or match.start() - run[-1][1] > _FARTHEST):
            if len(run) >= _SHORTEST:
                yield run
            run = []
        if word in known:
            run.append((*match.span(), word))
    if len(run) >= _SHORTEST:
        yield run


def _words_in(text: str, words: list[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the words of a text with their places; those of a text in ASCII are known already."""
    found = _WORD.finditer(text)
    if text.isascii():
        return zip(found, words, strict=True)
    return ((match, normalize("NFKD", match[0].lower())) for match in found)


def _phrases(run: list[Word], numbers: dict[str, int], effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of the phrases with a valid checksum in a run; the longest at each place, without overlaps."""
    start = 0
    row = [numbers[word] for _, _, word in run]
    effort.spend(len(run) >> _WORDS)
    # A text that repeats itself has few different rows of words, and each is verified once.
    tested: set[tuple[int, ...]] = set()
    while start + _SHORTEST <= len(run):
        indexes = tuple(row[start : start + _LENGTHS[0]])
        if indexes in tested:
            start += 1
            continue
        tested.add(indexes)
        effort.spend(len(_LENGTHS))
        size = next((size for size in _LENGTHS if size <= len(indexes) and _is_valid(indexes[:size])), 0)
        if size:
            yield run[start][0], run[start + size - 1][1]
        start += size or 1


def _is_valid(indexes: tuple[int, ...]) -> bool:
    """Return whether the last bits of the numbers of words are the checksum of the bits before."""
    bits = len(indexes) * _WORD_BITS
    checksum_bits = bits // _CHECKSUM_SHARE
    number = 0
    for index in indexes:
        number = number << _WORD_BITS | index
    seed = (number >> checksum_bits).to_bytes((bits - checksum_bits) // 8, "big")
    return sha256(seed).digest()[0] >> (8 - checksum_bits) == number & ((1 << checksum_bits) - 1)


@cache
def _numbers(language: str) -> dict[str, int]:
    """Return the numbers of the words of a list."""
    return {normalize("NFKD", word): index for index, word in enumerate(Mnemonic(language).wordlist)}


@cache
def _known() -> frozenset[str]:
    """Return the words of all lists."""
    return frozenset(word for language in _LANGUAGES for word in _numbers(language))


@cache
def _known_in_ascii() -> frozenset[bytes]:
    """Return the words of all lists that have no signs beyond ASCII."""
    return frozenset(word.encode() for word in _known() if word.isascii())


@cache
def _row() -> Callable[[bytes], list[int]]:
    """Return the search for as many words in a row as a phrase has, each as long as a word of the lists in ASCII."""
    known = sorted(word.decode() for word in _known_in_ascii())
    short = "|".join(word for word in known if len(word) <= _SPELLED)
    word = f"(?:[A-Za-z]{{{_SPELLED + 1},{max(map(len, known))}}}|(?i:{short}))"
    return compile_set(f"(?:^|[^A-Za-z]){word}(?:[^A-Za-z]{{1,{_FARTHEST}}}{word}){{{_SHORTEST - 1}}}(?:[^A-Za-z]|$)")


def may_have_seed_phrase(data: bytes) -> bool:
    """Return quickly whether a text (UTF-8) may have a seed phrase, which few texts have the words for."""
    is_known = _known_in_ascii().__contains__
    if data.isascii() or _WORD.search(data.translate(None, _ASCII).decode()) is None:
        return bool(_row()(data)) and _ENOUGH in bytes(map(is_known, data.translate(_LOWERED).split()))
    words = data.translate(_UNDIVIDED).split()
    kinds = bytes(map(or_, map(is_known, words), bytes(map(bytes.isascii, words)).translate(_KINDS)))
    return _ENOUGH in kinds or any(
        sum(map(_count_possible, words[run.start() : run.end()])) >= _SHORTEST for run in _ROW_BEYOND.finditer(kinds)
    )


def _count_possible(word: bytes) -> int:
    """Return the maximum number of words of a phrase in what is between two signs of ASCII, if it is no other word.

    A character beyond ASCII, of two bytes or more, may be a word or divide words.
    """
    return 1 if word.isascii() else len(word.translate(None, _ASCII)) // 2 + 1


def has_seed_words(value: str) -> bool:
    """Return whether all words are of one list, whatever their checksum."""
    words = value.replace(",", " ").split()
    return any(all(word in _numbers(language) for word in words) for language in _LANGUAGES)


CHECKS: Final[dict[str, Callable[[str], bool]]] = {"seed-words": has_seed_words}
LOOKS: Final[dict[str, Callable[[bytes], bool]]] = {"seed-phrases": may_have_seed_phrase}
SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"seed-phrases": find_seed_phrases}

"""Hostile prose: requests that work against the user, recognized by the words that such texts have together.

A linear model gives each word, each beginning of a word and each pair of words (neighbors, or with one word between) a
weight, which `scripts/train_hostile` finds from labelled texts. The sum over a passage of some forty words, divided by
the root of its length, decides. A pattern finds the phrase that it was written for; the model finds requests in other
words too.

The weights are hashed (feature hashing, Weinberger et al. 2009): a feature has no name in the model, only a place.
"""

import re
import struct
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import inf, sqrt
from typing import Final
from zlib import crc32

from antechamber.core.privacy.effort import Effort

PLACES: Final = 1 << 17
"""Weights of a model."""
_MASK: Final = PLACES - 1
_HEAD: Final = struct.Struct("<2f16s")
"""What a model begins with: its bias, the factor of its weights, and a digest of the texts that it was made from."""
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts without blanks between words; each of their signs counts as a word."""
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['\u2019][^\W\d_{_UNSPACED}]+)?|[^\w\s*`~#|>\\-]")
"""A word or a sign; signs of layout are none, so that a text has the same tokens with and without it."""
_BEGINNINGS: Final = (4, 5, 6, 7)
"""Characters of the beginnings that words with the same stem share."""
_ALIKE: Final = str.maketrans("123456789\u2019", "000000000'")
"""Characters that are the same to the model."""
_STOP: Final = re.compile(r"[.;:!?\u061f](?!\w)|[\u3002\uff01\uff1a\uff1b\uff1f]")
"""A sign at the end of a sentence, or of a large part of one; a period in a file name is none."""
_PASSAGE: Final = 40
"""Tokens of a passage; each begins in the middle of the one before."""
_SHORTEST: Final = 24
"""Tokens that a shorter passage counts as, so that two words decide nothing."""
_KNOWN: Final = 1 << 13
"""Tokens whose weights are kept."""
_LENGTH: Final = 8
"""Binary logarithm of the characters that count as one unit of effort."""


Passage = tuple[int, int, float]
"""Neighboring tokens of a text, by their indexes (end exclusive), and their score; above 0 they are hostile."""


class Model:
    """The weights by the places of features, in some unit, and the bias."""

    def __init__(self, weights: Sequence[float], bias: float, unit: float = 1.0) -> None:
        self._weights = weights
        self._bias = bias
        self._unit = unit
        self.weight = lru_cache(maxsize=_KNOWN)(self._weight)
        """Returns the weight of a token alone, its beginnings included, in the model's unit."""

    def passages(self, tokens: Sequence[str]) -> Iterator[Passage]:
        """Yield the passages of a text, given as its tokens, with their scores; what comes twice counts once."""
        weight_of = self._weights.__getitem__
        near, far = pairs_of(tokens)
        for start, end in passages_of(tokens):
            words = sum(map(self.weight, set(tokens[start:end])))
            pairs = sum(map(weight_of, {*near[start:end], *far[start:end]}))
            yield start, end, (words + pairs) * self._unit / length_of(end - start) + self._bias

    def heaviest(self, tokens: Sequence[str], ends: Container[int]) -> tuple[int, int]:
        """Return the sentences of a passage that make it hostile, by the indexes of their first and last token.

        They are the neighbors with the greatest sum (Kadane's algorithm), after each token has borne its share of the
        bias. `ends` has the indexes of the tokens that end a sentence.
        """
        share = self._bias / self._unit * length_of(len(tokens)) / len(tokens)
        weights = [
            self.weight(token) + self._weights[near] + self._weights[far] + share
            for token, near, far in zip(tokens, *pairs_of(tokens), strict=True)
        ]
        best, first, total, start = (-inf, 0, 0), 0, 0.0, 0
        for index in range(len(tokens)):
            if index in ends or index == len(tokens) - 1:
                if total < 0:
                    first, total = start, 0.0
                total += sum(weights[start : index + 1])
                best = max(best, (total, first, index))
                start = index + 1
        return best[1], best[2]

    def _weight(self, token: str) -> float:
        return sum(map(self._weights.__getitem__, places_of(token)))


def find_hostile_prose(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of hostile prose, each the sentences of a passage that weigh most.

    Raises EffortSpentError if the text is too long.
    """
    effort.spend(len(text) >> _LENGTH)
    model, tokens = shipped_model(), tokens_of(text)
    hostile = [(start, end) for start, end, score in model.passages(tokens) if score > 0]
    if not hostile:
        return
    spans, place = [*map(re.Match.span, _TOKEN.finditer(text))], 0
    for start, end in hostile:
        if start >= place:
            stops = {index - start for index in range(start, end) if _STOP.match(text, spans[index][0])}
            first, last = model.heaviest(tokens[start:end], stops)
            yield spans[start + first][0], spans[start + last][1]
            place = end


def tokens_of(text: str) -> list[str]:
    """Return the words and signs of a text without case; each digit is a 0."""
    return [*map(str.lower, _TOKEN.findall(text.translate(_ALIKE)))]


def places_of(token: str) -> list[int]:
    """Return the places of a token and of its beginnings."""
    features = [token]
    if len(token) > _BEGINNINGS[0] and token.isalpha():
        features += [f"{token[:size]}*" for size in _BEGINNINGS if len(token) > size]
    return [_place(feature) for feature in features]


def pairs_of(tokens: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return for each token the places of its pairs: with the next token, and with the one after that."""
    texts = {token: token.encode(errors="replace") for token in {*tokens, ""}}
    # The checksum of a pair goes on from that of its first token.
    near, far = ({token: crc32(text + sign) for token, text in texts.items()} for sign in (b" ", b" _ "))
    known = [*map(texts.__getitem__, tokens), b"", b""]
    return (
        [*map(_MASK.__and__, map(crc32, known[1:-1], map(near.__getitem__, tokens)))],
        [*map(_MASK.__and__, map(crc32, known[2:], map(far.__getitem__, tokens)))],
    )


def passages_of(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Return the passages of a text, as indexes of tokens (end exclusive)."""
    step = _PASSAGE // 2
    # The last passage has what would be too little for one more.
    number = max(1, len(tokens) // step - 1)
    ends = (*range(_PASSAGE, _PASSAGE + (number - 1) * step, step), len(tokens))
    return zip(range(0, number * step, step), ends, strict=True)


def length_of(tokens: int) -> float:
    """Return the divisor of the sum of that many tokens."""
    return sqrt(max(tokens, _SHORTEST))


def write_model(weights: Iterable[float], bias: float, source: bytes) -> bytes:
    """Return a model in its stored form: the weights as bytes, in units of a 127th of the largest one.

    `source` is a digest of 16 bytes of what the model was made from.
    """
    listed = list(weights)
    unit = max(map(abs, listed)) / 127
    return _HEAD.pack(bias, unit, source) + array("b", (round(weight / unit) for weight in listed)).tobytes()


def source_of(stored: bytes) -> bytes:
    """Return the digest of what a model in its stored form was made from."""
    digest: bytes = _HEAD.unpack_from(stored)[2]
    return digest


def read_model(stored: bytes) -> Model:
    """Return a model of its stored form.

    Raises ValueError if it has another size.
    """
    if len(stored) != _HEAD.size + PLACES:
        message = f"a model has {_HEAD.size + PLACES} bytes, not {len(stored)}"
        raise ValueError(message)
    bias, unit, _ = _HEAD.unpack_from(stored)
    return Model(array("b", stored[_HEAD.size :]), bias, unit)


@cache
def shipped_model() -> Model:
    """Return the model that is part of this package."""
    return read_model(files(__package__).joinpath("hostile_prose.model").read_bytes())


def _place(feature: str) -> int:
    return crc32(feature.encode(errors="replace")) & _MASK


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"hostile-prose": find_hostile_prose}

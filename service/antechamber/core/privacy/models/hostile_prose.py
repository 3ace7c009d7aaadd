"""Hostile prose: requests that work against the user, recognized by the words that such texts have together.

A linear model gives each word, each beginning of a word and each pair of words (neighbors, or with one word between) a
weight, which `scripts/train_hostile` finds from labelled texts. The sum over a passage of some forty words, divided by
the root of its length, decides. A pattern finds the phrase that it was written for; the model finds requests in other
words too.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, compress, pairwise, repeat, zip_longest
from math import inf, sqrt
from operator import add, itemgetter, mul, sub
from typing import Final
from zlib import crc32

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.models.hashed_weights import LinearModel, place_of, read_shipped

PLACES: Final = 1 << 20
"""Weights of a model."""
_MASK: Final = PLACES - 1
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts without blanks between words; each of their signs counts as a word."""
_URL: Final = re.compile(r"\bhttps?://[A-Za-z0-9_./?=&%:@~+-]*[A-Za-z0-9_/=&%@~+-]")
_TOKEN: Final = re.compile(
    rf"{_URL.pattern}|[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['\u2019][^\W\d_{_UNSPACED}]+)?|[^\w\s*`~#|>\\-]"
)
"""A URL, a word or a sign; signs of layout are none, so that a text has the same tokens with and without it."""
_BEGINNINGS: Final = (4, 5, 6, 7)
"""Characters of the beginnings that words with the same stem share."""
_ALIKE: Final = str.maketrans("123456789\u2019", "000000000'")
"""Characters that are the same to the model."""
_STOPS: Final = frozenset(".;:!?\u061f\u3002\uff01\uff1a\uff1b\uff1f")
"""Signs at the end of a sentence, or of a large part of one."""
_LINE: Final = re.compile(r"^[ \t]*(?:(?:[-*+\u2022\u00b7][ \t]|[0-9]{1,3}[.)][ \t]|#|//|[|>]).*)?$", re.MULTILINE)
"""A blank line, an item of a list, a heading, a comment, a row of a table, or a quoted line; its ends divide a text."""
_PASSAGE: Final = 40
_STEP: Final = _PASSAGE // 2
"""Tokens of a passage, and between the beginnings of two."""
_SHORTEST: Final = 24
"""Tokens that a shorter passage counts as, so that two words decide nothing."""
_SHORTEST_PART: Final = 35
"""The same for sentences of a passage that are judged again: as the ones that weigh most, they seem worse."""
_DOUBT: Final = 1.0
"""How far below 0 the score of a passage is at most for its sentences to be judged again."""
_BORDER: Final = "\0"
"""The token between two texts of an event, in each of its views."""
_SHORTEST_TEXT: Final = 4
"""Tokens of the shortest text that is judged; two words and a sign decide nothing."""
_KNOWN: Final = 1 << 13
"""Tokens whose weights are kept."""
_LENGTH: Final = 8
"""Binary logarithm of the characters that count as one unit of effort."""


Passage = tuple[int, int, float]
"""Neighboring tokens of a text, by their indexes (end exclusive), and their score; above 0 they are hostile."""
Pairs = tuple[list[int], list[int]]
"""For each token the places of its pairs: with the next token, and with the one after that."""


class Model(LinearModel):
    """A linear model of prose."""

    def __init__(self, weights: Sequence[float], bias: float, unit: float = 1.0) -> None:
        super().__init__(weights, bias, unit)
        self._weight_at = weights.__getitem__
        self.weight = lru_cache(maxsize=_KNOWN)(self._weight)
        """Returns the weight of a token alone, its beginnings included, in the model's unit."""

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of hostile prose, each the sentences of a passage that weigh most.

        Harmless sentences around a request lower the score of its passage. So the sentences that weigh most are judged
        again where a passage is nearly hostile.
        """
        tokens = tokens_of(text)
        pairs = pairs_of(tokens)
        suspicious = [passage for passage in self.passages(tokens, pairs) if passage[2] > -_DOUBT]
        if not suspicious:
            return
        spans = [*map(re.Match.span, _TOKEN.finditer(text))]
        low, high = max(0, suspicious[0][0] - _STEP - 1), min(len(tokens), suspicious[-1][1] + _STEP + 1)
        bounds = bounds_of(text, tokens, spans, low, high)
        near, far = (map(self._weight_at, places) for places in pairs)
        sums = [0.0, *accumulate(map(add, map(self.weight, tokens), map(add, near, far)))]
        place = 0
        for start, end, score in suspicious:
            inner = bounds[bisect_right(bounds, start) : bisect_left(bounds, end)]
            first, last = self._heaviest(sums, [start, *inner, end])
            if score > 0 or self._score(tokens, pairs, first, last, _SHORTEST_PART) > 0:
                first, last = whole_sentences(first, last, bounds)
                if last > place:
                    yield spans[max(first, place)][0], spans[last - 1][1]
                    place = last

    def passages(self, tokens: Sequence[str], pairs: Pairs) -> list[Passage]:
        """Return the passages of texts, given as their tokens and pairs, with their scores."""
        return [(start, end, self._score(tokens, pairs, start, end)) for start, end in passages_of(tokens)]

    def _score(self, tokens: Sequence[str], pairs: Pairs, start: int, end: int, least: int = _SHORTEST) -> float:
        """Return the score of neighboring tokens, which count as `least` at least; what comes twice counts once."""
        both = sum(map(self._weight_at, {*pairs[0][start:end], *pairs[1][start:end]}))
        total = sum(map(self.weight, set(tokens[start:end])), both)
        return total * self._unit / length_of(end - start, least) + self._bias

    def _heaviest(self, sums: Sequence[float], bounds: Sequence[int]) -> tuple[int, int]:
        """Return the neighboring sentences of a passage with the greatest sum, by their tokens (end exclusive).

        `sums` are those of the weights of all tokens before each; `bounds` are the indexes where the sentences of the
        passage begin, and its end. Each token bears its share of the bias (Kadane's algorithm).
        """
        number = bounds[-1] - bounds[0]
        share = self._bias / self._unit * length_of(number) / number
        levels = [sums[bound] + share * bound for bound in bounds]
        best, lowest, first, last = -inf, 0, 0, 0
        for index, level in enumerate(levels[1:], 1):
            if level - levels[lowest] > best:
                best, first, last = level - levels[lowest], lowest, index
            if level <= levels[lowest]:
                lowest = index
        return bounds[first], bounds[last]

    def _weight(self, token: str) -> float:
        return sum(map(self._weight_at, places_of(token)))


def find_hostile_prose(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of hostile prose.

    Raises EffortSpentError if the text is too long.
    """
    effort.spend(len(text) >> _LENGTH)
    yield from shipped_model().find(text)


def bounds_of(text: str, tokens: Sequence[str], spans: Sequence[tuple[int, int]], low: int, high: int) -> list[int]:
    """Return the indexes of tokens where sentences and texts begin, from `low` up to `high`, which count as such too.

    `spans` are the tokens' own.
    """
    borders = [*compress(range(low, high), map(_BORDER.__eq__, tokens[low:high]))]
    bounds = {low, high, *borders, *map((1).__add__, borders)}
    for index in compress(range(low, high), map(_STOPS.__contains__, tokens[low:high])):
        if is_stop(text, *spans[index]):
            bounds.add(index + 1)
    # Items and comments often end without a sign, so that one of them would lower the score of the next.
    begins = [*map(itemgetter(0), spans)]
    lines = [*_LINE.finditer(text, spans[low][0], spans[high - 1][1])]
    for edge in (re.Match.start, re.Match.end):
        bounds.update(map(bisect_left, repeat(begins), map(edge, lines)))
    return sorted(bounds)


def is_stop(text: str, start: int, end: int) -> bool:
    """Return whether a sign at the end of sentences ends one; a period in a file name does not."""
    return text[start] >= "\u3000" or not text[end : end + 1].isalnum()


def whole_sentences(first: int, last: int, bounds: Sequence[int]) -> tuple[int, int]:
    """Return a part of a text with the rest of the sentences that a passage cuts, by its tokens (end exclusive).

    `bounds` are where sentences begin, and the end of the text; the rest of a very long sentence is left out.
    """
    begins, ends = bounds[bisect_right(bounds, first) - 1], bounds[bisect_left(bounds, last)]
    return begins if first - begins <= _STEP else first, ends if ends - last <= _STEP else last


def tokens_of(text: str) -> list[str]:
    """Return the words and signs of a text without case; each digit is a 0, and all URLs are the same."""
    return [*map(str.lower, _TOKEN.findall(_URL.sub("http ", text.translate(_ALIKE))))]


def places_of(token: str) -> list[int]:
    """Return the places of a token and of its beginnings."""
    features = [token]
    if len(token) > _BEGINNINGS[0] and token.isalpha():
        features += [f"{token[:size]}*" for size in _BEGINNINGS if len(token) > size]
    return [place_of(feature, PLACES) for feature in features]


def borders_of(tokens: Sequence[str]) -> list[int]:
    """Return the indexes of the borders between texts."""
    return [*compress(range(len(tokens)), map(_BORDER.__eq__, tokens))]


def pairs_of(tokens: Sequence[str]) -> Pairs:
    """Return the pairs of tokens; the last token of a text is in none, as those of the last text are."""
    texts = {token: token.encode(errors="replace") for token in {*tokens, ""}}
    texts[_BORDER] = b""
    # The checksum of a pair goes on from that of its first token.
    near, far = ({token: crc32(text + sign) for token, text in texts.items()} for sign in (b" ", b" _ "))
    following = [*map(texts.__getitem__, tokens[1:]), b"", b""]
    others = map(mul, following[1:], map(bool, following))
    return (
        [*map(_MASK.__and__, map(crc32, following, map(near.__getitem__, tokens)))],
        [*map(_MASK.__and__, map(crc32, others, map(far.__getitem__, tokens)))],
    )


def passages_of(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the passages of texts, as indexes of tokens (end exclusive).

    The texts of an event are judged one by one: in one passage, its other members would hide a short request.
    """
    borders = [-1, *borders_of(tokens), len(tokens)]
    sizes = map(sub, borders[1:], borders)
    for border, end in compress(pairwise(borders), map(_SHORTEST_TEXT.__lt__, sizes)):
        # The last passage has what would be too little for one more.
        starts = range(border + 1, border + 1 + max(1, (end - border - 1) // _STEP - 1) * _STEP, _STEP)
        yield from zip_longest(starts, range(starts[0] + _PASSAGE, starts[-1] + _PASSAGE, _STEP), fillvalue=end)


def length_of(tokens: int, least: int = _SHORTEST) -> float:
    """Return the divisor of the sum of that many tokens, `least` at least."""
    return sqrt(max(tokens, least))


@cache
def shipped_model() -> Model:
    """Return the model that is part of this package."""
    return Model(*read_shipped("hostile_prose.model", PLACES))


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"hostile-prose": find_hostile_prose}

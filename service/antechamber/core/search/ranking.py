"""Ranking: Okapi BM25 over the words of a question, in integers, so that both engines agree on every order.

Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2 and
b = 0.75. All statistics come from the scopes that are read and from no others. The statement `best_memories` computes
`contribution` in SQL; the weights come from here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

SCALE: Final = 1000
_GAIN: Final = 2200
"""k1 + 1 in thousandths."""
_WITHOUT_LENGTH: Final = 300
"""k1 times (1 - b) in thousandths."""
_BY_LENGTH: Final = 900
"""k1 times b in thousandths."""
_PRIOR: Final = 50
"""Memories that are added to those of the scopes, so that in small scopes a word does not lose all its weight."""
_WEAK_SHARE: Final = 250
"""Thousandths of its weight that a weak word keeps."""
_LEAST_SHARE: Final = 750
"""Thousandths of the heaviest known word that each known word counts for at least, when a match is checked."""
MIN_COVERAGE: Final = 400
"""Thousandths of a question that a memory must match at least; words that no memory has are part of the question."""


class Corpus(Struct, frozen=True):
    """Statistics of the scopes that are read together: their memories, and the occurrences of all terms in them."""

    memories: int
    length: int


class Form(Struct, frozen=True):
    """A term that a word of a question may match, and the thousandths of the word's weight that it counts for."""

    term: str
    share: int = SCALE


class QuestionWord(Struct, frozen=True):
    """One word of a question and the terms that it may match."""

    word: str
    forms: tuple[Form, ...]
    weak: bool = False


class WantedTerm(Struct, frozen=True):
    """A term to look up: for which word of the question, and what a match is worth."""

    term: str
    position: int
    """Index of the word in the question."""
    weight: int
    """Weight in the score."""
    cover: int
    """Part of `SearchPlan.least_cover` that a match provides."""
    leads: bool
    """Whether its memories are candidates; a memory that has none of the leading terms cannot be an answer."""


class SearchPlan(Struct, frozen=True):
    """What is looked up for a question, and what a memory must match to be an answer."""

    wanted: tuple[WantedTerm, ...]
    least_cover: int
    least_words: int
    corpus: Corpus


def rarity(corpus: Corpus, holders: int) -> int:
    """Return the inverse document frequency of a term that this many memories have, in thousandths.

    A term that no memory has is as rare as one that a single memory has.
    """
    holders = max(holders, 1)
    others = corpus.memories + _PRIOR - holders
    return round(SCALE * math.log1p((others + 0.5) / (holders + 0.5)))


def contribution(weight: int, frequency: int, length: int, corpus: Corpus) -> int:
    """Return what a term adds to the score of a memory that has it `frequency` times among `length` terms."""
    saturation = _WITHOUT_LENGTH + _BY_LENGTH * length * corpus.memories // corpus.length
    return weight * _GAIN * frequency // (SCALE * frequency + saturation)


def plan_search(
    words: Sequence[QuestionWord], corpus: Corpus, holders: Mapping[str, int], *, every_word: bool
) -> SearchPlan | None:
    """Return the plan for a question; None if no memory can answer it.

    `holders` is the number of memories that have each term. With `every_word`, a memory must match each word; otherwise
    at least MIN_COVERAGE of the question.
    """
    known = [max((holders.get(form.term, 0) for form in word.forms), default=0) for word in words]
    if not any(known) or (every_word and not all(known)):
        return None
    weights = _weights(words, corpus, known)
    # A frequent synonym does not make a rare word a smaller part of the question.
    own = [holders.get(word.forms[0].term, 0) or having for word, having in zip(words, known, strict=True)]
    covers = _covers(words, _weights(words, corpus, own), own)
    least = 0 if every_word else -(-MIN_COVERAGE * sum(covers) // SCALE)
    terms = [
        (form, position) for position, word in enumerate(words) for form in word.forms if holders.get(form.term, 0)
    ]
    if every_word:
        rarest = min(range(len(words)), key=lambda position: known[position])
        leading = {index for index, (_, position) in enumerate(terms) if position == rarest}
    else:
        leading = _leading([(holders[form.term], at, covers[at] * form.share // SCALE) for form, at in terms], least)
    wanted = tuple(
        WantedTerm(form.term, at, weights[at] * form.share // SCALE, covers[at] * form.share // SCALE, index in leading)
        for index, (form, at) in enumerate(terms)
    )
    return SearchPlan(wanted, least, len(words) if every_word else 1, corpus)


def _weights(words: Sequence[QuestionWord], corpus: Corpus, known: Sequence[int]) -> list[int]:
    """Return what each word weighs, by the number of memories that have it."""
    return [
        rarity(corpus, having) * (_WEAK_SHARE if word.weak else SCALE) // SCALE
        for word, having in zip(words, known, strict=True)
    ]


def _covers(words: Sequence[QuestionWord], weights: Sequence[int], known: Sequence[int]) -> list[int]:
    """Return what part of the question each word is.

    Known words differ less than their weights, so that of two known words each alone is a match.
    """
    strong = [having > 0 and not word.weak for word, having in zip(words, known, strict=True)]
    floor = max((weight for weight, one in zip(weights, strong, strict=True) if one), default=0) * _LEAST_SHARE // SCALE
    return [max(weight, floor) if one else weight for weight, one in zip(weights, strong, strict=True)]


def _leading(terms: Sequence[tuple[int, int, int]], least: int) -> set[int]:
    """Return the indexes of terms whose memories are candidates; terms are (holders, position, cover).

    The most frequent terms do not lead as long as a memory that has all of them and no other falls short of `least`.
    """
    left: dict[int, int] = {}
    leading: set[int] = set()
    for index in sorted(range(len(terms)), key=lambda index: -terms[index][0]):
        _, position, cover = terms[index]
        tried = left | {position: max(cover, left.get(position, 0))}
        if sum(tried.values()) < least:
            left = tried
        else:
            leading.add(index)
    return leading

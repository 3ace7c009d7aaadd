"""Questions: which terms each of their words may match, synonyms and typing errors included."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz.distance import OSA

from antechamber.core.search.ranking import Form, QuestionWord
from antechamber.core.search.stop_words import is_weak
from antechamber.core.search.synonyms import SHARE, synonyms_by_term
from antechamber.core.search.terms import names_of_question, terms_by_word, words_of_question

MIN_MISSPELLED: Final = 4
"""Characters of the shortest word that may hold a typing error."""
MAX_MISSPELLED: Final = 8
"""Maximum number of words of a question that are compared with the vocabulary."""
MAX_CORRECTIONS: Final = 8
"""Maximum number of terms that replace a word with a typing error: those that most memories have."""
_MISSPELLED_SHARE: Final = 800


class VocabularyWord(Struct, frozen=True, kw_only=True):
    """A word of a scope, its term, and the number of memories that have it."""

    word: str
    term: str
    memories: int


class NearWords(Struct, frozen=True):
    """A part of the vocabulary in which every word with one error at most is found: all words that begin or end so.

    One error is an insertion, a deletion, a replacement or an exchange of two neighbors. It leaves the beginning or the
    end of a word as it is: see `near_words`.
    """

    beginning: str
    end: str
    shortest: int
    longest: int


def read_question(text: str, *, synonyms: bool) -> list[QuestionWord]:
    """Return the words of a question, each with its own term and, if wanted, its synonyms.

    With synonyms, a name in camel case is a weak word beside its parts, so that texts with the name itself come first.
    """
    names = names_of_question(text) if synonyms else []
    terms = terms_by_word([*words_of_question(text), *names])
    others = synonyms_by_term() if synonyms else {}
    return [
        QuestionWord(
            word,
            (Form(term), *(Form(other, SHARE) for other in sorted(others.get(term, ())))),
            weak=is_weak(word) or word in names,
        )
        for word, term in terms.items()
    ]


def unknown_words(words: Sequence[QuestionWord], known: Iterable[str]) -> list[QuestionWord]:
    """Return the words that match no known term and may hold a typing error; numbers never do."""
    terms = set(known)
    return [
        word
        for word in words
        if len(word.word) >= MIN_MISSPELLED
        and word.word.isalpha()
        and not any(form.term in terms for form in word.forms)
    ][:MAX_MISSPELLED]


def near_words(word: str) -> NearWords:
    """Return where to look for words with one error.

    An error in the second half leaves all but the last letter of the first half as it is, one in the first half the
    second half; an exchange across the middle changes the last letter of the first half.
    """
    middle = len(word) // 2
    return NearWords(word[: middle - 1], word[middle:], len(word) - 1, len(word) + 1)


def with_corrections(word: QuestionWord, vocabulary: Iterable[VocabularyWord]) -> QuestionWord:
    """Return a word that also matches the terms of the words that differ from it by one error."""
    holders: Counter[str] = Counter()
    for other in vocabulary:
        if OSA.distance(word.word, other.word, score_cutoff=1) == 1:
            holders[other.term] += other.memories
    terms = sorted(holders, key=lambda term: (-holders[term], term))[:MAX_CORRECTIONS]
    return replace(word, forms=(*word.forms, *(Form(term, _MISSPELLED_SHARE) for term in terms)))

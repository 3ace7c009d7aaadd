"""Terms of texts: folded words without inflection, so that a question finds a text in other forms of its words.

Words are those of core.search_terms. A term is the Snowball stem of a word by the English rules; a word of another
language has a stem as well, the same in texts and questions, so at least equal words always match.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from antechamber.core.search.stop_words import STOP_WORDS
from antechamber.core.search_terms import all_words_of, words_of

_CAMEL: Final = re.compile(r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b")
_HUMP: Final = re.compile(r"[a-z0-9]+|[A-Z][a-z0-9]+")


class IndexedText(Struct, frozen=True):
    """What the index holds of one text."""

    frequencies: dict[str, int]
    """Number of occurrences of each term."""
    words: dict[str, str]
    """Each distinct word that has no stop word's form, with its term: the vocabulary that typing errors are compared
    with."""

    @property
    def length(self) -> int:
        """Number of occurrences of all terms."""
        return sum(self.frequencies.values())


# Numbers and names of texts come once each, and would fill a larger cache for hours with what is not asked for again.
@lru_cache(maxsize=1 << 13)
def term_of(word: str) -> str:
    """Return the term of a word."""
    # Imports the stemmers of thirty languages; most processes look for nothing.
    from snowballstemmer.english_stemmer import EnglishStemmer  # noqa: PLC0415

    # A stemmer keeps the word that it works on, so threads must not share one.
    return str(EnglishStemmer().stemWord(word)) or word


def terms_by_word(words: Iterable[str]) -> dict[str, str]:
    """Return the term of each word."""
    return {word: term_of(word) for word in words}


def index_text(payload: dict[str, Any]) -> IndexedText:
    """Return what the index holds of a memory's payload: terms of its content and tags, without stop words.

    The parts of a name such as `maxRetries` are words too.
    """
    content = str(payload["content"])
    parts = (" ".join(_HUMP.findall(name)) for name in _CAMEL.findall(content))
    found = all_words_of(" ".join((content, *payload.get("tags", []), *parts)))
    words = terms_by_word(dict.fromkeys(word for word in found if word not in STOP_WORDS))
    return IndexedText(dict(Counter(words[word] for word in found if word in words)), words)


def words_of_question(text: str) -> list[str]:
    """Return the distinct words of a question without stop words, in their order.

    A name such as `maxRetries` is divided, because each text that has it has its parts, too.
    """
    return [word for word in words_of(_CAMEL.sub(_divide, text)) if word not in STOP_WORDS]


def names_of_question(text: str) -> list[str]:
    """Return the folded names that `words_of_question` divides."""
    return words_of(" ".join(name for name in _CAMEL.findall(text) if _divide(name) != name))


def _divide(name: str | re.Match[str]) -> str:
    """Return the parts of a name, unless all of them are stop words."""
    whole = name if isinstance(name, str) else name[0]
    parts = _HUMP.findall(whole)
    return whole if STOP_WORDS.issuperset(map(str.lower, parts)) else " ".join(parts)

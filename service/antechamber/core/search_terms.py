"""Words of texts in a folded form, so that case and accents do not matter in any script.

Both engines store and match these words unchanged, so that a query has the same result on each.
"""

import re
import unicodedata
from typing import Final

from antechamber.core.admission.canonical import order_marks

MAX_TERM_CHARACTERS: Final = 255
"""Maximum number of significant characters of a word; PostgreSQL accepts at most 2,046 bytes."""
_OF_WORDS: Final = frozenset("LMN")
"""Unicode's general categories of the characters of words: letters, marks, numbers."""
_UNSPACED: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
"""Scripts without spaces between words: each of their characters is a word."""


def fold(text: str) -> str:
    """Return a text without marks and case: decomposed (NFKD), marks dropped, case folded."""
    bare = "".join(
        character
        for character in unicodedata.normalize("NFKD", order_marks(text))
        if unicodedata.category(character) != "Mn"
    )
    return unicodedata.normalize("NFKC", bare.casefold())


def all_words_of(text: str) -> list[str]:
    """Return the words of a text, folded, in their order, repeated as in the text.

    A word is a run of letters and digits; in scripts without spaces, it is a single character.
    """
    letters = "".join(character if unicodedata.category(character)[0] in _OF_WORDS else " " for character in fold(text))
    return [word[:MAX_TERM_CHARACTERS] for word in _UNSPACED.sub(r" \1 ", letters).split()]


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, folded, in the order of their first occurrence."""
    return list(dict.fromkeys(all_words_of(text)))

"""Words in disguise: letters of another alphabet or style, and digits and signs that pose as letters.

A word is in disguise if some of its letters pose as plain ones among plain ones. A word of only such letters may belong
to another language, so it is in disguise only if it then reads as a word that is worth disguising, or if the text has
several and no letter of that alphabet that does not pose.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.folding import fold

_POSING: Final = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0"
    "\u03bf\u03bd\u03c1\u03b9\u03ba\u03c5\u03b1\u03b3\u03c9"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)
"""Cyrillic and Greek letters that look like Latin ones (UTS 39, confusables)."""
_CHEROKEE: Final = re.compile("[\u13a0-\u13f5\uab70-\uabbf]")
"""Letters that look like Latin ones beside these; a word of only such letters is in their own language."""
_SMALL_CAPITALS: Final = frozenset(
    "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f\u1d0d"
    "\u0274\u1d0f\u1d18\ua7af\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22"
)
_STYLES: Final = ("MATHEMATICAL ", "CIRCLED LATIN ", "PARENTHESIZED LATIN ", "SQUARED LATIN ", "NEGATIVE ")
"""Beginnings of the names of styled letters."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}|[\u24b6-\u24e9\U0001f110-\U0001f189]{3,}")
_ALPHABET: Final = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_EAST_ASIAN: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAST_MIXED: Final = 4
"""Letters of the shortest mixed word; shorter ones are often symbols such as a Greek letter beside a Latin one."""
_SEVERAL: Final = 3
"""Words of posing letters only from which a text is suspicious."""
_CODED: Final = re.compile(
    r"(?<![\w.@/#$-])(?=[A-Za-z@$|!0-9]{0,19}[A-Za-z])[A-Za-z01345@$|!]{4,20}(?![\w@/#$-]|\.[0-9])"
)
"""A word of letters and of what poses as letters; other digits do not."""
_PLAIN: Final = str.maketrans("01345@$|!", "oieasasli")
_OTHER: Final = str.maketrans("1", "l")
"""The digit 1 poses as two letters."""
_WORDS: Final = (
    "access account address admin administrator amazon anthropic antechamber apple approve approved bank "
    "bypass chatgpt claude command credential credentials curl delete disable disregard download email "
    "execute facebook forget gemini github gitlab google ignore instruction instructions login microsoft "
    "openai override password passwords paypal policy previous private prompt prompts release "
    "restrictions reveal rules safety secret secrets security send slack stripe sudo system token tokens "
    "upload user verify wallet "
)
"""Words that are worth disguising in text for an AI reader, and names that are often imitated."""
_SAME: Final = frozenset(_WORDS.split())


def find_disguised_words(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of words whose letters are styled ones or letters of another alphabet that look Latin.

    Raises EffortSpentError if there are too many words of other alphabets.
    """
    foreign = any(sign not in _POSING for sign in _ALPHABET.findall(text))
    asian = _EAST_ASIAN.search(text) is not None
    posing: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        if not word[0].isascii():
            effort.spend()
            if _is_styled(word[0], asian=asian) or _is_mixed(word[0]) or fold(word[0]).lower() in _SAME:
                yield word.span()
            elif not foreign and len(word[0]) >= _LEAST_MIXED and all(sign in _POSING for sign in word[0]):
                posing.append(word.span())
    if len(posing) >= _SEVERAL:
        yield from posing


def _is_styled(word: str, *, asian: bool) -> bool:
    """Return whether each letter is a styled one; full-width letters are usual in East Asian text."""
    return all(_has_style(sign, asian=asian) for sign in word)


def _has_style(sign: str, *, asian: bool) -> bool:
    name = unicodedata.name(sign, "")
    return (
        sign in _SMALL_CAPITALS
        or (name.startswith(_STYLES) and not sign.isdigit())
        or (name.startswith("FULLWIDTH LATIN") and not asian)
    )


def _is_mixed(word: str) -> bool:
    """Return whether a word has letters that pose as Latin ones, and otherwise only Latin ones."""
    posing = sum(sign in _POSING or _CHEROKEE.match(sign) is not None for sign in word)
    plain = sum(sign.isascii() for sign in word)
    return posing > 0 and plain > 0 and posing + plain == len(word) >= _LEAST_MIXED


def find_coded_words(text: str, _effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of words in which digits, signs or a capital I pose as letters, such as `passw0rd`."""
    for word in _CODED.finditer(text):
        capital = not word[0].isupper() and "I" in word[0][1:]
        if capital or not word[0].isalpha():
            plain = word[0].replace("I", "l").lower() if capital else word[0].lower()
            if word[0].lower() not in _SAME and not _SAME.isdisjoint(
                {plain.translate(_PLAIN), plain.translate(_OTHER).translate(_PLAIN)}
            ):
                yield word.span()


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "disguised-words": find_disguised_words,
    "coded-words": find_coded_words,
}

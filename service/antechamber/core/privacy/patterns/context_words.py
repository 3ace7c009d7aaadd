"""Context words: how a word is written in prose, in names of code and without accents."""

import re
import unicodedata
from typing import Any, Final

import re2

from antechamber.core.privacy.automata import compile_pattern

_PARTS: Final = re.compile("[ _-]")
_LINKS: Final = re.compile("(?<=[ _-])(?:(?:d|l)['\u2019]|(?:de|di|do|da|del|du|of|the) )")
"""Small words that names of code leave out, as in `patente_guida`."""
_JOINTS: Final = (" ", "", "_", "-")
"""Signs between the parts of a word: `tax id`, `taxid` (which `taxId` is, without case), `tax_id` and `tax-id`."""
_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i", "þ": "th"}
)
"""Latin letters that Unicode does not decompose, and how people write them in ASCII."""
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_DOTTED: Final = "i\u0307"
"""The small letter of the Turkish capital one with a point, which no other case of it matches."""
_ABBREVIATED: Final = range(3, 5)
"""Letters of an abbreviation that is also written with periods, as in `D.N.I.`"""
_HUMP: Final = re.compile("(?<=[a-z])(?=[A-Z])")
"""Where a word begins in a name such as `employeeTfn`."""


def forms_of(word: str) -> frozenset[str]:
    """Return the forms of a context word in lower case, itself among them."""
    word = word.lower()
    plain = {form for form in (_ascii_of(word), _ascii_of(word.translate(_UMLAUTS))) if form.isascii()}
    short = {*plain, *(_LINKS.sub("", form) for form in plain)}
    joined = {joint.join(_PARTS.split(form)) for form in (*short, word) for joint in _JOINTS}
    dotted = {".".join(form) for form in plain if form.isalpha() and len(form) in _ABBREVIATED}
    return frozenset({word, word.replace(_DOTTED, "\u0130"), *plain, *joined, *dotted})


def context_pattern(words: tuple[str, ...]) -> Any:
    """Compile a pattern that matches a form of a word: in ASCII a whole word, else a substring."""
    forms = sorted({form for word in words for form in forms_of(word)})
    whole = [re2.escape(form) for form in forms if form.isascii()]
    parts = [re2.escape(form) for form in forms if not form.isascii()]
    if whole:
        parts.append(rf"(?:\A|[^0-9A-Za-z])(?:{'|'.join(whole)})(?:\z|[^0-9A-Za-z])")
    return compile_pattern(f"(?i:{'|'.join(parts)})")


def has_word(pattern: Any, text: str) -> bool:
    """Return whether a pattern of context words matches a text, in which names such as `employeeTfn` are two words."""
    found = pattern.search(text.encode(errors="replace"))
    return bool(found or ((parts := _HUMP.sub(" ", text)) != text and pattern.search(parts.encode(errors="replace"))))


def _ascii_of(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))

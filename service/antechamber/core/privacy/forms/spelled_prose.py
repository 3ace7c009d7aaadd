"""Prose that is spelled in another way: letters with a blank or a sign between them.

Only the rules for hostile text search these forms. A language model reads them as easily as plain text.
"""

import re
from collections.abc import Iterator
from typing import Final

from antechamber.core.privacy.edits import Edit, without_overlaps
from antechamber.core.privacy.forms.view import View, apply

_LETTER: Final = r"[^\W\d_]"
_BLANKS: Final = re.compile(rf"(?<!\S){_LETTER}(?:[ \t\u3000]{{1,4}}[^\s\0](?![^\s\0])){{9,}}")
"""Single characters with blanks between them; several blanks divide words."""
_SIGNS: Final = re.compile(
    rf"(?<!\w){_LETTER}([.\-_*·|~+]){_LETTER}(?:\1{_LETTER}){{0,24}}"
    rf"(?:[ \t]{{1,3}}{_LETTER}(?:\1{_LETTER}){{0,24}}){{2,}}(?!\w)"
)
"""Three words or more whose letters have the same sign between them; a bounded word keeps the search linear."""
_WORD_BORDER: Final = re.compile(r"[ \t]{2,}|\u3000{2,}")
_LEAST_LETTERS: Final = 8


def spelled_out(view: View) -> View | None:
    """Return a view with its prose as it is usually spelled; None if all of it is."""
    edits = list(without_overlaps(_find_spaced(view.text)))
    return View(apply(view.text, edits), view, edits, view.level + 1) if edits else None


def _find_spaced(text: str) -> Iterator[Edit]:
    for match in _BLANKS.finditer(text):
        words = ["".join(word.split()) for word in _WORD_BORDER.split(match[0])]
        if sum(map(str.isalpha, match[0])) >= _LEAST_LETTERS:
            yield Edit(match.start(), match.end(), " ".join(words), "spaced")
    for match in _SIGNS.finditer(text):
        yield Edit(match.start(), match.end(), match[0].replace(match[1], ""), "spaced")

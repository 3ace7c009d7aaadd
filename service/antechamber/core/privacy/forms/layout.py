"""Prose without its layout: the words that a reader reads on although line breaks, indents and emphasis divide them.

Rules for meaning have one blank between words. The same sentence may be wrapped, quoted, a comment of several lines,
indented, or have words in bold.
"""

import re
from typing import Final

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.forms.view import View, apply

_TAGS: Final = "a|abbr|b|big|br|code|del|div|em|font|i|ins|kbd|mark|p|q|s|small|span|strong|sub|sup|u|wbr"
"""Elements of HTML that occur within a sentence."""
_LAYOUT: Final = re.compile(
    # A line break within a paragraph, with the signs of quotations and comments before the next words.
    r"[ \t]*\r?\n[ \t]*(?:(?:>|//|#+|;+|\*|\||--|%)[ \t]*){0,4}(?=[^\s\0>])"
    r"|[ \t]{2,}|\t"
    # Signs of emphasis (CommonMark, section 6.2) before and after words.
    r"|(?<![\w*_`~])[*_`~]{1,3}(?=\w)|(?<=[\w.,;:!?)\]])[*_`~]{1,3}(?![\w*_`~])"
    rf"|</?(?:{_TAGS})(?:[ \t/][^<>\0]{{0,200}})?>",
    re.IGNORECASE,
)
_UNSPACED: Final = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
"""Signs of scripts without blanks between words."""


def without_layout(view: View) -> View | None:
    """Return a view without the layout of its prose; None if there is none."""
    text = view.text
    edits = [
        Edit(match.start(), match.end(), _between(text, match.start(), match.end()), "")
        for match in _LAYOUT.finditer(text)
    ]
    return View(apply(text, edits), view, edits, view.level) if edits else None


def _between(text: str, start: int, end: int) -> str:
    """Return what replaces layout: nothing for emphasis and within unspaced scripts, else a blank."""
    if text[start] in "*_`~<":
        return ""
    unspaced = start > 0 and end < len(text) and _UNSPACED.match(text[start - 1]) and _UNSPACED.match(text[end])
    return "" if unspaced else " "

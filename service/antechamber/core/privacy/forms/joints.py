"""Joints: what interrupts a value that a reader sees in one piece, such as line breaks, markup and quotation marks."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Final

from antechamber.core.privacy.edits import LOOSE, MOST_EDITS, SIGN, Edit, without_overlaps
from antechamber.core.privacy.effort import EffortSpentError
from antechamber.core.privacy.forms.splits import may_be_random
from antechamber.core.privacy.values.bounds import changes_often

_PREFIX: Final = (
    r"(?:gh[a-z]_|github_pat_|gl[a-z]{2,5}-|x[a-z]{3}-|sk-(?:[a-z]{2,8}-)?|[prs]k_(?:live_|test_)?|whsec_|hf_|npm_|pypi-"
    r"|do[a-z]_v1_|shp[a-z]{2,3}_|A(?:KIA|SIA|Iza)|SG\.|ya29\.|eyJ)"
)
"""What tokens begin with; lists of these are no tokens."""
_JOINTS: Final = re.compile(
    r"[\"'`](?<=[!-~][\"'`])(?:(?P<concatenated>(?:"
    r"[ \t]*\\?(?:\r?\n[ \t]*)?(?:\|\||\.\.|<<|[+.&~])[ \t]*[\\_]?(?:\r?\n[ \t]*)?"
    r"|(?<=\")[ \t]*\\?\r?\n[ \t]*(?=\"[^\"])|(?<=')[ \t]*\\?\r?\n[ \t]*(?='[^'])"
    r"|[ \t]*(?:;[ \t]*)?\r?\n[ \t]*[$@]?[A-Za-z_][\w.]{0,40}[ \t]*(?:\+=|\.=|<<|&=)[ \t]*"
    r"|[ \t]*\)[ \t]*;?[ \t]*(?:\r?\n[ \t]*[A-Za-z_]{0,40})?\.(?:append|concat|add|push|write|put)\([ \t]*"
    r")[\"'`](?=[!-~]))"
    rf"|(?<={SIGN}[\"'`])(?P<listed>,?[ \t]*\\?(?:\r?\n[ \t]*(?:-[ \t]{{1,4}})?)?[\"'`]"
    rf"(?={SIGN})(?!{_PREFIX}[\"'`])(?!sha[0-9]{{3}}-)(?![\w.-]{{1,40}}[\"']\s?:)))"
)
"""Quotation marks with an operator between them, without one on two lines, or with a statement that appends.

A value and the name of the next member are no parts of one value.
"""
_WRAPS: Final = re.compile(
    r"\n(?<=[0-9A-Za-z_+/=.~ \t\\\r\u21a9\u21b5-]\n)(?:[ \t]*(?://|--|;)[ \t]|[ \t>|*#]*)"
    rf"(?={SIGN}{{4}}|[0-9A-Za-z]{{1,3}}(?:\Z|[\s\"'`\\]))"
)
"""A line break and the signs behind it. Both patterns begin with a sign that is rare, so that the search is quick."""
MARKUP_TAG: Final = "/?(?:a|b|code|em|font|i|s|span|strong|u|wbr)(?: ?/)?"
"""An element of HTML that divides no words, without its brackets."""
_MARKUP: Final = re.compile(
    rf"[<*](?<={SIGN}{{4}}[<*])(?:(?<=<)(?:!--[^<>\n]{{0,40}}--|{MARKUP_TAG})>(?:<{MARKUP_TAG}>){{0,3}}|(?<=\*)\*)"
    rf"(?={SIGN}{{2}})"
)
"""A comment, elements or the mark of bold letters within a value; a reader sees the value without them."""
_BREAK: Final = re.compile("<wbr ?/?>")
"""The element that only allows a line break within a word."""
_BEFORE_WRAP: Final = " \t\\\r\u21a9\u21b5"
_CONTINUATION: Final = re.compile("(?<![ \\t])\\\\\\Z|[\u21a9\u21b5]")
"""The sign of a line that goes on; in a shell, a blank before the backslash divides arguments."""
_LINE_HEADS: Final = " \t>|*#/;-"
"""What formats put before each line."""
_LINE: Final = re.compile(r"\S+(?=[ \t\r]*(?:\n|\Z))")
"""A line without blanks."""
_MEMBER: Final = re.compile("[=:]")
_NARROWEST: Final = 8
"""Characters of the shortest line that is cut at a width."""
_AT_WRAP: Final = re.compile(rf"{SIGN}{{4}}")
_WORD_BEFORE: Final = re.compile(r"[ \t][A-Z]?[a-z]{1,15}\.?\Z")
_WORD_BEHIND: Final = re.compile(r"[A-Z]?[a-z]{1,15}[.,;:]?[ \t]")
_LONGEST_BEFORE: Final = 18
"""Characters of the longest match of the former."""
_RUN: Final = re.compile(rf"{SIGN}{{1,200}}")
_LONGEST_RUN: Final = 200
_SHORTEST: Final = 16
"""Characters of the shortest row of letters and signs that may be base64."""


def find_joints(text: str, *, quoted: bool) -> Iterator[Edit]:
    """Yield what interrupts a value: line breaks, markup, quotation marks with an operator.

    Quotation marks and markup are searched only if a text is `quoted`.

    Raises EffortSpentError if there are too many.
    """
    edits = _bounded(_find_wraps(text))
    if quoted:
        edits += _bounded(Edit(*match.span(), "", match.lastgroup or "") for match in _JOINTS.finditer(text))
        edits += _bounded(
            Edit(*match.span(), "", "continued" if _BREAK.fullmatch(match[0]) else "markup")
            for match in _MARKUP.finditer(text)
        )
    yield from without_overlaps(edits)


def _bounded(edits: Iterable[Edit]) -> list[Edit]:
    """Return some edits; more than a view may have are not even collected."""
    found = list(islice(edits, MOST_EDITS + 1))
    if len(found) > MOST_EDITS:
        raise EffortSpentError
    return found


def _find_wraps(text: str) -> Iterator[Edit]:
    """Yield the line breaks within a possible value, with the signs that a format puts around them.

    A line break between two plain words of a sentence, with further words on both lines, is not among them. A piece of
    a value that consists of letters only is alone on its line, or beside a piece with other signs.
    """
    for match in _WRAPS.finditer(text):
        start = match.start()
        while start > 0 and text[start - 1] in _BEFORE_WRAP:
            start -= 1
        is_joined = text[start : match.start()].startswith("\\")
        if (is_joined or _AT_WRAP.match(text, max(0, start - 4), start)) and not (
            _WORD_BEHIND.match(text, match.end()) and _WORD_BEFORE.search(text, max(0, start - _LONGEST_BEFORE), start)
        ):
            yield Edit(start, match.end(), "", "continued" if _is_continued(text, start, match) else "wrapped")


def _is_continued(text: str, start: int, wrap: re.Match[str]) -> bool:
    """Return whether a line surely goes on in the next one: a sign says so, or both are cut at the same width.

    A member of its own on the second line, such as `DEBUG=1`, does not belong to a value on the first one.
    """
    end = text[max(0, start - 1) : wrap.start()].rstrip("\r")
    if _CONTINUATION.search(end) is not None:
        return True
    first = text.rfind("\n", 0, start) + 1
    line = text[first:start].lstrip(_LINE_HEADS)
    follows = _LINE.match(text, wrap.end())
    if follows is None or (_MEMBER.search(follows[0]) and _MEMBER.search(line)):
        return False
    before = text[text.rfind("\n", 0, max(0, first - 1)) + 1 : max(0, first - 1)].strip(f"{_LINE_HEADS}\r")
    size = len(follows[0])
    return len(line) >= _NARROWEST and (size == len(line) or (size < len(line) == len(before)))


def without_words(text: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield edits without those that join by chance what is surely no token: words, without a digit among them.

    Edits with nothing but a piece of a token between them belong together.
    """
    chain: list[Edit] = []
    for edit in edits:
        if chain and _RUN.fullmatch(text, chain[-1].end, edit.start) is None:
            yield from _if_token(text, chain)
            chain = []
        chain.append(edit)
    yield from _if_token(text, chain)


def _if_token(text: str, chain: list[Edit]) -> list[Edit]:
    """Return edits that belong together, or none of them if they join words."""
    if not all(edit.decoder in LOOSE for edit in chain) or not chain:
        return chain
    start, end = chain[0].start, chain[-1].end
    before = _RUN.match(text[max(0, start - _LONGEST_RUN) : start][::-1])
    behind = _RUN.match(text, end)
    pieces = [text[one.end : other.start] for one, other in pairwise(chain)]
    token = "".join((before[0][::-1] if before else "", *pieces, behind[0] if behind else ""))
    is_encoded = len(token) >= _SHORTEST and (token.endswith("=") or changes_often(token))
    return chain if is_encoded or may_be_random(token) else []

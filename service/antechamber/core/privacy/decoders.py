"""Decoders: replace encoded parts of a text by what they mean, or remove what interrupts a value.

Each yields edits in ascending order, which do not overlap. A part that decodes to nothing readable is left alone.
"""

import html
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from antechamber.core.privacy.effort import EffortSpentError
from antechamber.core.privacy.selectors import SELECTORS, spell_selectors

MOST_EDITS: Final = 5_000
"""Edits of one view."""
SIGN: Final = "[0-9A-Za-z_+/=.~-]"
"""A sign of tokens."""
_TAG: Final = "\U000e0020-\U000e007e"
_NUMBER: Final = r"[0-9]{2}[0-9]*(?:ms|[smhd])?(?:[^0-9A-Za-z_=]|\Z)"
"""A number behind an equals sign in code, as in `timeout=30`, which is no escape."""
_BETWEEN: Final = "[!-<>-~]{0,3}"
"""Signs between two of the quoted-printable signs that show that what follows is no number."""


def _compile_escapes(quoted: str = "") -> re.Pattern[str]:
    """Return a pattern of each escape with its kind as a group, with or without rows of quoted-printable signs.

    It begins with a class, so that the search for a match is quick.
    """
    return re.compile(
        rf"[%\\&={_TAG}{SELECTORS}](?:"
        r"(?<=%)(?P<percent>[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*)|(?<=%)(?P<unicode>u[0-9A-Fa-f]{4}(?:%u[0-9A-Fa-f]{4})*)"
        r"|(?<=\\)(?:(?P<backslash>(?:u[0-9A-Fa-f]{4}|[ux]\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|0000[2-7][0-9A-Fa-f]|[0-3][0-7]{2})"
        r"(?:\\u[0-9A-Fa-f]{4}|\\[ux]\{[0-9A-Fa-f]{1,6}\}|\\U[0-9A-Fa-f]{8}|\\x[0-9A-Fa-f]{2}|\\0000[2-7][0-9A-Fa-f]|\\[0-3][0-7]{2})*)"
        r"|(?P<json>[\"'/\\nrt_.*=#+!~-]))"
        r"|(?<=&)(?P<entity>#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][0-9A-Za-z]{1,31};)"
        rf"{quoted}|(?<==)(?P<printable>\r?\n|(?!{_NUMBER})[0-9A-F]{{2}}(?:=[0-9A-F]{{2}})*)"
        rf"|(?<=[{_TAG}])(?P<tags>[{_TAG}]*)"
        rf"|(?<=[{SELECTORS}])(?P<selectors>[{SELECTORS}]{{3,}}))"
    )


_ESCAPES: Final = _compile_escapes(rf"|(?<==)(?P<quoted>[0-9A-F]{{2}}{_BETWEEN}(?:=[0-9A-F]{{2}}{_BETWEEN}){{3,}})")
_SINGLE_ESCAPES: Final = _compile_escapes()
_BACKSLASH: Final = re.compile(r"\\(?:[ux]\{([0-9A-Fa-f]+)\}|(?:[uUx]|0000(?=[2-7]))([0-9A-Fa-f]+)|([0-7]{3}))")
_JSON: Final = {"n": "\n", "r": "\n", "t": "\t"}
_MARK: Final = "\u0300-\u036f\u0483-\u0489\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
"""Combining marks that no text in ASCII needs; those of \u0300 to \u036f compose letters of many languages (NFC)."""
_DECOMPOSED: Final = re.compile(
    "[^\\s\u0300-\u036f\u20d0-\u20f0\u3099\u309a][\u0300-\u036f\u20d0-\u20f0\u3099\u309a]+"
    f"|[ -~][{_MARK}]+"
    "|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"
    "|\x1b\\[[0-9;]*[A-Za-z]"
)
"""A character with combining marks, a syllable of Hangul in its parts (Unicode, chapter 3.12), or a sequence for colors
of a terminal (ECMA-48)."""
_MARKS: Final = re.compile(f"[{_MARK}]")
_LATIN: Final = "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_ACCENTED: Final = re.compile(f"[{_LATIN}]")
_ACCENTED_RUN: Final = re.compile(f"[0-9A-Za-z_+/=.~{_LATIN}-]{{16,}}")
_AMONG_LETTERS: Final = re.compile(f"[A-Za-z{_LATIN}][0-9]+[A-Za-z{_LATIN}]")
_COMPOSING: Final = re.compile(f"[{_MARK}\u3099\u309a\u1161-\u1175\x1b]")
"""A character of each of these; a search for one class of characters is quick, and most texts have none."""
_OVERLAYS: Final = re.compile("[\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5-\u20eb]")
"""Marks that strike a character through."""
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
    rf"(?={SIGN}{{4}}|[0-9A-Za-z]{{1,3}}(?:\Z|[\s\"'`]))"
)
"""A line break and the signs behind it. Both patterns begin with a sign that is rare, so that the search is quick."""
MARKUP_TAG: Final = "/?(?:a|b|code|em|font|i|s|span|strong|u|wbr)(?: ?/)?"
"""An element of HTML that divides no words, without its brackets."""
_MARKUP: Final = re.compile(
    rf"[<*](?<={SIGN}{{4}}[<*])(?:(?<=<)(?:!--[^<>\n]{{0,40}}--|{MARKUP_TAG})>(?:<{MARKUP_TAG}>){{0,3}}|(?<=\*)\*)"
    rf"(?={SIGN}{{2}})"
)
"""A comment, elements or the mark of bold letters within a value; a reader sees the value without them."""
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
_SHORTEST_MESSAGE: Final = 12
"""Characters of a message in tags."""


LOOSE: Final = frozenset({"listed", "markup", "reversed-token", "rot13-token", "split", "wrapped"})
"""Decoders that join words by chance, or make words of others."""


class Edit(NamedTuple):
    """A part of a text, from `start` up to `end`, that a decoder replaces."""

    start: int
    end: int
    text: str
    decoder: str


Decoder = Callable[[str], Iterator[Edit]]


def find_compositions(text: str) -> Iterator[Edit]:
    """Yield what is one character in NFC but several in a text, signs with other marks, and sequences of terminals.

    In a text without these, letters with accents in values, of which a reader sees the letters.
    """
    if _COMPOSING.search(text):
        for match in _DECOMPOSED.finditer(text):
            plain = _compose(match[0])
            if plain != match[0]:
                yield Edit(match.start(), match.end(), plain, "folded")
    elif _ACCENTED.search(text):
        yield from _find_accents(text)


def _compose(signs: str) -> str:
    """Return a character with its marks as one, or without those that it cannot have; nothing of a terminal's."""
    if signs[0] == "\x1b":
        return ""
    plain = unicodedata.normalize("NFC", _OVERLAYS.sub("", signs))
    return _MARKS.sub("", plain) if signs[0].isascii() else plain


def _find_accents(text: str) -> Iterator[Edit]:
    """Yield the letters with accents in runs with a digit between letters, which no word has."""
    for run in filter(_has_digit_among_letters, _ACCENTED_RUN.finditer(text)):
        for sign in _ACCENTED.finditer(text, *run.span()):
            plain = unicodedata.normalize("NFD", sign[0])[0]
            if plain.isascii():
                yield Edit(sign.start(), sign.end(), plain, "folded")


def _has_digit_among_letters(run: re.Match[str]) -> bool:
    return _AMONG_LETTERS.search(run[0]) is not None


def find_joints(text: str, *, quoted: bool) -> Iterator[Edit]:
    """Yield what interrupts a value: line breaks, markup, quotation marks with an operator.

    Quotation marks and markup are searched only if a text is `quoted`.

    Raises EffortSpentError if there are too many.
    """
    edits = _bounded(_find_wraps(text))
    if quoted:
        edits += _bounded(Edit(*match.span(), "", match.lastgroup or "") for match in _JOINTS.finditer(text))
        edits += _bounded(Edit(*match.span(), "", "markup") for match in _MARKUP.finditer(text))
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
        if _AT_WRAP.match(text, max(0, start - 4), start) and not (
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


def without_overlaps(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield edits in the order of their offsets; of two that share a character, the one that begins first."""
    place = 0
    for edit in sorted(edits):
        if edit.start >= place:
            yield edit
            place = edit.end


def find_escapes(text: str) -> Iterator[Edit]:
    """Yield percent, backslash, entity and quoted-printable escapes and hidden letters with what they mean."""
    known: dict[str, str | None] = {}
    for match in _ESCAPES.finditer(text):
        edit = _read_escape(match, known)
        if edit is not None and text.endswith("$'", 0, edit.start):
            # Bash reads escapes in such quotation marks (POSIX 2024, "Dollar-Single-Quotes").
            yield edit._replace(start=edit.start - 2, text=f"'{edit.text}")
        elif edit is not None:
            yield edit
        elif match.lastgroup == "quoted":
            singles = _SINGLE_ESCAPES.finditer(text, match.start(), match.end())
            yield from filter(None, (_read_escape(single, {}) for single in singles))


def _read_escape(match: re.Match[str], known: dict[str, str | None]) -> Edit | None:
    """Return what an escape means; `known` are those that were read."""
    kind, escape = match.lastgroup or "", match[0]
    if escape not in known:
        known[escape] = _ESCAPED[kind](escape)
    plain = known[escape]
    return None if plain is None else Edit(match.start(), match.end(), plain, _NAMES.get(kind, kind))


def _read_percent(escape: str) -> str | None:
    return bytes.fromhex(escape.replace("%", "")).decode(errors="replace")


def _read_unicode(escape: str) -> str | None:
    """Return the text of percent signs with code units of UTF-16, as `escape` of ECMAScript writes them."""
    return bytes.fromhex(escape.replace("%u", "")).decode("utf-16-be", errors="replace")


def _read_printable(escape: str) -> str | None:
    """Return the text of quoted-printable signs (RFC 2045), or None if it is no text, as in `max=12`.

    A control sign among others is one of the text, such as the line ends of a key.
    """
    if escape.endswith("\n"):
        return ""
    try:
        text = bytes.fromhex(escape.replace("=", "")).decode()
    except UnicodeDecodeError:
        return None
    return text if any(map(str.isprintable, text)) or not text.strip("\t\n\r") else None


_QUOTED: Final = re.compile("=([0-9A-F]{2})")


def _read_quoted(escape: str) -> str | None:
    """Return the text of quoted-printable signs among others, or None if it is no text, as in `a=10&b=20&c=30&d=40`."""
    data = _QUOTED.sub(lambda sign: chr(int(sign[1], 16)), escape).encode("latin-1", "replace")
    text = data.decode(errors="replace")
    return text if text.isprintable() and "\ufffd" not in text else None


def _read_backslash(escape: str) -> str | None:
    codes = (
        int(braced or plain, 16) if braced or plain else int(octal, 8)
        for braced, plain, octal in _BACKSLASH.findall(escape)
    )
    text = "".join(chr(code) if code <= sys.maxunicode else "\ufffd" for code in codes)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_json(escape: str) -> str | None:
    return _JSON.get(escape[1], escape[1])


def _read_tags(escape: str) -> str | None:
    text = "".join(chr(ord(sign) - 0xE0000) for sign in escape)
    # A message in tags has nothing to do with the word before it; single tags may be part of a value.
    return f" {text} " if len(text) >= _SHORTEST_MESSAGE else text


_ESCAPED: Final[dict[str, Callable[[str], str | None]]] = {
    "percent": _read_percent,
    "unicode": _read_unicode,
    "backslash": _read_backslash,
    "json": _read_json,
    "entity": html.unescape,
    "printable": _read_printable,
    "quoted": _read_quoted,
    "tags": _read_tags,
    "selectors": spell_selectors,
}
_NAMES: Final = {
    "json": "backslash",
    "printable": "quoted-printable",
    "quoted": "quoted-printable",
    "unicode": "percent",
}

"""Decoders: replace encoded parts of a text by what they mean, or remove what interrupts a value.

Each yields edits in ascending order, which do not overlap. A part that decodes to nothing readable is left alone.
"""

import html
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.forms.selectors import SELECTORS, spell_selectors

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
_SHORTEST_MESSAGE: Final = 12
"""Characters of a message in tags."""


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

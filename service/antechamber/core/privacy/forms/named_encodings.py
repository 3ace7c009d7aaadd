"""Encodings that a text names: backwards, ROT13, base85, Ascii85, Z85 and uuencode.

They have no form of their own: each row of letters may be ROT13. So a text is decoded only where it names the
encoding, or where the name of a password, a token or a scheme is in it, spelled that way. What is decoded is then no
guess, and all rules judge it.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from antechamber.core.privacy.automata import Offsets, compile_pattern, compile_set, search
from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.runs import as_text
from antechamber.core.privacy.forms.turned_runs import ROT13

_BACKWARDS: Final = (
    r"(?i)(?:read|written|spel(?:led|t)|typed|it|this|text|string)(?: \w+)? (?:backwards?|reversed)(?:$|[^a-z-])"
    r"|\b(?:backwards?|reversed?)[ \t]*[^A-Za-z0-9 \t.,;!?_/-]|reversed (?:text|string|line|copy)|[|][ \t]*rev\b"
    r"|\brev: |right to left|rückwärts|umgekehrt|à l['’]envers|al revés|de trás para|наоборот|задом|反着|倒着|逆から"
    r"|逆順|\[::-1\]|drowssap|dwssap|trow(?:ssap|nnek)|esarhpssap|essap[_ ]ed[_ ]tom|anesartnoc|nekot[_ =:]|[_ =:]nekot"
    r"|terces|reraeb|[=:\"' ]yek[_-][a-z]{3}|//:(?:s?ptth|lq|ser)"
)
_ROT13: Final = (
    "(?i)rot-?13|n-za-m|cnff(?:jbe[qg]|jq|cuenfr)|zbg[_ ]qr[_ ]cnffr|pbagenfran|frperg|gbxra|ornere"
    "|(?:ncv|npprff|cevingr|znfgre)[_-]xrl|(?:uggcf?|cbfgterf|zlfdy|zbatbqo)://"
)
"""The names of both, and those of passwords, tokens and addresses in them."""
_BASE85: Final = r"(?i)(?:base|ascii|blob)[_-]?85|[ab]85(?:en|de)code|\b[bz]85\b|<~"
_UU: Final = "begin [0-7]{3,4} |uu(?:de|en)cod"
_ALL_NAMES: Final = (_BACKWARDS, _ROT13, _BASE85, _UU)
NAMES: Final = "|".join(f"(?:{names})" for names in _ALL_NAMES)
"""How a text names these encodings, in the syntax of RE2."""
_LINE: Final = re.compile(r"[^\n\0]{8,}")
_REACH: Final = 400
"""Characters around the name of an encoding in which lines are decoded."""
_RUN85: Final = re.compile(
    r"<~(?P<framed>[!-uz\s]{4,4000})~>|(?P<mark>\"{3}|[\"'])(?P<quoted>[!-~]{10,4000}?)(?P=mark)"
    r"|(?<![!-~])(?P<bare>[0-9A-Za-z!#$%&()*+./:;<=>?@\[\]^_`{|}~-]{10,4000})(?![!-~])"
)
_SIGNS85: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_SIGNS_OF_Z85: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_FROM_Z85: Final = str.maketrans(_SIGNS_OF_Z85, _SIGNS85)
"""The alphabet of Z85 (ZeroMQ RFC 32) to that of `base64.b85decode` (RFC 1924)."""
_UUENCODED: Final = re.compile(r"begin [0-7]{3,4} [^\n]{1,200}\n(?P<body>(?:[!-`][ -`]{0,84}[ \t\r]*\n)+)")
"""The lines of a uuencoded file (POSIX, uuencode)."""
_UU_LINE: Final = re.compile(r"(?<!\S)[!-M][!-`]{8,84}(?!\S)")
"""A line of such a file without its header and without blanks in it; its first sign is the number of bytes."""
_LENGTH: Final = 4
"""Characters of a run that count as one unit of effort."""


def find_named(text: str, effort: Effort, *, lines: bool) -> Iterator[list[Edit]]:
    """Yield the edits of each encoding that a text names; `lines` says whether whole lines may be encoded.

    Raises EffortSpentError if there are too many runs.
    """
    data = text.encode(errors="replace")
    for index in sorted(_LOOK(data)):
        if index >= len(_OF_LINES):
            yield list(_OF_RUNS[index - len(_OF_LINES)](text, effort))
        elif lines:
            near = _find_near(_NAMED[index], data)
            yield list(_turn_lines(text, near, _OF_LINES[index]))


def span_in_line(edit: Edit, start: int, end: int) -> tuple[int, int]:
    """Return the span of the original text that a span of a turned line comes from; both count from its beginning."""
    if edit.decoder == "reversed":
        return edit.end - end, edit.end - start
    return edit.start + start, edit.start + end


def _find_near(names: Any, data: bytes) -> list[tuple[int, int]]:
    """Return the parts of a text that are near the names of an encoding, in order and apart from each other."""
    near: list[tuple[int, int]] = []
    point, place = Offsets(data), 0
    while (found := search(names, data, place, len(data))) is not None:
        start, end = map(point, found[0])
        start, end, place = max(0, start - _REACH), end + _REACH, found[0][1]
        if near and start <= near[-1][1]:
            start = near.pop()[0]
        near.append((start, end))
    return near


def _turn_lines(text: str, near: Iterable[tuple[int, int]], decoder: str) -> Iterator[Edit]:
    place = 0
    for start, end in near:
        for match in _LINE.finditer(text, max(place, text.rfind("\n", 0, start) + 1), end):
            place = match.end()
            turned = match[0][::-1] if decoder == "reversed" else match[0].translate(ROT13)
            yield Edit(match.start(), place, turned, decoder)


def _find_base85(text: str, effort: Effort) -> Iterator[Edit]:
    for match in _RUN85.finditer(text):
        kind = next(kind for kind in ("framed", "quoted", "bare") if match[kind] is not None)
        if match[kind].isalpha():
            continue
        effort.spend(len(match[kind]) // _LENGTH)
        for decode in (base64.a85decode,) if kind == "framed" else (base64.b85decode, base64.a85decode, _decode_z85):
            plain = _decoded(decode, match[kind])
            if plain is not None:
                yield Edit(match.start(), match.end(), plain, "base85")
                break


def _find_uuencoded(text: str, effort: Effort) -> Iterator[Edit]:
    for match in _UUENCODED.finditer(text):
        lines = match["body"].splitlines()
        effort.spend(len(lines))
        try:
            data = b"".join(map(binascii.a2b_uu, lines))
        except binascii.Error:
            continue
        plain = as_text(data)
        if plain is not None:
            yield Edit(match.start(), match.end(), f"{plain}\n", "uuencoded")
            return
    yield from _find_lines_of_uu(text, effort)


def _find_lines_of_uu(text: str, effort: Effort) -> Iterator[Edit]:
    """Yield single lines whose length agrees with the number of bytes that they begin with."""
    for match in _UU_LINE.finditer(text):
        effort.spend()
        if len(match[0]) == 1 + 4 * -(-(ord(match[0][0]) - 32) // 3):
            plain = _decoded(binascii.a2b_uu, match[0])
            if plain is not None:
                yield Edit(match.start(), match.end(), plain, "uuencoded")


def _decode_z85(body: str) -> bytes:
    return base64.b85decode(body.translate(_FROM_Z85))


def _decoded(decode: Callable[[str], bytes], body: str) -> str | None:
    try:
        return as_text(decode(body))
    except ValueError:
        return None


_OF_LINES: Final = ("reversed", "rot13")
TURNED: Final = frozenset(_OF_LINES)
"""The encodings of whole lines."""
_OF_RUNS: Final = (_find_base85, _find_uuencoded)
_NAMED: Final = tuple(map(compile_pattern, (_BACKWARDS, _ROT13)))
_LOOK: Final = compile_set(*_ALL_NAMES)
"""Which of the encodings a text names, in the order of both."""

"""Folding: one plain form for characters that look alike or are invisible, so that a disguised token is found."""

import unicodedata
from typing import Final

_IGNORED: Final = (
    (0x01, 0x09), (0x0B, 0x20), (0x7F, 0xA0), (0xAD, 0xAE), (0x34F, 0x350), (0x61C, 0x61D), (0x115F, 0x1161),
    (0x17B4, 0x17B6), (0x180B, 0x1810), (0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070), (0x3164, 0x3165),
    (0xFE00, 0xFE10), (0xFEFF, 0xFF00), (0xFFA0, 0xFFA1), (0xFFF0, 0xFFFC), (0x1BCA0, 0x1BCA4), (0x1D173, 0x1D17B),
    (0xE0000, 0xE1000),
)  # fmt: skip
"""Controls, and characters with the property Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties)."""
_PAIRS: Final = (
    "\u0410A \u0412B \u0415E \u0405S \u0406I \u0408J \u041aK \u041cM \u041dH \u041eO \u0420P \u0421C \u0422T "
    "\u0423Y \u0425X \u0430a \u0435e \u043eo \u0440p \u0441c \u0443y \u0445x \u0455s \u0456i \u0458j \u0501d "
    "\u051bq \u051dw \u04bbh \u04cfl \u043ak \u0433r \u050cG \u051aQ \u051cW "
    "\u0391A \u0392B \u0395E \u0396Z \u0397H \u0399I \u039aK \u039cM \u039dN \u039fO \u03a1P \u03a4T \u03a5Y "
    "\u03a7X \u03b1a \u03b3y \u03b9i \u03bak \u03bdv \u03bfo \u03c1p \u03c4t \u03c5u \u03c7x \u03f2c \u03f3j "
    "\ua731s \u0280r \u026ai \u029fl \u0274n \u028fy \u0299b \u0262g \u029ch \u1d00a \u1d04c \u1d05d \u1d07e "
    "\u1d0aj \u1d0bk \u1d0dm \u1d0fo \u1d18p \u1d1bt \u1d1cu \u1d20v \u1d21w \u1d22z \ua730f \u0251a \u0261g "
    "\u0131i \u017fs \u0196l \u01c0l \u01c3! "
    "\u0578n \u057du \u0585o \u0581g \u0570h \u0566q \u0555O \u054dU "
    "\u2010- \u2011- \u2012- \u2013- \u2014- \u2015- \u2212- \u2043- \u02d7- \u2018' \u2019' \u201b' \u201c\" "
    '\u201d" \u201e" \u201f" \u2032\' \u2044/ \u2215/ \u29f8/ \u2236: \ua789: \u02d0: \u2217* \u201a, \u2223| '
)
"""Cyrillic, Greek, small and Armenian letters and signs, and what they look like (Unicode, UTS 39, confusables)."""
_REGIONAL: Final = {chr(0x1F1E6 + place): chr(ord("a") + place) for place in range(26)}
"""Regional indicators, which show letters where two of them are no flag."""
_LOOKS_LIKE: Final = {pair[0]: pair[1] for pair in _PAIRS.split()} | _REGIONAL
_PUNCTUATION: Final = [
    (sign, _LOOKS_LIKE[sign]) for sign in "\u2014\u2013\u2019\u2018\u201c\u201d\u201e\u2010\u2011\u2212"
]
"""Dashes and quotation marks that programs and word processors write, and their ASCII forms."""
_PRINTABLE: Final = bytes([0, 9, 10, *range(32, 127)])
_MOST: Final = 50_000
"""Maximum number of characters whose fold is kept."""


class _Folds(dict[int, str]):
    """The fold of each character, computed when it is first needed."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _MOST:
            self[code] = folded
        return folded


def _fold(sign: str) -> str:
    if sign in "\0\n":
        return sign
    if any(first <= ord(sign) < end for first, end in _IGNORED):
        return ""
    plain = unicodedata.normalize("NFKC", sign)
    folded = "".join(_LOOKS_LIKE.get(part, part) for part in plain)
    digit = unicodedata.decimal(folded, None) if len(folded) == 1 else None
    return folded if digit is None else str(digit)


_FOLDS: Final = _Folds()


def plain_punctuation(text: str) -> str:
    """Return a text with the usual dashes and quotation marks as ASCII characters; all offsets stay."""
    if not text.isascii():
        for sign, plain in _PUNCTUATION:
            if sign in text:
                text = text.replace(sign, plain)
    return text


def is_plain(data: bytes) -> bool:
    """Return whether folding would change nothing in a text (UTF-8)."""
    rest = data.translate(None, _PRINTABLE)
    return not rest or all(_FOLDS[code] == chr(code) for code in set(map(ord, rest.decode())))


def fold(text: str) -> str:
    """Return a text in NFKC, without invisible characters, and with look-alikes as ASCII characters."""
    return text.translate(_FOLDS)


def fold_sign(sign: str) -> str:
    """Return the fold of one character."""
    return _FOLDS[ord(sign)]

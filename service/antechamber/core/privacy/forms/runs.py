"""Runs: parts of a text in base64, base64url, base32, base58 or hexadecimal, and rows of the codes of characters.

Each decoder yields edits in ascending order, which do not overlap. A part that decodes to nothing readable is left
alone.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from antechamber.core.privacy.edits import Edit, without_overlaps
from antechamber.core.privacy.effort import Effort

_PAIRS: Final = re.compile(
    r"(?<![0-9A-Za-z])(?:0x[0-9A-Fa-f]{2}(?:(?:,\s*|\s+)0x[0-9A-Fa-f]{2}){7,}"
    r"|(?:0x)?[0-9A-Fa-f]{2}((?:, ?|[ :-])(?:0x|\\x)?)[0-9A-Fa-f]{2}(?:(?:\1|[ \t]?\r?\n[ \t]*)[0-9A-Fa-f]{2}){6,})"
    r"(?![0-9A-Za-z])"
)
_DUMP_LINE: Final = (
    r"(?:0x)?[0-9A-Fa-f]{4,16}(?: <[^<>\n]{1,60}>)?(?P<colon>:?)[ \t]+"
    r"(?P<groups>(?:(?:0x)?[0-9A-Fa-f]{2,8}[ \t]{1,2}|(?:0x)?[0-9A-Fa-f]{2,8}$)+)"
)
_DUMP: Final = re.compile(rf"^[ \t]*{_DUMP_LINE}", re.MULTILINE)
"""A line of a dump: an offset, and groups of bytes as `xxd`, `hexdump` and `od -x` print them."""
_SHOWN: Final = bytes(code if code >= 32 or chr(code).isspace() else 10 for code in range(256))  # noqa: PLR2004 -- ASCII
"""Maps control signs, which files have among their texts, to line breaks."""
_MAY_BE_DUMP: Final = re.compile(
    r"^[ \t]*(?:0x)?[0-9A-Fa-f]{4,16}(?: <[^<>\n]{1,60}>)?:?[ \t]+(?:0x)?[0-9A-Fa-f]{2,8}[ \t]", re.MULTILINE
)
_MOST_BYTES: Final = 16
"""Bytes of a line of a dump; what follows is the same in ASCII."""
_WORD: Final = 4
"""Digits of a group whose bytes are in the order of the machine, if a dump has no colons."""
_IS_BASE64: Final = (
    bytes(97 if chr(code).isalnum() else 98 if code in b"+/_-" else 32 for code in range(128)) + b" " * 128
)
"""Maps letters and digits to `a`, the signs of base64 and base64url to `b`, others to a blank."""
_RUN: Final = b"a" * 16
_PADDING: Final = re.compile("={1,2}")
_HEX: Final = re.compile(r"(?:0?[xX])?((?:[0-9A-Fa-f]{2}){8,})")
"""A run in hexadecimal, with the prefix of a number, or of a bytea of PostgreSQL without its backslash."""
_PADDED: Final = re.compile(r"(?:^|[=\s\"'])=\Z")
"""Padding before a run, which is then backwards; a single sign behind a name is none."""
_STRING_END: Final = b"\0\xff"
"""What a string of C ends with, and what an erased memory is filled with."""
_BASE32: Final = re.compile("[A-Z2-7]{16,}|[a-z2-7]{16,}")
_BASE58: Final = re.compile("(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[1-9A-HJ-NP-Za-km-z]{16,240}")
"""A run in base58; a longer one takes time with the square of its length."""
_ALPHABET58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES58: Final = {sign: value for value, sign in enumerate(_ALPHABET58)}
_CHECKSUM58: Final = 4
"""Bytes at the end of Base58Check."""
_PAIR_SIGNS: Final = re.compile(r"0x|\\x|[^0-9A-Fa-f]")
_BREAK: Final = re.compile("[/_+-]")
_STANDARD: Final = str.maketrans("-_", "+/")
_TRIED: Final = 6
"""Number of places in a run at which a base64 text may begin."""
_SHORTEST: Final = 6
"""Characters of the shortest decoded text that counts."""
_COMPRESSED: Final = ("H4sI", "eJ", "eN", "eA")
"""How gzip (RFC 1952) and zlib (RFC 1950) begin in base64."""
_ANY_FORMAT: Final = 47
"""`wbits` for a stream of either format."""
_MOST_INFLATED: Final = 16_384
"""Bytes of a compressed text that are read."""
_INFLATING: Final = 12
"""Units of effort of such a text."""
_BYTE_ORDER: Final = (b"\xff\xfe", b"\xfe\xff")
_CODES: Final = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?P<decimal>[0-9]{2,3}(?P<gap>[^0-9]{1,12})[0-9]{2,3}(?:(?P=gap)[0-9]{2,3}){10,})"
    r"|(?P<binary>[01]{8}(?:[^0-9]{0,3}[01]{8}){7,})"
    r"|(?P<unicode>U\+[0-9A-Fa-f]{4}(?:[^0-9A-Za-z]{0,3}U\+[0-9A-Fa-f]{4}){7,})"
    r")(?![0-9])"
)
"""Rows of codes. A letter may follow: if it could not, a long row would be tried again from each of its numbers."""
_CALLED: Final = re.compile(r"(?:[A-Za-z_][\w.]{0,24}|\[char\[\]\])\(\Z|(?:new )?byte ?\[\] ?\{ ?\Z")
_REGISTRY: Final = re.compile(r"hex(?:\([0-9a-f]\))?:\Z")
"""The type of a value in a file of the registry of Windows."""
_LONGEST_CALL: Final = 26
_JOIN: Final = re.compile(r" ?-join ?(?:''|\"\")")
"""The call of a function for each code, or the conversion of an array in PowerShell with what joins it."""
CODES: Final = (
    r"[0-9]{2,3}(?:[^0-9]{1,12}[0-9]{2,3}){11}"
    r"|[01]{8}(?:[^0-9]{0,3}[01]{8}){7}"
    r"|U\+[0-9A-Fa-f]{4}(?:[^0-9A-Za-z]{0,3}U\+[0-9A-Fa-f]{4}){7}"
)
"""What every text has in which there are codes of characters, in the syntax of RE2."""
_NUMBERS: Final = {
    "decimal": (re.compile("[0-9]{2,3}"), (10, 8)),
    "binary": (re.compile("[01]{8}"), (2,)),
    "unicode": (re.compile(r"(?<=\+)[0-9A-Fa-f]{4}"), (16,)),
}
"""The numbers of each kind of row, and their bases."""


ENCODINGS: Final = frozenset({"base32", "base58", "base64", "hex"})
"""The decoders of whole runs: what several joined pieces decode to shows that they belong together."""


class _Decoded(NamedTuple):
    """What a run decodes to: the offset at which its text begins, the text, and the decoder."""

    begin: int
    plain: str
    decoder: str


def find_runs(text: str, effort: Effort, *, pairs: bool, codes: bool, dumps: bool) -> Iterator[Edit]:
    """Yield runs in base64, base64url or hexadecimal that decode to readable text; other kinds only if asked.

    Raises EffortSpentError if there are too many runs.
    """
    found = [
        *(_find_pairs(text) if pairs else ()),
        *(_find_codes(text) if codes else ()),
        *(_find_dumps(text, effort) if dumps and _MAY_BE_DUMP.search(text) else ()),
        *_find_base64(text, effort),
    ]
    if found:
        yield from without_overlaps(found)


def _find_pairs(text: str) -> Iterator[Edit]:
    for match in _PAIRS.finditer(text):
        plain = as_text(bytes.fromhex(_PAIR_SIGNS.sub("", match[0])))
        if plain is not None:
            registry = _REGISTRY.search(text, max(0, match.start() - _LONGEST_CALL), match.start())
            yield Edit(registry.start() if registry else match.start(), match.end(), plain, "hex")


def _find_dumps(text: str, effort: Effort) -> Iterator[Edit]:
    """Yield the lines of dumps in a row, each row as the text that they show."""
    lines = list(_DUMP.finditer(text))
    effort.spend(len(lines))
    first = 0
    for last, line in enumerate(lines):
        end = text.find("\n", line.end("groups") - 1) % (len(text) + 1)
        if last + 1 == len(lines) or lines[last + 1].start() != end + 1:
            plain = as_text(b"".join(map(_bytes_of_line, lines[first : last + 1])).translate(_SHOWN))
            if plain is not None:
                yield Edit(lines[first].start(), end, plain, "hex")
            first = last + 1


def _bytes_of_line(line: re.Match[str]) -> bytes:
    groups = line["groups"].replace("0x", "").split()
    if not line["colon"] and all(len(group) == _WORD for group in groups):
        groups = [group[2:] + group[:2] for group in groups]
    digits = "".join(groups)[: 2 * _MOST_BYTES]
    return bytes.fromhex(digits[: len(digits) & ~1])


def _find_codes(text: str) -> Iterator[Edit]:
    """Yield rows of the codes of characters, in decimal, octal, binary, or as Unicode writes them (U+0041)."""
    for match in _CODES.finditer(text):
        number, bases = _NUMBERS[match.lastgroup or ""]
        for base in bases:
            plain = _spell(number.findall(match[0]), base)
            if plain is not None:
                # Between the numbers of an array are separators of texts.
                name = "split" if "\0" in match[0] else "codes"
                start, end = _call_around(text, match)
                is_literal = (start, end) != match.span()
                yield Edit(start, end, f'"{plain}"' if is_literal else plain, name)
                break


def _call_around(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Return the span of a row of codes with the call or the conversion to characters that it is part of."""
    before = _CALLED.search(text, max(0, match.start() - _LONGEST_CALL), match.start())
    is_call = before is not None and ("(" in (match["gap"] or "") or "[" in before[0])
    if before is None or not is_call or text[match.end() : match.end() + 1] not in {")", "}"}:
        return match.span()
    joined = _JOIN.match(text, match.end() + 1)
    return before.start(), joined.end() if joined else match.end() + 1


def _spell(numbers: list[str], base: int) -> str | None:
    """Return what some numbers spell as codes of characters in ASCII; None if it is no text."""
    try:
        return as_text(bytes(int(number, base) for number in numbers))
    except ValueError:
        return None


def _find_base64(text: str, effort: Effort) -> Iterator[Edit]:
    # One byte for each character, so that offsets are the same.
    signs = text.encode("ascii", "replace").translate(_IS_BASE64)
    heads: dict[str, bool] = {}
    known: dict[str, _Decoded | None] = {}
    place = signs.find(_RUN)
    while place >= 0:
        start, end = signs.rfind(b" ", 0, place) + 1, signs.find(b" ", place)
        if end < 0:
            end = len(signs)
        padding = _PADDING.match(text, end)
        run = text[start : padding.end() if padding else end]
        if run not in known:
            known[run] = _decode_run(run, heads, effort)
            if known[run] is None and _PADDED.search(text, max(0, start - 2), start) is not None:
                backwards = _decode_run(text[start:end][::-1], heads, effort)
                known[run] = backwards and backwards._replace(begin=0)
        if (decoded := known[run]) is not None:
            yield Edit(start + decoded.begin, start + len(run), decoded.plain, decoded.decoder)
        place = signs.find(_RUN, end)


def _decode_run(run: str, heads: dict[str, bool], effort: Effort) -> _Decoded | None:
    """Return what a run decodes to; `heads` are the beginnings of runs that were read, and whether they are text."""
    if (digits := _HEX.fullmatch(run)) is not None:
        plain = as_text(bytes.fromhex(digits[1]))
        if plain is not None:
            return _Decoded(0, plain, "hex")
    begins = [0]
    for sign in _BREAK.finditer(run):
        if len(begins) > _TRIED:
            break
        begins.append(sign.end())
    effort.spend((len(begins) + 1) >> 1)
    for begin in begins:
        plain = _read_base64(run[begin:].rstrip("="), heads, effort)
        if plain is not None:
            return _Decoded(begin, plain, "base64")
    return _decode_words(run.rstrip("="))


def _decode_words(body: str) -> _Decoded | None:
    """Return what a run without signs decodes to."""
    for decoder, read in (("base32", _read_base32), ("base58", _read_base58)):
        plain = read(body)
        if plain is not None:
            return _Decoded(0, plain, decoder)
    return None


def _read_base58(body: str) -> str | None:
    """Return the text of a run in base58, with or without a checksum (Bitcoin, Base58Check); None if it is no text."""
    if _BASE58.fullmatch(body) is None:
        return None
    number = 0
    for sign in body:
        number = 58 * number + _VALUES58[sign]
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return as_text(data) or as_text(data[:-_CHECKSUM58])


def _read_base32(body: str) -> str | None:
    """Return the text of a run in base32 (RFC 4648); None if it is no text."""
    if _BASE32.fullmatch(body) is None or len(body) % 8 in {1, 3, 6}:
        return None
    return as_text(base64.b32decode(body.upper() + "=" * (-len(body) % 8)))


def _read_base64(body: str, heads: dict[str, bool], effort: Effort) -> str | None:
    """Return the text of a run in base64 or base64url (RFC 4648); None if it is no text."""
    if len(body) < 16:  # noqa: PLR2004 -- a shorter one is a word
        return None
    # Most runs are words and paths, whose first bytes are no text.
    head = body[:8]
    if head not in heads:
        heads[head] = as_text(binascii.a2b_base64(head.translate(_STANDARD)), 1) is not None
    if not heads[head]:
        if not body.startswith(_COMPRESSED):
            return None
        effort.spend(_INFLATING)
        return _inflate(body)
    return as_text(_bytes_of(body))


def _bytes_of(body: str) -> bytes:
    standard = body.translate(_STANDARD)
    size = len(standard) - (len(standard) % 4 == 1)
    return binascii.a2b_base64(standard[:size] + "=" * (-size % 4))


def _inflate(body: str) -> str | None:
    """Return the beginning of a text that was compressed (gzip or zlib) before it was encoded in base64."""
    try:
        return as_text(zlib.decompressobj(_ANY_FORMAT).decompress(_bytes_of(body), _MOST_INFLATED))
    except zlib.error:
        return None


def as_text(data: bytes, least: int = _SHORTEST) -> str | None:
    """Return decoded bytes as text; None if they are no text or have fewer characters than `least`."""
    if not any(data[1::2]):
        data = data[::2]  # UTF-16 with ASCII characters
    elif data.startswith(_BYTE_ORDER) and not any(data[3::2]):
        data = data[2::2]
    data = data.rstrip(_STRING_END)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        # The end of a part may cut a character.
        if error.start < len(data) - 3:
            return None
        text = data[: error.start].decode()
    plain = text.replace("\n", "").replace("\r", "").replace("\t", "")
    return text if len(text) >= least and plain.isprintable() and plain else None

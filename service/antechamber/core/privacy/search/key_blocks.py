"""Blocks of base64, such as private keys: a finding covers all of a block, although its pattern needs only its head.

A block goes on in the lines that follow, also where the text has escaped line breaks, quotation marks of a program or
the signs of a quotation before each line. Source of the line lengths: RFC 7468 and RFC 9580 (64 and 76 characters).
"""

import re
from typing import Final

_LINE: Final = 30
"""Characters of a line from which the following ones may belong to the same value; passwords are shorter."""
_RUN: Final = re.compile(r"[0-9A-Za-z+/]*+={0,2}")
_BACKWARDS: Final = re.compile(r"[0-9A-Za-z+/=]*+")
_JOINT: Final = r"(?:\\+[nrt]|[\s\"'`+>|#*,;:\\]|//)"
_LINES: Final = re.compile(rf"(?:{_JOINT}{{1,24}}[0-9A-Za-z+/]{{{_LINE},}}={{0,2}})*+")
_LAST: Final = re.compile(
    rf"{_JOINT}{{0,16}}(?:\\+[nr]|\n){_JOINT}{{0,16}}=?[0-9A-Za-z+/]{{1,{_LINE - 1}}}={{0,2}}(?=[\"'`\\\r\n]|[ \t]*\Z)"
)
_CHECKSUM: Final = re.compile(rf"{_JOINT}{{1,16}}=[0-9A-Za-z+/]{{4}}(?![0-9A-Za-z+/])")
"""The checksum at the end of an armor (RFC 9580, section 6.1)."""


def end_of_block(text: str, start: int, end: int) -> int:
    """Return the end of the block of base64 in which a value ends; the end of the value if it is in none."""
    run = _RUN.match(text, end)
    stop = run.end() if run is not None else end
    head = _BACKWARDS.match(text[start:stop][::-1])
    if head is None or head.end() < _LINE:
        return end
    lines = _LINES.match(text, stop)
    if lines is not None and lines.end() > stop:
        stop = lines.end()
        last = _LAST.match(text, stop)
        stop = last.end() if last is not None else stop
    checksum = _CHECKSUM.match(text, stop)
    return checksum.end() if checksum is not None else stop

"""Rows of a CSV whose texts no spreadsheet takes for formulas (OWASP, CSV injection; ASVS 1.2.10).

A program splits a file at the separator of its locale, whatever separator and quotes the file was written with. So a
cell may begin not only where a text begins, but after each separator and line end in it.
"""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any, Final

_ENDS: Final = r",;\t\n\v\f\r\0\x1c-\x1e\x85\u2028\u2029"
"""After these a program may begin a cell; blanks and quotes at its beginning may be dropped."""
_SIGNS: Final = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""With these, and with their full-width forms, a formula begins."""
# Possessive, and never failing once it has begun, so that the time is linear in the length of the text.
_BEGIN: Final = re.compile(rf"""((?:\A|[{_ENDS}])[{_ENDS}\s"\ufeff]*+)('*+)([{_SIGNS}]?+)""")
_CONTROL: Final = re.compile(r"'*[\t\r\n\0]")


def csv_row(values: Iterable[Any]) -> bytes:
    """Return one line of CSV (RFC 4180), each field in quotes; None is empty, and truth values are lower case."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerow(map(_cell, values))
    return line.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return _neutral(str(value).lower() if isinstance(value, bool) else str(value))


def _neutral(text: str) -> str:
    """Put an apostrophe in front of each sign that could begin a formula, and of a text that begins with a control.

    Apostrophes that are there already are kept, so that taking one away at each such place gives the text back.
    """
    marked = f"'{text}" if _CONTROL.match(text) else text
    return _BEGIN.sub(lambda found: f"{found[1]}{chr(39) if found[3] else ''}{found[2]}{found[3]}", marked)

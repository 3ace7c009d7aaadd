"""Rows of a CSV file whose texts no spreadsheet evaluates as formulas (OWASP, CSV injection; ASVS 1.2.10).

A program splits a file at the separator of its locale, regardless of the separator and quotes that the file was written
with. A cell may therefore begin at the start of a text and after each separator and line end in it.
"""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any, Final

_ENDS: Final = r",;\t\n\v\f\r\0\x1c-\x1e\x85\u2028\u2029"
"""Characters after which a program may begin a cell; it may drop blanks and quotes at the cell's beginning."""
_SIGNS: Final = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""Characters, including full-width forms, that begin a formula."""
# The quantifiers are possessive and the rest cannot fail, so the time is linear in the length of the text.
_BEGIN: Final = re.compile(rf"""((?:\A|[{_ENDS}])[{_ENDS}\s"\ufeff]*+)('*+)([{_SIGNS}]?+)""")
_CONTROL: Final = re.compile(r"'*[\t\r\n\0]")


def csv_row(values: Iterable[Any]) -> bytes:
    """Return one line of CSV (RFC 4180), each field in quotes; None is empty, and booleans are lower case."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerow(map(_cell, values))
    return line.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return _neutral(str(value).lower() if isinstance(value, bool) else str(value))


def _neutral(text: str) -> str:
    """Put an apostrophe before each sign that could begin a formula, and before a leading control character.

    Existing apostrophes are kept, so that removing one apostrophe at each such place restores the text.
    """
    marked = f"'{text}" if _CONTROL.match(text) else text
    return _BEGIN.sub(lambda match: f"{match[1]}{chr(39) if match[3] else ''}{match[2]}{match[3]}", marked)

"""Tables with a column for secrets or numbers: the header names what each cell below it is, as `password: …` does.

A table is one of Markdown (GitHub Flavored Markdown, "Tables (extension)"), also without the line below its header, or
of lines with tabs, semicolons or commas (RFC 4180). Cells in quotation marks that have a separator in them end a table.
"""

import re
from collections.abc import Iterator
from typing import Final

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.values.letters import is_random_word

_PHRASES: Final = (
    "passwords?|passwd|passphrase|passcode|pass|pwd|pw|kennwort|passwort|contrase\u00f1a|clave|mot de passe|mdp|senha|"
    "wachtwoord|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|"
    "\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638"
)
_KEYS: Final = (
    "(?:api|access|secret|auth|client|private|bearer)[ _-]?(?:access[ _-]?)?(?:key|token|secret)|secret|token"
)
_PINS: Final = "pin[ -]?codes?|codes? pin|c[óo]digo pin|pin码"
_WORDS: Final = r"[^\n|\t,;0-9]"
_NUMBERS: Final = (
    rf"{_WORDS}*(?:number|nummer|num[ée]ro{_WORDS}*|n[úu]mero{_WORDS}*|номер|号码?|番号|번호)|"
    rf"ssn|itin|nino?|sin|nas|nir|bsn|nif|nie|d\.?n\.?i\.?|cpf|rut|run|curp|pesel|egn|cnp|jmbg|oib|amka|afm|hkid|nric|ic|"
    rf"aadhaar|pan|cnic|tfn|ird|kennitala|pis|pasep|pis[_/]pasep|cns|hetu|cpr|matični broj{_WORDS}*|uatp|card|"
    rf"resident identity card|(?:{_WORDS}+[ _])?id"
)
_BEFORE: Final = r"(?:[a-z][a-z.-]{0,11}[ _]){0,2}"
_MARKS: Final = "[ \t\"'*`]*"
NAMED_COLUMN: Final = (
    rf"(?i)(?:^|[\n|\t,;]){_MARKS}{_BEFORE}(?:{_PHRASES}|{_PINS}|{_KEYS}){_MARKS}(?:[|\t,;\r\n])|\binsert\s+into\s"
)
"""A cell that names a secret, in the syntax of RE2; a text without one has no such table."""
_NUMBERED_COLUMN: Final = rf"(?i)(?:^|[\n|\t,;]){_MARKS}(?:{_NUMBERS}){_MARKS}(?:[|\t,;\r\n])"
_MAY_NUMBER: Final = compile_set(_NUMBERED_COLUMN)
_MAY_NAME: Final = compile_set(NAMED_COLUMN, _NUMBERED_COLUMN)
_NAME: Final = re.compile(
    rf"{_BEFORE}(?:(?P<password>{_PHRASES})|(?P<pin>{_PINS})|{_KEYS})|(?P<number>{_NUMBERS})", re.IGNORECASE
)
_SEPARATORS: Final = ("|", "\t", ";", ",")
_RULE: Final = re.compile(r"[ \t|:+-]+\r?")
"""The line between the header and the cells of a table in Markdown."""
_TRIMMED: Final = " \t\r\"'*`"
_MOST_COLUMNS: Final = 64
_SHORTEST: Final = 3
"""Characters of the shortest header: `pw,a`."""
_SHORTEST_SECRET: Final = 5
_LINES: Final = 2
"""Binary logarithm of the lines that count as one unit of effort."""


_INSERT: Final = re.compile(
    r"(?i:insert\s+into)\s+[\w.`\"\[\]]{1,80}\s*\((?P<columns>[^()]{1,1000})\)\s*(?i:values)\s*(?=\()"
)
_ROW: Final = re.compile(r"\s*,?\s*\((?P<row>(?:'(?:[^'\n]|''){0,400}'|\"[^\"\n]{0,400}\"|[^()'\"])*+)\)")
_VALUE: Final = re.compile(r"(?:'(?:[^'\n]|'')*'|\"[^\"\n]*\"|[^,'\"])++")
_LITERAL: Final = re.compile("\\s*['\"]")
"""A value in quotation marks; one that has its name already, or a parameter, has none of them first."""
_SECRET_COLUMN: Final = re.compile(
    r"(?P<password>\w*(?:passw(?:or)?d|passwd|pwd|passphrase|plain_pw|_pw|_pass))|pass"
    r"|\w*(?:secret|token|(?:api|access|auth|secret|client|private|partner|account)_?key)",
    re.IGNORECASE,
)
_MOST_ROWS: Final = 200


def find_inserted(text: str) -> Iterator[Edit]:
    """Yield an edit for each value that an INSERT of SQL gives a column for secrets, which puts its name before it."""
    for insert in _INSERT.finditer(text):
        columns = [column.strip(' \t\n`"[]') for column in insert["columns"].split(",")]
        names = {place: found for place, column in enumerate(columns) if (found := _SECRET_COLUMN.fullmatch(column))}
        row = _ROW.match(text, insert.end()) if names else None
        for _ in range(_MOST_ROWS):
            if row is None:
                break
            for place, value in enumerate(_VALUE.finditer(text, *row.span("row"))):
                if place in names and _LITERAL.match(value[0]) is not None:
                    at = value.end() - len(value[0].lstrip())
                    yield Edit(at, at, "password: " if names[place]["password"] else "secret: ", "table")
            row = _ROW.match(text, row.end())


def has_numbered_column(data: bytes) -> bool:
    """Return whether a text (UTF-8) with lines may have a column whose header names numbers."""
    return b"\n" in data and bool(_MAY_NUMBER(data))


def find_cells(text: str, effort: Effort) -> Iterator[Edit]:
    """Yield an edit for each cell of a column for secrets, which puts the name of the secret before it.

    Raises EffortSpentError if a text has too many lines.
    """
    effort.spend(text.count("\n") >> _LINES)
    place = 0
    # A line without separators ends a table, and so does an empty one.
    for part in text.split("\n\n"):
        if _MAY_NAME(part.encode(errors="replace")):
            yield from _cells_of(part.split("\n"), place)
        place += len(part) + 2


def _cells_of(lines: list[str], place: int) -> Iterator[Edit]:
    """Yield the edits of lines of which the first begins at a place."""
    names: dict[int, str] = {}
    separator, more = "", 0
    for number, line in enumerate(lines, 1):
        if not more or line.count(separator) != more:
            # A table begins here, if any does; a word such as `pass` further down is no header.
            separator = next((sign for sign in _SEPARATORS if sign in line), "") if len(line) > _SHORTEST else ""
            more = line.count(separator) if separator else 0
            is_header = separator != "|" or (number < len(lines) and _is_below(lines[number], more))
            names = _named(line, separator) if is_header and 0 < more < _MOST_COLUMNS and _may_name(line) else {}
        elif names:
            yield from _edits(line.split(separator), names, place)
        place += len(line) + 1


def _may_name(line: str) -> bool:
    """Return quickly whether a line has a cell that names a secret or numbers; most lines of code have none."""
    return bool(_MAY_NAME(f"{line}\n".encode(errors="replace")))


def _is_below(line: str, separators: int) -> bool:
    """Return whether a line follows the header of a table: a rule, as in Markdown, or a row with as many cells."""
    return line.count("|") == separators or _RULE.fullmatch(line) is not None


def _edits(cells: list[str], names: dict[int, str], place: int) -> Iterator[Edit]:
    """Yield the edits of a row that begins at a place."""
    for index, cell in enumerate(cells):
        if index in names and len(cell) >= _SHORTEST_SECRET:
            value, name = cell.strip(_TRIMMED), names[index]
            # A cell of words, such as `required`, is no secret to any rule.
            is_words = value.replace(" ", "").isalpha() and not is_random_word(value)
            if not is_words and not value.startswith(f"{name}: ") and not _RULE.fullmatch(cell):
                at = place + len(cell) - len(cell.lstrip())
                yield Edit(at, at, f"{name}: ", "table")
        place += len(cell) + 1


def _named(line: str, separator: str) -> dict[int, str]:
    """Return the names of the secrets and numbers in the columns of a header.

    Without vertical bars, cells are next to their separators; lines of code have blanks there, or end with one.
    """
    names: dict[int, str] = {}
    cells = line.split(separator)
    if separator != "|" and any(not cell or cell[0] == " " for cell in cells):
        return names
    for index, cell in enumerate(cells):
        found = _NAME.fullmatch(cell.strip(_TRIMMED))
        if found is not None:
            name = found[0] if found["number"] else found[0].lower().replace(" ", "_")
            names[index] = "password" if found["password"] else "PIN" if found["pin"] else name
    return names

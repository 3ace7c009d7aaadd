"""Values that code joins of literals: arrays with `join`, literals in parentheses, members with a number, and lists.

The operators between literals are read by `decoders`; here the statement around them or the names beside them say that
the pieces belong together.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.edits import Edit, without_overlaps
from antechamber.core.privacy.effort import EffortSpentError

_ITEM: Final = r"\"[^\"\n\0]{0,200}\"|'[^'\n\0]{0,200}'"
_BLANKS: Final = r"\s{0,40}+"
_ITEMS: Final = rf"(?:{_ITEM})(?:{_BLANKS}[,;]{_BLANKS}(?:{_ITEM})){{1,40}}+{_BLANKS},?+{_BLANKS}"
"""Two literals or more; what was read is never given back, so that the search is linear."""
_ARRAY: Final = re.compile(
    rf"(?:\"\"|'')\.join\([\[(]{_BLANKS}{_ITEMS}[\])]\)"
    rf"|\[{_BLANKS}{_ITEMS}\]\.join\((?:\"\"|'')\)"
    rf"|(?:Seq|List|Array|Vector)\({_BLANKS}{_ITEMS}\)\.mkString(?:\(\"\"\))?"
    rf"|(?:listOf|arrayOf)\({_BLANKS}{_ITEMS}\)\.joinToString\(\"\"\)"
    rf"|\[{_BLANKS}{_ITEMS}\]\.join(?![\w(])"
    rf"|strings\.Join\(\[\]string\{{{_BLANKS}{_ITEMS}\}},\s?\"\"\)"
    rf"|\$\(printf ['\"](?:%s){{2,12}}['\"](?: (?:{_ITEM})){{2,12}}+\)"
    rf"|(?:implode|concat|join|CONCAT(?:ENATE)?)\((?:(?:\"\"|''),\s?[\[(]?)?{_BLANKS}{_ITEMS}[\])]{{1,2}}"
)
"""Literals that `str.join`, `Array.join`, `strings.Join`, `implode` or `concat` joins without a separator."""
_TEMPLATE: Final = re.compile(rf"(?:\$\{{(?:{_ITEM})\}}){{2,40}}+")
"""Literals in a row in a template literal of JavaScript."""
_CELL: Final = re.compile(r"(?:(?<=[,;\t\n])|\A)\"(?P<cell>(?:[^\"\n\0]|\"\"){3,4000}+)\"(?=[,;\t\r\n]|\Z)")
"""A cell in quotation marks of a table with separators, in which each own quotation mark is doubled (RFC 4180)."""
_LITERAL: Final = re.compile(_ITEM)
_DOUBLED: Final = re.compile('""(?:(?<=[=:]"")|(?<=[=:] ""))(?=[^",\\s])')
"""The mark before a value within a cell; no rule needs the others, of which a table of objects has thousands."""
_CHARACTERS: Final = re.compile(r"[{\[(]?\s?(?P<characters>'\\?[ -~]'(?:\s{0,20}+,\s{0,20}+'\\?[ -~]'){7,}+)\s?[}\])]?")
"""A row of single characters in quotation marks."""
_CHARACTER: Final = re.compile(r"'(\\?[ -~])'")
_NULL: Final = "\\0"
_ASSIGNED: Final = re.compile(
    r"=(?:[ \t]{0,3}(?P<mark>[\"'`])(?P<value>[^\"'`\n\0]{1,400})(?P=mark)"
    r"|(?P<word>[^\s\"'`$;&|()=\0]{1,400}+={0,2})(?=[ \t]*(?:[\r\n;]|\Z)))"
)
"""An equals sign with a literal, or with a word that ends its line; it is rare, so that the search is quick."""
_LITERAL_NAME: Final = re.compile(r"(?<![\w$.])(?P<name>[A-Za-z_]\w{0,30})[ \t]{0,3}:?\Z")
_VARIABLE_NAME: Final = re.compile(r"(?:(?:\n|\A|; ?)(?:export |set )?)(?P<name>[A-Za-z_]\w{0,30})\Z")
"""The name before it: that of a literal, or of a variable of a shell."""
_LONGEST_NAME: Final = 48
_MOST_NAMES: Final = 64
_NAMES: Final = re.compile(
    r"(?:\$\{\w{1,30}\}|\$\w{1,30}|\{\w{1,30}\}|%\w{1,30}%){2,12}|\$\{\w{1,30}\}(?=[0-9A-Za-z])"
    r"|(?<![\w.\"'])[A-Za-z_]\w{0,30}(?:[ \t]{0,2}[+.][ \t]{0,2}[A-Za-z_]\w{0,30}){1,12}"
)
"""Names in a row, whose literals are joined."""
_JOINTS: Final = re.compile(
    r"\+(?=[ \t]{0,2}[A-Za-z_])|[.](?<= [.])(?= ?[A-Za-z_])|\$\{(?=\w{1,30}\}[0-9A-Za-z$])|\}\{|%%|\$(?<=\w\$)"
)
"""What each row of names has; only the lines around it are searched for one."""
_NAME: Final = re.compile(r"\w+")
_MOST_JOINED: Final = 24_576
"""Characters of all literals that replace names."""
_PARENTHESIS: Final = re.compile(r"\((?:(?<=[=:] \()|(?<=[=:]\())\s{1,40}(?=[bfru]?[\"'])")
"""A parenthesis before literals on lines of their own."""
_MEMBER: Final = re.compile(r"[0-9](?<=[A-Za-z_-].)[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<value>[^\s\"',;\0]{1,200})")
_NAME_BEFORE: Final = re.compile("[A-Za-z_-]{1,76}")
_MEMBER_NAME: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z_-]{0,60}?)[_-]?(?P<part>(?i:part|half|piece|chunk|seg(?:ment)?)[_-]?)?"
)
_LONGEST_MEMBER: Final = 76
"""A member whose name ends with a number: `PASSWORD_1=…`, `"token_part2": "…"`."""
_BETWEEN: Final = re.compile(r"[\"']?[ \t]{0,8}[,;]?\s{1,8}(?:export[ \t])?[\"']?|[\"']?[,;&]\s{0,8}[\"']?")
"""What is between two such members."""
_POSSIBLE: Final = (
    (
        r"(?:\"\"|'')\.join\([\[(]|\)\.mkString|%s%s['\"] ['\"]|"
        r"[\"']\s*\]\.join\b|joinToString\(\"\"|\.Join\(\[\]string|"
        r"(?:implode|concat|join|CONCAT(?:ENATE)?)\([\"'\[]"
    ),
    r"'[!-~]',\s?'[!-~]',\s?'[!-~]'",
    r"[=:] ?\(\s+[bfru]?[\"']",
    r"\w\}\$?\{\w|\$\{\w+\}[0-9A-Za-z]|\$\w+\$\w|%\w+%%\w|[\"']\$\w+\$\w|= ?[A-Za-z_]\w* ?[+.] ?[A-Za-z_]",
    r"[A-Za-z_-]2[\"']?[ \t]{0,3}[:=][ \t]{0,3}[^\s,;]",
    r"[\"']\}\$\{[\"']",
    r"[=:] ?\"\"[0-9A-Za-z!$%&*+@^~-]",
)
JOINED: Final = "|".join(_POSSIBLE)
"""What every text has in which there are such values, in the syntax of RE2."""
_LOOK: Final = compile_set(*_POSSIBLE)
"""Which kinds of them a text may have."""


def add_joined_literals(text: str, others: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the statements of a text that join literals, each as one, and other edits that share no character with one.

    Between members with numbers, what divides their values is an edit. Raises EffortSpentError if a text names literals
    too often.
    """
    found = list(without_overlaps(_find_literals(text)))
    kept, starts = [*found], [edit.start for edit in found]
    for edit in others:
        place = bisect_right(starts, edit.start)
        last = found[place - 1].end if place else 0
        following = starts[place] if place < len(starts) else edit.end
        if last <= edit.start and edit.end <= following:
            kept.append(edit)
    return iter(sorted(kept))


def _find_literals(text: str) -> Iterator[Edit]:
    for kind in _LOOK(text.encode(errors="replace")):
        yield from _KINDS[kind](text)


def _find_arrays(text: str) -> Iterator[Edit]:
    for match in _ARRAY.finditer(text):
        joined = "".join(item[1:-1] for item in _LITERAL.findall(match[0]))
        yield Edit(match.start(), match.end(), f'"{joined}"', "concatenated")


def _find_templates(text: str) -> Iterator[Edit]:
    for match in _TEMPLATE.finditer(text):
        yield Edit(*match.span(), "".join(item[1:-1] for item in _LITERAL.findall(match[0])), "concatenated")


def _find_doubled_marks(text: str) -> Iterator[Edit]:
    for match in _CELL.finditer(text):
        for mark in _DOUBLED.finditer(text, *match.span("cell")):
            yield Edit(*mark.span(), '"', "csv")


def _find_characters(text: str) -> Iterator[Edit]:
    for match in _CHARACTERS.finditer(text):
        joined = "".join(_CHARACTER.findall(match["characters"])).removesuffix(_NULL)
        yield Edit(match.start(), match.end(), f'"{joined}"', "concatenated")


def _find_parentheses(text: str) -> Iterator[Edit]:
    for match in _PARENTHESIS.finditer(text):
        yield Edit(match.start(), match.end(), "", "concatenated")


def _find_names(text: str) -> Iterator[Edit]:
    """Yield rows of names whose literals the same text has, as these literals joined.

    Raises EffortSpentError if these are too long together: a literal may be named thousands of times.
    """
    rows = list(_rows_of_names(text))
    literals = dict(islice(_assigned_in(text), _MOST_NAMES)) if rows else {}
    if not literals:
        return
    room = _MOST_JOINED
    for match in rows:
        names = _NAME.findall(match[0])
        if all(name in literals for name in names):
            joined = "".join(literals[name] for name in names)
            room -= len(joined)
            if room < 0:
                raise EffortSpentError
            yield Edit(match.start(), match.end(), joined if match[0][0] in "${%" else f'"{joined}"', "concatenated")


def _rows_of_names(text: str) -> Iterator[re.Match[str]]:
    """Yield the rows of names in the lines that have what joins two of them."""
    done = 0
    for joint in _JOINTS.finditer(text):
        if joint.start() >= done:
            start, end = text.rfind("\n", 0, joint.start()) + 1, text.find("\n", joint.end())
            done = end if end >= 0 else len(text)
            yield from _NAMES.finditer(text, start, done)


def _assigned_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a text gives a literal or a word, and these."""
    for match in _ASSIGNED.finditer(text):
        is_word = match["mark"] is None
        pattern = _VARIABLE_NAME if is_word else _LITERAL_NAME
        name = pattern.search(text, max(0, match.start() - _LONGEST_NAME), match.start())
        if name is not None:
            yield name["name"], match["word"] if is_word else match["value"]


def _find_members(text: str) -> Iterator[Edit]:
    """Yield what is between the values of members whose names differ in their numbers only."""
    before: re.Match[str] | None = None
    for match in _MEMBER.finditer(text):
        if before is not None and int(match[0][0]) == int(before[0][0]) + 1:
            first, second = _member_name(text, before.start()), _member_name(text, match.start())
            if (
                first is not None
                and second is not None
                and first["name"] == second["name"]
                and _BETWEEN.fullmatch(text, before.end(), second.start()) is not None
            ):
                # Members that are called parts are pieces of one value; others may be values of their own.
                yield Edit(before.end(), match.start("value"), "", "concatenated" if second["part"] else "listed")
        before = match


def _member_name(text: str, end: int) -> re.Match[str] | None:
    """Return the name of a member whose number is at an offset."""
    row = _NAME_BEFORE.match(text[max(0, end - _LONGEST_MEMBER) : end][::-1])
    return _MEMBER_NAME.fullmatch(text, end - row.end(), end) if row is not None else None


_KINDS: Final = (
    _find_arrays,
    _find_characters,
    _find_parentheses,
    _find_names,
    _find_members,
    _find_templates,
    _find_doubled_marks,
)
"""The searches for the kinds, in the order of what may be possible."""

"""Links that lead to no value: signs of paths, lists, calls and errors, and the names of accounts.

A sentence that names a password is searched for links such as "is" and a colon. What follows some of them is part of
code, or the name of a user.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from typing import Final

from antechamber.core.privacy.noise import is_name
from antechamber.core.privacy.passwords import is_spoken_password
from antechamber.core.privacy.phrases import is_hyphenated

TRAIL: Final = ".,;:)]}>!?*_~`\"'。，、）"
"""Signs behind a value that are no part of it."""
_PATH: Final = re.compile(r"(?:^|[\s:=(\"'`])[~.]{0,2}(?:/[\w.-]+)*$|[a-z]{2}:[\w./-]*$")
"""What is before a slash in a path or a reference; elsewhere a slash may divide an account and its password."""
_ROLE: Final = re.compile(r"(?<![\w:]):[a-z]+:`")
"""A role in reStructuredText, as in ``:mod:`ssl```."""
_ATTRIBUTE: Final = re.compile(
    "(?:type|inputmode|autocomplete|name|id|class|role|for|placeholder|method|rel|target) ?$"
)
"""The name of an attribute of HTML, or of a role, before its value."""
_COMPARED: Final = frozenset("<>!")
"""Signs before an equals sign that compares."""
_LISTING: Final = frozenset(",，、(（")
"""Signs in a list of words, or before the first argument of a call: a plain word behind them is no password."""
_OUTCOME: Final = re.compile(
    r"(?i:fail\w*|errors?|answer\w*|return\w*|respond\w*|crash\w*|reject\w*|scheitert|abgelehnt|[ée]choue|falla)"
    r"(?: \w+){0,2} (?:with|mit|avec|con) $"
)
"""What is before the code of an error, as in `fails with ORA-00942`."""
_WITH_WORDS: Final = ("with ", "mit ", "avec ", "con ")
"""The ends of that, which few links have."""
_ARGUMENT: Final = re.compile("[0-9]+[,)]")
"""A number among the arguments of a call."""
_VARIABLE: Final = re.compile(r"[\"'], ?[A-Za-z_]\w*\)")
"""The end of a quoted argument, and a variable as the last one."""
_PARAMETER: Final = re.compile(r"[,(]\s*\w+=\Z")
"""A parameter of a function with its sign."""
_CELL: Final = re.compile("[,;]")
_LEAST_CELLS: Final = 3
_ISSUE: Final = re.compile(r"[(（][ \t]*[A-Za-z][\w./-]*#[0-9]{5,}[)）]")
"""The name of an issue in brackets, as in `(Rails#43997)`."""
_LOOSE: Final = re.compile(
    "(?:(?:with|and|use|try|from|mit|und|avec|et|con|y|von|da) |[,，、(（])[ \t]*", re.IGNORECASE
)
"""Links behind which words joined by hyphens are the name of a program."""
_ACCOUNT_NAME: Final = re.compile(
    r"(?:^|[,;.:(]|\b(?:and|with|und|mit|et|avec|y|con|e|com) )[ ]?"
    r"(?:(?:the|your|my|der|dein|mein|el|tu|mi|o|il|le|ton|mon)[ ]|l['’])?"
    r"(?:user ?name|user ?id|account name|benutzername|kontoname|identifiant|nom d['’]utilisateur|"
    r"nombre de usuario|usuario|usuário|nome utente|utente)[ ]$"
    r"|(?:用户名|用戶名|ユーザー名|사용자 ?이름|ID|番号|编号)[ ]?$",
    re.IGNORECASE,
)
"""The name of an account before a link, which says what the value is."""


def is_outcome(window: str, place: int) -> bool:
    """Return whether what ends at an offset of a text is before the code of an error."""
    return _OUTCOME.search(window, 0, place) is not None


def leads_to_no_value(link: re.Match[str], window: str) -> bool:
    """Return whether a link is part of code, or an account is named before it.

    Parts of code are the sign of a path, of a role in reStructuredText, or of an error, a list or a call. The groups
    `quoted` and `bare` of a link are what may be its value.
    """
    sign = link[0]
    if sign == "/" and _PATH.search(window[: link.start()]):
        return True
    if sign == ":" and _ROLE.match(window, link.start()):
        return True
    if sign.lower().endswith(_WITH_WORDS) and is_outcome(window, link.end()):
        return True
    if _ISSUE.match(window, link.start()) or _ACCOUNT_NAME.search(window, 0, link.start()):
        return True
    return _assigns_or_lists(link, window)


def _assigns_or_lists(link: re.Match[str], window: str) -> bool:
    """Return whether a link compares, sets an attribute, or divides the words of a list or the arguments of a call."""
    sign, quoted, bare = link[0], link["quoted"] or "", link["bare"] or ""
    if sign.rstrip(" \t") == "=" and (
        window[link.start() - 1 : link.start()] in _COMPARED
        or (quoted.isalnum() and _ATTRIBUTE.search(window, 0, link.start()))
        or (quoted.isalpha() and _PARAMETER.search(window, 0, link.start() + 1))
    ):
        return True
    value = bare.rstrip(TRAIL)
    if _LOOSE.fullmatch(sign) and (is_hyphenated(value) or is_name(value)):
        return True
    if sign[:1] not in _LISTING:
        return False
    return quoted.isalpha() or bool(_ARGUMENT.match(bare)) or bool(_VARIABLE.match(window)) or _is_row(value)


def _is_row(value: str) -> bool:
    """Return whether a value is a row of a table, without a cell that looks like a password."""
    cells = _CELL.split(value)
    return len(cells) >= _LEAST_CELLS and not any(map(is_spoken_password, set(cells)))

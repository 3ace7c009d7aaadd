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
_DIGEST: Final = 32
_SMALL: Final = re.compile("(?=(?:[a-z]*[0-9]){4})[a-z0-9]{18,64}")
_DIGIT: Final = re.compile("[0-9]+")
_LEAST_NUMBERS: Final = 2
_LONG: Final = 24
"""Characters of a random value that may have a single number."""
_LEAST_RANDOM: Final = 16
_LEAST_CHANGES: Final = 0.35
_LEAST_CHANGES_OF_SMALL: Final = 0.4
_RARE_SIGNS: Final = frozenset("!#$%^?@~+&*")
_LEAST_SIGNS: Final = 3
_LONG_NUMBER: Final = 2
_OBJECT: Final = "eyJ"
"""How an object of JSON begins in base64; rules of their own judge tokens that consist of such parts."""
_ALGORITHM: Final = re.compile("(?:SHA|AES|RSA|MD|HMAC|PBE|DES|ECDH|UTF)[0-9]")
"""The names of algorithms in the names of code."""
_PER_WORD: Final = 16
_PER_WORD_WITH_SIGNS: Final = 26
"""Characters of a random value for each group of letters in it that might be a word."""
_KINDS: Final = (str.islower, str.isupper, str.isdecimal)
_SENTENCE: Final = re.compile(r"\0|\n[ \t]*\n|[.!?](?=\s)|[。！？]")
_PARAGRAPH: Final = re.compile("\0|\n[ \t]*\n")
_NAMED: Final = re.compile(
    r"(?i:\b(?:(?:open|union|app)?_?ids?|uuid|hash|commits?|sha-?[0-9]*|digest|checksum|fingerprint|empreinte|huella"
    r"|prüfsumme|builds?|version|tenants?|sessions?|clients?|devices?|customers?|objects?|records?|rows?|ticket|issue|order|trace|request|video"
    r"|document|sheet|folder|file|nonce|etag|revision|branch|job|run|channel"
    r"|integrity|public[ -]key(?:[ -]material)?|cid|objectid|address|adresse|tx|transaction|image|layer|model"
    r"|cookie name)s?)"
    r"\W{1,4}(?:\S{1,24}\W{1,3}){0,2}\Z|(?:编号|哈希|摘要|提交|指纹|コミット|ハッシュ|指紋|番号)\W{0,3}\Z"
)
"""What a value is named as, at most two words before it, if it is no secret."""
_BLOCK: Final = re.compile(r"[0-9A-Za-z+/]{30}[ \t]*\r?\n[ \t]*\Z")
_BLOCK_GOES_ON: Final = re.compile(r"[ \t]*\r?\n[ \t]*[0-9A-Za-z+/]{30}")
"""The neighboring lines of a line of a certificate or of other data in base64."""
_DIGEST_WORDS: Final = re.compile(
    r"(?i:\b(?:hash(?:e[sd]|ing)?|commit\w*|sha-?[0-9]*|md5|digests?|blake[23]?[bs]?|somme|checksums?"
    r"|fingerprints?|empreinte|huella|prüfsumme"
    r"|revision|bisect|rebase[d]?|merged?|branch|images?|layers?|blobs?|etag|tra[cz][ea]s?(?:_?id)?|spans?|events?|evento"
    r"|requests?|uuid|ids?|git|builds?"
    r"|cert\w*|serial|thumbprint|nonce|salt|cache\w*|files?|objects?|block|tx|version)\b)"
    r"|\b(?:fix(?:ed|es)?|bugs?|corrig\w+|behoben)\b|修正|不具合|修复|日志|ログ|\blogs?\b|校验[值和码]|チェックサム"
    "|编号|哈希|摘要|提交|指纹|镜像|证书|コミット|ハッシュ|指紋|証明書|番号|リクエスト|トレース|イベント"
)
"""Words around a hexadecimal number that is a digest or an identifier."""


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


def is_digest_named(part: str) -> bool:
    """Return whether a part of a sentence speaks of a digest or an identifier."""
    return _DIGEST_WORDS.search(part) is not None

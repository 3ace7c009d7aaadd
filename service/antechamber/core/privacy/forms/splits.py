"""Splits: the pieces of a divided token in rows, each of which is read as one text.

A token may be divided among neighboring texts of an event, cut into groups of equal length, or have words, code or
markup between its pieces. A row is a guess, so that only rules for tokens with a form of their own search it.
"""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import compress, islice, pairwise
from operator import itemgetter
from typing import Final

from antechamber.core.privacy.automata import Offsets, compile_pattern, compile_set, search
from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.values.bounds import changes_often, longest_run_of, share_of_changes

Row = Sequence[tuple[int, str]]
"""Pieces in the order in which they are read, each with its offset in the text."""
_FIRST: Final = re.compile("[0-9A-Za-z_+=~-]{1,200}")
_SIGNS: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_+=~-")
_WHOLE: Final = re.compile("[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Digests and UUIDs, which are no halves of a token."""
_DIGIT: Final = re.compile("[0-9]")
_SHORTEST: Final = 16
"""Characters of the shortest token that is searched in rows."""
_LONGEST_WORDS: Final = 24
"""Letters of two words in one that are no token."""
EDGE: Final = 200
"""Characters at the end of one text and at the beginning of the next in which such a token may be."""
_MOST: Final = 5
"""Number of texts among which a token may be divided."""


def is_joint(left: str, right: str) -> bool:
    """Return whether a token may be divided between the end of one text and the beginning of the next."""
    first = _FIRST.match(right)
    last = _FIRST.match(left[: -EDGE - 1 : -1])
    if first is None or last is None:
        return False
    head, tail = first[0], last[0]
    token = tail + head
    return (
        len(token) >= _SHORTEST
        and may_be_random(token)
        and _WHOLE.fullmatch(tail[::-1]) is None
        and _WHOLE.fullmatch(head) is None
    )


def may_be_random(token: str) -> bool:
    """Return whether a token has a digit, or letters as no word has them."""
    # Most neighbors are words, which a method of strings recognizes sooner than a pattern.
    if token.isalpha():
        return not token.islower() and len(token) >= _LONGEST_WORDS and changes_often(token)
    return _DIGIT.search(token) is not None


def rows_of_texts(texts: Sequence[str]) -> list[Row]:
    """Return rows of two to five neighboring texts in which a divided token may be; most events have none.

    The texts are in their order in the event, with a separator between two of them.
    """
    joints = [
        len(left) + len(right) >= _SHORTEST and left[-1:] in _SIGNS and right[:1] in _SIGNS and is_joint(left, right)
        for left, right in pairwise(texts)
    ]
    if True not in joints:
        return []
    origins = [0]
    for text in texts:
        origins.append(origins[-1] + len(text) + len(SEPARATOR))
    rows: list[Row] = []
    for first, joint in enumerate(joints):
        if not joint:
            continue
        cut = max(0, len(texts[first]) - EDGE)
        row = [(origins[first] + cut, texts[first][cut:])]
        for last in range(first + 1, min(first + _MOST, len(texts))):
            if not joints[last - 1]:
                break
            rows.append([*row, (origins[last], texts[last][:EDGE])])
            if len(texts[last]) > EDGE:
                break
            row.append((origins[last], texts[last]))
    return rows


_SEEDS: Final = {1: 6, 2: 5, 3: 5, 4: 4, 5: 4, 6: 4, 7: 3, 8: 3}
"""Groups in a row, by their length, around which more are looked for; words of equal length in a row are rare."""
GROUPS: Final = tuple(
    rf"(?:\A|[^0-9A-Za-z_])([0-9A-Za-z_]{{{size}}}(?:[^0-9A-Za-z_]{{1,3}}[0-9A-Za-z_]{{{size}}}){{{count - 1}}})"
    rf"(?:\z|[^0-9A-Za-z_])"
    for size, count in _SEEDS.items()
)
_SIZES: Final = tuple(_SEEDS)
_MAY_HOLD: Final = compile_set(*GROUPS)
_PATTERNS: Final = [compile_pattern(pattern) for pattern in GROUPS]
_GAP: Final = re.compile("[^0-9A-Za-z_]{1,3}")
_PIECE: Final = re.compile("[0-9A-Za-z_+/=~.-]+")
_MOST_SEEDS: Final = 16
_MOST_GROUPS: Final = 256
_NO_SIGNS: Final = str.maketrans("", "", "_+/=~.-")
_FIRST_WORDS: Final = 4
"""Groups at the beginning that may be words before the token."""


def rows_of_groups(text: str, data: bytes) -> list[Row]:
    """Return rows of groups of equal length with equal gaps, as in `abcd efgh ijkl`; `data` is the text in UTF-8."""
    rows: list[Row] = []
    for index in _MAY_HOLD(data):
        point, end = Offsets(data), 0
        for seed in islice(_find_seeds(index, data), _MOST_SEEDS):
            start = point(seed)
            if start >= end:
                groups = _extend(text, start, _SIZES[index])
                end = groups[-1][0]
                rows += _rows_without_words(groups)
    return rows


def _find_seeds(index: int, data: bytes) -> Iterator[int]:
    place = 0
    while (spans := search(_PATTERNS[index], data, place, len(data))) is not None:
        yield spans[1][0]
        place = spans[1][1]


def _extend(text: str, start: int, size: int) -> list[tuple[int, str]]:
    """Return all groups around the first one of a seed; the last may be shorter."""
    gap = _GAP.match(text, start + size)
    between = gap[0] if gap else ""
    step = size + len(between)
    while (
        start >= step
        and text.startswith(between, start - len(between))
        and _PIECE.fullmatch(text, start - step, start - len(between))
    ):
        start -= step
    if start and _PIECE.match(text, start - 1, start):
        # The end of a longer word is no group.
        start += step
    groups: list[tuple[int, str]] = []
    while len(groups) < _MOST_GROUPS and (piece := _PIECE.match(text, start, start + size)) is not None:
        groups.append((start, piece[0]))
        if len(piece[0]) < size or not text.startswith(between, start + size):
            break
        start += step
    return groups


def _rows_without_words(groups: Row) -> Iterator[Row]:
    """Yield groups without words before the first, and with and without the last, which may be the word behind."""
    for first in range(_FIRST_WORDS):
        for last in (len(groups), len(groups) - 1):
            if _may_be_token(groups[first:last]):
                yield groups[first:last]
        if first >= len(groups) or not groups[first][1].isalpha():
            return


def _may_be_token(row: Row) -> bool:
    """Return whether pieces in one are long enough for a token, and neither a number nor words."""
    joined = "".join(map(itemgetter(1), row))
    letters = joined.translate(_NO_SIGNS)
    is_word = letters.isalpha() and (letters.islower() or letters.isupper())
    return len(joined) >= _SHORTEST and not is_word and not joined.isdigit()


_RUN: Final = re.compile(r"-?[0-9A-Za-z_][0-9A-Za-z_+/~.-]*={0,2}")
_WINDOW: Final = 500
"""Characters around the beginning of a token in which its other pieces are, …"""
_MOST_PIECES: Final = 6
"""… and their number."""
_BEFORE: Final = 3
"""Pieces before the beginning that may be its end."""
_SHORTEST_REST: Final = 4
"""Characters of a rest that may still belong to the beginning, such as `b-` in `xoxb-`."""
_CLOSE: Final = 48
"""Maximum number of characters between the bare beginning of a token and its rest."""
_HEX: Final = re.compile(r"[0-9a-f.]{6,}\Z|[0-9a-f]{16}")
"""A commit or a digest, or what begins with one."""
_HEX_ONLY: Final = re.compile("[0-9a-f]+")
_LABELED: Final = re.compile("[A-Za-z]+[0-9]*[-/+]")
"""A value behind its label, such as `sha512-…`, is no piece of a token."""
_WORD: Final = re.compile("[A-Z]?[a-z]+|[0-9]{1,3}")
_NAMED: Final = re.compile("(?<![0-9A-Za-z])(?:[A-Z]?[a-z]{4,}|[A-Z]{4,})(?![0-9A-Za-z])")
"""A word in a name, such as `TABLE` in `ASN1_TABLE`."""
_MIXED: Final = re.compile("[0-9]|[a-z][A-Z]|[A-Z][a-z]*[A-Z]|^[A-Z]{3,8}$")
"""A digit, or capitals and small letters as no word has them."""
_SHORTEST_PIECE: Final = 6
"""Letters and digits in a row that the shortest piece has, …"""
_LONG_PIECE: Final = 12
"""… and those of a long one."""
_LONGEST_NAME: Final = 10
"""Letters of the shortest piece without a digit."""
_CHANGES: Final = 0.36
"""Runs of one kind of character per character of a piece with a digit; names with a number have fewer …"""
_CHANGES_OF_LONG: Final = 0.25
"""… and long ones still fewer; random hexadecimal digits have 0.47."""


_SHORT_BEGINNINGS: Final = frozenset({"hf_", "pk_", "re_", "rk_", "sg.", "sk-", "sk_", "xox"})
_SHORTEST_BEGINNING: Final = 4
_WORDS_OF_NAMES: Final = frozenset(
    {
        "access",
        "admin",
        "api",
        "apikey",
        "app",
        "auth",
        "auto",
        "bcrypt",
        "bearer",
        "begin",
        "cli",
        "console",
        "cred",
        "crypt",
        "dataset",
        "db",
        "default",
        "dev",
        "enable",
        "hook",
        "hooks",
        "kerberos",
        "key",
        "link",
        "live",
        "mid",
        "mob",
        "negotiate",
        "oapi",
        "openssh",
        "organizations",
        "password",
        "pat",
        "perm",
        "plugin",
        "preview",
        "priv",
        "private",
        "prod",
        "project",
        "pub",
        "pubkey",
        "public",
        "refresh",
        "sandbox",
        "scram",
        "scrypt",
        "sdk",
        "sec",
        "secret",
        "server",
        "service",
        "session",
        "sha",
        "snmp",
        "ssha",
        "string",
        "svc",
        "test",
        "tok",
        "token",
        "user",
        "username",
        "web",
        "webhook",
        "webhooks",
        "wh",
    }
)
_WITHIN: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-"
"""Signs behind which no token in pieces begins."""
_LETTERS: Final = re.compile("[a-z]+")


def is_beginning(literal: str) -> bool:
    """Return whether a literal, folded as the prefilter does, is specific to tokens, and no word of names."""
    if len(literal) < _SHORTEST_BEGINNING:
        return literal in _SHORT_BEGINNINGS
    return literal[0].isalpha() and not _WORDS_OF_NAMES.issuperset(_LETTERS.findall(literal))


def places_of(literals: Container[int], matches: Sequence[tuple[int, int, int]], data: bytes) -> list[tuple[int, int]]:
    """Return the spans of those matches of some literals, each with its index, before which a token may begin."""
    return [
        (start, end)
        for _, start, end in compress(matches, map(literals.__contains__, map(itemgetter(0), matches)))
        if not start or data[start - 1] not in _WITHIN
    ]


def rows_of_token(text: str, start: int, end: int, stop: int) -> list[Row]:
    """Return rows of a token and of the pieces around that may continue it, up to where another token begins.

    Its beginning, which all such tokens have, is known from `start` to `end`.
    """
    found = _runs_of(text, start, min(stop, start + _WINDOW))
    if not found or found[0][0] != start:
        return []
    # A sign at the end of a beginning is no end of a sentence.
    found[0] = start, max(found[0][1], text[start:end], key=len)
    first, rest = found[0], found[0][1][end - start :]
    if not rest or (len(rest) < _SHORTEST_REST and rest.endswith(("-", "_"))):
        return _row_of_next(text, found)
    is_random = _HEX_ONLY.fullmatch(rest) is None
    if _MIXED.search(rest) is None:
        # This may be a name, such as `hf_hub`; pieces of equal length show that it is none.
        return list(_rows_of_equal(found, is_random=is_random)) if len(rest) < _SHORTEST_PIECE else []
    around = [*_runs_of(text, max(0, start - _WINDOW), start), *found[1:]]
    pieces = [one for one in around if _is_piece(one[1], in_capitals=first[1].isupper())]
    if is_random:
        # The token is not hexadecimal, so that a hexadecimal run beside it is a commit or a digest.
        pieces = [one for one in pieces if _HEX.match(one[1]) is None]
    behind = [one for one in pieces if one[0] > start][:_MOST_PIECES]
    rows: dict[tuple[tuple[int, str], ...], None] = {
        (first, *behind[: count + 1]): None for count in range(len(behind))
    }
    rows |= dict.fromkeys(_rows_of_equal(found, is_random=is_random))
    rows |= {(first, one): None for one in [one for one in pieces if one[0] < start][-_BEFORE:]}
    return list(rows)


def _row_of_next(text: str, found: Sequence[tuple[int, str]]) -> list[Row]:
    """Return a row of the bare beginning of a token and of its rest, if that follows closely in one piece."""
    place = found[0][0] + len(found[0][1])
    follows = next((one for one in found[1:] if _is_piece(one[1])), None)
    if follows is None or follows[0] > place + _CLOSE or _LABELED.match(follows[1]) or _HEX.match(follows[1]):
        return []
    return [] if SEPARATOR in text[place : follows[0]] else [(found[0], follows)]


def _is_piece(run: str, *, in_capitals: bool = False) -> bool:
    """Return whether a run is random enough for a piece of a token: no word, name, number, digest or UUID.

    `in_capitals` says that the token consists of capitals and digits, so that a run of capitals is no word.
    """
    longest = longest_run_of(run)
    if len(longest) < _SHORTEST_PIECE:
        return False
    if run.isalnum() and run.isupper() and (in_capitals or not run.isalpha()):
        return True
    if _NAMED.search(run) or _WHOLE.fullmatch(run):
        return False
    changes = share_of_changes(longest)
    if longest.isalpha():
        # Names with abbreviations change often too.
        return len(longest) >= _LONGEST_NAME and changes >= _CHANGES
    return changes >= (_CHANGES if len(longest) < _LONG_PIECE else _CHANGES_OF_LONG)


def _runs_of(text: str, start: int, end: int) -> list[tuple[int, str]]:
    return [(match.start(), match[0].rstrip("./")) for match in _RUN.finditer(text, start, end)]


def _rows_of_equal(found: Sequence[tuple[int, str]], *, is_random: bool) -> Iterator[tuple[tuple[int, str], ...]]:
    """Yield rows of the first piece and those of its length, each also with a shorter piece at the end.

    `is_random` says that the token is not hexadecimal, so that hexadecimal runs are no pieces of it.
    """
    size = len(found[0][1])
    row = found[:1]
    for place, piece in found[1:]:
        if (
            len(piece) == size
            and _WORD.fullmatch(piece) is None
            and _NAMED.search(piece) is None
            and not (is_random and _HEX.match(piece))
        ):
            row = [*row, (place, piece)]
            yield tuple(row)
        elif len(piece) < size and len(row) > 1:
            yield (*row, (place, piece))

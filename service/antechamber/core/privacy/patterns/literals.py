"""What every match of a pattern needs: literals, or a run of token characters; the prefilter searches only for these.

Letters count as lower case and each digit as 0, so that a pattern of digits and signs has literals too.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

from antechamber.core.privacy.patterns import pattern_tree
from antechamber.core.privacy.patterns.pattern_tree import parse_pattern

_WIDEST: Final = 48
"""Code points of the widest range of a class that literals spell out."""
_MOST: Final = 500
"""Maximum number of alternative literals of one pattern."""
_MOST_SIGNS: Final = 5
"""Maximum number of signs of a class that literals spell out."""
_FARTHEST: Final = 4_000
"""Characters of the longest match whose surroundings alone are searched."""
_MOST_EXACT: Final = 6
"""Maximum number of alternative literals that are searched one by one."""
_RARE_LENGTH: Final = 3
"""Characters from which a literal is rare enough."""
_SIGNS: Final = frozenset("@$<\x1b\\|")
"""Characters that are rare enough alone."""
_TOKEN_SIGNS: Final = frozenset(map(ord, "+/=_-."))
_NAME_SIGNS: Final = frozenset(map(ord, "+_-"))
_ANY_CASE: Final = re.compile(r"\(\?[a-z]*i")
Words = frozenset[str]
_EMPTY: Final[Words] = frozenset({""})


class Needs(NamedTuple):
    """What every match of a pattern contains."""

    literals: Words | None
    """One of these, folded; None if no literal is rare enough."""
    exact: tuple[Words, ...]
    """One of each of these, as it is written."""
    run: int
    """Length of a run of letters, digits and signs of tokens."""
    digits: int = 0
    """Number of digits in a row with only signs between them."""
    name_run: int = 0
    """Length of a run of letters, digits, plus signs, underscores and hyphens."""
    reach: int | None = None
    """Characters that a match has at most, apart from runs without blanks; None if that is not known."""


def needs_of(pattern: str) -> Needs:
    """Return what every match of a pattern in the syntax of RE2 contains."""
    tree = parse_pattern(pattern)
    if tree is None:
        return Needs(None, (), 0)
    rare = [words for words in Reader(fold_text).groups(tree) if _is_rare(words)]
    in_case = _ANY_CASE.search(pattern) is None
    exact = [words for words in Reader(str).groups(tree) if _is_exact(words)] if in_case else []
    return Needs(
        max(rare, key=_score, default=None),
        tuple(dict.fromkeys(exact)),
        _run(tree, _TOKEN_SIGNS)[0],
        _digits(tree)[0],
        _run(tree, _NAME_SIGNS)[0],
        _reach(tree),
    )


_FOLDED: Final = {code: "0" if chr(code).isdigit() else chr(code).lower() for code in range(128)}


def fold_text(text: str) -> str:
    """Return a word as the prefilter sees it."""
    return text.translate(_FOLDED)


def without_longer(row: Iterable[str]) -> list[str]:
    """Return words without those that have another one of them in them, which a text then has too."""
    words = list(row)
    return [word for word in words if not any(other != word and other in word for other in words)]


def _is_rare(words: Words) -> bool:
    return all(
        (len(word) >= _RARE_LENGTH and len(set(word)) > 1) or not _SIGNS.isdisjoint(word) or not word.isascii()
        for word in words
    )


def _is_exact(words: Words) -> bool:
    """Return whether words are few enough to be searched one by one, and none is a letter or digit."""
    return len(words) <= _MOST_EXACT and all(len(word) > 1 or not word.isalnum() for word in words)


def _score(words: Words) -> tuple[int, int]:
    """Return how good literals are: long ones first, then few."""
    return min(*map(len, words), 5), -len(words)


class Reader:
    """Reads the literals of a parsed pattern; `fold` is the form in which they are returned."""

    longest = pattern_tree.LONGEST_WORD
    """Characters of a literal; more do not make it rarer."""
    most = 48
    """Maximum number of literals that are formed of alternatives in a row."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold
        # What was read, by the identity of the item: nested ones are asked for at each level.
        self._heads: dict[int, tuple[Words, bool]] = {}
        self._letters: dict[int, Words] = {}

    def groups(self, sequence: Iterable[Any]) -> list[Words]:
        """Return sets of literals, of each of which every match of a sequence contains one."""
        found: list[Words] = []
        current = _EMPTY
        for item in sequence:
            start, whole = self._head(item)
            joined = self._join(current, start)
            if joined is None:
                found.append(current)
                joined = start
            current = joined
            if not whole:
                found += [current, *self._inner(item)]
                current = _EMPTY
        return [words for words in (*found, current) if "" not in words]

    def _head(self, item: Any) -> tuple[Words, bool]:
        """Return the texts with which every match of an item begins, and whether they are all of it."""
        known = self._heads.get(id(item))
        if known is None:
            known = self._heads[id(item)] = self._read_head(item)
        return known

    def _read_head(self, item: Any) -> tuple[Words, bool]:
        op, value = item
        words: Words | None = None
        if op is pattern_tree.WORD:
            words = self._word(value)
        elif op is ops.LITERAL:
            words = self._letter(value)
        elif op is ops.AT:
            words = _EMPTY
        elif op is ops.IN:
            words = self._class(value)
        elif op is ops.SUBPATTERN:
            words = self._exact(value[-1])
        elif op is ops.BRANCH:
            words = _union([self._exact(branch) for branch in value[1]])
        elif op is ops.MAX_REPEAT or op is ops.MIN_REPEAT:
            return self._repeat(*value)
        return (_EMPTY, False) if words is None else (words, True)

    def _repeat(self, least: int, most: int, inner: Sequence[Any]) -> tuple[Words, bool]:
        once = self._exact(inner)
        if once is None:
            return _EMPTY, False
        if least == 0:
            return (once | {""}, True) if most == 1 else (_EMPTY, False)
        words = _EMPTY
        for _ in range(least):
            longer = self._join(words, once)
            if longer is None:
                return words, False
            words = longer
        return words, least == most

    def _exact(self, sequence: Iterable[Any]) -> Words | None:
        """Return all texts that a sequence matches, or None if they are too many."""
        words = _EMPTY
        for item in sequence:
            start, whole = self._head(item)
            joined = self._join(words, start) if whole else None
            if joined is None:
                return None
            words = joined
        return words

    def _inner(self, item: Any) -> list[Words]:
        """Return sets of literals, of each of which every match of an item contains one."""
        op, value = item
        match op:
            case ops.SUBPATTERN:
                return self.groups(value[-1])
            case ops.BRANCH:
                best = [max(self.groups(branch), key=_score, default=None) for branch in value[1]]
                words = _union(best)
                return [words] if words is not None else []
            case ops.MAX_REPEAT | ops.MIN_REPEAT if value[0] > 0:
                return self.groups(value[2])
        return []

    def _word(self, letters: str) -> Words:
        """Return the forms of letters in a row."""
        return frozenset({self._fold(letters)})

    def _letter(self, code: int) -> Words:
        """Return the forms of a sign; a letter beyond ASCII may be written in either case."""
        found = self._letters.get(code)
        if found is None:
            sign = chr(code)
            forms = {self._fold(sign)} if sign.isascii() else {sign, sign.lower(), sign.upper()}
            found = self._letters[code] = frozenset(forms)
        return found

    def _class(self, members: Sequence[Any]) -> Words | None:
        """Return the signs of a class, or None if they are too many or unknown."""
        codes: set[int] = set()
        for op, value in members:
            if op is ops.LITERAL:
                codes.add(value)
            elif op is ops.RANGE and value[1] - value[0] <= _WIDEST:
                codes.update(range(value[0], value[1] + 1))
            elif op is ops.CATEGORY and value is ops.CATEGORY_DIGIT:
                codes.update(range(48, 58))
            else:
                return None
        if all(code < 128 for code in codes):  # noqa: PLR2004 -- ASCII
            words = frozenset(map(self._fold, map(chr, codes)))
        else:
            words = frozenset[str]().union(*map(self._letter, codes))
        return words if len(words) <= _MOST_SIGNS else None

    def _join(self, first: Words, second: Words) -> Words | None:
        """Return each word of the first set followed by each of the second; None if they are too many or too long."""
        if second == _EMPTY:
            return first
        if first == _EMPTY:
            return second if len(second) <= self.most else None
        if len(first) * len(second) > self.most or max(map(len, first)) >= self.longest:
            return None
        return frozenset([(one + two)[: self.longest] for one, two in product(first, second)])


def _union(parts: Sequence[Words | None]) -> Words | None:
    if any(part is None for part in parts):
        return None
    words = frozenset[str]().union(*(part for part in parts if part is not None))
    return words if len(words) <= _MOST else None


def _run(sequence: Iterable[Any], signs: frozenset[int]) -> tuple[int, bool]:
    """Return the longest run of letters, digits and some signs, given by code, that every match of a sequence has.

    The second value is whether a match has no other signs, so that the run goes on with what follows.
    """
    best = current = 0
    whole = True
    for item in sequence:
        size, only = _run_of(item, signs)
        current = current + size if only else 0
        best = max(best, current, size)
        whole = whole and only
    return best, whole


def _run_of(item: Any, signs: frozenset[int]) -> tuple[int, bool]:
    """Return the same as `_run` for one item."""
    op, value = item
    found = (0, False)
    match op:
        case pattern_tree.WORD:
            found = len(value), True
        case ops.LITERAL:
            only = value in signs or (value < 128 and chr(value).isalnum())  # noqa: PLR2004 -- ASCII
            found = int(only), only
        case ops.AT:
            found = 0, True
        case ops.IN:
            only = _is_run_class(value, signs)
            found = int(only), only
        case ops.SUBPATTERN:
            found = _run(value[-1], signs)
        case ops.BRANCH:
            parts = [_run(branch, signs) for branch in value[1]]
            found = min(size for size, _ in parts), all(only for _, only in parts)
        case ops.MAX_REPEAT | ops.MIN_REPEAT:
            least, _, inner = value
            size, only = _run(inner, signs)
            found = size * (least if only else min(least, 1)), only
    return found


def _reach(sequence: Iterable[Any]) -> int | None:
    """Return how many characters a match has at most, apart from runs without blanks; None if that is not known."""
    total = 0
    for item in sequence:
        longest = _reach_of(item)
        if longest is None or total + longest > _FARTHEST:
            return None
        total += longest
    return total


def _reach_of(item: Any) -> int | None:
    op, value = item
    match op:
        case ops.AT | pattern_tree.WORD:
            return 0 if op is ops.AT else len(value)
        case ops.SUBPATTERN:
            return _reach(value[-1])
        case ops.BRANCH:
            parts = [_reach(branch) for branch in value[1]]
            return None if None in parts else max(part for part in parts if part is not None)
        case ops.MAX_REPEAT | ops.MIN_REPEAT:
            least, most, inner = value
            once = _reach(inner)
            if most is not ops.MAXREPEAT:
                return None if once is None else int(most) * once
            single = len(inner) == 1 and inner[0][0] is ops.IN and _is_run_class(inner[0][1], _TOKEN_SIGNS)
            return int(least) if single else None
    return 1


def _digits(sequence: Iterable[Any]) -> tuple[int, bool]:
    """Return the most digits in a row that every match of a sequence has, and whether it has no letters."""
    best = current = 0
    plain = True
    for item in sequence:
        number, signs = _digits_of(item)
        current = current + number if signs else 0
        best = max(best, current, number)
        plain = plain and signs
    return best, plain


def _digits_of(item: Any) -> tuple[int, bool]:
    """Return the same as `_digits` for one item."""
    op, value = item
    found = (0, False)
    match op:
        case ops.LITERAL:
            found = int(chr(value).isdigit()), not chr(value).isalpha()
        case ops.AT:
            found = 0, True
        case ops.IN:
            bounds = [bound for kind, limits in value for bound in _bounds(kind, limits)]
            digits = all(48 <= bound <= 57 for bound in bounds)  # noqa: PLR2004 -- the codes of 0 and 9
            signs = all(bound < 128 and not chr(bound).isalpha() for bound in bounds)  # noqa: PLR2004 -- ASCII
            found = int(digits), digits or signs
        case ops.SUBPATTERN:
            found = _digits(value[-1])
        case ops.BRANCH:
            parts = [_digits(branch) for branch in value[1]]
            found = min(number for number, _ in parts), all(signs for _, signs in parts)
        case ops.MAX_REPEAT | ops.MIN_REPEAT:
            least, _, inner = value
            number, plain = _digits(inner)
            found = number * (least if plain else min(least, 1)), plain
    return found


def _bounds(kind: Any, limits: Any) -> tuple[int, ...]:
    """Return the codes that bound a part of a class; one beyond ASCII if they are unknown."""
    if kind is ops.LITERAL:
        return (limits,) if limits != _NO_BREAK else (32,)
    if kind is ops.RANGE and (limits[1] <= 57 or limits[0] >= 48):  # noqa: PLR2004 -- a range around digits is unknown
        return tuple(limits)
    if kind is ops.CATEGORY and limits is ops.CATEGORY_DIGIT:
        return 48, 57
    return (0x110000 - 1,)


_NO_BREAK: Final = 0xA0
"""The no-break space, which counts as a blank between digits."""


def _is_run_class(members: Sequence[Any], signs: frozenset[int]) -> bool:
    """Return whether a class has only letters, digits and some signs."""
    for op, value in members:
        first, last = (value, value) if op is ops.LITERAL else value if op is ops.RANGE else (0, 0x10FFFF)
        if not all(code in signs or (code < 128 and chr(code).isalnum()) for code in {first, last}) or (  # noqa: PLR2004
            last - first > 25  # noqa: PLR2004 -- the letters of the alphabet
        ):
            return False
    return True

"""The prefilter: decides for most texts which rules and decoders cannot find anything.

Each pattern is reduced to literals of which every match has one, or to shapes if it has no rare literal, and to the
runs of digits and of token characters that every match has. One automaton of Aho and Corasick finds all literals and
context words in a text, another one all shapes; the runs are found in copies of the text that have one sign for each
class of characters. All are linear in the text, whatever it says.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from itertools import compress
from operator import itemgetter, or_
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.splits import is_beginning, places_of
from antechamber.core.privacy.forms.texts import (
    NAME,
    NUMBER,
    SHORT,
    SHORTEST_NAME,
    SHORTEST_NUMBER,
    SHORTEST_TOKEN,
    SIZES,
    TOKEN,
    Text,
)
from antechamber.core.privacy.patterns.context_words import forms_of
from antechamber.core.privacy.patterns.literals import fold_text, without_longer
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.search.broken_beginnings import halves_of
from antechamber.core.privacy.search.rule_needs import context_of, needs_of_rule, shapes_of_rule
from antechamber.core.privacy.search.shapes import (
    COARSE_SIGNS,
    coarse_shape,
    count_reached,
    fine_shape,
    longest_word_of,
    traits_of,
    without_repeats,
)

_TOKENS: Final = (12, 16, 20, SHORTEST_TOKEN, 28, 32, 36, 41, 44, 50, 64, 80)
"""Lengths of runs of token characters that make a difference."""
_NAMES: Final = (SHORTEST_NAME, 20, 24, 30, 33, 36, 41, 44, 64)
"""Lengths of runs of letters, digits, plus signs, underscores and hyphens that make a difference."""
_DIGITS: Final = (SHORTEST_NUMBER, 6, 8, 9, 10, 11, 13)
"""Numbers of digits in a row, whatever signs are between them, that make a difference."""
_FOLDED: Final = bytes.maketrans(b"123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"000000000abcdefghijklmnopqrstuvwxyz")
_TOKEN_SIGNS: Final = b"+/=_.-"
_IS_TOKEN: Final = bytes(97 if chr(code).isalnum() or code in _TOKEN_SIGNS else 32 for code in range(128)) + b" " * 128
"""Maps token characters to `a` and others to a blank."""
_IS_NAME: Final = bytes(97 if chr(code).isalnum() or code in b"+_-" else 32 for code in range(128)) + b" " * 128
"""Maps letters, digits and the signs of names to `a` and others to a blank."""
_CASES: Final = ("", digits, ascii_lowercase, ascii_uppercase)
_CASE: Final = bytes(sum(case * (chr(code) in signs) for case, signs in enumerate(_CASES)) for code in range(256))
"""Maps digits to 1, small letters in ASCII to 2, capital ones to 3 and all else to 0.

A context word in ASCII is a whole word, or a part of a name such as `employeeTfn`, where another case begins.
"""
_IS_DIGIT: Final = bytes(48 if chr(code).isdigit() else 97 for code in range(256))
"""Maps digits to `0` and letters to `a`, after everything else was removed."""
_BETWEEN: Final = b"\xff"
"""Marks the border between two texts where one sign is enough; it is part of no text in UTF-8."""
_SIGNS: Final = bytes(code for code in range(255) if not (chr(code).isascii() and chr(code).isalnum()))
_FIRST: Final = NAME.bit_length() - 1
_BORDER: Final = SEPARATOR.encode()
_DIGIT_RUNS: Final = tuple(b"0" * size for size in _DIGITS)
_TOKEN_RUNS: Final = tuple(b"a" * size for size in _TOKENS)
_NAME_RUNS: Final = tuple(b"a" * size for size in _NAMES)


Areas = tuple[tuple[int, int], ...]
"""Parts of a text, as byte offsets, in ascending order without overlap."""
_MOST_PLACES: Final = 64
"""Occurrences of the literals of a rule beyond which the whole text is searched."""
_WORDS: Final = 4
"""Binary logarithm of the words in a text that count as one unit of effort."""
_USUAL_RULES: Final = 150
"""Rules that a text may concern without effort; …"""
_RULE: Final = 4
"""… units of effort for each one more."""
_MORE_BYTES: Final = 3
"""Maximum number of bytes of a character beyond its first."""


class RuleCandidate(NamedTuple):
    """A rule that may find something in a text, and where."""

    rule: int
    areas: Areas | None
    """None for the whole text."""


class _Demand(NamedTuple):
    """What a text must have for one rule."""

    tokens: int
    """Number of the sizes of runs of token characters that it must reach."""
    names: int
    """The same of runs of the characters of names, which are fewer."""
    digits: int
    """Number of the sizes of runs of digits that it must reach."""
    exact: tuple[tuple[bytes, ...], ...]
    """Words of which it must have one of each row, as they are written."""
    reach: int | None
    """Characters around a literal in which a match is; None if that is not known."""
    words: frozenset[int]
    """Context words, as indexes of literals, of which it must have one; empty if none is needed."""


class Prefilter:
    """Finds the rules that may find something in a text."""

    def __init__(self, rules: Mapping[int, Rule], forms: Iterable[int] = ()) -> None:
        """Compile rules by their indexes; a set of rules is an integer with the bit of each rule's index.

        `forms` are the indexes of those for tokens with a form of their own, which may be in pieces.
        """
        self.rules = rules
        self._demands: dict[int, _Demand] = {}
        self._always = 0
        """Rules without literals and shapes."""
        self._shaped: dict[str, int] = {}
        """The rules that need one of some shapes, by shape."""
        self._named: dict[int, frozenset[int]] = {}
        """The literals of each rule, as indexes."""
        self._places: dict[str, int] = {}
        self._sources: list[int] = []
        """The rules that need one of some literals, by the index of the literal."""
        self._loose: set[int] = set()
        """Literals that may be parts of words: those of patterns, and context words of other scripts."""
        for index, rule in rules.items():
            self._add(index, rule)
        # A single sign may occur everywhere in a text, and each occurrence of a literal costs time.
        self._signs = [(word.encode(), place) for word, place in self._places.items() if len(word) == 1]
        self._plain_signs = [(sign, place) for sign, place in self._signs if sign.isascii()]
        words = [word for word in self._places if len(word) > 1]
        self._indexes = [self._places[word] for word in words]
        self._whole_words = frozenset(index for index, place in enumerate(self._indexes) if place not in self._loose)
        self._literals = _automaton(words, Implementation.ContiguousNFA)
        # A shape that has only digits matches at each digit of a longer number, so each of them is searched by itself.
        self._digit_shapes = [(shape.encode(), rules) for shape, rules in self._shaped.items() if not shape.strip("0")]
        # The others have five signs, so that even a table of all transitions is small and read in half the time.
        self._shapes = _automaton((shape for shape in self._shaped if shape.strip("0")), Implementation.DFA)
        self._shape_rules = [rules for shape, rules in self._shaped.items() if shape.strip("0")]
        self._longest_word = longest_word_of(self._shaped)
        self._any_shaped = reduce(or_, self._shaped.values(), 0)
        self._coarse = frozenset(shape for shape in self._shaped if not COARSE_SIGNS.isdisjoint(shape))
        self._whole = {index: RuleCandidate(index, None) for index in rules}
        indexes = {place: index for index, place in enumerate(self._indexes)}
        begun = frozenset[int]().union(*(self._named.get(rule, ()) for rule in forms))
        self._beginnings = {i for i, word in enumerate(words) if self._indexes[i] in begun and is_beginning(word)}
        self._begun = {self._indexes[index] for index in self._beginnings}
        self.halves = halves_of(frozenset(words[index] for index in self._beginnings))
        """The halves of what tokens with a form of their own begin with."""
        self._nearby = {index: self._find_nearby(index, indexes) for index in rules}
        """The literals around which each rule is searched in a long text, as indexes of the automaton; else None."""
        self._picky = {index: demand for index, demand in self._demands.items() if demand.words or demand.exact}
        self._by_tokens = self._rules_by_level(len(_TOKENS), lambda demand: demand.tokens)
        self._by_names = self._rules_by_level(len(_NAMES), lambda demand: demand.names)
        self._by_digits = self._rules_by_level(len(_DIGITS), lambda demand: demand.digits)
        self._possible = [self._possible_with(traits) for traits in range(0, SIZES + NAME, NAME)]
        """The rules that a text may concern, by its traits that are no steps of decoding."""
        self._forms = [self._forms_with(traits) for traits in range(0, SIZES + NAME, NAME)]
        """The forms in which shapes of these rules may be, by the same traits."""

    def _rules_by_level(self, most: int, level_of: Callable[[_Demand], int]) -> list[int]:
        """Return the rules whose demand a text satisfies that reaches each level."""
        return [
            sum(1 << index for index, demand in self._demands.items() if level_of(demand) <= level)
            for level in range(most + 1)
        ]

    def _possible_with(self, traits: int) -> int:
        """Return the rules that a text with some traits may concern."""
        impossible = self._any_shaped
        for shape, rules in self._shaped.items():
            if not traits_of(shape) & ~traits:
                impossible &= ~rules
        return (
            self._by_names[-1 if traits & NAME else 0]
            & self._by_digits[-1 if traits & NUMBER else 0]
            & self._by_tokens[-1 if traits & TOKEN else _TOKENS.index(SHORTEST_TOKEN)]
            & ~impossible
        )

    def _forms_with(self, traits: int) -> list[Callable[[bytes], bytes]]:
        """Return the forms in which a text with some traits may have a shape of a rule that it may concern."""
        rules = self._possible[traits >> _FIRST]
        shapes = {shape for shape, source in self._shaped.items() if source & rules and not traits_of(shape) & ~traits}
        return [
            form for form, some in ((fine_shape, shapes - self._coarse), (coarse_shape, shapes & self._coarse)) if some
        ]

    def _add(self, index: int, rule: Rule) -> None:
        """Note what a rule demands, and the literals of which a text must have one."""
        needs = needs_of_rule(rule)
        needed = context_of(rule)
        # Beyond ASCII, the automaton knows only the forms that it is given.
        written = {form for word in needed for form in forms_of(word)}
        forms = {form for word in written for form in (word, word.upper(), word.title(), word.capitalize())}
        words = frozenset(self._place(fold_text(form)) for form in sorted(forms))
        self._loose.update(self._place(fold_text(form)) for form in forms if not form.isascii())
        literals = needs.literals
        digits = sum(size <= needs.digits for size in _DIGITS)
        # A single sign is found or missed soonest.
        rows = sorted(needs.exact, key=lambda row: (len(row), max(map(len, row))))
        exact = tuple(tuple(word.encode() for word in without_longer(row)) for row in rows)
        tokens = sum(size <= needs.run for size in _TOKENS)
        names = sum(size <= needs.name_run for size in _NAMES)
        if literals is not None:
            places = frozenset(map(self._place, literals))
            self._loose |= places
        else:
            places, words = words, frozenset()
        reach = needs.reach if places and rule.search is None else None
        if reach is not None:
            reach += (rule.context_distance if literals is None else 0) + 8
        self._demands[index] = _Demand(tokens, names, digits, exact, reach, words)
        self._named[index] = places
        for place in places:
            self._sources[place] |= 1 << index
        if not places:
            self._add_shapes(index, rule)

    def _add_shapes(self, index: int, rule: Rule) -> None:
        """Note the shapes of which a text must have one for a rule without literals."""
        shapes = shapes_of_rule(rule)
        for shape in shapes or ():
            self._shaped[shape] = self._shaped.get(shape, 0) | 1 << index
        if shapes is None:
            self._always |= 1 << index

    def _find_nearby(self, rule: int, indexes: Mapping[int, int]) -> frozenset[int] | None:
        """Return the literals around which a rule is searched; None if its reach is not known, or one is a sign.

        `indexes` has the index in the automaton of each place that is no sign.
        """
        named = self._named[rule]
        if self._demands[rule].reach is None or not named <= indexes.keys():
            return None
        return frozenset(indexes[place] for place in named)

    def _place(self, word: str) -> int:
        """Return the index of a literal."""
        place = self._places.setdefault(word, len(self._places))
        if place == len(self._sources):
            self._sources.append(0)
        return place

    @cached_property
    def of_prose(self) -> "Prefilter | None":
        """The prefilter of those rules that judge what a text says to its reader; None without any."""
        rules = {index: rule for index, rule in self.rules.items() if rule.kind == "hostile"}
        return Prefilter(rules) if rules else None

    def candidates(self, text: Text, effort: Effort) -> list[RuleCandidate]:
        """Return the rules that may find something in a text, in the order of their indexes; note what begins in it.

        Raises EffortSpentError if the text has too many of their words.
        """
        data = text.data(in_uuids=True)
        traits = text.traits >> _FIRST
        possible, forms = self._possible[traits], self._forms[traits]
        matches = self._literals.find_matches_as_indexes(data.translate(_FOLDED), overlapping=True)
        effort.spend(len(matches) >> _WORDS)
        words: set[int] = set()
        if matches:
            indexes, whole_words, case = self._indexes, self._whole_words, b"\0%b\0" % data.translate(_CASE)
            # Most context words are short, and the words around them have their letters too.
            matches = [
                (index, start, end)
                for index, start, end in matches
                if index not in whole_words
                or (case[start] in (0, 5 - case[start + 1]) and case[end + 1] in (0, 5 - case[end]))
            ]
            words = {*map(indexes.__getitem__, map(itemgetter(0), matches))}
            if not self._begun.isdisjoint(words):
                text.begun = places_of(self._beginnings, matches, data)
        for sign, place in self._signs if len(data) > text.length else self._plain_signs:
            if sign in data:
                words.add(place)
        found = self._always
        if forms:
            found |= self._of_shapes(data, forms)
        for word in words:
            found |= self._sources[word]
        found &= possible
        effort.spend(max(0, found.bit_count() - _USUAL_RULES) * _RULE)
        rules = self._satisfied(data, words, found)
        if len(data) < SHORT:
            return [self._whole[index] for index in rules]
        return self._with_exact(data, self._located(data, len(data) - text.length, rules, matches))

    def _of_shapes(self, data: bytes, forms: Iterable[Callable[[bytes], bytes]]) -> int:
        """Return the rules of which a text has a shape in one of some forms."""
        data = data.replace(_BORDER, _BETWEEN)
        places, found = set[int](), 0
        for form in forms:
            shape = form(data)
            repeated = without_repeats(shape, self._longest_word) if len(data) >= SHORT else shape
            matches = self._shapes.find_matches_as_indexes(repeated, overlapping=True)
            places.update(map(itemgetter(0), matches))
            found |= reduce(or_, (rules for digits, rules in self._digit_shapes if digits in shape), 0)
        return reduce(or_, (self._shape_rules[place] for place in places), found)

    def _satisfied(self, data: bytes, words: set[int], found: int) -> list[int]:
        """Return those of some rules whose demands a text satisfies, in order."""
        if found & ~self._by_names[0]:
            found &= self._by_names[count_reached(data.translate(_IS_NAME), _NAME_RUNS)]
        if found & ~self._by_digits[0]:
            digits = data.replace(_BORDER, _BETWEEN).translate(_IS_DIGIT, _SIGNS)
            found &= self._by_digits[count_reached(digits, _DIGIT_RUNS)]
        if found & ~self._by_tokens[0]:
            found &= self._by_tokens[count_reached(data.translate(_IS_TOKEN), _TOKEN_RUNS)]
        rules = []
        while found:
            index = (found & -found).bit_length() - 1
            found &= found - 1
            demand = self._picky.get(index)
            if demand is None or (
                not (demand.words and demand.words.isdisjoint(words))
                and (len(data) >= SHORT or _has_each(data, demand.exact))
            ):
                rules.append(index)
        return rules

    def _with_exact(self, data: bytes, candidates: list[RuleCandidate]) -> list[RuleCandidate]:
        """Return those candidates in a long text whose areas have the words that every match has."""
        whole: dict[tuple[bytes, ...], bool] = {}

        def has(row: tuple[bytes, ...], areas: Areas | None) -> bool:
            if areas is not None:
                return any(data.find(word, start, end) >= 0 for start, end in areas for word in row)
            # Many rules that are searched in the whole text need the same words.
            if row not in whole:
                whole[row] = _has_each(data, (row,))
            return whole[row]

        return [one for one in candidates if all(has(row, one.areas) for row in self._demands[one.rule].exact)]

    def _located(
        self, data: bytes, more: int, rules: list[int], matches: list[tuple[int, int, int]]
    ) -> list[RuleCandidate]:
        """Return the candidates in a long text, each with the surroundings of its literals.

        `more` is how many bytes more than characters the text has.
        """
        near = {rule: self._nearby[rule] for rule in rules}
        present = {*map(itemgetter(0), matches)}
        wanted = present & frozenset[int]().union(*filter(None, near.values()))
        places: dict[int, list[tuple[int, int]]] = {index: [] for index in wanted}
        for index, start, end in compress(matches, map(wanted.__contains__, map(itemgetter(0), matches))):
            found = places[index]
            if len(found) <= _MOST_PLACES:
                found.append((start, end))
        candidates = []
        for rule, literals in near.items():
            areas = None
            if literals is not None:
                spots = sorted(spot for index in literals & wanted for spot in places[index])
                if len(spots) <= _MOST_PLACES:
                    reach = self._demands[rule].reach or 0
                    areas = _find_areas(data, spots, reach + min(more, reach * _MORE_BYTES))
            candidates.append(RuleCandidate(rule, areas))
        return candidates


def _automaton(words: Iterable[str], implementation: Implementation) -> BytesAhoCorasick:
    return BytesAhoCorasick([word.encode() for word in words], implementation=implementation)


def _find_areas(data: bytes, spots: list[tuple[int, int]], reach: int) -> Areas:
    """Return the surroundings of some spans; each begins after a blank and ends with one."""
    areas: list[tuple[int, int]] = []
    for start, end in spots:
        first = max(0, data.rfind(b" ", 0, max(0, start - reach)))
        last = data.find(b" ", end + reach) + 1 or len(data)
        if areas and first <= areas[-1][1]:
            areas[-1] = (areas[-1][0], max(last, areas[-1][1]))
        else:
            areas.append((first, last))
    return tuple(areas)


def _has_each(data: bytes, rows: tuple[tuple[bytes, ...], ...]) -> bool:
    """Return whether a text has a word of each row."""
    for row in rows:
        for word in row:
            if word in data:
                break
        else:
            return False
    return True

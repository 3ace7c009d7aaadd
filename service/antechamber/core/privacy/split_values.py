"""Split values: parts of one credential that come in several events of a producer.

Only fragments that could be a part of a credential are compared: words with a letter beside a digit, and words that
end in a hyphen. Words and identifiers without digits are none, and no plain hexadecimal numbers: behind the mere name
of a prefix these, mostly hashes and ids, would look like a credential.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.effort import EffortSpentError
from antechamber.core.privacy.forms.texts import Text
from antechamber.core.privacy.patterns.literals import fold_text
from antechamber.core.privacy.search.engine import Engine, Search
from antechamber.core.privacy.values.bounds import changes_often, longest_run_of

MAX_FRAGMENTS: Final = 4
"""Maximum number of fragments of one event: its first two and its last two."""
MAX_FRAGMENT: Final = 128
"""Characters of the longest fragment."""
_SHORTEST: Final = 6
_SHORTEST_VALUE: Final = 16
"""Characters of the shortest value that is looked for."""
_MAY_HOLD: Final = compile_set(r"[A-Za-z](?:[0-9]|-[^A-Za-z0-9])|[0-9][A-Za-z]")
"""What every text with fragments has; RE2 finds that nothing matches in a tenth of the time."""
_FRAGMENT: Final = re.compile(
    r"(?<![A-Za-z0-9_+/=.-])(?:"
    r"(?=[A-Za-z0-9_+/=.-]{0,128}?(?:[A-Za-z][0-9]|[0-9][A-Za-z]))[A-Za-z0-9_+/=.-]++"
    r"|[A-Za-z-]++(?<=-)(?![A-Za-z0-9_+/=.]))"
)
_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]{0,60}=(?=[^=])")
"""The name of a variable, and the sign before its value."""
_BEGINNING: Final = re.compile("[A-Za-z-]+-")
"""A fragment that may be the beginning of a token, without anything of its random part."""
_SHORTEST_RUN: Final = 12
_HEX: Final = re.compile(r"[0-9a-f-]+|[0-9A-F-]+")


class Fragment(Struct, frozen=True):
    """A part of a text that could be a part of a credential: its code points in the string at a pointer."""

    pointer: str
    start: int
    end: int
    text: str


class TokenSearch:
    """Decides quickly whether joined values hold a token with a form of its own, by the rules for secrets.

    Nothing is decoded: most joined values are noise, in which decoders would find more noise.
    """

    def __init__(self, engine: Engine) -> None:
        fitting = frozenset(index for index, matcher in enumerate(engine.matchers) if matcher.fits(("split",)))
        self.rule_ids = frozenset(engine.rules[index].rule_id for index in fitting)
        self._engine = engine
        self._prefilter = engine.prefilter(fitting)
        self._beginnings = tuple(sorted(self._prefilter.halves.wholes))

    def is_beginning(self, fragment: str) -> bool:
        """Return whether a fragment begins as the tokens of some service do, which few words of a text do."""
        return fold_text(fragment).startswith(self._beginnings)

    def may_find(self, values: list[str]) -> bool:
        """Return whether the rules may find something in one of the values."""
        try:
            return Search(self._engine, self._prefilter).finds(Text(SEPARATOR.join(values)))
        except EffortSpentError:
            return True


def may_hold_fragment(text: str) -> bool:
    """Return quickly whether canonical JSON without escapes may hold fragments."""
    return bool(_MAY_HOLD(text.encode(errors="replace")))


def fragments_of(strings: Iterable[tuple[str, str]]) -> list[Fragment]:
    """Return the fragments of an event, given as pointers and strings; at most `MAX_FRAGMENTS`."""
    found = [fragment for pointer, text in strings for fragment in _fragments_in(text, pointer)]
    half = MAX_FRAGMENTS // 2
    return found if len(found) <= MAX_FRAGMENTS else [*found[:half], *found[-half:]]


def _fragments_in(text: str, pointer: str) -> Iterator[Fragment]:
    """Yield the fragments of a string, each without the name of a variable before it, as in `PART_1=…`."""
    for match in _FRAGMENT.finditer(text):
        name = _NAME.match(match[0])
        value = match[0][name.end() if name is not None else 0 :]
        start, value = match.end() - len(value), value.rstrip(".,")
        if _SHORTEST <= len(value) <= MAX_FRAGMENT and not _HEX.fullmatch(value):
            yield Fragment(pointer, start, start + len(value), value)


def joined_values(earlier: list[list[str]], fragments: list[Fragment]) -> Iterator[tuple[Fragment, str]]:
    """Yield what the fragments of an event and those of earlier ones, the oldest first, give in one piece.

    Each value comes with the fragment of the event that is in it: an earlier fragment before or behind it, or all
    fragments of several earlier events before it. Behind the mere beginning of a token, which documents name too, only
    random letters and digits count.
    """
    for fragment in fragments:
        for texts in reversed(earlier):
            for text in texts:
                for pieces in ([text, fragment.text], [fragment.text, text]):
                    if _may_be_token(pieces):
                        yield fragment, "".join(pieces)
        chain = [fragment.text]
        for number, texts in enumerate(reversed(earlier)):
            chain = [*texts, *chain]
            if number and _may_be_token(chain):
                yield fragment, "".join(chain)


def _may_be_token(pieces: list[str]) -> bool:
    """Return whether fragments in one piece are long enough for a token, and random behind a mere beginning."""
    if sum(map(len, pieces)) < _SHORTEST_VALUE:
        return False
    bare = max((index for index, piece in enumerate(pieces) if _BEGINNING.fullmatch(piece)), default=-1)
    if bare < 0:
        return True
    run = longest_run_of("".join(pieces[bare + 1 :]))
    return len(run) >= _SHORTEST_RUN and changes_often(run)

"""A text in the forms that rules and decoders read, and its traits: what one pass of RE2 finds out about it.

Most texts have few traits, and what needs another trait is then left out without a look of its own.
"""

import re
from collections.abc import Sequence
from typing import Final

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.forms.joined_literals import JOINED
from antechamber.core.privacy.forms.joints import MARKUP_TAG
from antechamber.core.privacy.forms.named_encodings import NAMES
from antechamber.core.privacy.forms.runs import CODES
from antechamber.core.privacy.forms.selectors import SELECTORS
from antechamber.core.privacy.forms.spaced_values import GAPPED
from antechamber.core.privacy.forms.splits import GROUPS
from antechamber.core.privacy.forms.tables import NAMED_COLUMN

SHORT: Final = 1_500
"""Bytes of a text that is always searched as a whole."""
_UUID: Final = re.compile(
    r"(?<![0-9a-z-])[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-z-])", re.IGNORECASE
)
_SHAPE: Final = bytes(120 if chr(code) in "0123456789abcdefABCDEF" else code for code in range(256))
_UUID_SHAPE: Final = b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
_MASK: Final = "\x01" * 36
"""What a rule sees in the place of a UUID."""
_ALNUM: Final = "[0-9A-Za-z]"
_SIGN: Final = r"[0-9A-Za-z_+/=.~-]"
_BLANK: Final = r"[\x00-\x2a\x2c\x3a-\x3c\x3e-\x40\x5b-\x5e\x60\x7b-\x7d\x7f]"
"""An ASCII sign that is none of a token."""
_ESCAPE: Final = (
    r"%(?:u[0-9A-Fa-f]{2})?[0-9A-Fa-f]{2}|\\[\"'/\\nrtuUx0-3_.*=#+!~-]|&[#A-Za-z]|=(?:[0-9A-F]{2}|\r?\n)|[\x{e0020}-\x{e007e}]"
    f"|[{SELECTORS}]{{4}}"
)
_JOINED: Final = (
    r"[\"'`][ \t,|.<+&~_\\\r\n-]*[\"'`][!-~]|[\"'`][ \t]*;?[ \t]*\r?\n[ \t]*[$@]?[0-9A-Za-z_.]+[ \t]*(?:[+.&]=|<<)|"
    r"[\"'`][ \t]*\)[^\"'`\n]{0,20}\n?[^\"'`\n]{0,60}\.(?:append|concat|add|push|write|put)\([ \t]*[\"'`]|"
    rf"{_SIGN}{{4}}(?:\*\*{_SIGN}|<(?:!--|{MARKUP_TAG}>))"
)
_STEPS: Final = (
    r"[\x01-\x08\x0b-\x1f\x7f]|[^\x00-\x7f]",
    _JOINED,
    rf"[0-9A-Za-z_+/=.~ \t\\\r\x{{21a9}}\x{{21b5}}-]\n[ \t>|*#/;-]*{_SIGN}{{4}}",
    rf"{_ALNUM}(?:{_BLANK}{{1,2}}{_ALNUM}){{3}}|{GAPPED}",
    _ESCAPE,
    rf"{_ALNUM}{{16}}",
    rf"{_ALNUM}{{2}}(?:{_BLANK}{_ALNUM}{{2}}){{7}}|0x{_ALNUM}{{2}}(?:{_BLANK}+0x{_ALNUM}{{2}}){{7}}",
    NAMED_COLUMN,
)
"""What a text has in which a step of decoding is possible."""
_WORDS: Final = (NAMES, JOINED)
"""The same of steps that depend on words; with the others in one automaton these would have too many states."""
_ROWS: Final = (CODES, "|".join(GROUPS))
"""The same of steps that read rows of equal parts."""
FOLD, QUOTED, WRAPPED, SPACED, ESCAPED, RUN, PAIRS, TABLE, NAMED, LITERALS, CODED, GROUPED = (
    1 << place for place in range(len(_STEPS) + len(_WORDS) + len(_ROWS))
)
"""Traits: each step of decoding that is possible."""
DECODABLE: Final = (GROUPED << 1) - 1
"""All of them."""
NAME: Final = GROUPED << 1
"""Trait: a run of `SHORTEST_NAME` letters, digits, plus signs, underscores and hyphens."""
NUMBER: Final = NAME << 1
"""Trait: `SHORTEST_NUMBER` digits in a row, whatever signs are between them, in one of the texts of an event."""
TOKEN: Final = NUMBER << 1
"""Trait: a run of `SHORTEST_TOKEN` letters, digits and signs of tokens."""
MIXED: Final = TOKEN << 1
"""Trait: a letter beside two digits."""
SIZES: Final = NAME | NUMBER | TOKEN | MIXED
"""The traits that are no steps of decoding; long texts count as having all."""
SHORTEST_NAME: Final = 16
SHORTEST_NUMBER: Final = 4
SHORTEST_TOKEN: Final = 24
_NAME: Final = f"[0-9A-Za-z+_-]{{{SHORTEST_NAME}}}"
# No value reaches from one text of an event into the next: between the two is a NUL after a line break.
_NUMBER: Final = rf"[0-9]\x00*(?:(?:\n|[^0-9A-Za-z\n\x00]\x00*)*[0-9]\x00*){{{SHORTEST_NUMBER - 1}}}"
_TOKEN: Final = f"[0-9A-Za-z+/=_.-]{{{SHORTEST_TOKEN}}}"

_MIXED: Final = "[A-Za-z][0-9]{2}|[0-9]{2}[A-Za-z]"


_LOOK: Final = compile_set(*_STEPS, _NAME, _NUMBER, _TOKEN, _MIXED)
_BITS: Final = [*(1 << place for place in range(len(_STEPS))), NAME, NUMBER, TOKEN, MIXED]
"""The trait of each of these patterns."""
_LOOK_FOR_WORDS: Final = compile_set(*_WORDS)
_LOOK_FOR_ROWS: Final = compile_set(*_ROWS)
_LONG_LOOK: Final = compile_set(*_STEPS)
"""The same for long texts: of each combination of partial matches the automaton builds a state, at a few µs each."""


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID (RFC 9562) and nothing else."""
    return _UUID.fullmatch(text) is not None


class Text:
    """A text with the forms that rules need, each made once."""

    __slots__ = ("_data", "_masked", "_whole", "begun", "traits")

    def __init__(self, text: str) -> None:
        self._whole = text
        self._data = text.encode(errors="replace")
        self._masked: tuple[str, bytes] | None = None
        self.traits = _traits_of(self._data)
        """The traits of the text; each has a bit."""
        self.begun: Sequence[tuple[int, int]] = ()
        """Byte offsets of what tokens with a form of their own begin with; the prefilter notes them."""

    def text(self, *, in_uuids: bool) -> str:
        """Return the text, with or without the UUIDs in it; both have the same length."""
        return self._whole if in_uuids else self._without_uuids()[0]

    @property
    def length(self) -> int:
        """Number of characters."""
        return len(self._whole)

    def data(self, *, in_uuids: bool) -> bytes:
        """Return the text in UTF-8; RE2 would encode a string at each step."""
        return self._data if in_uuids else self._without_uuids()[1]

    def _without_uuids(self) -> tuple[str, bytes]:
        """Return the text without its UUIDs, and the same in UTF-8."""
        if self._masked is None:
            self._masked = self._whole, self._data
            if self.traits & NAME and _UUID_SHAPE in self._data.translate(_SHAPE):
                text = _UUID.sub(_MASK, self._whole)
                self._masked = text, text.encode(errors="replace")
        return self._masked


def _traits_of(data: bytes) -> int:
    if len(data) < SHORT:
        found, traits = _LOOK(data), 0
    else:
        found, traits = _LONG_LOOK(data), SIZES
    for place in found:
        traits |= _BITS[place]
    for word in _LOOK_FOR_WORDS(data):
        traits |= NAMED << word
    for row in _LOOK_FOR_ROWS(data):
        traits |= CODED << row
    return traits

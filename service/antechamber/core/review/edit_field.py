"""The edit field: a text in a form, with a token for each character that an input field does not show.

A token is `⟦U+200C⟧`, or has a repeat count for several of the same, as `_token` writes it. The opening bracket of
tokens is itself written as a token. Therefore a field represents exactly one text, and an unchanged field yields the
original text.
"""

import re
import unicodedata
from itertools import groupby
from typing import Final

from msgspec import Struct

from antechamber.core.contract import MAX_BODY
from antechamber.core.review.hidden_text import is_hidden, kinds

MAX_TOKENS: Final = 5000
"""Maximum number of tokens in a field; a text with more of them cannot be edited, only rejected."""
_OPEN: Final = "\u27e6"
_CLOSE: Final = "\u27e7"
_TIMES: Final = "\u00d7"
_UNSEEN: Final = re.compile(r"(?:[thv]|(?<=[mv]{3})m)+")
"""Characters that a page draws as a token, in the letters of `kinds`; look-alike letters are visible in a field."""
_TOKEN: Final = re.compile(
    f"{_OPEN}(?:U\\+(?P<code>[0-9A-F]{{1,6}})(?:{_TIMES}(?P<number>[0-9]{{1,5}}))?(?P<close>{_CLOSE}?)|(?P<begun>U\\+))?",
    re.IGNORECASE,
)
_SKIN: Final = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
_WIDE_LETTERS: Final = ("CJK ", "HIRAGANA ", "KATAKANA ")


class FieldError(ValueError):
    """Raised when a field has a damaged token; the message explains what to do."""


class Field(Struct, frozen=True):
    """The content of an edit field and the number of its tokens."""

    text: str
    tokens: int

    @property
    def fits(self) -> bool:
        """Whether the number of tokens is within the limit of a form."""
        return self.tokens <= MAX_TOKENS


def to_field(text: str) -> Field:
    """Return a text with tokens for the characters that a field would not show or a browser would change."""
    parts: list[str] = []
    end = tokens = 0
    for match in _UNSEEN.finditer(kinds(text)):
        tokens += text.count(_OPEN, end, match.start())
        parts.append(_plain(text[end : match.start()]))
        end = match.end()
        for shown, indexes in groupby(range(match.start(), end), lambda index: _is_shown(text, index)):
            run = "".join(text[index] for index in indexes)
            run_parts = (
                [run] if shown else [_token(character, sum(1 for _ in same)) for character, same in groupby(run)]
            )
            tokens += 0 if shown else len(run_parts)
            parts += run_parts
    tokens += text.count(_OPEN, end)
    return Field("".join([*parts, _plain(text[end:])]), tokens)


def from_field(field: str) -> str:
    """Return the text that a field represents.

    Raises FieldError if a token is damaged or represents no valid character.
    """
    room = MAX_BODY

    def read(match: re.Match[str]) -> str:
        nonlocal room
        if match["begun"] is None and match["code"] is None:
            return _OPEN
        code, count = int(match["code"] or "0", 16), int(match["number"] or "1")
        surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004 -- the range of Unicode
        if not match["close"] or code > 0x10FFFF or surrogate or not count:  # noqa: PLR2004
            message = (
                f"The token {match[0]} is damaged or names no character. Delete all of it, or write it in full with "
                f"the code point that it had, as in {_OPEN}U+00AD{_CLOSE}."
            )
            raise FieldError(message)
        room -= count
        if room < 0:
            message = f"The tokens stand for more than {MAX_BODY:,} characters. Lower their numbers."
            raise FieldError(message)
        return chr(code) * count

    return _TOKEN.sub(read, field)


def _plain(text: str) -> str:
    return text.replace(_OPEN, _token(_OPEN, 1))


def _token(character: str, count: int) -> str:
    return f"{_OPEN}U+{ord(character):04X}{f'{_TIMES}{count}' if count > 1 else ''}{_CLOSE}"


def _is_shown(text: str, index: int) -> bool:
    """Return whether a field shows an invisible character as it is, because it changes how its neighbors look.

    Such are a non-joiner between Arabic letters, a joiner or a selector inside an emoji, and a wide space before a wide
    letter: without them the visible text would differ.
    """
    before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
    match text[index]:
        case "\u200c":
            return _has_name(before, ("ARABIC LETTER ",)) and _has_name(after, ("ARABIC LETTER ",))
        case "\ufe0f":
            return _is_pictured(before)
        case "\u200d":
            styled = 1 if _SKIN.fullmatch(before) else 0
            return _is_pictured(text[max(index - 1 - styled, 0) : index - styled]) and _is_pictured(after)
        case "\u3000":
            return _has_name(after, _WIDE_LETTERS)
        case _:
            return False


def _has_name(character: str, beginnings: tuple[str, ...]) -> bool:
    return bool(character) and unicodedata.name(character, "").startswith(beginnings)


def _is_pictured(character: str) -> bool:
    return bool(character) and unicodedata.category(character) == "So" and not is_hidden(character)

r"""Texts that disclose a secret, and harmless ones.

`disclosed_secrets.txt` has those for training, and `held_out_disclosed_secrets.txt` those for measuring. Each line has
a language (ISO 639-1) and a text, divided by a tab. `\n` in a text is a line break, and `\\` a backslash.
`⟦Kranich!Flug88⟧` is a secret. A secret that begins with `~` is made when it is read, so that no file has what looks
like a live one: `a` and `A` become letters, `0` a digit, `h` and `H` hexadecimal digits; other signs stay.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from lib.labelled.prose_texts import unescape
from lib.labelled.recipes import Labelled

TRAINED: Final = Path(__file__).with_name("disclosed_secrets.txt")
HELD_OUT: Final = Path(__file__).with_name("held_out_disclosed_secrets.txt")
_FIELDS: Final = 2
_MARKED: Final = re.compile("⟦([^⟦⟧]+)⟧")
_SIGNS: Final = {
    "a": "abcdefghijklmnopqrstuvwxyz",
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0": "0123456789",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
}


class SecretText(NamedTuple):
    """A text with the spans of its secrets, none if it is harmless, and its language."""

    text: str
    secrets: tuple[tuple[int, int], ...] = ()
    language: str = "en"


def read_secret_texts(file: Path) -> list[SecretText]:
    """Return the texts of a file; the same values are made each time.

    Raises ValueError if a line has another form.
    """
    rng = random.Random(1)  # noqa: S311 -- no secret of anyone
    texts = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            message = f"{file.name}, line {number}: write a language and a text, divided by a tab"
            raise ValueError(message)
        texts.append(_read(fields[0], unescape(fields[1]), rng))
    return texts


def make_held_out_disclosed_secrets(_rng: random.Random) -> Iterator[Labelled]:
    """Yield the texts that no model was trained with."""
    for number, (text, secrets, language) in enumerate(read_secret_texts(HELD_OUT)):
        label = "secret" if secrets else "benign"
        yield Labelled(f"held-out-disclosed-secrets-{number}", label, "held-out-disclosed-secrets", language, text)


def _read(language: str, marked: str, rng: random.Random) -> SecretText:
    text, spans, place = "", [], 0
    for match in _MARKED.finditer(marked):
        text += marked[place : match.start()]
        value = _make(match[1], rng)
        spans.append((len(text), len(text) + len(value)))
        text += value
        place = match.end()
    return SecretText(text + marked[place:], tuple(spans), language)


def _make(value: str, rng: random.Random) -> str:
    if not value.startswith("~"):
        return value
    return "".join(rng.choice(_SIGNS.get(sign, sign)) for sign in value[1:])

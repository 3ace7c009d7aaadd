r"""Hostile and harmless prose in eight languages: `prose.txt` for training, `held_out_prose.txt` for measuring.

Each line has a label (`hostile` or `harmless`), a language (ISO 639-1) and a text, divided by tabs. `\n` in a text is
a line break, and `\\` a backslash.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from lib.labelled.recipes import Labelled

TRAINED: Final = Path(__file__).with_name("prose.txt")
HELD_OUT: Final = Path(__file__).with_name("held_out_prose.txt")
_FIELDS: Final = 2
"""Fields of a line after its label."""
_ESCAPED: Final = re.compile(r"\\\\|\\n")


class Text(NamedTuple):
    """A labelled text and its language."""

    text: str
    is_hostile: bool
    language: str = "en"


def read_texts(file: Path) -> list[Text]:
    """Return the texts of a file.

    Raises ValueError if a line has another form.
    """
    texts = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        label, *fields = line.split("\t")
        if label not in {"hostile", "harmless"} or len(fields) != _FIELDS:
            message = f"{file.name}, line {number}: write hostile or harmless, a language and a text, divided by tabs"
            raise ValueError(message)
        language, text = fields
        texts.append(Text(unescape(text), label == "hostile", language))
    return texts


def unescape(text: str) -> str:
    """Return a text as it was before its line breaks and backslashes were escaped."""
    return _ESCAPED.sub(lambda found: "\n" if found[0] == r"\n" else "\\", text)


def make_held_out_prose(_rng: random.Random) -> Iterator[Labelled]:
    """Yield the texts that no model was trained with."""
    for number, (text, is_hostile, language) in enumerate(read_texts(HELD_OUT)):
        label = "hostile" if is_hostile else "benign"
        yield Labelled(f"held-out-prose-{number}", label, "held-out-prose", language, text)

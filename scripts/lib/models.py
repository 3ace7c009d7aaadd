"""What the commands that train models share: they judge a part of the texts by a model of the others, and write one."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from blake3 import blake3

from antechamber.core.privacy.models.hashed_weights import write_weights

_PARTS: Final = 5


class _InLanguage(Protocol):
    @property
    def language(self) -> str: ...


Labelled = TypeVar("Labelled", bound=_InLanguage)
Finder = Callable[[Labelled], bool]
"""Returns whether a model finds something in a text."""


def judge_parts(
    texts: Sequence[Labelled],
    is_positive: Callable[[Labelled], bool],
    train_finder: Callable[[list[Labelled]], Finder[Labelled]],
    kinds: tuple[str, str],
) -> Iterator[str]:
    """Yield a line for each language with what models found that did not know the texts.

    `train_finder` returns a model of some texts; `kinds` are the names of texts in which it is to find something, and
    of the others.
    """
    found: Counter[tuple[str, bool]] = Counter()
    for part in range(_PARTS):
        print(f"part {part + 1} of {_PARTS} …", file=sys.stderr)
        find = train_finder([text for index, text in enumerate(texts) if index % _PARTS != part])
        found.update((text.language, is_positive(text)) for text in texts[part::_PARTS] if find(text))
    number = Counter((text.language, is_positive(text)) for text in texts)
    for language in sorted({text.language for text in texts}):
        yield (
            f"{language}: {found[language, True]} of {number[language, True]} {kinds[0]} are found, "
            f"and {found[language, False]} of {number[language, False]} {kinds[1]}"
        )


def write_model(file: Path, weights: Iterable[float], bias: float, source: bytes) -> None:
    """Write a model; if that is interrupted, the old one stays."""
    new = file.with_suffix(".new")
    new.write_bytes(write_weights(weights, bias, source))
    new.replace(file)


def digest_of(caution: float, *files: Path) -> bytes:
    """Return the digest of what a model is made from: files of texts, and what a score has to exceed."""
    return blake3(b"".join(file.read_bytes() for file in files) + str(caution).encode()).digest(16)

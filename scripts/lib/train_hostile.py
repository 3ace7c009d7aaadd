"""Train the model that recognizes hostile prose from `scripts/lib/labelled/prose.txt`, and say what it finds.

First each fifth of the texts is judged by a model of the other four, which says what to expect of texts that are alike;
then the model of all texts is written to the package.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from blake3 import blake3

from antechamber.core.privacy import hostile_prose
from antechamber.core.privacy.hashed_weights import write_weights
from antechamber.core.privacy.hostile_prose import Model
from lib.hostile_training import train
from lib.labelled.prose_texts import TRAINED, Text, read_texts

MODEL: Final = Path(hostile_prose.__file__).with_name("hostile_prose.model")
CAUTION: Final = 0.1
"""What a score has to exceed; then one of 3,000 texts of public guidance, which are none of those here, is warned."""
_PARTS: Final = 5


def main() -> None:
    """Train, print what is found, and write the model."""
    parser = argparse.ArgumentParser(prog="scripts/train_hostile", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write the model without judging parts first")
    arguments = parser.parse_args()
    try:
        texts = read_texts(TRAINED)
    except ValueError as error:
        parser.error(str(error))
    if not arguments.quick:
        for line in _judged(texts):
            print(line)
    weights, bias = train(texts)
    # A run that is interrupted leaves the old model.
    new = MODEL.with_suffix(".new")
    new.write_bytes(write_weights(weights, bias - CAUTION, digest_of(TRAINED)))
    new.replace(MODEL)
    print(
        f"{MODEL.name}: trained from {len(texts):,} texts, {sum(text.is_hostile for text in texts):,} of them hostile"
    )


def digest_of(texts: Path) -> bytes:
    """Return the digest of what a model is made from: the file of texts, and the caution."""
    return blake3(texts.read_bytes() + str(CAUTION).encode()).digest(16)


def _judged(texts: list[Text]) -> list[str]:
    """Return a line for each language with what models found that did not know the texts."""
    found: Counter[tuple[str, bool]] = Counter()
    for part in range(_PARTS):
        print(f"part {part + 1} of {_PARTS} …", file=sys.stderr)
        weights, bias = train([text for index, text in enumerate(texts) if index % _PARTS != part])
        model = Model(weights, bias - CAUTION)
        found.update((text.language, text.is_hostile) for text in texts[part::_PARTS] if any(model.find(text.text)))
    number = Counter((text.language, text.is_hostile) for text in texts)
    return [
        f"{language}: {found[language, True]} of {number[language, True]} hostile texts are found, "
        f"and {found[language, False]} of {number[language, False]} harmless ones"
        for language in sorted({text.language for text in texts})
    ]


if __name__ == "__main__":
    main()

"""Train the model that recognizes disclosed secrets, and say what it finds.

The texts are those of `scripts/lib/labelled/disclosed_secrets.txt`, and the harmless prose of `prose.txt`. First each
fifth of the former is judged by a model of the other four, which says what to expect of texts that are alike; then the
model of all texts is written to the package.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Final

from blake3 import blake3

from antechamber.core.privacy import disclosed_secrets
from antechamber.core.privacy.disclosed_secrets import ValueModel, find_with
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.hashed_weights import write_weights
from lib.disclosed_training import train
from lib.labelled import prose_texts
from lib.labelled.disclosed_texts import TRAINED, SecretText, read_secret_texts

MODEL: Final = Path(disclosed_secrets.__file__).with_name("disclosed_secrets.model")
CAUTION: Final = 0.4
"""What a score has to exceed; then no text of public guidance, which are none of those here, is refused."""
_PARTS: Final = 5


def main() -> None:
    """Train, print what is found, and write the model."""
    parser = argparse.ArgumentParser(prog="scripts/train_disclosed_secrets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write the model without judging parts first")
    arguments = parser.parse_args()
    try:
        labelled, harmless = read_secret_texts(TRAINED), read_harmless()
    except ValueError as error:
        parser.error(str(error))
    if not arguments.quick:
        for line in _judged(labelled, harmless):
            print(line)
    weights, bias = train([*labelled, *harmless])
    # A run that is interrupted leaves the old model.
    new = MODEL.with_suffix(".new")
    new.write_bytes(write_weights(weights, bias - CAUTION, digest_of_sources()))
    new.replace(MODEL)
    number = sum(bool(text.secrets) for text in labelled)
    print(
        f"{MODEL.name}: trained from {len(labelled):,} texts, {number:,} of them with a secret, "
        f"and {len(harmless):,} of harmless prose"
    )


def read_harmless() -> list[SecretText]:
    """Return the harmless texts that the model of hostile prose is trained with.

    Raises ValueError if a line has another form.
    """
    return [
        SecretText(text.text, (), text.language)
        for text in prose_texts.read_texts(prose_texts.TRAINED)
        if not text.is_hostile
    ]


def digest_of_sources() -> bytes:
    """Return the digest of what the model is made from: the files of texts, and the caution."""
    return blake3(TRAINED.read_bytes() + prose_texts.TRAINED.read_bytes() + str(CAUTION).encode()).digest(16)


def _judged(labelled: list[SecretText], harmless: list[SecretText]) -> list[str]:
    """Return a line for each language with what models found that did not know the texts."""
    found: Counter[tuple[str, bool]] = Counter()
    for part in range(_PARTS):
        weights, bias = train([*(text for index, text in enumerate(labelled) if index % _PARTS != part), *harmless])
        model = ValueModel(weights, bias - CAUTION)
        for text in labelled[part::_PARTS]:
            spans = find_with(model, text.text, Effort())
            has_secret = bool(text.secrets)
            hits = any(start < last and first < end for start, end in spans for first, last in text.secrets)
            found[text.language, has_secret] += hits if has_secret else any(find_with(model, text.text, Effort()))
    number = Counter((text.language, bool(text.secrets)) for text in labelled)
    return [
        f"{language}: {found[language, True]} of {number[language, True]} texts with a secret are found, "
        f"and {found[language, False]} of {number[language, False]} look-alikes"
        for language in sorted({text.language for text in labelled})
    ]


if __name__ == "__main__":
    main()

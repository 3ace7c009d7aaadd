"""Train the model that recognizes disclosed secrets, and say what it finds.

The texts are those of `scripts/lib/labelled/disclosed_secrets.txt`, and the harmless prose of `prose.txt`. First each
fifth of the former is judged by a model of the other four, which says what to expect of texts that are alike; then the
model of all texts is written to the package.
"""

import argparse
from pathlib import Path
from typing import Final

from antechamber.core.privacy import disclosed_secrets
from antechamber.core.privacy.disclosed_secrets import ValueModel, find_with
from antechamber.core.privacy.effort import Effort
from lib.disclosed_training import train
from lib.labelled import prose_texts
from lib.labelled.disclosed_texts import TRAINED, SecretText, read_secret_texts
from lib.models import Finder, digest_of, judge_parts, write_model

MODEL: Final = Path(disclosed_secrets.__file__).with_name("disclosed_secrets.model")
CAUTION: Final = 0.4
"""What a score has to exceed; then no text of public guidance, which are none of those here, is refused."""


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

        def train_finder(texts: list[SecretText]) -> Finder[SecretText]:
            weights, bias = train([*texts, *harmless])
            model = ValueModel(weights, bias - CAUTION)
            return lambda text: _finds(model, text)

        kinds = "texts with a secret", "look-alikes"
        for line in judge_parts(labelled, lambda text: bool(text.secrets), train_finder, kinds):
            print(line)
    weights, bias = train([*labelled, *harmless])
    write_model(MODEL, weights, bias - CAUTION, digest_of_sources())
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
    """Return the digest of what the model is made from."""
    return digest_of(CAUTION, TRAINED, prose_texts.TRAINED)


def _finds(model: ValueModel, text: SecretText) -> bool:
    """Return whether a model finds a secret of a text, or anything in a text without one."""
    spans = find_with(model, text.text, Effort())
    if not text.secrets:
        return any(spans)
    return any(start < last and first < end for start, end in spans for first, last in text.secrets)


if __name__ == "__main__":
    main()

"""Train the model that recognizes hostile prose from `scripts/lib/labelled/prose.txt`, and say what it finds.

First each fifth of the texts is judged by a model of the other four, which says what to expect of texts that are alike;
then the model of all texts is written to the package.
"""

import argparse
from pathlib import Path
from typing import Final

from antechamber.core.privacy.models import hostile_prose
from antechamber.core.privacy.models.hostile_prose import Model
from lib.hostile_training import train
from lib.labelled.prose_texts import TRAINED, Text, read_texts
from lib.models import Finder, digest_of, judge_parts, write_model

MODEL: Final = Path(hostile_prose.__file__).with_name("hostile_prose.model")
CAUTION: Final = 0.05
"""What a score has to exceed; then two of 3,000 texts of public guidance, which are none of those here, are warned."""


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
        for line in judge_parts(texts, lambda text: text.is_hostile, _train_finder, ("hostile texts", "harmless ones")):
            print(line)
    weights, bias = train(texts)
    write_model(MODEL, weights, bias - CAUTION, digest_of_sources())
    print(
        f"{MODEL.name}: trained from {len(texts):,} texts, {sum(text.is_hostile for text in texts):,} of them hostile"
    )


def digest_of_sources() -> bytes:
    """Return the digest of what the model is made from."""
    return digest_of(CAUTION, TRAINED)


def _train_finder(texts: list[Text]) -> Finder[Text]:
    weights, bias = train(texts)
    model = Model(weights, bias - CAUTION)
    return lambda text: any(model.find(text.text))


if __name__ == "__main__":
    main()

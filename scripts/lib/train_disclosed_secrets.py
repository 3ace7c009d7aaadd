"""Train the models that recognize disclosed secrets, one of values and one of words, and say what they find.

The texts are those of `scripts/lib/labelled/disclosed_secrets.txt`, and the harmless prose of `prose.txt`. First each
fifth of the former is judged by models of the other four, which says what to expect of texts that are alike; then the
models of all texts are written to the package.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.models import disclosed_secrets, disclosed_words
from antechamber.core.privacy.models.disclosed_secrets import ValueModel
from antechamber.core.privacy.models.disclosed_words import WordsModel
from lib.disclosed_training import train, train_words
from lib.labelled import prose_texts
from lib.labelled.disclosed_texts import TRAINED, SecretText, read_secret_texts
from lib.models import Finder, digest_of, judge_parts, write_model

Trained = tuple[list[float], float]
Find = Callable[[str], Iterator[tuple[int, int]]]


class Recipe(NamedTuple):
    """How a model is made."""

    model: Path
    train: Callable[[Iterable[SecretText]], Trained]
    find_with: Callable[[Trained], Find]
    """Returns the search of a trained model."""
    caution: float
    """What a score has to exceed; then no text of public guidance, which are none of the trained, is refused."""

    def digest_of_sources(self) -> bytes:
        """Return the digest of what the model is made from."""
        return digest_of(self.caution, TRAINED, prose_texts.TRAINED)

    def make(self, texts: Iterable[SecretText]) -> Trained:
        """Return the weights of the model of some texts, and its bias."""
        weights, bias = self.train(texts)
        return weights, bias - self.caution


def _find_values(trained: Trained) -> Find:
    model = ValueModel(*trained)
    return lambda text: disclosed_secrets.find_with(model, text, Effort())


def _find_words(trained: Trained) -> Find:
    model = WordsModel(*trained)
    return lambda text: disclosed_words.find_with(model, text, Effort())


VALUES: Final = Recipe(
    Path(disclosed_secrets.__file__).with_name("disclosed_secrets.model"), train, _find_values, caution=0.2
)
WORDS: Final = Recipe(
    Path(disclosed_words.__file__).with_name("disclosed_words.model"), train_words, _find_words, caution=0.9
)


def main() -> None:
    """Train, print what is found, and write the models."""
    parser = argparse.ArgumentParser(prog="scripts/train_disclosed_secrets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write the models without judging parts first")
    arguments = parser.parse_args()
    try:
        labelled, harmless = read_secret_texts(TRAINED), read_harmless()
    except ValueError as error:
        parser.error(str(error))
    if not arguments.quick:

        def train_finder(texts: list[SecretText]) -> Finder[SecretText]:
            searches = [recipe.find_with(recipe.make([*texts, *harmless])) for recipe in (VALUES, WORDS)]
            return lambda text: any(_finds(find, text) for find in searches)

        kinds = "texts with a secret", "look-alikes"
        for line in judge_parts(labelled, lambda text: bool(text.secrets), train_finder, kinds):
            print(line)
    number = sum(bool(text.secrets) for text in labelled)
    for recipe in (VALUES, WORDS):
        write_model(recipe.model, *recipe.make([*labelled, *harmless]), recipe.digest_of_sources())
        print(
            f"{recipe.model.name}: trained from {len(labelled):,} texts, {number:,} of them with a secret, "
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


def _finds(find: Find, text: SecretText) -> bool:
    """Return whether a search finds a secret of a text, or anything in a text without one."""
    spans = find(text.text)
    if not text.secrets:
        return any(spans)
    return any(start < last and first < end for start, end in spans for first, last in text.secrets)


if __name__ == "__main__":
    main()

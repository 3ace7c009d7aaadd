"""The training of the models of disclosed secrets: that of values and that of words."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.models import disclosed_secrets, disclosed_words
from antechamber.core.privacy.models.hashed_weights import place_of
from lib import linear_training
from lib.labelled.disclosed_texts import SecretText
from lib.linear_training import Sample

_DECAY: Final = 6e-3
_DECAY_OF_WORDS: Final = 6e-3
_EVENNESS_OF_WORDS: Final = 0.5
"""Few phrases are secrets; if both kinds weighed the same, common words at their places would be found too."""
_SHARE: Final = 0.3
"""The value of one feature; a placed value has about 70."""
_ENDLESS: Final = 1 << 40
_EACH: Final = 3
"""Of the phrases of harmless texts one of this number is a sample: there are many more than others."""


def train(texts: Iterable[SecretText]) -> tuple[list[float], float]:
    """Return the weights of the model of values by the places of features, and the bias."""
    return _weights_of(_samples_of(texts), disclosed_secrets.PLACES, _DECAY)


def train_words(texts: Iterable[SecretText]) -> tuple[list[float], float]:
    """Return the weights of the model of words by the places of features, and the bias."""
    return _weights_of(_samples_of_words(texts), disclosed_words.PLACES, _DECAY_OF_WORDS, _EVENNESS_OF_WORDS)


def _weights_of(
    samples: Iterator[Sample], places: int, decay: float, evenness: float = 1.0
) -> tuple[list[float], float]:
    weights, bias = linear_training.train(samples, places, decay, evenness=evenness)
    return [weight * _SHARE for weight in weights], bias


def _samples_of(texts: Iterable[SecretText]) -> Iterator[Sample]:
    """Yield the values of texts that may be secrets; those that overlap a marked one are."""
    for text, secrets, _ in texts:
        for placed in disclosed_secrets.placed_values(text, Effort(_ENDLESS)):
            is_secret = any(placed.start < end and start < placed.end for start, end in secrets)
            yield _sample(disclosed_secrets.features_of(placed), disclosed_secrets.PLACES, is_secret=is_secret)


def _samples_of_words(texts: Iterable[SecretText]) -> Iterator[Sample]:
    """Yield the phrases of texts that may be secrets; those that only overlap a marked one say nothing."""
    for text, secrets, _ in texts:
        for number, phrase in enumerate(disclosed_words.placed_phrases(text, Effort())):
            over = [(start, end) for start, end in secrets if phrase.start < end and start < phrase.end]
            is_secret = (phrase.start, phrase.end) in over
            if is_secret or (not over and (number % _EACH == 0)):
                yield _sample(disclosed_words.features_of(phrase, text), disclosed_words.PLACES, is_secret=is_secret)


def _sample(features: Iterable[str], size: int, *, is_secret: bool) -> Sample:
    places = Counter(place_of(feature, size) for feature in features)
    return Sample({place: _SHARE * number for place, number in places.items()}, is_secret)

"""The training of the model of disclosed secrets."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from antechamber.core.privacy.disclosed_secrets import PLACES, PlacedValue, features_of, placed_values
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.hashed_weights import place_of
from lib import linear_training
from lib.labelled.disclosed_texts import SecretText
from lib.linear_training import Sample

_DECAY: Final = 6e-3
_SHARE: Final = 0.3
"""The value of one feature; a placed has about 70."""
_ENDLESS: Final = 1 << 40


def train(texts: Iterable[SecretText]) -> tuple[list[float], float]:
    """Return the weights by the places of features, and the bias."""
    weights, bias = linear_training.train(_samples_of(texts), PLACES, _DECAY)
    return [weight * _SHARE for weight in weights], bias


def _samples_of(texts: Iterable[SecretText]) -> Iterator[Sample]:
    """Yield the values of texts that may be secrets; those that overlap a marked one are."""
    for text, secrets, _ in texts:
        for placed in placed_values(text, Effort(_ENDLESS)):
            yield Sample(_values_of(placed), any(placed.start < end and start < placed.end for start, end in secrets))


def _values_of(placed: PlacedValue) -> dict[int, float]:
    places = Counter(place_of(feature, PLACES) for feature in features_of(placed))
    return {place: _SHARE * number for place, number in places.items()}

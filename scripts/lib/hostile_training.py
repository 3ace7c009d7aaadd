"""The training of the model of hostile prose."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from antechamber.core.privacy.models.hostile_prose import PLACES, length_of, pairs_of, passages_of, places_of, tokens_of
from lib import linear_training
from lib.labelled.prose_texts import Text
from lib.linear_training import Sample

_DECAY: Final = 1e-2


def train(texts: Iterable[Text]) -> tuple[list[float], float]:
    """Return the weights by the places of features, and the bias."""
    return linear_training.train(_samples_of(texts), PLACES, _DECAY)


def _samples_of(texts: Iterable[Text]) -> Iterator[Sample]:
    """Yield the samples of texts: the whole of a hostile one, the passages of a harmless one."""
    for text, is_hostile, _ in texts:
        tokens = tokens_of(text)
        for start, end in [(0, len(tokens))] if is_hostile else passages_of(tokens):
            yield Sample(_values_of(tokens[start:end]), is_hostile)


def _values_of(tokens: Sequence[str]) -> dict[int, float]:
    share = 1 / length_of(len(tokens))
    places = [place for token in set(tokens) for place in places_of(token)]
    # Beginnings count once for each word that has them, as the model adds them up.
    values = {place: share * number for place, number in Counter(places).items()}
    near, far = pairs_of(tokens)
    for place in {*near, *far}:
        values[place] = values.get(place, 0.0) + share
    return values

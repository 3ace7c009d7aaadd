"""The training of the model of hostile prose: logistic regression over labelled texts, the same result each time."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from antechamber.core.privacy.hostile_prose import (
    PLACES,
    length_of,
    pairs_of,
    passages_of,
    places_of,
    tokens_of,
)
from lib.labelled.prose_texts import Text

_ROUNDS: Final = 16
_AVERAGED: Final = 8
"""The last rounds, whose weights are averaged."""
_RATE: Final = 0.2
_DECAY: Final = 1e-2
"""Share of a weight in the gradient of each sample that has its feature: weights of rare features stay small."""
_SEEN: Final = 2
"""Samples that a feature is in at least; what only one text has says nothing about others."""


class _Sample(NamedTuple):
    """A passage of a text as the places of its features, each with its value."""

    values: dict[int, float]
    is_hostile: bool


def train(texts: Iterable[Text], seed: int = 1) -> tuple[list[float], float]:
    """Return the weights by the places of features, and the bias.

    Gradient descent whose rate sinks for each feature with its past gradients (AdaGrad, Duchi et al. 2011); hostile and
    harmless samples weigh the same together. The averages of several rounds depend less on the order of the samples
    (Polyak and Juditsky 1992).
    """
    samples = _samples_of(texts)
    hostile = sum(sample.is_hostile for sample in samples)
    balance = {True: len(samples) / 2 / hostile, False: len(samples) / 2 / (len(samples) - hostile)}
    weights, squares = [0.0] * PLACES, [1e-2] * PLACES
    bias, bias_square = 0.0, 1e-2
    order = random.Random(seed)  # noqa: S311 -- the same result each time
    averages, mean_bias = [0.0] * PLACES, 0.0
    for number in range(_ROUNDS):
        order.shuffle(samples)
        for values, is_hostile in samples:
            score = bias + sum(weights[place] * value for place, value in values.items())
            error = balance[is_hostile] * (is_hostile - 1 / (1 + math.exp(-score)))
            bias_square += error * error
            bias += _RATE * error / math.sqrt(bias_square)
            for place, value in values.items():
                step = error * value - _DECAY * weights[place]
                squares[place] += step * step
                weights[place] += _RATE * step / math.sqrt(squares[place])
        if number >= _ROUNDS - _AVERAGED:
            averages = [average + weight / _AVERAGED for average, weight in zip(averages, weights, strict=True)]
            mean_bias += bias / _AVERAGED
    return averages, mean_bias


def _samples_of(texts: Iterable[Text]) -> list[_Sample]:
    """Return the samples of texts: the whole of a hostile one, the passages of a harmless one."""
    samples = []
    for text, is_hostile, _ in texts:
        tokens = tokens_of(text)
        spans = [(0, len(tokens))] if is_hostile else passages_of(tokens)
        samples += [_Sample(_values_of(tokens[start:end]), is_hostile) for start, end in spans]
    seen = Counter(place for sample in samples for place in sample.values)
    return [
        _Sample({place: value for place, value in values.items() if seen[place] >= _SEEN}, is_hostile)
        for values, is_hostile in samples
    ]


def _values_of(tokens: Sequence[str]) -> dict[int, float]:
    share = 1 / length_of(len(tokens))
    places = [place for token in set(tokens) for place in places_of(token)]
    # Beginnings count once for each word that has them, as the model adds them up.
    values = {place: share * number for place, number in Counter(places).items()}
    near, far = pairs_of(tokens)
    for place in {*near, *far}:
        values[place] = values.get(place, 0.0) + share
    return values

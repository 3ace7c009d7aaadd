"""The training of linear models: logistic regression over labelled samples, the same result each time."""

import math
import random
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

_ROUNDS: Final = 16
_AVERAGED: Final = 8
"""The last rounds, whose weights are averaged."""
_RATE: Final = 0.2
_SEEN: Final = 2
"""Samples that a feature is in at least; what only one text has says nothing about others."""


class Sample(NamedTuple):
    """What is judged, as the places of its features, each with its value."""

    values: dict[int, float]
    is_found: bool
    """Whether a model is to find it."""


def train(
    samples: Iterable[Sample], places: int, decay: float, seed: int = 1, evenness: float = 1.0
) -> tuple[list[float], float]:
    """Return the weights by the places of features, and the bias.

    Gradient descent whose rate sinks for each feature with its past gradients (AdaGrad, Duchi et al. 2011). The
    averages of several rounds depend less on the order of the samples (Polyak and Juditsky 1992). `decay` is the share
    of a weight in the gradient of each sample that has its feature: weights of rare features stay small. With an
    `evenness` of 1, those that are to be found and the others weigh the same together; with one of 0, each sample does.
    """
    listed = _without_rare(list(samples))
    found = sum(sample.is_found for sample in listed)
    balance = {
        kind: (len(listed) / 2 / number) ** evenness for kind, number in ((True, found), (False, len(listed) - found))
    }
    weights, squares = [0.0] * places, [1e-2] * places
    bias, bias_square = 0.0, 1e-2
    order = random.Random(seed)  # noqa: S311 -- the same result each time
    averages, mean_bias = [0.0] * places, 0.0
    for number in range(_ROUNDS):
        order.shuffle(listed)
        for values, is_found in listed:
            score = bias + sum(weights[place] * value for place, value in values.items())
            error = balance[is_found] * (is_found - 1 / (1 + math.exp(-score)))
            bias_square += error * error
            bias += _RATE * error / math.sqrt(bias_square)
            for place, value in values.items():
                step = error * value - decay * weights[place]
                squares[place] += step * step
                weights[place] += _RATE * step / math.sqrt(squares[place])
        if number >= _ROUNDS - _AVERAGED:
            averages = [average + weight / _AVERAGED for average, weight in zip(averages, weights, strict=True)]
            mean_bias += bias / _AVERAGED
    return averages, mean_bias


def _without_rare(samples: list[Sample]) -> list[Sample]:
    seen = Counter(place for sample in samples for place in sample.values)
    return [
        Sample({place: value for place, value in values.items() if seen[place] >= _SEEN}, is_found)
        for values, is_found in samples
    ]

"""Linear models, and the stored form of their weights.

The weights are hashed (feature hashing, Weinberger et al. 2009): a feature has no name in the model, only a place.
"""

import struct
from array import array
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Final, NamedTuple
from zlib import crc32

_HEAD: Final = struct.Struct("<2f16s")
"""What a model begins with: its bias, the factor of its weights, and a digest of the texts that it was made from."""


class Weights(NamedTuple):
    """The weights by the places of features, in some unit, and the bias."""

    weights: Sequence[int]
    bias: float
    unit: float


class LinearModel:
    """The weights by the places of features, in some unit, and the bias."""

    def __init__(self, weights: Sequence[float], bias: float, unit: float = 1.0) -> None:
        """Take the weights, the number of which is a power of two."""
        self._weights = weights
        self._last = len(weights) - 1
        self._bias = bias
        self._unit = unit

    def _sum_of(self, features: Iterable[str]) -> float:
        """Return the sum of the weights of some features, in the model's unit."""
        weights, last, total = self._weights, self._last, 0.0
        for feature in features:
            total += weights[crc32(feature.encode("utf-8", "replace")) & last]
        return total


def place_of(feature: str, places: int) -> int:
    """Return the place of a feature in a model with a number of places, which is a power of two."""
    return crc32(feature.encode("utf-8", "replace")) & (places - 1)


def write_weights(weights: Iterable[float], bias: float, source: bytes) -> bytes:
    """Return a model in its stored form: the weights as bytes, in units of a 127th of the largest one.

    `source` is a digest of 16 bytes of what the model was made from.
    """
    listed = list(weights)
    unit = max(map(abs, listed)) / 127
    return _HEAD.pack(bias, unit, source) + array("b", (round(weight / unit) for weight in listed)).tobytes()


def read_weights(stored: bytes, places: int) -> Weights:
    """Return the weights of a stored form.

    Raises ValueError if it has another size.
    """
    if len(stored) != _HEAD.size + places:
        message = f"a model has {_HEAD.size + places} bytes, not {len(stored)}"
        raise ValueError(message)
    bias, unit, _ = _HEAD.unpack_from(stored)
    return Weights(array("b", stored[_HEAD.size :]), bias, unit)


def read_shipped(name: str, places: int) -> Weights:
    """Return the weights of a model that is part of this package, by the name of its file."""
    return read_weights(files(__package__).joinpath(name).read_bytes(), places)


def source_of(stored: bytes) -> bytes:
    """Return the digest of what a model in its stored form was made from."""
    digest: bytes = _HEAD.unpack_from(stored)[2]
    return digest

"""The weights of a linear model in its stored form.

The weights are hashed (feature hashing, Weinberger et al. 2009): a feature has no name in the model, only a place.
"""

import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from zlib import crc32

_HEAD: Final = struct.Struct("<2f16s")
"""What a model begins with: its bias, the factor of its weights, and a digest of the texts that it was made from."""


class Weights(NamedTuple):
    """The weights by the places of features, in some unit, and the bias."""

    weights: Sequence[int]
    bias: float
    unit: float


def place_of(feature: str, places: int) -> int:
    """Return the place of a feature in a model with a number of places, which is a power of two."""
    return crc32(feature.encode(errors="replace")) & (places - 1)


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


def source_of(stored: bytes) -> bytes:
    """Return the digest of what a model in its stored form was made from."""
    digest: bytes = _HEAD.unpack_from(stored)[2]
    return digest

"""The verifier's own check of Ed25519 signatures, compared with a library."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.resources import verifier


def load(path: Path) -> ModuleType:
    """Load the program as a module."""
    spec = importlib.util.spec_from_file_location("verifier", path)
    assert spec
    assert spec.loader
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


TOOL = load(verifier())


def accepts(public: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether the library accepts a signature."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("word", ["PRIVATE+KEY+antechamber/1+d1c77460+AawHvdroFy2", "any-text-of-another-file"])
def test_a_key_that_is_none_is_not_repeated(word: str) -> None:
    """The word may be a private key or from any other file, so the error repeats none of it."""
    with pytest.raises(TOOL.UsageError) as caught:
        TOOL.read_keys(f"{word} and more")
    assert word[-12:] not in str(caught.value)
    assert ("private key" in str(caught.value)) is word.startswith("PRIVATE")


@settings(max_examples=40, deadline=None)
@given(
    seed=st.binary(min_size=32, max_size=32),
    text=st.binary(max_size=200),
    place=st.integers(0, 95),
    bit=st.integers(0, 7),
)
def test_signatures_are_judged_as_the_library_does(seed: bytes, text: bytes, place: int, bit: int) -> None:
    """A signature is accepted, and one altered bit of it or of the key is judged as the library judges it."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(text)
    assert TOOL.is_signed(public, signature, text)
    assert not TOOL.is_signed(public, signature, text + b"x")
    altered = bytearray(public + signature)
    altered[place] ^= 1 << bit
    public, signature = bytes(altered[:32]), bytes(altered[32:])
    assert TOOL.is_signed(public, signature, text) == accepts(public, signature, text)


@pytest.mark.parametrize(
    "public",
    [(TOOL.PRIME + 1).to_bytes(32, "little"), (2).to_bytes(32, "little"), (1 | 1 << 255).to_bytes(32, "little")],
    ids=["not reduced", "not on the curve", "zero with a sign"],
)
def test_what_is_no_point_signs_nothing(public: bytes) -> None:
    """Bytes that are not the one form of a point of the curve are no key."""
    assert not TOOL.is_signed(public, bytes(64), b"")


def test_a_scalar_has_one_form() -> None:
    """A signature whose scalar is raised by the order of the base point is refused, though the equation holds."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public, signature = key.public_key().public_bytes_raw(), key.sign(b"text")
    scalar = int.from_bytes(signature[32:], "little") + TOOL.ORDER
    assert not TOOL.is_signed(public, signature[:32] + scalar.to_bytes(32, "little"), b"text")

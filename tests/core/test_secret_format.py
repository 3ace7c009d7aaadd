"""Public ids and secrets: form, order and checksum."""

import itertools
import re
import string
from uuid import RFC_4122, UUID
from zlib import crc32

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.access.secret_format import PREFIXES, SecretKind, digest_secret, has_checksum, mint
from antechamber.core.ids import uuid7

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
FIXED = bytes(range(24))
moments = st.integers(0, (2**48 - 1) * 1000 + 999)
tails = st.binary(min_size=10, max_size=10)


def base62(number: int, width: int) -> str:
    """Write a number in base 62 with zero padding."""
    return "".join(BASE62[number // 62**index % 62] for index in reversed(range(width)))


@given(moments, tails)
def test_an_id_is_a_version_7_uuid(now: int, tail: bytes) -> None:
    """Version, variant and time are placed as in RFC 9562, in the usual text form."""
    made = UUID(uuid7(now, tail))
    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == now // 1000
    assert str(made) == uuid7(now, tail)


@given(moments, tails)
def test_an_id_keeps_74_bits_of_randomness(now: int, tail: bytes) -> None:
    """Both random fields are filled from the given bytes, bit by bit."""
    bits = int.from_bytes(tail, "big")
    made = UUID(uuid7(now, tail)).int
    assert made >> 64 & 0xFFF == bits >> 68
    assert made & (2**62 - 1) == bits & (2**62 - 1)


@given(st.lists(moments, min_size=2, max_size=5), tails, tails)
def test_ids_sort_by_time(times: list[int], first: bytes, second: bytes) -> None:
    """The id of a later millisecond sorts after an earlier one, whatever the randomness."""
    ids = [uuid7(now, first if number % 2 else second) for number, now in enumerate(sorted(times))]
    millis = [now // 1000 for now in sorted(times)]
    pairs = zip(itertools.pairwise(ids), itertools.pairwise(millis), strict=True)
    assert all(earlier < later for (earlier, later), (before, after) in pairs if before < after)


def test_an_id_of_the_rfc_comes_out() -> None:
    """The example of RFC 9562, appendix A.6, is reproduced."""
    randomness = ((0xCC3 << 68) | 0x18C4DC0C0C07398F).to_bytes(10, "big")
    assert uuid7(0x017F22E279B0 * 1000, randomness) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


@given(st.sampled_from(sorted(PREFIXES)), st.binary(min_size=24, max_size=40))
def test_a_secret_has_its_form_and_checksum(kind: SecretKind, randomness: bytes) -> None:
    """A role prefix, 30 characters of base 62 and 6 of checksum."""
    secret = mint(kind, randomness)
    assert re.fullmatch(r"ant[pralw]_[0-9A-Za-z]{36}", secret)
    assert secret.startswith(PREFIXES[kind])
    assert secret[5:35] == base62(int.from_bytes(randomness, "big"), 30)
    assert secret[35:] == base62(crc32(secret[:35].encode()), 6)
    assert has_checksum(secret)


def test_prefixes_distinguish_kinds() -> None:
    """Five kinds have five distinct prefixes of five characters."""
    assert len(set(PREFIXES.values())) == len(PREFIXES) == 5
    assert {len(prefix) for prefix in PREFIXES.values()} == {5}


@pytest.mark.parametrize("size", [0, 1, 23])
def test_too_little_randomness_is_refused(size: int) -> None:
    """A secret is never made from fewer than 24 bytes."""
    with pytest.raises(ValueError, match="24 random bytes"):
        mint("producer", bytes(size))


@given(st.integers(0, 40), st.sampled_from(BASE62))
def test_a_typing_error_is_seen(location: int, typed: str) -> None:
    """One wrong character anywhere breaks the checksum or the form."""
    secret = mint("reader", FIXED)
    changed = secret[:location] + typed + secret[location + 1 :]
    assert has_checksum(changed) == (changed == secret)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "antp_",
        mint("link", FIXED) + "\n",
        " " + mint("link", FIXED),
        mint("link", FIXED)[:-1],
        mint("link", FIXED).upper(),
    ],
    ids=ascii,
)
def test_what_is_no_secret_has_no_checksum(text: str) -> None:
    """Other texts are recognized without a look-up."""
    assert not has_checksum(text)


def test_a_prefix_cannot_be_exchanged() -> None:
    """The checksum covers the prefix, so one kind of secret cannot pass for another."""
    secret = mint("reader", FIXED)
    assert not has_checksum(PREFIXES["producer"] + secret[5:])


def test_secrets_are_stored_as_a_digest() -> None:
    """The stored form is BLAKE3-256 in hex and does not contain the secret."""
    secret = mint("session", FIXED)
    assert digest_secret(secret) == blake3(secret.encode()).hexdigest()

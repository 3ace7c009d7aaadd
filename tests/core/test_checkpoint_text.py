"""Signed checkpoints and proofs as text, checked against the examples of their specifications."""

import base64
import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.log.checkpoint_text import (
    Checkpoint,
    NoteError,
    Proof,
    VerifierKey,
    is_signed_by,
    join_signatures,
    read_checkpoint,
    read_key,
    read_proof,
    read_text,
    sign_note,
    write_proof,
)

ORIGIN = "memory.example.org/antechamber"
SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = VerifierKey(ORIGIN, SECRET.public_key().public_bytes_raw())
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
POINT = Checkpoint(ORIGIN, 42, bytes(range(32)))
NOTE = sign_note(POINT, KEY, SECRET.sign)


def verify(public: bytes, signature: bytes, text: bytes) -> bool:
    """Verify a signature as defined in RFC 8032."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except InvalidSignature:
        return False
    return True


def read(note: str) -> Checkpoint:
    """Read a note with this log's key."""
    return read_checkpoint(note, KEY, verify)


def test_a_checkpoint_is_signed_written_and_read() -> None:
    """A checkpoint has three lines, an empty line and a signature with the key's id."""
    assert read(NOTE) == POINT
    lines = NOTE.split("\n")
    assert lines[:4] == [ORIGIN, "42", base64.b64encode(POINT.root).decode(), ""]
    assert lines[4].startswith(f"— {ORIGIN} ")
    assert lines[5:] == [""]
    assert read_key(str(KEY)) == KEY
    assert read_key(f" {KEY}\n") == KEY


def test_the_published_example_of_a_key_id_is_ours_too() -> None:
    """The checkpoint of c2sp.org/tlog-checkpoint yields the key id in front of its signature."""
    line = "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8="
    note = (
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
        f"— example.com/behind-the-sofa {line}\n"
    )
    with pytest.raises(NoteError, match="not signed by"):
        read(note)


def test_signatures_of_others_are_passed_over() -> None:
    """A note may also be signed by witnesses; lines of unknown keys are ignored."""
    other = VerifierKey("witness.example.org", OTHER.public_key().public_bytes_raw())
    witnessed = NOTE + sign_note(POINT, other, OTHER.sign).split("\n\n")[1]
    assert read(witnessed) == POINT
    # The log's name with another key, and the key under another name, are unknown as well.
    assert read(NOTE + sign_note(POINT, VerifierKey(ORIGIN, other.public), OTHER.sign).split("\n\n")[1]) == POINT
    with pytest.raises(NoteError, match="not signed by"):
        read(sign_note(POINT, other, OTHER.sign))


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("", "an empty line"),
        (NOTE[:-1], "an empty line"),
        (NOTE.replace("\n\n", "\n"), "an empty line"),
        (NOTE + "\x00", "plain text"),
        (NOTE.replace("\n", "\r\n"), "plain text"),
        (NOTE.replace("— ", "- "), "no signature"),
        (NOTE + "—\n", "no signature"),
        (NOTE + "— a b c\n", "not base64"),
        (NOTE + "— a+b AAAAAAAA\n", "no signature"),
        (NOTE + "— a\u00a0b AAAAAAAA\n", "no signature"),
        (NOTE + "— a\u0085b AAAAAAAA\n", "no signature"),
        (NOTE + f"— {ORIGIN} AAAA\n", "not base64"),
        (NOTE + f"— {ORIGIN} AAAAAA==\n", "not base64"),
        (NOTE + f"— {ORIGIN} AAAAAAB=\n", "not base64"),
        (NOTE.replace("\n42\n", "\n43\n"), "signature is wrong"),
        (NOTE + f"— {ORIGIN} {base64.b64encode(KEY.key_id + bytes(64)).decode()}\n", "signature is wrong"),
        ("x" * 1_000_001, "plain text"),
    ],
)
def test_a_note_that_is_none_is_refused(note: str, said: str) -> None:
    """An invalid note is refused with the reason."""
    with pytest.raises(NoteError, match=said):
        read(note)


@pytest.mark.parametrize(
    "text",
    [
        f"{ORIGIN}\n42\n",
        f"{ORIGIN}\n042\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{ORIGIN}\n-1\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{ORIGIN}\n42\n{base64.b64encode(bytes(31)).decode()}\n",
        f"{ORIGIN}\n42\n{base64.b64encode(bytes(32)).decode()[:-1]}\n",
        f"{ORIGIN}\n42\n{base64.b64encode(bytes(32)).decode()}\n\n",
        f"{ORIGIN}\n42\n{base64.b64encode(bytes(32)).decode()}\n\nmore\n",
        f"{ORIGIN}\n42\n{base64.b64encode(bytes(32)).decode()}\nmore\n\neven more\n",
        f"{ORIGIN}\n42\n\n{base64.b64encode(bytes(32)).decode()}\n",
        f"elsewhere\n42\n{base64.b64encode(bytes(32)).decode()}\n",
    ],
)
def test_a_signed_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    """A valid signature does not make any text a checkpoint."""
    signature = base64.b64encode(KEY.key_id + SECRET.sign(text.encode())).decode()
    with pytest.raises(NoteError, match=r"no checkpoint|the root is not"):
        read(f"{text}\n— {ORIGIN} {signature}\n")


def signed(text: str) -> str:
    """Sign a text with this log's key."""
    return f"{text}\n— {ORIGIN} {base64.b64encode(KEY.key_id + SECRET.sign(text.encode())).decode()}\n"


def test_extension_lines_are_accepted_and_signed() -> None:
    """Extension lines are opaque and signed, so none can be added, dropped or changed later."""
    extended = signed(POINT.text + "first extension\n— not a signature\n")
    assert read(extended) == POINT
    assert read_text(extended) == POINT
    for altered in (
        extended.replace("first", "other"),
        extended.replace("first extension\n", ""),
        extended.replace("first extension\n", "first extension\none more\n"),
        NOTE.replace("\n\n", "\nfirst extension\n\n", 1),
    ):
        with pytest.raises(NoteError, match="signature is wrong"):
            read(altered)


def test_signatures_with_another_key_id_or_length_are_ignored() -> None:
    """Even under the log's own name such signatures belong to keys or algorithms unknown to the reader."""
    for raw in (
        bytes(4) + bytes(64),
        bytes(4) + bytes(1),
        bytes(4) + bytes(2420),
        KEY.key_id + bytes(63),
        KEY.key_id + bytes(65),
        KEY.key_id + bytes(72),
    ):
        line = f"— {ORIGIN} {base64.b64encode(raw).decode()}\n"
        assert read(NOTE + line) == POINT
        assert read(POINT.text + "\n" + line + NOTE.split("\n\n")[1]) == POINT
        with pytest.raises(NoteError, match="not signed by"):
            read(f"{POINT.text}\n{line}")


def test_a_note_may_have_many_signatures() -> None:
    """A note may have at least sixteen signatures, as the specification requires."""
    others = "".join(f"— witness-{number}.example {base64.b64encode(bytes(76)).decode()}\n" for number in range(40))
    assert read(POINT.text + "\n" + others + NOTE.split("\n\n")[1] + others) == POINT


@pytest.mark.parametrize("name", ["", "a+b", "+", "a b", "a\tb", "a\nb", "a\u00a0b", "a\u2028b"])
def test_a_key_name_has_no_plus_and_no_space(name: str) -> None:
    """Such a key name is ambiguous, so it is refused for signing and in a verifier key."""
    with pytest.raises(NoteError, match="name"):
        VerifierKey(name, KEY.public)
    raw = bytes([1]) + KEY.public
    key_id = hashlib.sha256(f"{name}\n".encode() + raw).digest()[:4].hex()
    with pytest.raises(NoteError, match="verifier key"):
        read_key(f"{name}+{key_id}+{base64.b64encode(raw).decode()}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        str(KEY)[:-1],
        str(KEY).replace(f"+{KEY.key_id.hex()}+", "+00000000+"),
        f"{ORIGIN}+{KEY.key_id.hex()}+{base64.b64encode(bytes([2]) + KEY.public).decode()}",
    ],
)
def test_a_key_that_is_none_is_refused(text: str) -> None:
    """A key of a wrong form, length, id or kind is refused."""
    with pytest.raises(NoteError, match=r"verifier key|the key"):
        read_key(text)


@given(st.integers(0, 2**60), st.lists(st.binary(min_size=32, max_size=32), max_size=60))
def test_a_proof_is_written_and_read(index: int, path: list[bytes]) -> None:
    """A written proof is read back unchanged, with or without an extra line of another tool."""
    proof = Proof(index, path, NOTE)
    text = write_proof(proof)
    assert read_proof(text) == proof
    assert read_proof(text.replace("\nindex", "\nextra AAAA\nindex", 1)) == proof


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c2sp.org/tlog-proof@v1",
        "c2sp.org/tlog-proof@v1\nindex 5",
        "c2sp.org/tlog-proof@v2\nindex 5\n\nnote",
        "c2sp.org/tlog-proof@v1\nindex 05\n\nnote",
        "c2sp.org/tlog-proof@v1\nplace 5\n\nnote",
        "c2sp.org/tlog-proof@v1\nindex 5\nAAAA\n\nnote",
    ],
)
def test_a_proof_that_is_none_is_refused(text: str) -> None:
    """An invalid proof is refused with the reason."""
    with pytest.raises(NoteError, match="proof"):
        read_proof(text)


def test_a_checkpoint_of_two_keys_is_read_with_either() -> None:
    """The signatures of an earlier note of the same text come below those of the later one."""
    other = VerifierKey(ORIGIN, OTHER.public_key().public_bytes_raw())
    note = sign_note(POINT, other, OTHER.sign)
    assert (is_signed_by(note, other), is_signed_by(note, KEY)) == (True, False)
    both = join_signatures(note, NOTE)
    assert both.startswith(note)
    assert read_checkpoint(both, other, verify) == read_checkpoint(both, KEY, verify) == POINT

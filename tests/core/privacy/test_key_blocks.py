"""A finding covers all of a private key, whatever is between its lines."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.search.key_blocks import end_of_block
from support import GATE

GENERATOR = random.Random(11)  # noqa: S311 -- the same key each time
BODY = base64.b64encode(GENERATOR.randbytes(600)).decode()
DER = "MII" + "EvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + BODY
DASHES = "-----"


def lines(text: str, joint: str = "\n", size: int = 64) -> str:
    """Return a text in lines."""
    return joint.join(text[place : place + size] for place in range(0, len(text), size))


def armored(kind: str, body: str, joint: str = "\n") -> str:
    """Return a body between the lines of a key."""
    name = f"{kind}PRIVATE " + "KEY"
    return f"{DASHES}BEGIN {name}{DASHES}{joint}{body}{joint}{DASHES}END {name}{DASHES}"


HEADERS = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
PUTTY = "PuTTY-User-Key-" + f"File-2: ssh-rsa\nEncryption: none\nPublic-Lines: 4\n{lines(BODY)}\n"
KEYS = {
    "PKCS 8": armored("", lines(DER)),
    "OpenSSH": armored("OPENSSH ", lines("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU" + BODY, size=70)),
    "encrypted": armored("RSA ", HEADERS + lines(BODY)),
    "OpenPGP": f"{DASHES}BEGIN PGP PRIVATE " + f"KEY BLOCK{DASHES}\n\n{lines('lQOYBGKk8xQBCADX' + BODY)}\n=aB3d\n"
    f"{DASHES}END PGP PRIVATE KEY BLOCK{DASHES}",
    "in JSON": armored("", lines(DER, "\\n"), "\\n"),
    "quoted": armored("", lines(DER, "\n> "), "\n> "),
    "in a program": armored("", lines(DER, '" +\n  "'), '" +\n  "'),
    "without an end": armored("", lines(DER)).rsplit("\n", 1)[0],
    "without its header": lines(DER),
    "PuTTY": f"{PUTTY}Private-Lines: 8\n{lines(BODY)}\nPrivate-MAC: {'ab12' * 10}",
    "PuTTY without an end": f"{PUTTY}Private-Lines: 8\n{lines(BODY)}",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_all_of_a_private_key_is_found(key: str) -> None:
    """No line of it is left beside the finding; the prose before it is."""
    text = f"The key of the ferry:\n{key}\n"
    covered: set[int] = set()
    for finding in GATE.examine({"/payload": {"content": text}}).findings:
        covered.update(range(finding.start, finding.end))
    left = "".join(sign for place, sign in enumerate(text) if place not in covered)
    assert left.startswith("The key of the ferry:\n")
    assert not any(part in left for part in (key[-60:-30], BODY[:20], BODY[300:320], BODY[-20:]))


def test_what_follows_a_block_is_none_of_it() -> None:
    """Prose, and a value that is no line of base64, end a block; a short value begins none."""
    block = lines(BODY)
    assert end_of_block(f"{block}\nThe next sentence is prose.", 0, 20) == len(block)
    assert end_of_block(f"hunter\n{block}", 0, 6) == 6
    assert end_of_block(f"{block}\n=aB3d\nmore", 0, 20) == len(block) + 6
    assert end_of_block("", 0, 0) == 0


@given(st.text("aB3+/=\n \\n\"'>", max_size=200), st.integers(0, 200))
def test_a_block_ends_within_its_text(text: str, end: int) -> None:
    """It is never shorter than the value in which it begins."""
    assert min(end, len(text)) <= end_of_block(text, 0, min(end, len(text))) <= len(text)


@pytest.mark.parametrize("unit", ["a", "\\", "a\n", "abcdefghijklmnopqrstuvwxyz0123456789\n", "=\n", " ", '"\n'])
def test_any_row_takes_linear_time(unit: str) -> None:
    """Each sign is read a few times, whatever follows."""
    end_of_block(f"{'a' * 40}{unit * 200_000}", 0, 40)

"""Cosignatures of witnesses: those of public witnesses on a public log, and everything that is none."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import verify_export
from antechamber.checkpoint_signer import verify
from antechamber.core.log.checkpoint_text import (
    Checkpoint,
    NoteError,
    VerifierKey,
    read_checkpoint,
    read_key,
    sign_note,
)
from antechamber.core.log.cosignature import (
    COSIGNATURE,
    cosigned_text,
    read_cosignature,
    read_lines,
    read_size,
    read_witness_key,
    write_request,
)
from antechamber.core.log.merkle import EMPTY_ROOT

LOG = "arche2025h1.staging.ct.transparency.dev"
LOG_KEY = f"{LOG}+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
_SIGNATURES = (
    (
        LOG,
        (
            "zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbl"
            "lzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0="
        ),
    ),
    (
        LOG,
        "ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=",
    ),
    (
        "transparency.dev/DEV:witness-little-garden",
        "2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==",
    ),
    (
        "remora.n621.de",
        "2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==",
    ),
    (
        "witness.stagemole.eu",
        "Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==",
    ),
)
PUBLIC = f"{LOG}\n1432088532\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n\n" + "".join(
    f"— {name} {signature}\n" for name, signature in _SIGNATURES
)
"""A checkpoint of a public log with the cosignatures of three public witnesses: facts, of May 2026."""
WITNESSES = (
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
)
TIME = 0x6A122120


@pytest.mark.parametrize("text", WITNESSES)
def test_cosignatures_of_public_witnesses_are_accepted(text: str) -> None:
    """Three public witnesses cosigned a public log; an altered checkpoint, time or signature is refused."""
    key = read_witness_key(text)
    assert str(key) == text
    assert read_checkpoint(PUBLIC, read_key(LOG_KEY), verify).size == 1_432_088_532
    assert read_cosignature(PUBLIC, key, verify) == TIME
    own = verify_export.read_keys(text, 4)[0]
    verify_export.check_witness(PUBLIC, own, "it")
    for altered in (PUBLIC.replace("\n1432088532", "\n1432088533"), PUBLIC.replace("AAAABqEiEg", "AAAABqEiEh")):
        with pytest.raises(NoteError, match=f"the cosignature of {key.name} is wrong"):
            read_cosignature(altered, key, verify)
        with pytest.raises(verify_export.BadError, match=f"the cosignature of {key.name} on it is wrong"):
            verify_export.check_witness(altered, own, "it")


class Witness:
    """A witness's key and its cosignatures."""

    def __init__(self, name: str = "witness.example/w") -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = VerifierKey(name, self.private.public_key().public_bytes_raw(), COSIGNATURE)

    def line(self, text: str, time: int = TIME) -> str:
        """Return the line that cosigns the text of a checkpoint."""
        signature = self.private.sign(cosigned_text(time, text))
        raw = time.to_bytes(8, "big") + signature
        note = sign_note(Checkpoint("x", 0, EMPTY_ROOT), self.key, lambda _: raw)
        return note.rpartition("\n\n")[2]


def signed() -> tuple[str, VerifierKey, str]:
    """Return the text of a checkpoint, the log's key and the signed note."""
    private = Ed25519PrivateKey.generate()
    key = VerifierKey("antechamber/tests", private.public_key().public_bytes_raw())
    checkpoint = Checkpoint(key.name, 0, EMPTY_ROOT)
    return checkpoint.text, key, sign_note(checkpoint, key, private.sign)


def test_the_newest_of_several_cosignatures_counts() -> None:
    """Of two times the later one is returned, and a witness that did not cosign has none."""
    (text, _, note), witness = signed(), Witness()
    assert read_cosignature(note, witness.key, verify) is None
    both = note + witness.line(text, 5) + witness.line(text, 7)
    assert read_cosignature(both, witness.key, verify) == 7
    assert read_cosignature(both, Witness().key, verify) is None
    with pytest.raises(NoteError, match="is wrong"):
        read_cosignature(note + witness.line(text, 1 << 63), witness.key, verify)


def test_keys_of_logs_and_witnesses_are_told_apart() -> None:
    """The key of a log is none of a witness, and the reverse."""
    with pytest.raises(NoteError, match="is no key of a witness"):
        read_witness_key(LOG_KEY)
    with pytest.raises(NoteError, match="is no Ed25519 key"):
        read_key(WITNESSES[0])
    with pytest.raises(verify_export.BadError, match="is no key of a witness"):
        verify_export.read_keys(LOG_KEY, 4)


def test_only_lines_of_the_witness_are_taken_from_its_answer() -> None:
    """Lines of other signers are dropped; an answer without a right one, or that is no text, is refused."""
    (text, _, note), witness, other = signed(), Witness(), Witness("other.example/w")
    line = witness.line(text)
    assert read_lines((other.line(text) + line).encode(), note, witness.key, verify) == line
    for answer in ("", other.line(text), line.replace("=", ""), "— witness.example/w x\n"):
        with pytest.raises(NoteError):
            read_lines(answer.encode(), note, witness.key, verify)
    with pytest.raises(NoteError, match="UTF-8"):
        read_lines(b"\xff", note, witness.key, verify)
    with pytest.raises(NoteError, match="is wrong"):
        read_lines(witness.line(text + "altered").encode(), note, witness.key, verify)


def test_the_messages_have_the_form_of_the_specification() -> None:
    """A request is the old size, the proof, an empty line and the checkpoint; a conflict says the size."""
    assert write_request(3, [bytes(32), bytes(32)], "note\n") == b"old 3\n" + (b"A" * 43 + b"=\n") * 2 + b"\nnote\n"
    assert write_request(0, [], "note\n") == b"old 0\n\nnote\n"
    assert [read_size(body) for body in (b"0\n", b"12", b"012\n", b"-1", b"", b"1\n\n", b"9" * 30)] == [
        0, 12, None, None, None, None, None,
    ]  # fmt: skip


def test_both_verifiers_want_the_witnesses_that_are_given(tmp_path: Path) -> None:
    """An export whose checkpoint a given witness did not cosign is refused by both verifiers, and else accepted."""
    (text, key, note), witness = signed(), Witness()
    closing = {"checkpoint": note, "complete": True, "count": 0, "last_sequence": None, "record": "closing"}
    (tmp_path / "export").write_text(json.dumps(closing, separators=(",", ":"), ensure_ascii=False) + "\n")
    node = shutil.which("node")
    assert node is not None
    program = Path(__file__).parents[1] / "node/verify_export.mjs"
    cases = {note + witness.line(text): True, note: False, note + Witness().line(text): False}
    cases[note + witness.line(f"{text}more\n")] = False
    for number, (cosigned, good) in enumerate(cases.items()):
        path = tmp_path / f"checkpoint-{number}"
        path.write_text(cosigned)
        files = [str(tmp_path / "export"), "--checkpoint", str(path), "--key", str(key)]
        assert verify_export.main(files) == 0
        assert verify_export.main([*files, "--witness", str(witness.key)]) == (0 if good else 1)
        task = {"export": files[0], "checkpoint": str(path), "key": str(key), "witnesses": [str(witness.key)]}
        (tmp_path / "tasks").write_text(json.dumps([task]))
        said = subprocess.run([node, program, tmp_path / "tasks"], capture_output=True, check=True).stdout  # noqa: S603 -- our own program
        assert (json.loads(said)[0]["wrong"] is None) is good

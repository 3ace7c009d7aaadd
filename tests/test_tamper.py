"""Altered exports, checked by the auditors' verifier and by a second one; defective verifiers are detected."""

import base64
import hashlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antechamber.app import erase
from antechamber.checkpoint_signer import FileSigner
from forgeries import FORGERIES, forge
from proofs import tamper
from support import Service
from web.test_audit_api import fill, get


def proven(folder: Path, clean: int, each: int, *, node: bool) -> dict[str, Any]:
    """Run the proof on fewer exports than the script does."""
    seed = random.randrange(2**32)  # noqa: S311 -- no secret
    return tamper.prove(folder, clean=clean, mutations=each * len(tamper.MUTATIONS), seed=seed, node=node)


@pytest.mark.timeout(300)
def test_both_verifiers_find_every_alteration_and_nothing_else(tmp_path: Path) -> None:
    """Both verifiers find ten alterations of each kind; the full form is `scripts/prove tamper`."""
    told = proven(tmp_path, 10, 10, node=True)
    nothing = {"python": 0, "node": 0}
    assert set(told["mutations"].values()) == {10}
    assert (told["false_alarms"], told["not_found"]) == (nothing, nothing), told


@pytest.mark.parametrize("kind", ["review-records", "dispositions", "notes"])
def test_both_verifiers_say_the_same_of_records(service: Service, tmp_path: Path, kind: str) -> None:
    """Both verifiers agree on real exports of records and on every forgery of them."""
    fill(service)
    exported = get(service, kind).content
    made = {"untouched": exported} | {how: forge(exported, how) for how in FORGERIES}
    cases = []
    for number, data in enumerate(made.values()):
        case = tamper.Case(
            data.splitlines(keepends=True),
            get(service, "checkpoint").text,
            get(service, "key").text,
            None,
            records=True,
        )
        cases.append(tamper.write(tmp_path, number, case))
    for verdicts in ([tamper.by_python(one) for one in cases], tamper.by_node(tmp_path, cases)):
        assert [how for how, wrong in zip(made, verdicts, strict=True) if wrong is None] == ["untouched"]


def _judged(folder: Path, cases: list[tamper.Case]) -> Iterator[tuple[str | None, str | None]]:
    """Yield the problems that each verifier reports."""
    written = [tamper.write(folder, number, case) for number, case in enumerate(cases)]
    return zip([tamper.by_python(one) for one in written], tamper.by_node(folder, written), strict=True)


def test_both_verifiers_read_checkpoints_as_their_specifications_say(tmp_path: Path) -> None:
    """Both verifiers follow c2sp.org/signed-note and c2sp.org/tlog-checkpoint for texts signed by the log."""
    case = tamper.make(tmp_path / "log", random.Random(1), 5).case  # noqa: S311 -- no secret
    signer = FileSigner(tmp_path / "log")
    text, _, own = case.checkpoint.partition("\n\n")
    name, _, root = text.split("\n")
    key_id = signer.key.key_id

    def line(raw: bytes, signed_by: str = name) -> str:
        return f"— {signed_by} {base64.b64encode(raw).decode()}\n"

    def signed(body: str) -> str:
        return f"{body}\n{line(key_id + signer._private.sign(body.encode()))}"

    accepted = [
        case.checkpoint,
        signed(f"{text}\nan extension\n— another one\n"),
        case.checkpoint + line(bytes(68)),
        case.checkpoint + line(bytes(5)),
        case.checkpoint + line(key_id + bytes(63)),
        case.checkpoint + line(key_id + bytes(65)),
        case.checkpoint + line(key_id + bytes(64), "witness.example"),
        f"{text}\n\n{''.join(line(bytes(76), f'witness-{number}.example') for number in range(20))}{own}",
    ]
    refused = [
        signed(f"{text}\n\n"),
        signed(f"{text}\n\nan extension\n"),
        signed(f"{text}\nan extension\n\nanother one\n"),
        signed(f"{name}\n5\n\n{root}\n"),
        signed(f"{name}\n05\n{root}\n"),
        signed(f"{name}\n5\n\n"),
        signed(f"{name}\n5\nAAAA\n"),
        signed(f"{name}\n5\n"),
        case.checkpoint.replace("\n\n", "\nan extension\n\n", 1),
        case.checkpoint + line(key_id + bytes(64)),
        case.checkpoint + line(bytes(68), "witness+example"),
        case.checkpoint + line(bytes(68), "witness\u00a0example"),
        case.checkpoint + line(bytes(68), "witness\u0085example"),
        case.checkpoint + line(bytes(4)),
        case.checkpoint + line(b""),
        case.checkpoint + f"— {name} AAAAAAB=\n",
        f"{text}\n\n{line(bytes(4) + bytes(64))}",
        f"{text}\n\n{line(key_id + bytes(63))}",
    ]
    cases = [case._replace(checkpoint=note, previous=None) for note in (*accepted, *refused)]
    verdicts = list(_judged(tmp_path, cases))
    assert verdicts[: len(accepted)] == [(None, None)] * len(accepted)
    for note, verdict in zip(refused, verdicts[len(accepted) :], strict=True):
        assert None not in verdict, (note, verdict)


def test_both_verifiers_refuse_a_key_whose_name_could_be_read_in_two_ways(tmp_path: Path) -> None:
    """A plus or space of any kind in the name is refused; the id is computed from the given name."""
    case = tamper.make(tmp_path / "log", random.Random(1), 5).case  # noqa: S311 -- no secret
    raw = bytes([1]) + FileSigner(tmp_path / "log").key.public
    for name in ("log+one", "log\u00a0one", "log\u0085one", "log\u2028one", ""):
        key_id = hashlib.sha256(f"{name}\n".encode() + raw).digest()[:4].hex()
        wrong = case._replace(key=f"{name}+{key_id}+{base64.b64encode(raw).decode()}", previous=None)
        assert all(all(verdict) for verdict in _judged(tmp_path, [wrong])), name


def test_a_hash_of_another_length_leads_nowhere() -> None:
    """A hash of another length fails in every proof, even as its own root."""
    root_by, leaf = tamper.verify_export.root_by, bytes(32)
    assert root_by([], leaf, 0, 1) == leaf
    for wrong in (b"", bytes(31), bytes(33)):
        assert root_by([], wrong, 0, 1) is None
        assert root_by([wrong], leaf, 0, 2) is None
    assert root_by([], leaf, 1, 1) is None
    assert root_by([], leaf, 0, 0) is None
    assert root_by([], leaf, -1, 0) is None


def test_both_verifiers_expect_what_they_are_asked_for(service: Service, tmp_path: Path) -> None:
    """The whole log is required by default and records on request; an empty file or a false claim satisfies neither."""
    fill(service)
    checkpoint, key = get(service, "checkpoint").text, get(service, "key").text
    log, records = get(service, "export").content, get(service, "review-records").content
    nothing = get(service, "dispositions", since="2099-01-01").content
    claimed = nothing.replace(b'"complete":false', b'"complete":true')
    assert claimed != nothing
    expected = [(log, False, True), (log, True, False), (records, True, True), (records, False, False)]
    expected += [
        (data, asked, False)
        for data in (b"", nothing, claimed, log.splitlines(keepends=True)[-1], records.splitlines(keepends=True)[-1])
        for asked in (True, False)
    ]
    cases = [tamper.Case(data.splitlines(keepends=True), checkpoint, key, None, asked) for data, asked, _ in expected]
    for (data, asked, good), verdict in zip(expected, _judged(tmp_path, cases), strict=True):
        assert [one is None for one in verdict] == [good, good], (data[-200:], asked, verdict)


def test_both_verifiers_name_the_same_members_as_not_proven(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both verifiers name the unproven members of export and every record, and the leaves of records without text."""
    ids = fill(service)
    erase(service.location, ids["other"], "private")
    erase(service.location, ids["proposal_id"], "private")
    for kind in ("review-records", "dispositions", "notes"):
        data, checkpoint, key = get(service, kind).content, get(service, "checkpoint").text, get(service, "key").text
        case = tamper.Case(data.splitlines(keepends=True), checkpoint, key, None, records=True)
        files = tamper.write(tmp_path, 0, case)
        asked = [files["export"], "--checkpoint", files["checkpoint"], "--key", key, "--records"]
        assert tamper.verify_export.main(asked) == 0
        said = capsys.readouterr().out
        (second,) = tamper.judged(tmp_path, [files])
        every, lost = second["unproven"]["every"], second["unproven"]["leaves"]
        assert f"Not proven of the export: {', '.join(second['unproven']['export'])}." in said
        assert every == re.findall(r"\w+", said.partition("Not proven of any record:")[2].partition(".")[0])
        (names,) = {tuple(names) for names in lost.values()}
        assert f": {', '.join(names)} (leaf {', '.join(sorted(lost, key=int))})." in said
        assert f"Not proven of {len(lost)} records without salt" in said


def _believe(record: dict[str, Any], location: str) -> bytes:
    """Accept the leaf hash that a record names."""
    tool = tamper.verify_export
    if not isinstance(record.get("leaf"), dict) or set(record["leaf"]) != tool.LEAF:
        tool.bad(location)
    try:
        return bytes.fromhex(str(record["leaf_hash"]))
    except ValueError:
        tool.bad(location)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("blind", ["check_leaf", "signs", "close_log", "pass_previous"])
def test_a_blind_verifier_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: str) -> None:
    """A verifier without one of its checks accepts alterations, and the proof reports it."""
    tool = tamper.verify_export
    location, instead = {
        "check_leaf": (tool, _believe),
        "signs": (tool, lambda *_: True),
        "close_log": (tool.Export, lambda *_: None),
        "pass_previous": (tool.Export, lambda _: None),
    }[blind]
    monkeypatch.setattr(location, blind, instead)
    # A verifier without `signs` accepts only every second foreign checkpoint, so enough exports are needed.
    told = proven(tmp_path, 5, 40, node=False)
    assert told["not_found"]["python"] > 0

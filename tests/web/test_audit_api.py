"""What auditors download over HTTP: exports that verify, checkpoints, keys and proofs."""

import base64
import contextlib
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

import verify_export
from antechamber.app import erase
from antechamber.checkpoint_signer import verify
from antechamber.core.log.checkpoint_text import (
    Checkpoint,
    read_checkpoint,
    read_key,
    read_proof,
    read_text,
    sign_note,
)
from antechamber.core.log.merkle import EMPTY_ROOT, Frontier, leaf_hash, verify_consistency, verify_inclusion
from antechamber.core.review.decision import ERASED
from forgeries import FORGERIES, forge
from support import Desk, Service, event

AUDIT = "/v1/audit"
KINDS = ("export", "review-records", "dispositions", "notes")
LOST = "person, producer_identity, scope_id, self_edit, submission_scope, target, version"
"""Members that the leaf of a review record commits to besides its texts."""


def get(service: Service, path: str, read: tuple[str, ...] = (), **query: Any) -> httpx.Response:
    """Send a GET request as an auditor with a token."""
    response: httpx.Response = service.client.get(
        f"{AUDIT}/{path}", params=query, headers=service.bearer("auditing", "auditor", read)
    )
    return response


def lines(response: httpx.Response) -> list[dict[str, Any]]:
    """Return the records of an export."""
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.content.splitlines()]


def verified(
    service: Service, folder: Path, exported: bytes, *options: str, closing: bytes | None = None
) -> tuple[int, str]:
    """Verify an export with its own or another checkpoint; return the exit status and the output."""
    end = json.loads((closing or exported).splitlines()[-1])
    (folder / "export.jsonl").write_bytes(exported)
    (folder / "checkpoint.txt").write_text(end["checkpoint"])
    said = io.StringIO()
    arguments = [str(folder / "export.jsonl"), "--checkpoint", str(folder / "checkpoint.txt")]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = verify_export.main([*arguments, "--key", get(service, "key").text, *options])
    return status, said.getvalue()


def converse(service: Service, desk: Desk, receipt: dict[str, Any]) -> None:
    """Write a note of each kind about a proposal."""
    service.sign_in("eve")
    said = (("note", "=1+1 quokkas, @eve."), ("question", "Which quokkas?"))
    answers = [desk.write(receipt["proposal_id"], route, text) for route, text in said]
    answers.append(desk.write(receipt["proposal_id"], "assignment", person="eve"))
    assert [answer.status_code for answer in answers] == [303, 303, 303]
    assert service.answer(receipt["submission_id"], "The quokkas of house 4.", "answer").status_code == 201


def fill(service: Service) -> dict[str, str]:
    """Create one of everything; return ids."""
    first = service.submit(event("Feed the quokkas first.", idempotency_key="a")).json()
    service.submit(event("Feed the quokkas first.", idempotency_key="again"))
    refused = service.submit(event("Something else.", idempotency_key="a")).json()
    service.submit(event("Page mira@orbit-works.dev.", idempotency_key="p"))
    service.client.put("/v1/submissions/by-key/s/seal", headers=service.bearer())
    other = service.submit(event("Größe zählt.\u2028Zeile.", submission_scope="session", scope_id="s-1")).json()
    desk = service.sign_in()
    converse(service, desk, first)
    assert desk.decide(first["proposal_id"], "approve", reason_text="=SUM(1)").status_code == 303
    assert desk.decide(other["proposal_id"], "reject", reason_code="wrong", reason_text='"quoted"\n').status_code == 303
    assert desk.decide(first["proposal_id"], "retract", reason_code="outdated").status_code == 303
    return {
        "proposal_id": first["proposal_id"],
        "submission_id": first["submission_id"],
        "quarantine_id": refused["quarantine_id"],
        "other": other["proposal_id"],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_export_verifies_and_one_changed_byte_is_found(service: Service, tmp_path: Path, kind: str) -> None:
    """The log verifies as a whole, records and answers by their proofs; the verifier names the altered leaf."""
    fill(service)
    exported = get(service, kind).content
    options = [] if kind == "export" else ["--records"]
    status, said = verified(service, tmp_path, exported, *options)
    assert status == 0, said
    assert ("Nothing is missing" in said) == (kind == "export")
    assert ("Not proven" in said) == (kind != "export")
    records = [json.loads(line) for line in exported.splitlines()]
    sequence = records[2]["sequence"]
    altered = exported.splitlines(keepends=True)
    altered[2] = altered[2].replace(b'"actor":"', b'"actor":"x', 1)
    status, said = verified(service, tmp_path, b"".join(altered), *options)
    assert status == 1
    assert f"leaf {sequence}" in said


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_log_is_expected_and_records_only_on_request(service: Service, tmp_path: Path, kind: str) -> None:
    """The verifier expects the whole log, and accepts records only with the option that its message names."""
    fill(service)
    exported = get(service, kind).content
    options = ["--records"] if kind == "export" else []
    for data in (exported, exported.splitlines(keepends=True)[-1]):
        status, said = verified(service, tmp_path, data, *options)
        assert status in {1, 2}
        assert "erified:" not in said.replace("nothing was verified:", "").replace("NOT verified:", "")
    status, said = verified(service, tmp_path, exported, *options)
    assert (status, said.startswith("nothing was verified: EXPORT is")) == (2, True)
    assert ("leave out --records" if kind == "export" else "with --records each record") in said


def test_a_closing_line_alone_proves_nothing(service: Service, tmp_path: Path) -> None:
    """A closing line alone verifies neither as a log nor as records, even if it claims to be complete."""
    fill(service)
    log = get(service, "export").content.splitlines(keepends=True)[-1]
    status, said = verified(service, tmp_path, log)
    assert (status, "the closing record says count" in said) == (1, True)
    counted = msgspec.json.encode(json.loads(log) | {"count": 0, "last_sequence": None}, order="sorted") + b"\n"
    status, said = verified(service, tmp_path, counted)
    assert (status, "leaf 0 is missing" in said) == (1, True)
    for kind in ("review-records", "dispositions"):
        nothing = get(service, kind, since="2099-01-01").content
        assert nothing.count(b"\n") == 1
        status, said = verified(service, tmp_path, nothing)
        assert (status, "EXPORT is no whole log" in said) == (2, True)
        status, said = verified(service, tmp_path, nothing, "--records")
        assert (status, said.startswith("Verified nothing: the export holds no records.")) == (3, True)
        claimed = msgspec.json.encode(json.loads(nothing) | {"complete": True}, order="sorted") + b"\n"
        status, said = verified(service, tmp_path, claimed, "--records")
        assert (status, "only the whole log can prove that" in said) == (1, True)
        assert "export the whole log" in said


def test_no_export_of_records_claims_to_be_complete(service: Service) -> None:
    """No export of records claims to be complete, whatever its filter; the closing record names the limits."""
    fill(service)
    for kind in ("review-records", "dispositions"):
        for query in ({}, {"since": "2000-01-01"}):
            closing = lines(get(service, kind, **query))[-1]
            assert (closing["complete"], list(closing["filters"])) == (False, list(query))
        limited = lines(get(service, kind, ("session:s-1",)))[-1]
        assert (limited["complete"], limited["filters"]) == (False, {"scopes": ["session:s-1"]})
        assert '"false"' in get(service, kind, format="csv").text.splitlines()[-1]
    assert lines(get(service, "export"))[-1]["complete"] is True


def test_a_log_of_nothing_is_whole_only_by_a_checkpoint_of_nothing(service: Service, tmp_path: Path) -> None:
    """An empty log is complete only with a checkpoint of size 0, which does not count as an earlier checkpoint."""
    signer = service.state.checkpoints._signer
    empty = sign_note(Checkpoint(signer.key.name, 0, EMPTY_ROOT), signer.key, signer._private.sign)
    closing = {"checkpoint": empty, "complete": True, "count": 0, "last_sequence": None, "record": "closing"}
    exported = msgspec.json.encode(closing, order="sorted") + b"\n"
    status, said = verified(service, tmp_path, exported)
    assert (status, said.startswith("Verified: 0 leaves")) == (0, True)
    other = sign_note(Checkpoint(signer.key.name, 0, bytes(32)), signer.key, signer._private.sign)
    forged = msgspec.json.encode(closing | {"checkpoint": other}, order="sorted") + b"\n"
    assert verified(service, tmp_path, forged)[0] == 1
    (tmp_path / "kept.txt").write_text(empty)
    status, said = verified(service, tmp_path, get(service, "export").content, "--previous", str(tmp_path / "kept.txt"))
    assert (status, "proves nothing of later ones" in said) == (2, True)


def test_a_record_proves_whose_proposal_was_decided_where_and_by_whom(service: Service, tmp_path: Path) -> None:
    """With its salt, a record proves producer, scope and curator; without it the verifier names what is unproven."""
    fill(service)
    exported = get(service, "review-records").content
    status, said = verified(service, tmp_path, exported, "--records")
    assert status == 0
    unproven = set(re.findall(r"\w+", said.partition("Not proven")[2]))
    for name in LOST.split(", "):
        assert name not in unproven
        assert name in lines(get(service, "review-records"))[0]
    assert "resulting_hash" in unproven
    assert "without salt" not in unproven


def test_filters_and_time_of_an_export_of_records_are_named_as_not_proven(service: Service, tmp_path: Path) -> None:
    """Nothing signs what was chosen and when, so the verifier does not vouch for it."""
    fill(service)
    for kind in ("review-records", "dispositions", "notes"):
        records = [json.loads(line) for line in get(service, kind).content.splitlines()]
        records[-1] |= {"filters": {"curator": "eve"}, "exported_at": "2020-01-01T00:00:00Z"}
        altered = b"".join(msgspec.json.encode(record, order="sorted") + b"\n" for record in records)
        status, said = verified(service, tmp_path, altered, "--records")
        assert (status, "Not proven of the export: exported_at, filters." in said) == (0, True)


def test_what_an_erasure_took_the_proof_of_is_named(service: Service, tmp_path: Path) -> None:
    """The verifier names erased proofs with their leaf, because it cannot distinguish them from altered ones."""
    ids = fill(service)
    erase(service.location, ids["other"], "private")
    exported = get(service, "review-records").content
    records = [json.loads(line) for line in exported.splitlines()]
    (gone,) = [record for record in records[:-1] if record["proposal_id"] == ids["other"]]
    assert (gone["salt"], gone["shown"]) == (None, ERASED)
    gone["version"] = 7
    altered = b"".join(msgspec.json.encode(record, order="sorted") + b"\n" for record in records)
    for data in (exported, altered):
        status, said = verified(service, tmp_path, data, "--records")
        assert status == 0, said
        assert f"Not proven of 1 records without salt, whose texts are erased or were never kept: {LOST} " in said
        assert f"(leaf {gone['sequence']})" in said
    told = verified(service, tmp_path, get(service, "dispositions").content, "--records")[1]
    private = [record["sequence"] for record in lines(get(service, "dispositions"))[:-1] if record["salt"] is None]
    assert f"payload, receipt, source_span (leaf {', '.join(map(str, private))})" in told


def test_notes_are_exported_with_all_that_their_leaves_commit_to(service: Service, tmp_path: Path) -> None:
    """Each note has its text, its persons and its proof; after an erasure the unproven members are named."""
    ids = fill(service)
    records = lines(get(service, "notes"))[:-1]
    assert [(one["kind"], one["author"], one["text"], one["persons"]) for one in records] == [
        ("note", "bob", "=1+1 quokkas, @eve.", ["eve"]),
        ("question", "bob", "Which quokkas?", []),
        ("assignment", "bob", "", ["eve"]),
        ("answer", "worker:release-bot", "The quokkas of house 4.", []),
    ]
    assert records[3]["answers"] == records[1]["note_id"]
    assert {one["proposal_id"] for one in records} == {ids["proposal_id"]}
    assert [one["kind"] for one in lines(get(service, "notes", producer_identity="tool:watcher"))[:-1]] == []
    assert len(lines(get(service, "notes", submission_scope="project", scope_id="apollo", since="2020-01-01"))) == 5
    assert len(lines(get(service, "notes", until="2020-01-01"))) == 1
    assert get(service, "notes", kind="note").status_code == 400
    assert len(lines(get(service, "notes", ("session:*",)))) == 1
    erase(service.location, ids["proposal_id"], "private")
    exported = get(service, "notes").content
    gone = [json.loads(line) for line in exported.splitlines()][:-1]
    assert [(one["text"], one["salt"]) for one in gone] == [
        (text, None) for text in ("(erased)", "(erased)", "", "(erased)")
    ]
    status, said = verified(service, tmp_path, exported, "--records")
    assert status == 0, said
    assert "Not proven of 4 records without salt" in said
    assert "person, persons, producer_identity, scope_id, submission_scope (leaf " in said
    table = list(csv.DictReader(io.StringIO(get(service, "notes", format="csv").text)))
    assert [row["kind"] for row in table] == ["note", "question", "assignment", "answer", ""]


@pytest.mark.parametrize("kind", ["review-records", "dispositions", "notes"])
def test_no_forged_record_is_verified(service: Service, tmp_path: Path, kind: str) -> None:
    """A forged record fails verification, whatever was altered, and no control character reaches the terminal."""
    fill(service)
    exported = get(service, kind).content
    assert verified(service, tmp_path, exported, "--records")[0] == 0
    for how in FORGERIES:
        status, said = verified(service, tmp_path, forge(exported, how), "--records", closing=exported)
        assert status == 1, (how, said)
        assert said.startswith("NOT verified"), how
        assert said.strip().isprintable(), how


@pytest.mark.parametrize(
    ("made", "status", "said"),
    [
        (b"", 1, "cut off before its first record: it has no closing record; export it again"),
        (b"When,What\r\n", 2, "no export as JSONL"),
        (b"\x7fELF\x00", 2, "no export as JSONL"),
        (b'{"record":"leaf"', 1, "cut off"),
        (b"{}\r\n", 1, "converted on its way"),
        (b'{"old_size":1,"proof":[]}', 2, "single record or proof"),
        (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}\n", 1, "leaf 0"),
        (b'{"a":1.5}\n', 1, "number that no record holds"),
        (b'{"a":"\xff"}\n', 1, "no JSON record"),
    ],
)
def test_what_is_no_export_is_named(service: Service, tmp_path: Path, made: bytes, status: int, said: str) -> None:
    """A file that is not an export gives a message, never a traceback."""
    exported = get(service, "export").content
    assert verified(service, tmp_path, made, closing=exported)[0] == status
    assert said in verified(service, tmp_path, made, closing=exported)[1]


def test_arguments_that_do_not_fit_are_named(service: Service, tmp_path: Path) -> None:
    """Missing or wrong files and invalid keys exit with 2, which distinguishes them from altered exports."""
    exported = get(service, "export").content
    assert verified(service, tmp_path, exported)[0] == 0
    export, checkpoint = str(tmp_path / "export.jsonl"), str(tmp_path / "checkpoint.txt")
    key = get(service, "key").text
    (tmp_path / "raw").write_bytes(b"\xff\xfe")
    for arguments, status in (
        ([export, "--checkpoint", str(tmp_path), "--key", key], 2),
        ([str(tmp_path), "--checkpoint", checkpoint, "--key", key], 2),
        ([export, "--checkpoint", str(tmp_path / "none"), "--key", key], 2),
        ([export, "--checkpoint", str(tmp_path / "raw"), "--key", key], 2),
        ([export, "--checkpoint", checkpoint, "--key", checkpoint], 2),
        ([export, "--checkpoint", checkpoint, "--key", "\udcff+00000000+" + "A" * 44], 1),
        ([export, "--checkpoint", export, "--key", key], 1),
    ):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            assert verify_export.main(arguments) == status, arguments
        assert said.getvalue().count("\n") == 1


def test_a_key_that_was_replaced_signs_nothing_that_came_later(service: Service, tmp_path: Path) -> None:
    """A stolen key cannot sign after its replacement, because the log itself names the successor."""
    fill(service)
    old = service.state.checkpoints._signer._private
    was = service.state.checkpoints._signer.key
    new = service.state.checkpoints.change_key()
    service.submit(event("Later."))
    exported = get(service, "export").content
    status, said = verified(service, tmp_path, exported)
    assert status == 0
    assert "another key signs" in said
    closing = json.loads(exported.splitlines()[-1])
    stolen = sign_note(read_text(closing["checkpoint"]), was, old.sign)
    forged = exported.splitlines(keepends=True)
    forged[-1] = msgspec.json.encode(closing | {"checkpoint": stolen}, order="sorted") + b"\n"
    status, said = verified(service, tmp_path, b"".join(forged))
    assert (status, "replaced by" in said) == (1, True)
    records = get(service, "review-records").content.splitlines(keepends=True)
    closing = json.loads(records[-1])
    stolen = sign_note(read_text(closing["checkpoint"]), was, old.sign)
    records[-1] = msgspec.json.encode(closing | {"checkpoint": stolen}, order="sorted") + b"\n"
    status, said = verified(service, tmp_path, b"".join(records), "--records")
    assert (status, "older key" in said) == (1, True)
    assert new != str(was)


def test_a_key_that_was_replaced_closes_no_log_that_hides_its_replacement(service: Service, tmp_path: Path) -> None:
    """A thief of a replaced key leaves out what followed its theft, or ends with the successor; both are refused."""
    fill(service)
    old, was = service.state.checkpoints._signer._private, service.state.checkpoints._signer.key
    before = get(service, "export").content
    service.state.checkpoints.change_key()
    after = get(service, "export").content
    for honest, ends in ((before, "submit"), (after, "log-key")):
        records = [json.loads(line) for line in honest.splitlines()[:-1]]
        records[1]["leaf"]["actor"] = "worker:forged"
        texts = [msgspec.json.encode(record["leaf"], order="sorted") for record in records]
        tree = Frontier()
        for record, text in zip(records, texts, strict=True):
            record["leaf_hash"] = leaf_hash(text).hex()
            tree.append(leaf_hash(text))
        closing = json.loads(honest.splitlines()[-1])
        closing["checkpoint"] = sign_note(Checkpoint(was.name, tree.size, tree.root()), was, old.sign)
        forged = b"".join(msgspec.json.encode(one, order="sorted") + b"\n" for one in [*records, closing])
        status, said = verified(service, tmp_path, forged)
        assert (status, "older key" in said) == (1, True), ends


def test_an_export_from_before_a_change_of_keys_is_verified_with_the_keys_of_that_time(
    service: Service, tmp_path: Path
) -> None:
    """With the new key file the verifier says what to do; a kept export holds with the keys that were kept with it."""
    fill(service)
    kept, keys = get(service, "export").content, get(service, "key").text
    service.state.checkpoints.change_key()
    status, said = verified(service, tmp_path, kept)
    assert (status, "export again" in said, "keys of that time" in said) == (1, True, True)
    arguments = [str(tmp_path / "export.jsonl"), "--checkpoint", str(tmp_path / "checkpoint.txt"), "--key", keys]
    assert verify_export.main(arguments) == 0
    assert verified(service, tmp_path, get(service, "export").content)[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_right_after_a_change_of_keys_verifies_with_either_key(
    service: Service, tmp_path: Path, kind: str
) -> None:
    """Both keys sign the checkpoint that ends with the leaf of the new one: so the old key leads to the new."""
    fill(service)
    old = get(service, "key").text
    service.state.checkpoints.change_key()
    exported = get(service, kind).content
    options = [] if kind == "export" else ["--records"]
    status, said = verified(service, tmp_path, exported, *options)
    assert status == 0, said
    arguments = [str(tmp_path / "export.jsonl"), "--checkpoint", str(tmp_path / "checkpoint.txt"), "--key", old]
    assert verify_export.main([*arguments, *options]) == 0


def test_a_checkpoint_fetched_before_or_after_a_quiet_export_is_its_own(service: Service) -> None:
    """The leaf of an export is signed with the next change; the export alone requires no new checkpoint."""
    fill(service)
    before = get(service, "checkpoint").text
    exported = lines(get(service, "export"))
    again = lines(get(service, "export"))
    assert before == exported[-1]["checkpoint"] == again[-1]["checkpoint"] == get(service, "checkpoint").text
    assert exported == again
    service.submit(event("A change."))
    later = lines(get(service, "export"))
    assert [record["leaf"]["action"] for record in later[-4:-1]] == ["export", "export", "submit"]


def test_an_earlier_checkpoint_is_the_beginning_of_every_later_export(service: Service, tmp_path: Path) -> None:
    """A checkpoint from the last visit is consistent with a later export; one of another log is not."""
    fill(service)
    kept = tmp_path / "kept.txt"
    kept.write_text(get(service, "checkpoint").text)
    service.submit(event("A change."))
    status, said = verified(service, tmp_path, get(service, "export").content, "--previous", str(kept))
    assert status == 0
    assert re.search(r"begin with the \d+ of the earlier checkpoint", said)
    answers = get(service, "dispositions").content
    status, said = verified(service, tmp_path, answers, "--records", "--previous", str(kept))
    assert (status, "only an export of the whole log" in said) == (2, True)


def test_the_key_reads_the_checkpoint(service: Service) -> None:
    """The key and the checkpoint are text in the formats of C2SP."""
    key, note = get(service, "key"), get(service, "checkpoint")
    assert key.headers["content-type"] == note.headers["content-type"] == "text/plain; charset=utf-8"
    found = read_checkpoint(note.text, read_key(key.text), verify)
    assert found.size == len(lines(get(service, "export"))) - 1
    assert get(service, "checkpoint", size=found.size).text == note.text
    assert get(service, "checkpoint", size=found.size + 100).status_code == 404


def test_a_leaf_is_proven_by_its_place_and_by_what_it_is_about(service: Service) -> None:
    """A leaf's tlog-proof, by sequence or by subject, verifies against the signed checkpoint."""
    ids = fill(service)
    key = read_key(get(service, "key").text)
    for query in (
        {"sequence": 0},
        {"sequence": 5},
        {"subject": ids["submission_id"]},
        {"subject": ids["quarantine_id"]},
    ):
        answer = get(service, "proof/inclusion", **query).json()
        proof = read_proof(answer["proof"])
        signed = read_checkpoint(proof.note, key, verify)
        raw = json.dumps(answer["leaf"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert proof.sequence == answer["sequence"]
        assert verify_inclusion(leaf_hash(raw), proof.sequence, signed.size, proof.path, signed.root)


def test_two_checkpoints_are_proven_to_be_of_one_log(service: Service) -> None:
    """A consistency proof leads from the earlier root to the later one, without the leaves."""
    key = read_key(get(service, "key").text)
    before = read_checkpoint(get(service, "checkpoint").text, key, verify)
    fill(service)
    answer = get(service, "proof/consistency", old_size=before.size).json()
    after = read_checkpoint(answer["checkpoint"], key, verify)
    path = [base64.b64decode(one) for one in answer["proof"]]
    assert after.size == answer["size"] > before.size
    assert verify_consistency(before.size, after.size, path, before.root, after.root)


REFUSED = [
    ("proof/inclusion", {}, 400),
    ("proof/inclusion", {"sequence": "1", "subject": "x"}, 400),
    ("proof/inclusion", {"sequence": "-1"}, 400),
    ("proof/inclusion", {"sequence": "1" * 19}, 400),
    ("proof/inclusion", {"sequence": "\u0661"}, 400),
    ("proof/inclusion", {"sequence": "100000"}, 404),
    ("proof/inclusion", {"subject": "nothing\0at all"}, 404),
    ("proof/consistency", {}, 400),
    ("proof/consistency", {"old_size": "1.5"}, 400),
    ("proof/consistency", {"old_size": "100000"}, 404),
    ("proof/consistency", {"old_size": "0"}, 400),
    ("proof/consistency", {"old_size": "00"}, 400),
    ("checkpoint", {"size": "many"}, 400),
    ("checkpoint", {"sice": "1"}, 400),
    ("export", {"since": "2026-01-01"}, 400),
    ("dispositions", {"scope": "project"}, 400),
    ("review-records", {"reason": "wrong"}, 400),
    ("dispositions", {"disposition": "accepted"}, 400),
    ("dispositions", {"format": "xml"}, 400),
    ("dispositions", {"since": "yesterday"}, 400),
    ("review-records/nothing", {}, 404),
]
"""Invalid requests, with their status."""


def test_what_cannot_be_asked_is_refused(service: Service) -> None:
    """An invalid request is refused with a text that shows the correct form."""
    for path, query, status in REFUSED:
        response = get(service, path, **query)
        assert response.status_code == status, (path, query)
        assert response.json()["detail"]


def test_answers_are_exported_with_what_their_leaf_commits_to(service: Service) -> None:
    """An export of answers has the receipt and the stored event; of a private event only that it was private."""
    fill(service)
    records = lines(get(service, "dispositions"))[:-1]
    told = [record["leaf"]["to"] for record in records]
    assert told == [
        "accepted-for-review",
        "accepted-as-duplicate",
        "rejected-conflict",
        "rejected-private",
        "rejected-invalid",
        "accepted-for-review",
    ]
    accepted, private = records[0], records[3]
    assert json.loads(accepted["receipt"])["idempotency_key"] == "a"
    assert json.loads(accepted["payload"])["content"] == "Feed the quokkas first."
    assert (private["receipt"], private["payload"], private["salt"]) == (None, None, None)
    assert "mira" not in get(service, "dispositions").text


CHOSEN = [
    ({"disposition": "rejected-conflict"}, 1),
    ({"disposition": "any"}, 6),
    ({"producer_identity": "worker:release-bot"}, 6),
    ({"producer_identity": "worker:other"}, 0),
    ({"submission_scope": "session", "scope_id": "s-1"}, 1),
    ({"reason_code": "key-reused"}, 1),
    ({"reason_code": "sealed"}, 1),
    ({"since": "2099-01-01"}, 0),
    ({"until": "2099-01-01"}, 6),
]
"""Filters, and how many answers match."""


def test_answers_are_filtered(service: Service, tmp_path: Path) -> None:
    """Answers can be filtered by every field; the closing record names the filters, and the rest still verifies."""
    fill(service)
    for query, number in CHOSEN:
        exported = get(service, "dispositions", **query)
        records = lines(exported)
        assert records[-1]["count"] == len(records) - 1 == number, query
        assert records[-1]["complete"] is False
        assert verified(service, tmp_path, exported.content, "--records")[0] == (0 if number else 3)


def test_a_spreadsheet_has_places_and_no_formula(service: Service) -> None:
    """Each row of the CSV has its sequence and leaf hash; the last one holds the checkpoint."""
    fill(service)
    for kind in ("review-records", "dispositions"):
        rows = list(csv.DictReader(io.StringIO(get(service, kind, format="csv").text, newline="")))
        whole = lines(get(service, kind))
        assert [row["leaf_hash"] for row in rows[:-1]] == [record["leaf_hash"] for record in whole[:-1]]
        assert [row["sequence"] for row in rows[:-1]] == [str(record["sequence"]) for record in whole[:-1]]
        assert rows[-1]["count"] == str(len(rows) - 1)
        assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_a_single_record_comes_with_its_proof(service: Service) -> None:
    """A single record comes with a proof that needs nothing but the key to verify."""
    fill(service)
    records = lines(get(service, "review-records"))
    one = get(service, f"review-records/{records[0]['review_record_id']}").json()
    proof = read_proof(one["tlog_proof"])
    signed = read_checkpoint(proof.note, read_key(get(service, "key").text), verify)
    assert verify_inclusion(bytes.fromhex(one["leaf_hash"]), one["sequence"], signed.size, proof.path, signed.root)
    assert one["shown"] == records[0]["shown"]


def test_an_auditor_of_some_scopes_sees_only_theirs(service: Service, tmp_path: Path) -> None:
    """A limited auditor gets filtered exports and proofs within its scopes, and never the whole log."""
    ids = fill(service)
    mine = ("session:s-1",)
    assert get(service, "export", mine).status_code == 403
    answers, decisions = get(service, "dispositions", mine), get(service, "review-records", mine)
    assert [json.loads(record["receipt"])["scope_id"] for record in lines(answers)[:-1]] == ["s-1"]
    assert [record["proposal_id"] for record in lines(decisions)[:-1]] == [ids["other"]]
    for exported in (answers, decisions):
        assert lines(exported)[-1]["complete"] is False
        assert verified(service, tmp_path, exported.content, "--records")[0] == 0
    own = lines(decisions)[0]
    assert get(service, "proof/inclusion", mine, sequence=own["sequence"]).status_code == 200
    assert get(service, f"review-records/{own['review_record_id']}", mine).status_code == 200
    theirs = lines(get(service, "review-records"))[0]
    hidden = [
        get(service, "proof/inclusion", mine, subject=ids["submission_id"]),
        get(service, "proof/inclusion", mine, sequence=0),
        get(service, f"review-records/{theirs['review_record_id']}", mine),
    ]
    nowhere = [
        get(service, "proof/inclusion", mine, subject="nothing"),
        get(service, "proof/inclusion", mine, sequence=1_000_000),
        get(service, "review-records/nothing", mine),
    ]
    assert [answer.status_code for answer in hidden + nowhere] == [404] * 6
    told = [[answer.json()["detail"].replace("1000000", "0") for answer in answers] for answers in (hidden, nowhere)]
    assert told[0] == told[1]
    assert told[0] == ["The log has no leaf about that.", "The log has no leaf 0.", "There is no such review record."]
    assert get(service, "checkpoint", mine).status_code == get(service, "key", mine).status_code == 200


def test_the_page_shows_the_signed_size_and_the_exports(service: Service) -> None:
    """The log page shows the signed size and past exports, and offers checkpoint, key and verifier."""
    fill(service)
    desk = service.sign_in("ida", "auditor")
    assert "No export" in desk.browser.get("/audit").text
    exported = desk.browser.get("/v1/audit/review-records", params={"decision": "reject"})
    assert exported.status_code == 200
    text = desk.browser.get("/audit").text
    assert "Signed through entry" in text
    assert re.search(r"<td>review-records <span class=\"tag\">jsonl</span></td>\s*<td>ida</td>", text)
    assert "decision=reject" in text
    assert "verify_export.py log.jsonl --checkpoint" in text
    assert "verify_export.py review-records.jsonl --records --checkpoint" in text
    verifier = desk.browser.get("/audit/verify_export.py")
    assert verifier.content == Path(verify_export.__file__).read_bytes()
    answers = desk.browser.get("/audit", params={"disposition": "rejected-private"}).text
    assert "private-detected" in answers
    assert "/v1/audit/dispositions" in answers
    assert "verify_export.py dispositions.jsonl --records --checkpoint" in answers
    assert desk.browser.get("/audit", params={"disposition": "nonsense"}).status_code == 400


def test_the_log_of_one_item_goes_from_submission_to_memory(service: Service) -> None:
    """The page of one item lists every leaf about it in order, each with its proof."""
    ids = fill(service)
    desk = service.sign_in("ida", "auditor")
    text = desk.browser.get(f"/audit/items/{ids['proposal_id']}").text
    told = re.sub(r"\s+", " ", re.sub(r"<details.*?</details>|<[^>]+>", "", text, flags=re.DOTALL))
    order = ["accepted-for-review", "accepted-as-duplicate", "rejected-conflict", "approve pending → approved",
             "memory active", "retract outdated", "memory retracted"]  # fmt: skip
    places = [told.find(word) for word in order]
    assert -1 not in places
    assert places == sorted(places)
    assert desk.browser.get("/audit/items/nothing").status_code == 404

"""The manifest of a backup, which archives are too old, and what an export adds to a backup."""

import msgspec
import pytest

from antechamber.core.admission.canonical import canonical
from antechamber.core.backups.manifest import (
    ArchiveMember,
    BackupError,
    LogState,
    Manifest,
    Origin,
    is_policy,
    read_manifest,
    same_scheme,
    surplus,
)
from antechamber.core.backups.newer_log import Erasure, NewerLog, read_newer_log
from antechamber.core.log.merkle import Frontier, leaf_hash

INSTANCE = "ab" * 32
DIGEST = f"blake3:{'cd' * 32}"


def origin(day: int, instance: str = INSTANCE) -> Origin:
    """Return the origin of an archive made on a day of November."""
    return Origin(created_at=f"2026-11-{day:02}T10:00:00.000Z", instance=instance)


def manifest(*names: str, keys: bool = False) -> Manifest:
    """Return the manifest of an archive with these members."""
    return Manifest(
        product="1.0",
        engine="sqlite",
        schema_step="0006_notes-abc",
        origin=origin(23),
        log=LogState(size=1, root="ef" * 32, checkpoint=None),
        keys=keys,
        members=[ArchiveMember(name=name, size=3, digest=DIGEST) for name in names],
    )


def test_a_manifest_is_read_as_it_was_written() -> None:
    """Database, keys and policy files are members; the total is their size."""
    made = manifest("antechamber.db", "secret.key", "log.key", "quarantine.key", "policies/producers.toml", keys=True)
    assert read_manifest(msgspec.json.encode(made)) == made
    assert made.total == 15


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("antechamber.pgdump",),
        ("antechamber.db", "antechamber.db"),
        ("antechamber.db", "../outside"),
        ("antechamber.db", "/etc/passwd"),
        ("antechamber.db", "policies/../../outside.toml"),
        ("antechamber.db", "policies/a\nb.toml"),
        ("antechamber.db", "policies/x.toml\n"),
        ("antechamber.db", "secret.key"),
    ],
)
def test_a_manifest_with_members_that_no_archive_has_is_refused(names: tuple[str, ...]) -> None:
    """No name leads outside of the folder, and the database is there exactly once."""
    with pytest.raises(BackupError, match="its manifest lists"):
        read_manifest(msgspec.json.encode(manifest(*names)))


def test_a_manifest_that_announces_keys_has_all_of_them() -> None:
    """An archive with one key only cannot be restored, so it is refused at once."""
    with pytest.raises(BackupError, match="its manifest lists"):
        read_manifest(msgspec.json.encode(manifest("antechamber.db", "secret.key", keys=True)))


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "its manifest cannot be read"),
        (b'{"format": "other", "version": 1}', "its manifest cannot be read"),
        (b'{"format": "other", "version": 7}', "its manifest cannot be read"),
        (b'{"format": "antechamber-backup", "version": 2}', "format version 2: restore it with the version"),
    ],
)
def test_another_form_is_refused_with_a_reason(raw: bytes, says: str) -> None:
    """A newer archive names the remedy, and anything else is no backup."""
    with pytest.raises(BackupError, match=says):
        read_manifest(raw)


def test_policy_files_are_known_by_their_place() -> None:
    """Only TOML files of the policy folder and its detectors are members."""
    assert is_policy("policies/producers.toml")
    assert is_policy("policies/detectors/own.toml")
    assert not is_policy("policies/notes.txt")
    assert not is_policy("producers.toml")


def test_names_of_one_scheme_differ_in_their_digits_alone() -> None:
    """A date or a number may differ; everything else is another scheme."""
    assert same_scheme("a-20261123.tar", "a-20261124.tar")
    assert same_scheme("a-9.tar", "a-10.tar")
    assert not same_scheme("a-1.tar", "b-1.tar")
    assert not same_scheme("a-1.tar", "a-1.tar.new")


def test_the_oldest_archives_of_the_same_instance_go_first() -> None:
    """The age is that in the manifest; the newest archive stays even if its clock was behind."""
    archives = [
        ("b-1.tar", origin(3)),
        ("b-2.tar", origin(1)),
        ("b-3.tar", origin(2)),
        ("b-4.tar", origin(1, "00" * 32)),
        ("other.tar", origin(1)),
        ("b-9.tar", origin(1)),
    ]
    newest = ("b-9.tar", origin(1))
    assert surplus(archives, newest, 1) == ["b-2.tar", "b-3.tar", "b-1.tar"]
    assert surplus(archives, newest, 3) == ["b-2.tar"]
    assert surplus(archives, newest, 4) == []
    assert surplus(archives, newest, 50) == []


LEAVES = [
    {"action": "log-key", "subject": {"verifier_key": "k"}},
    {"action": "erase", "subject": {"erasure_id": "e1", "proposal_id": "p1"}, "reason_code": "private", "time": "t1"},
    {"action": "erase", "subject": {"erasure_id": "e2", "proposal_id": "p2"}, "reason_code": "wrong", "time": "t2"},
    {"action": "erase", "subject": {"erasure_id": "e3", "quarantine_id": "q3"}, "reason_code": "private", "time": "t3"},
    {"action": "erase", "subject": "damaged", "reason_code": "private", "time": "t4"},
]


def export(number: int = len(LEAVES), **closing: object) -> list[bytes]:
    """Return the lines of an export of the first leaves."""
    lines = [
        msgspec.json.encode({"record": "leaf", "sequence": sequence, "leaf": leaf})
        for sequence, leaf in enumerate(LEAVES[:number])
    ]
    end = {"record": "closing", "checkpoint": "note", "count": number} | closing
    return [*lines, msgspec.json.encode(end)]


def state(size: int) -> LogState:
    """Return the state of a log with the first leaves."""
    tree = Frontier()
    for leaf in LEAVES[:size]:
        tree.append(leaf_hash(canonical(leaf)))
    return LogState(size=size, root=tree.root().hex(), checkpoint=None)


def test_erasures_after_the_backup_are_listed() -> None:
    """An erasure that the backup has is not repeated; proposals and refused events are named."""
    found = read_newer_log(export(), state(2))
    assert found == NewerLog(
        checkpoint="note",
        erasures=[
            Erasure(subject="p2", reason_code="wrong", erased_at="t2"),
            Erasure(subject="q3", reason_code="private", erased_at="t3"),
            Erasure(subject="", reason_code="private", erased_at="t4"),
        ],
    )


def test_an_export_that_ends_with_the_backup_adds_nothing() -> None:
    """Its checkpoint is known all the same."""
    assert read_newer_log(export(2), state(2)) == NewerLog(checkpoint="note", erasures=[])


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "cut off after 0 leaves"),
        (export()[:3], "cut off after 3 leaves"),
        (export(1), "damaged after leaf 0"),
        (export(count=9), "damaged after leaf 4"),
        ([b"\xff\n"], "no export of the whole log"),
        ([export()[1]], "damaged after leaf -1"),
        ([export()[1].replace(b"e1", b"e9")], "damaged after leaf -1"),
    ],
)
def test_an_export_that_is_damaged_or_too_old_is_refused(lines: list[bytes], says: str) -> None:
    """Each text says what is wrong with the export."""
    with pytest.raises(BackupError, match=says):
        read_newer_log(lines, state(2))


def test_an_export_of_another_log_is_refused() -> None:
    """Its first leaves have another root than the backup."""
    lines = export()
    lines[0] = lines[0].replace(b'"k"', b'"other"')
    with pytest.raises(BackupError, match="of another log: its first 2 leaves"):
        read_newer_log(lines, state(2))

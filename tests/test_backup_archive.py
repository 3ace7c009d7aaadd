"""Archives of backups: a strict reader, encryption to the last byte, and files that appear whole."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from antechamber import durable_files
from antechamber.backup_archive import ArchiveReader, encryption, origin_of
from antechamber.backup_archive.encryption import CHUNK, MAGIC, DecryptingReader, EncryptingWriter
from antechamber.core.backups.manifest import BackupError
from archives import CONTENTS, ORIGIN, archive, quiet

PASSPHRASE = b"correct horse battery"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive keys at a low cost: each derivation takes half a second otherwise."""
    monkeypatch.setitem(encryption._COST, "n", 1 << 10)


def read(raw: bytes, passphrase: bytes | None = None) -> dict[str, bytes]:
    """Return the members of an archive."""
    reader = ArchiveReader(io.BytesIO(raw), passphrase)
    return {member.name: b"".join(pieces) for member, pieces in reader.members(quiet)}


def repacked(change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> bytes:
    """Return an archive whose members were changed by another program."""
    members = []
    with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
        for info in tar:
            opened = tar.extractfile(info)
            assert opened is not None
            members.append((info, opened.read()))
    change(members)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_an_archive_gives_back_what_was_put_in(passphrase: bytes | None) -> None:
    """Plain and encrypted, also with members of several chunks; the plain one is a tar that any program reads."""
    contents = CONTENTS | {"antechamber.db": bytes(range(256)) * (2 * CHUNK // 256 + 1)}
    raw = archive(passphrase, contents)
    assert read(raw, passphrase) == contents
    if passphrase is None:
        with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
            assert tar.getnames() == ["manifest.json", *contents]
    else:
        assert b"producers" not in raw


def test_an_encrypted_archive_that_ends_with_a_full_chunk_is_whole() -> None:
    """The end is marked by the chunk itself, not by its size; nothing may be missing or follow."""
    file = io.BytesIO()
    writer = EncryptingWriter(file, PASSPHRASE, ORIGIN)
    writer.write(bytes(2 * CHUNK))
    writer.finish()
    raw = file.getvalue()
    reader = DecryptingReader(io.BytesIO(raw[len(MAGIC) :]), PASSPHRASE)
    assert (reader.read(3 * CHUNK), reader.read(1)) == (bytes(2 * CHUNK), b"")
    for altered in (raw[: -CHUNK - 16], raw + b"more"):
        reader = DecryptingReader(io.BytesIO(altered[len(MAGIC) :]), PASSPHRASE)
        with pytest.raises(BackupError, match=r"damaged or cut off|cannot be decrypted"):
            reader.read(3 * CHUNK)


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_every_cut_and_every_altered_byte_is_found(passphrase: bytes | None) -> None:
    """Whatever is cut off or altered, the archive is refused with an error of ours; padding alone has no meaning."""
    raw = archive(passphrase, {"antechamber.db": b"x" * 700})
    places = range(0, len(raw), 97 if passphrase is None else 797)
    for place in places:
        with pytest.raises(BackupError):
            read(raw[:place], passphrase)
        altered = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        try:
            found = read(altered, passphrase)
        except BackupError:
            continue
        assert passphrase is None
        assert found == {"antechamber.db": b"x" * 700}
    with pytest.raises(BackupError):
        read(raw + b"x", passphrase)


def test_an_encrypted_archive_needs_its_passphrase() -> None:
    """Without it the option is named; with another one the text says so."""
    raw = archive(PASSPHRASE)
    with pytest.raises(BackupError, match="--passphrase-file"):
        read(raw)
    with pytest.raises(BackupError, match="the passphrase is another one"):
        read(raw, b"another passphrase")


@pytest.mark.parametrize(
    "raw",
    [
        MAGIC,
        MAGIC + (1 << 31).to_bytes(4, "big") + b"{}",
        MAGIC + (2).to_bytes(4, "big") + b"{}",
        MAGIC
        + (167).to_bytes(4, "big")
        + msgspec.json.encode({"created_at": ORIGIN.created_at, "instance": "a", "salt": "x"}),
    ],
)
def test_a_damaged_head_of_an_encrypted_archive_is_refused(raw: bytes) -> None:
    """A head cannot ask for much memory, and has exactly the known members."""
    with pytest.raises(BackupError, match="no backup of Antechamber"):
        read(raw, PASSPHRASE)


def test_a_salt_that_is_no_salt_is_refused() -> None:
    """The head parses, and its salt is not hexadecimal."""
    head = msgspec.json.encode({"created_at": ORIGIN.created_at, "instance": ORIGIN.instance, "salt": "zz"})
    with pytest.raises(BackupError, match="no backup of Antechamber"):
        read(MAGIC + len(head).to_bytes(4, "big") + head, PASSPHRASE)


def to_link(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Replace the database by a symbolic link to a file outside."""
    link = tarfile.TarInfo("antechamber.db")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members[1] = (link, b"")


def to_outside(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Let a member lead outside of the folder."""
    members[2][0].name = "../outside.toml"


def to_twice(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Put a member in twice."""
    members.insert(1, members[1])


def to_other_order(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Put the manifest last."""
    members.append(members.pop(0))


def to_longer(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Make a member longer than its manifest says."""
    info, content = members[1]
    info.size += 1
    members[1] = (info, content + b"x")


def to_one_more(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Add a member that the manifest does not list."""
    members.append((tarfile.TarInfo("more.key"), b""))


def to_long_name(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Add an extended header in front of a member."""
    members[2][0].name = "policies/" + "x" * 200 + ".toml"


@pytest.mark.parametrize(
    "change", [to_link, to_outside, to_twice, to_other_order, to_longer, to_one_more, to_long_name]
)
def test_a_hostile_archive_is_refused(change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> None:
    """Only the plain files of the manifest are read, in its order; nothing is written by the reader itself."""
    with pytest.raises(BackupError):
        read(repacked(change))


def test_a_manifest_of_huge_size_is_not_read() -> None:
    """The announced size is checked before anything is read."""
    info = tarfile.TarInfo("manifest.json")
    info.size = 1 << 40
    with pytest.raises(BackupError, match="no backup"):
        read(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_the_origin_of_an_archive_needs_no_passphrase(tmp_path: Path) -> None:
    """It is the same for plain and encrypted archives; other files have none."""
    for name, raw in {"a": archive(), "b": archive(PASSPHRASE), "c": b"other", "d": MAGIC}.items():
        (tmp_path / name).write_bytes(raw)
    found = {name: origin_of(tmp_path / name) for name in "abcde"}
    made = {name: one and (one.created_at, one.instance) for name, one in found.items()}
    both = (ORIGIN.created_at, ORIGIN.instance)
    assert made == {"a": both, "b": both, "c": None, "d": None, "e": None}


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    """It has its name only at the end, replaces none, and leaves nothing after an error."""
    path = tmp_path / "b-1.tar"
    writing = durable_files.appearing(path)
    writing.__enter__().write(b"half")
    assert not path.exists()
    writing.__exit__(RuntimeError, RuntimeError(), None)
    assert list(tmp_path.iterdir()) == []
    with durable_files.appearing(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError), durable_files.appearing(path):
        pass


def test_drafts_of_killed_processes_are_removed_and_others_stay(tmp_path: Path) -> None:
    """A draft that a process still writes is locked; a draft of another name is not touched."""
    for name in ("b-1.tar", "other.tar"):
        (tmp_path / f"{name}.0123456789abcdef.new").write_bytes(b"half")
    with durable_files.appearing(tmp_path / "b-2.tar"):
        durable_files.remove_drafts(tmp_path, lambda name: name.startswith("b-"))
        left = sorted(path.name.partition(".tar")[0] for path in tmp_path.iterdir())
        assert left == ["b-2", "other"]

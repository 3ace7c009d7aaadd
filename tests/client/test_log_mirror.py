"""A mirror of a log is complete and verified at any moment, and refuses hostile or broken logs with evidence."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antechamber.cli import main
from antechamber.client.log_mirror import (
    LogMirrorError,
    Mirrored,
    MisbehaviorError,
    NotCosignedError,
    opened_mirror,
)
from antechamber.client.log_reader import LogReader, LogReadError
from antechamber.client.log_tile_tree import TileTree, WrongTileError
from antechamber.client.wire import AddressError
from antechamber.core.errors import BusyError
from antechamber.core.log.checkpoint_text import VerifierKey, read_text
from antechamber.core.log.tiles import ENTRIES, TilePlace, edge, read_bundle
from log_server import LogServer
from support import HANG_SECONDS, free_port, serving, until
from witness import WitnessServer


def update(log: LogServer, folder: Path) -> Mirrored:
    """Update the copy of a log once."""
    with LogReader(log.url) as reader, opened_mirror(folder, reader, [log.key]) as mirror:
        return mirror.update()


def files(folder: Path) -> dict[str, bytes]:
    """Return the files that the format has, by path."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if name.startswith(("tile/", "checkpoint"))}


def served(log: LogServer) -> dict[str, bytes]:
    """Return every file of the log at its size: the full tiles and bundles, and the partial ones."""
    size = len(log.leaves)
    places = [TilePlace(level, index) for level in range(3) for index in range(size >> 8 * (level + 1))]
    places += [place._replace(level=ENTRIES) for place in [*places, *edge(size)] if place.level == 0]
    found = {f"tile/{place.path}": log.tile(place) or b"" for place in [*places, *edge(size)]}
    return found | {"checkpoint": log.checkpoint().encode()}


def call(log: LogServer, folder: Path, *options: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["log", "mirror", log.url, str(folder), "--key", str(log.key), *options])


@pytest.mark.parametrize("sizes", [(0, 1, 2), (255, 256, 257), (511, 513), (3, 600, 1300)])
def test_a_mirror_is_the_log_after_each_update(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    """After each update the folder has exactly the files of the log at its size, and no older partial file."""
    with LogServer().running() as log:
        before = 0
        for size in sizes:
            log.grow(size - len(log.leaves))
            assert update(log, tmp_path) == (read_text(log.checkpoint()), before)
            assert files(tmp_path) == served(log)
            before = size


def test_a_tree_of_three_levels_is_verified_from_its_root(tmp_path: Path) -> None:
    """Of 70,000 leaves any tile is reached through those above it, and any earlier root is computed from few tiles."""
    log = LogServer(leaves=70_000)
    tree = TileTree(read_text(log.checkpoint()), log, tmp_path)
    assert [place.level for place in tree.edges] == [0, 1, 2]
    assert tree.root(66_000) == read_text(log.checkpoint(log.leaves[:66_000])).root
    fresh = TileTree(read_text(log.checkpoint()), log, tmp_path)
    assert tree.tile(0, 100) == log.tile(TilePlace(0, 100))
    log.leaves[26_000] = b"another leaf"
    with pytest.raises(WrongTileError, match="tile/1/000 is not the one"):
        fresh.tile(0, 101)


def test_an_update_reads_only_what_is_new(tmp_path: Path) -> None:
    """A second update asks for the checkpoint and the partial tiles; a later one for nothing that is full already."""
    with LogServer(leaves=600).running() as log:
        update(log, tmp_path)
        log.asked.clear()
        update(log, tmp_path)
        assert log.asked == ["checkpoint", "tile/0/002.p/88", "tile/1/000.p/2"]
        log.grow(100)
        log.asked.clear()
        update(log, tmp_path)
        assert not {"tile/0/000", "tile/0/001", "tile/entries/000", "tile/entries/001"} & set(log.asked)


def test_a_damaged_file_is_read_again(tmp_path: Path) -> None:
    """Before the first checkpoint is complete, files of an interrupted call are verified again, not trusted."""
    with LogServer(leaves=600).running() as log:
        log.instead["tile/entries/002.p/88"] = 503
        with pytest.raises(LogReadError, match="answered 503"):
            update(log, tmp_path)
        (tmp_path / "tile/entries/000").write_bytes(b"\x00\x01x")
        (tmp_path / "tile/0/001").write_bytes(bytes(8192))
        (tmp_path / "tile/0/000.0123456789abcdef.new").write_bytes(b"half")
        del log.instead["tile/entries/002.p/88"]
        update(log, tmp_path)
        assert files(tmp_path) == served(log)


def test_a_killed_mirror_goes_on(tmp_path: Path) -> None:
    """After SIGKILL in the middle, the next call completes the copy and reads no verified bundle twice."""
    folder = tmp_path / "copy"
    with LogServer(leaves=1000).running() as log:
        log.instead["tile/entries/002"] = None
        command = [
            sys.executable,
            "-m",
            "antechamber.cli",
            "log",
            "mirror",
            log.url,
            str(folder),
            "--key",
            str(log.key),
        ]
        with subprocess.Popen(command) as process:  # noqa: S603 -- our own program
            until(lambda: "tile/entries/002" in log.asked, "the third bundle")
            assert call(log, folder).exit_code == 1
            process.send_signal(signal.SIGKILL)
            process.wait(HANG_SECONDS)
        assert not (folder / "checkpoint").exists()
        del log.instead["tile/entries/002"]
        log.asked.clear()
        result = call(log, folder)
        assert (result.exit_code, result.output) == (
            0,
            f"{folder}: 1,000 leaves of antechamber/tests, 1,000 of them new.\n",
        )
        assert files(folder) == served(log)
        assert [path for path in log.asked if "entries" in path] == ["tile/entries/002", "tile/entries/003.p/232"]


def test_a_log_that_has_only_the_full_tile_is_followed(tmp_path: Path) -> None:
    """A log may remove a partial tile once it is full; the beginning of the full one has the same hashes."""
    with LogServer(leaves=200).running() as log:
        note, smaller = log.checkpoint(), served(log)
        log.grow(100)
        log.instead = {name: 404 for name in smaller if ".p/" in name} | {"checkpoint": note.encode()}
        update(log, tmp_path)
        assert files(tmp_path) == smaller


def refused(log: LogServer, folder: Path) -> tuple[str, dict[str, bytes]]:
    """Return why an update is refused and the evidence; the copy stays as it was."""
    before = files(folder)
    with pytest.raises(MisbehaviorError) as caught:
        update(log, folder)
    assert files(folder) == before or "checkpoint" not in before
    assert files(folder).get("checkpoint") == before.get("checkpoint")
    (evidence,) = (folder / "evidence").iterdir()
    assert str(evidence) in str(caught.value)
    found = {path.relative_to(evidence).as_posix(): path.read_bytes() for path in evidence.rglob("*") if path.is_file()}
    assert found["reason.txt"].decode().rstrip(".\n") in str(caught.value)
    return str(caught.value), found


def test_a_log_that_shrank_is_refused(tmp_path: Path) -> None:
    """A smaller checkpoint is kept as evidence beside the larger one, and the copy stays."""
    with LogServer(leaves=300).running() as log:
        larger = log.checkpoint().encode()
        update(log, tmp_path)
        del log.leaves[299:]
        problem, evidence = refused(log, tmp_path)
        assert "The log shrank: it had 300 leaves, and its checkpoint has 299 now" in problem
        assert evidence["checkpoint.before"] == larger
        assert evidence["checkpoint"] == log.checkpoint().encode()
        result = call(log, tmp_path)
        assert result.exit_code == 1
        assert "shrank" in result.output


@pytest.mark.parametrize("more", [0, 1, 500])
def test_a_forked_log_is_refused(tmp_path: Path, more: int) -> None:
    """Another log under the same key and name is refused at the same size and at any larger one."""
    with LogServer(leaves=300).running() as log:
        update(log, tmp_path)
        log.leaves[7] = b"another leaf"
        log.grow(more)
        problem, evidence = refused(log, tmp_path)
        assert "The log was forked: its first 300 leaves" in problem
        assert {"checkpoint", "checkpoint.before", "reason.txt"} < set(evidence)


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        ("tile/0/000", bytes(8192), "tile/0/000 is not the one that the log signed"),
        ("tile/0/000", b"x" * 8191, "tile/0/000 is no tile: the tile has 8191 bytes"),
        ("tile/0/000", b"x" * 5_000_000, "tile/0/000 is no tile: the tile has 8193 bytes"),
        ("tile/0/000", 404, "does not serve tile/0/000"),
        ("tile/0/001.p/44", bytes(44 * 32), "do not add up to the root"),
        ("tile/1/000.p/1", b"", "tile/1/000.p/1 is no tile"),
        ("tile/1/000.p/1", 404, "does not serve tile/1/000.p/1"),
        ("tile/entries/000", b"\x00\x04leaf" * 256, "The entries in tile/entries/000 are not those"),
        ("tile/entries/000", b"\x00\x04leaf", "the bundle has 1 entries, and 256 are due"),
        ("tile/entries/001.p/44", b"\xff\xffshort", "cut off inside an entry"),
        ("tile/entries/001.p/44", 404, "does not serve tile/entries/001.p/44"),
        ("checkpoint", b"\xff\xfe", "no UTF-8 text"),
        ("checkpoint", b"", "cannot be trusted: a note is a text"),
        ("checkpoint", b"antechamber/tests\n1\n", "cannot be trusted"),
        ("checkpoint", b"x" * 3_000_000, "at most a million characters"),
        ("checkpoint", "größe\n1\n\n— ".encode(), "cannot be trusted"),
    ],
)
def test_a_hostile_log_is_refused(tmp_path: Path, path: str, answer: bytes | int, problem: str) -> None:
    """Wrong, short, huge and missing answers are refused with what is wrong, and the evidence has what came."""
    with LogServer(leaves=300).running() as log:
        log.instead[path] = answer
        said, evidence = refused(log, tmp_path)
        assert problem in said
        if isinstance(answer, bytes) and path in evidence:
            assert answer.startswith(evidence[path])
        assert not (tmp_path / "checkpoint").exists()
        assert not (tmp_path / path).exists()
        log.instead.clear()
        update(log, tmp_path)
        assert files(tmp_path) == served(log)


def test_another_key_and_another_origin_are_refused(tmp_path: Path) -> None:
    """A checkpoint of another log, or signed by another key, is refused; a new key has to be given by a person."""
    with LogServer(leaves=3).running() as log:
        update(log, tmp_path)
        other = LogServer("elsewhere/log", leaves=3)
        log.instead["checkpoint"] = other.checkpoint().encode()
        assert "is of another log, 'elsewhere/log', and not of antechamber/tests" in refused(log, tmp_path)[0]
        successor = LogServer(leaves=5)
        log.grow(2)
        log.instead["checkpoint"] = successor.checkpoint().encode()
        with pytest.raises(MisbehaviorError, match="give the new one with --key"):
            update(log, tmp_path)
        with LogReader(log.url) as reader, opened_mirror(tmp_path, reader, [successor.key, log.key]) as mirror:
            assert mirror.update().checkpoint.size == 5
        with LogReader(log.url) as reader, opened_mirror(tmp_path, reader, []) as mirror:
            assert mirror.update().before == 5


def test_a_replaced_key_leads_no_mirror_on(tmp_path: Path) -> None:
    """A thief of a replaced key cannot extend the copy, also where the old key is given behind the new one."""
    with LogServer(leaves=3).running() as log, LogReader(log.url) as reader:
        update(log, tmp_path)
        successor = LogServer(leaves=5)
        log.grow(2)
        with (
            opened_mirror(tmp_path, reader, [successor.key, log.key]) as mirror,
            pytest.raises(MisbehaviorError, match="not signed by"),
        ):
            mirror.update()
        log.instead["checkpoint"] = successor.checkpoint().encode()
        with opened_mirror(tmp_path, reader, []) as mirror:
            assert mirror.update().checkpoint.size == 5


def cosigned(note: str, *witnesses: WitnessServer) -> bytes:
    """Return a checkpoint with the cosignatures of witnesses."""
    text = note.rpartition("\n\n")[0] + "\n"
    return (note + "".join(one.line(text) for one in witnesses)).encode()


def test_a_checkpoint_is_taken_over_once_every_witness_cosigned_it(tmp_path: Path) -> None:
    """A late witness is waited for without evidence; the witnesses given last are remembered by the folder."""
    first, second = WitnessServer(), WitnessServer("other.example/w")
    options = ("--witness", str(first.key), "--witness", str(second.key))
    with LogServer(leaves=3).running() as log, LogReader(log.url) as reader:
        result = call(log, tmp_path, *options)
        assert result.exit_code == 1
        late = "the witness witness.example/w has not cosigned the checkpoint of 3 leaves yet"
        assert f"{late}. What was verified so far is kept: run the same command again" in result.output
        log.instead["checkpoint"] = cosigned(log.checkpoint(), first)
        with (
            opened_mirror(tmp_path, reader, []) as mirror,
            pytest.raises(NotCosignedError, match=re.escape(second.key.name)),
        ):
            mirror.update()
        assert not (tmp_path / "checkpoint").exists()
        assert not (tmp_path / "evidence").exists()
        log.instead["checkpoint"] = cosigned(log.checkpoint(), first, second)
        with opened_mirror(tmp_path, reader, []) as mirror:
            assert mirror.update().checkpoint.size == 3
        assert (tmp_path / "checkpoint").read_bytes() == log.instead["checkpoint"]
        log.grow(1)
        log.instead["checkpoint"] = cosigned(log.checkpoint(), second)
        assert call(log, tmp_path).exit_code == 1
        assert (
            "4 leaves of antechamber/tests, 1 of them new" in call(log, tmp_path, "--witness", str(second.key)).output
        )


def test_a_wrong_cosignature_is_refused_with_evidence(tmp_path: Path) -> None:
    """A cosignature of another checkpoint under a trusted witness's name is refused."""
    witness = WitnessServer()
    with LogServer(leaves=3).running() as log, LogReader(log.url) as reader:
        forged = log.checkpoint() + witness.line("antechamber/tests\n2\n")
        log.instead["checkpoint"] = forged.encode()
        with opened_mirror(tmp_path, reader, [log.key], [witness.key]) as mirror:
            with pytest.raises(MisbehaviorError, match=r"the cosignature of witness\.example/w is wrong"):
                mirror.update()
            log.instead["checkpoint"] = cosigned(log.checkpoint(), witness)
            assert mirror.update().checkpoint.size == 3
        (evidence,) = (tmp_path / "evidence").iterdir()
        assert (evidence / "checkpoint").read_text() == forged


def test_what_the_folder_or_the_call_lacks_is_explained(tmp_path: Path) -> None:
    """No key, keys of other logs, a damaged checkpoint and a folder in use are refused with what to do."""
    with LogServer(leaves=3).running() as log, LogReader(log.url) as reader:
        with pytest.raises(LogMirrorError, match="the first call needs --key"), opened_mirror(tmp_path, reader, []):
            pass
        update(log, tmp_path)
        elsewhere = LogServer("elsewhere/log").key
        with pytest.raises(LogMirrorError, match="use another folder"), opened_mirror(tmp_path, reader, [elsewhere]):
            pass
        with (
            opened_mirror(tmp_path, reader, []),
            pytest.raises(BusyError, match="another process"),
            opened_mirror(tmp_path, reader, []),
        ):
            pass
        for damage in (b"\xff", b"no checkpoint"):
            (tmp_path / "checkpoint").write_bytes(damage)
            with pytest.raises(LogMirrorError, match="move the folder away"):
                update(log, tmp_path)


def test_answers_that_are_not_the_log_are_no_misbehavior(tmp_path: Path) -> None:
    """Refusals, failures of the network and compressed answers are errors to try again, and leave no evidence."""
    with LogServer(leaves=3).running() as log:
        for status, problem in ((401, "ANTECHAMBER_TOKEN"), (403, "ANTECHAMBER_TOKEN"), (500, "500"), (302, "302")):
            log.instead["checkpoint"] = status
            result = call(log, tmp_path)
            assert result.exit_code == 1
            assert problem in result.output
            assert "run the same command again" in result.output
        log.instead["checkpoint"] = 404
        assert "no checkpoint" in call(log, tmp_path).output
        log.instead.clear()
        log.headers["content-encoding"] = "gzip"
        assert "compressed" in call(log, tmp_path).output
    with LogReader(f"http://127.0.0.1:{free_port()}/log/") as reader, pytest.raises(LogReadError, match="be read"):
        reader.checkpoint()
    with pytest.raises(AddressError):
        LogReader("ftp://127.0.0.1")
    with pytest.raises(AddressError, match="this is no token"):
        LogReader(log.url, "two words")
    assert not (tmp_path / "evidence").exists()


def test_a_wrong_call_is_explained(tmp_path: Path) -> None:
    """A key that is none, a key of a witness, and a folder that is a file are refused."""
    log = LogServer()
    for key, problem in (
        ("nonsense", "a verifier key is"),
        (str(VerifierKey(log.key.name, log.key.public, 4)), "no Ed25519 key"),
    ):
        result = CliRunner().invoke(main, ["log", "mirror", log.url, str(tmp_path), "--key", key])
        assert result.exit_code == 1
        assert problem in result.output
    result = call(log, tmp_path, "--witness", str(log.key))
    assert result.exit_code == 1
    assert "no key of a witness" in result.output
    (tmp_path / "file").write_text("")
    result = call(log, tmp_path / "file" / "below")
    assert result.exit_code == 1
    assert "cannot be written" in result.output


def test_a_service_is_followed_until_it_is_asked_to_end(tmp_path: Path, policies: Path) -> None:
    """`--follow` copies the log of a running service, waits while it is away, and ends with status 0 on SIGTERM."""
    data, port, copy = tmp_path / "data", free_port(), tmp_path / "copy"
    (policies / "log.toml").write_text("public = true")
    run = [sys.executable, "-m", "antechamber.cli", "log"]
    with serving(data, policies, port) as (url, _):
        key = subprocess.run([*run, "key", "--data", str(data)], capture_output=True, text=True, check=True).stdout  # noqa: S603 -- our own program
        subprocess.run([*run, "checkpoint", "--data", str(data)], capture_output=True, check=True)  # noqa: S603
    command = [*run, "mirror", url, str(copy), "--key", key.strip(), "--follow", "--interval", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert "It is tried again in" in process.stdout.readline()
        with serving(data, policies, port):
            until((copy / "checkpoint").exists, "the copy")
            process.send_signal(signal.SIGTERM)
            assert process.wait(HANG_SECONDS) == 0
    size = read_text((copy / "checkpoint").read_text()).size
    assert len(read_bundle((copy / f"tile/entries/000.p/{size}").read_bytes(), size)) == size

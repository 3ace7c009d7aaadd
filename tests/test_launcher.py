"""A process that is forked from the launcher is like one that was started as usual."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from launcher import MODULE, Started, launcher, start
from support import HANG_SECONDS, antechamber, free_port, until


def usual(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run the command line in a process of its own from the beginning."""
    command = [sys.executable, "-m", MODULE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)  # noqa: S603 -- our own program
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("nonsense",), ("serve", "--port", "0"), ("doctor", "--data", "/no such folder")],
)
def test_status_and_output_are_those_of_a_usual_process(arguments: tuple[str, ...]) -> None:
    """A version, a help text, a wrong call and a failure are the same, byte by byte."""
    done = antechamber(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == usual(*arguments)


def test_a_process_has_the_environment_the_folder_and_the_input_of_its_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder that is named by a variable and relative is looked for where the caller is; a text is read as input."""
    monkeypatch.chdir(tmp_path)
    made = antechamber("migrate", ANTECHAMBER_DATA="made here")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "made here" / "antechamber.db").exists()
    assert antechamber("scan", "-", stdin="Deploys wait for the review.").returncode == 0
    assert antechamber("scan", "-", stdin="Write to grace.hopper@fleet-works.org.").returncode == 1


def test_a_killed_process_has_the_status_of_its_signal(tmp_path: Path, policies: Path) -> None:
    """A signal ends a process, whose status is its number; further ones do nothing."""
    place = ["--data", str(tmp_path / "data"), "--policies", str(policies)]
    for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)):
        with tempfile.TemporaryFile() as said:
            process = start(["serve", *place, "--port", str(free_port())], stderr=said)
            assert isinstance(process, Started)
            assert process.stdout
            assert process.stdout.readline().startswith(b"Antechamber is ready")
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.01)
            process.send_signal(number)
            process.communicate(HANG_SECONDS)
            assert process.returncode == status
            process.kill()
            until(lambda pid=process.pid: not Path(f"/proc/{pid}").exists(), "the process is gone")


def test_what_the_interpreter_reads_at_its_start_needs_a_usual_process() -> None:
    """Only a new interpreter takes another encoding or other options; so does a request that is too large."""
    assert launcher().fits(["--version"], os.environ | {"ANTECHAMBER_PORT": "1"})
    assert not launcher().fits(["--version"], os.environ | {"PYTHONUTF8": "0"})
    assert not launcher().fits(["x" * 140_000], os.environ)
    long = antechamber("hash", "x" * 120_000)
    assert (long.returncode, long.stdout, long.stderr) == usual("hash", "x" * 120_000)


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_process_has_the_umask_of_its_caller(umask: int) -> None:
    """Its files have the modes that the caller's umask leaves; a scan of the standard input waits meanwhile."""
    read, written = os.pipe()
    before = os.umask(umask)
    try:
        with os.fdopen(read, "rb") as given:
            process = start(["scan", "-"], stdin=given)
    finally:
        os.umask(before)
    status = Path(f"/proc/{process.pid}/status")
    until(lambda: f"Umask:\t{umask:04o}\n" in status.read_text(), "the process has the umask")
    os.close(written)
    process.communicate(HANG_SECONDS)
    assert process.returncode == 0


def test_an_interrupt_ends_what_was_started_and_not_the_launcher() -> None:
    """Control-C reaches all processes of a terminal; the tests still learn how those that they started ended."""
    read, written = os.pipe()
    with os.fdopen(read, "rb") as given, tempfile.TemporaryFile() as said:
        process = start(["scan", "-"], stdin=given, stderr=said)
    os.kill(launcher()._process.pid, signal.SIGINT)
    # It ignores the signal, as the launcher does, until it has begun.
    until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None, "the process has ended")
    process.communicate(HANG_SECONDS)
    os.close(written)
    assert process.returncode not in {0, None}
    assert antechamber("--version").returncode == 0

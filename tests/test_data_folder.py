"""One listener per port, one service per folder, and files that only their owner can read."""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from antechamber import app
from antechamber.checkpoint_signer import KEY_FILE
from antechamber.secret_key import QUARANTINE_KEY, SECRET
from antechamber.settings import DATABASE, Location, SettingsError
from support import HANG_SECONDS, Databases, antechamber, free_port, running, serving, where

LOCK = "serve.lock"


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a service without waiting; remaining processes are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(location: Location, policies: Path, port: int, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "antechamber.cli", "serve", *where(location), "--policies", str(policies)]
        process = subprocess.Popen(  # noqa: S603 -- our own program
            [*command, "--port", str(port), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def modes(folder: Path) -> dict[str, int]:
    """Return the mode of each file in a folder, and of the folder itself."""
    found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    return found | {".": stat.S_IMODE(folder.stat().st_mode)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with all files that a service and the command line create."""
    folder = tmp_path / "data"
    app.migrate(Location(data=folder))
    with app.opened_log(Location(data=folder)) as (log, _, _):
        log.checkpoint()
    return folder


@pytest.fixture
def loose() -> Iterator[None]:
    """The umask of most systems, which makes files readable for everyone."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_second_service_cannot_share_a_port(start: Start, tmp_path: Path, policies: Path) -> None:
    """The error names host, port and remedy, no folder is created, and the first service continues."""
    with serving(tmp_path / "one", policies) as (url, _):
        port = url.rpartition(":")[2]
        second = start(Location(data=tmp_path / "two"), policies, int(port))
        stdout, stderr = second.communicate(timeout=30)
        assert (second.returncode, stdout) == (1, "")
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in stderr
        assert "--port" in stderr
        assert len(stderr.splitlines()) == 1
        assert not (tmp_path / "two").exists()
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(tmp_path / "one")).stdout.strip()
        answers = [
            httpx.get(f"{url}/v1/token", headers={"authorization": f"Bearer {token}"}, timeout=HANG_SECONDS)
            for _ in range(12)
        ]
    assert [answer.status_code for answer in answers] == [200] * 12


def test_of_services_that_start_at_once_one_gets_the_port(start: Start, tmp_path: Path, policies: Path) -> None:
    """However close together several services start, one gets the port."""
    port = free_port()
    started = [start(Location(data=tmp_path / str(number)), policies, port) for number in range(4)]
    ready = []
    for process in started:
        assert process.stdout is not None
        # A process that fails to start closes its standard output.
        if process.stdout.readline().startswith("Antechamber is ready"):
            ready.append(process)
            process.terminate()
    ended = [(process.communicate(timeout=30)[1], process.returncode) for process in started]
    # A process that bound only after the winner had stopped may be a second winner.
    assert ready
    refused = [text for text, code in ended if code]
    assert len(refused) == len(started) - len(ready)
    assert all(f"127.0.0.1:{port}" in text and "in use" in text for text in refused)


def test_a_listener_of_another_program_is_not_joined(start: Start, tmp_path: Path, policies: Path) -> None:
    """A port of another program is refused even if that program would share it."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        process = start(Location(data=tmp_path / "data"), policies, other.getsockname()[1])
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "in use" in stderr


def test_a_running_service_lets_nobody_join_its_port(tmp_path: Path, policies: Path) -> None:
    """The kernel refuses the port to a program that requests it with SO_REUSEPORT."""
    with serving(tmp_path / "data", policies) as (url, _), socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", int(url.rpartition(":")[2])))


@pytest.mark.parametrize(("host", "written"), [("localhost", "localhost"), ("::1", "[::1]"), ("127.0.0.2", "")])
def test_a_service_listens_where_it_says(start: Start, tmp_path: Path, policies: Path, host: str, written: str) -> None:
    """A service can listen at a name, an IPv6 address, or other addresses behind a TLS proxy."""
    port = free_port()
    named = [] if written else ["--public-url", "https://desk.example.org"]
    process = start(Location(data=tmp_path / "data"), policies, port, "--host", host, *named)
    assert process.stdout is not None
    line = process.stdout.readline()
    with socket.create_connection((host, port), timeout=10) as reached:
        reached.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = reached.recv(100)
    process.terminate()
    printed, logged = process.communicate(timeout=30)
    assert printed == ""
    assert {line.split()[1] for line in logged.splitlines()} == {"INFO"}
    assert [word for word in (" starting ", f" address={host}:{port} ", " stopped ") if word not in logged] == []
    assert answer.startswith(b"HTTP/1.1 200")
    assert line.startswith(f"Antechamber is ready: {f'http://{written}:{port}' if written else named[1]} ")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.1", "a" * 300])
def test_a_host_that_is_not_here_is_a_clear_error(start: Start, tmp_path: Path, policies: Path, host: str) -> None:
    """A host that is not local is named in one line, and no folder is created."""
    named = ["--host", host, "--public-url", "https://desk.example.org"]
    process = start(Location(data=tmp_path / "data"), policies, free_port(), *named)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, len(stderr.splitlines())) == (1, "", 1)
    assert f"Error: cannot listen on {host}:" in stderr
    assert "--host" in stderr
    assert not (tmp_path / "data").exists()


def test_a_service_starts_again_at_once(tmp_path: Path, policies: Path) -> None:
    """Connections left by the previous service do not block the port, however it ended."""
    port = free_port()
    for end in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        with (
            serving(tmp_path / "data", policies, port) as (url, process),
            httpx.Client(base_url=url, timeout=HANG_SECONDS) as client,
        ):
            assert client.get("/healthz").status_code == 200
            process.send_signal(end)
            process.wait(timeout=20)


def test_one_service_serves_a_folder(start: Start, tmp_path: Path, policies: Path) -> None:
    """A second service ends with an error that names folder, process and address; other commands still work."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, process):
        second = start(Location(data=data), policies, free_port())
        stdout, stderr = second.communicate(timeout=30)
        assert (second.returncode, stdout) == (1, "")
        assert f"Error: the data folder {data} is served already by process {process.pid} at {url}." in stderr
        assert len(stderr.splitlines()) == 1
        assert antechamber("token", "issue", "worker:a", "--data", str(data)).returncode == 0
        assert antechamber("migrate", "--data", str(data)).returncode == 0
        assert httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).status_code == 200


def test_the_kernel_lets_go_of_a_folder_whose_service_was_killed(tmp_path: Path, policies: Path) -> None:
    """After kill -9 the next service starts at once."""
    data = tmp_path / "data"
    with serving(data, policies) as (_, process):
        process.kill()
        process.wait(timeout=20)
        assert (data / LOCK).exists()
        with serving(data, policies) as (url, _):
            assert httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).status_code == 200


def test_services_on_postgresql_share_a_folder(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """Two processes on one host may share a folder, as service/README.md documents."""
    location = Location(data=tmp_path / "data", database_url=postgres.fresh())
    with serving(location, policies) as first, serving(location, policies) as second:
        answers = [httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).status_code for url, _ in (first, second)]
    postgres.drop(location.database_url or "")
    assert answers == [200, 200]


def test_a_folder_that_is_served_is_not_moved(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """A served folder is not imported, because later submissions would be lost."""
    data, url = tmp_path / "data", postgres.fresh()
    with serving(data, policies):
        refused = antechamber("migrate", "--move", "--data", str(data), "--database-url", url)
    assert refused.returncode == 1
    assert f"the data folder {data} is served already" in refused.stderr
    assert antechamber("migrate", "--move", "--data", str(data), "--database-url", url).returncode == 0
    postgres.drop(url)


@pytest.mark.usefixtures("loose")
@pytest.mark.parametrize("before", [None, 0o755, 0o777], ids=["new", "0755", "0777"])
def test_all_files_are_their_owners_alone(tmp_path: Path, policies: Path, before: int | None) -> None:
    """Files are private while a service runs and afterwards, also in a folder that others could enter or write."""
    data = tmp_path / "data"
    if before is not None:
        data.mkdir()
        data.chmod(before)
    with serving(data, policies):
        issued = antechamber("token", "issue", "worker:a", "--data", str(data))
        assert issued.returncode == 0
        assert antechamber("log", "checkpoint", "--data", str(data)).returncode == 0
        found = modes(data)
    assert {name for name in found if found[name] & 0o077} == set()
    assert {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", SECRET, KEY_FILE, LOCK, "log.checkpoint"} <= set(found)
    assert {name for name, mode in modes(data).items() if mode & 0o077} == set()
    exported = tmp_path / "export.jsonl"
    assert antechamber("export", "--output", str(exported), "--data", str(data)).returncode == 0
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600


def test_modes_that_were_too_wide_are_mended(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The first command corrects the modes, reports it in one line, and names each key that others could read."""
    for file in data.iterdir():
        file.chmod(0o644)
    data.chmod(0o755)
    app.open_store(Location(data=data), create=False).close()
    assert {name for name, mode in modes(data).items() if mode & 0o077} == set()
    lines = [record.getMessage() for record in caplog.records]
    warned, mended = lines[:-1], lines[-1]
    assert f"{data / DATABASE} (was 0644)" in mended
    assert f"{data} (was 0755)" in mended
    assert sorted(line.partition(" ")[0] for line in warned) == [
        str(data / name) for name in (KEY_FILE, QUARANTINE_KEY, SECRET)
    ]
    assert all("could be read by other users" in line for line in warned)
    caplog.clear()
    app.open_store(Location(data=data), create=False).close()
    assert caplog.records == []


def test_a_key_behind_a_closed_door_was_read_by_nobody(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If others could not enter the folder, its files are corrected without a warning about keys."""
    (data / SECRET).chmod(0o644)
    app.open_store(Location(data=data), create=False).close()
    assert modes(data)[SECRET] == 0o600
    assert [record.getMessage() for record in caplog.records] == [
        f"other users have no access any more to: {data / SECRET} (was 0644)"
    ]


def test_a_folder_with_other_files_keeps_its_mode_and_they_theirs(tmp_path: Path) -> None:
    """A home folder keeps its mode, and only the service's own files in it become private."""
    (tmp_path / "log.txt").write_text("mine")
    (tmp_path / "log.txt").chmod(0o644)
    tmp_path.chmod(0o755)
    app.migrate(Location(data=tmp_path))
    app.open_store(Location(data=tmp_path)).close()
    found = modes(tmp_path)
    assert (found["."], found["log.txt"]) == (0o755, 0o644)
    assert {name for name, mode in found.items() if mode & 0o077} == {".", "log.txt"}


def test_a_folder_where_others_can_replace_the_secret_is_refused(tmp_path: Path) -> None:
    """Such a folder is refused, unless only a file's owner may remove it, and nothing is created in it."""
    (tmp_path / "notes.txt").write_text("mine")
    tmp_path.chmod(0o770)
    with pytest.raises(SettingsError, match="chmod go-w"):
        app.migrate(Location(data=tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]
    tmp_path.chmod(0o1777)
    app.migrate(Location(data=tmp_path))
    assert modes(tmp_path)[SECRET] == 0o600


def test_the_modes_of_a_place_on_postgresql_are_mended(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """The folder beside a PostgreSQL database holds the same keys."""
    location = Location(data=tmp_path / "data", database_url=postgres.fresh())
    with running(location, policies):
        pass
    (location.data / KEY_FILE).chmod(0o640)
    location.data.chmod(0o750)
    app.open_store(location, create=False).close()
    postgres.drop(location.database_url or "")
    assert {name for name, mode in modes(location.data).items() if mode & 0o077} == set()


OTHER_USER = """
import os, pathlib
from antechamber.app.data_folder import protect
from antechamber.settings import SettingsError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    protect(pathlib.Path())
except SettingsError as error:
    print(error)
"""


def test_files_of_another_user_are_refused(data: Path) -> None:
    """Files that the user cannot correct are named with the command for their owner."""
    (data / SECRET).unlink()
    (data / SECRET).symlink_to("/etc/passwd")
    data.chmod(0o755)
    command = [sys.executable, "-c", OTHER_USER]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=data)  # noqa: S603 -- our own program
    assert f"other users have access to {SECRET}, and its mode cannot be changed" in said.stdout
    assert f"chmod go= {SECRET}" in said.stdout


@pytest.mark.parametrize("command", [("serve",), ("token", "list"), ("user", "add", "bob", "--role", "curator")])
def test_a_full_disk_is_a_clear_error(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Where no room is left, a command names the folder and the cause, and shows no traceback."""
    place = where(tmp_path / "data")
    assert antechamber("migrate", *place).returncode == 0
    full = (shutil.which("strace") or "strace", "-f", "-o", str(tmp_path / "calls"))
    full += ("-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC")
    program = (sys.executable, "-m", "antechamber.cli", *command, *place)
    done = subprocess.run([*full, *program], capture_output=True, text=True, timeout=HANG_SECONDS, check=False)  # noqa: S603 -- our own program
    assert done.returncode == 1
    (shown,) = done.stderr.splitlines()
    assert shown.startswith("Error: the data folder ")
    assert str(tmp_path / "data") in shown
    assert re.search("No space left on device|make room there", shown)

"""Starts the command line in processes that are forked from one that has imported it.

An import of the service takes many times as long as a test of it. Each process has its own arguments, environment,
folder and files, and ends as any other does. The fork server of multiprocessing would give it another standard input,
and another end. `tests/test_starts.py` and others start the command line without this.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from antechamber import policy_files, resources
from antechamber.web import application

MODULE: Final = "antechamber.cli"
IMPORTED: Final = (
    MODULE,
    f"{MODULE}.service",
    "antechamber.app.server",
    "sqlite_utils",
    "antechamber.store.postgres.store",
)
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "COVERAGE_")
"""Beginnings of environment variables that are read when an interpreter starts."""
_LARGEST: Final = 1 << 17
"""Bytes of a request at most, which fit into a socket; longer arguments need a process that is started as usual."""
Run = Callable[[], None]


class Started:
    """A process of the command line, with the members of subprocess.Popen that tests use."""

    def __init__(self, pid: int, status: socket.socket, stdout: IO[bytes] | None) -> None:
        """Take the socket on which the launcher sends the status of the process."""
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = stdout
        self._status = status

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process.

        Raises subprocess.TimeoutExpired.
        """
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = _number(self._status)
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(MODULE, timeout or 0) from error
            self._status.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes | None, None]:
        """Read what the process still writes, and wait for its end.

        Raises subprocess.TimeoutExpired.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        rest = []
        if self.stdout and not self.stdout.closed:
            reader = threading.Thread(target=lambda: rest.append(self.stdout and self.stdout.read()), daemon=True)
            reader.start()
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(MODULE, timeout or 0)
            self.stdout.close()
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return (rest[0] if rest else None), None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            # It may have ended just now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


Process = Started | subprocess.Popen[bytes]


class Launcher:
    """The process from which others are forked; it ends with the process that created it."""

    def __init__(self) -> None:
        """Start it."""
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._environment = dict(os.environ)
        self._lock = threading.Lock()
        with other:
            self._process = subprocess.Popen(  # noqa: S603 -- this file
                [sys.executable, __file__, str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End it; the processes that it started go on."""
        self._control.close()
        self._process.wait()

    def fits(self, arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Return whether a fork is the same as a new process with these arguments."""
        names = {*environment, *self._environment}
        changed = {name for name in names if environment.get(name) != self._environment.get(name)}
        return not any(name.startswith(_READ_AT_START) for name in changed) and (
            len(_request(arguments, environment)) < _LARGEST
        )

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], files: tuple[int, int, int]
    ) -> tuple[int, socket.socket]:
        """Fork a process that runs `python -m antechamber.cli` with arguments and these three standard files.

        Returns its process id and the socket on which its exit status arrives.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, self._lock:
            socket.send_fds(self._control, [_request(arguments, environment)], [*files, theirs.fileno()])
            return _number(self._control), ours


def _request(arguments: Sequence[str], environment: Mapping[str, str]) -> bytes:
    # Asking for the umask by os.umask would change it for other threads.
    umask = re.search(r"^Umask:\s*(\d+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert umask
    return json.dumps([[*arguments], {**environment}, str(Path.cwd()), int(umask[1], 8)]).encode()


def _number(source: socket.socket) -> int:
    """Read what the launcher answers.

    Raises RuntimeError if it has ended.
    """
    if answer := source.recv(16):
        return int(answer)
    message = "the launcher of the tests has ended"
    raise RuntimeError(message)


@functools.cache
def launcher() -> Launcher:
    """Return the launcher of this process."""
    made = Launcher()
    atexit.register(made.close)
    return made


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> Process:
    """Start the command line; without a file for it, its standard output is a pipe."""
    environment = os.environ if environment is None else environment
    if sys.platform != "linux" or not launcher().fits(arguments, environment):
        return subprocess.Popen(  # noqa: S603 -- our own program
            [sys.executable, "-m", MODULE, *arguments],
            env=environment,
            stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=stderr,
        )
    reading = None
    with contextlib.ExitStack() as stack:
        given = stdin or stack.enter_context(Path(os.devnull).open("rb"))
        if stdout is None:
            end, written = os.pipe()
            reading, stdout = os.fdopen(end, "rb"), stack.enter_context(os.fdopen(written, "wb"))
        files = (given.fileno(), stdout.fileno(), stderr.fileno() if stderr else 2)
        pid, status = launcher().start(arguments, environment, files)
    return Started(pid, status, reading)


def _launch(control: socket.socket) -> Run | None:
    """Fork a process for each request; return what that process runs, and None in this one after the last request."""
    children: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)  # noqa: FBT003 -- its only argument
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if woken in ready:
                woken.recv(4096)
                _report_ended(children)
            if control not in ready:
                continue
            request, files, _, _ = socket.recv_fds(control, _LARGEST, 4)
            if not request:
                return None
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                for one in (control, woken, wake, *children.values()):
                    one.close()
                return functools.partial(_become, *json.loads(request), files)
            children[pid] = socket.socket(fileno=files.pop())
            for file in files:
                os.close(file)
            control.send(b"%d" % pid)


def _report_ended(children: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with children.pop(ended[0]) as status, contextlib.suppress(OSError):
                status.send(b"%d" % os.waitstatus_to_exitcode(ended[1]))


def _become(arguments: list[str], environment: dict[str, str], folder: str, umask: int, files: list[int]) -> None:
    """Run the command line in this process, as `python -m` does."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    os.umask(umask)
    sys.argv = [str(Path(sys.modules[MODULE].__file__ or "").with_name("__main__.py")), *arguments]
    sys.modules[MODULE].main(prog_name=f"python -m {MODULE}")


def main() -> None:
    """Import the program, and fork from here until the tests end."""
    control = socket.socket(fileno=int(sys.argv[1]))
    # Control-C ends the tests, which end this process and what it started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The folder of the tests is no part of the program's path.
    with contextlib.suppress(ValueError):
        sys.path.remove(str(Path(__file__).parent))
    for name in IMPORTED:
        importlib.import_module(name)
    # The rules are compiled once for all policies that agree in them, and all applications share their routes.
    policy_files.read_policy(resources.folder("policies")).gate.prepare()
    application._routes(resources.folder("templates"))
    gc.freeze()
    if run := _launch(control):
        run()


if __name__ == "__main__":
    main()

"""An installed Antechamber as its operator sees it: a command line, a service, and nginx with TLS in front."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from antechamber.core.log.package_text import FOLDER
from certificate import make_certificate
from lib.installation import ROOT
from lib.processes import end, free_port, postgres_programs
from lib.proxies import NAME, ORIGIN, NamedClient, proxying

TIMEOUT: Final = 120.0
"""Seconds after which a command or a request has failed."""


class BrokenError(Exception):
    """A promise to the operator is broken; the message says which one, and what was seen instead."""


def demand(condition: object, message: str) -> None:
    """Raise BrokenError unless the condition holds."""
    if not condition:
        raise BrokenError(message)


class Site:
    """An installed program with one data folder; commands run in an empty folder, with an empty environment."""

    def __init__(self, program: Path, folder: Path, data: str, url: str | None) -> None:
        """Use a data folder of this name; nothing is made yet."""
        self.folder, self.data, self.url = folder, folder / data, url
        self._program = program
        self._where = ["--data", str(self.data), *([] if url is None else ["--database-url", url])]
        self._home = folder / "home"
        self._home.mkdir(exist_ok=True)
        programs = postgres_programs().split(os.pathsep)[0] if url is not None else "/bin"
        # Without LC_ALL and PYTHONPATH: the program finds what it needs by itself.
        self._environment = {"HOME": str(self._home), "PATH": f"{programs}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        self._environment |= {"TMPDIR": str(folder)}
        self.log = folder / f"{data}.log"

    def call(self, *arguments: str, expected: int = 0, bare: bool = False) -> str:
        """Run a command, over the data unless `bare`, and return its output.

        Raises BrokenError if it ends with another status than expected.
        """
        command = [str(self._program), *arguments, *([] if bare else self._where)]
        done = subprocess.run(  # noqa: S603 -- the program under test
            command, env=self._environment, cwd=self._home, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        told = f"antechamber {' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}"
        demand(done.returncode == expected, told)
        return done.stdout.strip()

    def read(self, *arguments: str, expected: int = 0) -> Any:
        """Run a command with --json and return what it printed."""
        return json.loads(self.call(*arguments, "--json", expected=expected))

    @contextlib.contextmanager
    def serving(self) -> Iterator["Front"]:
        """Run the service behind nginx.

        Raises BrokenError if it is not ready, or if it ends with an error or too late after SIGTERM.
        """
        port = free_port()
        options = ["--port", str(port), "--public-url", ORIGIN, "--client-address-header", "X-Forwarded-For"]
        command = [str(self._program), "serve", *self._where, *options]
        with self.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 -- the program under test
                command, env=self._environment, cwd=self._home, stdout=subprocess.PIPE, stderr=log
            )
        try:
            line = process.stdout.readline() if process.stdout else b""
            demand(line.startswith(b"Antechamber is ready"), f"the service did not become ready: {self.said()}")
            place = Path(tempfile.mkdtemp(prefix="nginx-", dir=self.folder))
            place.chmod(0o711)
            certificate = make_certificate(place, NAME).public
            with proxying("nginx", place, f"http://127.0.0.1:{port}") as address:
                yield Front(address, certificate)
            process.send_signal(signal.SIGTERM)
            status = process.wait(TIMEOUT)
            demand(status in {0, -signal.SIGTERM}, f"the service ended with {status}: {self.said()}")
            demand("Traceback" not in self.said(), f"the service logged an error: {self.said()}")
        finally:
            end(process)

    def said(self) -> str:
        """Return the end of the log of the service."""
        return self.log.read_text(errors="replace")[-4000:]

    def destroy(self) -> None:
        """Remove the data folder."""
        shutil.rmtree(self.data)

    def link(self, name: str, *, new: str | None = None) -> str:
        """Return a sign-in link, for a new account with a role if given."""
        made = self.call("user", "add", name, "--role", new) if new else self.call("user", "link", name)
        demand(made.startswith(f"{ORIGIN}/login?link="), f"the sign-in link leads elsewhere: {made[:60]}")
        return made


class Front:
    """The address of nginx, and the certificate of its site."""

    def __init__(self, url: str, certificate: Path) -> None:
        self.url, self.certificate = url, certificate

    def client(self, token: str | None = None) -> NamedClient:
        """Return a browser, or with a token the client of a program."""
        sent = {"origin": ORIGIN} if token is None else {"authorization": f"Bearer {token}"}
        return NamedClient(self.url, self.certificate, TIMEOUT, **sent)

    def audit(self, token: str, folder: Path, *, previous: Path | None = None) -> list[str]:
        """Take the audit package, verify it with scripts/verify_export.py, and return the keys of the log.

        `previous` is a checkpoint of the same log from before. Raises BrokenError if it is not verified.
        """
        with self.client(token) as auditor:
            answer = auditor.get("/v1/audit/package")
        demand(answer.status_code == 200, f"the audit package is refused: {answer.text}")  # noqa: PLR2004 -- found
        return verify_package(answer.content, folder, previous=previous)


def verify_package(content: bytes, folder: Path, *, previous: Path | None = None) -> list[str]:
    """Unpack an audit package, verify it with scripts/verify_export.py, and return the keys of the log.

    `previous` is a checkpoint of the same log from before. Raises BrokenError if it is not verified.
    """
    with zipfile.ZipFile(BytesIO(content)) as package:
        package.extractall(folder)
    place = folder / FOLDER
    files = [str(place / "log.jsonl"), "--checkpoint", str(place / "checkpoint.txt")]
    files += ["--key-file", str(place / "key.txt")]
    files += [] if previous is None else ["--previous", str(previous)]
    command = [sys.executable, "-I", str(ROOT / "scripts" / "verify_export.py"), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603 -- our own program
    demand(done.returncode == 0, f"the audit package is not verified: {done.stdout}{done.stderr}")
    return (place / "key.txt").read_text().split()

"""Rehearsals that operators start in the browser, each in a process of its own."""

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from antechamber.app.rehearsal_process import RehearsalLine, RehearsalOrder
from antechamber.core.conversion import parse_json
from antechamber.core.ports.rehearsals import RehearsalError, RehearsalState
from antechamber.policy_files import POLICY_FILES
from antechamber.settings import Location

PROGRAM: Final = ("-P", "-m", "antechamber.app.rehearsal_process")
"""Arguments of Python that start the process of a rehearsal; it imports nothing from the working folder (-P)."""


class RehearsalRuns:
    """Implements core.ports.rehearsals.Rehearsals; `policies` is the folder of the policy in force."""

    def __init__(self, location: Location, policies: Path) -> None:
        self._location = location
        self._policies = policies
        self._gate = threading.Lock()
        self._state: RehearsalState | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, files: Mapping[str, bytes], number: int) -> None:
        """Begin a rehearsal of the policy in force with other files; see the protocol."""
        unknown = sorted(files.keys() - POLICY_FILES)
        if unknown:
            message = (
                f"there is no policy file {unknown[0]}; choose {', '.join(sorted(POLICY_FILES))}. Other files, such as "
                "detectors, are rehearsed at the command line: antechamber policy diff"
            )
            raise RehearsalError(message)
        if not files:
            message = "choose the policy files that you have changed"
            raise RehearsalError(message)
        with self._gate:
            if self._state is not None and not self._state.is_over:
                message = "a rehearsal runs already; wait for its end, or stop it"
                raise RehearsalError(message)
            self._state = RehearsalState(files=sorted(files), number=number)
            folder = Path(tempfile.mkdtemp(prefix="antechamber-rehearsal-"))
            try:
                self._begin(folder, files, number)
            except OSError as error:
                shutil.rmtree(folder, ignore_errors=True)
                self._state = None
                message = f"the rehearsal could not begin: {error.strerror}"
                raise RehearsalError(message) from None

    def state(self) -> RehearsalState | None:
        """Return the last rehearsal, or None before the first."""
        return self._state

    def stop(self) -> None:
        """End a rehearsal that runs."""
        with self._gate:
            if self._process is not None:
                self._process.kill()

    def _begin(self, folder: Path, files: Mapping[str, bytes], number: int) -> None:
        new = folder / "policies"
        shutil.copytree(self._policies, new)
        for name, data in files.items():
            (new / name).write_bytes(data)
        order = RehearsalOrder(
            data=str(self._location.data),
            database_url=self._location.database_url,
            old=str(self._policies),
            new=str(new),
            number=number,
        )
        process = subprocess.Popen(  # noqa: S603 -- our own program
            [sys.executable, *PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._process = process
        # Named in no list of processes, because an address of a database may hold a password.
        threading.Thread(
            target=self._follow, args=(process, msgspec.json.encode(order), folder), name="rehearsal", daemon=True
        ).start()

    def _follow(self, process: "subprocess.Popen[bytes]", order: bytes, folder: Path) -> None:
        """Send the order, and note what the process writes until it ends."""
        assert process.stdin is not None  # noqa: S101 -- for mypy
        assert process.stdout is not None  # noqa: S101 -- for mypy
        try:
            process.stdin.write(order)
            process.stdin.close()
            for text in process.stdout:
                self._note(parse_json(text, RehearsalLine))
        except OSError:
            pass
        finally:
            process.stdout.close()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)
            self._end(process)

    def _note(self, line: RehearsalLine) -> None:
        with self._gate:
            if self._state is not None:
                self._state = msgspec.structs.replace(
                    self._state,
                    done=line.done or self._state.done,
                    total=line.total or self._state.total,
                    report=line.report,
                    error=line.error,
                )

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        with self._gate:
            self._process = None
            if self._state is not None and not self._state.is_over:
                why = "it was stopped" if process.returncode < 0 else "its process failed"
                self._state = msgspec.structs.replace(self._state, error=f"{why}; nothing was changed")

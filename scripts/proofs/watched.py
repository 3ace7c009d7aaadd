"""Clients that note each answer which no client may see, whatever happens to the service meanwhile."""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lib.browser import Browser, Page
from proofs.crash_fields import Field
from proofs.crash_load import Answer, Sender

PATIENCE: Final = 45.0
"""Seconds after which a request counts as unanswered; the service takes 22 until it gives a lost COMMIT up."""
PERMITTED: Final = frozenset({409, 503})
"""Refusals that a client may see, with `Retry-After`."""
_IDLE: Final = 2.0
"""Seconds after which a connection is not used again; the service closes an idle one after five."""


class Manners:
    """Counts the answers that no client may see.

    `excused` returns for a port and a time of the monotonic clock whether a request that began then may lack its
    answer, because its process was killed meanwhile.
    """

    def __init__(self, excused: Callable[[int, float], bool] = lambda _port, _since: False) -> None:
        self._gate = threading.Lock()
        self._excused = excused
        self.improper: Counter[str] = Counter()

    def note(self, status: int, headers: Mapping[str, str], *, decided: bool = False) -> None:
        """Count a server error or a refusal without `Retry-After`; a 409 about a decision is one of the desk's own."""
        with self._gate:
            if status >= 500 and status not in PERMITTED:  # noqa: PLR2004 -- server errors
                self.improper[str(status)] += 1
            elif status in PERMITTED and "retry-after" not in headers and not (decided and status == 409):  # noqa: PLR2004
                self.improper[f"{status} without Retry-After"] += 1

    def note_silence(self, port: int, since: float) -> None:
        """Count a connection that broke, or a request without an answer, unless its process was killed."""
        if self._excused(port, since):
            return
        with self._gate:
            self.improper["no answer"] += 1


class WatchedSender(Sender):
    """A sender that notes what kind of answers it gets."""

    def __init__(self, ports: Sequence[int], token: str, manners: Manners) -> None:
        super().__init__(ports, token, PATIENCE)
        self._manners = manners
        self._used: dict[int, float] = {}
        self._waiting: dict[int, float] = {}
        """When the request on each connection was sent.

        A client that reuses a connection gives its earlier request up itself.
        """

    def _begin(self, process: int, method: str, path: str, raw: bytes | None) -> bool:
        """Send a request, over a new connection if the last one was idle: its server may be closing it right now."""
        if time.monotonic() - self._used.get(process, 0.0) > _IDLE:
            self._links[process].close()
        since = time.monotonic()
        begun = super()._begin(process, method, path, raw)
        self._waiting.pop(process, None)
        if begun:
            self._waiting[process] = since
        return begun

    def finish(self, process: int) -> Answer | None:
        """Read the answer, and count an improper one."""
        answer = super().finish(process)
        self._used[process] = time.monotonic()
        if answer is not None:
            self._manners.note(answer[0], self.headers)
        elif process in self._waiting:
            self._manners.note_silence(self._links[process].port, self._waiting[process])
        self._waiting.pop(process, None)
        return answer


class WatchedField(Field):
    """Processes whose answers to clients are noted."""

    manners: Manners

    def sender(self) -> Sender:
        """Return a sender that notes improper answers."""
        return WatchedSender(self.ports, self.application.token, self.manners)

    def issue_auditor(self) -> str:
        """Return a token of an auditor."""
        return self._output("token", "issue", "audit", "--role", "auditor")

    def doctor(self) -> list[str]:
        """Return what `antechamber doctor` finds in the database and the log."""
        command = self.application.command("doctor", "--json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 -- our own program
        found: list[str] = json.loads(done.stdout)["findings"] if done.stdout else [done.stderr]
        return found

    def _output(self, *arguments: str) -> str:
        command = self.application.command(*arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()  # noqa: S603 -- our own program


class WatchedBrowser(Browser):
    """A curator's browser that notes what kind of answers it gets; each request has a connection of its own."""

    def __init__(self, manners: Manners, ports: Sequence[int], choose: Callable[[int], int]) -> None:
        """Connect at the first request."""
        super().__init__(ports, self._chosen, PATIENCE)
        self._manners, self._choose_one, self._last = manners, choose, 0

    def _chosen(self, number: int) -> int:
        """Remember which process gets the request."""
        self._last = self._choose_one(number)
        return self._last

    def _ask(self, method: str, path: str, form: bytes | None) -> Page | None:
        for link in self._links:
            link.close()
        since = time.monotonic()
        page = super()._ask(method, path, form)
        if page is None:
            self._manners.note_silence(self._links[self._last].port, since)
        else:
            self._manners.note(page[0], page[1], decided=form is not None)
        return page

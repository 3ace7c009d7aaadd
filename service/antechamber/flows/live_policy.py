"""Reload an edited policy as a whole; an invalid edit leaves the old policy in force and sets an alarm.

A file that lost all its content takes effect, with an alarm: it takes rights or protection away, and may be the rest of
an interrupted copy.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from blake3 import blake3
from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.admission.submission import Submission
from antechamber.core.errors import ClosedError, PolicyError
from antechamber.core.policy import Policy, Verdict, evaluate
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.core.privacy import Gate
from antechamber.detector_files import list_files
from antechamber.policy_files import read_policy

_log: Final = logging.getLogger(__name__)


class ActivePolicy(Struct, frozen=True):
    """A policy with its digest, read together so that no answer mixes two policies."""

    policy: Policy
    digest: str
    gate: Gate
    passed: dict[str, Verdict]
    """The verdict on a submission without objections, for each producer."""
    stranger: Verdict
    """The same for a producer that an edit just removed from the policy; its submission lacks the grant."""

    def judge(self, submission: Submission, now: int) -> Verdict:
        """Return the verdict of this policy on a submission at a time (microseconds since 1970 UTC)."""
        reasons = evaluate(self.policy, submission, now)
        passed = self.passed.get(submission.producer_identity, self.stranger)
        return replace(passed, reasons=reasons) if reasons else passed


def _activate(policy: Policy) -> ActivePolicy:
    policy.gate.prepare()
    digest = policy.digest()
    stranger = Verdict(reasons=[], owner="", policy_digest=digest, limits=policy.limits, titles=policy.gate.titles)
    passed = {name: replace(stranger, owner=producer.owner) for name, producer in policy.producers.items()}
    return ActivePolicy(policy, digest, policy.gate, passed, stranger)


class PolicyReloader:
    """Holds the policy in force, and checks the folder for edits in `refresh`."""

    def __init__(self, folder: Path, read: Callable[[Path], Policy] = read_policy) -> None:
        """Read the folder.

        Raises PolicyError if there is no valid policy to start with.
        """
        self._folder = folder
        self._read = read
        self._seen, self._empty = self._look()
        policy = read(folder)
        self.current = _activate(policy)
        self._record: Callable[[ActivePolicy], None] = lambda _: None
        self._unrecorded = False
        self.alarm: str | None = None
        """What is wrong with the current files; None if nothing is."""

    def keep_record(self, store: Store, clock: Clock) -> None:
        """Record the policy in force in a store, and every later one before it comes into force.

        While the log contradicts the last checkpoint, recording the first policy is postponed to `refresh`.

        Raises BusyError or UnavailableError.
        """

        def record(force: ActivePolicy) -> None:
            with store.read() as tx:
                if tx.log.recorded_policy() == force.digest:
                    return
            text, now = force.policy.record().decode(), clock()
            store.write(lambda tx: tx.log.note_policy(force.digest, text, now)).result()

        self._record = record
        self._record_current()

    def _record_current(self) -> None:
        try:
            self._record(self.current)
        except ClosedError:
            self._unrecorded = True
        else:
            self._unrecorded = False

    def _look(self) -> tuple[bytes, frozenset[str]]:
        """Return a digest of all files, and the names of those that are empty."""
        hasher, empty = blake3(), set[str]()
        for file in [*sorted(self._folder.glob("*.toml")), *list_files(self._folder)]:
            try:
                data = file.read_bytes()
            except OSError:
                data = b""
            else:
                empty |= set() if data.strip() else {file.name}
            hasher.update(f"{file.parent.name}/{file.name}:{len(data)}:".encode() + data)
        return hasher.digest(), frozenset(empty)

    def refresh(self) -> None:
        """Bring edited files into force, or keep the old policy; an invalid edit and an emptied file set the alarm.

        Raises BusyError or UnavailableError if the change cannot be recorded; then the old policy stays in force.
        """
        if self._unrecorded:
            self._record_current()
        fingerprint, empty = self._look()
        if fingerprint == self._seen:
            return
        try:
            policy = self._read(self._folder)
        except PolicyError as error:
            self.alarm = f"The edited policy is not in force, the earlier one still is. {error}"
            _log.error("policy not reloaded, the old one stays in force: %s", error)
        else:
            force = _activate(policy)
            # If this raises, `_seen` keeps the old fingerprint, so that the next refresh, a second later, retries.
            self._record(force)
            self.current, self.alarm = force, self._emptied(empty)
            _log.info("policy %s is in force", self.current.digest)
        self._seen = fingerprint

    def _emptied(self, empty: frozenset[str]) -> str | None:
        """Return the alarm about files that are empty and were not when the service began."""
        names = ", ".join(sorted(empty - self._empty))
        if not names:
            return None
        alarm = (
            f"The policy has lost all content of {names}, as after an interrupted copy or on a full disk. Write it "
            "again; if it should hold nothing, write a comment into it (#)."
        )
        _log.error("%s", alarm)
        return alarm

"""Asks the witnesses in the policy to cosign each checkpoint, in the background (c2sp.org/tlog-witness)."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError, FetchError
from antechamber.core.log.checkpoint_text import NoteError, Verify
from antechamber.core.log.cosignature import read_lines, read_size, read_witness_key, write_request
from antechamber.core.log.merkle import consistency_proof
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.policy import Witness
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.flows.live_policy import PolicyReloader
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)
FIRST_PAUSE: Final = 5_000_000
"""Microseconds between the first failure of a witness and the next attempt; each further failure doubles them."""
LONGEST_PAUSE: Final = 300_000_000
_OK: Final = 200
_CONFLICT: Final = 409
_REFUSALS: Final = {
    403: "it trusts another key for this log: give it the key that antechamber log key prints",
    404: "it does not know this log: give it the key that antechamber log key prints",
    422: "it cosigned another log under this name before, or cannot read the proof",
}
Post = Callable[..., tuple[int, bytes]]
"""Return status and body of the answer, called with the URL, a text and `allow_private`.

Raises FetchError.
"""


class WitnessError(AntechamberError):
    """Raised when a witness does not cosign; the text says why."""


class _State(Struct):
    """What is known of one witness."""

    size: int = 0
    """Size that it cosigned last, as far as known."""
    text: str = ""
    """The checkpoint to which `lines` belong."""
    lines: str = ""
    failures: int = 0
    next_at: int = 0
    problem: str | None = None


class LogWitnesses:
    """Holds the cosignatures of the last checkpoint; thread-safe.

    They are kept in memory alone: after a restart the witnesses are asked again, and cosign the same checkpoint again.
    """

    def __init__(self, store: Store, policies: PolicyReloader, post: Post, verify: Verify, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._post = post
        self._verify = verify
        self._clock = clock
        self._gate = threading.Lock()
        self._states: dict[str, _State] = {}

    def tick(self) -> None:
        """Ask the witnesses that have not cosigned the last checkpoint yet and are due.

        Raises BusyError or UnavailableError.
        """
        witnesses = {witness.key: witness for witness in self._policies.current.policy.log.witness}
        with self._gate:
            self._states = {key: self._states.get(key, _State()) for key in witnesses}
            states = dict(self._states)
        if not witnesses:
            return
        with self._store.read() as tx:
            signed = tx.log.checkpoint()
        for key, state in states.items():
            if signed is not None and state.text != signed.note and self._clock() >= state.next_at:
                self._try(witnesses[key], state, signed)

    def add_to(self, checkpoint: str) -> str:
        """Return a checkpoint with the cosignatures that it has so far."""
        with self._gate:
            lines = [state.lines for state in self._states.values() if state.text == checkpoint]
        return checkpoint + "".join(lines)

    def alarms(self) -> list[str]:
        """Return which witnesses do not cosign, and why."""
        with self._gate:
            failing = {key: state.problem for key, state in self._states.items() if state.problem is not None}
        return [
            f"The witness {read_witness_key(key).name} does not cosign the log: {problem}. It is asked again."
            for key, problem in failing.items()
        ]

    def _try(self, witness: Witness, state: _State, signed: SignedCheckpoint) -> None:
        lines, problem = "", None
        try:
            lines = self._ask(witness, state, signed)
        except (FetchError, NoteError, WitnessError) as error:
            problem = str(error)
        before = state.problem
        with self._gate:
            state.problem = problem
            if problem is None:
                state.text, state.lines, state.size = signed.note, lines, signed.size
                state.failures, state.next_at = 0, 0
            else:
                pause = min(FIRST_PAUSE << min(state.failures, 10), LONGEST_PAUSE)
                state.failures, state.next_at = state.failures + 1, self._clock() + pause
        if (problem is None) != (before is None):
            said = "a witness cosigns again" if problem is None else "a witness does not cosign"
            note(_log, logging.WARNING, said, witness=read_witness_key(witness.key).name)

    def _ask(self, witness: Witness, state: _State, signed: SignedCheckpoint) -> str:
        """Return the lines of a witness; its answer to a wrong size says from which size the proof has to begin."""
        old = state.size if state.size <= signed.size else 0
        for _ in range(2):
            status, body = self._send(witness, old, signed)
            if status == _OK:
                return read_lines(body, signed.note, read_witness_key(witness.key), self._verify)
            if status != _CONFLICT:
                raise WitnessError(_REFUSALS.get(status, f"it answers with status {status}"))
            size = read_size(body)
            if size is None:
                message = "its answer to another size is no number"
                raise WitnessError(message)
            if size > signed.size:
                message = (
                    f"it has cosigned {size} leaves of this log, and only {signed.size} are signed here: an older "
                    "backup may be in the place of the log"
                )
                raise WitnessError(message)
            old = size
        leaves = counted(old, "leaf", "leaves")
        message = f"it has cosigned another log of {leaves} under this name, or another process asks it, too"
        raise WitnessError(message)

    def _send(self, witness: Witness, old: int, signed: SignedCheckpoint) -> tuple[int, bytes]:
        path: list[bytes] = []
        if old:
            with self._store.read() as tx:
                path = consistency_proof(old, signed.size, Tree(tx.log, signed.size).nodes)
        url = f"{witness.url.rstrip('/')}/add-checkpoint"
        return self._post(url, write_request(old, path, signed.note), allow_private=witness.allow_private)

"""Calibration: an operator adds proposals with known verdicts, and lists what became of them."""

from itertools import repeat
from typing import Final

from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.policy import DAY, Policy, evaluate
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.calibration import CalibrationLine, read_calibration
from antechamber.core.rows.blind import BlindEvent, BlindItem, BlindItemWrite

MAX_ITEMS: Final = 1000
"""Maximum number of items in a file."""
MAX_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file."""
SPREAD: Final = DAY
"""Items seem to have come one after another since the last proposal, at most this many microseconds ago.

Any other time would contradict their place in the queue.
"""


class CalibrationError(AntechamberError):
    """Raised when a file of calibration items cannot be added; the text names each bad line and what to change."""


class CalibrationResult(Struct, frozen=True, kw_only=True):
    """The number of items of a file that were added, and of those that were there already."""

    added: int
    known: int


class Calibration:
    """Adds and lists calibration items; `secret` is the folder's 32-byte secret."""

    def __init__(self, store: Store, policy: Policy, clock: Clock, randomness: Randomness, secret: bytes) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._randomness = randomness
        self._secret = secret

    def add(self, file: bytes) -> CalibrationResult:
        """Put all items of a file into the queue, or none; the same item is added once, however often it is given.

        Raises CalibrationError.
        """
        now = self._clock()
        lines = self._read(file, now)

        def work(tx: Rows) -> int:
            earliest = max(now - SPREAD, min(now, tx.blind.last_arrival() or 0))
            writes = map(self._write_of, lines, self._arrivals(len(lines), earliest, now), repeat(now))
            return sum(tx.blind.add(write) for write in writes)

        added = self._store.write(work).result()
        return CalibrationResult(added=added, known=len(lines) - added)

    def all(self) -> list[BlindItem]:
        """Return the calibration items, oldest first."""
        with self._store.read() as tx:
            return tx.blind.all()

    def _read(self, file: bytes, now: int) -> list[CalibrationLine]:
        if len(file) > MAX_BYTES:
            message = f"the file has more than {MAX_BYTES} bytes; divide it"
            raise CalibrationError(message)
        lines = [(number, raw) for number, raw in enumerate(file.split(b"\n"), 1) if raw.strip()]
        if not 0 < len(lines) <= MAX_ITEMS:
            found = counted(len(lines), "item")
            message = f"the file has {found}; write between 1 and {MAX_ITEMS:,}, one JSON object per line"
            raise CalibrationError(message)
        items: list[CalibrationLine] = []
        wrong: list[str] = []
        for number, raw in lines:
            try:
                item = read_calibration(raw)
            except RequestRefusedError as error:
                wrong += [f"line {number}: {reason.pointer or ''} {reason.message}" for reason in error.reasons]
                continue
            items.append(item)
            wrong += [f"line {number}: {text}" for text in self._objections(item, now)]
        if wrong:
            raise CalibrationError("\n".join(["Nothing was added.", *wrong]))
        return items

    def _objections(self, item: CalibrationLine, now: int) -> list[str]:
        """Return why no producer could have proposed an item, which would give it away."""
        submission = item.submission
        values = {
            "/scope_id": submission.scope_id,
            "/payload": submission.payload,
            "/source_span": submission.source_span,
            "/explanation": item.explanation,
        }
        found = {finding.rule_id for finding in self._policy.gate.find_private(values, submission.submission_scope)}
        private = [f"it holds private data ({', '.join(sorted(found))}); remove it"] if found else []
        return [f"{reason.pointer} {reason.message}" for reason in evaluate(self._policy, submission, now)] + private

    def _arrivals(self, number: int, earliest: int, now: int) -> list[int]:
        """Return random times from `earliest` to now, in order."""
        width = now - earliest + 1
        return sorted(earliest + int.from_bytes(self._randomness(8), "big") % width for _ in range(number))

    def _write_of(self, item: CalibrationLine, received_at: int, now: int) -> BlindItemWrite:
        return BlindItemWrite(
            blind_item_id=uuid7(now, self._randomness(10)),
            proposal_id=uuid7(received_at, self._randomness(10)),
            kind="calibration",
            event=self._event_of(item, received_at),
            verdict=item.verdict,
            explanation=item.explanation,
            policy_digest=self._policy.digest(),
            added_at=now,
            salt=self._randomness(SALT_SIZE),
        )

    def _event_of(self, item: CalibrationLine, received_at: int) -> BlindEvent:
        one = item.submission
        identity = f"calibration {one.submission_scope}:{one.scope_id} {one.source_event_hash}"
        return BlindEvent(
            producer_identity=one.producer_identity,
            owner=self._policy.producers[one.producer_identity].owner,
            submission_scope=one.submission_scope,
            scope_id=one.scope_id,
            payload=one.payload_json,
            source_span=one.source_span_json,
            supersedes=None if one.supersedes is None else canonical(one.supersedes).decode(),
            derived_from=None if one.derived_from is None else canonical(one.derived_from).decode(),
            visibility=one.visibility,
            observed_at=one.observed_at,
            received_at=received_at,
            # No producer's event has this hash, and the same item always has it.
            hash="blake3:" + blake3(identity.encode(), key=self._secret).hexdigest(),
        )

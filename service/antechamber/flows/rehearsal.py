"""Rehearsal of a policy: replay stored submissions and decisions under two policies, as of the time of each."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from antechamber.core.admission.canonical import decoded
from antechamber.core.admission.scanned_values import KEY_POINTER, scanned_values
from antechamber.core.admission.submission import Submission
from antechamber.core.policy import Policy
from antechamber.core.ports.store import Store
from antechamber.core.privacy import Finding
from antechamber.core.rehearsal import (
    Cause,
    Change,
    RehearsalReport,
    RehearsalTally,
    Treatment,
    compare,
    compare_grants,
    compare_memory,
    compare_review,
    known_of,
    submission_of,
    treat,
)
from antechamber.core.rows.rehearsal import RehearsedDecision, RehearsedSubmission
from antechamber.flows.split_watch import SplitWatch

PAGE: Final = 200
"""Submissions that are read and held at once; each has 64 KiB at most."""

Findings = tuple[list[Finding], list[Finding]]
"""Findings that make an event private, and warnings."""


class _Side:
    """One of the two policies, with the fragments of events that its watch remembers."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.gate = policy.gate
        self._splits = SplitWatch()

    def find_private(self, submission: Submission, values: dict[str, Any], now: int, *, clear: bool) -> list[Finding]:
        """Find what makes a submission private, as admission does; `clear` if no single event can be."""
        found = [] if clear else self._scan(values, submission)
        if not found and submission.visibility != "private":
            return self._splits.check(submission, self.gate, now)
        return found

    def _scan(self, values: dict[str, Any], submission: Submission) -> list[Finding]:
        return [] if self.gate.is_clean(values) else self.gate.find_private(values, submission.submission_scope)

    def warn(self, submission: Submission, values: dict[str, Any]) -> list[Finding]:
        """Find what a curator is warned of."""
        found = self.gate.scan(values, submission.submission_scope)
        return [finding for finding in found if not finding.is_private]

    def refuse_text(self, submission: Submission, payload: dict[str, Any]) -> frozenset[Cause]:
        """Return why the text of a memory, which a curator edited, would be refused."""
        values = scanned_values(submission) | {"/payload": payload}
        values.pop(KEY_POINTER, None)
        return frozenset(("private-detected", finding.rule_id) for finding in self._scan(values, submission))


class Rehearsal:
    """Replays what a store holds under two policies; it only reads."""

    def __init__(self, store: Store, before: Policy, after: Policy) -> None:
        self._store = store
        self._before, self._after = _Side(before), _Side(after)
        old, new = self._before.gate, self._after.gate
        unlike, new_unlike = old.rules_unlike(new), new.rules_unlike(old)
        self._alike = not unlike and not new_unlike
        """Whether both find the same in every event."""
        watched, new_watched = unlike | old.refusing, new_unlike | new.refusing
        # Rules of equal policies have equal indexes, so that one look is enough.
        self._looks = [(old, watched | new_watched)] if old.rules == new.rules else [(old, watched), (new, new_watched)]
        """Gates, each with the rules whose findings could make an event private or differ between the policies."""

    def run(self, number: int, progress: Callable[[int, int], None]) -> RehearsalReport:
        """Replay the last `number` submissions that have a text; `progress` gets how many were read, and of how many.

        Raises BusyError or UnavailableError.
        """
        tally, done = RehearsalTally(), 0
        with self._store.read() as tx:
            window = tx.rehearsal.window(number)
        first = window.first
        while done < window.number:
            # A snapshot for each page: the service goes on writing, and no transaction stays open for long.
            with self._store.read() as tx:
                rows = tx.rehearsal.submissions(first, window.last, PAGE)
                decisions = tx.rehearsal.decisions(rows[0].id, rows[-1].id)
            by_proposal = {key: list(some) for key, some in groupby(decisions, lambda one: one.proposal)}
            for row in rows:
                self._replay(row, by_proposal.get(row.id, []), tally)
            first, done = rows[-1].id + 1, done + len(rows)
            progress(done, window.number)
        return tally.report()

    def _replay(self, row: RehearsedSubmission, decisions: Sequence[RehearsedDecision], tally: RehearsalTally) -> None:
        submission = submission_of(row)
        if submission is None:
            tally.skip(row)
            changes = list(compare_grants(self._before.policy, self._after.policy, row))
            tally.add(row, changes, hides_scope=bool(changes) and self._hides(row))
            return
        before, after = self._treat(row, submission)
        changes = [
            *compare(before, after),
            *self._compare_memory(row, submission, before, after),
            *compare_review(self._before.policy, self._after.policy, row, decisions),
        ]
        tally.replay()
        tally.add(row, changes, hides_scope=before.hides_scope or after.hides_scope)

    def _hides(self, row: RehearsedSubmission) -> bool:
        """Return whether the scope id of a submission without a text is a private value."""
        return any(side.gate.is_private_name(row.scope_id or "") for side in (self._before, self._after))

    def _treat(self, row: RehearsedSubmission, submission: Submission) -> tuple[Treatment, Treatment]:
        values, now, known = scanned_values(submission), row.received_at, known_of(row)
        (private, warnings), (new_private, new_warnings) = self._find(submission, values, now)
        before = treat(self._before.policy, submission, known, private, warnings, now)
        return before, treat(self._after.policy, submission, known, new_private, new_warnings, now)

    def _find(self, submission: Submission, values: dict[str, Any], now: int) -> tuple[Findings, Findings]:
        """Find what both policies find; warnings only where the two can differ."""
        old, new = self._before, self._after
        clear = all(gate.is_clear_of(rules, values) for gate, rules in self._looks)
        private = old.find_private(submission, values, now, clear=clear)
        if self._alike:
            return (private, []), (private, [])
        new_private = new.find_private(submission, values, now, clear=clear)
        if clear:
            return (private, []), (new_private, [])
        return (private, old.warn(submission, values)), (new_private, new.warn(submission, values))

    def _compare_memory(
        self, row: RehearsedSubmission, submission: Submission, before: Treatment, after: Treatment
    ) -> Iterator[Change]:
        """Yield why the memory that a submission became would have been refused, as it was submitted or edited."""
        if row.memory_payload is None:
            return
        old, new = before.causes, after.causes
        if row.edited:
            payload = decoded(row.memory_payload)
            old |= self._before.refuse_text(submission, payload)
            new |= self._after.refuse_text(submission, payload)
        yield from compare_memory(old, new)

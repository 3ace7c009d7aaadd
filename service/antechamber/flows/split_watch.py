"""The watch for credentials that come in parts, in several events of one producer within an hour.

It is kept in memory only, by each process for itself: a restart forgets it.
"""

import threading
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from antechamber.core.admission.canonical import strings_of
from antechamber.core.admission.submission import Submission
from antechamber.core.privacy import Finding, Gate
from antechamber.core.privacy.split_values import (
    Fragment,
    fragments_of,
    joined_values,
    may_hold_fragment,
)

HOUR: Final = 3_600_000_000
MAX_EVENTS: Final = 8
"""Maximum number of events with fragments that are remembered of one producer …"""
MAX_BEGUN: Final = 24
"""… and of such with the beginning of a token, which ordinary events do not push out."""
MAX_PRODUCERS: Final = 1000
"""Maximum number of producers with remembered events; each takes 16 kB at most."""


class _Remembered(Struct, frozen=True):
    """The fragments of one event; its hash recognizes a repetition."""

    source_event_hash: str
    received_at: int
    texts: list[str]
    has_beginning: bool
    """Whether one of them begins as the tokens of some service do."""


class SplitWatch:
    """Remembers fragments of events without findings, and finds credentials that a later event completes."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._events: OrderedDict[str, list[_Remembered]] = OrderedDict()

    def check(self, submission: Submission, gate: Gate, now: int) -> list[Finding]:
        """Return findings about fragments that complete a credential; an event without any is remembered."""
        text = submission.payload_json
        # An escape could hide where a word begins.
        if "\\" not in text and not may_hold_fragment(text):
            return []
        fragments = fragments_of(strings_of(submission.payload, "/payload"))
        if not fragments:
            return []
        with self._gate:
            earlier = self._recent(submission, now)
        findings = self._find(gate, submission, earlier, fragments)
        if not findings:
            with self._gate:
                self._remember(submission, gate, fragments, now)
        return findings

    def _recent(self, submission: Submission, now: int) -> list[list[str]]:
        events = self._events.get(submission.producer_identity, ())
        own = submission.source_event_hash
        return [one.texts for one in events if now - one.received_at < HOUR and one.source_event_hash != own]

    def _remember(self, submission: Submission, gate: Gate, fragments: list[Fragment], now: int) -> None:
        events = self._events.setdefault(submission.producer_identity, [])
        self._events.move_to_end(submission.producer_identity)
        if all(one.source_event_hash != submission.source_event_hash for one in events):
            texts = [fragment.text for fragment in fragments]
            one = _Remembered(submission.source_event_hash, now, texts, any(map(gate.tokens.is_beginning, texts)))
            events.append(one)
            alike = [other for other in events if other.has_beginning == one.has_beginning]
            if len(alike) > (MAX_BEGUN if one.has_beginning else MAX_EVENTS):
                events.remove(alike[0])
        while len(self._events) > MAX_PRODUCERS:
            self._events.popitem(last=False)

    def _find(
        self, gate: Gate, submission: Submission, earlier: list[list[str]], fragments: list[Fragment]
    ) -> list[Finding]:
        """Return a finding for each fragment that gives a secret together with earlier ones."""
        values = list(joined_values(earlier, fragments))
        tokens = gate.tokens
        if not values or not tokens.may_find([value for _, value in values]):
            return []
        found: dict[tuple[str, int, str], Finding] = {}
        # One by one: the gate would join values that are scanned together.
        for fragment, value in values:
            found_in = gate.find_private({"": value}, submission.submission_scope) if tokens.may_find([value]) else []
            for one in found_in:
                if one.rule_id in tokens.rule_ids:
                    at = (fragment.pointer, fragment.start, one.rule_id)
                    found[at] = Finding(fragment.pointer, one.rule_id, one.action, fragment.start, fragment.end)
        return sorted(found.values())

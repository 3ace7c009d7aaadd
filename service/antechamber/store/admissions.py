"""Queries for admission: what is known about a group of candidates, and the rows that their judgements write."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from antechamber.core.admission.canonical import canonical
from antechamber.core.admission.disposition import (
    AdmissionWrite,
    Candidate,
    KnownConflict,
    KnownProposal,
    KnownSubmission,
    SealWrite,
)
from antechamber.core.admission.group_facts import GroupFacts, content_of, kept_fingerprint, key_of
from antechamber.core.contract import Channel
from antechamber.core.log.leaf import LeafWrite, of_disposition, of_seal, of_withdrawal
from antechamber.core.ports.admission import ReplayKey
from antechamber.store.memories import HOUR
from antechamber.store.statements import Statements

Row = dict[str, Any]


def _name(entry: AdmissionWrite) -> str:
    return str(entry.judgement.outcome.disposition)


def _counter(entry: AdmissionWrite, producers: Mapping[str, int]) -> tuple[int, int, str, Channel]:
    """Return what identifies the counter of a disposition: hour, producer, disposition and channel."""
    candidate = entry.candidate
    producer = producers[candidate.submission.producer_identity]
    return candidate.received_at // HOUR, producer, _name(entry), candidate.channel


def _text(value: Any) -> str:
    return canonical(value).decode()


class AdmissionQueries(Statements):
    """Implements core.ports.admission.AdmissionRows with named statements."""

    lane: int
    """Counter lane of this process: processes that share a store use different lanes, as far as there are enough."""
    known_producers: dict[str, int]
    """Cache of integer keys of producers; it must be emptied when a transaction is rolled back."""

    def open_batch(self, candidates: Sequence[Candidate]) -> GroupFacts:
        """Look up keys, contents, earlier conflicts and caps, and only as far as the judgements need them."""
        book = GroupFacts()
        submissions = [one.submission for one in candidates]
        book.producers = producers = self._numbers({one.producer_identity: 0 for one in submissions})
        keys = dict.fromkeys(map(key_of, submissions))
        contents = dict.fromkeys((content_of(one), one.producer_identity) for one in submissions)
        known, proposals = self.find_all(
            ("known_submission", [{"producer": producers[name], "idempotency_key": key} for name, key in keys]),
            (
                "known_proposal",
                [
                    {"submission_scope": a, "scope_id": b, "source_event_hash": c, "producer": producers[name]}
                    for (a, b, c), name in contents
                ],
            ),
        )
        book.distinct = len(candidates) == len(keys) == len({content for content, _ in contents})
        for key, row in zip(keys, known, strict=True):
            if row is not None:
                book.note_submission(key, msgspec.convert(row, KnownSubmission, strict=False))
        for (content, name), row in zip(contents, proposals, strict=True):
            if row is not None:
                book.note_proposal(content, name, msgspec.convert(row, KnownProposal))
        self._note_refusals(book, book.refusable(candidates))
        return book

    def _numbers(self, producers: dict[str, int]) -> dict[str, int]:
        """Return the integer keys of producers; 0 for a producer without a row."""
        asked = [name for name in producers if name not in self.known_producers]
        found = self.find("producer_id", [{"producer_identity": name} for name in asked]) if asked else []
        self.known_producers.update({name: row["id"] for name, row in zip(asked, found, strict=True) if row})
        return {name: self.known_producers.get(name, 0) for name in producers}

    def _note_refusals(self, book: GroupFacts, candidates: Sequence[Candidate]) -> None:
        """Look up the caps and the earlier conflicts of candidates that may end in quarantine."""
        waiting = sorted({book.producers[one.submission.producer_identity] for one in candidates} - {0})
        names = {number: identity for identity, number in book.producers.items()}
        self.find("hold_producer", [{"producer": producer} for producer in waiting])
        for producer, row in zip(
            waiting, self.find("count_waiting", [{"producer": producer} for producer in waiting]), strict=True
        ):
            book.note_waiting(names[producer], row["number"] if row else 0)
        reused = [(one, original) for one in candidates if (original := book.original(one)) is not None]
        asked = [
            {"submission": original.id, "fingerprint": one.fingerprint, "keyed_fingerprint": one.keyed_fingerprint}
            for one, original in reused
        ]
        counts = self.find("count_conflicts", [{"submission": original.id} for _, original in reused])
        for (_, original), row, count in zip(reused, self.find("known_conflict", asked), counts, strict=True):
            book.note_conflicts_of_key(original.submission_id, count["number"] if count else 0)
            if row is not None:
                book.note_conflict(original.submission_id, row["fingerprint"], KnownConflict(answer=row["answer"]))

    def record(self, book: GroupFacts) -> None:
        """Write the rows of a group's judgements; the ids in a receipt are also the ids of its rows."""
        entries = book.entries
        bound = [one for one in entries if one.judgement.bind]
        made = [one for one in entries if one.judgement.propose]
        taken = self.take(len(bound)) if bound else []
        writing = _Writing(
            self._known_or_new(book.producers) if bound else book.producers,
            {one.submission_id: key for one, key in zip(bound, taken, strict=True)},
            {one.proposal_id: key for one, key in zip(bound, taken, strict=True) if one.judgement.propose},
        )
        self._add("add_proposal", map(writing.proposal, made))
        self._add("add_submission", map(writing.submission, bound))
        self._add("add_evidence", [writing.evidence(one) for one in bound if one.judgement.evidence])
        self._count(book, writing.producers)
        self._add("add_quarantine", [writing.quarantine(one) for one in entries if one.judgement.quarantine])
        self.log(leaf for one in entries for leaf in self._leaves(one))
        if any(one.judgement.propose or one.judgement.quarantine or one.judgement.withdraw for one in entries):
            self.announce()

    def _leaves(self, entry: AdmissionWrite) -> Iterator[LeafWrite]:
        """Yield the leaves of one judgement; withdraw its proposal if it demands so (only the first has a leaf)."""
        judgement = entry.judgement
        if judgement.bind or judgement.quarantine:
            yield of_disposition(entry)
        proposal_id = judgement.original.proposal_id if judgement.withdraw and judgement.original else None
        if proposal_id and self.run("withdraw_proposal", proposal_id=proposal_id):
            yield of_withdrawal(entry, proposal_id)

    def _count(self, book: GroupFacts, producers: Mapping[str, int]) -> None:
        """Count the dispositions of a group; attempts without a row (replays) are counted by `count_replays`."""
        counted = Counter(
            _counter(entry, producers) for entry in book.entries if entry.judgement.bind or entry.judgement.quarantine
        )
        self.repeat(
            "count",
            [
                {
                    "hour": hour,
                    "producer": producer,
                    "name": name,
                    "channel": channel,
                    "lane": self.lane,
                    "number": number,
                }
                for (hour, producer, name, channel), number in sorted(counted.items())
            ],
        )

    def _add(self, statement: str, rows: Iterable[Row]) -> None:
        if ordered := list(rows):
            self.add(statement, ordered, _UNIQUE[statement])

    def _known_or_new(self, producers: Mapping[str, int]) -> Mapping[str, int]:
        """Add the producers without a row; another process may add the same ones at the same time."""
        fresh = sorted(identity for identity, number in producers.items() if not number)
        for identity in fresh:
            self.run("add_producer", producer_identity=identity)
        found = self.find("producer_id", [{"producer_identity": identity} for identity in fresh])
        return {**producers, **{name: row["id"] for name, row in zip(fresh, found, strict=True) if row}}

    def seal(self, entry: SealWrite) -> None:
        """Bind a free key to a receipt that no event will ever match."""
        producers = self._known_or_new(self._numbers({entry.producer_identity: 0}))
        row = dict.fromkeys(_SEAL_LACKS) | {
            "id": self.take(1)[0],
            "submission_id": entry.submission_id,
            "producer": producers[entry.producer_identity],
            "idempotency_key": entry.idempotency_key,
            "disposition": "rejected-invalid",
            "reason_code": "sealed",
            "status": 422,
            "keyed": 0,
            "channel": "http",
            "policy_digest": entry.policy_digest,
            "received_at": entry.sealed_at,
            "receipt": entry.receipt.decode(),
        }
        self._add("add_submission", [row])
        self.log([of_seal(entry)])
        count = {"name": row["disposition"], "channel": "http", "lane": self.lane, "number": 1}
        self.run("count", hour=entry.sealed_at // HOUR, producer=row["producer"], **count)

    def known_key(self, producer_identity: str, key: str) -> tuple[str, str] | None:
        producer = self._numbers({producer_identity: 0})[producer_identity]
        found = self.one("known_submission", producer=producer, idempotency_key=key)
        return (found["submission_id"], found["receipt"]) if found else None

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        counted = [
            {"submission_id": submission_id, "hour": hour, "channel": channel, "attempts": number}
            for (submission_id, hour, channel), number in sorted(attempts.items())
        ]
        self.repeat("add_replays", counted)
        self.repeat("add_producer_replays", counted)


_UNIQUE: Final = {
    "add_proposal": ("submission_scope", "scope_id", "source_event_hash"),
    "add_submission": ("producer", "idempotency_key"),
    "add_evidence": ("proposal", "producer"),
    "add_quarantine": ("submission", "fingerprint"),
}
"""Unique columns on which processes race. Rows are inserted in their order, so that two processes cannot deadlock."""
_SEAL_LACKS: Final = (
    "submission_scope",
    "scope_id",
    "source_event_hash",
    "visibility",
    "fingerprint",
    "proposal",
    "duplicate_of",
)


class _Writing:
    """Builds the rows of a group; replaces public ids by integer keys, including those of rows taken just now."""

    def __init__(
        self, producers: Mapping[str, int], submissions: Mapping[str | None, int], proposals: Mapping[str | None, int]
    ) -> None:
        self.producers = producers
        self._submissions = submissions
        self._proposals = proposals

    def _producer(self, entry: AdmissionWrite) -> int:
        return self.producers[entry.candidate.submission.producer_identity]

    def _proposal(self, entry: AdmissionWrite) -> int | None:
        """Return the key of the proposal that a submission created or joined."""
        known = entry.judgement.proposal
        if known is None:
            return self._proposals.get(entry.proposal_id)
        return known.id or self._proposals[known.proposal_id]

    def _duplicate_of(self, entry: AdmissionWrite) -> int | None:
        known = entry.judgement.proposal
        if known is None or known.own_submission is None:
            return None
        return known.own_submission or self._submissions[known.own_submission_id]

    def proposal(self, entry: AdmissionWrite) -> Row:
        submission = entry.candidate.submission
        return {
            "id": self._proposals[entry.proposal_id],
            "proposal_id": entry.proposal_id,
            "producer": self._producer(entry),
            "owner": entry.candidate.verdict.owner,
            "submission_scope": submission.submission_scope,
            "scope_id": submission.scope_id,
            "source_event_hash": submission.source_event_hash,
            "payload": submission.payload_json,
            "source_span": submission.source_span_json,
            "visibility": submission.visibility,
            "supersedes": None if submission.supersedes is None else _text(submission.supersedes),
            "observed_at": submission.observed_at,
            "received_at": entry.candidate.received_at,
        }

    def submission(self, entry: AdmissionWrite) -> Row:
        candidate, judgement = entry.candidate, entry.judgement
        submission, private = candidate.submission, candidate.private
        return {
            "id": self._submissions[entry.submission_id],
            "submission_id": entry.submission_id,
            "producer": self._producer(entry),
            "idempotency_key": submission.idempotency_key,
            "disposition": judgement.outcome.disposition,
            "reason_code": judgement.reasons[0].code if judgement.reasons else None,
            "status": judgement.outcome.status,
            "submission_scope": submission.submission_scope,
            "scope_id": None if candidate.hides_scope else submission.scope_id,
            "source_event_hash": None if private else submission.source_event_hash,
            "visibility": submission.visibility,
            "fingerprint": kept_fingerprint(candidate),
            "keyed": int(private),
            "channel": entry.candidate.channel,
            "proposal": self._proposal(entry),
            "duplicate_of": self._duplicate_of(entry),
            "policy_digest": entry.candidate.verdict.policy_digest,
            "received_at": entry.candidate.received_at,
            "receipt": entry.receipt.decode(),
        }

    def evidence(self, entry: AdmissionWrite) -> Row:
        return {
            "proposal": self._proposal(entry),
            "submission": self._submissions[entry.submission_id],
            "producer": self._producer(entry),
            "owner": entry.candidate.verdict.owner,
            "received_at": entry.candidate.received_at,
        }

    def quarantine(self, entry: AdmissionWrite) -> Row:
        candidate, original = entry.candidate, entry.judgement.original
        event, private = candidate.submission, candidate.private
        known = original.id if original else 0
        return {
            "quarantine_id": entry.quarantine_id,
            "kind": "conflict" if original else "private",
            "submission": known or self._submissions[entry.submission_id],
            "producer": self._producer(entry),
            "fingerprint": kept_fingerprint(candidate),
            "keyed": int(private),
            "source_event_hash": None if private else event.source_event_hash,
            "submission_scope": event.submission_scope,
            "scope_id": None if candidate.hides_scope else event.scope_id,
            "visibility": event.visibility,
            "supersedes": None if private or event.supersedes is None else _text(event.supersedes),
            "payload": None if private else event.payload_json,
            "source_span": None if private else event.source_span_json,
            "findings": _text(msgspec.to_builtins(candidate.findings)),
            "owner": entry.candidate.verdict.owner,
            "policy_digest": entry.candidate.verdict.policy_digest,
            "received_at": entry.candidate.received_at,
            "answer": entry.receipt.decode(),
        }

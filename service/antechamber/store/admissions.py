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
from antechamber.core.admission.group_facts import GroupFacts, content_of, key_of, stored_fingerprint
from antechamber.core.contract import Channel
from antechamber.core.conversion import convert
from antechamber.core.log.leaf import of_disposition, of_seal, of_withdrawal
from antechamber.core.log.rows import FeedEntry, LeafWrite
from antechamber.core.ports.admission import ReplayKey
from antechamber.core.privacy import Finding
from antechamber.store.memories import HOUR
from antechamber.store.receipts import receipt_of
from antechamber.store.statements import Statements

Row = dict[str, Any]


def _name(entry: AdmissionWrite) -> str:
    return str(entry.judgement.outcome.disposition)


def _counter(entry: AdmissionWrite, producers: Mapping[str, int]) -> tuple[int, int, str, Channel]:
    """Return what identifies the counter of a disposition: hour, producer, disposition and channel."""
    candidate = entry.candidate
    producer = producers[candidate.submission.producer_identity]
    return candidate.received_at // HOUR, producer, _name(entry), candidate.channel


def _places(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return where which rules found something, each once; offsets would show how long a value is."""
    found = dict.fromkeys((one.pointer, one.rule_id, one.action) for one in findings)
    return [{"pointer": pointer, "rule_id": rule_id, "action": action} for pointer, rule_id, action in found]


def _text(value: Any) -> str:
    return canonical(value).decode()


def _of_submission(leaf: LeafWrite, number: int) -> LeafWrite:
    return LeafWrite(leaf.leaf, None, leaf.salt, number)


class AdmissionQueries:
    """Implements core.ports.admission.AdmissionRows with named statements.

    `lane` is the counter lane of this process: processes that share a store use different lanes, as far as there are
    enough. `known_numbers` caches integer keys of producers and policies; its owner empties it when a transaction is
    rolled back.
    """

    def __init__(self, sql: Statements, lane: int, known_numbers: dict[str, int]) -> None:
        self._sql = sql
        self._lane = lane
        self._known_numbers = known_numbers

    def give_up_promotion(self) -> None:
        self._sql.run("give_up_promotion")

    def open_batch(self, candidates: Sequence[Candidate]) -> GroupFacts:
        """Look up keys, contents, earlier conflicts and caps, and only as far as the judgements need them."""
        facts = GroupFacts()
        submissions = [candidate.submission for candidate in candidates]
        facts.producers = producers = self._numbers({submission.producer_identity: 0 for submission in submissions})
        keys = dict.fromkeys(map(key_of, submissions))
        contents = dict.fromkeys((content_of(submission), submission.producer_identity) for submission in submissions)
        known, proposals = self._sql.find_all(
            ("known_submission", [{"producer": producers[name], "idempotency_key": key} for name, key in keys]),
            (
                "known_proposal",
                [
                    {"submission_scope": a, "scope_id": b, "source_event_hash": c, "producer": producers[name]}
                    for (a, b, c), name in contents
                ],
            ),
        )
        facts.distinct = len(candidates) == len(keys) == len({content for content, _ in contents})
        for key, row in zip(keys, known, strict=True):
            if row is not None:
                known_one = row | {"receipt": receipt_of(row)}
                facts.note_submission(key, convert(known_one, KnownSubmission, strict=False))
        for (content, name), row in zip(contents, proposals, strict=True):
            if row is not None:
                facts.note_proposal(content, name, convert(row, KnownProposal))
        self._note_refusals(facts, facts.refusable(candidates))
        return facts

    def _numbers(self, producers: dict[str, int]) -> dict[str, int]:
        """Return the integer keys of producers; 0 for a producer without a row."""
        asked = [name for name in producers if name not in self._known_numbers]
        rows = self._sql.find("producer_id", [{"producer_identity": name} for name in asked]) if asked else []
        self._known_numbers.update({name: row["id"] for name, row in zip(asked, rows, strict=True) if row})
        return {name: self._known_numbers.get(name, 0) for name in producers}

    def _note_refusals(self, facts: GroupFacts, candidates: Sequence[Candidate]) -> None:
        """Look up the caps and the earlier conflicts of candidates that may end in quarantine."""
        waiting = sorted({facts.producers[candidate.submission.producer_identity] for candidate in candidates} - {0})
        names = {number: identity for identity, number in facts.producers.items()}
        self._sql.find("hold_producer", [{"producer": producer} for producer in waiting])
        for producer, row in zip(
            waiting, self._sql.find("count_waiting", [{"producer": producer} for producer in waiting]), strict=True
        ):
            facts.note_waiting(names[producer], row["number"] if row else 0)
        reused = [
            (candidate, original) for candidate in candidates if (original := facts.original(candidate)) is not None
        ]
        asked = [
            {
                "submission": original.id,
                "fingerprint": candidate.fingerprint,
                "keyed_fingerprint": candidate.keyed_fingerprint,
            }
            for candidate, original in reused
        ]
        counts = self._sql.find("count_conflicts", [{"submission": original.id} for _, original in reused])
        for (_, original), row, count in zip(reused, self._sql.find("known_conflict", asked), counts, strict=True):
            facts.note_conflicts_of_key(original.submission_id, count["number"] if count else 0)
            if row is not None:
                facts.note_conflict(original.submission_id, row["fingerprint"], KnownConflict(answer=row["answer"]))

    def record(self, facts: GroupFacts) -> None:
        """Write the rows of a group's judgements; the ids in a receipt are also the ids of its rows."""
        entries = facts.entries
        bound = [entry for entry in entries if entry.judgement.bind]
        proposing = [entry for entry in entries if entry.judgement.propose]
        taken = self._sql.take(len(bound)) if bound else []
        writing = _Writing(
            self._known_or_new(facts.producers) if bound else facts.producers,
            {entry.submission_id: key for entry, key in zip(bound, taken, strict=True)},
            {entry.proposal_id: key for entry, key in zip(bound, taken, strict=True) if entry.judgement.propose},
            {digest: self._policy(digest) for digest in {entry.candidate.verdict.policy_digest for entry in bound}},
        )
        self._add("add_proposal", map(writing.proposal, proposing))
        self._add("add_submission", map(writing.submission, bound))
        self._add("add_evidence", [writing.evidence(entry) for entry in bound if entry.judgement.evidence])
        self._count(facts, writing.producers)
        self._add("add_quarantine", [writing.quarantine(entry) for entry in entries if entry.judgement.quarantine])
        self._seal(entries)
        self._sql.append_leaves(leaf for entry in entries for leaf in self._leaves(entry, writing))
        if any(entry.judgement.propose or entry.judgement.quarantine or entry.judgement.withdraw for entry in entries):
            self._sql.announce()

    def _seal(self, entries: Iterable[AdmissionWrite]) -> None:
        """Write the encrypted events beside their rows in quarantine."""
        sealed = [
            {
                **msgspec.structs.asdict(entry.sealed),
                "quarantine_id": entry.quarantine_id,
                "expires_at": entry.candidate.seals_until,
            }
            for entry in entries
            if entry.sealed is not None
        ]
        if sealed:
            self._sql.repeat("add_sealed_event", sealed)

    def _leaves(self, entry: AdmissionWrite, writing: "_Writing") -> Iterator[LeafWrite]:
        """Yield the leaves of one judgement; withdraw its proposal if it demands so (only the first has a leaf)."""
        judgement = entry.judgement
        if judgement.bind:
            leaf = _of_submission(of_disposition(entry), writing.number(entry))
            yield leaf._replace(feed=writing.change(entry)) if judgement.evidence else leaf
        elif judgement.quarantine:
            yield of_disposition(entry)
        proposal_id = judgement.original.proposal_id if judgement.withdraw and judgement.original else None
        if proposal_id and self._sql.run("withdraw_proposal", proposal_id=proposal_id):
            yield of_withdrawal(entry, proposal_id)

    def _count(self, facts: GroupFacts, producers: Mapping[str, int]) -> None:
        """Count the dispositions of a group; attempts without a row (replays) are counted by `count_replays`."""
        counted = Counter(
            _counter(entry, producers) for entry in facts.entries if entry.judgement.bind or entry.judgement.quarantine
        )
        self._sql.repeat(
            "count",
            [
                {
                    "hour": hour,
                    "producer": producer,
                    "name": name,
                    "channel": channel,
                    "lane": self._lane,
                    "number": number,
                }
                for (hour, producer, name, channel), number in sorted(counted.items())
            ],
        )

    def _add(self, statement: str, rows: Iterable[Row]) -> None:
        if ordered := list(rows):
            self._sql.add(statement, ordered, _UNIQUE[statement])

    def _known_or_new(self, producers: Mapping[str, int]) -> Mapping[str, int]:
        """Add the producers without a row; another process may add the same ones at the same time."""
        fresh = sorted(identity for identity, number in producers.items() if not number)
        for identity in fresh:
            self._sql.run("add_producer", producer_identity=identity)
        rows = self._sql.find("producer_id", [{"producer_identity": identity} for identity in fresh])
        return {**producers, **{name: row["id"] for name, row in zip(fresh, rows, strict=True) if row}}

    def _policy(self, digest: str) -> int:
        """Return the integer key of a policy, which the first submission under it adds."""
        if digest not in self._known_numbers:
            self._sql.run("add_policy_number", policy_digest=digest)
            self._known_numbers[digest] = self._sql.all("policy_number", policy_digest=digest)[0]["id"]
        return self._known_numbers[digest]

    def seal(self, entry: SealWrite) -> None:
        """Bind a free key to a receipt that no event will ever match."""
        producers = self._known_or_new(self._numbers({entry.producer_identity: 0}))
        row: Row = dict.fromkeys(_SEAL_LACKS) | {
            "id": self._sql.take(1)[0],
            "submission_id": entry.submission_id,
            "producer": producers[entry.producer_identity],
            "idempotency_key": entry.idempotency_key,
            "disposition": "rejected-invalid",
            "reason_code": "sealed",
            "status": 422,
            "keyed": 0,
            "channel": "http",
            "policy": self._policy(entry.policy_digest),
            "received_at": entry.sealed_at,
            "receipt": entry.receipt.decode(),
        }
        self._add("add_submission", [row])
        self._sql.append_leaves([_of_submission(of_seal(entry), row["id"])])
        count = {"name": row["disposition"], "channel": "http", "lane": self._lane, "number": 1}
        self._sql.run("count", hour=entry.sealed_at // HOUR, producer=row["producer"], **count)

    def known_key(self, producer_identity: str, key: str) -> tuple[str, str] | None:
        producer = self._numbers({producer_identity: 0})[producer_identity]
        submission = self._sql.one("known_submission", producer=producer, idempotency_key=key)
        return (submission["submission_id"], receipt_of(submission)) if submission else None

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        counted = [
            {"submission_id": submission_id, "hour": hour, "channel": channel, "attempts": number}
            for (submission_id, hour, channel), number in sorted(attempts.items())
        ]
        self._sql.repeat("add_replays", counted)
        self._sql.repeat("add_producer_replays", counted)


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
        self,
        producers: Mapping[str, int],
        submissions: Mapping[str | None, int],
        proposals: Mapping[str | None, int],
        policies: Mapping[str, int],
    ) -> None:
        self.producers = producers
        self._policies = policies
        self._submissions = submissions
        self._proposals = proposals

    def number(self, entry: AdmissionWrite) -> int:
        """Return the integer key of the submission that an entry binds."""
        return self._submissions[entry.submission_id]

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
            "derived_from": None if submission.derived_from is None else _text(submission.derived_from),
            "observed_at": submission.observed_at,
            "received_at": entry.candidate.received_at,
            "redacted_by": entry.candidate.redacted_by,
        }

    def submission(self, entry: AdmissionWrite) -> Row:
        candidate, judgement = entry.candidate, entry.judgement
        submission, private = candidate.submission, candidate.private
        return {
            "id": self.number(entry),
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
            "fingerprint": stored_fingerprint(candidate),
            "keyed": int(private),
            "channel": entry.candidate.channel,
            "proposal": self._proposal(entry),
            "duplicate_of": self._duplicate_of(entry),
            "policy": self._policies[entry.candidate.verdict.policy_digest],
            "received_at": entry.candidate.received_at,
            "receipt": None if judgement.propose else entry.receipt.decode(),
        }

    def evidence(self, entry: AdmissionWrite) -> Row:
        return {
            "proposal": self._proposal(entry),
            "submission": self.number(entry),
            "producer": self._producer(entry),
            "owner": entry.candidate.verdict.owner,
            "received_at": entry.candidate.received_at,
        }

    def change(self, entry: AdmissionWrite) -> FeedEntry:
        """Return the change of what agents read of a memory, if there is one by now: its evidence grows."""
        return FeedEntry("admitted", entry.candidate.received_at, proposal=self._proposal(entry))

    def quarantine(self, entry: AdmissionWrite) -> Row:
        candidate, original = entry.candidate, entry.judgement.original
        event, private = candidate.submission, candidate.private
        known = original.id if original else 0
        return {
            "quarantine_id": entry.quarantine_id,
            "kind": "conflict" if original else "private",
            "submission": known or self.number(entry),
            "producer": self._producer(entry),
            "fingerprint": stored_fingerprint(candidate),
            "keyed": int(private),
            "source_event_hash": None if private else event.source_event_hash,
            "submission_scope": event.submission_scope,
            "scope_id": None if candidate.hides_scope else event.scope_id,
            "visibility": event.visibility,
            "supersedes": None if private or event.supersedes is None else _text(event.supersedes),
            "derived_from": None if private or event.derived_from is None else _text(event.derived_from),
            "payload": None if private else event.payload_json,
            "source_span": None if private else event.source_span_json,
            "findings": _text(_places(candidate.findings)),
            "owner": entry.candidate.verdict.owner,
            "policy_digest": entry.candidate.verdict.policy_digest,
            "received_at": entry.candidate.received_at,
            "answer": entry.receipt.decode(),
        }

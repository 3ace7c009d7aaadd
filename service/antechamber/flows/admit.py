"""Admission: turn a request's bytes into an answer, which is on disk before it is sent."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Bearer
from antechamber.core.admission.canonical import canonical
from antechamber.core.admission.disposition import (
    AdmissionWrite,
    AssignedIds,
    Candidate,
    Judgement,
    build_candidate,
    decide,
)
from antechamber.core.admission.fast_path import read_fast
from antechamber.core.admission.group_facts import GroupFacts
from antechamber.core.admission.ndjson_batch import number_line, split_batch
from antechamber.core.admission.receipt import Echo, echo_of, form_receipt, public_echo
from antechamber.core.admission.submission import Submission, read_draft, read_event, read_key_header
from antechamber.core.contract import KEY, Channel, Code, Reason
from antechamber.core.errors import AntechamberError, BusyError, RequestRefusedError, UnavailableError, refuse
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.outcomes import OUTCOMES, RETRY_AFTER, Outcome
from antechamber.core.policy import Verdict
from antechamber.core.ports.admission import ReplayKey
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.privacy import Finding, is_clean, scan
from antechamber.flows.direct_writes import HOUR, DirectWrites
from antechamber.flows.live_policy import ActivePolicy, PolicyReloader
from antechamber.flows.microbatch import MicroBatcher
from antechamber.flows.rate_limit import TokenBuckets
from antechamber.flows.replay_counter import ReplayCounter
from antechamber.flows.replies import Reply, first_reply, guess_echo, redact_receipt, replay, reply_of
from antechamber.flows.worker_thread import WorkerThread

MAX_TEXT: Final = 1 << 18
"""Bytes of the events that are scanned in one call."""


LONG: Final = 1 << 13
"""Bytes of a body above which it is parsed and scanned in a worker thread instead of the event loop."""


MAX_LONG: Final = 256
"""Maximum number of long bodies that wait for the worker thread or run in it; each takes about 30 ms at most."""


MAX_BATCHES: Final = 8
"""Maximum number of batches that wait for the worker thread or run in it; each takes about 2 seconds at most."""


class Prepared(Struct, frozen=True, kw_only=True):
    """A candidate with its verdict, before the transaction that judges it."""

    candidate: Candidate
    verdict: Verdict
    channel: Channel
    now: int


class JudgedReply(NamedTuple):
    """A reply, and the key under which it counts as another attempt at an existing submission."""

    reply: Reply
    counted: ReplayKey | None


class Admission:
    """Answers submissions, seals keys and counts replays; `secret` is the 32-byte secret kept outside the database."""

    def __init__(
        self, store: Store, policies: PolicyReloader, secret: bytes, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._policies = policies
        self._secret = secret
        self._clock = clock
        self._randomness = randomness
        self._meter = TokenBuckets(clock)
        self._tally = ReplayCounter()
        self._long = WorkerThread("long-bodies", MAX_LONG)
        self._batches = WorkerThread("batches", MAX_BATCHES)
        self.direct = DirectWrites(store, clock)
        self._arrivals: MicroBatcher[Submission, JudgedReply] = MicroBatcher(self._admit)

    async def submit(self, raw: bytes, key_header: list[str], bearer: Bearer, channel: Channel = "http") -> Reply:
        """Answer one submission; failures are answers too."""
        return await self.judge(await self.parse(raw, key_header, bearer), channel)

    async def parse(self, raw: bytes, key_header: list[str], bearer: Bearer) -> Submission | Reply:
        """Parse a body as `read` does; a long one is parsed in a worker thread."""
        if len(raw) <= LONG:
            return self.read(raw, key_header, bearer)
        try:
            return await self._long.run(partial(self.read, raw, key_header, bearer))
        except UnavailableError as error:
            return self.refusal([_failure(error)])

    async def open(self, event: Submission) -> Reply:
        """Answer a quarantined event that a curator opens.

        It does not count as an attempt of its producer, so no rate limit applies.
        """
        try:
            self._check_listed(event.producer_identity)
        except RequestRefusedError as error:
            return self.refusal(error.reasons, echo_of(event))
        return await self.judge(event)

    async def judge(self, parsed: Submission | Reply, channel: Channel = "http") -> Reply:
        """Answer one parsed submission; its bytes can be freed while it waits."""
        if isinstance(parsed, Reply):
            return parsed
        try:
            if parsed.size > LONG:
                prepared = await self._long.run(partial(self.prepare, [parsed], channel))
            elif channel == "http":
                return (await self._arrivals.submit(parsed)).reply
            else:
                prepared = self.prepare([parsed], channel)
            return (await asyncio.wrap_future(self._gather(prepared)))[0].reply
        except (BusyError, UnavailableError) as error:
            return self.refusal([_failure(error)], echo_of(parsed))

    def _admit(self, submissions: list[Submission]) -> Future[list[JudgedReply]]:
        return self._gather(self.prepare(submissions, "http"))

    def _gather(self, prepared: Sequence[Prepared | Reply]) -> Future[list[JudgedReply]]:
        """Judge candidates in one group with all others that wait, and count the attempts that have no row."""
        size = sum(one.candidate.submission.size for one in prepared if isinstance(one, Prepared))
        waiting = self._store.gather(self._judge_group, prepared, size)
        waiting.add_done_callback(self._count)
        return waiting

    def _count(self, done: Future[list[JudgedReply]]) -> None:
        """Count the attempts once they are on disk; a failed transaction counts none."""
        if not done.cancelled() and done.exception() is None:
            self._tally.add(Counter(settled.counted for settled in done.result() if settled.counted is not None))

    async def submit_batch(self, raw: bytes, bearer: Bearer) -> Reply | list[bytes]:
        """Answer the lines of a batch in order, all in one transaction; a Reply refuses the whole batch."""
        try:
            lines = split_batch(raw)
        except RequestRefusedError as error:
            return self.refusal(error.reasons)
        try:
            prepared = await self._batches.run(partial(self._prepare_batch, [line for _, line in lines], bearer))
            settled = await asyncio.wrap_future(self._gather(prepared))
        except (BusyError, UnavailableError) as error:
            return self.refusal([_failure(error)])
        return [number_line(number, one.reply.body) for (number, _), one in zip(lines, settled, strict=True)]

    def _prepare_batch(self, lines: list[bytes], bearer: Bearer) -> list[Prepared | Reply]:
        """Prepare a batch; this runs in a thread, because scanning 4 MiB takes long."""
        read = [self.read(line, [], bearer) for line in lines]
        prepared = iter(self.prepare([one for one in read if isinstance(one, Submission)], "batch"))
        return [one if isinstance(one, Reply) else next(prepared) for one in read]

    def read(self, raw: bytes, key_header: list[str], bearer: Bearer) -> Submission | Reply:
        """Parse a body and compare producer and hash; a Reply refuses it."""
        header_key: str | None = None
        try:
            self._check_rate(bearer)
            if bearer.role != "producer":
                raise refuse("producer-mismatch", "only the token of a producer may submit")
            header_key = read_key_header(key_header)
            submission = read_fast(raw, header_key)
            if submission is not None:
                self._check_producer(submission.producer_identity, bearer)
                return submission
            draft = read_draft(raw, header_key)
            self._check_producer(draft.body["producer_identity"], bearer)
            return read_event(draft)
        except RequestRefusedError as error:
            if error.code == "direct-write":
                self.direct.note(bearer.name)
            return self.refusal(error.reasons, guess_echo(raw, header_key))

    def prepare(self, submissions: Sequence[Submission], channel: Channel) -> list[Prepared | Reply]:
        """Scan for private data and evaluate the policy; texts are scanned together, because most are clean."""
        force, now = self._policies.current, self._clock()
        prepared: list[Prepared | Reply] = []
        for some in _portions(submissions):
            texts = [_text(one) for one in some]
            clean = is_clean(texts)
            prepared += (
                self._prepare_one(one, [] if clean else _findings(one, text, force.off), channel, force, now)
                for one, text in zip(some, texts, strict=True)
            )
        return prepared

    def _check_rate(self, bearer: Bearer) -> None:
        limit = self._policies.current.policy.limits.attempts_per_minute
        if limit is not None and not self._meter.take(bearer.name, limit):
            raise refuse("rate-limited", f"this producer may make {limit} attempts a minute")

    def _check_producer(self, identity: str, bearer: Bearer) -> None:
        if identity != bearer.name:
            raise refuse("producer-mismatch", "the token belongs to another producer", "/producer_identity")
        self._check_listed(identity)

    def _check_listed(self, identity: str) -> None:
        if identity not in self._policies.current.policy.producers:
            raise refuse("producer-mismatch", "the policy does not list this producer", "/producer_identity")

    def _prepare_one(
        self, submission: Submission, findings: list[Finding], channel: Channel, force: ActivePolicy, now: int
    ) -> Prepared | Reply:
        if findings and any(finding.pointer == "/idempotency_key" for finding in findings):
            message = "the key looks like a private value; choose a random one"
            reason = Reason(code="key-invalid", message=message, pointer="/idempotency_key")
            return self.refusal([reason], echo_of(submission))
        return Prepared(
            candidate=build_candidate(submission, findings, self._secret),
            verdict=force.judge(submission, now),
            channel=channel,
            now=now,
        )

    def _judge_group(self, group: Sequence[Prepared | Reply], tx: Rows) -> list[JudgedReply]:
        """Judge the candidates of a group in order, inside the transaction, and write their entries."""
        book = tx.admission.open_batch([prepared.candidate for prepared in group if isinstance(prepared, Prepared)])
        settled = [JudgedReply(one, None) if isinstance(one, Reply) else self._judge_one(one, book) for one in group]
        tx.admission.record(book)
        return settled

    def _judge_one(self, prepared: Prepared, book: GroupFacts) -> JudgedReply:
        judgement = decide(prepared.candidate, prepared.verdict, book.known(prepared.candidate))
        counted: ReplayKey | None = None
        if judgement.original is not None and not judgement.quarantine:
            # An attempt without a row, which is a replay or a conflict beyond the limits, is only counted.
            counted = (judgement.original.submission_id, prepared.now // HOUR, prepared.channel)
        if judgement.replay is not None:
            if judgement.withdraw:
                book.enter(_entry(prepared, judgement, AssignedIds(), b""))
            return JudgedReply(replay(prepared.candidate.submission, judgement.replay), counted)
        named = self._assign_ids(prepared, judgement)
        receipt = form_receipt(
            judgement.outcome,
            judgement.reasons,
            public_echo(prepared.candidate),
            named,
            prepared.verdict.policy_digest,
            prepared.now,
        )
        reply = first_reply(receipt)
        stored = redact_receipt(receipt) if prepared.candidate.private else reply.body
        book.enter(_entry(prepared, judgement, named, stored))
        return JudgedReply(reply, counted)

    def _assign_ids(self, prepared: Prepared, judgement: Judgement) -> AssignedIds:
        proposal, drawn, now = judgement.proposal, self._randomness(30 + SALT_SIZE), prepared.now
        proposal_id = proposal.proposal_id if proposal else None
        return AssignedIds(
            submission_id=judgement.original.submission_id if judgement.original else uuid7(now, drawn[:10]),
            duplicate_of=proposal.own_submission_id if proposal else None,
            proposal_id=uuid7(now, drawn[10:20]) if judgement.propose else proposal_id,
            quarantine_id=uuid7(now, drawn[20:30]) if judgement.quarantine else None,
            salt=drawn[30:],
        )

    async def seal(self, key: str, bearer: Bearer) -> Reply:
        """Bind an unused key to a receipt without an event, or return the receipt that the key has."""
        echo = Echo(idempotency_key=key if KEY.fullmatch(key) else None, producer_identity=bearer.name)
        try:
            self._check_rate(bearer)
        except RequestRefusedError as error:
            return self.refusal(error.reasons, echo)
        if bearer.role != "producer" or bearer.name not in self._policies.current.policy.producers:
            return self.refusal([_denial()], echo)
        if not KEY.fullmatch(key):
            reason = Reason(code="key-invalid", message="not a key", pointer="/idempotency_key")
            return self.refusal([reason], echo)
        if scan({"/idempotency_key": key}, self._policies.current.off):
            reason = Reason(
                code="key-invalid", message="the key looks like a private value", pointer="/idempotency_key"
            )
            return self.refusal([reason], echo)
        try:
            return await asyncio.wrap_future(self._store.write(partial(self._seal, key, bearer.name)))
        except (BusyError, UnavailableError) as error:
            return self.refusal([_failure(error)], echo)

    def _seal(self, key: str, producer: str, tx: Rows) -> Reply:
        known = tx.admission.known_key(producer, key)
        if known is not None:
            members = {**msgspec.json.decode(known[1]), "duplicate": True}
            return msgspec.structs.replace(reply_of(msgspec.json.encode(members), key), status=200, problem=False)
        now, digest = self._clock(), self._policies.current.digest
        named = AssignedIds(submission_id=uuid7(now, self._randomness(10)), salt=self._randomness(SALT_SIZE))
        reason = Reason(code="sealed", message="this key was sealed by its producer", pointer="/idempotency_key")
        receipt = form_receipt(
            OUTCOMES["sealed"], [reason], Echo(idempotency_key=key, producer_identity=producer), named, digest, now
        )
        body = msgspec.json.encode(receipt)
        tx.admission.seal(producer, key, named, body, digest, now)
        return msgspec.structs.replace(reply_of(body, key), status=201, problem=False)

    def refusal(self, reasons: list[Reason], echo: Echo | None = None, outcome: Outcome | None = None) -> Reply:
        """Form an answer that leaves the key unbound; `outcome` defaults to that of the first code."""
        code = reasons[0].code
        echo = echo or Echo()
        if code == "key-invalid":
            echo = msgspec.structs.replace(echo, idempotency_key=None)
        receipt = form_receipt(
            outcome or OUTCOMES[code], reasons, echo, AssignedIds(), self._policies.current.digest, self._clock()
        )
        return reply_of(msgspec.json.encode(receipt), echo.idempotency_key, RETRY_AFTER.get(code))

    def flush(self) -> None:
        """Write counted replays in an ordinary commit and wait for it; on failure they stay counted in memory."""
        counted = self._tally.take()
        if not counted:
            return
        try:
            self._store.write(lambda tx: tx.admission.count_replays(counted)).result()
        except AntechamberError:
            self._tally.add(counted)


def _entry(prepared: Prepared, judgement: Judgement, named: AssignedIds, receipt: bytes) -> AdmissionWrite:
    return AdmissionWrite(
        candidate=prepared.candidate,
        judgement=judgement,
        named=named,
        receipt=receipt,
        channel=prepared.channel,
        policy_digest=prepared.verdict.policy_digest,
        owner=prepared.verdict.owner,
        received_at=prepared.now,
    )


def _denial() -> Reason:
    return Reason(code="producer-mismatch", message="only the token of a producer that the policy lists may do this")


def _failure(error: AntechamberError) -> Reason:
    code: Code = "busy" if isinstance(error, BusyError) else "unavailable"
    return Reason(code=code, message=str(error))


def _text(submission: Submission) -> str:
    """Return all scanned texts of a submission, separated by blank lines."""
    event = f"{submission.payload_json}\n\n{submission.source_span_json}\n\n{submission.idempotency_key}"
    claim = canonical(submission.supersedes).decode() if submission.supersedes else ""
    return f"{event}\n\n{submission.scope_id}\n\n{claim}"


def _portions(submissions: Sequence[Submission]) -> Iterator[Sequence[Submission]]:
    """Divide submissions into portions, so that the texts scanned together stay small."""
    start = size = 0
    for index, one in enumerate(submissions, 1):
        size += one.size
        if size >= MAX_TEXT or index == len(submissions):
            yield submissions[start:index]
            start, size = index, 0


def _findings(submission: Submission, text: str, off: frozenset[str]) -> list[Finding]:
    if is_clean([text]):
        return []
    places = {
        "/idempotency_key": submission.idempotency_key,
        "/scope_id": submission.scope_id,
        "/payload": submission.payload,
        "/source_span": submission.source_span,
        "/supersedes": submission.supersedes,
    }
    return scan(places, off)

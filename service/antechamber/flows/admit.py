"""Admission: turn a request's bytes into an answer, which is on disk before it is sent."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from time import perf_counter
from typing import Final

import msgspec

from antechamber.core.access.callers import Bearer
from antechamber.core.admission.disposition import (
    AdmissionWrite,
    Candidate,
    Judgement,
    decide,
    make_candidate,
)
from antechamber.core.admission.fast_path import read_fast
from antechamber.core.admission.group_facts import GroupFacts
from antechamber.core.admission.ndjson_batch import number_line, split_batch
from antechamber.core.admission.receipt import Echo, answer_of, echo_of, form_receipt
from antechamber.core.admission.scanned_values import KEY_POINTER, scanned_values
from antechamber.core.admission.submission import Submission, read_draft, read_event, read_key_header
from antechamber.core.contract import Channel, Reason
from antechamber.core.errors import AntechamberError, BusyError, RequestRefusedError, UnavailableError, refuse
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.metrics import definitions as metrics
from antechamber.core.metrics.meters import REPEATED, REPLAYED, Attempt, Meters
from antechamber.core.outcomes import DUPLICATE, OUTCOMES, RETRY_AFTER, Outcome
from antechamber.core.policy import DAY
from antechamber.core.ports.admission import ReplayKey
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.ports.vault import Vault
from antechamber.core.privacy import Finding
from antechamber.core.review.sealed_event import SealedEvent, encode_event, is_sealable
from antechamber.flows.direct_writes import HOUR, DirectWrites
from antechamber.flows.live_policy import ActivePolicy, PolicyReloader
from antechamber.flows.microbatch import MicroBatcher
from antechamber.flows.rate_limit import StepAccounts, TokenBuckets
from antechamber.flows.replay_counter import ReplayCounter
from antechamber.flows.replies import Reply, failure_of, first_reply, guess_echo, redact_receipt, replay, reply_of
from antechamber.flows.secret_watch import SecretWatch
from antechamber.flows.split_watch import SplitWatch
from antechamber.flows.worker_thread import WorkerThread

LONG: Final = 1 << 13
"""Bytes of a body above which it is parsed and scanned in a worker thread instead of the event loop."""


MAX_LONG: Final = 256
"""Maximum number of long bodies that wait for the worker thread or run in it; each takes about 30 ms at most."""


_USUAL_STEPS: Final = 1
"""Binary logarithm of the bytes of an event for which one step of scanning is usual."""
MAX_BATCHES: Final = 8
"""Maximum number of batches that wait for the worker thread or run in it; each takes about 2 seconds at most."""


CountedReply = tuple[Reply, ReplayKey | None, Attempt | None]
"""A reply, the key under which it counts as another attempt at an existing submission, and what the metrics count."""


class Admission:
    """Answers submissions and counts replays; `secret` is the 32-byte secret kept outside the database."""

    def __init__(
        self,
        store: Store,
        policies: PolicyReloader,
        secret: bytes,
        vault: Vault,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._store = store
        self._policies = policies
        self._secret = secret
        self.vault = vault
        self.secrets: Final = SecretWatch(store, policies, secret, clock)
        self._splits = SplitWatch()
        self._clock = clock
        self._randomness = randomness
        self._meter = TokenBuckets(clock)
        self._steps = StepAccounts(clock)
        self._tally = ReplayCounter()
        self.meters: Final = Meters(metrics.ADMISSION_SECONDS, metrics.SCAN_SECONDS)
        self._long = WorkerThread("long-bodies", MAX_LONG)
        self._batches = WorkerThread("batches", MAX_BATCHES)
        self.direct = DirectWrites(store, clock)
        self._arrivals: MicroBatcher[Submission, CountedReply] = MicroBatcher(self._admit)

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
            return self.refusal([failure_of(error)])

    async def prepare_opened(self, event: Submission, redactor: str | None = None) -> Candidate | Reply:
        """Scan and evaluate a quarantined event that a curator opens, or redacted; its key is none of a producer.

        It does not count as an attempt of its producer, so no rate limit applies.

        Raises UnavailableError.
        """
        try:
            self._check_listed(event.producer_identity)
        except RequestRefusedError as error:
            return self.refusal(error.reasons, echo_of(event))
        [prepared] = await self._long.run(partial(self.prepare, [event], "http"))
        return prepared if isinstance(prepared, Reply) else msgspec.structs.replace(prepared, redacted_by=redactor)

    def admit_opened(self, candidate: Candidate, tx: Rows) -> Reply:
        """Judge such an event inside the transaction of the curator's decision, and write its entries."""
        tx.admission.give_up_promotion()
        return self._judge_group([candidate], tx)[0][0]

    async def judge(self, parsed: Submission | Reply, channel: Channel = "http") -> Reply:
        """Answer one parsed submission; its bytes can be freed while it waits."""
        if isinstance(parsed, Reply):
            return parsed
        try:
            if parsed.size > LONG:
                prepared = await self._long.run(partial(self.prepare, [parsed], channel))
            elif channel == "http":
                return (await self._arrivals.submit(parsed))[0]
            else:
                prepared = self.prepare([parsed], channel)
            return (await asyncio.wrap_future(self._gather(prepared)))[0][0]
        except (BusyError, UnavailableError) as error:
            return self.refusal([failure_of(error)], echo_of(parsed))

    def take(self, parsed: Submission, answer: Callable[[Reply | BaseException], None]) -> None:
        """Have `answer` called in the event loop with the reply to a short submission, or with an unexpected error."""

        def deliver(result: CountedReply | BaseException) -> None:
            if isinstance(result, BusyError | UnavailableError):
                answer(self.refusal([failure_of(result)], echo_of(parsed)))
            else:
                answer(result if isinstance(result, BaseException) else result[0])

        self._arrivals.put(parsed, deliver)

    def _admit(self, submissions: list[Submission]) -> Future[list[CountedReply]]:
        return self._gather(self.prepare(submissions, "http"), here=True)

    def _gather(self, prepared: Sequence[Candidate | Reply], *, here: bool = False) -> Future[list[CountedReply]]:
        """Judge candidates in one group with all others that wait, and count the attempts that have no row.

        With `here` this may happen in the event loop, before this method returns.
        """
        size = sum(candidate.submission.size for candidate in prepared if isinstance(candidate, Candidate))
        waiting = self._store.gather(self._judge_group, prepared, size, here=here)
        waiting.add_done_callback(self._count)
        return waiting

    def _count(self, done: Future[list[CountedReply]]) -> None:
        """Count the attempts once they are on disk; a failed transaction counts none."""
        if not done.cancelled() and done.exception() is None:
            results = done.result()
            self._tally.add(Counter(counted for _, counted, _ in results if counted is not None))
            self.meters.count_attempts(Counter(attempt for _, _, attempt in results if attempt is not None))

    async def submit_batch(self, raw: bytes, bearer: Bearer) -> Reply | list[bytes]:
        """Answer the lines of a batch in order, all in one transaction; a Reply refuses the whole batch."""
        try:
            lines = split_batch(raw)
        except RequestRefusedError as error:
            return self.refusal(error.reasons)
        try:
            prepared = await self._batches.run(partial(self._prepare_batch, [line for _, line in lines], bearer))
            replies = await asyncio.wrap_future(self._gather(prepared))
        except (BusyError, UnavailableError) as error:
            return self.refusal([failure_of(error)])
        return [
            number_line(line_number, reply.body) for (line_number, _), (reply, *_) in zip(lines, replies, strict=True)
        ]

    def _prepare_batch(self, lines: list[bytes], bearer: Bearer) -> list[Candidate | Reply]:
        """Prepare a batch; this runs in a thread, because scanning 4 MiB takes long."""
        read = [self.read(line, [], bearer) for line in lines]
        prepared = iter(self.prepare([line_read for line_read in read if isinstance(line_read, Submission)], "batch"))
        return [line_read if isinstance(line_read, Reply) else next(prepared) for line_read in read]

    def read(self, raw: bytes, key_header: list[str], bearer: Bearer) -> Submission | Reply:
        """Parse a body and compare producer and hash; a Reply refuses it."""
        # Every refusal echoes the key of the header, also one that reads nothing else.
        header_key, header_reasons = _read_header(key_header)
        gate = self._policies.current.gate
        try:
            self.check_rate(bearer)
            if bearer.role != "producer":
                message = f"only the token of a producer may submit, and this one is of the role {bearer.role}"
                raise refuse("producer-mismatch", message)
            submission = None if header_reasons else read_fast(raw, header_key)
            if submission is not None:
                self._check_producer(submission.producer_identity, bearer)
                return submission
            draft = read_draft(raw, header_key, gate.is_private_name, header_reasons)
            self._check_producer(draft.body["producer_identity"], bearer)
            return read_event(draft)
        except RequestRefusedError as error:
            if error.code == "direct-write":
                self.direct.note(bearer.name)
            return self.refusal(error.reasons, guess_echo(raw, header_key, gate))

    def prepare(self, submissions: Sequence[Submission], channel: Channel) -> list[Candidate | Reply]:
        """Scan for private data and evaluate the policy."""
        force, now = self._policies.current, self._clock()
        prepared: list[Candidate | Reply] = []
        spent: list[float] = []
        for submission in submissions:
            began = perf_counter()
            findings = self._scan(submission, force)
            spent.append(perf_counter() - began)
            prepared.append(
                findings
                if isinstance(findings, Reply)
                else self._prepare_one(submission, findings, channel, force, now)
            )
        self.meters.observe(metrics.SCAN_SECONDS, *spent)
        return prepared

    def _scan(self, submission: Submission, force: ActivePolicy) -> list[Finding] | Reply:
        """Return what makes a submission private in its scope; a Reply if its producer used up its scan steps."""
        values, size = scanned_values(submission), submission.size
        name, limit = submission.producer_identity, force.policy.limits.scan_steps_per_second
        if size > LONG and not self._steps.may_scan(name, limit):
            return self._refuse_scan(submission)
        look = force.gate.look_quickly(values)
        if look.is_clear:
            # A clean text costs its producer only what others of its size do not.
            if look.steps > size >> _USUAL_STEPS:
                self._steps.charge(name, look.steps - (size >> _USUAL_STEPS), limit)
            return []
        if not self._steps.may_scan(name, limit):
            return self._refuse_scan(submission)
        found = force.gate.examine(values, submission.submission_scope)
        # The values of a private event are searched once more, for the alarms about them.
        self._steps.charge(name, found.steps * (2 if found.findings else 1), limit)
        return found.findings

    def _refuse_scan(self, submission: Submission) -> Reply:
        message = "the texts of this producer take too long to scan; send them more slowly, or shorter"
        return self.refusal([Reason(code="rate-limited", message=message)], echo_of(submission))

    def check_rate(self, bearer: Bearer) -> None:
        """Count an attempt.

        Raises RequestRefusedError (`rate-limited`) if the producer made too many.
        """
        limit = self._policies.current.policy.limits.attempts_per_minute
        if limit is not None and not self._meter.take(bearer.name, limit):
            raise refuse("rate-limited", f"this producer may make {limit} attempts a minute")

    def _check_producer(self, identity: str, bearer: Bearer) -> None:
        if identity != bearer.name:
            message = f"the token belongs to another producer, {bearer.name}"
            raise refuse("producer-mismatch", message, "/producer_identity")
        self._check_listed(identity)

    def _check_listed(self, identity: str) -> None:
        if identity not in self._policies.current.policy.producers:
            raise refuse("producer-mismatch", "the policy does not list this producer", "/producer_identity")

    def _prepare_one(
        self, submission: Submission, findings: list[Finding], channel: Channel, force: ActivePolicy, now: int
    ) -> Candidate | Reply:
        for rule_id in {finding.rule_id for finding in findings}:
            self.meters.count(metrics.FINDINGS, rule_id)
        if findings:
            self.secrets.note(submission, findings, force)
        if any(finding.pointer == KEY_POINTER for finding in findings):
            message = "the key looks like a private value; choose a random one"
            reason = Reason(code="key-invalid", message=message, pointer=KEY_POINTER)
            return self.refusal([reason], echo_of(submission))
        if not findings and submission.visibility != "private":
            findings = self._splits.check(submission, force.gate, now)
        candidate = make_candidate(submission, findings, self._secret, force.judge(submission, now), channel, now)
        if candidate.private and self._seals(candidate, force):
            lifetime = force.policy.limits.sealed_days * DAY
            secrets = force.gate.secrets_in(scanned_values(submission), submission.submission_scope)
            return msgspec.structs.replace(candidate, seals_until=now + lifetime, secrets=list(secrets))
        return candidate

    def _seals(self, candidate: Candidate, force: ActivePolicy) -> bool:
        """Return whether a private event is kept encrypted, if its answer is stored."""
        submission = candidate.submission
        kept = force.policy.rules(submission.submission_scope).keep_private == "sealed"
        return kept and is_sealable(candidate.findings, submission.visibility)

    def _judge_group(self, group: Sequence[Candidate | Reply], tx: Rows) -> list[CountedReply]:
        """Judge the candidates of a group in order, inside the transaction, and write their entries."""
        book = tx.admission.open_batch([candidate for candidate in group if isinstance(candidate, Candidate)])
        replies = [(one, None, None) if isinstance(one, Reply) else self._judge_one(one, book) for one in group]
        tx.admission.record(book)
        return replies

    def _judge_one(self, candidate: Candidate, facts: GroupFacts) -> CountedReply:
        judgement = decide(candidate, facts.known(candidate))
        producer, counted = candidate.submission.producer_identity, None
        if judgement.original is not None and not judgement.quarantine:
            # An attempt without a row, which is a replay or a conflict beyond the limits, is only counted.
            counted = (judgement.original.submission_id, candidate.received_at // HOUR, candidate.channel)
        if judgement.replay is not None:
            if judgement.withdraw:
                facts.enter(AdmissionWrite(candidate=candidate, judgement=judgement))
            return replay(candidate.submission, judgement.replay), counted, (producer, REPLAYED)
        write = self._assign_ids(candidate, judgement)
        if candidate.seals_until is not None and judgement.bind and write.quarantine_id is not None:
            write.sealed = self.vault.seal(encode_event(_sealed_event(candidate)), write.quarantine_id)
        receipt = answer_of(write)
        reply = first_reply(receipt)
        write.receipt = redact_receipt(receipt) if candidate.private else reply.body
        facts.enter(write)
        return reply, counted, (producer, REPLAYED if counted is not None else _kind_of(write))

    def _assign_ids(self, candidate: Candidate, judgement: Judgement) -> AdmissionWrite:
        proposal, drawn, now = judgement.proposal, self._randomness(30 + SALT_SIZE), candidate.received_at
        proposal_id = proposal.proposal_id if proposal else None
        return AdmissionWrite(
            candidate=candidate,
            judgement=judgement,
            submission_id=judgement.original.submission_id if judgement.original else uuid7(now, drawn[:10]),
            duplicate_of=proposal.own_submission_id if proposal else None,
            proposal_id=uuid7(now, drawn[10:20]) if judgement.propose else proposal_id,
            quarantine_id=uuid7(now, drawn[20:30]) if judgement.quarantine else None,
            salt=drawn[30:],
        )

    def refusal(self, reasons: list[Reason], echo: Echo | None = None, outcome: Outcome | None = None) -> Reply:
        """Form an answer that leaves the key unbound; `outcome` defaults to that of the first code."""
        code = reasons[0].code
        self.meters.count(metrics.REFUSALS, code)
        echo = echo or Echo()
        if code == "key-invalid":
            echo = msgspec.structs.replace(echo, idempotency_key=None)
        receipt = form_receipt(outcome or OUTCOMES[code], reasons, echo, self._policies.current.digest, self._clock())
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


def _read_header(key_header: list[str]) -> tuple[str | None, list[Reason]]:
    """Return the key of the header Idempotency-Key, or what is wrong with it."""
    try:
        return read_key_header(key_header), []
    except RequestRefusedError as error:
        return None, error.reasons


def _kind_of(write: AdmissionWrite) -> str:
    """Return what the metrics count for a stored submission: its disposition, or a repeated event."""
    disposition = str(write.judgement.outcome.disposition)
    return REPEATED if disposition == DUPLICATE.disposition and write.duplicate_of is not None else disposition


def _sealed_event(candidate: Candidate) -> SealedEvent:
    submission = candidate.submission
    return SealedEvent(
        payload=submission.payload,
        source_span=submission.source_span,
        supersedes=submission.supersedes,
        derived_from=submission.derived_from,
        findings=candidate.findings,
        secrets=candidate.secrets,
    )

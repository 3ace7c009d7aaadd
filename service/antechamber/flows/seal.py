"""Seal keys: bind an unused key to a receipt without an event, so that no late request can use it."""

import asyncio
from functools import partial

import msgspec

from antechamber.core.access.callers import Bearer
from antechamber.core.admission.disposition import SealWrite
from antechamber.core.admission.receipt import Echo, form_receipt
from antechamber.core.contract import KEY, Reason
from antechamber.core.errors import BusyError, RequestRefusedError, UnavailableError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.outcomes import OUTCOMES
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.admit import Admission
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.replies import Reply, failure_of, reply_of


class KeySealer:
    """Seals keys; `admission` forms the refusals and counts the attempts of each producer."""

    def __init__(
        self, store: Store, policies: PolicyReloader, admission: Admission, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._policies = policies
        self._admission = admission
        self._clock = clock
        self._randomness = randomness

    async def seal(self, key: str, bearer: Bearer) -> Reply:
        """Bind an unused key to a receipt without an event, or return the receipt that the key has."""
        echo = Echo(idempotency_key=key if KEY.fullmatch(key) else None, producer_identity=bearer.name)
        try:
            self._admission.check_rate(bearer)
        except RequestRefusedError as error:
            return self._admission.refusal(error.reasons, echo)
        reason = self._refuse(key, bearer)
        if reason is not None:
            return self._admission.refusal([reason], echo)
        try:
            return await asyncio.wrap_future(self._store.write(partial(self._seal, key, bearer.name)))
        except (BusyError, UnavailableError) as error:
            return self._admission.refusal([failure_of(error)], echo)

    def _refuse(self, key: str, bearer: Bearer) -> Reason | None:
        """Return why this caller may not seal this key; None if it may."""
        force = self._policies.current
        if bearer.role != "producer" or bearer.name not in force.policy.producers:
            message = "only the token of a producer that the policy lists may do this"
            return Reason(code="producer-mismatch", message=message)
        if not KEY.fullmatch(key):
            return Reason(code="key-invalid", message="not a key", pointer="/idempotency_key")
        if force.gate.find_private({"/idempotency_key": key}):
            message = "the key looks like a private value"
            return Reason(code="key-invalid", message=message, pointer="/idempotency_key")
        return None

    def _seal(self, key: str, producer: str, tx: Rows) -> Reply:
        known = tx.admission.known_key(producer, key)
        if known is not None:
            members = {**msgspec.json.decode(known[1]), "duplicate": True}
            return msgspec.structs.replace(reply_of(msgspec.json.encode(members), key), status=200, problem=False)
        now, digest = self._clock(), self._policies.current.digest
        submission_id, salt = uuid7(now, self._randomness(10)), self._randomness(SALT_SIZE)
        reason = Reason(code="sealed", message="this key was sealed by its producer", pointer="/idempotency_key")
        echo = Echo(idempotency_key=key, producer_identity=producer)
        body = msgspec.json.encode(form_receipt(OUTCOMES["sealed"], [reason], echo, digest, now, submission_id))
        tx.admission.seal(
            SealWrite(
                producer_identity=producer,
                idempotency_key=key,
                submission_id=submission_id,
                salt=salt,
                receipt=body,
                policy_digest=digest,
                sealed_at=now,
            )
        )
        return msgspec.structs.replace(reply_of(body, key), status=201, problem=False)

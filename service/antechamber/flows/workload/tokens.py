"""Checks workload tokens of producers; a good one has the rights of its producer and nothing else."""

import logging
from collections.abc import Callable
from typing import Final

from blake3 import blake3
from msgspec import Struct

from antechamber.core.access.callers import Bearer
from antechamber.core.access.workload import check_claims, read_unverified
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.workload import Verify
from antechamber.flows.workload.issuer_keys import IssuerKeys
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)


class Refusal(Struct, frozen=True):
    """Why a token is refused; `issuer` is None unless the policy lists it."""

    issuer: str | None
    reason: str


class WorkloadTokens:
    """Looks up whose workload token a request has; `policy` returns the one in force."""

    def __init__(self, policy: Callable[[], Policy], keys: IssuerKeys, verify: Verify, clock: Clock) -> None:
        self._policy = policy
        self._keys = keys
        self._verify = verify
        self._clock = clock

    def bearer(self, token: str) -> Bearer | None:
        """Return the bearer of a token that has the form of one, or None if it is refused; the log says why.

        Raises UnavailableError if the keys of its issuer are not known, or signatures cannot be verified here.
        """
        judged = self._judge(token)
        if isinstance(judged, Bearer):
            return judged
        # A text of the token is never part of the line, because the caller chose it.
        note(_log, logging.WARNING, "refused a workload token", issuer=judged.issuer, reason=judged.reason)
        return None

    def _judge(self, token: str) -> Bearer | Refusal:
        said, policy = read_unverified(token), self._policy()
        issuer = policy.issuers.get(said.issuer) if said else None
        if said is None or issuer is None:
            return Refusal(None, "the issuer is not listed")
        if said.algorithm not in issuer.algorithms:
            return Refusal(issuer.issuer, "the algorithm is not listed")
        key = self._keys.find(issuer, said.key_id, said.algorithm)
        claims = None if key is None else self._verify(token, key, said.algorithm)
        if claims is None:
            return Refusal(issuer.issuer, "the issuer has no such key" if key is None else "the signature is not valid")
        vouched = check_claims(claims, issuer, self._clock())
        if vouched.refusal:
            return Refusal(issuer.issuer, vouched.refusal)
        identity = policy.producer_of(issuer.issuer, vouched.subject)
        if identity is None:
            return Refusal(issuer.issuer, "the subject is not listed")
        number, ends = _number(identity), vouched.expires_at
        return Bearer(id=number, name=identity, role="producer", read=[], expires_at=ends)


def _number(identity: str) -> int:
    """Return a negative number for a producer: its requests count as one caller's, and no token has such an id."""
    return -1 - int.from_bytes(blake3(identity.encode()).digest(7), "big")

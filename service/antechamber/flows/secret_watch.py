"""The watch for secrets that come again under other keys, and for pasted tokens of this service.

Values are compared by their BLAKE3, keyed with the secret outside the database. What was seen is kept in memory only,
by each process for itself, for a day: a restart forgets it, and with it the alarms.
"""

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final

from blake3 import blake3
from msgspec import Struct

from antechamber.core.access.secret_format import digest_secret, has_checksum
from antechamber.core.admission.scanned_values import scanned_values
from antechamber.core.admission.submission import Submission
from antechamber.core.errors import AntechamberError
from antechamber.core.policy import DAY
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.core.privacy import Finding
from antechamber.flows.live_policy import ActivePolicy, PolicyReloader

MAX_VALUES: Final = 10_000
"""Maximum number of remembered digests."""
MAX_ALARMS: Final = 20
"""Maximum number of alarms that are listed; the oldest ones give way."""
MAX_KEYS: Final = 16
"""Maximum number of submissions that are remembered of one value."""
OWN_TOKEN: Final = "antechamber-token"  # noqa: S105 -- the id of a rule
_OWN: Final = re.compile(r"ant[pralw]_[0-9A-Za-z]{36}")
_log: Final = logging.getLogger(__name__)


class _Seen(Struct):
    """Where one value came: producers and keys, each pair once."""

    since: int
    places: set[tuple[str, str]]


class SecretAlarm(Struct, frozen=True):
    """An alarm about a secret, without its value."""

    text: str
    raised_at: int
    owners: frozenset[str]
    """The persons whom it concerns beside the operators."""


class PastedToken(Struct, frozen=True, kw_only=True):
    """A token of this service that came in an event."""

    name: str
    role: str
    ended: bool
    """Whether it was revoked before, or is now."""


class SecretWatch:
    """Raises alarms about secrets in refused events, and revokes pasted tokens where the policy says so.

    `secret` is the 32-byte secret kept outside the database.
    """

    def __init__(self, store: Store, policies: PolicyReloader, secret: bytes, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._secret = secret
        self._clock = clock
        self._gate = threading.Lock()
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()
        self._alarms: OrderedDict[object, SecretAlarm] = OrderedDict()

    def note(self, submission: Submission, findings: Sequence[Finding], force: ActivePolicy) -> None:
        """Note the secrets that were found in a submission; nothing of them is kept but a keyed digest."""
        if not any(force.gate.kinds.get(one.rule_id) == "secret" for one in findings):
            return
        secrets = force.gate.secrets_in(scanned_values(submission), submission.submission_scope)
        for value, rule_id in secrets.items():
            self._note_value(value, rule_id, submission, force)

    def _note_value(self, value: str, rule_id: str, submission: Submission, force: ActivePolicy) -> None:
        digest = blake3(value.encode(errors="replace"), key=self._secret).digest()[:16]
        for own in _OWN.findall(value):
            if has_checksum(own):
                self._note_token(own, submission.producer_identity, force)
        now, place = self._clock(), (submission.producer_identity, submission.idempotency_key)
        with self._gate:
            seen = self._seen.setdefault(digest, _Seen(now, set()))
            if now - seen.since > DAY:
                seen.since, seen.places = now, set()
            seen.places |= {place} if len(seen.places) < MAX_KEYS else set()
            self._seen.move_to_end(digest)
            while len(self._seen) > MAX_VALUES:
                self._seen.popitem(last=False)
            places = sorted(seen.places)
        if len(places) > 1:
            producers = sorted({producer for producer, _ in places})
            number = f"{len(places)}{' or more' if len(places) == MAX_KEYS else ''}"
            title = force.gate.titles.get(rule_id, rule_id)
            owners = frozenset(filter(None, map(force.policy.owner, producers)))
            text = f"The same secret ({title}) came under {number} keys, from {', '.join(producers)}. Replace it."
            self._raise(digest, SecretAlarm(text, now, owners))

    def _note_token(self, own: str, producer: str, force: ActivePolicy) -> None:
        """Look a pasted token up, and revoke it if the policy says so, without waiting for it."""
        now, digest = self._clock(), blake3(own.encode(), key=self._secret).digest()[:16]
        revoke = force.policy.privacy.revoke_pasted_tokens
        try:
            found = self._store.write(partial(_find_token, digest_secret(own), now, revoke=revoke))
        except AntechamberError:
            _log.warning("a pasted token could not be looked up")
        else:
            found.add_done_callback(partial(self._alarm_token, digest, producer, now))

    def _alarm_token(self, digest: bytes, producer: str, now: int, done: "Future[PastedToken | None]") -> None:
        if done.cancelled() or done.exception() is not None:
            _log.warning("a pasted token could not be looked up")
            return
        token = done.result()
        if token is None:
            return
        owner = self._policies.current.policy.owner(token.name)
        state = "It is revoked." if token.ended else "Revoke it, and issue another one."
        text = (
            f"A token of this service, the {token.role} token of {token.name}, came in an event of {producer}. {state}"
        )
        _log.warning("%s", text)
        self._raise((digest, "token"), SecretAlarm(text, now, frozenset(filter(None, (owner,)))))

    def _raise(self, key: object, alarm: SecretAlarm) -> None:
        with self._gate:
            self._alarms[key] = alarm
            self._alarms.move_to_end(key)
            while len(self._alarms) > MAX_ALARMS:
                self._alarms.popitem(last=False)

    def alarms(self) -> list[str]:
        """Return the alarms of the last day, for operators."""
        return [alarm.text for alarm in self._current()]

    def alarms_of(self, person: str) -> list[str]:
        """Return the alarms of the last day about the producers of a person."""
        return [alarm.text for alarm in self._current() if person in alarm.owners]

    def _current(self) -> list[SecretAlarm]:
        now = self._clock()
        with self._gate:
            return [alarm for alarm in self._alarms.values() if now - alarm.raised_at <= DAY]


def _find_token(digest: str, now: int, tx: Rows, *, revoke: bool) -> PastedToken | None:
    """Return the token with a digest, revoked if `revoke` is set; None if there is none."""
    token = tx.access.token(digest)
    if token is None:
        return None
    if revoke:
        tx.access.revoke_tokens(token.token_id, now)
    return PastedToken(name=token.name, role=token.role, ended=revoke or token.revoked_at is not None)

"""The policy: who may propose what in which scope, and the rules for proposals; default deny."""

import re
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal

from blake3 import blake3
from msgspec import Meta, Struct, field, json, to_builtins
from msgspec.structs import replace

from antechamber.core.access.callers import AccountRole
from antechamber.core.access.providers import Provider
from antechamber.core.access.sessions import MAX_ABSOLUTE_HOURS
from antechamber.core.access.workload import Issuer, Subject
from antechamber.core.admission.canonical import canonical
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import MAX_SCOPES, NAME_PATTERN, PRODUCER_PATTERN, Code, Reason, Scope
from antechamber.core.privacy import Action, Gate, Rule, compile_gate

DAY: Final = 86_400_000_000
"""Microseconds of a day."""
FUTURE_TOLERANCE: Final = 300_000_000
"""Microseconds that a producer's clock may be ahead."""

Grant = Annotated[str, Meta(pattern=r"^(?:[a-z_]+|\*):[A-Za-z0-9._/@*-]+$")]
Person = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")]
KeepPrivate = Literal["findings", "sealed"]
Days = Annotated[int, Meta(ge=0, le=36_500)]
MemoryKind = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]


class Producer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One producer that may submit, and its owner, the person responsible for it."""

    identity: Annotated[str, Meta(pattern=f"^{PRODUCER_PATTERN}$")]
    owner: Person
    submit: list[Grant] = []
    read: list[Grant] = []
    subjects: list[Subject] = []
    """Whose workload tokens are this producer's."""


class Rules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules for proposals of one scope."""

    kinds: list[MemoryKind] = field(default_factory=lambda: ["fact", "procedure", "preference", "decision", "warning"])
    stale_after_days: Annotated[int, Meta(ge=1)] = 400
    max_bytes: Annotated[int, Meta(ge=1)] = 65_536
    curators: Annotated[int, Meta(ge=1, le=2)] = 1
    self_edit: bool = False
    """Whether the editor of a text may be its only approver, in a scope that needs one person."""
    keep_private: KeepPrivate = "findings"
    """What is kept of a private event whose worst finding has the action `quarantine`: its findings, or its text too,
    encrypted."""
    keep_rejected_days: Days = 0
    """Days for which texts of rejected proposals and settled conflicts are kept; 0 for no limit."""
    keep_withdrawn_days: Days = 0
    """The same of proposals that their producer withdrew as private, from the decision on them."""
    keep_ended_days: Days = 0
    """The same of memories that were superseded, retracted or expired."""
    webhook_text: bool = False
    """Whether webhooks get the text of proposals and memories, and not only their ids."""


class ScopeRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of one scope that differ from the defaults."""

    kinds: list[MemoryKind] | None = None
    stale_after_days: Annotated[int, Meta(ge=1)] | None = None
    max_bytes: Annotated[int, Meta(ge=1)] | None = None
    curators: Annotated[int, Meta(ge=1, le=2)] | None = None
    self_edit: bool | None = None
    keep_private: KeepPrivate | None = None
    keep_rejected_days: Days | None = None
    keep_withdrawn_days: Days | None = None
    keep_ended_days: Days | None = None
    webhook_text: bool | None = None
    actions: dict[str, Action] | None = None
    """Actions of detection rules in this scope, by rule id or kind."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits on what is kept, answered or done at once."""

    conflicts_per_key: Annotated[int, Meta(ge=0)] = 100
    waiting_per_producer: Annotated[int, Meta(ge=0)] = 1000
    sealed_days: Annotated[int, Meta(ge=1, le=365)] = 14
    """Days after which a sealed event is destroyed."""
    keep_hourly_counts_days: Days = 0
    """Days for which submissions and replays are counted by hour; older ones only in sum. 0 for no limit."""
    attempts_per_minute: Annotated[int, Meta(ge=1)] | None = None
    scan_steps_per_second: Annotated[int, Meta(ge=1_000)] = 50_000
    """Steps of scanning, about 2 microseconds each, that the events of one producer may take on average."""
    bulk_approve: bool = False
    """Whether a group of proposals may be approved at once; proposals with reasons for caution never are."""
    unread_days: Annotated[int, Meta(ge=0, le=3650)] = 180
    """Days after which a memory that was not read comes up for review; 0 for never."""
    reads_kept_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    """Days for which it is kept who read a memory, and how often."""


class SessionRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long sessions of one role last."""

    idle_minutes: Annotated[int, Meta(ge=1, le=MAX_ABSOLUTE_HOURS * 60)] = 60
    """Minutes without a request after which a session ends."""
    absolute_hours: Annotated[int, Meta(ge=1, le=MAX_ABSOLUTE_HOURS)] = 12
    """Hours after which a session ends even if it is in use."""
    confirm_minutes: Annotated[int, Meta(ge=1, le=MAX_ABSOLUTE_HOURS * 60)] = 15
    """Minutes after a sign-in or a check of the password during which sensitive actions do not ask for it again."""


class CuratorSessionRules(SessionRules, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long sessions of curators last: through a working day with its breaks."""

    idle_minutes: Annotated[int, Meta(ge=1, le=MAX_ABSOLUTE_HOURS * 60)] = 720
    absolute_hours: Annotated[int, Meta(ge=1, le=MAX_ABSOLUTE_HOURS)] = 24


class SessionPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long sessions last, by the role of the account."""

    curator: CuratorSessionRules = field(default_factory=CuratorSessionRules)
    auditor: SessionRules = field(default_factory=SessionRules)
    operator: SessionRules = field(default_factory=SessionRules)

    def of(self, role: AccountRole) -> SessionRules:
        """Return the rules of a role."""
        rules: dict[AccountRole, SessionRules] = {
            "curator": self.curator,
            "auditor": self.auditor,
            "operator": self.operator,
        }
        return rules[role]


class SignInPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How people sign in beside the providers; one-time links of operators always work."""

    password: bool = True
    """Whether people may sign in by password."""


class Sharing(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What producers learn of the review of their proposals."""

    sees_notes: bool = True
    """Whether a producer reads the notes on its proposals and the reasons of decisions, and can be asked."""


class Oversight(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How decisions are measured."""

    second_looks: Annotated[int, Meta(ge=0, le=100)] = 0
    """Percent of decided proposals that another curator judges again, without seeing the first decision."""
    screen_days: Annotated[int, Meta(ge=0, le=365)] = 30
    """Days for which the time on screen of each decision is kept; 0 keeps none."""


class Witness(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A witness that is asked to cosign each checkpoint (c2sp.org/tlog-witness)."""

    key: Annotated[str, Meta(max_length=1000)]
    """Its verifier key."""
    url: Annotated[str, Meta(max_length=2000)]
    """Its submission prefix, to which `/add-checkpoint` is added."""
    allow_private: bool = False
    """Whether it may be on a private network, and be asked without TLS."""


class LogRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the log is published."""

    public: bool = False
    """Whether everyone may read the log as tiles; otherwise auditors of all scopes."""
    witness: Annotated[list[Witness], Meta(max_length=16)] = []


class Privacy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The detection rules that are switched off, and actions that replace those of rules and kinds of rules."""

    off: list[str] = []
    actions: dict[str, Action] = {}
    revoke_pasted_tokens: bool = False
    """Whether a token of this service that comes in an event is revoked at once."""


class Guideline(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question for curators about the proposals that it matches; it never decides anything."""

    text: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
    scopes: list[Scope] = []
    """Scopes of the proposals that it matches; empty for all."""
    kinds: list[MemoryKind] = []
    """Kinds of the proposals that it matches; empty for all."""


class Case(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of a decision table: a situation and the expected result of the policy."""

    name: str
    producer: str | Producer
    """Identity of a listed producer, or a producer defined in the test, which need not be listed."""
    scope: Annotated[str, Meta(pattern=rf"^[a-z_]+:{NAME_PATTERN}$")]
    action: Literal["submit", "read"] = "submit"
    kind: str = "fact"
    content: str = "A sentence to remember."
    age_days: int = 0
    expect: str


def _shipped_scopes() -> dict[Scope, ScopeRules]:
    return {"organization": ScopeRules(curators=2), "cross_organization": ScopeRules(curators=2)}


class Policy(Struct, frozen=True, kw_only=True, dict=True):
    """All policy files together, as in force at one time."""

    producers: dict[str, Producer] = {}
    issuers: dict[str, Issuer] = {}
    """Platforms whose workload tokens are accepted, by their claim `iss`."""
    defaults: Rules = field(default_factory=Rules)
    scopes: dict[Scope, ScopeRules] = field(default_factory=_shipped_scopes)
    limits: Limits = field(default_factory=Limits)
    producer: Sharing = field(default_factory=Sharing)
    oversight: Oversight = field(default_factory=Oversight)
    log: LogRules = field(default_factory=LogRules)
    privacy: Privacy = field(default_factory=Privacy)
    reveal: list[Person] = []
    """Persons who may reveal, redact and settle sealed events."""
    session: SessionPolicy = field(default_factory=SessionPolicy)
    sign_in: SignInPolicy = field(default_factory=SignInPolicy)
    providers: dict[str, Provider] = {}
    """Providers at which people sign in, by name, in the order of the buttons."""
    guidelines: list[Guideline] = []
    sources: dict[str, str] = {}
    """Web addresses of sources by the beginning of the URIs that they replace; see `core.review.source_links`."""
    cases: list[Case] = []
    detectors: tuple[Rule, ...] = ()

    def record(self) -> bytes:
        """Return the policy's canonical form, with a digest in the place of the detectors, because they are long."""
        members = to_builtins(replace(self, detectors=()))
        members["detectors"] = self._detectors_digest
        return canonical(members)

    @cached_property
    def _detectors_digest(self) -> str:
        return "blake3:" + blake3(json.encode(self.detectors, order="sorted")).hexdigest()

    def digest(self) -> str:
        """Return the BLAKE3-256 of the policy's canonical form; comments and the order of files do not affect it."""
        return "blake3:" + blake3(self.record()).hexdigest()

    @cached_property
    def gate(self) -> Gate:
        """The detectors with the actions of this policy; compiled once for all policies that agree in them."""
        off: dict[str, Action] = dict.fromkeys(self.privacy.off, "off")
        scopes = [(scope, tuple(rules.actions.items())) for scope, rules in self.scopes.items() if rules.actions]
        return compile_gate(self.detectors, tuple((self.privacy.actions | off).items()), tuple(scopes))

    @cached_property
    def unrestricted_gate(self) -> Gate:
        """The detectors with their own actions, as if the policy switched nothing off."""
        return Gate(self.detectors)

    def rules(self, scope: Scope) -> Rules:
        """Return the rules of a scope: the defaults with the scope's differences."""
        special = self.scopes.get(scope)
        if special is None:
            return self.defaults
        merged: dict[str, Any] = {
            name: own if (own := getattr(special, name)) is not None else getattr(self.defaults, name)
            for name in Rules.__struct_fields__
        }
        return Rules(**merged)

    def guidelines_for(self, scope: Scope, kind: str) -> list[str]:
        """Return the guidelines that match a proposal."""
        return [
            guideline.text
            for guideline in self.guidelines
            if (not guideline.scopes or scope in guideline.scopes) and (not guideline.kinds or kind in guideline.kinds)
        ]

    @cached_property
    def _subjects(self) -> dict[tuple[str, str], str]:
        return {
            (subject.issuer, subject.subject): producer.identity
            for producer in self.producers.values()
            for subject in producer.subjects
        }

    def producer_of(self, issuer: str, subject: str) -> str | None:
        """Return the identity of the producer for which an issuer vouches under a subject, or None."""
        return self._subjects.get((issuer, subject))

    def owner(self, producer_identity: str) -> str | None:
        """Return a producer's current owner, or None if the producer is not listed."""
        producer = self.producers.get(producer_identity)
        return producer.owner if producer else None


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of the policy for one submission; without reasons it passes."""

    reasons: list[Reason]
    owner: str
    policy_digest: str
    limits: Limits
    titles: dict[str, str] = {}
    """Title of each detection rule by its id."""


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def covers(grants: list[str], scope: str, scope_id: str) -> bool:
    """Return whether one of the grants (`scope:scope_id`, * as glob) covers the pair."""
    return any(_glob(grant).fullmatch(f"{scope}:{scope_id}") for grant in grants)


def covers_by_name(grants: list[str], scope: str, scope_id: str) -> bool:
    """Return whether a grant without a glob names exactly this pair."""
    return f"{scope}:{scope_id}" in grants


def name_grants(grants: list[str]) -> str:
    """Return which scopes are granted, for the one who asked for another; of many, the first ones."""
    if not grants:
        return "no scope is granted"
    rest = f" and {len(grants) - MAX_SCOPES} more" if len(grants) > MAX_SCOPES else ""
    return f"granted: {', '.join(grants[:MAX_SCOPES])}{rest}"


def may_read(grants: list[str], scope: str, scope_id: str, *, submitted: bool) -> bool:
    """Return whether memories of the pair may be read.

    A glob grants only sessions in which a submission of the reader was accepted, because a session is private to the
    producers that worked in it.
    """
    if scope == "session" and not submitted:
        return covers_by_name(grants, scope, scope_id)
    return covers(grants, scope, scope_id)


def evaluate(policy: Policy, submission: Submission, now: int) -> list[Reason]:
    """Judge a submission by the policy at time `now` (microseconds since 1970 UTC); an empty list is a pass."""
    producer = policy.producers.get(submission.producer_identity)
    rules = policy.rules(submission.submission_scope)
    granted = producer is not None and covers(producer.submit, submission.submission_scope, submission.scope_id)
    observed, oldest = submission.observed_at, now - rules.stale_after_days * DAY
    if (
        granted
        and submission.kind in rules.kinds
        and (observed is None or oldest <= observed <= now + FUTURE_TOLERANCE)
        and submission.size <= rules.max_bytes
    ):
        return []
    checks: tuple[tuple[bool, Code, str, str], ...] = (
        (
            not granted,
            "scope-not-granted",
            f"this producer may not submit to this scope; {name_grants(producer.submit if producer else [])}",
            "/submission_scope",
        ),
        (
            submission.kind not in rules.kinds,
            "kind-unsupported",
            "this scope takes " + ", ".join(rules.kinds),
            "/payload/kind",
        ),
        (
            observed is not None and observed < oldest,
            "stale",
            f"this scope takes events up to {rules.stale_after_days} days old",
            "/observed_at",
        ),
        (
            observed is not None and observed > now + FUTURE_TOLERANCE,
            "observed-in-future",
            "observed more than 5 minutes after the time of this answer",
            "/observed_at",
        ),
        (
            submission.size > rules.max_bytes,
            "too-large-for-scope",
            f"the canonical event may have {rules.max_bytes} bytes in this scope",
            "/payload",
        ),
    )
    return [Reason(code=code, message=text, pointer=pointer) for broken, code, text, pointer in checks if broken]

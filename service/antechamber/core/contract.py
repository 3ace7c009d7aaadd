"""The contract: closed lists, grammars, limits and the structs of requests and answers."""

import re
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field

Scope = Literal["session", "project", "agent_team", "agent_repo", "organization", "cross_organization"]
Visibility = Literal["shareable", "private"]
Disposition = Literal[
    "accepted-for-review",
    "accepted-as-duplicate",
    "rejected-conflict",
    "rejected-private",
    "rejected-invalid",
]
Code = Literal[
    "key-missing",
    "key-invalid",
    "key-header-differs",
    "malformed",
    "unknown-member",
    "duplicate-member",
    "out-of-profile",
    "hash-missing",
    "hash-mismatch",
    "direct-write",
    "producer-mismatch",
    "scope-not-granted",
    "kind-unsupported",
    "stale",
    "observed-in-future",
    "too-large-for-scope",
    "private-declared",
    "private-detected",
    "key-reused",
    "sealed",
    "already-decided",
    "unauthorized",
    "body-too-large",
    "rate-limited",
    "busy",
    "unavailable",
]
ReasonCode = Literal[
    "wrong", "outdated", "duplicate", "unclear", "out-of-scope", "unsafe", "private", "low-value", "other"
]
ProposalState = Literal["pending", "approved", "rejected"]
MemoryState = Literal["active", "superseded", "retracted", "expired"]
Change = Literal["admitted", "superseded", "retracted", "expired", "erased"]
Match = Literal["any", "all"]
NoteKind = Literal["note", "question", "answer"]
NoteAuthor = Literal["curator", "producer"]
QuarantineState = Literal["waiting", "settled"]
Channel = Literal["http", "batch", "mcp"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
CODES: Final[tuple[Code, ...]] = get_args(Code)
REASON_CODES: Final[tuple[ReasonCode, ...]] = get_args(ReasonCode)

KEY_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}"
NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,127}"
PRODUCER_KINDS: Final = ("worker", "tool", "repo", "service")
PRODUCER_PATTERN: Final = rf"(?:{'|'.join(PRODUCER_KINDS)}):{NAME_PATTERN}"
HASH_PATTERN: Final = r"blake3:[0-9a-f]{64}"
KIND_PATTERN: Final = r"[a-z][a-z0-9_-]{0,63}"
KIND_AS_SENT: Final = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
"""A kind before normalization, which makes A-Z small."""
MEMBER_PATTERN: Final = r"[a-z][a-z0-9_]*"

KEY: Final = re.compile(KEY_PATTERN)
NAME: Final = re.compile(NAME_PATTERN)
PRODUCER: Final = re.compile(PRODUCER_PATTERN)
HASH: Final = re.compile(HASH_PATTERN)
KIND: Final = re.compile(KIND_PATTERN)
MEMBER: Final = re.compile(MEMBER_PATTERN)

MAX_BODY: Final = 64 * 1024
MAX_BATCH: Final = 4 * 1024 * 1024
MAX_LINES: Final = 1000
MAX_DEPTH: Final = 16
MAX_TAGS: Final = 32
MAX_DERIVED_FROM: Final = 32
MAX_TAG: Final = 64
MAX_NOTE: Final = 2000
"""Maximum number of characters of a note."""
MAX_SCOPES: Final = 16
"""Maximum number of scopes that are read at a time."""
MAX_CHANGES: Final = 1000
"""Maximum number of changes on a page."""
MAX_WAIT: Final = 30
"""Maximum number of seconds for which a request of changes is held."""
MAX_INTEGER: Final = 2**53 - 1


class Payload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate memory itself."""

    kind: Annotated[
        str,
        Meta(
            description="What sort of memory this is.",
            examples=["procedure"],
            extra_json_schema={"pattern": f"^{KIND_AS_SENT}$"},
        ),
    ]
    content: Annotated[str, Meta(description="The text to remember; not blank.", extra_json_schema={"minLength": 1})]
    tags: (
        Annotated[
            list[Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": MAX_TAG})]],
            Meta(
                description="Unique and sorted in normal form, at most 32 of them.",
                extra_json_schema={"maxItems": MAX_TAGS},
            ),
        ]
        | UnsetType
    ) = UNSET
    attributes: (
        Annotated[
            dict[str, Any],
            Meta(
                description="Free members within the profile: no floats.",
                extra_json_schema={"propertyNames": {"pattern": f"^{MEMBER_PATTERN}$"}},
            ),
        ]
        | UnsetType
    ) = UNSET


_LINE_RANGE: Final = {"minimum": 1, "maximum": MAX_INTEGER}


class SourceSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the event was seen."""

    uri: Annotated[str, Meta(examples=["repo://apollo/RUNBOOK.md"], extra_json_schema={"minLength": 1})]
    start: Annotated[int, Meta(description="First line, from 1.", extra_json_schema=_LINE_RANGE)] | UnsetType = UNSET
    end: Annotated[int, Meta(description="Last line, included.", extra_json_schema=_LINE_RANGE)] | UnsetType = UNSET
    revision: str | UnsetType = UNSET
    heading: str | UnsetType = UNSET


class SubmissionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One candidate event as an agent posts it."""

    # Decoding checks members and types alone. Patterns and limits apply to the normal form, which `core.admission`
    # checks after normalization; they are documented in `extra_json_schema`, which msgspec does not enforce.

    idempotency_key: (
        Annotated[
            str,
            Meta(description="Here or as header `Idempotency-Key`.", extra_json_schema={"pattern": f"^{KEY_PATTERN}$"}),
        ]
        | UnsetType
    ) = UNSET
    producer_identity: Annotated[
        str, Meta(examples=["worker:release-bot"], extra_json_schema={"pattern": f"^{PRODUCER_PATTERN}$"})
    ]
    submission_scope: Scope
    scope_id: Annotated[str, Meta(examples=["apollo"], extra_json_schema={"pattern": f"^{NAME_PATTERN}$"})]
    source_event_hash: Annotated[
        str,
        Meta(
            description="BLAKE3-256 of the canonical event; recomputed here.",
            extra_json_schema={"pattern": f"^{HASH_PATTERN}$"},
        ),
    ]
    payload: Payload
    source_span: SourceSpan
    observed_at: (
        Annotated[str, Meta(description="RFC 3339 with offset.", examples=["2026-11-20T10:00:00Z"])] | UnsetType
    ) = UNSET
    visibility: Visibility | UnsetType = UNSET
    durable: Annotated[bool, Meta(description="true asks for a direct write and is refused.")] | UnsetType = UNSET
    supersedes: Annotated[str, Meta(description="A memory id; shown to the curator as a claim.")] | UnsetType = UNSET
    derived_from: (
        Annotated[
            list[Annotated[str, Meta(extra_json_schema={"pattern": f"^{KEY_PATTERN}$"})]],
            Meta(
                description="Ids of the memories that the producer used to reach this event; each counts once. Shown"
                " to the curator as a claim.",
                extra_json_schema={"minItems": 1, "maxItems": MAX_DERIVED_FROM},
            ),
        ]
        | UnsetType
    ) = UNSET


class Reason(Struct, frozen=True, kw_only=True):
    """Why an answer is what it is; never carries a submitted value."""

    code: Code
    message: str
    pointer: str | None = None


class Receipt(Struct, frozen=True, kw_only=True):
    """The one answer to a submission; what does not exist is null, never absent."""

    status: int
    submission_id: str | None = None
    idempotency_key: str | None = None
    producer_identity: str | None = None
    submission_scope: Scope | None = None
    scope_id: str | None = None
    source_event_hash: str | None = None
    disposition: Disposition | None
    duplicate: bool = False
    duplicate_of: str | None = None
    proposal_id: str | None = None
    quarantine_id: str | None = None
    reasons: list[Reason] = []
    retry_same_key: bool
    safe_new_key: bool
    policy_digest: str | None = None
    received_at: str


class Problem(Receipt, frozen=True, kw_only=True):
    """A refusal: the receipt's members plus those of RFC 9457."""

    type: str
    title: str
    detail: str


class NoteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a producer posts to the conversation about its proposal."""

    text: Annotated[
        str,
        Meta(description="Not blank.", extra_json_schema={"minLength": 1, "maxLength": MAX_NOTE}),
    ]


class NoteItem(Struct, frozen=True, kw_only=True):
    """One note of the conversation about a proposal, as its producer sees it; no curator is named."""

    note_id: str
    at: str
    author: NoteAuthor = field(name="from")
    kind: NoteKind
    text: str


class ReviewStatus(Struct, frozen=True, kw_only=True):
    """What became of a submission's proposal, as its producer sees it."""

    state: ProposalState
    decided_at: str | None
    reason_code: ReasonCode | None
    reason_text: Annotated[str | None, Meta(description="The curator's note, where the policy shares it.")] = None
    memory_id: str | None
    content: Annotated[str | None, Meta(description="The text as it was admitted.")] = None
    notes: Annotated[list[NoteItem], Meta(description="Oldest first; empty where the policy shares none.")] = []


class Holder(Struct, frozen=True, kw_only=True):
    """Whose a token is, and what it may do under the policy in force."""

    name: str
    role: Literal["producer", "reader", "auditor"]
    submit: list[str]
    """Scopes that it may submit to; `*` matches any id."""
    read: list[str]
    expires_at: Annotated[str | None, Meta(description="When it expires; null for never.")] = None


class MemoryItem(Struct, frozen=True, kw_only=True):
    """One memory as retrieval returns it."""

    memory_id: str
    content: str
    kind: str
    tags: list[str]
    attributes: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    source_span: dict[str, Any]
    supersedes: str | None
    derived_from: list[str]
    """Ids of the memories that the producer claims to have used, sorted; empty if it named none."""
    admitted_at: str
    producer_identity: str
    approvals: Annotated[int, Meta(description="Number of persons who approved its text.")]
    evidence: Annotated[int, Meta(description="Number of other owners whose producers submitted the same event.")]
    review_record_ids: Annotated[list[str], Meta(description="Ids of the review records that admitted it.")]
    score: (
        Annotated[int, Meta(description="How well it answers `q`: higher is better, and only within one answer.")]
        | UnsetType
    ) = UNSET


class MemoryDetail(MemoryItem, frozen=True, kw_only=True):
    """One memory in any state."""

    state: MemoryState
    ended_at: Annotated[str | None, Meta(description="When it was superseded, retracted or expired.")]
    superseded_by: Annotated[str | None, Meta(description="Id of the memory that took its place.")]


class MemoryPage(Struct, frozen=True, kw_only=True):
    """A page of memories, the best answers first or the newest first; `next` is the `after` of the following page."""

    items: list[MemoryItem]
    next: str | None


class ChangeItem(Struct, frozen=True, kw_only=True):
    """One change of a memory: it was admitted, or it ended."""

    sequence: Annotated[int, Meta(description="Position of its leaf in the log; an `after` of its own.")]
    change: Annotated[
        Change,
        Meta(description="`admitted` again when an end was undone, or when evidence of an active memory grew."),
    ]
    memory_id: str
    at: str
    memory: Annotated[
        MemoryItem | None, Meta(description="The memory as it is now; null unless it was admitted and is active now.")
    ]


class ChangePage(Struct, frozen=True, kw_only=True):
    """A page of changes in commit order; `next` is the `after` of the following page, also after an empty one."""

    items: list[ChangeItem]
    next: str

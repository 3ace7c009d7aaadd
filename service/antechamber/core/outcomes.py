"""The single table of outcomes, which server, client, OpenAPI document and contract page all use."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.contract import Code, Disposition

PROBLEM_TYPE: Final = "/contract#"
RETRY_AFTER: Final[dict[Code, int]] = {"busy": 1, "rate-limited": 5, "unavailable": 2}
"""Seconds that an agent should wait before it sends the same key again."""


class Outcome(Struct, frozen=True, kw_only=True):
    """One row: the members of an answer of this kind, and what an agent may do next.

    `key_bound` is None if the key already belonged to another answer.
    """

    status: int
    disposition: Disposition | None
    key_bound: bool | None
    retry_same_key: bool
    safe_new_key: bool
    title: str
    advice: str


ACCEPTED: Final = Outcome(
    status=201,
    disposition="accepted-for-review",
    key_bound=True,
    retry_same_key=False,
    safe_new_key=False,
    title="Accepted for review",
    advice="A curator decides. Read the submission to learn what became of it.",
)
DUPLICATE: Final = Outcome(
    status=200,
    disposition="accepted-as-duplicate",
    key_bound=True,
    retry_same_key=False,
    safe_new_key=False,
    title="Accepted as duplicate",
    advice="The same event was proposed in this scope before. Read the submission to learn what became of it.",
)


def _fixable_row(
    title: str, advice: str, status: int = 400, disposition: Disposition | None = "rejected-invalid"
) -> Outcome:
    """Return a row of refusals that leave the key unbound: the request is fixed and sent under the same key."""
    return Outcome(
        status=status,
        disposition=disposition,
        key_bound=False,
        retry_same_key=True,
        safe_new_key=False,
        title=title,
        advice=advice,
    )


def _final_row(
    title: str,
    advice: str,
    disposition: Disposition = "rejected-invalid",
    *,
    bound: bool | None = True,
    new_key: bool = True,
) -> Outcome:
    """Return a row of refusals that are kept under their key permanently."""
    return Outcome(
        status=422,
        disposition=disposition,
        key_bound=bound,
        retry_same_key=False,
        safe_new_key=new_key,
        title=title,
        advice=advice,
    )


OUTCOMES: Final[dict[Code, Outcome]] = {
    "key-missing": _fixable_row(
        "Idempotency key missing", "Send idempotency_key in the body or as header Idempotency-Key."
    ),
    "key-invalid": _fixable_row(
        "Idempotency key invalid", "Use 1 to 128 characters of A-Z a-z 0-9 . _ : ~ - and begin with a letter or digit."
    ),
    "key-header-differs": _fixable_row(
        "Header and body name different keys", "Send one key, or the same key in both places."
    ),
    "malformed": _fixable_row("Malformed request", "Fix what the reasons name, and send it again under the same key."),
    "unknown-member": _fixable_row("Unknown member", "Remove the member or move it into payload.attributes."),
    "duplicate-member": _fixable_row("Duplicate member name", "Give every name once in each object."),
    "out-of-profile": _fixable_row(
        "Outside the JSON profile",
        "No floats, integers within 2^53-1, names of a-z 0-9 _, null only in attributes, depth at most 16.",
    ),
    "hash-missing": _fixable_row(
        "Source-event hash missing", "Send source_event_hash as blake3: and 64 lower-case hex digits."
    ),
    "hash-mismatch": _fixable_row(
        "Source-event hash differs", "Compute the hash over the normal form; the contract page says how."
    ),
    "direct-write": _fixable_row(
        "Direct write refused", "Only a curator writes durable memory. Submit without durable and wait for review.", 403
    ),
    "producer-mismatch": _fixable_row(
        "Token of another producer",
        "Submit as the producer you are, and have the operator list it in the policy.",
        403,
        None,
    ),
    "unauthorized": _fixable_row(
        "Not authenticated", "Authenticate with the token that the operator of this service gave you.", 401, None
    ),
    "body-too-large": _fixable_row(
        "Body too large", "Shorten the body to 64 KiB; a batch to 1,000 lines and 4 MiB.", 413, None
    ),
    "rate-limited": _fixable_row(
        "Too many requests", "Wait as Retry-After says, then send the same key and bytes again.", 429, None
    ),
    "busy": _fixable_row(
        "Key held by another process", "Wait as Retry-After says, then send the same key and bytes again.", 409, None
    ),
    "unavailable": _fixable_row(
        "Temporarily unavailable",
        "Nothing was stored. Wait as Retry-After says, then send the same key and bytes again.",
        503,
        None,
    ),
    "scope-not-granted": _final_row(
        "Scope not granted", "Ask the operator for this scope, or submit to a granted one under a new key."
    ),
    "kind-unsupported": _final_row(
        "Kind not supported in this scope", "Choose a supported kind and submit under a new key."
    ),
    "stale": _final_row("Observed too long ago", "Observe again and submit under a new key."),
    "observed-in-future": _final_row("Observed in the future", "Correct the clock and submit under a new key."),
    "too-large-for-scope": _final_row("Too large for this scope", "Shorten the event and submit under a new key."),
    "private-declared": _final_row(
        "Declared private",
        "Private events are not remembered. Submit a shareable one under a new key.",
        "rejected-private",
    ),
    "private-detected": _final_row(
        "Private data found", "Remove what the pointers name and submit under a new key.", "rejected-private"
    ),
    "key-reused": _final_row(
        "Key already used for another event",
        "The original is unchanged. A new event needs a new key; a retry needs the original's bytes.",
        "rejected-conflict",
        bound=None,
        new_key=False,
    ),
    "sealed": _final_row("Key sealed", "This key will never admit an event. Submit under a new key.", bound=None),
    "already-decided": DUPLICATE,
}
"""Every code of the closed list, with its row of the table in service/antechamber/client/README.md."""

READ_DENIED: Final = Outcome(
    status=403,
    disposition=None,
    key_bound=False,
    retry_same_key=False,
    safe_new_key=False,
    title="Scope not granted",
    advice="Ask the operator for a token that may read it.",
)
"""The row of `scope-not-granted` for reads: nothing was submitted, so no key is affected."""

READ_MALFORMED: Final = Outcome(
    status=400,
    disposition=None,
    key_bound=False,
    retry_same_key=False,
    safe_new_key=False,
    title="Malformed request",
    advice="Correct the request and send it again.",
)
"""The row of `malformed` for reads."""

_NOTE_OUTCOMES: Final[dict[Code, Outcome]] = {
    "key-missing": replace(
        OUTCOMES["key-missing"],
        disposition=None,
        advice="Send one with each note, and the same one when you repeat it.",
    ),
    "unknown-member": replace(OUTCOMES["unknown-member"], disposition=None, advice="Send the member text alone."),
    "already-decided": Outcome(
        status=409,
        disposition=None,
        key_bound=False,
        retry_same_key=False,
        safe_new_key=False,
        title="Nothing waits for an answer",
        advice="Read the submission to learn what became of it; a note needs a proposal that waits.",
    ),
    "private-detected": Outcome(
        status=422,
        disposition=None,
        key_bound=False,
        retry_same_key=True,
        safe_new_key=False,
        title="Private data found",
        advice="Nothing was kept. Write the answer without private data and send it under the same key.",
    ),
    "key-reused": Outcome(
        status=422,
        disposition=None,
        key_bound=None,
        retry_same_key=False,
        safe_new_key=False,
        title="Key already used for another note",
        advice="The first note is unchanged. A retry needs its text; another text needs another key.",
    ),
    "too-large-for-scope": Outcome(
        status=422,
        disposition=None,
        key_bound=False,
        retry_same_key=False,
        safe_new_key=False,
        title="Conversation too long",
        advice="Wait for the decision; this proposal takes no more notes.",
    ),
}


def note_outcome(code: Code) -> Outcome:
    """Return the row of a refused note, which has no disposition and binds no key of a submission."""
    return _NOTE_OUTCOMES.get(code) or replace(OUTCOMES[code], disposition=None)


NOT_FOUND_TYPE: Final = "about:blank"
"""RFC 9457 section 4.2.1: a problem without more information than its status."""
NOT_FOUND_DETAIL: Final = "Nothing matches the given URI"
"""The detail of the 404 for an item that is missing or not visible; that of a missing route has another one."""

FIXTURES: Final[dict[str, str]] = {
    "same key same hash": "The first answer again, with duplicate true; nothing new is stored.",
    "same key different hash": "rejected-conflict, key-reused, 422; the original is kept, the other is quarantined.",
    "no source hash": "rejected-invalid, hash-missing, 400; the key stays free.",
    "private data in payload": "rejected-private, private-detected, 422; rule ids and pointers, never the value.",
    "worker asks for a durable write": "rejected-invalid, direct-write, 403; nothing is stored and the key stays free.",
}
"""The negative fixtures that every conforming client and server is tested against."""

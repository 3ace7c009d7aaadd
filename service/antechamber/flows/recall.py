"""Recall: receipts for their producers, and memories for the bearers of a grant."""

from typing import Any, Final

import msgspec

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import KEY, SCOPES, Holder, MemoryItem, MemoryPage, ReviewStatus
from antechamber.core.errors import NotFoundError, refuse
from antechamber.core.policy import may_read
from antechamber.core.ports.store import Store
from antechamber.core.rows.memories import MemoryHit
from antechamber.core.rows.submissions import StoredReceipt
from antechamber.core.times import format_time
from antechamber.flows.live_policy import PolicyReloader

MAX_ITEMS: Final = 200
DEFAULT_ITEMS: Final = 50
MAX_WORDS: Final = 32


class Recall:
    """Reads stored receipts and admitted memories under the policy in force."""

    def __init__(self, store: Store, policies: PolicyReloader) -> None:
        self._store = store
        self._policies = policies

    def receipt(self, bearer: Bearer, *, submission_id: str | None = None, key: str | None = None) -> dict[str, Any]:
        """Return a producer's own receipt with the review status of its proposal.

        Raises NotFoundError in all other cases, without the cause.
        """
        if bearer.role == "producer" and (key is None or KEY.fullmatch(key)):
            with self._store.read() as tx:
                stored = (
                    tx.memories.receipt_by_id(bearer.name, submission_id)
                    if submission_id is not None
                    else tx.memories.receipt_by_key(bearer.name, key or "")
                )
            if stored is not None:
                return {**msgspec.json.decode(stored.receipt), "review": review_of(stored)}
        message = "no submission of yours by that name"
        raise NotFoundError(message)

    def holder(self, bearer: Bearer) -> Holder:
        """Return the holder of a token and its rights; a producer that the policy does not list has none."""
        producer = self._policies.current.policy.producers.get(bearer.name) if bearer.role == "producer" else None
        granted = producer.read if producer else bearer.read if bearer.role == "reader" else []
        own = _intersect(bearer.read, granted) if bearer.read else granted
        return Holder(name=bearer.name, role=bearer.role, submit=producer.submit if producer else [], read=own)

    def memories(
        self,
        bearer: Bearer,
        submission_scope: str | None,
        scope_id: str | None,
        q: str = "",
        limit: int = DEFAULT_ITEMS,
        after: str | None = None,
    ) -> MemoryPage:
        """Return a page of active memories of exactly one scope.

        Raises RequestRefusedError: `malformed` if a parameter is missing or invalid, `scope-not-granted` whether or not
        the scope contains memories.
        """
        words = _check(submission_scope, scope_id, q, limit)
        scope, identity = str(submission_scope), str(scope_id)
        with self._store.read() as tx:
            submitted = scope == "session" and tx.memories.submitted_in_session(bearer.name, identity)
            if not self._may_read(bearer, scope, identity, submitted=submitted):
                raise refuse("scope-not-granted", "reading this scope is not granted", "/submission_scope")
            before = tx.memories.cursor_of(scope, identity, after) if after else None
            if after and before is None:
                raise refuse("malformed", "after names no memory of this scope", "/after")
            hits = tx.memories.search(scope, identity, words, before, limit + 1)
        items = [_item(hit) for hit in hits[:limit]]
        return MemoryPage(items=items, next=items[-1].memory_id if len(hits) > limit else None)

    def _may_read(self, bearer: Bearer, scope: str, scope_id: str, *, submitted: bool) -> bool:
        if bearer.role == "reader":
            return may_read(bearer.read, scope, scope_id, submitted=False)
        producer = self._policies.current.policy.producers.get(bearer.name)
        if bearer.role != "producer" or producer is None:
            return False
        # A producer's token may narrow the grants of its policy, but never widen them.
        own = bearer.read or producer.read
        return all(may_read(grants, scope, scope_id, submitted=submitted) for grants in (producer.read, own))


def _intersect(some: list[str], others: list[str]) -> list[str]:
    """Return the grants that both lists include; `*` as id includes every id of its scope."""
    return [one for one in some if _includes(others, one)] + [
        one for one in others if one not in some and _includes(some, one)
    ]


def _includes(grants: list[str], grant: str) -> bool:
    return grant in grants or f"{grant.partition(':')[0]}:*" in grants


def _check(submission_scope: str | None, scope_id: str | None, q: str, limit: int) -> list[str]:
    if submission_scope not in SCOPES:
        raise refuse("malformed", "submission_scope must be one of " + ", ".join(SCOPES), "/submission_scope")
    if not scope_id:
        raise refuse("malformed", "scope_id is missing; exactly one scope is read at a time", "/scope_id")
    if not 1 <= limit <= MAX_ITEMS:
        raise refuse("malformed", f"limit must lie within 1 and {MAX_ITEMS}", "/limit")
    words = q.replace("\0", " ").split()
    if len(words) > MAX_WORDS:
        raise refuse("malformed", f"q may have {MAX_WORDS} words", "/q")
    return words


def review_of(stored: StoredReceipt) -> ReviewStatus | None:
    """Return the review status of a submission's proposal; None if the submission created or joined none."""
    if stored.state is None:
        return None
    decided = None if stored.decided_at is None else format_time(stored.decided_at)
    return ReviewStatus(
        state=stored.state, decided_at=decided, reason_code=stored.reason_code, memory_id=stored.memory_id
    )


def _item(hit: MemoryHit) -> MemoryItem:
    payload = hit.payload
    return MemoryItem(
        memory_id=hit.memory_id,
        content=payload["content"],
        kind=payload["kind"],
        tags=payload.get("tags", []),
        attributes=payload.get("attributes", {}),
        submission_scope=hit.submission_scope,
        scope_id=hit.scope_id,
        source_span=hit.source_span,
        supersedes=hit.replaces or hit.supersedes,
        admitted_at=format_time(hit.admitted_at),
    )

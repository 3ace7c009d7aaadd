"""Recall: receipts for their producers, and memories for the bearers of a grant."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, cast, get_args

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Bearer
from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import (
    KEY,
    MAX_SCOPES,
    SCOPES,
    Holder,
    Match,
    MemoryDetail,
    MemoryItem,
    MemoryPage,
    NoteItem,
    NoteKind,
    ReviewStatus,
)
from antechamber.core.errors import NotFoundError, read_all, refuse
from antechamber.core.policy import may_read, name_grants
from antechamber.core.ports.search import RankedMemory
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import ERASED
from antechamber.core.review.notes import ERASED_NOTE
from antechamber.core.rows.memories import MemoryEnd, MemoryHit
from antechamber.core.rows.notes import NoteRow
from antechamber.core.rows.submissions import StoredReceipt
from antechamber.core.search.terms import words_of_question
from antechamber.core.times import format_time
from antechamber.flows.answer_question import answer_question
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.upkeep.read_counts import ReadCounts

MAX_ITEMS: Final = 200
DEFAULT_ITEMS: Final = 50
MAX_WORDS: Final = 32
MAX_TERMS: Final = 64
"""Maximum number of terms of a question; in scripts without spaces each character is one."""
_HOW_TO_NAME: Final = "name one scope by submission_scope and scope_id, or several by scope, e.g. scope=project:apollo"
_RANKED: Final = re.compile(r"([0-9]{1,15})\.(.+)", re.DOTALL)
"""The cursor of a page of answers: score and memory id of its last item."""


class ScopeQuery(Struct, frozen=True, kw_only=True):
    """The scopes that an agent reads: one by its kind and id, or several, each written `kind:id`."""

    submission_scope: str | None = None
    scope_id: str | None = None
    scopes: Sequence[str] = ()

    def named_scopes(self) -> list[tuple[str, str]]:
        """Return the named scopes, each once.

        Raises RequestRefusedError if they are not named in exactly one of the two ways.
        """
        one = self.submission_scope is not None or self.scope_id is not None
        if self.scopes and one:
            raise refuse("malformed", _HOW_TO_NAME, "/scope")
        if not self.scopes:
            return [_scope(self.submission_scope, self.scope_id, "/submission_scope", "/scope_id")]
        if len(self.scopes) > MAX_SCOPES:
            raise refuse("malformed", f"at most {MAX_SCOPES} scopes are read at a time", "/scope")
        parts = [scope.partition(":") for scope in self.scopes]
        named = read_all(*(partial(_scope, kind, scope_id, "/scope", "/scope") for kind, _, scope_id in parts))
        return list(dict.fromkeys(named))


class MemoryQuery(ScopeQuery, frozen=True, kw_only=True):
    """What an agent asks for: memories of some scopes."""

    q: str = ""
    match: str = "any"
    limit: int = DEFAULT_ITEMS
    after: str | None = None

    def check(self) -> None:
        """Check the query as far as it can be without the store.

        Raises RequestRefusedError (`malformed`) with every reason.
        """
        read_all(
            self.named_scopes,
            partial(check_number, "limit", self.limit, 1, MAX_ITEMS),
            partial(_check_match, self.match),
            partial(_check_question, self.q),
            partial(_check_ranked, self),
        )


def _scope(kind: str | None, scope_id: str | None, kind_pointer: str, id_pointer: str) -> tuple[str, str]:
    in_one_text = kind_pointer == id_pointer
    read_all(
        partial(_check_kind, kind, kind_pointer), partial(_check_id, scope_id, id_pointer, in_one_text=in_one_text)
    )
    return str(kind), str(scope_id).replace("\0", " ")


def _check_kind(kind: str | None, pointer: str) -> None:
    if kind is None:
        raise refuse("malformed", f"the kind of scope is missing; {_HOW_TO_NAME}", pointer)
    if kind not in SCOPES:
        raise refuse("malformed", "the scope must be one of " + ", ".join(SCOPES), pointer)


def _check_id(scope_id: str | None, pointer: str, *, in_one_text: bool) -> None:
    if not scope_id:
        named = "; write kind:id, e.g. project:apollo" if in_one_text else ", scope_id"
        raise refuse("malformed", f"the id of the scope is missing{named}", pointer)


def check_number(name: str, number: int, least: int, most: int) -> None:
    """Check a parameter of a query; one that is no number counts as -1.

    Raises RequestRefusedError (`malformed`).
    """
    if not least <= number <= most:
        raise refuse("malformed", f"{name} must be a whole number from {least} to {most}", f"/{name}")


class Recall:
    """Reads stored receipts and admitted memories under the policy in force."""

    def __init__(self, store: Store, policies: PolicyReloader, reads: ReadCounts) -> None:
        self._store = store
        self._policies = policies
        self.reads: Final = reads

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
                shares = self._policies.current.policy.producer.sees_notes
                return {**msgspec.json.decode(stored.receipt), "review": review_of(stored, shares=shares)}
        message = "no submission of yours by that name"
        raise NotFoundError(message)

    def holder(self, bearer: Bearer) -> Holder:
        """Return the holder of a token and its rights; a producer that the policy does not list has none."""
        producer = self._policies.current.policy.producers.get(bearer.name) if bearer.role == "producer" else None
        granted = producer.read if producer else bearer.read if bearer.role == "reader" else []
        read = _intersect(bearer.read, granted) if bearer.read else granted
        return Holder(
            name=bearer.name,
            role=bearer.role,
            submit=producer.submit if producer else [],
            read=read,
            expires_at=None if bearer.expires_at is None else format_time(bearer.expires_at),
        )

    def memories(self, bearer: Bearer, wanted: MemoryQuery) -> MemoryPage:
        """Return a page of active memories of exactly the named scopes: the best answers, or without `q` the newest.

        Raises RequestRefusedError: `malformed` if a parameter is missing or invalid, `scope-not-granted` whether or not
        the scopes contain memories.
        """
        wanted.check()
        with self._store.read() as tx:
            scopes = self.readable_scopes(tx, bearer, wanted)
            page, read = (_best if wanted.q.strip() else _newest)(tx, scopes, wanted)
        self.reads.note(bearer, read)
        return page

    def readable_scopes(self, tx: Rows, bearer: Bearer, wanted: ScopeQuery) -> list[tuple[str, str]]:
        """Return the named scopes, each once.

        Raises RequestRefusedError: `malformed`, or `scope-not-granted` if one of them may not be read.
        """
        scopes = wanted.named_scopes()
        for scope, scope_id in scopes:
            if not self._is_readable(tx, bearer, scope, scope_id):
                pointer = "/scope" if wanted.scopes else "/submission_scope"
                granted = name_grants(self.holder(bearer).read)
                raise refuse("scope-not-granted", f"reading this scope is not granted; {granted}", pointer)
        return scopes

    def memory(self, bearer: Bearer, memory_id: str) -> MemoryDetail:
        """Return one memory in any state, with how it ended.

        Raises NotFoundError if there is none by that id in a scope that may be read, without the cause.
        """
        with self._store.read() as tx:
            place = tx.memories.place(memory_id.replace("\0", " "))
            if place is not None and self._is_readable(tx, bearer, place.submission_scope, place.scope_id):
                (hit,) = tx.memories.items([place.id])
                self.reads.note(bearer, [place.id])
                return _detail(hit, None if hit.state == "active" else tx.memories.end(place.id))
        message = "no memory by that name that may be read"
        raise NotFoundError(message)

    def _is_readable(self, tx: Rows, bearer: Bearer, scope: str, scope_id: str) -> bool:
        submitted = scope == "session" and tx.memories.submitted_in_session(bearer.name, scope_id)
        return self._may_read(bearer, scope, scope_id, submitted=submitted)

    def _may_read(self, bearer: Bearer, scope: str, scope_id: str, *, submitted: bool) -> bool:
        if bearer.role == "reader":
            return may_read(bearer.read, scope, scope_id, submitted=False)
        producer = self._policies.current.policy.producers.get(bearer.name)
        if bearer.role != "producer" or producer is None:
            return False
        # A producer's token may narrow the grants of its policy, but never widen them.
        narrowed = bearer.read or producer.read
        return all(may_read(grants, scope, scope_id, submitted=submitted) for grants in (producer.read, narrowed))


def _intersect(some: list[str], others: list[str]) -> list[str]:
    """Return the grants that both lists include; `*` as id includes every id of its scope."""
    return [grant for grant in some if _includes(others, grant)] + [
        grant for grant in others if grant not in some and _includes(some, grant)
    ]


def _includes(grants: list[str], grant: str) -> bool:
    return grant in grants or f"{grant.partition(':')[0]}:*" in grants


def _check_match(match: str) -> None:
    if match not in get_args(Match):
        raise refuse("malformed", "match must be any or all", "/match")


def _check_question(question: str) -> None:
    if len(question.split()) > MAX_WORDS or len(words_of_question(question)) > MAX_TERMS:
        raise refuse("malformed", f"q may have at most {MAX_WORDS} words", "/q")


def _check_ranked(wanted: MemoryQuery) -> None:
    if wanted.q.strip() and wanted.after and _RANKED.fullmatch(wanted.after) is None:
        raise refuse("malformed", "after is not the `next` of a page of answers", "/after")


def _best(tx: Rows, scopes: list[tuple[str, str]], wanted: MemoryQuery) -> tuple[MemoryPage, list[int]]:
    """Return a page of the best answers, and the keys of its memories."""
    after = _ranked_after(tx, scopes, wanted.after) if wanted.after else None
    found = answer_question(
        tx, scopes, wanted.q, every_word=wanted.match == "all", after=after, number=wanted.limit + 1
    )
    shown = found[: wanted.limit]
    hits = tx.memories.items([ranked.id for ranked in shown])
    items = [MemoryItem(**_members(hit), score=ranked.score) for hit, ranked in zip(hits, shown, strict=True)]
    cursor = f"{shown[-1].score}.{items[-1].memory_id}" if len(found) > wanted.limit else None
    return MemoryPage(items=items, next=cursor), [hit.id for hit in hits]


def _newest(tx: Rows, scopes: list[tuple[str, str]], wanted: MemoryQuery) -> tuple[MemoryPage, list[int]]:
    """Return a page of the newest memories, and the keys of its memories."""
    before = _position(tx, scopes, wanted.after) if wanted.after else None
    found = tx.memories.newest(scopes, before, wanted.limit + 1)
    items = [memory_item(hit) for hit in tx.memories.items(found[: wanted.limit])]
    following = items[-1].memory_id if len(found) > wanted.limit else None
    return MemoryPage(items=items, next=following), found[: wanted.limit]


def _position(tx: Rows, scopes: list[tuple[str, str]], memory_id: str) -> int:
    place = tx.memories.place(memory_id.replace("\0", " "))
    if place is None or (place.submission_scope, place.scope_id) not in scopes:
        raise refuse("malformed", "after names no memory of these scopes; it is the `next` of a page", "/after")
    return place.id


def _ranked_after(tx: Rows, scopes: list[tuple[str, str]], cursor: str) -> RankedMemory:
    """Return the last memory of the page before."""
    score, _, memory_id = cursor.partition(".")
    return RankedMemory(id=_position(tx, scopes, memory_id), score=int(score))


def review_of(stored: StoredReceipt, *, shares: bool) -> ReviewStatus | None:
    """Return the review status of a submission's proposal; None if the submission created or joined none.

    `shares` is whether the policy shows notes and reasons to producers.
    """
    if stored.state is None:
        return None
    admitted = stored.payload is not None and canonical(stored.payload) != ERASED.encode()
    return ReviewStatus(
        state=stored.state,
        decided_at=None if stored.decided_at is None else format_time(stored.decided_at),
        reason_code=stored.reason_code,
        reason_text=(stored.reason_text or None) if shares and stored.reason_text != ERASED_NOTE else None,
        memory_id=stored.memory_id,
        content=stored.payload["content"] if stored.payload is not None and admitted else None,
        notes=note_items(stored.notes) if shares else [],
    )


def note_items(notes: Sequence[NoteRow]) -> list[NoteItem]:
    """Return the notes that a producer reads; erased ones and assignments are left out."""
    return [note_item(note) for note in notes if note.kind != "assignment" and note.text != ERASED_NOTE]


def note_item(note: NoteRow) -> NoteItem:
    """Return a note as its proposal's producer reads it."""
    return NoteItem(
        note_id=note.note_id,
        at=format_time(note.written_at),
        author="producer" if note.person is None else "curator",
        kind=cast("NoteKind", note.kind),
        text=note.text,
    )


def memory_item(hit: MemoryHit) -> MemoryItem:
    """Return a memory as agents read it."""
    return MemoryItem(**_members(hit))


def _members(hit: MemoryHit) -> dict[str, Any]:
    """Return the members of a memory as agents read it."""
    payload = hit.payload
    return {
        "memory_id": hit.memory_id,
        "content": payload["content"],
        "kind": payload["kind"],
        "tags": payload.get("tags", []),
        "attributes": payload.get("attributes", {}),
        "submission_scope": hit.submission_scope,
        "scope_id": hit.scope_id,
        "source_span": hit.source_span,
        "supersedes": hit.replaces or hit.supersedes,
        "derived_from": hit.derived_from or [],
        "admitted_at": format_time(hit.admitted_at),
        "producer_identity": hit.producer_identity,
        "approvals": hit.approvals,
        "evidence": hit.evidence,
        "review_record_ids": hit.review_record_ids,
    }


def _detail(hit: MemoryHit, end: MemoryEnd | None) -> MemoryDetail:
    members = _members(hit)
    if end is None:
        return MemoryDetail(**members, state=hit.state, ended_at=None, superseded_by=None)
    members["review_record_ids"] = list(dict.fromkeys([*hit.review_record_ids, end.review_record_id]))
    return MemoryDetail(**members, state=hit.state, ended_at=format_time(end.ended_at), superseded_by=end.superseded_by)

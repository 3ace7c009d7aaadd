"""Retention: which texts the policy no longer keeps, and what an archive of them holds."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec import Struct

from antechamber.core.contract import SCOPES, Scope
from antechamber.core.conversion import parse_json
from antechamber.core.errors import AntechamberError
from antechamber.core.policy import DAY, Policy, Rules

RetainedKind = Literal["rejected", "conflict", "withdrawn", "ended"]
"""Rejected proposals, settled conflicts, proposals that their producer withdrew as private (once they are decided), and
proposals whose memories have all ended."""
KINDS: Final[tuple[RetainedKind, ...]] = get_args(RetainedKind)
HOUR: Final = DAY // 24


class RetentionError(AntechamberError):
    """Raised when nothing can be removed; the message explains what to do."""


class Window(Struct, frozen=True, kw_only=True):
    """Texts of one kind in one kind of scope that are removed: those that were decided or ended until a time.

    `until` is in microseconds since 1970 UTC.
    """

    kind: RetainedKind
    submission_scope: Scope
    until: int


class ExpiredItem(Struct, frozen=True, kw_only=True):
    """A proposal or conflict whose text is to be removed; `bytes` counts its payloads and source.

    `since` is when it was decided or ended. `supersedes` and `derived_from` are its claims, as JSON.
    """

    id: int
    subject: str
    kind: RetainedKind
    submission_scope: Scope
    since: int
    bytes: int
    supersedes: str | None
    derived_from: str | None


class RetentionRun(Struct, frozen=True, kw_only=True):
    """One run: the SHA-256 of its archive, the size of the log that proves it, and its number of items."""

    retention_id: str
    archive: str
    size: int
    items: int
    policy_digest: str
    begun_at: int


class Removal(Struct, frozen=True, kw_only=True):
    """A proposal or conflict in an archive, with the number of its records there."""

    subject: str
    records: int


class PlanRow(Struct, frozen=True, kw_only=True):
    """What would be removed of one kind in one kind of scope; `oldest` is in microseconds since 1970 UTC."""

    submission_scope: Scope
    kind: RetainedKind
    items: int
    bytes: int
    oldest: int


def windows(policy: Policy, now: int) -> list[Window]:
    """Return the windows of a policy at time `now`; none for texts that are kept without limit."""
    found = []
    for scope in SCOPES:
        rules = policy.rules(scope)
        days: dict[RetainedKind, int] = {
            "rejected": rules.keep_rejected_days,
            "conflict": rules.keep_rejected_days,
            "withdrawn": rules.keep_withdrawn_days,
            "ended": rules.keep_ended_days,
        }
        found += [
            Window(kind=kind, submission_scope=scope, until=now - days[kind] * DAY) for kind in KINDS if days[kind]
        ]
    return found


def limited_scopes(policy: Policy) -> list[tuple[Scope, Rules]]:
    """Return the kinds of scope in which some texts are not kept without limit, with their rules."""
    scopes = dict.fromkeys(window.submission_scope for window in windows(policy, 0))
    return [(scope, policy.rules(scope)) for scope in scopes]


def summarize(items: Iterable[ExpiredItem]) -> list[PlanRow]:
    """Return one row for each kind of scope and kind of text, in the order of their first items."""
    rows: dict[tuple[Scope, RetainedKind], PlanRow] = {}
    for item in items:
        key = (item.submission_scope, item.kind)
        before = rows.get(key)
        rows[key] = PlanRow(
            submission_scope=item.submission_scope,
            kind=item.kind,
            items=1 + (before.items if before else 0),
            bytes=item.bytes + (before.bytes if before else 0),
            oldest=min(item.since, before.oldest if before else item.since),
        )
    return list(rows.values())


class _Record(Struct, kw_only=True):
    """A line of an archive: a record with its leaf, or the closing record."""

    record: str
    leaf: dict[str, Any] | None = None


def read_archive(lines: Iterable[bytes]) -> Iterator[Removal]:
    """Yield each proposal and conflict whose event is in an archive; its bytes must have the digest of a run.

    Raises RetentionError if it is no archive.
    """
    events, records = [], Counter[str]()
    for line in lines:
        try:
            found = parse_json(line, _Record)
        except msgspec.MsgspecError:
            message = "the file is no archive of retention"
            raise RetentionError(message) from None
        if found.leaf is not None:
            subject = _item_of(found.leaf)
            records[subject] += 1
            if found.record == "disposition":
                events.append(subject)
    for subject in events:
        yield Removal(subject=subject, records=records[subject])


def _item_of(leaf: dict[str, Any]) -> str:
    """Return the proposal or conflict that a leaf belongs to."""
    subject: dict[str, str] = leaf["subject"]
    return subject.get("proposal_id") or subject["quarantine_id"]

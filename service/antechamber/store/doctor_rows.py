"""The doctor's check of rows against each other: values that two tables record must agree."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec

from antechamber.core.admission.disposition import MOST_REASONS
from antechamber.core.conversion import parse_json
from antechamber.core.log.leaf import account_members, token_members, webhook_members
from antechamber.core.review.decision import ERASED
from antechamber.core.review.queue_order import spaced
from antechamber.core.review.similarity import plain
from antechamber.store.statements import Statements

SqlRow = dict[str, Any]
_CROSSED: Final = (
    "crossed_proposals",
    "crossed_states",
    "crossed_evidence",
    "crossed_submissions",
    "crossed_quarantine",
    "crossed_sealed_events",
    "crossed_records",
    "crossed_notes",
    "crossed_memories",
    "crossed_search",
    "crossed_changes",
    "crossed_folds",
    "crossed_upkeep",
    "crossed_blind_items",
)


class RowCheck:
    """Compares rows of the store with each other, with the policies of their time, and with the leaves of access."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def check(self) -> Iterator[str]:
        """Yield a finding for each difference; nothing is repaired."""
        for name in _CROSSED:
            for row in self._sql.all(name):
                yield row["finding"]
        policies = dict(self._policies())
        for row in self._sql.each("owned_submissions"):
            policy = policies.get(row["policy_digest"])
            if policy is not None and row["owner"] != _owner(policy, row["producer_identity"]):
                yield f"{row['what']} has another owner than the policy of its time named"
        for row in self._sql.each("required_approvals"):
            policy = policies.get(row["policy_digest"])
            if policy is not None and row["approvals_required"] < _curators(policy, row["submission_scope"]):
                yield f"review record {row['review_record_id']} needs fewer approvals than the policy of its time"
            if policy is not None and row["self_edit"] and not _lets_edit_alone(policy, row["submission_scope"]):
                yield f"review record {row['review_record_id']} lets its editor approve alone, against its policy"
        yield from self._check_derivations()
        yield from self._check_folds()
        yield from self._check_findings()
        yield from self._check_tokens()
        yield from self._check_users()
        yield from self._check_webhooks()

    def _policies(self) -> Iterator[tuple[str, SqlRow]]:
        """Yield digests and policies that can be read; the log check finds a text that does not match its digest."""
        for row in self._sql.all("logged_policies"):
            try:
                policy = msgspec.json.decode(row["policy"])
            except msgspec.MsgspecError:
                continue
            if isinstance(policy, dict):
                yield row["policy_digest"], policy

    def _check_derivations(self) -> Iterator[str]:
        for _, group in groupby(self._sql.each("claimed_derivations"), itemgetter("id")):
            rows = list(group)
            kept = {row["memory_id"] for row in rows if row["memory_id"] is not None}
            if _claimed(rows[0]["derived_from"]) != kept:
                what = rows[0]["proposal_id"] or f"number {rows[0]['id']}"
                yield f"proposal {what} is found as derived from other memories than it claims"

    def _check_folds(self) -> Iterator[str]:
        """Compare rows of the queue that are shown with the proposals in them, one of which made the row.

        Rank, turn and marks follow from the rules of the time of sorting, and are not compared.
        """
        for number, group in groupby(self._sql.each("shown_folds"), itemgetter("id")):
            rows = list(group)
            # An erased text is replaced by that of another proposal that waited then.
            erased = any(row["payload"] == ERASED for row in rows)
            if not any(_made(row, erased=erased) for row in rows):
                yield f"row {number} of the queue has another producer, owner, kind, text or tags than its proposals"

    def _check_findings(self) -> Iterator[str]:
        for row in self._sql.each("refused_findings"):
            if _named(row["findings"]) != _answered(row["answer"]):
                yield f"refused event {row['quarantine_id']} has other findings than its answer"

    def _check_tokens(self) -> Iterator[str]:
        for row in self._sql.all("granted_tokens"):
            leaf = self._subject(row["token_id"], "issue-token")
            try:
                expected = token_members(row | {"read": msgspec.json.decode(row["read"])})
            except (msgspec.MsgspecError, ArithmeticError, TypeError, ValueError):
                expected = {}
            if leaf is not None and leaf != expected:
                yield f"token {row['token_id']} has another name, role, scope, expiry or secret than its leaf"

    def _check_users(self) -> Iterator[str]:
        for row in self._sql.all("known_users"):
            leaf = self._subject(row["name"], "add-user")
            if leaf is None:
                continue
            if leaf.get("person") != row["person"]:
                yield f"account {row['name']} is of another person than its leaf says"
            logged = row["changed"] or leaf.get("password")
            if account_members(row["name"], row["person"], row["password"]).get("password") != logged:
                yield f"account {row['name']} has another password than its last leaf says"

    def _check_webhooks(self) -> Iterator[str]:
        for row in self._sql.all("logged_webhooks"):
            leaf = self._subject(row["webhook_id"], "add-webhook")
            try:
                expected = webhook_members(row | {"events": msgspec.json.decode(row["events"])})
            except (msgspec.MsgspecError, ArithmeticError, TypeError, ValueError):
                expected = {}
            if leaf is not None and leaf != expected:
                yield f"webhook {row['webhook_id']} has another URL or other events than its leaf"
        for row in self._sql.all("replayed_webhooks"):
            leaf = self._subject(row["replay_id"], "replay-webhook")
            if leaf is not None and leaf != row | {"sequence": str(row["sequence"])}:
                yield f"replay {row['replay_id']} is of another webhook or sequence than its leaf"

    def _subject(self, subject: str, action: str) -> SqlRow | None:
        """Return the subject of the first leaf with this action; None if there is none."""
        for row in self._sql.all("leaves_of", subject=subject):
            leaf = _decoded(row["leaf"])
            if leaf.get("action") == action and isinstance(leaf.get("subject"), dict):
                named: SqlRow = leaf["subject"]
                return named
        return None


def _decoded(leaf: str) -> SqlRow:
    """Return the decoded leaf; an empty dict if it cannot be read, which the log check reports."""
    try:
        decoded = msgspec.json.decode(leaf)
    except msgspec.MsgspecError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _claimed(derived_from: str | None) -> set[str] | None:
    """Return the ids that a proposal claims to be derived from; None if they cannot be read."""
    try:
        return set() if derived_from is None else parse_json(derived_from, set[str])
    except msgspec.MsgspecError:
        return None


def _made(row: SqlRow, *, erased: bool) -> bool:
    """Return whether a proposal made the row of the queue that it is in."""
    if (row["maker"], row["maker_owner"]) != (row["producer"], row["owner"]):
        return False
    payload = _decoded(row["payload"])
    shown = (payload.get("kind"), plain(str(payload.get("content"))), spaced(payload.get("tags", [])))
    return erased or shown == (row["kind"], row["content"], row["tags"])


def _named(findings: str) -> list[tuple[Any, Any]] | None:
    """Return the places and rules of findings, as many as an answer names; None if they cannot be read."""
    try:
        return list(dict.fromkeys((one["pointer"], one["rule_id"]) for one in msgspec.json.decode(findings)))[
            :MOST_REASONS
        ]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return None


def _answered(answer: str) -> list[tuple[Any, Any]]:
    """Return the places and rules that an answer names; the log check reports one that cannot be read."""
    reasons = _decoded(answer).get("reasons", [])
    private = [reason for reason in reasons if reason["code"] == "private-detected"]
    return [(reason["pointer"], reason["message"].partition(": ")[0]) for reason in private]


def _owner(policy: SqlRow, producer_identity: str) -> str:
    """Return the producer's owner in a policy; an empty text if the policy does not list the producer."""
    return str(policy.get("producers", {}).get(producer_identity, {}).get("owner", ""))


def _lets_edit_alone(policy: SqlRow, scope: str) -> bool:
    """Return whether the editor of a text could be its only approver in a scope."""
    special = policy.get("scopes", {}).get(scope, {}).get("self_edit")
    allowed = policy.get("defaults", {}).get("self_edit") if special is None else special
    return bool(allowed) and _curators(policy, scope) == 1


def _curators(policy: SqlRow, scope: str) -> int:
    """Return how many people had to approve in a scope."""
    special = policy.get("scopes", {}).get(scope, {}).get("curators")
    return int(special or policy.get("defaults", {}).get("curators") or 1)

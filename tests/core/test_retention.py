"""Retention: windows of a policy, the summary of a plan, and the items of an archive."""

from typing import Any

import msgspec
import pytest

from antechamber.core.policy import DAY, Limits, Policy, Rules, ScopeRules
from antechamber.core.retention import (
    ExpiredItem,
    PlanRow,
    Removal,
    RetainedKind,
    RetentionError,
    Window,
    read_archive,
    summarize,
    windows,
)

NOW = 1_000 * DAY


def item(kind: RetainedKind = "rejected", **members: Any) -> ExpiredItem:
    """Return an item of a project."""
    given: dict[str, Any] = {"id": 1, "subject": "p-1", "submission_scope": "project", "since": 5, "bytes": 10}
    return ExpiredItem(kind=kind, **given | {"supersedes": None, "derived_from": None} | members)


def line(record: str, **subject: str) -> bytes:
    """Return a line of an archive."""
    return msgspec.json.encode({"record": record, "leaf": {"subject": subject}})


def test_a_policy_without_windows_keeps_every_text() -> None:
    """The default removes nothing."""
    assert windows(Policy(), NOW) == []
    assert Limits().keep_hourly_counts_days == 0


def test_each_scope_has_the_windows_of_its_rules() -> None:
    """A scope may have a window of its own, or none although the default has one."""
    policy = Policy(
        defaults=Rules(keep_rejected_days=30, keep_ended_days=60),
        scopes={"session": ScopeRules(keep_rejected_days=0, keep_withdrawn_days=7)},
    )
    found = windows(policy, NOW)
    assert [(one.kind, one.until) for one in found if one.submission_scope == "session"] == [
        ("withdrawn", NOW - 7 * DAY),
        ("ended", NOW - 60 * DAY),
    ]
    assert [one for one in found if one.submission_scope == "project"] == [
        Window(kind="rejected", submission_scope="project", until=NOW - 30 * DAY),
        Window(kind="conflict", submission_scope="project", until=NOW - 30 * DAY),
        Window(kind="ended", submission_scope="project", until=NOW - 60 * DAY),
    ]


def test_a_plan_counts_items_and_bytes_and_names_the_oldest() -> None:
    """Each kind of each scope is one row."""
    rows = summarize([item(since=7), item(since=3, bytes=5), item(since=9), item("ended", bytes=1)])
    assert rows == [
        PlanRow(submission_scope="project", kind="rejected", items=3, bytes=25, oldest=3),
        PlanRow(submission_scope="project", kind="ended", items=1, bytes=1, oldest=5),
    ]
    assert summarize([]) == []


def test_an_archive_names_its_items_with_the_number_of_their_records() -> None:
    """Records of a proposal and of a conflict are counted apart; the closing record is none."""
    lines = [
        line("disposition", submission_id="s-1", proposal_id="p-1"),
        line("disposition", quarantine_id="q-1"),
        line("note", note_id="n-1", proposal_id="p-1"),
        line("review", review_record_id="r-1", quarantine_id="q-1"),
        line("review", review_record_id="r-2", proposal_id="p-1"),
        b'{"record":"closing"}',
    ]
    assert list(read_archive(lines)) == [Removal(subject="p-1", records=3), Removal(subject="q-1", records=2)]


@pytest.mark.parametrize("broken", [b"", b"[]", b"\xff", b'{"record":1}', b'{"leaf":{}}'])
def test_another_file_is_no_archive(broken: bytes) -> None:
    """A line that is no record is refused."""
    with pytest.raises(RetentionError, match="is no archive"):
        list(read_archive([broken]))

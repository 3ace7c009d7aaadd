"""Parts of retention that the commands reach only in rare cases."""

from typing import Any, cast

from antechamber.core.policy import Policy
from antechamber.core.retention import ExpiredItem
from antechamber.flows.retention.archive import collect
from antechamber.flows.retention.runs import Retention
from support import Service, event


def test_counts_are_kept_by_default() -> None:
    """Without a window the counts are not even read."""
    nothing = cast("Any", None)
    assert Retention(nothing, nothing, Policy(), nothing, nothing).sum_counts() is False


def test_an_item_with_a_record_after_the_checkpoint_is_left_out(service: Service) -> None:
    """A checkpoint proves only what came before it; an item without records is left out, too."""
    proposal = service.submit(event()).json()["proposal_id"]
    assert service.sign_in().decide(proposal, "reject", reason_code="wrong").status_code == 303
    store = service.state.desk._store
    members: dict[str, Any] = {"kind": "rejected", "submission_scope": "project", "since": 1, "bytes": 1}
    claims = {"supersedes": None, "derived_from": None}
    first = ExpiredItem(id=1, subject=proposal, **members, **claims)
    with store.read() as tx:
        size = tx.log.size()
        last = tx.retention.leaves_with_text(first)[-1]
    assert collect(store, [first], last + 1).items == 1
    assert collect(store, [first, ExpiredItem(id=99, subject="p", **members, **claims)], size).items == 1
    assert collect(store, [first], last).items == 0

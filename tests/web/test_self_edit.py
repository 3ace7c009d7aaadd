"""A team of one: the policy lets the editor of a text be its only approver, and the record says so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antechamber import app
from antechamber.resources import verifier
from antechamber.settings import Location
from support import PRODUCERS, Service, database, event, running, write_policies

ALONE = "[defaults]\nself_edit = true\n"


def records(service: Service) -> list[dict[str, Any]]:
    """Return the exported review records."""
    answer = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [json.loads(line) for line in answer.text.splitlines()[:-1]]


def verified(service: Service, folder: Path, change: str = "") -> subprocess.CompletedProcess[str]:
    """Verify an export of the review records, in which `change` replaces `"self_edit":true`."""
    auditor = service.bearer("auditing", "auditor")
    export = service.client.get("/v1/audit/review-records", headers=auditor).text
    assert '"self_edit":true' in export
    files = {
        "export": export.replace('"self_edit":true', change or '"self_edit":true'),
        "checkpoint": service.client.get("/v1/audit/checkpoint", headers=auditor).text,
        "key": service.client.get("/v1/audit/key", headers=auditor).text,
    }
    for name, text in files.items():
        (folder / name).write_text(text, newline="")
    names = [str(folder / name) for name in files]
    command = [sys.executable, str(verifier()), names[0], "--records", "--checkpoint", names[1], "--key-file", names[2]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 -- our own program


def test_an_editor_finishes_alone_and_the_record_says_so(location: Location, tmp_path: Path) -> None:
    """The edit admits the text; the export says that the editor approved it alone, and a change of that is noticed."""
    with running(location, write_policies(tmp_path / "policies", scopes=ALONE)) as service:
        proposal = service.submit(event("Deploy on Fridys.")).json()["proposal_id"]
        bob = service.sign_in("bob")
        assert "approve your own edit alone" in bob.browser.get(f"/review/{proposal}").text
        form = bob.form(proposal) | {"content": "Deploy on Fridays.", "reason_code": "wrong"}
        preview = bob.post(f"/review/{proposal}/edit", form)
        assert "Save and approve" in preview.text
        saved = bob.post(f"/review/{proposal}/edit", bob.draft(preview.text))
        assert saved.headers["location"] == f"/review?done=approved&last={proposal}"
        assert [item["content"] for item in service.recall()] == ["Deploy on Fridays."]
        assert service.recall()[0]["approvals"] == 1
        [record] = records(service)
        assert (record["decision"], record["self_edit"], record["approvals_required"]) == ("edit", True, 2)
        assert verified(service, tmp_path).returncode == 0
        for change in ('"self_edit":false', '"self_edit":1', '"self_edit":null'):
            assert verified(service, tmp_path, change).returncode == 1
        assert "approved alone" in service.sign_in("ava", "auditor").browser.get("/audit").text
        assert app.examine(location) == []
        # The curator takes it back, and it waits again.
        assert bob.decide(proposal, "undo").status_code == 303
        assert service.recall() == []
        assert bob.decide(proposal, "approve").status_code == 303
        assert [item["content"] for item in service.recall()] == ["Deploy on Fridys."]
        assert [record["self_edit"] for record in records(service)] == [True, False, False]
    assert app.examine(location) == []


def test_an_edit_that_waited_is_finished_once_the_policy_allows_it(location: Location, tmp_path: Path) -> None:
    """Before, the desk says which setting would allow it; then the editor approves the edit, also as superseding."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        proposal = service.submit(event("Deploy on Fridys.")).json()["proposal_id"]
        bob = service.sign_in("bob")
        assert bob.decide(proposal, "edit", content="Deploy on Fridays.", reason_code="wrong").status_code == 303
        page = bob.browser.get(f"/review/{proposal}").text
        assert "self_edit = true for this scope" in page
        assert bob.decide(proposal, "approve").status_code == 403
    write_policies(policies, scopes=ALONE)
    with running(location, policies) as service:
        bob = service.sign_in("bob")
        assert "the policy lets its editor approve it alone" in bob.browser.get(f"/review/{proposal}").text
        assert bob.decide(proposal, "approve").status_code == 303
        assert [item["content"] for item in service.recall()] == ["Deploy on Fridays."]
        assert [(one["decision"], one["self_edit"]) for one in records(service)] == [("edit", False), ("approve", True)]
    assert app.examine(location) == []


def test_two_persons_stay_two_where_they_are_wanted(location: Location, tmp_path: Path) -> None:
    """A scope of two persons and a requested second review are not finished alone, and owners never judge."""
    with running(location, write_policies(tmp_path / "policies", scopes=ALONE)) as service:
        wide = service.submit(event("Wide.", submission_scope="organization", scope_id="labs")).json()["proposal_id"]
        flagged = service.submit(event("Flagged.")).json()["proposal_id"]
        bob, ada = service.sign_in("bob"), service.sign_in("ada")
        assert bob.decide(flagged, "flag").status_code == 303
        for proposal in (wide, flagged):
            answer = bob.decide(proposal, "edit", content="Changed.", reason_code="wrong")
            assert "done=waits" in answer.headers["location"]
        assert "self_edit" not in bob.browser.get(f"/review/{wide}").text
        assert ada.decide(wide, "approve").status_code == 403
        assert "No setting changes that" in ada.browser.get(f"/review/{wide}").text
        assert service.recall() == []
        assert [record["self_edit"] for record in records(service)] == [False] * 3


@pytest.mark.parametrize(
    ("policy", "sql", "finding"),
    [
        (ALONE, "UPDATE review_records SET self_edit = 0", "differs from what its leaf commits to"),
        (ALONE, "UPDATE review_records SET self_edit = 1 WHERE decision = 'approve'", "who did not edit the text"),
        ("", "UPDATE review_records SET self_edit = 1 WHERE decision = 'edit'", "against its policy"),
    ],
)
def test_the_doctor_finds_a_changed_self_edit(
    location: Location, tmp_path: Path, policy: str, sql: str, finding: str
) -> None:
    """A mark that was set or removed behind the triggers is a finding, and so is one that the policy did not allow."""
    with running(location, write_policies(tmp_path / "policies", PRODUCERS, scopes=policy)) as service:
        first, second = (service.submit(event(text)).json()["proposal_id"] for text in ("One.", "Two."))
        bob = service.sign_in("bob")
        assert bob.decide(first, "edit", content="Changed.", reason_code="wrong").status_code == 303
        assert bob.decide(second, "flag").status_code == 303
        assert bob.decide(second, "approve").status_code == 303
    assert app.examine(location) == []
    with database(location) as owner:
        if location.database_url is None:
            owner.execute("DROP TRIGGER review_records_keep_their_self_edit")
        else:
            owner.execute("ALTER TABLE review_records DISABLE TRIGGER USER")
        owner.execute(sql)
    assert any(finding in one for one in app.examine(location))

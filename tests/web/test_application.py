"""Applications of one process, which share their routes."""

from pathlib import Path

from support import event, running


def test_two_services_in_one_process_share_no_data(tmp_path: Path, policies: Path) -> None:
    """Each service answers from its own store, knows only its own tokens and people, and survives the other's stop."""
    with running(tmp_path / "first", policies) as first:
        with running(tmp_path / "second", policies) as second:
            receipt = first.submit(event()).json()
            kept = f"/v1/submissions/{receipt['submission_id']}"
            assert first.client.get(kept, headers=first.bearer()).status_code == 200
            assert second.client.get(kept, headers=second.bearer()).status_code == 404
            assert first.client.get(kept, headers=second.bearer()).status_code == 401
            first.wait_until_sorted()
            assert receipt["proposal_id"] in first.sign_in().browser.get("/review").text
            assert receipt["proposal_id"] not in second.sign_in().browser.get("/review").text
        assert first.client.get(kept, headers=first.bearer()).status_code == 200

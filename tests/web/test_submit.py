"""Submitting over HTTP: every row of the table of outcomes."""

from support import Service, event


def test_a_new_event_is_accepted_for_review_with_a_location(service: Service) -> None:
    """A new event is accepted for review with a location."""
    response = service.submit(event())
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/submissions/{response.json()['submission_id']}"


def test_the_whole_way_to_a_memory(service: Service) -> None:
    """What a curator approves is what agents read; before that they read nothing."""
    proposal = service.submit(event()).json()["proposal_id"]
    assert service.recall() == []
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["Run the migration before the deploy."]

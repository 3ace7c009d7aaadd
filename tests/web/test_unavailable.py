"""While the store cannot answer, programs and people get a clear 503, nothing is lost, and the service recovers."""

from antechamber.settings import Location
from support import Service, database, event, locked


def break_table(location: Location, name: str) -> None:
    """Drop a table under the running service."""
    with database(location) as owner:
        owner.execute(f"ALTER TABLE {name} RENAME TO {name}_gone")


def test_a_decision_that_cannot_be_stored_keeps_what_was_typed(service: Service) -> None:
    """The curator sees that nothing was recorded, and the typed text is kept."""
    proposal, desk = service.submit(event()).json()["proposal_id"], service.sign_in()
    fields = desk.form(proposal) | {"content": "My careful wording.", "reason_code": "unclear"}
    fields = desk.draft(desk.post(f"/review/{proposal}/edit", fields).text)
    with locked(service.location):
        answer = desk.post(f"/review/{proposal}/edit", fields)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "My careful wording." in answer.text
    assert "Nothing" in answer.text or "Not recorded" in answer.text
    assert "None yet." in desk.browser.get(f"/review/{proposal}").text
    assert desk.post(f"/review/{proposal}/edit", fields).status_code == 303


def test_a_sign_in_that_cannot_be_stored_names_the_time_to_retry(service: Service) -> None:
    """A sign-in that cannot be stored gives 503 with a time to retry, and the link stays valid."""
    service.state.access.accounts.add("bob", "curator", None, None)
    link = {"link": service.state.access.sign_in.create_link("bob")}
    with locked(service.location):
        answer = service.client.post("/login", data=link, follow_redirects=False)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "Nothing was changed" in answer.text
    assert service.client.post("/login", data=link, follow_redirects=False).status_code == 303


def test_reading_from_a_broken_store_is_a_problem_for_agents(service: Service) -> None:
    """Agents get the contract's problem details with Retry-After."""
    headers = service.bearer()
    assert service.recall() == []
    break_table(service.location, "memories")
    params = {"submission_scope": "project", "scope_id": "apollo"}
    answer = service.client.get("/v1/memories", params=params, headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["type"] == "/contract#unavailable"


def test_a_broken_store_is_not_ready(service: Service) -> None:
    """/readyz gives 503 and reveals nothing more to the public."""
    assert service.client.get("/readyz").json() == {"status": "ready"}
    break_table(service.location, "meta")
    answer = service.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert service.client.get("/healthz").json() == {"status": "ok"}

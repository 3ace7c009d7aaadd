"""An event that its producer declares private after a curator decided on it: curators learn of it, and decide."""

import re

from support import Service, event


def message_of(answer: dict[str, object]) -> str:
    """Return the message of the reason that names the key."""
    reasons = answer["reasons"]
    assert isinstance(reasons, list)
    (message,) = [reason["message"] for reason in reasons if reason["code"] == "key-reused"]
    return str(message)


def test_a_memory_whose_event_was_declared_private_later_says_so_until_it_is_retracted(service: Service) -> None:
    """The pages of memory, proposal, memories and dashboard say so; nothing is retracted without a curator."""
    body = event()
    proposal = service.submit(body).json()["proposal_id"]
    desk = service.sign_in()
    assert desk.decide(proposal, "approve").status_code == 303
    (memory,) = service.recall()
    page = f"/memories/{memory['memory_id']}"
    view = "/memories?view=declared-private"
    for path in (page, f"/review/{proposal}"):
        assert "declared the event private" not in desk.browser.get(path).text
    assert memory["memory_id"] not in desk.browser.get(view).text
    assert "declared private later" not in desk.browser.get("/dashboard").text

    answer = service.submit({**body, "visibility": "private"}).json()
    assert "same event with another visibility" in message_of(answer)
    assert service.recall() == [memory]
    for path in (page, f"/review/{proposal}"):
        text = desk.browser.get(path).text
        assert "declared the event private" in text
        assert f'href="/quarantine/{answer["quarantine_id"]}"' in text
        assert "agents still read it" in text.lower()
        assert "etract it" in text
    assert "declared private later" in desk.browser.get(f"/review/{proposal}").text
    assert memory["memory_id"] in desk.browser.get(view).text
    assert memory["memory_id"] in desk.browser.get(f"{view}&scope=project:apollo").text
    assert memory["memory_id"] not in desk.browser.get(f"{view}&scope=project:gemini").text
    assert re.search(r"Declared private\s+<[^>]*>1<", desk.browser.get("/memories").text)
    assert "memories declared private later" in desk.browser.get("/dashboard").text

    assert desk.decide(proposal, "retract", reason_code="private").status_code == 303
    assert service.recall() == []
    for path in (page, f"/review/{proposal}"):
        text = desk.browser.get(path).text
        assert "agents still read it" not in text.lower()
        assert "can erase its text" in text
    assert memory["memory_id"] not in desk.browser.get(view).text
    assert "declared private later" not in desk.browser.get("/dashboard").text


def test_a_curator_who_settles_the_conflict_takes_the_memory_off_the_list(service: Service) -> None:
    """A conflict that a curator settled asks for nothing more; the page of the memory still names it."""
    body = event()
    proposal = service.submit(body).json()["proposal_id"]
    desk = service.sign_in()
    assert desk.decide(proposal, "approve").status_code == 303
    answer = service.submit({**body, "visibility": "private"}).json()
    (memory,) = service.recall()
    text = desk.browser.get(f"/quarantine/{answer['quarantine_id']}").text
    form = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', text))
    form |= {"reason_code": "other", "reason_text": "Harmless."}
    assert desk.post(f"/quarantine/{answer['quarantine_id']}/keep", form).status_code == 303
    assert memory["memory_id"] not in desk.browser.get("/memories?view=declared-private").text
    assert "declared the event private" in desk.browser.get(f"/memories/{memory['memory_id']}").text


def test_a_reused_key_says_what_differs(service: Service) -> None:
    """The message names another event only where the event is another one."""
    service.submit(event(idempotency_key="a"))
    other = service.submit(event("Something else.", idempotency_key="a", visibility="private")).json()
    assert message_of(other) == "this key belongs to another event"
    same = service.submit(event(idempotency_key="a", visibility="shareable")).json()
    assert message_of(same).startswith("this key belongs to the same event with another visibility")
    service.submit(event(idempotency_key="b", visibility="private"))
    refused = service.submit(event(idempotency_key="b")).json()
    assert message_of(refused) == "this key belongs to an event that was refused as private"

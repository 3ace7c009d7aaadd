"""Actions of a person whose session or account ends at the same moment lead to the sign-in and record nothing."""

import html
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import pytest

from antechamber import app
from support import Desk, Service, database, event

PROPOSALS = 8


@pytest.fixture
def bob(service: Service) -> Desk:
    """A curator whose session is cached and not looked up again, because the clock does not move."""
    desk = service.sign_in("bob")
    moment = app.clock()
    service.set_access_clock(lambda: moment)
    assert desk.browser.get("/review").status_code == 200
    return desk


def end(service: Service, bob: Desk, how: str) -> None:
    """End a session in another process's way: the service notices within a second."""
    if how == "another role":
        with database(service.location) as owner:
            owner.execute("UPDATE users SET role = 'auditor' WHERE name = 'bob'")
        return
    with app.opened_access(service.location) as access:
        if how == "disabled":
            assert access.accounts.disable("bob")
        else:
            person = access.sessions.account(bob.browser.cookies["antechamber"])
            assert person
            access.sessions.end(person)


def records(service: Service) -> int:
    """Return the number of recorded decisions."""
    with service.state.desk._store.read() as tx:
        return len(tx.review.latest_decisions(100))


@pytest.mark.parametrize("how", ["disabled", "signed out", "another role"])
@pytest.mark.parametrize("act", ["approve", "edit", "skip", "claim"])
def test_an_act_after_the_end_of_a_session_is_signed_out(service: Service, bob: Desk, act: str, how: str) -> None:
    """An action after a session's end leads to the sign-in, even if it is cached, and keeps typed text."""
    proposal = service.submit(event()).json()["proposal_id"]
    form = bob.form(proposal) | {"content": "What was typed.", "reason_code": "unclear", "reason_text": "And why."}
    end(service, bob, how)
    answer = bob.post(f"/review/{proposal}/{act}", form)
    assert answer.status_code == 401
    assert "What was typed." in answer.text
    assert "And why." in answer.text
    assert records(service) == 0


def test_choices_and_groups_are_signed_out_too(service: Service, bob: Desk) -> None:
    """Views, shortcuts, the next proposal and groups lead to the sign-in as well."""
    proposal = service.submit(event()).json()["proposal_id"]
    form = bob.form(proposal)
    chosen = f"{proposal} {form['version']} {form['shown_hash']}"
    end(service, bob, "disabled")
    sent: dict[str, dict[str, str]] = {
        "/review/views": {"name": "mine", "q": "kind:fact"},
        "/settings": {},
        "/review/next": {},
        f"/review/group/reject?like={proposal}": {"item-1": chosen, "reason_code": "wrong"},
    }
    assert {path: bob.post(path, form | fields).status_code for path, fields in sent.items()} == dict.fromkeys(
        sent, 401
    )
    assert records(service) == 0


def test_a_quarantined_event_is_not_settled_after_the_end_of_a_session(service: Service, bob: Desk) -> None:
    """After the end of a session a quarantined event is neither decided nor opened."""
    service.submit(event("One.", idempotency_key="same"))
    quarantined = service.submit(event("Another.", idempotency_key="same")).json()["quarantine_id"]
    csrf = bob.form(service.submit(event()).json()["proposal_id"])["csrf"]
    end(service, bob, "disabled")
    form = {"csrf": csrf, "version": "0", "decision_key": "k", "reason_code": "other", "reason_text": "And why."}
    answer = bob.post(f"/quarantine/{quarantined}/open", form)
    assert answer.status_code == 401
    assert "And why." in answer.text
    with service.state.desk._store.read() as tx:
        assert tx.queue.count_pending(10) == 2


def test_decisions_while_an_account_is_disabled_are_whole_or_not_at_all(service: Service, bob: Desk) -> None:
    """When the account is disabled amid many decisions, each is either recorded or its sender is signed out."""
    proposals = [service.submit(event(f"Sentence {number}.")).json()["proposal_id"] for number in range(PROPOSALS)]
    forms = {one: bob.form(one) | {"reason_code": "wrong"} for one in proposals}

    def decide(proposal: str) -> int:
        status: int = bob.post(f"/review/{proposal}/reject", forms[proposal]).status_code
        return status

    with ThreadPoolExecutor(PROPOSALS + 1) as pool:
        work: list[Any] = [pool.submit(decide, one) for one in proposals[: PROPOSALS // 2]]
        disabling = pool.submit(end, service, bob, "disabled")
        work += [pool.submit(decide, one) for one in proposals[PROPOSALS // 2 :]]
        disabling.result()
        statuses = [one.result() for one in work]
    assert set(statuses) <= {303, 401}
    assert statuses.count(303) == records(service)
    assert decide(proposals[-1]) in {401, 409}


@pytest.mark.parametrize(
    ("path", "query", "back"),
    [
        ("/review/ID/approve", "q=deploy", "/review/ID?q=deploy"),
        ("/review/ID/claim", "", "/review/ID"),
        ("/review/next", "q=deploy", "/review?q=deploy"),
        ("/review/group/reject?like=ID", "", "/review/group?like=ID"),
        ("/quarantine/ID/keep", "q=deploy", "/quarantine/ID?q=deploy"),
        ("/quarantine/group/marks?q=deploy", "", "/quarantine?q=deploy"),
        ("/memories/ID/keep", "", "/memories/ID"),
        ("/memories/propose", "", "/memories/propose"),
        ("/policy/rehearsal/stop", "", "/policy/rehearsal"),
        ("/settings", "", "/settings"),
        ("/settings/password", "", "/settings"),
        ("/operations/revoke-token", "", "/operations"),
    ],
)
def test_the_sign_in_leads_back_to_the_page_of_the_form(service: Service, path: str, query: str, back: str) -> None:
    """A person who was signed out goes on with the same page and filter."""
    proposal = service.submit(event()).json()["proposal_id"]
    answer = service.client.post(path.replace("ID", proposal), data=dict(parse_qsl(query)))
    assert answer.status_code == 401
    link = html.unescape(answer.text).partition('href="/login?next=')[2].partition('"')[0]
    assert unquote_plus(link) == back.replace("ID", proposal)
    page = service.client.get(f"/login?next={link}").text
    assert f'name="next" value="{html.escape(unquote_plus(link))}"' in page

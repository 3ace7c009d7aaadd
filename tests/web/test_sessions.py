"""Sessions under Settings, and sensitive actions that ask for the password again."""

import re

import pytest
from litestar.testing import TestClient

from antechamber import app
from support import URL, Desk, Service, locked

PASSWORD = "a long enough pass phrase"
MINUTE = 60 * 1_000_000


def with_password(service: Service) -> Desk:
    """Sign bob in, who has a password."""
    service.state.access.accounts.add("bob", "curator", None, service.state.passwords.hash(PASSWORD))
    return service.sign_in()


def later(service: Service, minutes: int) -> None:
    """Advance the clock of sign-ins."""
    service.set_access_clock(lambda: app.clock() + minutes * MINUTE)


def fields(desk: Desk, session: str = "others") -> dict[str, str]:
    """Return the fields of the form that ends sessions."""
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/settings").text)
    assert found
    return {"csrf": found[1], "session": session}


def listed(desk: Desk) -> list[str]:
    """Return the names of the other sessions on the page."""
    return re.findall(r'name="session" value="([0-9a-f]{16})"', desk.browser.get("/settings").text)


def is_in(desk: Desk) -> bool:
    """Return whether a session is still valid."""
    return bool(desk.browser.get("/settings", follow_redirects=False).status_code == 200)


def test_people_end_one_of_their_sessions(service: Service, log_lines: list[str]) -> None:
    """The page lists the person's own sessions alone, marks the present one, and ends the one that is named."""
    bob, phone, laptop, eve = (service.sign_in(name) for name in ("bob", "bob", "bob", "eve"))
    page = bob.browser.get("/settings").text
    assert page.count("<strong>This session.</strong>") == 1
    assert page.index("This session") < page.index('name="session"')
    assert len(listed(bob)) == 2
    assert listed(eve) == []
    assert "End all other sessions" not in eve.browser.get("/settings").text
    assert phone.browser.get("/dashboard").status_code == 200
    last_used = listed(bob)[0]
    answer = bob.post("/settings/sessions", fields(bob, last_used))
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings?done=ended#top")
    assert (is_in(bob), is_in(phone), is_in(laptop), is_in(eve)) == (True, False, True, True)
    assert last_used not in listed(bob)
    assert bob.post("/settings/sessions", fields(bob, last_used)).headers["location"].endswith("done=ended-before#top")
    assert any("ended other sessions account=bob sessions=1" in line for line in log_lines)


def test_people_end_all_other_sessions(service: Service) -> None:
    """All sessions but the present one end at once, and none of another person, whatever is named."""
    bob, phone, laptop, eve = (service.sign_in(name) for name in ("bob", "bob", "bob", "eve"))
    named = listed(bob)
    assert eve.post("/settings/sessions", fields(eve, named[0])).headers["location"].endswith("done=ended-before#top")
    assert is_in(phone)
    assert is_in(laptop)
    assert bob.post("/settings/sessions", fields(bob)).status_code == 303
    assert (is_in(bob), is_in(phone), is_in(laptop), is_in(eve)) == (True, False, False, True)
    assert listed(bob) == []


def test_the_list_leaves_out_what_has_ended_by_itself(service: Service) -> None:
    """Idle sessions are not listed, and each listed one says when it was used last."""
    bob, _ = service.sign_in(), service.sign_in()
    later(service, 700)
    assert len(listed(bob)) == 1
    later(service, 721)
    assert listed(bob) == []


@pytest.mark.parametrize("named", ["", "%", "0123456789abcde", "0123456789ABCDEF", "x" * 9_000, "é" * 16])
def test_a_form_that_names_no_session_ends_none(service: Service, named: str) -> None:
    """A name that no session can have is refused, and nothing ends."""
    bob, phone = service.sign_in(), service.sign_in()
    answer = bob.post("/settings/sessions", fields(bob, named))
    assert answer.status_code == 400
    assert "The form names no session" in answer.text
    assert is_in(phone)


def test_forged_and_late_forms_end_no_session(service: Service) -> None:
    """A form of another session or of a session that ended is refused; a busy store says when to try again."""
    bob, phone = service.sign_in(), service.sign_in()
    form = fields(bob)
    assert bob.post("/settings/sessions", form | {"csrf": "x"}).status_code == 403
    with locked(service.location):
        answer = bob.post("/settings/sessions", form)
    assert answer.status_code == 503
    assert "Nothing was ended" in answer.text
    assert is_in(phone)
    assert phone.post("/settings/sessions", fields(phone)).status_code == 303
    # The look-up of a moment ago still knows the session; the transaction does not.
    assert bob.post("/settings/sessions", form).status_code == 401
    assert is_in(phone)


def test_a_sensitive_action_asks_for_the_password_again(service: Service, log_lines: list[str]) -> None:
    """A quarter of an hour after the sign-in an action asks; the right password carries it out, then for as long."""
    bob, phone = with_password(service), service.sign_in()
    form = fields(bob)
    later(service, 16)
    asked = bob.post("/settings/sessions", form)
    assert asked.status_code == 403
    assert "Nothing was done yet" in asked.text
    assert f'name="session" value="{form["session"]}"' in asked.text
    assert is_in(phone)
    wrong = bob.post("/settings/sessions", form | {"confirmation": "another long pass phrase"})
    assert wrong.status_code == 403
    assert "This is not the password" in wrong.text
    assert "another long pass phrase" not in wrong.text
    assert is_in(phone)
    assert bob.post("/settings/sessions", form | {"confirmation": PASSWORD}).status_code == 303
    assert not is_in(phone)
    later(service, 30)
    assert bob.post("/settings/sessions", form).status_code == 303
    later(service, 32)
    assert bob.post("/settings/sessions", form).status_code == 403
    assert any("confirmation failed account=bob" in line for line in log_lines)
    assert any("confirmed account=bob" in line for line in log_lines)


def test_guessing_the_password_of_an_open_session_is_slowed_down(service: Service) -> None:
    """Five wrong passwords block the question, as they block sign-ins."""
    bob = with_password(service)
    form = fields(bob)
    later(service, 16)
    wrong = form | {"confirmation": "x"}
    assert [bob.post("/settings/sessions", wrong).status_code for _ in range(5)] == [403] * 5
    refused = bob.post("/settings/sessions", form | {"confirmation": PASSWORD})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert "Too many failed attempts" in refused.text


def test_a_busy_store_confirms_nothing(service: Service) -> None:
    """While the store cannot count attempts, the question says so and keeps the form."""
    bob, phone = with_password(service), service.sign_in()
    form = fields(bob)
    later(service, 16)
    with locked(service.location):
        answer = bob.post("/settings/sessions", form | {"confirmation": PASSWORD})
    assert answer.status_code == 503
    assert "Try again in a moment" in answer.text
    assert is_in(phone)


def test_a_session_that_ends_meanwhile_confirms_nothing(service: Service) -> None:
    """The password of a session that another browser just ended is not checked."""
    bob, phone = with_password(service), service.sign_in()
    form, other = fields(bob), fields(phone)
    later(service, 16)
    assert is_in(bob)
    remembered = service.state.access.sessions._cache._kept.copy()
    assert phone.post("/settings/sessions", other | {"confirmation": PASSWORD}).status_code == 303
    service.state.access.sessions._cache._kept |= remembered
    frozen = max(at for at, _ in remembered.values())
    service.set_access_clock(lambda: frozen)
    assert bob.post("/settings/sessions", form | {"confirmation": PASSWORD}).status_code == 401


def test_without_a_password_a_sensitive_action_needs_a_new_sign_in(service: Service) -> None:
    """A person who signs in by links is asked to sign in again, also for a first password."""
    bob, phone = service.sign_in(), service.sign_in()
    form = fields(bob)
    later(service, 16)
    asked = bob.post("/settings/sessions", form | {"confirmation": ""})
    assert asked.status_code == 403
    assert "Your account has no password" in asked.text
    assert "confirmation" not in asked.text
    assert is_in(phone)
    first = {"csrf": form["csrf"], "password": PASSWORD, "repeated": PASSWORD}
    asked = bob.post("/settings/password", first)
    assert asked.status_code == 403
    assert PASSWORD not in asked.text
    again = service.sign_in()
    assert again.post("/settings/sessions", fields(again)).status_code == 303
    assert not is_in(bob)
    assert again.post("/settings/password", first | {"csrf": fields(again)["csrf"]}).status_code == 303


def test_the_policy_sets_when_the_password_is_asked_again(service: Service) -> None:
    """`confirm_minutes` of the role decides; an edit takes effect at the next look-up."""
    bob = with_password(service)
    form = fields(bob)
    (service.settings.policies / "people.toml").write_text("[session.curator]\nconfirm_minutes = 60\n")
    service.state.admission._policies.refresh()
    later(service, 59)
    assert bob.post("/settings/sessions", form).status_code == 303
    later(service, 61)
    assert bob.post("/settings/sessions", form).status_code == 403


def test_signing_in_and_out_leaves_lines(service: Service, log_lines: list[str]) -> None:
    """A sign-in, a failed one and a sign-out each leave a line with the account, and never with a password."""
    bob = with_password(service)
    browser = TestClient(service.app, base_url=URL)
    browser.post("/login", data={"name": "bob", "password": "another long pass phrase"})
    bob.post("/logout", fields(bob))
    text = "\n".join(log_lines)
    for line in ("signed in account=bob role=curator by=link", "sign-in failed account=bob", "signed out account=bob"):
        assert line in text
    assert "pass phrase" not in text

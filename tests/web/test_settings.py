"""Personal settings: keyboard shortcuts and password."""

import re

import pytest
from litestar.testing import TestClient

from antechamber import app
from antechamber.core.review.shortcuts import USUAL
from support import URL, Desk, Service, locked

OLD = "the first long pass phrase"
NEW = "the second long pass phrase"


def form(desk: Desk, **chosen: str) -> dict[str, str]:
    """Return the page's form, with some fields changed."""
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/settings").text)
    assert found
    return {"csrf": found[1], "on": "on"} | USUAL | chosen


def keys(desk: Desk) -> str:
    """Return the shortcuts that a page passes to the script."""
    found = re.search(r'data-keys="([^"]*)"', desk.browser.get("/dashboard").text)
    return found[1].replace("&#34;", '"') if found else ""


@pytest.mark.parametrize("role", ["curator", "auditor", "operator"])
def test_each_account_has_its_own_shortcuts(service: Service, role: str) -> None:
    """A choice of shortcuts holds in every session of the person, and for no other person."""
    bob, elsewhere, eve = service.sign_in("bob", role), service.sign_in("bob", role), service.sign_in("eve")
    assert '"approve":"a"' in keys(bob)
    answer = bob.post("/settings", form(bob, approve="y"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings?done=kept")
    assert "Settings saved." in bob.browser.get("/settings?done=kept").text
    assert '"approve":"y"' in keys(bob)
    assert '"approve":"y"' in keys(elsewhere)
    assert '"approve":"a"' in keys(eve)
    off = form(bob)
    del off["on"]
    assert bob.post("/settings", off).status_code == 303
    assert keys(bob) == ""
    assert "shortcuts.js" not in bob.browser.get("/dashboard").text
    assert "<kbd" not in bob.browser.get("/dashboard").text
    assert 'value="a"' in bob.browser.get("/settings").text


def test_dense_lists_are_a_choice_of_each_account(service: Service) -> None:
    """Dense lists are switched on and off together with the shortcuts, for every page and session of one account."""
    bob, elsewhere, eve = service.sign_in("bob"), service.sign_in("bob"), service.sign_in("eve")
    assert bob.post("/settings", form(bob, dense="on")).status_code == 303
    assert 'class="dense"' in bob.browser.get("/review").text
    assert 'class="dense"' in elsewhere.browser.get("/memories").text
    assert 'class="dense"' not in eve.browser.get("/review").text
    assert re.search(r'name="dense" checked', bob.browser.get("/settings").text)
    refused = bob.post("/settings", {name: value for name, value in form(bob, approve="").items() if name != "dense"})
    assert refused.status_code == 400
    assert 'name="dense" checked' not in refused.text
    assert 'class="dense"' in bob.browser.get("/review").text
    assert bob.post("/settings", form(bob)).status_code == 303
    assert 'class="dense"' not in bob.browser.get("/review").text


def test_an_invalid_choice_is_explained_and_kept_in_the_form(service: Service) -> None:
    """An invalid choice is explained and kept in the form, and changes nothing."""
    bob = service.sign_in()
    for chosen, why in (({"approve": "r"}, "the same key"), ({"approve": ""}, "needs one key")):
        answer = bob.post("/settings", form(bob, skip="x", **chosen))
        assert answer.status_code == 400
        assert why in answer.text
        assert re.search(r'name="skip"\s+value="x"', answer.text)
    with locked(service.location):
        answer = bob.post("/settings", form(bob, skip="x"))
    assert answer.status_code == 503
    assert re.search(r'name="skip"\s+value="x"', answer.text)
    assert '"skip":"s"' in keys(bob)


def test_a_forged_form_changes_nothing(service: Service) -> None:
    """A form with another session's token is refused."""
    bob = service.sign_in()
    assert bob.post("/settings", form(bob) | {"csrf": "x"}).status_code == 403
    assert bob.browser.post("/settings", data=form(bob), headers={"origin": "https://evil.example"}).status_code == 403
    assert '"approve":"a"' in keys(bob)


def with_password(service: Service, name: str = "bob") -> Desk:
    """Sign in as a person who has a password."""
    service.state.access.accounts.add(name, "curator", None, service.state.passwords.hash(OLD))
    return service.sign_in(name)


def lets_in(service: Service, password: str, name: str = "bob") -> bool:
    """Return whether a password signs in."""
    browser = TestClient(service.app, base_url=URL)
    answer = browser.post("/login", data={"name": name, "password": password}, follow_redirects=False)
    assert answer.status_code in {303, 401}
    return bool(answer.status_code == 303)


def change(desk: Desk, **fields: str) -> tuple[int, str]:
    """Send the form for a new password with the given fields; return status and page, or the redirect."""
    sent = {"csrf": form(desk)["csrf"], "current": OLD, "password": NEW, "repeated": NEW} | fields
    answer = desk.post("/settings/password", sent)
    return answer.status_code, answer.headers.get("location", answer.text)


def is_in(desk: Desk) -> bool:
    """Return whether a session is still valid."""
    return bool(desk.browser.get("/settings", follow_redirects=False).status_code == 200)


def test_a_password_is_changed(service: Service) -> None:
    """The new password signs in and the old one does not; other sessions and open links end, this session continues."""
    bob, elsewhere, eve = with_password(service), service.sign_in("bob"), service.sign_in("eve")
    link = service.state.access.sign_in.create_link("bob")
    assert is_in(elsewhere)
    assert change(bob) == (303, "/settings?done=password#top")
    assert "The new password is set" in bob.browser.get("/settings?done=password").text
    assert (is_in(bob), is_in(elsewhere), is_in(eve)) == (True, False, True)
    assert (lets_in(service, OLD), lets_in(service, NEW)) == (False, True)
    assert service.client.post("/login", data={"link": link}).status_code == 400
    assert app.examine(service.location) == []


def test_a_first_password_needs_no_present_one(service: Service) -> None:
    """A person signed in by a link can set a first password; the form asks for the present one only if there is one."""
    bob = service.sign_in()
    assert 'name="current"' not in bob.browser.get("/settings").text
    assert change(bob, current="")[0] == 303
    assert lets_in(service, NEW)
    assert 'name="current"' in bob.browser.get("/settings").text
    assert change(bob, current="")[0] == 403


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"current": "not that one"}, 403, "The present password is another one"),
        ({"repeated": "something else"}, 400, "not the same"),
        ({"repeated": ""}, 400, "not the same"),
        ({"password": "short", "repeated": "short"}, 400, "A password takes at least 12 characters"),
        ({"password": "", "repeated": ""}, 400, "A password takes at least 12 characters"),
    ],
    ids=["wrong", "differ", "missing", "short", "empty"],
)
def test_a_refused_password_change_is_explained(
    service: Service, fields: dict[str, str], status: int, said: str
) -> None:
    """A refused password change is explained on the same page without repeating a password; the old one stays valid."""
    bob, elsewhere = with_password(service), service.sign_in("bob")
    answered, text = change(bob, **fields)
    assert answered == status
    assert said in text
    assert "Use single keys" in text
    assert all(value not in text for value in (OLD, NEW, 'short"', "not that one"))
    assert is_in(elsewhere)
    assert lets_in(service, OLD)


def test_guesses_of_the_present_password_are_counted(service: Service) -> None:
    """After five wrong passwords, here or at sign-in, even the right one must wait; success resets the count."""
    bob = with_password(service)
    for _ in range(4):
        assert change(bob, current="a wrong password")[0] == 403
    assert change(bob, password="short", repeated="short")[0] == 400
    for _ in range(5):
        assert change(bob, current="a wrong password")[0] == 403
    answer = bob.post(
        "/settings/password", {"csrf": form(bob)["csrf"], "current": OLD, "password": NEW, "repeated": NEW}
    )
    assert answer.status_code == 429
    assert "Too many failed attempts" in answer.text
    assert int(answer.headers["retry-after"]) > 0
    signing_in = service.client.post("/login", data={"name": "bob", "password": OLD})
    assert signing_in.status_code == 429


def test_of_two_changes_in_one_session_the_first_counts(service: Service) -> None:
    """Of two changes at once the second fails, because its present password is outdated once the hash is computed."""
    access = service.state.access
    access.accounts.add("bob", "curator", None, "the old hash")
    person = access.sessions.account(access.sign_in.consume_link(access.sign_in.create_link("bob")).secret)

    def hashed_slowly() -> str:
        assert access.passwords.change(person, lambda _: True, lambda: "the first hash")
        return "the second hash"

    assert not access.passwords.change(person, lambda _: True, hashed_slowly)
    with service.state.desk._store.read() as tx:
        assert tx.access.user("bob").password == "the first hash"


def test_a_busy_store_changes_no_password(service: Service) -> None:
    """When the store is busy, no password changes and the page asks to try again."""
    bob = with_password(service)
    csrf = form(bob)["csrf"]
    with locked(service.location):
        answer = bob.post("/settings/password", {"csrf": csrf, "current": OLD, "password": NEW, "repeated": NEW})
    assert answer.status_code == 503
    assert "Try again in a moment" in answer.text
    assert lets_in(service, OLD)


def test_a_forged_form_changes_no_password(service: Service) -> None:
    """A forged form changes no password; without a session it leads to the sign-in page."""
    bob = with_password(service)
    assert change(bob, csrf="x")[0] == 403
    sent = {"csrf": form(bob)["csrf"], "current": OLD, "password": NEW, "repeated": NEW}
    evil = {"origin": "https://evil.example"}
    assert bob.browser.post("/settings/password", data=sent, headers=evil).status_code == 403
    assert service.client.post("/settings/password", data=sent).status_code == 401
    assert lets_in(service, OLD)


def test_a_sign_in_that_was_begun_with_the_old_password_opens_nothing(service: Service) -> None:
    """A sign-in is refused if the password changed or the account was disabled while the hash was computed."""
    with_password(service)
    access, hashed = service.state.access, service.state.passwords.hash(NEW)

    def during(act: object) -> object:
        def verify(_: str | None) -> bool:
            act()  # type: ignore[operator]
            return True

        return access.sign_in.check_password("bob", "", verify)

    assert during(lambda: access.passwords.set("bob", hashed)) is None
    assert during(lambda: access.accounts.disable("bob")) is None

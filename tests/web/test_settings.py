"""What a person chose for themselves: their keys."""

import re

import pytest

from antechamber.core.shortcuts import USUAL
from support import Desk, Service, locked


def form(desk: Desk, **chosen: str) -> dict[str, str]:
    """Return the form of the page, with some fields changed."""
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/settings").text)
    assert found
    return {"csrf": found[1], "on": "on"} | USUAL | chosen


def keys(desk: Desk) -> str:
    """Return what a page tells the script."""
    found = re.search(r'data-keys="([^"]*)"', desk.browser.get("/dashboard").text)
    return found[1].replace("&#34;", '"') if found else ""


@pytest.mark.parametrize("role", ["curator", "auditor", "operator"])
def test_everybody_who_signs_in_chooses_for_themselves(service: Service, role: str) -> None:
    """A choice holds in every session of the person and for nobody else."""
    bob, elsewhere, eve = service.sign_in("bob", role), service.sign_in("bob", role), service.sign_in("eve")
    assert '"approve":"a"' in keys(bob)
    answer = bob.post("/settings", form(bob, approve="y"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings?done=kept")
    assert "Kept" in bob.browser.get("/settings?done=kept").text
    assert '"approve":"y"' in keys(bob)
    assert '"approve":"y"' in keys(elsewhere)
    assert '"approve":"a"' in keys(eve)
    off = form(bob)
    del off["on"]
    assert bob.post("/settings", off).status_code == 303
    assert keys(bob) == ""
    assert "keys.js" not in bob.browser.get("/dashboard").text
    assert "<kbd" not in bob.browser.get("/dashboard").text
    assert 'value="a"' in bob.browser.get("/settings").text


def test_a_choice_that_cannot_be_kept_says_why_and_keeps_what_was_typed(service: Service) -> None:
    """Nothing is changed."""
    bob = service.sign_in()
    for chosen, why in (({"approve": "r"}, "the same key"), ({"approve": ""}, "needs one key")):
        answer = bob.post("/settings", form(bob, skip="x", **chosen))
        assert answer.status_code == 400
        assert why in answer.text
        assert 'name="skip" value="x"' in answer.text
    with locked(service.place):
        answer = bob.post("/settings", form(bob, skip="x"))
    assert answer.status_code == 503
    assert 'name="skip" value="x"' in answer.text
    assert '"skip":"s"' in keys(bob)


def test_a_forged_form_changes_nothing(service: Service) -> None:
    """The form belongs to a session."""
    bob = service.sign_in()
    assert bob.post("/settings", form(bob) | {"csrf": "x"}).status_code == 403
    assert bob.browser.post("/settings", data=form(bob), headers={"origin": "https://evil.example"}).status_code == 403
    assert '"approve":"a"' in keys(bob)

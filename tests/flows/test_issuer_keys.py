"""Keys of issuers: when they are fetched, and what counts while an issuer cannot be reached."""

import json
from typing import Any

import pytest

from antechamber.core.access.workload import Issuer
from antechamber.core.errors import FetchError, UnavailableError
from antechamber.core.policy import Policy
from antechamber.flows.workload.issuer_keys import IssuerKeys

SECOND = 1_000_000
URL = "https://ci.example.com/jwks"
REMOTE = Issuer(issuer="https://ci.example.com", audience="a", keys_url=URL)


def key(name: str) -> dict[str, str]:
    """Return a key of this id."""
    return {"kty": "EC", "kid": name}


class World:
    """An issuer whose answers the test chooses, a policy and a clock."""

    def __init__(self) -> None:
        """List one issuer with one key."""
        self.now = 1_800_000_000 * SECOND
        self.policy = Policy(issuers={REMOTE.issuer: REMOTE})
        self.answer: Exception | bytes = self.publish("a")
        self.fetched: list[tuple[str, bool]] = []
        self.keys = IssuerKeys(lambda: self.policy, self.fetch, lambda: self.now)

    def publish(self, *names: str) -> bytes:
        """Let the issuer answer with keys."""
        self.answer = json.dumps({"keys": [key(name) for name in names]}).encode()
        return self.answer

    def fetch(self, url: str, *, allow_private: bool) -> bytes:
        """Answer as the issuer does."""
        self.fetched.append((url, allow_private))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def after(self, seconds: int) -> int:
        """Let time pass and a look take place; return how often keys were fetched."""
        self.now += seconds * SECOND
        self.keys.tick()
        return len(self.fetched)

    def find(self, name: str, issuer: Issuer = REMOTE) -> dict[str, Any] | None:
        """Look for a key."""
        return self.keys.find(issuer, name, "ES256")


def test_keys_are_fetched_once_and_then_every_ten_minutes() -> None:
    """Before the first answer a token has to wait; after it, no token causes a request."""
    world = World()
    with pytest.raises(UnavailableError, match=r"the keys of https://ci\.example\.com are not known here yet"):
        world.find("a")
    assert world.after(0) == 1
    assert world.fetched == [(URL, False)]
    for _ in range(3):
        assert world.find("a") == key("a")
        assert world.after(100) == 1
    assert world.after(300) == 2
    assert world.keys.alarms() == []


def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    """Unknown keys cause one request in half a minute, however many tokens name them, and are refused meanwhile."""
    world = World()
    world.after(0)
    world.publish("a", "b")
    assert world.find("b") is None
    assert world.after(29) == 1
    assert world.find("b") is None
    assert world.after(1) == 2
    assert world.find("b") == key("b")
    world.now += 31 * SECOND
    for name in ("c", "d", "e"):
        with pytest.raises(UnavailableError):
            world.find(name)
    assert world.after(0) == 3
    assert world.find("c") is None
    assert world.find("a") == key("a")


def test_kept_keys_go_on_working_for_a_day_without_the_issuer(log_lines: list[str]) -> None:
    """An issuer that cannot be reached raises an alarm, and costs only tokens that need new keys."""
    world = World()
    world.after(0)
    world.answer = FetchError("it did not answer in time")
    assert world.after(600) == 2
    assert world.find("a") == key("a")
    with pytest.raises(UnavailableError):
        world.find("b")
    assert "The keys of https://ci.example.com cannot be fetched: it did not answer in time." in world.keys.alarms()[0]
    assert world.after(29) == 2
    assert world.after(1) == 3
    world.answer = b"<html>"
    assert world.after(30) == 4
    assert "no JWK Set" in world.keys.alarms()[0]
    assert world.find("a") == key("a")
    world.now += 86_400 * SECOND
    with pytest.raises(UnavailableError):
        world.find("a")
    world.publish("b")
    world.after(0)
    assert world.keys.alarms() == []
    assert (world.find("a"), world.find("b")) == (None, key("b"))
    text = "\n".join(line for line in log_lines if not line.startswith("{"))
    assert text.count("keys cannot be fetched issuer=https://ci.example.com") == 1
    assert text.count("keys are fetched again issuer=https://ci.example.com") == 1


def test_an_issuer_that_is_not_listed_any_more_is_forgotten() -> None:
    """Its keys are not fetched again, and its alarm ends."""
    world = World()
    world.answer = FetchError("it did not answer in time")
    world.after(0)
    assert len(world.keys.alarms()) == 1
    world.policy = Policy()
    assert world.keys.alarms() == []
    assert world.after(1_000) == 1


def test_keys_in_the_policy_need_no_request() -> None:
    """They are found at once, also before the first look, and nothing is fetched."""
    world = World()
    own = Issuer(issuer="https://own.example.com", audience="a", keys=[key("x")])
    world.policy = Policy(issuers={own.issuer: own})
    assert world.find("x", own) == key("x")
    assert world.find("y", own) is None
    assert world.after(0) == 0

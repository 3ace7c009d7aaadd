"""Rules for providers of OpenID Connect: documents, ID tokens, roles, tickets."""

import json
from typing import Any

import pytest

from antechamber.core.access.provider_ticket import LIFETIME, Ticket, derive, open_ticket, seal_ticket
from antechamber.core.access.providers import (
    Expected,
    Metadata,
    Provider,
    RoleRule,
    check_id_token,
    discovery_url,
    may_be_private,
    read_metadata,
    role_of,
    sign_out_url,
)

ISSUER = "https://id.example.com"
PROVIDER = Provider(name="acme", title="Acme", issuer=ISSUER, client_id="us")
NOW = 1_800_000_000
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/jwks",
}
CLAIMS: dict[str, Any] = {"iss": ISSUER, "sub": "1", "aud": "us", "iat": NOW, "exp": NOW + 60, "nonce": "n"}


def test_a_document_counts_for_its_own_issuer_and_with_addresses_that_may_be_used() -> None:
    """Anything else says what is wrong."""
    assert discovery_url(ISSUER + "/") == f"{ISSUER}/.well-known/openid-configuration"
    assert read_metadata(json.dumps(DOCUMENT).encode(), PROVIDER).token_endpoint == f"{ISSUER}/token"
    for changed, said in (
        ({"issuer": "https://other.example.com"}, "of another issuer"),
        ({"jwks_uri": "http://127.0.0.1/jwks"}, "an address that may not be used"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "an address that may not be used"),
        ({"token_endpoint": 7}, "cannot be read"),
    ):
        with pytest.raises(ValueError, match=said):
            read_metadata(json.dumps(DOCUMENT | changed).encode(), PROVIDER)


def test_only_the_address_of_the_issuer_may_be_private() -> None:
    """Another port is another address."""
    local = Provider(name="a", title="A", issuer="http://127.0.0.1:81", client_id="us", allow_private=True)
    assert may_be_private(local, "http://127.0.0.1:81/token")
    assert not may_be_private(local, "http://127.0.0.1:82/token")
    assert not may_be_private(PROVIDER, f"{ISSUER}/token")


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({}, ""),
        ({"aud": ["us"], "azp": "us"}, ""),
        ({"exp": NOW - 59}, ""),
        ({"exp": NOW - 60}, "expired"),
        ({"iat": NOW + 61}, "not valid yet"),
        ({"auth_time": NOW + 61}, "not valid yet"),
        ({"aud": ["us", "them"]}, "another audience"),
        ({"azp": "them"}, "another audience"),
        ({"iss": "https://other.example.com"}, "another issuer"),
        ({"nonce": "m"}, "the nonce of another sign-in"),
        ({"exp": 1e300}, "a time is out of range"),
        ({"sub": ""}, "a claim is missing or has another type"),
    ],
)
def test_an_id_token_is_of_this_sign_in(changed: dict[str, Any], refusal: str) -> None:
    """Each claim that is wrong is refused."""
    said = check_id_token(CLAIMS | changed, PROVIDER, Expected(nonce="n"), NOW * 1_000_000)
    assert said.refusal == refusal


def test_a_new_proof_is_younger_than_its_question() -> None:
    """It needs a time of the proof; an old one, or none, is refused."""
    question = Expected(nonce="n", since=NOW * 1_000_000)
    for changed, refusal in (({}, "not signed in again"), ({"auth_time": NOW - 61}, "not signed in again")):
        assert check_id_token(CLAIMS | changed, PROVIDER, question, NOW * 1_000_000).refusal == refusal
    said = check_id_token(CLAIMS | {"auth_time": NOW - 60}, PROVIDER, question, NOW * 1_000_000)
    assert (said.refusal, said.confirmed_at) == ("", (NOW - 60) * 1_000_000)


def test_the_first_rule_that_matches_gives_the_role() -> None:
    """A claim is a text, a list or, as `scope`, words; anything else matches nothing."""
    rules = [
        RoleRule(claim="groups", value="boss", role="operator"),
        RoleRule(claim="groups", value="desk", role="curator"),
        RoleRule(claim="scope", value="audit", role="auditor"),
    ]
    assert role_of({"groups": ["desk", "boss"]}, rules) == "operator"
    assert role_of({"groups": "desk"}, rules) == "curator"
    assert role_of({"groups": "desk boss"}, rules) is None
    assert role_of({"scope": "openid audit"}, rules) == "auditor"
    assert role_of({"groups": {"desk": True}}, rules) is None


def test_the_way_out_is_that_of_the_document() -> None:
    """It names this client and the way back."""
    document = Metadata(**DOCUMENT)
    assert sign_out_url(PROVIDER, document, "https://us.example.com/login") is None
    for url, sign in ((f"{ISSUER}/out", "?"), (f"{ISSUER}/out?a=b", "&")):
        way = sign_out_url(PROVIDER, Metadata(**DOCUMENT, end_session_endpoint=url), "https://us.example.com/login")
        assert way == f"{url}{sign}client_id=us&post_logout_redirect_uri=https%3A%2F%2Fus.example.com%2Flogin"


def test_a_ticket_is_of_this_folder_and_lasts_ten_minutes() -> None:
    """Another secret, a changed text and a late or early time open nothing; its secrets differ."""
    secret, ticket = bytes(32), Ticket(flow="f", provider="acme", begun_at=5, next=None)
    cookie = seal_ticket(secret, ticket)
    assert open_ticket(secret, cookie, 5) == ticket
    for wrong in ("", "x", "\udc80.\udc80", "x" + cookie, cookie + "0", "x" * 3_001):
        assert open_ticket(secret, wrong, 5) is None
    assert open_ticket(bytes(31) + b"x", cookie, 5) is None
    assert open_ticket(secret, cookie, 4) is None
    assert open_ticket(secret, cookie, 5 + LIFETIME) is None
    assert len({derive(secret, ticket, purpose) for purpose in ("state", "nonce", "verifier")}) == 3

"""Workload tokens: what is read before the signature is checked, which key fits, and which claims are refused."""

import base64
import json
from typing import Any

import pytest

from antechamber.core.access.workload import (
    MAX_KEYS,
    MAX_TOKEN,
    Issuer,
    Unverified,
    check_claims,
    find_key,
    is_workload_token,
    key_problem,
    read_keys,
    read_unverified,
)

ISSUER = Issuer(issuer="https://ci.example.com", audience="https://antechamber.example.org", max_minutes=10)
NOW = 1_800_000_000
CLAIMS = {"iss": ISSUER.issuer, "aud": ISSUER.audience, "sub": "job:release", "iat": NOW - 10, "exp": NOW + 500}
KEY = {"kty": "EC", "kid": "a", "crv": "P-256", "x": "x", "y": "y"}


def part(value: Any) -> str:
    """Return JSON as one part of a token."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "text", ["", "a.b", "a.b.c.d", "a..c", "a.b.c\n", "ä.b.c", "a b.c.d", f"a.b.{'c' * MAX_TOKEN}"]
)
def test_other_texts_are_no_workload_tokens(text: str) -> None:
    """Only three parts of base64url, and not too many characters, have the form."""
    assert not is_workload_token(text)
    assert is_workload_token("a.b.c-_9")


def test_a_token_says_its_issuer_algorithm_and_key() -> None:
    """These three are read before anything is verified."""
    token = f"{part({'alg': 'ES256', 'kid': 'a', 'jku': 'https://evil.example'})}.{part({'iss': 'i', 'sub': 1})}.s"
    assert read_unverified(token) == Unverified("i", "ES256", "a")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ({"alg": "ES256"}, {"iss": "i"}),
        ({"alg": "ES256", "kid": 1}, {"iss": "i"}),
        ({"alg": None, "kid": "a"}, {"iss": "i"}),
        ({"alg": "ES256", "kid": "a"}, {"iss": ["i"]}),
        ({"alg": "ES256", "kid": "a"}, []),
        (b"\xff\xfe", {"iss": "i"}),
        ([], {"iss": "i"}),
        ({"alg": "ES256", "kid": "a"}, b"[" * 4_000),
    ],
)
def test_a_token_that_does_not_say_them_is_refused(head: Any, body: Any) -> None:
    """A missing member, another type, bytes that are no text and deep nesting say nothing."""
    assert read_unverified(f"{part(head)}.{part(body)}.s") is None
    assert read_unverified("a.b.c") is None


def test_a_key_is_for_one_kind_of_algorithm() -> None:
    """The id decides, and the key has to fit the algorithm of the token."""
    other = {"kty": "RSA", "kid": "b", "alg": "RS256"}
    assert find_key([KEY, other], "a", "ES256") == KEY
    assert find_key([KEY, other], "a", "RS256") is None
    assert find_key([KEY, other], "b", "RS256") == other
    assert find_key([KEY, other], "b", "PS256") is None
    assert find_key([KEY, other], "c", "ES256") is None


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({}, None),
        ({"kty": "oct"}, "kty must be RSA, EC or OKP"),
        ({"kid": ""}, "kid is missing"),
        ({"kid": ["a"]}, "kid is missing"),
        ({"d": "secret", "k": "x"}, "d belongs to a private key"),
        ({"k": "secret"}, "k belongs to a private key"),
    ],
)
def test_keys_that_cannot_verify_are_named(members: dict[str, Any], problem: str | None) -> None:
    """A shared secret, a key without id and a private key are refused."""
    found = key_problem(KEY | members)
    assert found == problem if problem is None else str(found).startswith(problem)


def test_a_key_set_gives_the_keys_that_verify() -> None:
    """Keys for encryption, shared secrets and what is no key are left out, and so are too many."""
    listed = [KEY, KEY | {"use": "enc"}, KEY | {"kty": "oct"}, "key", None, KEY | {"use": "sig", "kid": "b"}]
    assert [key["kid"] for key in read_keys(json.dumps({"keys": listed}).encode())] == ["a", "b"]
    assert len(read_keys(json.dumps({"keys": [KEY] * 200}).encode())) == MAX_KEYS


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"keys": 1}', b'{"keys": ' + b"[" * 60_000])
def test_what_is_no_key_set_is_refused(data: bytes) -> None:
    """A page, another shape and deep nesting are named as what they are not."""
    with pytest.raises(ValueError, match="no JWK Set"):
        read_keys(data)


def test_good_claims_name_the_subject() -> None:
    """The audience may be one of several, and claims that are not needed are ignored."""
    for claims in (CLAIMS, CLAIMS | {"aud": ["other", ISSUER.audience]}, CLAIMS | {"nbf": NOW, "jti": "x"}):
        vouched = check_claims(claims, ISSUER, NOW * 1_000_000)
        assert (vouched.refusal, vouched.subject) == ("", "job:release")


@pytest.mark.parametrize(
    ("claims", "refusal"),
    [
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"aud": "https://other.example.org"}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": None}, "a claim is missing or has another type"),
        ({"sub": 7}, "a claim is missing or has another type"),
        ({"exp": "soon"}, "a claim is missing or has another type"),
        ({"iat": True}, "a claim is missing or has another type"),
        ({"exp": 1e300}, "a time is out of range"),
        ({"iat": -1}, "a time is out of range"),
        ({"exp": NOW - 60}, "expired"),
        ({"iat": NOW + 61, "exp": NOW + 100}, "not valid yet"),
        ({"nbf": NOW + 61}, "not valid yet"),
        ({"exp": NOW + 600}, "valid for too long"),
    ],
)
def test_claims_are_refused_with_a_reason(claims: dict[str, Any], refusal: str) -> None:
    """Each claim is needed, has its type, and is compared with the policy and the clock."""
    assert check_claims(CLAIMS | claims, ISSUER, NOW * 1_000_000).refusal == refusal


@pytest.mark.parametrize("claims", [{"exp": NOW - 59}, {"iat": NOW + 60}, {"nbf": NOW + 60}, {"exp": NOW + 590}])
def test_clocks_may_differ_by_a_minute(claims: dict[str, Any]) -> None:
    """The leeway is for clocks, and does not prolong a token's life."""
    assert check_claims(CLAIMS | claims, ISSUER, NOW * 1_000_000).refusal == ""


@pytest.mark.parametrize("name", ["iss", "aud", "sub", "iat", "exp"])
def test_every_claim_is_needed(name: str) -> None:
    """A token without one of them is refused."""
    claims = {key: value for key, value in CLAIMS.items() if key != name}
    assert check_claims(claims, ISSUER, NOW * 1_000_000).refusal == "a claim is missing or has another type"

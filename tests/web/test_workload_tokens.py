"""Producers with workload tokens of an issuer: a real server on this machine that publishes its keys."""

import base64
import hashlib
import hmac
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from antechamber.settings import Location
from antechamber.workload_verifier import verify
from issuer import SUBJECT, Issuer
from support import MEMBERS, PRODUCERS, Service, event, running


def subjects(issuer: Issuer) -> str:
    """Return the line of the release bot's subject."""
    return f'subjects = [{{issuer = "{issuer.name}", subject = "{SUBJECT}"}}]\n'


def write(policies: Path, issuer: Issuer, **members: str) -> None:
    """List the issuer, and its subject as the release bot."""
    first, second = PRODUCERS.split('\n[[producer]]\nidentity = "tool')
    text = first + subjects(issuer) + '\n[[producer]]\nidentity = "tool' + second
    (policies / "producers.toml").write_text(text + issuer.policy(**members))


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer that runs."""
    with Issuer().running() as made:
        yield made


@pytest.fixture
def trusting(location: Location, policies: Path, issuer: Issuer) -> Iterator[Service]:
    """A service that lists the issuer and has its keys."""
    write(policies, issuer)
    with running(location, policies) as service:
        service.state.access.issuer_keys.tick()
        yield service


def submit(service: Service, token: str, **members: Any) -> httpx.Response:
    """Submit an event with a token."""
    headers = {"authorization": f"Bearer {token}"}
    return service.client.post("/v1/submissions", content=msgspec.json.encode(event(**members)), headers=headers)


def whose(service: Service, token: str) -> httpx.Response:
    """Ask whose token it is."""
    return service.client.get("/v1/token", headers={"authorization": f"Bearer {token}"})


def part(value: Any) -> str:
    """Return JSON as one part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_workload_token_has_the_rights_of_its_producer(trusting: Service, issuer: Issuer) -> None:
    """It submits and reads as the producer of its subject, over the ordinary routes, and as no other one."""
    token = issuer.token()
    check = trusting.state.access.token_check
    assert not check.needs_no_read(token)
    first = submit(trusting, token)
    assert (first.status_code, first.json()["producer_identity"]) == (201, "worker:release-bot")
    assert check.needs_no_read(token)
    assert submit(trusting, token, content="Another event of this job.").status_code == 201
    assert submit(trusting, token, producer_identity="tool:watcher").status_code == 403
    said = whose(trusting, token).json()
    assert (said["name"], said["role"]) == ("worker:release-bot", "producer")
    assert said["submit"] == ["project:apollo", "session:*", "organization:labs"]
    assert said["expires_at"] is not None
    own = trusting.client.get(
        f"/v1/submissions/{first.json()['submission_id']}", headers={"authorization": f"Bearer {token}"}
    )
    assert own.status_code == 200
    assert (
        own.json()
        == trusting.client.get(f"/v1/submissions/{first.json()['submission_id']}", headers=trusting.bearer()).json()
    )
    for path in ("/review", "/metrics"):
        headers = {"authorization": f"Bearer {token}"}
        assert trusting.client.get(path, headers=headers, follow_redirects=False).status_code in {303, 401, 403}
    trusting.state.access.last_use.flush()


def forged(issuer: Issuer, kind: str) -> str:
    """Return a token that must be refused."""
    head, body, signature = issuer.token().split(".")
    if kind == "none":
        return f"{part({'alg': 'none', 'kid': 'first'})}.{body}.x"
    if kind == "public key as shared secret":
        text = f"{part({'alg': 'HS256', 'kid': 'first'})}.{body}"
        mac = hmac.new(json.dumps(issuer.keys()[0]).encode(), text.encode(), hashlib.sha256).digest()
        return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    if kind == "other claims":
        now = int(time.time())
        said = {
            "iss": issuer.name,
            "aud": "https://antechamber.example.org",
            "sub": SUBJECT,
            "iat": now,
            "exp": now + 9,
        }
        return f"{head}.{part(said)}.{signature}"
    if kind == "other signature":
        return f"{head}.{body}.{'A' * len(signature)}"
    if kind == "critical extension":
        return f"{part({'alg': 'ES256', 'kid': 'first', 'crit': ['x'], 'x': 1})}.{body}.{signature}"
    return "a.b.c"


@pytest.mark.parametrize(
    "kind",
    ["none", "public key as shared secret", "other claims", "other signature", "critical extension", "no JSON"],
)
def test_a_forged_token_is_refused(trusting: Service, issuer: Issuer, kind: str, log_lines: list[str]) -> None:
    """It gets the same answer as any unknown token, and the log has the reason and nothing of the token."""
    token = forged(issuer, kind)
    answer = submit(trusting, token)
    assert answer.status_code == 401
    assert answer.json().keys() >= MEMBERS
    known, unknown = whose(trusting, token).json(), whose(trusting, "unknown").json()
    assert known | {"received_at": ""} == unknown | {"received_at": ""}
    assert any("refused a workload token" in line for line in log_lines)
    assert [line for line in log_lines if any(len(one) > 3 and one in line for one in token.split("."))] == []


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"sub": "repo:acme/apollo:ref:refs/heads/other"}, "the subject is not listed"),
        ({"iss": "https://evil.example"}, "the issuer is not listed"),
        ({"aud": "https://other.example"}, "another audience"),
        ({"exp": int(time.time()) - 100}, "expired"),
        ({"exp": int(time.time()) + 90_000}, "valid for too long"),
        ({"sub": None}, "a claim is missing"),
    ],
)
def test_claims_that_the_policy_does_not_list_are_refused(
    trusting: Service, issuer: Issuer, claims: dict[str, Any], reason: str, log_lines: list[str]
) -> None:
    """A good signature is not enough; the log names the reason, and an issuer only if it is listed."""
    assert submit(trusting, issuer.token(**claims)).status_code == 401
    assert any("refused a workload token" in line and reason in line for line in log_lines)
    assert "evil.example" not in "\n".join(log_lines)


def test_a_key_of_the_issuer_that_is_gone_or_new(trusting: Service, issuer: Issuer) -> None:
    """A new key is known after the next request for keys; until then its tokens are refused."""
    issuer.add_key("second")
    token = issuer.token("second")
    assert submit(trusting, token).status_code == 401
    kept = trusting.state.access.issuer_keys._kept[f"{issuer.name}/jwks"]
    kept.tried_at -= 60_000_000
    trusting.state.access.issuer_keys.tick()
    trusting.state.access.token_check._cache.clear()
    assert submit(trusting, token).status_code == 201


def test_an_issuer_that_cannot_be_reached_costs_only_new_keys(
    location: Location, policies: Path, issuer: Issuer
) -> None:
    """Before its keys are known, tokens get 503 with the time to try again; afterwards they work without it."""
    write(policies, issuer)
    issuer.answer = (500, b"")
    with running(location, policies) as service:
        keys = service.state.access.issuer_keys
        keys.tick()
        token = issuer.token()
        answer = submit(service, token)
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert answer.json().keys() >= MEMBERS
        assert "are not known here yet" in answer.text
        assert whose(service, token).status_code == 503
        assert "it answers with status 500" in "\n".join(service.state.alarms())
        assert submit(service, service.token()).status_code == 201
        issuer.answer = None
        keys._kept[f"{issuer.name}/jwks"].tried_at -= 60_000_000
        keys.tick()
        assert submit(service, token, content="After the keys came.").status_code == 201
        issuer.answer = (404, b"")
        keys._kept[f"{issuer.name}/jwks"].tried_at -= 700_000_000
        keys.tick()
        service.state.access.token_check._cache.clear()
        assert submit(service, issuer.token(), content="Without the issuer.").status_code == 201


def test_keys_in_the_policy_and_its_edits(location: Location, policies: Path, issuer: Issuer) -> None:
    """Keys may be in the policy; when the subject is taken away, the token ends."""
    lines = ", ".join(f'{name} = "{value}"' for name, value in issuer.keys()[0].items() if isinstance(value, str))
    text = issuer.policy(keys=f"[{{{lines}}}]").replace(f'keys_url = "{issuer.name}/jwks"\n', "")
    (policies / "producers.toml").write_text(
        PRODUCERS.replace('owner = "grace"\n', f'owner = "grace"\n{subjects(issuer)}') + text
    )
    with running(location, policies) as service:
        token = issuer.token()
        assert submit(service, token, producer_identity="tool:watcher").status_code == 201
        (policies / "producers.toml").write_text(PRODUCERS + text)
        service.state.admission._policies.refresh()
        service.state.access.token_check._cache.clear()
        assert submit(service, token, producer_identity="tool:watcher").status_code == 401


def test_without_the_extra_the_answer_says_what_is_missing(
    trusting: Service, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service without PyJWT refuses workload tokens with 503, and serves all others."""
    monkeypatch.setitem(sys.modules, "jwt", None)
    answer = submit(trusting, issuer.token())
    assert answer.status_code == 503
    assert "its extra oidc" in answer.text
    assert submit(trusting, trusting.token()).status_code == 201


def test_only_keys_of_the_right_kind_and_length_verify(issuer: Issuer) -> None:
    """A key of another curve, a damaged key and a short RSA key verify nothing; what is signed has to be an object."""
    import jwt  # noqa: PLC0415 -- beside its only use

    key, token = issuer.keys()[0], issuer.token()
    assert verify(token, key, "ES256")
    assert verify(token, key, "ES384") is None
    assert verify(token, key | {"x": "AAAA"}, "ES256") is None
    assert verify(token, key | {"crv": "P-384"}, "ES256") is None
    private = issuer._private["first"]
    assert verify(jwt.PyJWS().encode(b"[1]", private, "ES256"), key, "ES256") is None
    assert verify(jwt.PyJWS().encode(b"[" * 5_000, private, "ES256"), key, "ES256") is None
    for bits in (1024, 2048):
        pair = rsa.generate_private_key(65_537, bits)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_args, **_more: None)
            signed = jwt.encode({"sub": "x"}, pair, "RS256")
        public = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(pair.public_key()))
        assert (verify(signed, public, "RS256") is not None) == (bits == 2048)

"""Sign-in of people at a provider of OpenID Connect: a real server on this machine."""

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from litestar.testing import TestClient

from antechamber import app
from antechamber.app.maintenance import examine
from antechamber.settings import Location
from provider import SECRET, Provider
from support import URL, Desk, Service, database, leaf_texts, running

MINUTE = 60 * 1_000_000
COOKIE = "antechamber-sign-in"
ROLE = '[{claim = "groups", value = "memory-curators", role = "curator"}]'


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider that runs."""
    with Provider().running() as made:
        assert isinstance(made, Provider)
        yield made


def trust(provider: Provider, policies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """List the provider in a policy."""
    monkeypatch.setenv("ACME_SECRET", SECRET)
    (policies / "people.toml").write_text(provider.policy())


@pytest.fixture
def trusting(tmp_path: Path, policies: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service whose policy lists the provider, on SQLite."""
    trust(provider, policies, monkeypatch)
    with running(tmp_path / "trusting", policies) as service:
        yield service


@pytest.fixture
def stored(
    location: Location, policies: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    """The same on both engines."""
    trust(provider, policies, monkeypatch)
    with running(location, policies) as service:
        yield service


def change(service: Service, text: str) -> None:
    """Put another people.toml in force."""
    (service.settings.policies / "people.toml").write_text(text)
    service.state.dashboard._policies.refresh()


def browser_of(service: Service) -> TestClient[Any]:
    """Return a new browser."""
    return TestClient(service.app, base_url=URL)


def forget(browser: TestClient[Any]) -> None:
    """Remove the tickets of a browser, also those that a test put there."""
    for cookie in [cookie for cookie in browser.cookies.jar if cookie.name == COOKIE]:
        browser.cookies.jar.clear(cookie.domain, cookie.path, cookie.name)


def plant(browser: TestClient[Any], ticket: str) -> None:
    """Put a ticket into a browser."""
    forget(browser)
    browser.cookies.set(COOKIE, ticket)


def begin(browser: TestClient[Any], path: str = "/login/acme") -> httpx.Response:
    """Begin a sign-in and return the answer, which leads to the provider."""
    forget(browser)
    return browser.get(path, follow_redirects=False)


def answer(begun: httpx.Response) -> dict[str, str]:
    """Sign in at the provider and return what the browser brings back."""
    assert begun.status_code == 303, begun.text
    back = httpx.get(begun.headers["location"], follow_redirects=False).headers["location"]
    assert back.startswith(f"{URL}/login/acme/callback?") or "127.0.0.1" in back
    return dict(parse_qsl(urlsplit(back).query))


def finish(browser: TestClient[Any], said: dict[str, str], name: str = "acme") -> httpx.Response:
    """Bring an answer to the service."""
    return browser.get(f"/login/{name}/callback?{urlencode(said)}", follow_redirects=False)


def sign_in(browser: TestClient[Any], path: str = "/login/acme") -> httpx.Response:
    """Go the whole way."""
    return finish(browser, answer(begin(browser, path)))


def is_in(browser: TestClient[Any]) -> bool:
    """Return whether a browser is signed in."""
    return bool(browser.get("/settings", follow_redirects=False).status_code == 200)


def test_a_person_signs_in_at_a_provider_and_gets_an_account(
    stored: Service, provider: Provider, log_lines: list[str]
) -> None:
    """The account has the role of the claims and a leaf; the way uses PKCE, state and nonce; no secret is logged."""
    browser = browser_of(stored)
    page = browser.get("/login?next=/memories").text
    assert 'href="/login/acme?next=%2Fmemories"' in page
    assert "Sign in at Acme" in page
    assert 'name="password"' in page
    entered = sign_in(browser, "/login/acme?next=/memories")
    assert (entered.status_code, entered.headers["location"]) == (303, "/memories")
    assert is_in(browser)
    asked = provider.asked
    assert (asked["response_type"], asked["code_challenge_method"], asked["scope"]) == (
        "code",
        "S256",
        "openid profile",
    )
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert "prompt" not in asked
    (user,) = stored.state.access.accounts.all()
    assert (user.name, user.person, user.role, user.password) == ("lin", "lin", "curator", None)
    with database(stored.location) as raw:
        leaf = json.loads(leaf_texts(raw)[-1])
        digest = raw.execute("SELECT digest FROM identities").fetchone()[0]
    assert (leaf["action"], leaf["actor"], leaf["to"]) == ("add-user", "provider:acme", "curator")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert any("signed in account=lin role=curator by=acme" in line for line in log_lines)
    assert not [line for line in log_lines if SECRET in line or asked["state"] in line or asked["nonce"] in line]
    left = Desk(browser).post("/logout", {"csrf": csrf(browser)})
    assert left.headers["location"] == "/login?left=acme"
    assert not is_in(browser)
    shown = browser.get("/login?left=acme").text
    assert f'href="{provider.name}/out?client_id=antechamber&amp;post_logout_redirect_uri=' in shown
    assert "may still be signed in at Acme" in shown
    assert list(examine(stored.location)) == []


def csrf(browser: TestClient[Any]) -> str:
    """Return the token of the session's forms."""
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get("/settings").text)
    assert found
    return found[1]


def test_roles_follow_the_claims_at_each_sign_in(stored: Service, provider: Provider) -> None:
    """A changed claim changes the role, with a leaf; without a role the person is refused and its sessions end."""
    first = browser_of(stored)
    sign_in(first)
    provider.person |= {"groups": ["auditors"], "preferred_username": "lin.h"}
    again = browser_of(stored)
    assert sign_in(again).headers["location"] == "/audit"
    (user,) = stored.state.access.accounts.all()
    assert (user.name, user.role) == ("lin", "auditor")
    assert first.get("/memories/propose", follow_redirects=False).status_code == 403
    provider.person["groups"] = ["cooks"]
    refused = sign_in(browser_of(stored))
    assert refused.status_code == 401
    assert "gives you no role here" in refused.text
    assert not is_in(first)
    assert not is_in(again)
    with database(stored.location) as raw:
        leaves = [json.loads(leaf) for leaf in leaf_texts(raw)]
        named = [(leaf["action"], leaf["to"]) for leaf in leaves if leaf["subject"].get("user") == "lin"]
    assert named == [("add-user", "curator"), ("change-role", "auditor")]
    assert list(examine(stored.location)) == []
    with database(stored.location) as raw:
        raw.execute("UPDATE users SET role = 'operator'")
    assert any("change-role of lin" in finding for finding in examine(stored.location))


def test_another_subject_never_gets_the_account_of_a_name(trusting: Service, provider: Provider) -> None:
    """Names of the provider are no identity: a second subject of the name is refused, also that of an owner."""
    sign_in(browser_of(trusting))
    provider.person["sub"] = "999"
    assert "of another person here" in sign_in(browser_of(trusting)).text
    provider.person["groups"] = ["cooks"]
    assert "gives you no role here" in sign_in(browser_of(trusting)).text
    provider.person["groups"] = ["memory-curators"]
    owner = next(iter(trusting.state.dashboard.policy()[0].producers.values())).owner
    provider.person["preferred_username"] = owner
    assert "of another person here" in sign_in(browser_of(trusting)).text
    for name in ("two words", 7, None, "x" * 200):
        provider.person["preferred_username"] = name
        assert "no name that an account can have" in sign_in(browser_of(trusting)).text
    assert [user.name for user in trusting.state.access.accounts.all()] == ["lin"]


def test_the_policy_names_the_account_of_a_subject(trusting: Service, provider: Provider) -> None:
    """A named account is used or, if the policy says so, made; without `create` no other person gets one."""
    people = '[{subject = "248289", account = "eve"}]'
    change(trusting, provider.policy(people=people, create="false"))
    assert "no account here" in sign_in(browser_of(trusting)).text
    trusting.state.access.accounts.add("eve", "auditor", "eva", None)
    browser = browser_of(trusting)
    assert sign_in(browser).headers["location"] == "/review"
    change(trusting, provider.policy(people=people, create="false", roles="[]"))
    provider.person["groups"] = "cooks"
    assert sign_in(browser).headers["location"] == "/review"
    trusting.state.access.accounts.disable("eve")
    assert "Your account is disabled" in sign_in(browser).text
    change(trusting, provider.policy(people='[{subject = "5", account = "zoe"}]'))
    provider.person |= {"sub": "5", "groups": ["memory-curators"]}
    assert sign_in(browser_of(trusting)).status_code == 303
    assert {user.name for user in trusting.state.access.accounts.all()} == {"eve", "zoe"}


def test_an_answer_counts_once_and_only_in_the_browser_that_asked(
    stored: Service, provider: Provider, log_lines: list[str]
) -> None:
    """Another browser or state, an old ticket, a second use and a forged ticket are refused, without a request."""
    victim, attacker = browser_of(stored), browser_of(stored)
    planted = answer(begin(attacker))
    assert finish(victim, planted).status_code == 401
    begin(victim)
    assert finish(victim, planted).status_code == 401
    assert not is_in(victim)
    said = answer(begin(victim))
    assert finish(victim, said | {"state": said["state"][:-1] + "x"}).status_code == 401
    assert COOKIE not in victim.cookies
    asked = provider.token_requests
    for forged in ("", "x", "e30.00", "\u00e9.x", "x" * 5000):
        browser = browser_of(stored)
        browser.cookies.set(COOKIE, forged.encode("ascii", "replace").decode())
        assert finish(browser, said).status_code == 401
    assert provider.token_requests == asked
    said = answer(begin(victim))
    ticket = victim.cookies[COOKIE]
    assert finish(victim, said).status_code == 303
    session = victim.cookies["antechamber"]
    plant(victim, ticket)
    assert finish(victim, said).status_code == 401
    provider.codes[said["code"]] = provider.asked
    plant(victim, ticket)
    assert "finished already" in finish(victim, said).text
    assert victim.cookies["antechamber"] == session
    late = answer(begin(attacker))
    stored.state.access.providers._clock = lambda: app.clock() + 11 * MINUTE
    assert finish(attacker, late).status_code == 401
    assert any("sign-in failed by=acme reason=" in line for line in log_lines)


def part(value: Any) -> str:
    """Return JSON as one part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def forged(provider: Provider, kind: str, nonce: str) -> str:
    """Return an ID token that must be refused."""
    now = int(time.time())
    claims: dict[str, Any] = {"aud": "antechamber", "nonce": nonce} | provider.person
    changed: dict[str, dict[str, Any]] = {
        "another audience": {"aud": "another-client"},
        "several audiences": {"aud": ["antechamber", "another-client"]},
        "another party": {"azp": "another-client"},
        "another issuer": {"iss": "https://id.example.com"},
        "expired": {"iat": now - 7200, "exp": now - 3600},
        "not valid yet": {"iat": now + 3600, "exp": now + 7200},
        "old nonce": {"nonce": "0" * 64},
        "no nonce": {"nonce": None},
        "no subject": {"sub": None},
        "time out of range": {"auth_time": 1e300},
    }
    token = provider.token(**claims | changed.get(kind, {}))
    head, body, _ = token.split(".")
    if kind == "none":
        return f"{part({'alg': 'none', 'kid': 'first'})}.{body}.x"
    if kind == "public key as shared secret":
        text = f"{part({'alg': 'HS256', 'kid': 'first'})}.{body}"
        mac = hmac.new(json.dumps(provider.keys()[0]).encode(), text.encode(), hashlib.sha256).digest()
        return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    if kind == "other claims":
        return f"{head}.{part(claims | {'iss': provider.name, 'sub': 'mallory'})}.{token.split('.')[2]}"
    if kind == "unknown key":
        return f"{part({'alg': 'ES256', 'kid': 'gone'})}.{body}.{token.split('.')[2]}"
    return "no token" if kind == "no token" else token


KINDS = [
    "none",
    "public_key_as_shared_secret",
    "other_claims",
    "unknown_key",
    "no_token",
    "another_audience",
    "several_audiences",
    "another_party",
    "another_issuer",
    "expired",
    "not_valid_yet",
    "old_nonce",
    "no_nonce",
    "no_subject",
    "time_out_of_range",
]


def test_a_forged_id_token_signs_no_one_in(trusting: Service, provider: Provider) -> None:
    """Each forgery gets the same page, no session and no account."""
    for kind in KINDS:
        browser = browser_of(trusting)
        said = answer(begin(browser))
        provider.id_token = forged(provider, kind.replace("_", " "), provider.asked["nonce"])
        refused = finish(browser, said)
        assert (kind, refused.status_code) == (kind, 401)
        assert "cannot be trusted" in refused.text
        assert not is_in(browser)
    assert trusting.state.access.accounts.all() == []
    provider.id_token = None
    assert sign_in(browser_of(trusting)).status_code == 303


def test_answers_of_two_providers_are_not_mixed_up(trusting: Service, provider: Provider) -> None:
    """An answer counts at its own issuer only: by ticket, by the parameter `iss`, and by its absence."""
    with Provider().running() as other:
        assert isinstance(other, Provider)
        change(trusting, provider.policy() + other.policy(name="other", title='"Other"'))
        browser = browser_of(trusting)
        said = answer(begin(browser))
        assert finish(browser, said, "other").status_code == 401
        for issuer in (other.name, None):
            said = answer(begin(browser)) | {"iss": issuer}
            kept = {name: value for name, value in said.items() if value is not None}
            assert "did not give this answer" in finish(browser, kept).text
        assert other.token_requests == provider.token_requests == 0
        assert sign_in(browser, "/login/acme").status_code == 303


def test_what_the_provider_refuses_is_said_without_its_words(trusting: Service, log_lines: list[str]) -> None:
    """Errors and bad codes get a page; texts of the answer are neither shown nor logged."""
    browser = browser_of(trusting)
    for added in ({"error": "access_denied"}, {"error": "<b>hostile"}, {"code": ""}, {"code": "x" * 3000}):
        refused = finish(browser, answer(begin(browser)) | added)
        assert (refused.status_code, "did not sign you in" in refused.text) == (401, True)
        assert "hostile" not in refused.text
    assert "the code" not in refused.text
    wrong = finish(browser, answer(begin(browser)) | {"code": "made-up"})
    assert wrong.status_code == 401
    assert "no such provider" in browser.get("/login/nothing").text
    assert "no such provider" in browser.get("/login/nothing/callback").text
    assert not [line for line in log_lines if "hostile" in line]
    assert any("the provider answers access_denied" in line for line in log_lines)


def test_no_sign_in_leads_to_another_site(trusting: Service) -> None:
    """Only a local address is a next page, and a long one is left out."""
    for url in ("https://evil.example", "//evil.example", "/\\evil.example", "/" + "x" * 1001):
        browser = browser_of(trusting)
        assert sign_in(browser, f"/login/acme?{urlencode({'next': url})}").headers["location"] == "/review"


def test_a_dead_provider_leaves_all_else_working(trusting: Service, provider: Provider) -> None:
    """The page says so; passwords and readiness go on; it is not asked again at once."""
    trusting.state.access.accounts.add(
        "bob", "curator", None, trusting.state.passwords.hash("a long enough pass phrase")
    )
    browser = browser_of(trusting)
    for status, body in (
        (500, b"{}"),
        (200, b"<html>"),
        (200, b"x" * 100_000),
        (200, b'{"issuer": "https://a.example"}'),
    ):
        provider.answer = (status, body)
        before = provider.requests
        for _ in range(3):
            dead = begin(browser)
            assert dead.status_code == 503
            assert "Acme cannot sign you in right now" in dead.text
        assert provider.requests == before + 1
        assert browser.get("/readyz").json()["status"] == "ready"
        shift(trusting, 6)
    form = {"name": "bob", "password": "a long enough pass phrase"}
    assert browser.post("/login", data=form, follow_redirects=False).status_code == 303
    provider.answer = None
    said = answer(begin(browser))
    for status, body in (
        (503, b"{}"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"id_token": 7}'),
        (400, b'{"error": "odd"}'),
    ):
        provider.answer = (status, body)
        assert finish(browser, said).status_code == 503
        provider.answer = None
        said = answer(begin(browser))


def shift(service: Service, seconds: int) -> None:
    """Let time pass for the documents of providers."""
    documents = service.state.access.providers._documents
    clock = documents._clock
    documents._clock = lambda: clock() + seconds * 1_000_000


def test_an_answer_cannot_send_requests_into_the_network(trusting: Service, provider: Provider) -> None:
    """Endpoints of a private issuer stay at its own address; others have to be public and encrypted."""
    right = provider.document["token_endpoint"]
    for url in (
        "http://127.0.0.1:1/token",
        "https://10.0.0.1/token",
        "http://169.254.169.254/token",
        "file:///etc",
        "",
    ):
        provider.document["token_endpoint"] = url
        shift(trusting, 700)
        assert begin(browser_of(trusting)).status_code == 503
    provider.document["token_endpoint"] = right
    shift(trusting, 700)
    assert sign_in(browser_of(trusting)).status_code == 303


def test_new_keys_are_looked_for_at_most_twice_a_minute(trusting: Service, provider: Provider) -> None:
    """A rotated key works after at most half a minute; tokens with made-up keys cause no further requests."""
    sign_in(browser_of(trusting))
    provider.add_key("second")
    provider.key_id = "second"
    before = provider.requests
    for _ in range(3):
        assert sign_in(browser_of(trusting)).status_code == 401
    assert provider.requests == before + 3
    shift(trusting, 31)
    assert sign_in(browser_of(trusting)).status_code == 303


def test_a_slow_provider_holds_four_sign_ins_at_most(trusting: Service) -> None:
    """A further one gets 503 at once."""
    turns = trusting.state.access.providers._turns
    for _ in range(4):
        turns.acquire()
    refused = begin(browser_of(trusting))
    assert (refused.status_code, "Too many people" in refused.text) == (503, True)
    turns.release(4)
    assert begin(browser_of(trusting)).status_code == 303


def test_sensitive_actions_ask_at_the_provider_again(stored: Service, provider: Provider, log_lines: list[str]) -> None:
    """The proof has to be new and of the same person; the page keeps what was sent, and then it is done."""
    provider.person["auth_time"] = int(time.time()) - 86_400
    browser, phone = browser_of(stored), browser_of(stored)
    sign_in(browser)
    sign_in(phone)
    form = {"csrf": csrf(browser), "session": "others"}
    asked = browser.post("/settings/sessions", data=form, follow_redirects=False)
    assert asked.status_code == 403
    assert 'href="/login/acme?confirm=1"' in asked.text
    assert '<input type="hidden" name="session" value="others">' in asked.text
    stale = finish(browser, answer(begin(browser, "/login/acme?confirm=1")))
    assert (stale.status_code, "cannot be trusted" in stale.text) == (401, True)
    assert (provider.asked["prompt"], provider.asked["max_age"]) == ("login", "0")
    provider.person["auth_time"] = int(time.time())
    other = answer(begin(phone, "/login/acme?confirm=1"))
    ticket = phone.cookies[COOKIE]
    plant(browser, ticket)
    assert finish(browser, other).status_code == 401
    provider.person["sub"] = "another"
    assert "as another person" in finish(browser, answer(begin(browser, "/login/acme?confirm=1"))).text
    provider.person["sub"] = "248289"
    assert browser.post("/settings/sessions", data=form, follow_redirects=False).status_code == 403
    said = answer(begin(browser, "/login/acme?confirm=1"))
    ticket = browser.cookies[COOKIE]
    done = finish(browser, said)
    assert done.headers["location"] == "/login?confirmed=1"
    assert "press “Go on” in the other one" in browser.get("/login?confirmed=1").text
    provider.codes[said["code"]] = provider.asked
    plant(browser, ticket)
    assert "finished already" in finish(browser, said).text
    assert browser.post("/settings/sessions", data=form, follow_redirects=False).status_code == 303
    assert (is_in(browser), is_in(phone)) == (True, False)
    assert any("confirmed account=lin role=curator" in line for line in log_lines)


def test_the_policy_switches_passwords_off_and_is_shown(trusting: Service, provider: Provider) -> None:
    """Without the form a sent password is refused; links of operators still work, and /policy shows providers."""
    change(trusting, "[sign_in]\npassword = false\n" + provider.policy())
    browser = browser_of(trusting)
    page = browser.get("/login").text
    assert 'name="password"' not in page
    assert 'class="button primary"' in page
    refused = browser.post("/login", data={"name": "bob", "password": "x"}, follow_redirects=False)
    assert (refused.status_code, "switched off" in refused.text) == (403, True)
    desk = trusting.sign_in()
    shown = desk.browser.get("/policy").text
    assert provider.name in shown
    assert "groups = memory-curators" in shown
    assert SECRET not in shown


def test_operators_learn_of_a_missing_secret(
    trusting: Service, provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing variable or file is an alarm, and people get a page that names no variable; a file works, too."""
    providers = trusting.state.access.providers
    assert providers.alarms() == []
    monkeypatch.delenv("ACME_SECRET")
    assert providers.alarms() == [
        "People cannot sign in at the provider acme: the environment variable ACME_SECRET has no client secret."
    ]
    refused = begin(browser_of(trusting))
    assert (refused.status_code, "ACME_SECRET" in refused.text) == (503, False)
    file = tmp_path / "secret"
    text = provider.policy(secret_file=f'"{file}"').replace('secret_env = "ACME_SECRET"\n', "")
    change(trusting, text)
    assert f"the file {file} has no client secret" in providers.alarms()[0]
    file.write_text(SECRET + "\n")
    assert sign_in(browser_of(trusting)).status_code == 303
    file.write_text("wrong")
    assert sign_in(browser_of(trusting)).status_code == 503


def test_a_planted_identity_gives_no_account(stored: Service) -> None:
    """A row that was not written with the folder's secret counts for nothing, and the doctor finds it."""
    sign_in(browser_of(stored))
    with database(stored.location) as raw:
        raw.execute("INSERT INTO identities SELECT 'planted', \"user\", created_at, proof FROM identities")
    assert any("identity planted of lin was not begun" in finding for finding in examine(stored.location))
    with database(stored.location) as raw:
        raw.execute("DELETE FROM identities WHERE digest <> 'planted'")
    assert "of another person here" in sign_in(browser_of(stored)).text

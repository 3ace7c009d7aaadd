"""Sign-in and sign-out, sessions, cookies and the protection against forged requests."""

import functools
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from antechamber import app
from antechamber.app.factory import create_app
from antechamber.core.errors import AntechamberError
from antechamber.settings import Settings
from support import URL, Desk, Service, event

PASSWORD = "a long enough pass phrase"
WRONG = "another long pass phrase"
MINUTE = 60 * 1_000_000


def _with_password(service: Service, name: str = "bob", role: Any = "curator") -> None:
    service.state.access.accounts.add(name, role, None, service.state.passwords.hash(PASSWORD))


def _sign_in(service: Service, name: str = "bob", password: str = PASSWORD, **headers: str) -> Any:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    form = {"name": name, "password": password}
    return TestClient(service.app, base_url=URL).post("/login", data=form, headers=sent, follow_redirects=False)


def _link(service: Service, name: str = "bob") -> str:
    if name not in {user.name for user in service.state.access.accounts.all()}:
        service.state.access.accounts.add(name, "curator", None, None)
    link: str = service.state.access.sign_in.create_link(name)
    return link


def _later(service: Service, minutes: int) -> None:
    """Advance the clock used for sign-ins."""
    service.set_access_clock(lambda: app.clock() + minutes * MINUTE)


def _csrf(desk: Desk) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/dashboard").text)
    assert found
    return found[1]


@pytest.fixture
def secure(tmp_path: Path, policies: Path) -> Iterator[TestClient[Any]]:
    """A browser of a service behind a TLS proxy."""
    settings = Settings(data=tmp_path / "secure", policies=policies, public_url="https://desk.example.org")
    made = create_app(settings)
    with TestClient(made, base_url="https://desk.example.org") as client:
        made.state.access.accounts.add("bob", "curator", None, None)
        yield client


def test_a_link_page_has_one_button_and_does_not_consume(service: Service) -> None:
    """Opening a link, as mail scanners do, does not consume it; its page has one button."""
    link = _link(service)
    for _ in range(3):
        page = service.client.get("/login", params={"link": link})
        assert page.status_code == 200
        assert page.text.count("<button") == page.text.count("<form") == 1
        assert page.headers["cache-control"] == "no-store"
        assert "set-cookie" not in page.headers
    assert service.client.post("/login", data={"link": link}, follow_redirects=False).status_code == 303


def test_a_link_works_once(service: Service) -> None:
    """The button consumes the link; a second press is refused with the remedy."""
    link = _link(service)
    first = TestClient(service.app, base_url=URL).post("/login", data={"link": link}, follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/review")
    again = TestClient(service.app, base_url=URL).post("/login", data={"link": link}, follow_redirects=False)
    assert again.status_code == 400
    assert "Ask for a new one" in again.text
    assert "set-cookie" not in again.headers


def test_a_link_ends_after_fifteen_minutes(service: Service) -> None:
    """A link is valid for 15 minutes: it works one minute before that and not afterwards."""
    late, early = _link(service), _link(service)
    _later(service, 14)
    assert service.client.post("/login", data={"link": early}, follow_redirects=False).status_code == 303
    _later(service, 15)
    assert service.client.post("/login", data={"link": late}, follow_redirects=False).status_code == 400


def test_a_disabled_account_cannot_use_its_link(service: Service) -> None:
    """A link made before the account was disabled does not sign in."""
    link = _link(service)
    assert service.state.access.accounts.disable("bob")
    assert service.client.post("/login", data={"link": link}, follow_redirects=False).status_code == 400


def test_a_password_signs_in(service: Service) -> None:
    """The right password starts a session."""
    _with_password(service)
    response = _sign_in(service)
    assert (response.status_code, response.headers["location"]) == (303, "/review")
    assert "antechamber=antw_" in response.headers["set-cookie"]


@pytest.mark.parametrize(("role", "home"), [("curator", "/review"), ("auditor", "/audit"), ("operator", "/operations")])
def test_each_role_has_its_own_start_page(service: Service, role: str, home: str) -> None:
    """After signing in, and from the front page, each role is led to its own page."""
    desk = service.sign_in(f"{role}-1", role)
    assert desk.browser.get("/", follow_redirects=False).headers["location"] == home
    assert desk.browser.get("/").status_code == 200


def test_no_form_stays_in_memory(service: Service) -> None:
    """The framework's own parser would remember 1,024 forms, with the passwords in them."""
    _with_password(service)
    assert _sign_in(service).status_code == 303
    # What the tests do not collect is not listed either.
    gc.unfreeze()
    caches = [found for found in gc.get_objects() if isinstance(found, functools._lru_cache_wrapper)]
    gc.freeze()
    kept = repr([part for cache in caches for part in gc.get_referents(cache) if isinstance(part, dict)])
    assert "(b'',)" in kept
    assert PASSWORD.replace(" ", "+") not in kept


def test_wrong_password_and_unknown_name_look_the_same(service: Service) -> None:
    """The answer does not reveal which accounts exist, have a password or are disabled."""
    _with_password(service)
    _with_password(service, "gone")
    service.state.access.accounts.disable("gone")
    service.state.access.accounts.add("linked", "curator", None, None)
    answers = [_sign_in(service, name, WRONG) for name in ("bob", "nobody", "linked")]
    answers.append(_sign_in(service, "gone", PASSWORD))
    texts = {re.sub(r'value="(bob|nobody|linked|gone)"', "", response.text) for response in answers}
    assert {response.status_code for response in answers} == {401}
    assert len(texts) == 1


def test_the_dummy_hash_opens_no_account(service: Service) -> None:
    """The dummy hash for unknown names opens no account."""
    service.state.access.accounts.add("linked", "curator", None, None)
    for name in ("linked", "nobody", ""):
        assert _sign_in(service, name, "nobody has this password").status_code == 401


@pytest.mark.parametrize("name", ["bob", "nobody"])
def test_guessing_is_slowed_down_for_known_and_unknown_names(service: Service, name: str) -> None:
    """After five wrong passwords even the right one must wait, and the answer states how long."""
    _with_password(service)
    assert [_sign_in(service, name, WRONG).status_code for _ in range(5)] == [401] * 5
    refused = _sign_in(service, name)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert "Too many failed attempts" in refused.text
    assert _sign_in(service, "somebody-else", WRONG).status_code == 401
    _later(service, 16)
    assert _sign_in(service, name).status_code == (303 if name == "bob" else 401)


def test_a_link_opens_a_slowed_down_account(service: Service) -> None:
    """An operator's link works at once for an account that is throttled by wrong passwords."""
    _with_password(service)
    for _ in range(6):
        _sign_in(service, "bob", WRONG)
    assert service.client.post("/login", data={"link": _link(service)}, follow_redirects=False).status_code == 303


def test_a_disabled_account_loses_its_session(service: Service) -> None:
    """Disabling an account ends its sessions for good."""
    desk = service.sign_in()
    assert desk.browser.get("/review").status_code == 200
    service.state.access.accounts.disable("bob")
    service.state.access.sessions.forget()  # cached for up to one second
    assert desk.browser.get("/review", follow_redirects=False).status_code == 303


def test_every_sign_in_has_a_session_of_its_own(service: Service) -> None:
    """A session id sent by the browser is never adopted."""
    _with_password(service)
    planted = "antw_" + "A" * 36
    ids = set()
    for cookie in (f"antechamber={planted}", f"antechamber={planted}", "antechamber=short"):
        response = _sign_in(service, cookie=cookie)
        ids.add(response.cookies["antechamber"])
    assert len(ids) == 3
    assert planted not in ids
    stranger = service.client.get("/review", headers={"cookie": f"antechamber={planted}"}, follow_redirects=False)
    assert stranger.status_code == 303


def test_signing_in_again_changes_the_session(service: Service) -> None:
    """A signed-in browser that signs in again gets a fresh session id."""
    _with_password(service)
    first = _sign_in(service).cookies["antechamber"]
    second = _sign_in(service, cookie=f"antechamber={first}").cookies["antechamber"]
    assert first != second


def test_signing_out_ends_the_session(service: Service) -> None:
    """After signing out the old cookie is invalid, even a copy of it."""
    desk = service.sign_in()
    kept = desk.browser.cookies["antechamber"]
    response = desk.post("/logout", {"csrf": _csrf(desk)})
    assert (response.status_code, response.headers["location"]) == (303, "/login")
    copy = {"cookie": f"antechamber={kept}"}
    assert service.client.get("/review", headers=copy, follow_redirects=False).status_code == 303


@pytest.mark.parametrize(("role", "minutes"), [("curator", 12 * 60), ("auditor", 60), ("operator", 60)])
def test_an_idle_session_ends_by_itself(service: Service, role: str, minutes: int) -> None:
    """A session ends without a request of twelve hours for a curator, of one hour for others."""
    early, late = service.sign_in("early", role), service.sign_in("late", role)
    assert early.browser.get("/dashboard").status_code == late.browser.get("/dashboard").status_code == 200
    _later(service, minutes - 1)
    assert early.browser.get("/dashboard", follow_redirects=False).status_code == 200
    _later(service, minutes + 1)
    assert late.browser.get("/dashboard", follow_redirects=False).status_code == 303


@pytest.mark.parametrize(("role", "halves"), [("curator", 48), ("auditor", 24)])
def test_a_busy_session_ends_by_itself(service: Service, role: str, halves: int) -> None:
    """A session in use ends after 24 hours for a curator, after 12 hours for others."""
    desk = service.sign_in("eve", role)
    states = []
    for number in range(halves + 2):
        _later(service, number * 30)
        states.append(desk.browser.get("/dashboard", follow_redirects=False).status_code)
    assert states == [200] * halves + [303] * 2


def test_the_policy_says_how_long_sessions_last(service: Service, policies: Path) -> None:
    """A policy that shortens sessions ends those that are open; other roles and keys stay as they are."""
    bob, una = service.sign_in("bob"), service.sign_in("una", "auditor")
    (policies / "people.toml").write_text("[session.curator]\nidle_minutes = 600\nabsolute_hours = 2\n")
    service.state.admission._policies.refresh()
    _later(service, 59)
    assert bob.browser.get("/dashboard", follow_redirects=False).status_code == 200
    assert una.browser.get("/dashboard", follow_redirects=False).status_code == 200
    _later(service, 118)
    assert bob.browser.get("/dashboard", follow_redirects=False).status_code == 200
    _later(service, 121)
    assert bob.browser.get("/dashboard", follow_redirects=False).status_code == 303


def test_a_form_of_a_session_that_has_lasted_too_long_changes_nothing(service: Service) -> None:
    """What was looked up a moment ago does not carry a session beyond its end."""
    desk = service.sign_in()
    csrf = _csrf(desk)
    _later(service, 24 * 60 - 1)
    assert desk.browser.get("/dashboard", follow_redirects=False).status_code == 303
    assert desk.post("/settings", {"csrf": csrf}).status_code == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(service: Service) -> None:
    """The session cookie is HttpOnly and Lax, valid for the whole host, and ends with the browser."""
    cookie = service.client.post("/login", data={"link": _link(service)}, follow_redirects=False).headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "samesite=lax", "path=/"}
    assert cookie.startswith("antechamber=")


def test_the_cookie_is_bound_to_tls_behind_a_proxy(secure: TestClient[Any]) -> None:
    """With an https address the cookie is Secure and has the __Host- prefix."""
    link = secure.app.state.access.sign_in.create_link("bob")
    cookie = secure.post("/login", data={"link": link}, follow_redirects=False).headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert cookie.startswith("__Host-antechamber=")
    assert parts == {"httponly", "samesite=lax", "path=/", "secure"}
    assert secure.get("/review").status_code == 200


def test_signing_out_behind_a_proxy_clears_the_cookie(secure: TestClient[Any]) -> None:
    """Browsers accept a __Host- cookie only with Secure, including the one that deletes it."""
    secure.post("/login", data={"link": secure.app.state.access.sign_in.create_link("bob")})
    cookie = secure.post("/logout", data={"csrf": _csrf(Desk(secure))}, follow_redirects=False).headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert cookie.startswith("__Host-antechamber=")
    assert {"secure", "path=/", "max-age=0"} <= parts


def test_reading_a_page_signed_out_leads_back_to_it(service: Service) -> None:
    """A person who opens a page without a session returns to it after signing in."""
    desk = service.sign_in("first")
    asked = service.client.get("/review?after=x&done=approved", follow_redirects=False)
    assert asked.status_code == 303
    page = service.client.get(asked.headers["location"])
    location = re.search(r'name="next" value="([^"]*)"', page.text)
    assert location
    assert location[1] == "/review?after=x&amp;done=approved"
    sent = {"link": _link(service), "next": "/review?after=x&done=approved"}
    response = desk.browser.post("/login", data=sent, follow_redirects=False)
    assert response.headers["location"] == "/review?after=x&done=approved"


ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "\n//evil.example",
    "javascript:alert(1)",
    "review",
    "/a\r\nset-cookie: a=b",
    "",
]


def test_signing_in_never_leads_elsewhere(service: Service) -> None:
    """A return path counts only within this service."""
    for index in ELSEWHERE:
        page = service.client.get("/login", params={"next": index})
        assert 'name="next"' not in page.text
        sent = {"link": _link(service), "next": index}
        response = service.client.post("/login", data=sent, follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (303, "/review")


def test_a_form_needs_its_sessions_own_token(service: Service) -> None:
    """A missing, wrong or foreign form token changes nothing and gives 403."""
    proposal = service.submit(event()).json()["proposal_id"]
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    form, foreign = bob.form(proposal), eve.form(proposal)["csrf"]
    for csrf in ("", "0" * 64, foreign, "ü"):
        assert bob.post(f"/review/{proposal}/approve", form | {"csrf": csrf}).status_code == 403
    del form["csrf"]
    assert bob.post(f"/review/{proposal}/approve", form).status_code == 403
    assert bob.decide(proposal, "approve").status_code == 303


def test_a_form_token_ends_with_its_session(service: Service) -> None:
    """The form token of an earlier session of the same person is invalid after a new sign-in."""
    proposal = service.submit(event()).json()["proposal_id"]
    old = service.sign_in().form(proposal)
    assert service.sign_in().post(f"/review/{proposal}/approve", old).status_code == 403


FORGED = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "origin": URL},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9"},
    {"origin": "http://["},
    {"origin": "http://127.0.0.1:8080@evil.example"},
]
OWN = [{}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {"origin": URL}]


def test_what_another_site_sends_is_refused(service: Service) -> None:
    """A request marked by the browser as cross-site can neither decide nor sign in nor sign out."""
    proposal = service.submit(event()).json()["proposal_id"]
    desk = service.sign_in()
    places = {
        f"/review/{proposal}/approve": desk.form(proposal),
        "/logout": desk.form(proposal),
        "/login": {"link": _link(service)},
    }
    answered = {
        (path, str(headers)): desk.browser.post(path, data=fields, headers=headers, follow_redirects=False).status_code
        for path, fields in places.items()
        for headers in FORGED
    }
    assert {index: status for index, status in answered.items() if status != 403} == {}
    assert service.recall() == []
    assert desk.browser.get("/review").status_code == 200


def test_what_the_own_pages_and_programs_send_is_taken(service: Service) -> None:
    """Own pages, and programs that send neither header, are accepted."""
    desk = service.sign_in()
    for number, headers in enumerate(OWN, 1):
        proposal = service.submit(event(f"Sentence {number}.")).json()["proposal_id"]
        path, form = f"/review/{proposal}/approve", desk.form(proposal)
        assert desk.browser.post(path, data=form, headers=headers, follow_redirects=False).status_code == 303
        assert len(service.recall()) == number


def test_the_public_address_is_an_own_origin(secure: TestClient[Any]) -> None:
    """Behind a proxy with an internal host name, the public address still counts as the same origin."""
    sent = {"link": secure.app.state.access.sign_in.create_link("bob")}
    headers = {"origin": "https://desk.example.org", "host": "127.0.0.1:8080"}
    assert secure.post("/login", data=sent, headers=headers, follow_redirects=False).status_code == 303


def test_an_edit_sent_signed_out_gives_the_typed_text_back(service: Service) -> None:
    """When a session ended while a person typed, the text is shown again, escaped, and nothing is recorded."""
    proposal = service.submit(event()).json()["proposal_id"]
    sent = {"content": "My <b>changed</b> text.", "reason_code": "unclear", "reason_text": "My own note."}
    response = service.client.post(f"/review/{proposal}/edit", data=sent, follow_redirects=False)
    assert response.status_code == 401
    assert "My &lt;b&gt;changed&lt;/b&gt; text." in response.text
    labels = re.findall(r"<label>([^<]+)\n\s*<textarea[^>]*>\n([^<]+)<", response.text)
    assert labels == [("Note", "My own note."), ("Text in the edit field", "My &lt;b&gt;changed&lt;/b&gt; text.")]
    assert "Nothing was recorded" in response.text
    assert "no-store" in response.headers["cache-control"]


FOREIGN = ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.", "", "[", "evil.example:8080:"]
HERE = ["127.0.0.1", "localhost:99999", "127.0.0.1:8080", "localhost:9999", "LOCALHOST", "[::1]", "[::1]:8080"]


def test_a_foreign_host_name_is_refused(service: Service) -> None:
    """A foreign host name that resolves to the service is refused."""
    desk = service.sign_in()
    for host in FOREIGN:
        for path in ("/review", "/login", "/v1/memories", "/readyz"):
            response = desk.browser.get(path, headers={"host": host}, follow_redirects=False)
            assert (host, response.status_code) == (host, 400)
            assert "host name" in response.text


def test_the_own_host_names_are_taken(service: Service) -> None:
    """The loopback names are accepted with any port."""
    answered = {host: service.client.get("/login", headers={"host": host}).status_code for host in HERE}
    assert answered == dict.fromkeys(HERE, 200)


def test_the_public_host_name_is_taken(secure: TestClient[Any]) -> None:
    """Behind a proxy the name in --public-url is accepted too."""
    hosts = {"desk.example.org": 200, "Desk.Example.Org:443": 200, "127.0.0.1:8080": 200, "desk.example.com": 400}
    assert {host: secure.get("/login", headers={"host": host}).status_code for host in hosts} == hosts


@pytest.mark.parametrize("url", ["desk.example.org", "ftp://desk.example.org", "https://", "//desk.example.org"])
def test_a_public_url_that_is_none_is_refused_at_the_start(tmp_path: Path, policies: Path, url: str) -> None:
    """An invalid public address stops the start with a clear error instead of refusing every browser later."""
    with pytest.raises(AntechamberError, match="--public-url"):
        create_app(Settings(data=tmp_path / "data", policies=policies, public_url=url))


MULTIPART = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="csrf"'
BROKEN = [
    (b"--x\r\nno part", MULTIPART),
    (b"--x\r\nno part", "multipart/form-data"),
    (PART + b"\r\n\r\n\xed\xa0\x80\r\n--x--\r\n", MULTIPART),
    (PART + b"\r\nContent-Type: text/plain; charset=no-such\r\n\r\na\r\n--x--\r\n", MULTIPART),
    (PART + b'; filename="a"\r\n\r\na\r\n--x--\r\n', MULTIPART),
    (b"csrf=%ED%A0%80&name=%FF", "application/x-www-form-urlencoded"),
    (b"{", "application/json"),
    (b"\xc1", "application/octet-stream"),
    (b"", ""),
]


@pytest.mark.parametrize("path", ["/login", "/logout", "/review/x/approve"])
def test_a_broken_form_is_refused_and_no_failure(service: Service, path: str) -> None:
    """A malformed form is refused and never causes a server error."""
    desk = service.sign_in()
    answered = {
        (body, media_type): desk.browser.post(path, content=body, headers={"content-type": media_type}).status_code
        for body, media_type in BROKEN
    }
    assert {sent: status for sent, status in answered.items() if status not in {400, 401, 403}} == {}


def test_a_huge_form_is_refused(service: Service) -> None:
    """A form larger than a person could type gives 413, as a page."""
    response = service.client.post("/login", data={"name": "x" * 20_000})
    assert response.status_code == 413
    assert "too large" in response.text


def test_secrets_are_kept_as_digests_only(service: Service) -> None:
    """The data folder holds no session id, link, token or password in plain text."""
    _with_password(service)
    secrets = [_sign_in(service).cookies["antechamber"], _link(service), service.token(), PASSWORD]
    service.state.access.last_use.flush()
    stored = b"".join(file.read_bytes() for file in service.data.rglob("*") if file.is_file())
    assert [secret for secret in secrets if secret.encode() in stored] == []

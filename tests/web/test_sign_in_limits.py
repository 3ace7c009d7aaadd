"""Many password guesses at once or from many addresses, and other work meanwhile."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from litestar.testing import TestClient

from antechamber import app
from antechamber.app.factory import create_app
from antechamber.flows.sign_in_limits import MAX_FAILURES, MAX_FAILURES_OF_ADDRESS, TooManyAttemptsError
from antechamber.settings import Location, Settings, SettingsError
from antechamber.web import thread_pools
from antechamber.web.client_address import client_address, forwarded_address
from antechamber.web.passwords import HASHERS
from support import URL, Service, event

GUESSES = 64


def test_of_many_guesses_at_once_five_are_tried(location: Location) -> None:
    """A guess is counted before it is checked, so five of many are tried, even over two processes with one database."""
    app.open_store(location).close()
    tried, refused = [], []
    over, gate = threading.Event(), threading.Lock()

    def verify(_: str | None) -> bool:
        with gate:
            tried.append(1)
        # All guesses run at once: none is known to be wrong before the last one is refused.
        assert over.wait(60)
        return False

    with app.opened_access(location) as one, app.opened_access(location) as other, ThreadPoolExecutor(GUESSES) as pool:

        def guess(number: int) -> None:
            try:
                assert (one, other)[number % 2].sign_in.check_password("bob", "", verify) is None
            except TooManyAttemptsError:
                with gate:
                    refused.append(1)
                    if len(refused) == GUESSES - MAX_FAILURES:
                        over.set()

        list(pool.map(guess, range(GUESSES)))
    assert (len(tried), len(refused)) == (MAX_FAILURES, GUESSES - MAX_FAILURES)


def test_a_right_password_counts_nowhere(service: Service) -> None:
    """A right password counts as a failure neither for the name nor for the address."""
    access = service.state.access
    access.accounts.add("bob", "curator", None, "known")
    for _ in range(MAX_FAILURES_OF_ADDRESS + 1):
        assert access.sign_in.check_password("bob", "203.0.113.9", lambda _: True) is not None


def test_an_account_that_changes_while_its_password_is_hashed_stays_closed(service: Service) -> None:
    """A right password does not sign in if the account is disabled while it is hashed."""
    access = service.state.access
    access.accounts.add("bob", "curator", None, "known")
    assert access.sign_in.check_password("bob", "", lambda _: access.accounts.disable("bob")) is None


def test_more_sign_ins_than_can_be_answered_are_sent_away(service: Service) -> None:
    """Excess sign-ins are refused at once with a time to retry; they do not count as guesses, and links still work."""
    passwords, release, begun = service.state.passwords, threading.Event(), threading.Semaphore(0)

    def slow(*_: Any) -> bool:
        begun.release()
        return release.wait(60)

    passwords.verify = slow
    service.state.access.accounts.add("bob", "curator", None, "known")

    def sign_in(name: str) -> Any:
        form = {"name": name, "password": "x"}
        return TestClient(service.app, base_url=URL).post("/login", data=form, follow_redirects=False)

    passwords._most = HASHERS
    with ThreadPoolExecutor(HASHERS) as pool:
        answers = [pool.submit(sign_in, f"name-{number}") for number in range(HASHERS)]
        for _ in answers:
            assert begun.acquire(timeout=60)
        full = sign_in("bob")
        assert full.status_code == 503
        assert full.headers["retry-after"] == "5"
        assert "Too many sign-ins at once; try again in a few seconds." in full.text
        assert service.sign_in("una").browser.get("/review").status_code == 200
        release.set()
        assert {one.result().status_code for one in answers} == {401}
    assert service.state.access.sign_in.check_password("bob", "", lambda _: True) is not None


def test_no_kind_of_work_waits_behind_another(service: Service) -> None:
    """Agents are answered while every thread for pages and passwords is busy."""
    token = service.token()
    release = threading.Event()
    busy = [thread_pools.PAGES.submit(release.wait, 60) for _ in range(64)]
    busy += [service.state.passwords._threads.submit(release.wait, 60) for _ in range(8)]
    try:
        headers = {"authorization": f"Bearer {token}"}
        receipt = service.client.post("/v1/submissions", json=event(), headers=headers).json()
        found = service.client.get(f"/v1/submissions/{receipt['submission_id']}", headers=headers)
        assert found.json()["disposition"] == "accepted-for-review"
        assert service.recall() == []
        assert service.client.get("/v1/token", headers=service.bearer("other", "reader", ("project:a",))).is_success
    finally:
        release.set()
    assert all(one.result() for one in busy)


@pytest.mark.parametrize(
    ("field", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.7, 203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:ffff::]", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:ffff::]:4711", "2001:db8:1:2::/64"),
        ("203.0.113.9, nonsense", ""),
        ("unknown", ""),
        ("for=203.0.113.9", ""),
        ("", ""),
    ],
)
def test_the_last_address_that_the_proxy_names_counts(field: str, counted: str) -> None:
    """Only the last address from the proxy counts, because clients can forge the others; else names count."""
    assert forwarded_address(field) == counted


@pytest.mark.parametrize(
    ("peer", "counted"),
    [("10.0.0.1", "10.0.0.1"), ("::ffff:10.0.0.1", "10.0.0.1"), ("2001:db8::1", "2001:db8::/64"), ("named", "named")],
)
def test_a_peer_counts_by_its_address(peer: str, counted: str) -> None:
    """All addresses of one IPv6 network count as one."""
    assert client_address(peer) == counted


@pytest.mark.parametrize("header", [None, "X-Forwarded-For"])
def test_behind_a_proxy_addresses_count_where_it_names_them(service: Service, header: str | None) -> None:
    """Without the setting a client's own header is ignored, so no client can lock out another."""
    settings = Settings(
        data=service.data,
        policies=service.settings.policies,
        database_url=service.location.database_url,
        public_url="https://desk.example.org",
        client_address_header=header,
    )
    made = create_app(settings)
    with TestClient(made, base_url="https://desk.example.org") as client:
        for number in range(MAX_FAILURES_OF_ADDRESS):
            made.state.access.sign_in.check_password(f"name-{number}", "203.0.113.9", lambda _: False)

        def guess(forwarded: str) -> int:
            sent = {"x-forwarded-for": forwarded}
            answer = client.post("/login", data={"name": forwarded, "password": "x"}, headers=sent)
            status: int = answer.status_code
            return status

        found = Counter({one: guess(one) for one in ("198.51.100.7, 203.0.113.9", "203.0.113.9, 198.51.100.7")})
    expected = [429, 401] if header else [401, 401]
    assert list(found.values()) == expected


@pytest.mark.parametrize("sent", [{}, {"x-forwarded-for": "unknown"}], ids=["no header", "no address"])
def test_a_proxy_that_names_no_address_locks_no_one_out(service: Service, sent: dict[str, str]) -> None:
    """If the proxy names no address, only names count; otherwise one client's failures would lock out all others."""
    settings = Settings(
        data=service.data,
        policies=service.settings.policies,
        database_url=service.location.database_url,
        public_url="https://desk.example.org",
        client_address_header="X-Forwarded-For",
    )
    made = create_app(settings)
    with TestClient(made, base_url="https://desk.example.org") as client:
        for number in range(MAX_FAILURES_OF_ADDRESS):
            # The test client's address is a name, not an IP address.
            made.state.access.sign_in.check_password(f"name-{number}", "testclient", lambda _: False)
        assert client.post("/login", data={"name": "bob", "password": "x"}, headers=sent).status_code == 401


@pytest.mark.parametrize("header", ["Forwarded", "X Real", "", "X-Real-IP:"])
def test_a_header_that_holds_no_address_is_refused_at_the_start(service: Service, header: str) -> None:
    """The error for a header that holds no address names the headers to use."""
    with pytest.raises(SettingsError, match="X-Forwarded-For"):
        Settings(data=service.data, policies=service.data, client_address_header=header).check()

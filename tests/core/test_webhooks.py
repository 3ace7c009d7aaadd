"""Webhooks: which leaves are events, what a message says and how it is signed, where it may go, and when again."""

import json
import time
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from antechamber.core.log.leaf import Leaf, leaf_bytes
from antechamber.core.rows.webhooks import Webhook
from antechamber.core.times import format_time
from antechamber.core.webhooks.events import Event, read_event, time_of
from antechamber.core.webhooks.message import body_of, derive_secret, message_id, sign_message
from antechamber.core.webhooks.schedule import FIRST_PAUSE, LONGEST_PAUSE, Answer, after_attempt, pause
from antechamber.core.webhooks.target import MAX_URL, TargetError, check_address, read_target

NOW = 1_795_000_000_000_000
EVENT = Event(type="proposal.waiting", sequence=7, at="2026-11-20T10:00:00.000000Z", ids={"proposal_id": "p"})


def leaf(action: str, after: str, before: str | None = None, reason_code: str | None = None, **subject: str) -> str:
    """Return a leaf in its canonical form."""
    made = Leaf(
        action=action,
        actor="ada",
        before=before,
        reason_code=reason_code,
        role="curator",
        subject=subject,
        time=format_time(NOW),
        after=after,
    )
    return leaf_bytes(made).decode()


RECORD = {"proposal_id": "p", "review_record_id": "r"}


@pytest.mark.parametrize(
    ("text", "kind", "ids", "facts"),
    [
        (leaf("submit", "accepted-for-review", submission_id="s", proposal_id="p"), "proposal.waiting", "p", {}),
        (leaf("question", "written", note_id="n", proposal_id="p"), "proposal.question", "pn", {}),
        (leaf("answer", "written", note_id="n", proposal_id="p", answers="q"), "proposal.waiting", "pn", {}),
        (
            leaf("reject", "rejected", "pending", "unclear", **RECORD),
            "proposal.decided",
            "pr",
            {"decision": "reject", "state": "rejected", "reason_code": "unclear"},
        ),
        (
            leaf("approve", "approved", "pending", **RECORD),
            "proposal.decided",
            "pr",
            {"decision": "approve", "state": "approved"},
        ),
        (leaf("undo", "pending", "approved", undoes="x", **RECORD), "proposal.waiting", "pr", {}),
        (leaf("memory", "active", memory_id="m", review_record_id="r"), "memory.admitted", "mr", {}),
        (
            leaf("memory", "retracted", "active", memory_id="m", review_record_id="r"),
            "memory.ended",
            "mr",
            {"state": "retracted"},
        ),
    ],
)
def test_a_change_that_others_wait_for_is_an_event(text: str, kind: str, ids: str, facts: dict[str, str]) -> None:
    """Each of these leaves is one event, with public ids and words from closed lists."""
    found = read_event(3, text)
    assert found is not None
    assert (found.type, found.sequence, found.at, found.facts) == (kind, 3, format_time(NOW), facts)
    assert "".join(found.ids.values()) == ids
    assert time_of(text) == NOW


@pytest.mark.parametrize(
    "text",
    [
        leaf("submit", "accepted-as-duplicate", submission_id="s", proposal_id="p"),
        leaf("submit", "rejected-private", submission_id="s", quarantine_id="q"),
        # The words of an acceptance in another member.
        leaf("submit", "rejected-invalid", submission_id='"to":"accepted-for-review"'),
        leaf("submit", "rejected-invalid", '"to":"accepted-for-review"', submission_id="s"),
        leaf("approve", "pending", "pending", **RECORD),
        leaf("retract", "approved", "approved", **RECORD),
        leaf("open", "settled", "waiting", quarantine_id="q", review_record_id="r"),
        leaf("note", "written", note_id="n", proposal_id="p"),
        leaf("add-webhook", "added", webhook_id="w"),
        "{}",
    ],
)
def test_other_leaves_are_no_events(text: str) -> None:
    """Duplicates, refusals, first approvals of two, notes and the operators' changes are not sent."""
    assert read_event(3, text) is None


def test_a_leaf_that_only_quotes_an_acceptance_is_no_event() -> None:
    """The quick look finds the words of an acceptance; the decoded leaf decides."""
    text = leaf("submit", "rejected-invalid", submission_id="s").replace(
        '"to":"rejected-invalid"', '"subject_":{"to":"accepted-for-review"},"to":"rejected-invalid"'
    )
    assert '"to":"accepted-for-review"' in text
    assert read_event(0, text) is None


def test_a_signature_is_that_of_the_specification() -> None:
    """The specification's example of secret, id, time and body has the signature that it gives."""
    signed = sign_message(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        1_614_265_330_999_999,
    )
    assert signed.headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signed.headers["webhook-timestamp"] == "1614265330"
    assert signed.headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert signed.headers["content-type"] == "application/json"


def test_each_webhook_has_a_secret_of_its_own() -> None:
    """A secret follows from the folder's secret and the id, has 32 bytes, and verifies only its own messages."""
    one, other, elsewhere = derive_secret(b"k" * 32, "a"), derive_secret(b"k" * 32, "b"), derive_secret(b"l" * 32, "a")
    assert len({one, other, elsewhere}) == 3
    assert one == derive_secret(b"k" * 32, "a")
    assert len(Verifier(one)._whsecret) == 32
    signed = sign_message(one, "msg_1", b"{}", time.time_ns() // 1000)
    Verifier(one).verify(signed.body, signed.headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(other).verify(signed.body, signed.headers)


def test_a_body_has_ids_scope_and_link() -> None:
    """Content is there only if it is given, and a scope only if both parts are known."""
    link = "https://desk.example.org/review/p"
    body = json.loads(body_of(EVENT, scope=("project", "apollo"), link=link, content=None))
    assert body == {
        "type": "proposal.waiting",
        "timestamp": EVENT.at,
        "data": {
            "sequence": 7,
            "proposal_id": "p",
            "link": link,
            "submission_scope": "project",
            "scope_id": "apollo",
        },
    }
    assert (
        json.loads(body_of(EVENT, scope=("project", "apollo"), link=link, content="Text."))["data"]["content"]
        == "Text."
    )
    assert "scope_id" not in json.loads(body_of(EVENT, scope=(None, None), link=link, content=None))["data"]


def test_the_id_of_a_message_is_that_of_its_event() -> None:
    """An alarm's id is apart from those of the log; no id has a dot, which separates the signed parts."""
    alarm = Event(type="alarm.raised", sequence=7, at=EVENT.at, ids={}, alarm=7)
    assert (message_id("w", EVENT), message_id("w", alarm)) == ("msg_w_7", "msg_w_alarm_7")


def webhook(**members: Any) -> Webhook:
    """Return an active endpoint."""
    values: dict[str, Any] = {
        "id": 1,
        "webhook_id": "w",
        "url": "https://hooks.example.org",
        "events": ["proposal.waiting"],
        "allow_private": False,
        "state": "active",
        "next_sequence": 3,
        "last_alarm": 1,
        "version": 0,
        "attempts": 0,
        "next_at": 0,
        "failing_since": None,
        "last_error": None,
        "delivered": 5,
        "delivered_at": None,
        "created_at": 0,
    }
    return Webhook(**values | members)


def test_pauses_double_up_to_six_hours() -> None:
    """The first pause is five seconds at most and half of that at least; the longest one is six hours."""
    assert (pause(1, 0), pause(1, 255)) == (FIRST_PAUSE // 2, FIRST_PAUSE)
    longest = [pause(attempts, 255) for attempts in range(1, 40)]
    assert longest == sorted(longest)
    assert longest[1] == 2 * FIRST_PAUSE
    assert longest[-1] == longest[13] == LONGEST_PAUSE
    assert pause(10**6, 0) == LONGEST_PAUSE // 2


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_success_moves_the_position(status: int) -> None:
    """What failed before is forgotten, and the next event is due at once."""
    failing = webhook(attempts=3, next_at=NOW, failing_since=NOW, last_error="x")
    after = after_attempt(failing, (8, 1), Answer(status), NOW, 0)
    assert after == webhook(next_sequence=8, delivered=6, delivered_at=NOW)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(500), "the receiver answered 500"),
        (Answer(404), "the receiver answered 404"),
        (Answer(302), "the receiver answered 302, and redirects are not followed"),
        (Answer(None, "no network"), "no network"),
    ],
)
def test_a_failure_keeps_the_position(answer: Answer, error: str) -> None:
    """The same event is tried again later, and the begin of the failure is kept."""
    first = after_attempt(webhook(), (8, 1), answer, NOW, 255)
    assert first == webhook(attempts=1, next_at=NOW + FIRST_PAUSE, failing_since=NOW, last_error=error)
    again = after_attempt(first, (8, 1), answer, NOW + 9, 255)
    assert (again.attempts, again.failing_since, again.next_sequence, again.state) == (2, NOW, 3, "active")


def test_gone_disables() -> None:
    """A receiver that answers 410 gets nothing more; its position stays for a replay."""
    after = after_attempt(webhook(), (8, 1), Answer(410), NOW, 0)
    assert (after.state, after.next_sequence, after.last_error) == ("disabled", 3, "the receiver answered 410")


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("https://hooks.example.org", "hooks.example.org", 443, "/", "hooks.example.org"),
        ("https://Hooks.Example.org:8443/a/b?c=d&e", "hooks.example.org", 8443, "/a/b?c=d&e", "hooks.example.org:8443"),
        ("https://93.184.215.14/x", "93.184.215.14", 443, "/x", "93.184.215.14"),
        ("https://[2606:4700::1111]:99/x", "2606:4700::1111", 99, "/x", "[2606:4700::1111]:99"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
    ],
)
def test_a_public_url_is_read(url: str, host: str, port: int, path: str, authority: str) -> None:
    """Host, port, path and the value of the header Host."""
    target = read_target(url, allow_private=False)
    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)
    assert target.secure


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "printable ASCII"),
        ("https://hooks.example.org/" + "a" * MAX_URL, "more than"),
        ("https://hooks.example.org/a b", "printable ASCII"),
        ("https://bücher.example/", "printable ASCII"),
        ("https://hooks.example.org/\r\nx: y", "printable ASCII"),
        ("ftp://hooks.example.org/", "https://"),
        ("hooks.example.org", "https://"),
        ("https://", "no host"),
        ("https:///path", "no host"),
        ("https://[::1", "cannot be read"),
        ("https://hooks.example.org:99999/", "cannot be read"),
        ("https://hooks.example.org:0/", "no host"),
        ("https://-a-/", "no host"),
        ("https://2130706433/", "no host"),
        ("https://0x7f000001/", "no host"),
        ("https://127.1/", "no host"),
        ("https://user:pass@hooks.example.org/", "password"),
        ("https://hooks.example.org/#part", "fragment"),
        ("http://hooks.example.org/", "--allow-private"),
        ("https://localhost/", "--allow-private"),
        ("https://a.localhost./", "--allow-private"),
        ("https://10.0.0.1/", "--allow-private"),
        ("https://[::1]/", "--allow-private"),
    ],
)
def test_other_urls_are_refused(url: str, said: str) -> None:
    """The error says what is wrong, and never repeats a password."""
    with pytest.raises(TargetError, match=said) as caught:
        read_target(url, allow_private=False)
    assert "pass@" not in str(caught.value)


def test_a_private_url_needs_a_permission() -> None:
    """With it, http, names of this machine and private addresses are allowed."""
    target = read_target("http://localhost:8000/x", allow_private=True)
    assert (target.host, target.port, target.secure) == ("localhost", 8000, False)
    assert read_target("http://10.1.2.3", allow_private=True).port == 80


PUBLIC = ["93.184.215.14", "2606:4700::1111", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e", "2002:5db8:d70e::1"]
PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2001:0:5db8:d70e::f5ff:fffe",
    "::127.0.0.1",
]
NEVER = [
    "0.0.0.0",  # noqa: S104 -- nothing is bound to it
    "169.254.169.254",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    """Also one of IPv4 inside IPv6."""
    check_address(address, allow_private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_needs_a_permission(address: str) -> None:
    """Private, shared, unique local, site-local and loopback addresses, also inside IPv6."""
    with pytest.raises(TargetError, match="--allow-private"):
        check_address(address, allow_private=False)
    check_address(address, allow_private=True)


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_never_allowed(address: str) -> None:
    """Link-local addresses, at which clouds serve credentials, multicast, reserved and unspecified ones."""
    with pytest.raises(TargetError, match="link-local, multicast or reserved"):
        check_address(address, allow_private=True)

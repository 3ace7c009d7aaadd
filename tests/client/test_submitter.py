"""Submitters over a network with faults: one proposal, and a ledger that records only what is proven."""

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from msgspec import UNSET

from antechamber import client
from antechamber.client import memory_ledger, submitter_base
from antechamber.client.errors import (
    FailedError,
    InvalidEventError,
    NeedsReviewError,
    NotSentError,
    OperationError,
    RefusedError,
    SettledByHandError,
    UncertainError,
)
from antechamber.client.ledger import Ledger
from antechamber.client.ledger_file import LedgerError
from antechamber.client.log_reader import LogReader
from antechamber.client.submitter import AsyncSubmitter, Submitter
from antechamber.client.wire import _ENVIRONMENT, AddressError, AnswerError, ReadError
from antechamber.core import errors
from antechamber.core.contract import Code, Receipt
from client.network import AsyncNetwork, Network
from client.test_ledger import lesson
from support import MEMBERS, URL, Service, database, event, free_port

PROXY = b"<html>Bad gateway</html>"


@pytest.fixture
def sender(service: Service, network: Network, ledger: Ledger) -> Iterator[Submitter]:
    """A submitter with a ledger."""
    with Submitter(URL, service.token(), ledger, transport=network) as submitter_with_ledger:
        yield submitter_with_ledger


CODES: dict[int, Code] = {
    409: "busy",
    400: "malformed",
    401: "unauthorized",
    403: "producer-mismatch",
    413: "body-too-large",
}
PAGE = b'{"error": "unauthorized", "status": 401}'
"""The answer of a gateway instead of the service."""


def refused(status: int, key: str | None = None, code: Code | None = None) -> bytes:
    """Return the service's answer to a refusal that it does not keep."""
    reasons = [{"code": code or CODES[status], "message": "said", "pointer": None}]
    given = {"status": status, "idempotency_key": key, "reasons": reasons, "received_at": "", "duplicate": False}
    return json.dumps(dict.fromkeys(sorted(MEMBERS)) | given | {"retry_same_key": True, "safe_new_key": False}).encode()


def altered(page: bytes, part: bytes, other: bytes) -> bytes:
    """Return a page with one required part replaced."""
    assert page.count(part) == 1
    return page.replace(part, other)


def count(service: Service, table: str) -> int:
    """Count rows of the service."""
    with database(service.location) as raw:
        number: int = raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return number


def test_an_address_without_tls_needs_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong file of certificates keeps no agent from a service on its own machine; a TLS connection trusts none."""
    monkeypatch.setenv("SSL_CERT_FILE", "/no such file")
    with Submitter("http://127.0.0.1:8080", "token") as submitter:
        transport: Any = submitter._client._transport
        trusting = transport._pool._ssl_context
    assert trusting.verify_mode == ssl.CERT_REQUIRED
    assert trusting.get_ca_certs() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSL_CERT_FILE", "/no such file"),
        ("SSL_CERT_FILE", __file__),
        ("HTTPS_PROXY", "ftp://ada:pass-of-ada@127.0.0.1:1"),
        ("HTTPS_PROXY", "http://[::1"),
    ],
)
def test_an_environment_that_cannot_be_used_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong certificates and proxies are an error that names the variable, and not its value, which may be secret."""
    for other in _ENVIRONMENT:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, value)
    for prepare in (
        partial(Submitter, "https://127.0.0.1:8080", "token"),
        partial(AsyncSubmitter, "https://127.0.0.1:8080", "token"),
        partial(LogReader, "https://127.0.0.1:8080"),
    ):
        with pytest.raises(AddressError, match=f"no connection can be prepared: .*Check {name}") as caught:
            prepare()
        assert "pass-of-ada" not in str(caught.value)


def test_a_submission_is_recorded_sent_and_committed(service: Service, sender: Submitter, network: Network) -> None:
    """The receipt is typed, and the same event again costs no request, in any process."""
    receipt = sender.submit(lesson())
    assert isinstance(receipt, Receipt)
    assert receipt.disposition == "accepted-for-review"
    assert sender.ledger is not None
    (entry,) = sender.ledger.entries("committed")
    assert entry.operation_id == receipt.idempotency_key
    assert sender.submit(lesson()) == receipt
    assert sender.send(entry.operation_id) == receipt
    assert len(network.seen) == 1
    assert count(service, "proposals") == 1


@pytest.mark.parametrize(
    "fault",
    [
        "lose",
        "drop",
        "late",
        (409, b"{}"),
        (429, b"{}", {"retry-after": "0"}),
        (500, PROXY),
        (502, PROXY),
        (503, PROXY, {"retry-after": "Sat, 21 Nov 2020 10:00:00 GMT"}),
        (302, b""),
        (404, PROXY),
        (200, PROXY),
        (201, b'{"status": 201}'),
        (201, b"\xff\xfe"),
        (422, PROXY),
        (204, b""),
    ],
)
def test_an_unclear_answer_is_followed_by_the_same_bytes(
    service: Service, sender: Submitter, network: Network, fault: Any
) -> None:
    """Whatever fails and however often, there is one proposal, one submission and one key."""
    network.script = [fault, fault, "drop"]
    receipt = sender.submit(lesson())
    network.let_go()
    assert receipt.proposal_id
    assert len(network.posts()) == 4
    assert len(set(network.posts())) == 1
    assert (count(service, "proposals"), count(service, "submissions")) == (1, 1)


def test_an_operation_without_a_clear_answer_is_uncertain_and_recovered_later(
    service: Service, sender: Submitter, network: Network, ledger: Ledger
) -> None:
    """The error asks to use the same key, and recovery sends the recorded bytes."""
    network.script = ["drop"] + ["lose"] * 5
    with pytest.raises(UncertainError, match="connection refused") as unclear:
        sender.submit(lesson())
    assert (unclear.value.retry_same_key, unclear.value.safe_new_key) == (True, False)
    assert ledger.entry(unclear.value.operation_id).state == "uncertain"
    network.script = []
    looked_at: list[int] = []
    with Submitter(URL, service.token(), ledger, transport=network) as other:
        recovery = other.recover(looked_at.append)
    assert (recovery.found, recovery.settled, recovery.left, looked_at) == (1, {"committed": 1}, {}, [1])
    assert count(service, "submissions") == 1
    assert sender.send(unclear.value.operation_id).duplicate


def test_a_service_that_does_not_answer_gets_no_requests_for_a_while(
    service: Service, network: Network, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After six failures in a row nothing is sent; meanwhile events are recorded, and they are sent later."""
    monkeypatch.setattr(submitter_base, "COOLDOWN_SECONDS", 0.2)
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        network.script = ["lose"] * 6
        for number in range(3):
            with pytest.raises(NotSentError, match="It was not sent: there was no connection, or sending pauses"):
                sender.submit(lesson(f"Lesson {number}."))
        assert len(network.seen) == 6
        assert ledger.counts()["pending"] == 3
        while sender._delivery._breaker.remaining():
            pass
        operations = [entry.operation_id for entry in ledger.entries()]
        assert [sender.send(one).status for one in operations] == [201, 201, 201]


def test_a_recovery_and_a_send_do_not_wait_for_the_pause(service: Service, network: Network, ledger: Ledger) -> None:
    """What was recorded during the pause is sent as soon as the service can be reached; each asks once if it cannot."""
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        network.script = ["lose"] * 6
        for number in range(3):
            with pytest.raises(NotSentError):
                sender.submit(lesson(f"Lesson {number}."))
        network.script = ["lose"] * 2
        assert sender.recover().settled == {"pending": 3}
        with pytest.raises(NotSentError):
            sender.send(next(ledger.entries()).operation_id)
        assert len(network.seen) == 8
        assert sender.recover().settled == {"committed": 3}
        assert sender.submit(lesson("The pause is over.")).status == 201


@pytest.mark.parametrize(("status", "sole"), [(400, True), (413, True), (400, False), (401, False), (403, False)])
def test_a_refusal_ends_an_operation_only_if_nothing_else_can_arrive(
    sender: Submitter, network: Network, ledger: Ledger, status: int, *, sole: bool
) -> None:
    """After an unclear attempt the refusal of the next one proves nothing about the first."""
    refusal = (status, refused(status))
    network.script = [refusal] if sole else ["late", refusal]
    expected = FailedError if sole else UncertainError
    with pytest.raises(expected) as ended:
        sender.submit(lesson())
    entry = ledger.entry(ended.value.operation_id)
    assert entry.state == ("failed" if sole else "uncertain")
    assert (entry.receipt, ended.value.receipt) == (None, None)
    assert ended.value.safe_new_key == sole
    assert sender.submit(lesson()).disposition == "accepted-for-review"
    assert [one.operation_id == entry.operation_id for one in ledger.entries()] == [True, False][: 1 + sole]


def test_a_private_event_fails_permanently_and_leaves_no_copy(
    service: Service, sender: Submitter, ledger: Ledger
) -> None:
    """The receipt of a private event is kept without its text, and the same event is answered from the ledger."""
    for _ in range(2):
        with pytest.raises(FailedError, match="private-detected") as refused:
            sender.submit(lesson("Page mira@orbit-works.dev at night."))
    assert refused.value.receipt is not None
    assert refused.value.receipt.disposition == "rejected-private"
    assert refused.value.safe_new_key
    assert ledger.entry(refused.value.operation_id).body is None
    assert b"orbit-works" not in ledger.path.read_bytes()
    assert count(service, "submissions") == 1


def test_a_stored_refusal_is_final_after_an_unclear_attempt(
    sender: Submitter, network: Network, ledger: Ledger
) -> None:
    """A 422 binds the key, so no late request can succeed; `again` uses a new key."""
    network.script = ["late"]
    with pytest.raises(FailedError, match="scope-not-granted"):
        sender.submit(lesson(scope_id="gemini"))
    (late,) = network.let_go()
    assert late.status_code == 422
    with pytest.raises(FailedError):
        sender.submit(lesson(scope_id="gemini"), again=True)
    assert ledger.counts()["failed"] == 2


def test_a_key_that_another_event_uses_needs_a_person(service: Service, sender: Submitter, ledger: Ledger) -> None:
    """Neither the same key nor a new one is safe by itself, so a person decides and the reason is kept."""
    one = ledger.prepare(lesson())
    service.submit(event("Something else.", idempotency_key=one))
    with pytest.raises(NeedsReviewError, match="key-reused") as conflict:
        sender.send(one)
    assert (conflict.value.retry_same_key, conflict.value.safe_new_key) == (False, False)
    assert sender.recover().found == 0
    ledger.decide(one, "committed", "The other said the same.")
    with pytest.raises(SettledByHandError, match="by hand"):
        sender.send(one)


def test_a_sealed_operation_is_never_stored(service: Service, sender: Submitter, network: Network) -> None:
    """A late request finds the seal; an event that arrived before is committed instead."""
    assert sender.ledger is not None
    one = sender.ledger.prepare(lesson())
    network.script = ["late"] + ["lose"] * 5
    with pytest.raises(UncertainError):
        sender.send(one)
    sender._delivery._breaker._failures = 0
    assert sender.seal(one).state == "failed"
    (late,) = network.let_go()
    assert late.json()["reasons"][0]["code"] == "sealed"
    assert count(service, "proposals") == 0
    with pytest.raises(FailedError, match="sealed"):
        sender.submit(lesson())
    assert sender.submit(lesson(), again=True).disposition == "accepted-for-review"
    two = sender.ledger.prepare(lesson("Landed."))
    network.script = ["drop"] + ["lose"] * 5
    with pytest.raises(UncertainError):
        sender.send(two)
    sender._delivery._breaker._failures = 0
    assert sender.seal(two).state == "committed"
    assert sender.seal(two).state == "committed"


@pytest.mark.parametrize("status", [400, 403, 413])
def test_recovery_seals_the_keys_of_refused_events(
    service: Service, network: Network, ledger: Ledger, sender: Submitter, status: int
) -> None:
    """When a resend is refused, only a seal proves that the first attempt cannot succeed."""
    network.script = ["late"] + ["lose"] * 5
    with pytest.raises(UncertainError) as unclear:
        sender.submit(lesson())
    key = unclear.value.operation_id
    line = refused(status, key, "direct-write" if status == 403 else None)
    network.script = [(200, line + b"\n")]
    with Submitter(URL, service.token(), ledger, transport=network) as other:
        assert other.recover().settled == {"failed": 1}
    assert network.let_go()[0].json()["reasons"][0]["code"] == "sealed"
    assert count(service, "proposals") == 0


def test_recovery_leaves_operations_without_an_answer(service: Service, network: Network, ledger: Ledger) -> None:
    """Without an answer, or with a refused token, everything stays uncertain and is counted by reason."""
    with Submitter(URL, service.token(), ledger, transport=network, attempts=1) as sender:
        for number in range(3):
            network.script = ["late"]
            with pytest.raises(UncertainError):
                sender.submit(lesson(f"Lesson {number}."))
    network.script = ["lose"] * 99
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        recovery = sender.recover()
        assert (recovery.settled, recovery.left) == ({"uncertain": 3}, {"no connection: connection refused": 3})
        with pytest.raises(ReadError, match="connection refused"):
            sender.by_key("x")
    network.script = []
    with Submitter(URL, "antp_" + "A" * 36, ledger, transport=network) as sender:
        assert sender.recover().settled == {"uncertain": 3}
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        assert sender.recover().settled == {"committed": 3}
        assert sender.recover() == type(recovery)(found=0, settled={}, elsewhere=0, left={})


def test_a_batch_has_an_outcome_for_each_event(service: Service, sender: Submitter, network: Network) -> None:
    """Outcomes are in order: receipts and errors, duplicates of an event, and a failed first attempt."""
    network.script = [(502, PROXY), "drop"]
    events = [
        lesson("One."),
        lesson("Page mira@orbit-works.dev."),
        lesson("Two."),
        lesson("One."),
        lesson(scope_id="no"),
    ]
    outcomes = sender.submit_batch(events)
    assert [type(one).__name__ for one in outcomes] == ["Receipt", "FailedError", "Receipt", "Receipt", "FailedError"]
    assert outcomes[0] == outcomes[3]
    assert count(service, "submissions") == 4
    assert [path for _, path, _ in network.seen] == ["/v1/submissions/batch"] * 3
    with pytest.raises(InvalidEventError) as invalid:
        sender.submit_batch([lesson("Three."), {}])
    assert isinstance(invalid.value, errors.RequestRefusedError)
    assert (invalid.value.retry_same_key, invalid.value.safe_new_key) == (False, True)
    assert sender.ledger is not None
    assert sum(sender.ledger.counts().values()) == 4


def test_a_batch_is_divided_by_the_limits_of_the_service(sender: Submitter, network: Network) -> None:
    """A batch has at most a thousand lines and 4 MiB."""
    outcomes = sender.submit_batch(lesson(f"Lesson {number}.") for number in range(1001))
    assert len(network.seen) == 2
    assert {one.status for one in outcomes if isinstance(one, Receipt)} == {201}
    long = [lesson(f"{number} " + "long " * 12_000) for number in range(80)]
    assert len(sender.submit_batch(long)) == 80
    assert [content.count(b"\n") + 1 for _, _, content in network.seen[2:]] == [69, 11]


@pytest.mark.parametrize("whole", [(400, b"{}"), (413, b"{}"), (200, b"{}\n"), (200, b"[]\n{}\n")])
def test_a_refusal_of_a_batch_fails_none_of_its_lines(sender: Submitter, network: Network, whole: Any) -> None:
    """One bad line must not fail the others forever: each becomes uncertain, and is sent alone."""
    network.script = [whole] * 6
    outcomes = sender.submit_batch([lesson("One."), lesson("Two.")])
    assert [type(one).__name__ for one in outcomes] == ["UncertainError"] * 2
    network.script = []
    assert sender.recover().settled == {"committed": 2}


def test_a_sender_without_a_ledger_derives_its_keys(service: Service, network: Network) -> None:
    """Without a ledger the same event has the same key in every process; recovery is refused with the reason."""
    with Submitter(URL, service.token(), transport=network) as sender:
        receipt = sender.submit(lesson())
        assert str(receipt.idempotency_key).startswith("ev1-")
        network.script = ["drop", (403, b"{}")]
        with pytest.raises(UncertainError):
            sender.submit(lesson("Another."))
        with pytest.raises(LedgerError, match="without a ledger"):
            sender.recover()
        with pytest.raises(LedgerError, match="is not known here"):
            sender.send("ev1-unknown")
        outcomes = sender.submit_batch([lesson(), lesson("Another.")])
        assert [one.duplicate for one in outcomes if isinstance(one, Receipt)] == [True, True]
    with Submitter(URL, service.token(), transport=network) as sender:
        assert sender.submit(lesson(), again=True).duplicate
    assert count(service, "submissions") == 2


def test_without_a_ledger_each_line_of_a_batch_is_answered(service: Service, network: Network) -> None:
    """Lines with the same key are all sent, in order: the same event is a replay, another one a conflict."""
    own = {"idempotency_key": "own-key"}
    events = [
        lesson("One.", **own),
        lesson("Two.", **own),
        lesson("One.", **own),
        lesson("Three."),
        lesson("Two.", **own),
        lesson("Three."),
        lesson("Page mira@orbit-works.dev.", idempotency_key="third-key"),
    ]
    with Submitter(URL, service.token(), transport=network) as sender:
        outcomes = sender.submit_batch(events)
        assert len(network.seen) == 1
        receipts = [outcome if isinstance(outcome, Receipt) else outcome.receipt for outcome in outcomes]
        assert [receipt and (receipt.status, receipt.duplicate) for receipt in receipts] == [
            (201, False),
            (422, False),
            (201, True),
            (201, False),
            (422, True),
            (201, True),
            (422, False),
        ]
        assert [type(outcome).__name__ for outcome in outcomes[1::3]] == ["NeedsReviewError", "NeedsReviewError"]
        assert {receipt.idempotency_key for receipt in receipts[:3] if receipt} == {"own-key"}
        again = sender.submit(lesson("One.", **own))
        assert (again.duplicate, again.submission_id) == (True, receipts[0] and receipts[0].submission_id)
    assert count(service, "submissions") == 3


def test_without_a_ledger_events_under_one_key_do_not_hide_each_other(service: Service, network: Network) -> None:
    """While one event is uncertain, another event with its key is sent as itself and gets its own answer."""
    own = {"idempotency_key": "own-key"}
    with Submitter(URL, service.token(), transport=network, attempts=1) as sender:
        network.script = ["late"]
        with pytest.raises(UncertainError):
            sender.submit(lesson("One.", **own))
        assert sender.submit(lesson("Two.", **own)).disposition == "accepted-for-review"
        network.script = [(401, refused(401))]
        with pytest.raises(UncertainError):
            sender.submit(lesson("One.", **own))
        with pytest.raises(NeedsReviewError, match="key-reused"):
            sender.submit(lesson("One.", **own))
    assert len({content for content in network.posts() if b"One." in content}) == 1


def test_with_a_ledger_an_event_brings_no_key(sender: Submitter, network: Network) -> None:
    """The ledger assigns the keys, so an event with its own is refused before anything is recorded."""
    for submit in (sender.submit, lambda event: sender.submit_batch([lesson(), event])):
        with pytest.raises(InvalidEventError, match="leave it out"):
            submit(lesson(idempotency_key="own-key"))
    assert sender.ledger is not None
    assert (list(sender.ledger.entries()), network.seen) == ([], [])


def test_without_a_ledger_the_refusal_of_an_event_is_shown(service: Service, network: Network) -> None:
    """Another process may have sent the event, so a new key is not safe; the service's reasons are still there."""
    with Submitter(URL, service.token(), transport=network) as sender:
        for submit in (sender.submit, lambda event: sender.submit_batch([event])[0]):
            try:
                outcome = submit(lesson(idempotency_key="4111111111111111"))
            except UncertainError as error:
                outcome = error
            assert isinstance(outcome, UncertainError)
            assert outcome.receipt is not None
            assert [reason.code for reason in outcome.receipt.reasons] == ["key-invalid"]
    assert len(network.seen) == 2


def test_an_answer_is_divided_at_line_feeds_alone(sender: Submitter, network: Network) -> None:
    """Other line separators inside a text do not end a line."""
    message = json.dumps("a\u2028b\u0085c", ensure_ascii=False).encode()
    line = refused(401).replace(b'"said"', message)
    network.script = [(200, line + b"\n" + line + b"\n")]
    outcomes = sender.submit_batch([lesson("One."), lesson("Two.")])
    assert [type(outcome).__name__ for outcome in outcomes] == ["RefusedError"] * 2
    assert "a\u2028b\u0085c" in str(outcomes[0])


def test_the_result_of_a_submission_can_be_read(service: Service, sender: Submitter, network: Network) -> None:
    """Receipts are read by id and key with their review, memories by scope; None means missing."""
    receipt = sender.submit(lesson())
    key, number = str(receipt.idempotency_key), str(receipt.submission_id)
    network.script = ["lose", (503, b"{}")]
    status = sender.status(number)
    assert status is not None
    assert status.review is not None
    assert (status.idempotency_key, status.review.state) == (key, "pending")
    assert sender.by_key(key) == status
    assert sender.by_key("unknown") is None
    assert sender.status("a/../b") is None
    service.sign_in().decide(str(receipt.proposal_id), "approve")
    page = sender.memories("project", "apollo", "migration")
    assert page is not None
    assert [item.content for item in page.items] == ["Run the migration first."]
    more = sender.memories("project", "apollo", after=page.items[0].memory_id)
    assert more is not None
    assert more.items == []
    sender.submit(lesson("In a session.", submission_scope="session", scope_id="s-1"))
    named = sender.memories(scopes=["project:apollo", "session:s-1"], query="migrations first", match="all", limit=1)
    assert named is not None
    assert [item.score > 0 for item in named.items if item.score is not UNSET] == [True]
    memory = sender.memory(page.items[0].memory_id)
    assert memory is not None
    assert (memory.content, memory.state, memory.ended_at) == ("Run the migration first.", "active", None)
    assert sender.memory("a/../b") is None
    with pytest.raises(ReadError, match="scope"):
        sender.memories(scopes=["project:apollo", "project:gemini"])
    with pytest.raises(ReadError, match="scope"):
        sender.memories("project", "gemini")
    network.script = [(418, b"[]")]
    with pytest.raises(ReadError, match="not one of Antechamber's"):
        sender.by_key(key)


ELSEWHERE = [
    (404, b"404 page not found"),
    (404, b""),
    (404, b'{"detail": "Not Found"}'),
    (404, b'{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "Not Found"}'),
    (405, b""),
    (200, b"<html>"),
]


@pytest.mark.parametrize("answer", ELSEWHERE)
def test_an_answer_of_another_service_is_no_missing_item(sender: Submitter, network: Network, answer: Any) -> None:
    """Only the service's own 404 means None; from a wrong base URL each read raises, and says to check it."""
    reads: list[Callable[[], object]] = [
        lambda: sender.status("some-id"),
        lambda: sender.by_key("some-key"),
        lambda: sender.memory("some-id"),
        lambda: sender.memories("project", "apollo"),
        sender.holder,
        lambda: sender.change_page(["project:apollo"]),
        lambda: next(iter(sender.changes(["project:apollo"]))),
    ]
    for read in reads:
        network.script = [answer]
        with pytest.raises(ReadError, match="check the base URL") as caught:
            read()
        assert not caught.value.temporary
    network.script = [answer] * 9
    with pytest.raises(AnswerError, match="check the base URL"):
        sender.answer("some-id", "Yes.")
    network.script = [answer] * 9
    with pytest.raises(UncertainError, match="check the base URL"):
        sender.submit(lesson())


@pytest.mark.parametrize("prefix", ["/v1", "/desk"])
def test_a_path_prefix_that_the_service_does_not_have_is_an_error(
    service: Service, network: Network, prefix: str
) -> None:
    """The service answers 404 itself, about a route and not about an item."""
    with Submitter(f"{URL}{prefix}", service.token(), transport=network) as sender:
        for read in (sender.status, sender.by_key, sender.memory):
            with pytest.raises(ReadError, match="check the base URL"):
                read("some-id")


@pytest.mark.parametrize(
    ("url", "token", "message"),
    [
        ("ftp://example.org", "x", "write e.g. http"),
        ("http://[::1", "x", "is no address"),
        ("http://", "x", "is no address"),
        ("http://a..example.org", "x", "is no address"),
        ("http://example.org:99999", "x", "is no address"),
        (f"http://{'a' * 64}.example.org", "x", "is no address"),
        ("http://example.org", "two words", "this is no token"),
        ("http://example.org", "", "this is no token"),
        ("http://example.org", "antp_x\n", "this is no token"),
        ("http://example.org", "antp_x\r\nhost: evil", "this is no token"),
        ("http://example.org", "t\u00f6k", "this is no token"),
        ("desk", "x", "is no address"),
        ("127.0.0.1:8080", "x", "is no address"),
    ],
)
def test_an_invalid_address_or_token_is_refused(url: str, token: str, message: str) -> None:
    """An invalid address or token is refused before anything is recorded or sent."""
    with pytest.raises(AddressError, match=message):
        Submitter(url, token)


@pytest.mark.parametrize(
    "url", ["ftp://me:s3cr3t@example.org", "http://me:s3cr3t@[::1", "http://me:s3cr3t@example.org:x"]
)
def test_a_refused_address_is_not_repeated_with_its_password(url: str) -> None:
    """The error omits the password, because agents' logs keep errors."""
    with pytest.raises(AddressError, match="is no address") as caught:
        Submitter(url, "x")
    assert "s3cr3t" not in str(caught.value)


def test_an_answer_is_sent_until_it_is_known(service: Service, sender: Submitter, network: Network) -> None:
    """A lost answer is sent again under the same key and is one note; another key makes another note."""
    receipt = sender.submit(lesson())
    number = str(receipt.submission_id)
    service.sign_in().write(str(receipt.proposal_id), "question", "Which migration?")
    network.script = ["drop", (503, b"{}"), (409, refused(409, code="busy"), {"retry-after": "0"})]
    first = sender.answer(number, "The one of the schema.")
    assert (first.kind, first.author, first.text) == ("answer", "producer", "The one of the schema.")
    assert sender.answer(number, " The one of the schema. ") == first
    assert sender.answer(number, "The one of the schema.", key="own").kind == "note"
    status = sender.status(number)
    assert status is not None
    assert status.review is not None
    assert [note.kind for note in status.review.notes] == ["question", "answer", "note"]


@pytest.mark.parametrize(
    ("script", "text", "code", "temporary"),
    [
        ([], "ghp_" + "a1B2" * 9, "private-detected", False),
        ([], " ", "malformed", False),
        ([], "\ud800", "out-of-profile", False),
        (["lose"] * 9, "Text.", None, True),
        ([(503, PROXY)] * 9, "Text.", None, True),
        ([(200, b"{}")], "Text.", None, True),
        ([(201, b"{}")], "Text.", None, True),
        ([(502, b"")] * 9, "Text.", None, True),
    ],
)
def test_an_answer_that_is_not_kept_says_why(
    sender: Submitter,
    network: Network,
    script: list[Any],
    text: str,
    code: str | None,
    temporary: bool,  # noqa: FBT001 -- a table
) -> None:
    """The error has the reasons of the service, and says whether the same note may be sent again."""
    number = str(sender.submit(lesson()).submission_id)
    network.script = script
    with pytest.raises(AnswerError) as caught:
        sender.answer(number, text)
    assert [reason.code for reason in caught.value.reasons] == ([] if code is None else [code])
    assert caught.value.temporary is temporary
    assert str(caught.value)


def test_an_answer_about_nothing_or_too_late_is_refused(service: Service, sender: Submitter, network: Network) -> None:
    """An unknown submission and a decided proposal are refused at once, without another attempt."""
    with pytest.raises(AnswerError, match="no submission of yours"):
        sender.answer("a/../b", "Text.")
    receipt = sender.submit(lesson())
    service.sign_in().decide(str(receipt.proposal_id), "approve")
    before = len(network.seen)
    with pytest.raises(AnswerError, match="was decided") as caught:
        sender.answer(str(receipt.submission_id), "Text.")
    assert (caught.value.temporary, len(network.seen) - before) == (False, 1)


def test_the_asynchronous_submitter_does_the_same(service: Service, network: Network, ledger: Ledger) -> None:
    """The asynchronous submitter has the same answers, errors and recovery."""

    async def journey() -> list[Any]:
        async with AsyncSubmitter(URL, service.token(), ledger, transport=AsyncNetwork(network)) as sender:
            network.script = ["drop", (503, PROXY)]
            first = await sender.submit(lesson())
            same = await sender.send(str(first.idempotency_key))
            batch = await sender.submit_batch([lesson("One."), lesson()])
            status = await sender.status(str(first.submission_id))
            by_key = await sender.by_key(str(first.idempotency_key))
            page = await sender.memories("project", "apollo")
            assert await sender.memory("nothing") is None
            note = await sender.answer(str(first.submission_id), "By the way.")
            assert note == await sender.answer(str(first.submission_id), "By the way.")
            network.script = ["late", (401, b"{}")]
            with pytest.raises(UncertainError):
                await sender.submit(lesson("Two."))
            recovery = await sender.recover()
            given_up = await sender.seal(ledger.prepare(lesson("Three.")))
            return [first == same, len(batch), status == by_key, page, recovery.settled, given_up.state]

    results = asyncio.run(journey())
    assert results[:3] == [True, 2, True]
    assert results[3].items == []
    assert results[4:] == [{"committed": 1}, "failed"]
    assert [response.status_code for response in network.let_go()] == [201]


def test_a_cancelled_submission_is_uncertain(ledger: Ledger) -> None:
    """A cancelled call may have arrived, so the ledger marks it uncertain at once and not only after a restart."""

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.set()
            await asyncio.sleep(60)
            return httpx.Response(500, request=request)

    async def journey() -> None:
        async with AsyncSubmitter(URL, "token", ledger, transport=Silent()) as sender:
            waiting = asyncio.create_task(sender.submit(lesson()))
            await asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asked = asyncio.Event()
    asyncio.run(journey())
    (entry,) = ledger.entries("uncertain")
    assert (entry.reason, entry.attempts, entry.session) == ("interrupted before an answer came", 1, None)


def test_an_interrupted_batch_is_uncertain(service: Service, ledger: Ledger) -> None:
    """Ctrl-C while waiting for the answer marks the whole batch uncertain."""

    class Interrupted(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:  # noqa: ARG002 -- named by httpx
            raise KeyboardInterrupt

    with (
        Submitter(URL, service.token(), ledger, transport=Interrupted()) as sender,
        pytest.raises(KeyboardInterrupt),
    ):
        sender.submit_batch([lesson("One."), lesson("Two.")])
    assert ledger.counts()["uncertain"] == 2


@pytest.mark.parametrize("asked", ["120", "Sat, 21 Nov 2099 10:00:00 GMT"])
def test_a_long_retry_after_leaves_the_operation_uncertain(sender: Submitter, network: Network, asked: str) -> None:
    """A long Retry-After makes the operation uncertain instead of blocking for minutes; recovery asks again."""
    network.script = [(503, b"{}", {"retry-after": asked})]
    with pytest.raises(UncertainError, match="status 503"):
        sender.submit(lesson())
    network.script = [(503, b"{}", {"retry-after": asked})]
    assert [type(one) for one in sender.submit_batch([lesson(), lesson("Two.")])] == [UncertainError] * 2
    network.script = [(503, b"{}", {"retry-after": asked})]
    with pytest.raises(ReadError, match="status 503"):
        sender.by_key("x")
    assert len(network.seen) == 3


@pytest.mark.parametrize("asked", ["soon", "-1", "1.5", ""])
def test_an_invalid_retry_after_is_ignored(sender: Submitter, network: Network, asked: str) -> None:
    """An invalid Retry-After is ignored."""
    network.script = [(503, b"{}", {"retry-after": asked})]
    assert sender.submit(lesson()).status == 201
    assert len(network.seen) == 2


def test_a_batch_of_settled_events_sends_nothing(sender: Submitter, network: Network) -> None:
    """A batch of settled events costs no request."""
    first = sender.submit_batch([lesson("One."), lesson("Two.")])
    assert sender.submit_batch([lesson("Two."), lesson("One.")]) == first[::-1]
    assert sender.submit_batch([]) == []
    assert len(network.seen) == 1


def test_a_batch_behind_an_open_circuit_breaker_is_recorded(
    sender: Submitter, network: Network, ledger: Ledger
) -> None:
    """While the circuit breaker is open, submitted events are still recorded in the ledger."""
    network.script = ["lose"] * 6
    with pytest.raises(NotSentError):
        sender.submit(lesson())
    outcomes = sender.submit_batch([lesson("One."), lesson("Two.")])
    assert [type(one) for one in outcomes] == [NotSentError] * 2
    assert ledger.counts()["pending"] == 3
    assert len(network.seen) == 6


def test_without_a_ledger_only_the_newest_operations_are_known(
    service: Service, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a ledger memory stays bounded, however many events are sent."""
    monkeypatch.setattr(memory_ledger, "MAX_OPERATIONS", 2)
    with Submitter(URL, service.token(), transport=network) as sender:
        keys = [str(sender.submit(lesson(f"Lesson {number}.")).idempotency_key) for number in range(3)]
        assert sender.send(keys[2]).status == 201
        assert sender.seal(keys[2]).state == "committed"
        with pytest.raises(LedgerError, match="is not known here"):
            sender.send(keys[0])


def test_a_page_of_an_intermediary_fails_no_operation(sender: Submitter, network: Network, ledger: Ledger) -> None:
    """An intermediary may replace any answer, so a refusal counts only with a receipt."""
    network.script = [(403, PROXY)]
    with pytest.raises(UncertainError):
        sender.submit(lesson())
    assert ledger.counts()["uncertain"] == 1
    assert sender.submit(lesson()).status == 201


def test_a_batch_that_is_too_large_for_an_intermediary_is_sent_in_halves(sender: Submitter, network: Network) -> None:
    """A batch that an intermediary finds too large is halved, down to single lines with separate answers."""
    network.script = [(413, PROXY), (413, PROXY), "pass", "pass", (413, PROXY)]
    outcomes = sender.submit_batch([lesson(f"Lesson {number}.") for number in range(4)])
    assert [content.count(b"\n") + 1 for _, _, content in network.seen] == [4, 2, 1, 1, 2, 1, 1]
    assert [one.status for one in outcomes if isinstance(one, Receipt)] == [201] * 4


def test_another_producers_token_settles_nothing(service: Service, network: Network, ledger: Ledger) -> None:
    """Keys belong to a producer, so a seal with another producer's token proves nothing."""
    with Submitter(URL, service.token(), ledger, transport=network, attempts=1) as sender:
        network.script = ["drop"]
        with pytest.raises(UncertainError) as unclear:
            sender.submit(lesson())
    with Submitter(URL, service.token("tool:watcher"), ledger, transport=network) as other:
        assert other.recover().settled == {"uncertain": 1}
        assert other.seal(unclear.value.operation_id).state == "uncertain"
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        assert sender.recover().settled == {"committed": 1}


def test_a_recorded_operation_is_recovered_in_the_same_process(sender: Submitter, ledger: Ledger) -> None:
    """A recorded and never sent operation is recovered without waiting for the next start."""
    ledger.prepare(lesson())
    assert sender.recover().settled == {"committed": 1}


def test_a_call_that_is_cancelled_repeatedly_ends_as_cancelled(ledger: Ledger) -> None:
    """Some frameworks cancel a task repeatedly; it still ends as cancelled."""

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(60)
            return httpx.Response(500, request=request)

    async def journey() -> None:
        async with AsyncSubmitter(URL, "token", ledger, transport=Silent()) as sender:
            for delay in (0.0, 0.001, 0.003, 0.01):
                waiting = asyncio.create_task(sender.submit(lesson(f"Lesson {delay}.")))
                await asyncio.sleep(delay)
                while not waiting.done():
                    waiting.cancel()
                    await asyncio.sleep(0)
                assert waiting.cancelled()

    asyncio.run(journey())
    assert not [entry for entry in ledger.entries("pending") if entry.attempts]


def assert_sendable(error: OperationError) -> None:
    """Assert that the same key is safe and a new one is not."""
    assert (error.retry_same_key, error.safe_new_key) == (True, False)


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://nowhere.invalid"])
def test_without_a_connection_nothing_was_sent(service: Service, network: Network, ledger: Ledger, url: str) -> None:
    """Without a connection the operation is unchanged and can be sent later, with or without a ledger."""
    url = url.format(port=free_port())
    for kept in (ledger, None):
        with Submitter(url, "token", kept, attempts=1) as sender, pytest.raises(NotSentError) as unsent:
            sender.submit(lesson())
        assert_sendable(unsent.value)
        assert "no connection: " in str(unsent.value)
    (entry,) = ledger.entries()
    assert (entry.state, entry.attempts, entry.in_flight) == ("pending", 1, 0)
    ledger.bind("127.0.0.1:8080", moved=True)
    with Submitter(URL, service.token(), ledger, transport=network) as sender:
        assert sender.submit(lesson()).idempotency_key == entry.operation_id


def test_without_a_tls_handshake_nothing_was_sent(ledger: Ledger) -> None:
    """When the TLS handshake fails, nothing was sent."""

    def hang_up() -> None:
        server.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        with Submitter(url, "token", ledger, attempts=1) as sender, pytest.raises(NotSentError):
            sender.submit(lesson())
        thread.join()


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("token", ["antp_" + "A" * 36, "tool:watcher"])
def test_a_token_that_is_refused_leaves_the_operation_as_it_was(
    service: Service, network: Network, ledger: Ledger, token: str, *, kept: bool
) -> None:
    """With a valid token the same key succeeds once: alone and in a batch, with a ledger and without."""
    book = ledger if kept else None
    wrong = service.token(token) if ":" in token else token
    with Submitter(URL, wrong, book, transport=network) as sender:
        for submit in (lambda: sender.submit(lesson()), lambda: sender.submit_batch([lesson()])[0]):
            try:
                outcome = submit()
            except RefusedError as error:
                outcome = error
            assert isinstance(outcome, RefusedError)
            assert isinstance(outcome, errors.RequestRefusedError)
            assert outcome.code == ("producer-mismatch" if ":" in token else "unauthorized")
            assert outcome.receipt is not None
            assert "Nothing was stored; fix the token" in str(outcome)
            assert_sendable(outcome)
        if kept:
            recovery = sender.recover()
            assert (recovery.settled, [*recovery.left]) == (
                {"pending": 1},
                [str(outcome).split(": ", 1)[1].split(". Noth")[0]],
            )
            (entry,) = ledger.entries()
            assert (entry.state, entry.attempts, entry.in_flight) == ("pending", 3, 0)
    assert len(network.seen) == 2 + kept
    with Submitter(URL, service.token(), book, transport=network) as sender:
        assert sender.submit(lesson()).idempotency_key == outcome.operation_id
    assert count(service, "submissions") == 1


@pytest.mark.parametrize("fault", ["lose", (401, refused(401)), (403, refused(403))])
@pytest.mark.parametrize("batch", [True, False])
def test_later_failures_prove_nothing_about_an_unclear_attempt(
    service: Service, network: Network, ledger: Ledger, fault: Any, *, batch: bool
) -> None:
    """The earlier attempt may still arrive, so the operation stays uncertain, however often later ones fail."""
    with Submitter(URL, service.token(), ledger, transport=network, attempts=1) as sender:
        for action in ("late", fault, fault):
            network.script = [action]
            if batch:
                (outcome,) = sender.submit_batch([lesson()])
                assert isinstance(outcome, UncertainError)
            else:
                with pytest.raises(UncertainError):
                    sender.submit(lesson())
    (late,) = network.let_go()
    assert late.status_code == (200 if batch else 201)
    (entry,) = ledger.entries()
    assert (entry.state, entry.attempts, entry.in_flight) == ("uncertain", 3, 1)


@pytest.mark.parametrize(
    "page",
    [
        (401, PAGE),
        (401, b"{}"),
        (403, PROXY),
        (401, refused(403)),
        (401, altered(refused(401), b'"quarantine_id": null, ', b"")),
        (401, altered(refused(401), b'"unauthorized"', b'"malformed"')),
        (401, altered(refused(401), b'[{"code": "unauthorized", "message": "said", "pointer": null}]', b"[]")),
    ],
)
def test_a_refusal_counts_only_as_the_service_writes_it(sender: Submitter, network: Network, page: Any) -> None:
    """A gateway that requires its own login may have forwarded the request before."""
    network.script = [page] * 6
    with pytest.raises(UncertainError):
        sender.submit(lesson())


def test_a_transport_that_repeats_requests_proves_nothing_by_its_last_error(ledger: Ledger) -> None:
    """The first attempt was sent and only the second found no connection, so the event may have arrived."""

    class Repeating(httpx.BaseTransport):
        def __init__(self) -> None:
            self.inner = httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            with contextlib.suppress(httpx.HTTPError):
                self.inner.handle_request(request)
            server.close()
            return self.inner.handle_request(request)

    def read_and_hang_up() -> None:
        connection, _ = server.accept()
        connection.recv(65_536)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        reading = threading.Thread(target=read_and_hang_up)
        reading.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with (
            Submitter(url, "token", ledger, attempts=1, transport=Repeating()) as sender,
            pytest.raises(UncertainError, match=r"no answer: .*refused"),
        ):
            sender.submit(lesson())
        reading.join()


def test_another_process_may_send_an_unsent_operation(service: Service, network: Network, ledger: Ledger) -> None:
    """After an agent with a wrong token, a process with the right one can recover its ledger."""
    with Submitter(URL, "antp_" + "A" * 36, ledger, transport=network) as sender, pytest.raises(RefusedError):
        sender.submit(lesson())
    with Ledger(ledger.path) as other, Submitter(URL, service.token(), other, transport=network) as recovering:
        recovery = recovering.recover()
    assert (recovery.settled, recovery.elsewhere) == ({"committed": 1}, 0)


def test_a_refused_operation_is_known_as_refused_at_the_next_start(
    service: Service, network: Network, ledger: Ledger
) -> None:
    """A refused event cannot arrive later, whichever process asks; the refusal is kept."""
    with Submitter(URL, "antp_" + "A" * 36, ledger, transport=network) as sender, pytest.raises(RefusedError) as no:
        sender.submit(lesson())
    ledger.close()
    with Ledger(ledger.path) as again, Submitter(URL, service.token(), again, transport=network) as sender:
        entry = again.entry(no.value.operation_id)
        assert (entry.state, entry.is_unsent(), entry.reason) == (
            "uncertain",
            True,
            str(no.value).split(": ", 1)[1].split(". ")[0],
        )
        network.script = ["lose"] * 6
        with pytest.raises(NotSentError) as unsent:
            sender.send(entry.operation_id)
        assert unsent.value.receipt is None
        network.script = ["late"]
        with (
            Submitter(URL, service.token(), again, transport=network, attempts=1) as other,
            pytest.raises(UncertainError),
        ):
            other.send(entry.operation_id)


def test_a_seal_that_was_not_sent_or_was_refused_changes_nothing(
    service: Service, network: Network, ledger: Ledger, sender: Submitter
) -> None:
    """When a seal was not sent or was refused, a prepared operation can still be sent with the same key."""
    one = ledger.prepare(lesson())
    network.script = ["lose"]
    assert (sender.seal(one).state, ledger.entry(one).is_unsent()) == ("pending", True)
    with Submitter(URL, "antp_" + "A" * 36, ledger, transport=network) as other:
        assert (other.seal(one).state, ledger.entry(one).is_unsent()) == ("pending", True)
    network.script = ["late"]
    assert (sender.seal(one).state, ledger.entry(one).is_unsent()) == ("uncertain", False)
    network.script = ["lose"]
    assert sender.seal(one).state == "uncertain"
    assert service.client is not None
    assert sender.send(one).status == 201


def test_the_asynchronous_submitter_raises_the_same_errors(service: Service, network: Network, ledger: Ledger) -> None:
    """The asynchronous submitter handles connection failures and refused tokens the same way."""

    async def journey(token: str, script: list[Any], **options: Any) -> str:
        network.script = script
        options = options or {"transport": AsyncNetwork(network), "url": URL}
        async with AsyncSubmitter(options.pop("url"), token, None, attempts=2, **options) as sender:
            with pytest.raises(OperationError) as raised:
                await sender.submit(lesson())
        return type(raised.value).__name__

    assert asyncio.run(journey("token", [], url=f"http://127.0.0.1:{free_port()}")) == "NotSentError"
    assert asyncio.run(journey("antp_" + "A" * 36, [])) == "RefusedError"
    assert asyncio.run(journey("antp_" + "A" * 36, ["late"])) == "UncertainError"
    assert asyncio.run(journey(service.token(), ["drop", "lose"])) == "UncertainError"
    assert ledger.counts()["pending"] == 0


@pytest.mark.parametrize(
    ("kind", "same", "new"),
    [
        (UncertainError, True, False),
        (NotSentError, True, False),
        (RefusedError, True, False),
        (FailedError, False, True),
        (NeedsReviewError, False, False),
        (SettledByHandError, False, False),
    ],
)
def test_each_error_says_which_key_is_safe(kind: type[OperationError], same: bool, new: bool) -> None:  # noqa: FBT001 -- a table
    """All errors of operations have one base, and so have all errors of the client."""
    assert (kind.retry_same_key, kind.safe_new_key) == (same, new)
    assert issubclass(kind, OperationError)
    assert getattr(client, kind.__name__) is kind
    for name in client.__all__:
        if name.endswith("Error"):
            assert issubclass(getattr(client, name), client.AntechamberError)


def test_a_batch_names_the_wrong_event(sender: Submitter, network: Network) -> None:
    """Nothing is recorded or sent; the error has the event's number and the pointer, also beyond a thousand events."""
    wrong = {**lesson("Wrong."), "foo": 1}
    with pytest.raises(InvalidEventError, match=r"^event 3 of the batch: no such member.* \(at /foo\)$") as caught:
        sender.submit_batch([lesson("One."), lesson("Two."), wrong])
    assert caught.value.number == 3
    assert network.seen == []
    with Submitter(URL, "t", transport=network) as memoryless, pytest.raises(InvalidEventError, match=r"^event 2 of"):
        memoryless.submit_batch([lesson("One."), wrong])
    with pytest.raises(InvalidEventError, match=r"^no such member.* \(at /foo\)$") as caught:
        sender.submit(wrong)
    assert caught.value.number is None
    with pytest.raises(InvalidEventError, match="an event is a mapping, or JSON as bytes, and not str"):
        sender.submit(json.dumps(lesson()))  # type: ignore[arg-type]


def test_an_error_names_each_reason_and_its_place(sender: Submitter) -> None:
    """The text of an error is enough to correct the event, without a look at its reasons."""
    with pytest.raises(FailedError, match=r"private-detected: .* at /payload/content"):
        sender.submit(lesson("Charge the card 4111 1111 1111 1111."))
    incomplete = lesson() | {"payload": {"kind": 1}}
    with pytest.raises(
        InvalidEventError, match=r"that matches .* \(at /payload/kind\); missing; .* \(at /payload/content\)$"
    ):
        sender.submit(incomplete)

"""Secrets across submissions: in parts, again under other keys, and pasted tokens of this service."""

import html
import threading
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from antechamber.app.maintenance import clock
from antechamber.core.admission.submission import read_draft, read_event
from antechamber.core.errors import UnavailableError
from antechamber.core.remedies import REMEDIES
from antechamber.flows import secret_watch, split_watch
from antechamber.flows.split_watch import SplitWatch
from antechamber.settings import Location
from support import GATE, Service, dump, event, running, until, write_policies

HEAD, MIDDLE, TAIL = "ghp_" + "A7dl5PEW67", "zZCpFU9uKaHn", "GgOvQKAR2SJvCs"
SECRET = HEAD + MIDDLE + TAIL
HOUR = 3_600_000_000


def parsed(text: str, **members: Any) -> Any:
    """Return a submission."""
    import msgspec  # noqa: PLC0415

    return read_event(read_draft(msgspec.json.encode(event(text, **members))))


def rules(watch: SplitWatch, text: str, now: int = 0, **members: Any) -> list[str]:
    """Return which rules the watch finds completed by an event."""
    return [finding.rule_id for finding in watch.check(parsed(text, **members), GATE, now)]


def test_a_credential_in_two_events_is_private_with_its_second_part(service: Service) -> None:
    """The later event is refused with a finding about its own part; the receipt has no value, and a retry replays."""
    assert service.submit(event(f"First {HEAD + MIDDLE} of it.")).status_code == 201
    body = event(f"Then {TAIL} of it.")
    answer = service.submit(body)
    assert (answer.status_code, answer.json()["disposition"]) == (422, "rejected-private")
    (reason,) = answer.json()["reasons"]
    assert (reason["pointer"], reason["message"]) == ("/payload/content", "github-token: GitHub token")
    assert TAIL not in dump(service.location)
    assert service.submit(body).json()["duplicate"] is True
    assert service.submit(event(f"Then {TAIL} of it, again.", producer_identity="tool:watcher")).status_code == 201


@pytest.mark.parametrize(
    "parts",
    [
        [HEAD, MIDDLE + TAIL],
        [MIDDLE + TAIL, HEAD],
        [HEAD, MIDDLE, TAIL],
        [HEAD + MIDDLE, "with some a-noise1 between", TAIL],
    ],
    ids=["in order", "the end first", "in three parts", "with noise"],
)
def test_parts_are_found_in_any_of_these_ways(parts: list[str]) -> None:
    """Two parts in either order, with other fragments between them, and several parts in a row."""
    watch = SplitWatch()
    assert [rules(watch, f"Part {part} here.") for part in parts] == [[]] * (len(parts) - 1) + [["github-token"]]


def test_the_finding_names_the_part_of_the_later_event() -> None:
    """Pointer and offsets are those of the fragment, in whatever string it is."""
    watch = SplitWatch()
    assert rules(watch, f"Part {HEAD + MIDDLE} here.\nAnd so on.") == []
    payload = {"kind": "fact", "content": "Plain.", "tags": ["x"], "attributes": {"a": {"b": [f"See {TAIL}"]}}}
    (finding,) = watch.check(parsed("", payload=payload), GATE, 0)
    assert (finding.pointer, finding.start, finding.end) == ("/payload/attributes/a/b/0", 4, 4 + len(TAIL))
    assert finding.action == "reject"


def test_what_is_long_ago_or_of_another_producer_is_not_joined() -> None:
    """Parts count for an hour and for one producer; the same event again is not joined with itself."""
    watch = SplitWatch()
    assert rules(watch, f"Part {HEAD + MIDDLE} here.") == []
    assert rules(watch, f"Part {HEAD + MIDDLE} here.", 1) == []
    assert rules(watch, f"Part {TAIL}, here.", 2, producer_identity="tool:watcher") == []
    assert rules(watch, "Plain words only.", 3) == []
    assert rules(watch, 'A backslash \\ and a quote " only.', 3) == []
    assert rules(watch, f"Part {TAIL} here.", HOUR) == []


def test_only_secrets_are_joined() -> None:
    """Parts that would be an account number together are no finding."""
    watch = SplitWatch()
    assert rules(watch, "Order FR14200410100505 is open.") == []
    assert rules(watch, "Order 00013M02606 is open.") == []
    watch = SplitWatch()
    assert rules(watch, f"Order FR14200410100505 by {HEAD + MIDDLE} now.") == []
    assert set(rules(watch, f"Order 00013M02606 by {TAIL} now.")) == {"github-token"}
    watch = SplitWatch()
    assert rules(watch, f"Order FR1420041010050500013M02606.{HEAD + MIDDLE} is open.") == []
    assert rules(watch, f"Part {TAIL} here.") == ["github-token"]


def test_a_prefix_and_a_hash_are_no_credential() -> None:
    """A text that explains how tokens begin, and a later commit hash, stay as they are."""
    watch = SplitWatch()
    assert rules(watch, "GitHub's tokens begin with ghp_ and github_pat_.") == []
    assert rules(watch, "Commit 9f1c2ab7d09f1c2ab7d09f1c2ab7d09f1c2ab7d0 mends it, step_1 of it.") == []


def test_ordinary_events_between_the_parts_hide_nothing() -> None:
    """Versions and ids push out each other, and not what begins as the tokens of a service do."""
    watch = SplitWatch()
    assert rules(watch, f"Part {HEAD + MIDDLE} here.") == []
    for number in range(3 * split_watch.MAX_EVENTS):
        assert rules(watch, f"Release v2.14.{number}-rc3 of web3app.") == []
    assert rules(watch, f"Part {TAIL} here.") == ["github-token"]


def test_numbers_are_no_parts() -> None:
    """Only strings of a payload may have a part."""
    payload = {"kind": "fact", "content": f"Part {HEAD + MIDDLE} here.", "attributes": {"size": 7, "on": True}}
    watch = SplitWatch()
    assert watch.check(parsed("", payload=payload), GATE, 0) == []
    assert rules(watch, f"Part {TAIL} here.") == ["github-token"]


def test_parts_may_be_values_of_variables() -> None:
    """The name before an equals sign is no part of the credential."""
    watch = SplitWatch()
    assert rules(watch, f"PART1={HEAD + MIDDLE}") == []
    (finding,) = watch.check(parsed(f"export PART2={TAIL}."), GATE, 0)
    assert (finding.start, finding.end) == (13, 13 + len(TAIL))


def test_the_memory_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last events of a producer and the last producers are remembered."""
    watch = SplitWatch()
    assert rules(watch, f"Part {TAIL} here.") == []
    for number in range(split_watch.MAX_EVENTS):
        assert rules(watch, f"Number {number}zzzzzz here.") == []
    assert rules(watch, f"Part {HEAD + MIDDLE} here.") == []
    watch = SplitWatch()
    for number in range(split_watch.MAX_BEGUN + 1):
        assert rules(watch, f"Part ghp_{number}zzzzzz here.") == []
    assert len(watch._events["worker:release-bot"]) == split_watch.MAX_BEGUN
    watch = SplitWatch()
    monkeypatch.setattr(split_watch, "MAX_PRODUCERS", 1)
    assert rules(watch, f"Part {HEAD + MIDDLE} here.") == []
    assert rules(watch, "Number 1zzzzzz here.", producer_identity="tool:watcher") == []
    assert list(watch._events) == ["tool:watcher"]


def test_the_same_secret_under_other_keys_raises_an_alarm(service: Service) -> None:
    """Operators see how many keys and which producers, owners see it in their settings, and no value is shown."""
    body = event(f"It is {SECRET}.")
    for _ in range(2):
        service.submit(body)
    watch = service.state.admission.secrets
    assert watch.alarms() == []
    service.submit(event(f"Again {SECRET}.", producer_identity="tool:watcher"))
    (alarm,) = watch.alarms()
    assert "came under 2 keys, from tool:watcher, worker:release-bot" in alarm
    assert SECRET not in alarm
    operator = service.sign_in("kim", "operator").browser
    assert alarm in operator.get("/readyz").json()["alarms"]
    assert "came under 2 keys" in operator.get("/dashboard").text
    page = operator.get("/operations").text
    assert REMEDIES["secret"].title in page
    assert REMEDIES["background"].title not in page
    assert "Alarms about your producers" in service.sign_in("grace").browser.get("/settings").text
    assert "Alarms about your producers" not in service.sign_in("bob").browser.get("/settings").text


def test_an_alarm_and_what_was_seen_last_a_day(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a day the alarm is gone, and the secret counts from the beginning."""
    watch, now = service.state.admission.secrets, clock()
    for _ in range(2):
        service.submit(event(f"It is {SECRET}."))
    assert len(watch.alarms()) == 1
    monkeypatch.setattr(watch, "_clock", lambda: now + 25 * HOUR)
    assert watch.alarms() == []
    service.submit(event(f"It is {SECRET}."))
    assert watch.alarms() == []


def test_what_is_remembered_of_secrets_is_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests, keys of one digest, and alarms each have a limit."""
    for name, limit in (("MAX_VALUES", 2), ("MAX_ALARMS", 1), ("MAX_KEYS", 3)):
        monkeypatch.setattr(secret_watch, name, limit)
    for number in range(3):
        for _ in range(5):
            service.submit(event(f"It is {SECRET}{number}."))
    watch = service.state.admission.secrets
    assert (len(watch._seen), len(watch.alarms())) == (2, 1)
    assert "under 3 or more keys" in watch.alarms()[0]


def test_only_secrets_are_compared(service: Service) -> None:
    """Personal values raise no alarm; a secret below a name that is one itself does, and so does the name."""
    for number in range(2):
        service.submit(event(f"Pay to DE89 3704 0044 0532 0130 00, {number}."))
    watch = service.state.admission.secrets
    assert watch.alarms() == []
    for number in range(2):
        attributes = {f"ghp_{'a1' * 18}": {"a": f"See {SECRET}."}}
        answer = service.submit(event(payload={"kind": "fact", "content": f"{number}", "attributes": attributes}))
        assert answer.status_code in {400, 422}
    assert len(watch.alarms()) == 2


FORMS: dict[str, Callable[[str], dict[str, Any]]] = {
    "base64": lambda token: event(f"See {b64encode(token.encode()).decode()} here."),
    "percent": lambda token: event("See " + "".join(f"%{ord(sign):02x}" for sign in token)),
    "zero width": lambda token: event(f"See {token[:9]}\u200b{token[9:]} here."),
    "full width": lambda token: event("See " + "".join(chr(ord(sign) + 0xFEE0) for sign in token)),
    "two lines": lambda token: event(f"See:\n{token[:20]}\n{token[20:]}."),
    "a tag": lambda token: event(payload={"kind": "fact", "content": "Plain.", "tags": [token]}),
    "attributes": lambda token: event(
        payload={"kind": "fact", "content": "Plain.", "attributes": {"a": token[:20], "b": token[20:]}}
    ),
    "the key": lambda token: event("Plain.", idempotency_key=token),
    "glued": lambda token: event(f"See X{token}X{token} here."),
}


@pytest.mark.parametrize("name", [name for name in FORMS if name != "glued"])
def test_the_same_secret_in_another_form_raises_an_alarm(service: Service, name: str) -> None:
    """What is compared is the secret itself, not how an event writes it."""
    service.submit(event(f"It is {SECRET}."))
    assert service.submit(FORMS[name](SECRET)).status_code in {400, 422}
    (alarm,) = service.state.admission.secrets.alarms()
    assert "came under 2 keys" in alarm


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_token_of_this_service_is_recognized_in_any_form(service: Service, form: Callable[[str], Any]) -> None:
    """Its checksum shows that it is one; the alarm names its holder."""
    assert service.submit(form(service.token("tool:watcher"))).status_code in {400, 422}
    (alarm,) = until(service.state.admission.secrets.alarms, "the token is looked up")
    assert "the producer token of tool:watcher" in alarm


def test_the_password_of_an_address_is_compared_with_the_password_itself(service: Service) -> None:
    """An address has a user and a host beside the secret."""
    password = "Tr0ub4" + "dor88"
    service.submit(event(f'It is password = "{password}".'))
    service.submit(event(f"It is postgres://app:{password}@db.lakeshore.org/x."))
    basic = b64encode(f"app:{password}".encode()).decode()
    service.submit(event(f"Send Authorization: Basic {basic} to it."))
    (alarm,) = service.state.admission.secrets.alarms()
    assert "under 3 keys" in alarm


def test_a_secret_is_recognized_in_every_place(service: Service) -> None:
    """Source and claim count like the content."""
    service.submit(event(f"It is {SECRET}."))
    watch = service.state.admission.secrets
    for number, members in enumerate(({"source_span": {"uri": f"repo://a/{SECRET}"}}, {"supersedes": SECRET}), 2):
        service.submit(event("Plain.", **members))
        assert f"under {number} keys" in watch.alarms()[0]


READERS = [
    ("bob", "curator"),
    ("alice", "auditor"),
    ("grace", "curator"),
    ("olga", "operator"),
]
"""Only the operator, and the owner of the token's producer, see alarms about a token."""


def test_a_pasted_token_raises_an_alarm(service: Service) -> None:
    """The alarm names the token's holder and who pasted it; the token stays valid, as the policy says."""
    token = service.token("tool:watcher")
    assert service.submit(event(f"Use {token} for it.")).status_code == 422
    watch = service.state.admission.secrets
    (alarm,) = until(watch.alarms, "the token is looked up")
    assert "the producer token of tool:watcher, came in an event of worker:release-bot" in alarm
    assert "Revoke it" in alarm
    assert watch.alarms_of("grace") == [alarm]
    assert watch.alarms_of("ada") == []
    shown = {name: html.unescape(service.sign_in(name, role).browser.get("/settings").text) for name, role in READERS}
    assert {name for name, page in shown.items() if alarm in page} == {"grace", "olga"}
    assert service.client.get("/v1/token", headers=service.bearer("tool:watcher")).status_code == 200


def test_a_pasted_token_is_revoked_where_the_policy_says_so(location: Location, tmp_path: Path) -> None:
    """It stops working within a second; pasted again, it is only reported."""
    policies = write_policies(tmp_path / "policies", privacy="revoke_pasted_tokens = true\n")
    with running(location, policies) as service:
        token = service.token("tool:watcher")
        service.submit(event(f"Use {token} for it."))
        watch = service.state.admission.secrets
        until(watch.alarms, "the token is looked up")
        assert "It is revoked." in watch.alarms()[0]
        bearer = service.bearer("tool:watcher")
        until(lambda: service.client.get("/v1/token", headers=bearer).status_code == 401, "the token is revoked")
        assert "revoke-token" in dump(location)


def test_a_token_that_is_none_of_ours_raises_no_alarm(service: Service) -> None:
    """A well-formed token that was never issued is refused as private, and that is all."""
    token = "antp_" + "A7dl5PEW67zZCpFU9uKaHnGgOvQKAR2SJvCs"
    assert service.submit(event(f"Use {token} for it.")).status_code == 422
    wrong = token.replace("A7dl", "B7dl")
    assert service.submit(event(f'Use password = "{wrong}" for it.')).status_code == 422
    service.state.admission.flush()
    threading.Event().wait(0.1)
    assert service.state.admission.secrets.alarms() == []


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_token_that_cannot_be_looked_up_is_logged(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    """The event is refused all the same, and the log says that the look-up failed, without the token."""

    class Broken:
        def write(self, _work: Callable[..., Any]) -> "Future[Any]":
            if when == "at once":
                raise UnavailableError("closed")
            failed: Future[Any] = Future()
            failed.set_exception(UnavailableError("closed"))
            return failed

    token = service.token("tool:watcher")
    monkeypatch.setattr(service.state.admission.secrets, "_store", Broken())
    assert service.submit(event(f"Use {token} for it.")).status_code == 422
    assert "a pasted token could not be looked up" in caplog.text
    assert token not in caplog.text

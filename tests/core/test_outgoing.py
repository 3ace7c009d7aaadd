"""Events before they are sent: completion with hash and key, and the hash alone."""

import json
from typing import Any

import msgspec
import pytest

from antechamber.core.errors import RequestRefusedError
from antechamber.core.outgoing import body_of, hash_event
from support import event


def completed(value: dict[str, Any] | bytes, key: str | None = None) -> dict[str, Any]:
    """Return the members of a completed event."""
    body: dict[str, Any] = json.loads(body_of(value, key).body)
    return body


def bare(content: str = "Some text.", **members: Any) -> dict[str, Any]:
    """Return an event without key and hash."""
    return event(content, **{"idempotency_key": None, "source_event_hash": None} | members)


def test_an_event_is_completed_the_same_way_each_time() -> None:
    """Hash and key depend only on the content, so the same event always gets the same ones."""
    body = completed(bare())
    assert body["source_event_hash"] == hash_event(bare())
    assert body == bare() | {name: body[name] for name in ("source_event_hash", "idempotency_key")}
    assert completed(json.dumps(bare(), indent=1, sort_keys=True).encode()) == body
    assert completed(msgspec.json.encode(body)) == body


def test_a_derived_key_depends_on_what_makes_an_event() -> None:
    """Another text, scope or scope id gives another key; spaces around the content do not."""
    others = [bare("Another."), bare(submission_scope="session"), bare(scope_id="gemini")]
    same = bare(payload={"kind": "PROCEDURE", "content": "  Some text.\r\n"})
    keys = [completed(one)["idempotency_key"] for one in (bare(), same, *others)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_an_event_keeps_its_own_key_and_hash() -> None:
    """Members that are already there stay as they are; the key is the event's own."""
    body = event(idempotency_key="mine")
    assert completed(body) == body
    assert body_of(body, None).key == "mine"


def test_a_sender_with_keys_of_its_own_accepts_no_other() -> None:
    """With a given key, an event that brings one is refused, even if it is the same."""
    assert completed(bare(), "given")["idempotency_key"] == "given"
    with pytest.raises(RequestRefusedError, match="leave it out") as caught:
        body_of(bare(idempotency_key="given"), "given")
    assert caught.value.reasons[0].pointer == "/idempotency_key"


@pytest.mark.parametrize(
    ("key", "code"), [("k" * 129, "key-invalid"), ("", "key-invalid"), (7, "key-invalid"), (None, "key-invalid")]
)
def test_an_own_key_follows_the_grammar_of_keys(key: object, code: str) -> None:
    """An invalid key is never replaced by a derived one."""
    with pytest.raises(RequestRefusedError) as caught:
        body_of(json.dumps(bare() | {"idempotency_key": key}).encode(), None)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[1]",
        b"null",
        b"{",
        b"\xff",
        b'{"a":1,"a":2}',
        b'{"payload":{},"source_span":{}}',
        b'{"payload":{"kind":"fact","content":1},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x","attributes":{"a":0.5}},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x","tags":[1]},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x"},"source_span":{"uri":"x"}}',
    ],
)
def test_a_malformed_event_is_refused_before_it_is_sent(raw: bytes) -> None:
    """An invalid event is refused with a code before anything is sent."""
    with pytest.raises(RequestRefusedError) as raised:
        body_of(raw, None)
    assert raised.value.code in {"malformed", "out-of-profile", "duplicate-member", "unknown-member"}


def test_a_malformed_event_gets_every_reason_for_which_it_has_no_hash() -> None:
    """Missing members, wrong types and values outside the profile are named at once, each place once."""
    value = bare(payload={"kind": 1.5, "tags": "deploy"}, source_span={"uri": 7})
    with pytest.raises(RequestRefusedError) as raised:
        hash_event(value)
    assert [(reason.code, reason.pointer) for reason in raised.value.reasons] == [
        ("out-of-profile", "/payload/kind"),
        ("malformed", "/payload/content"),
        ("malformed", "/source_span/uri"),
        ("malformed", "/payload/tags"),
    ]
    assert raised.value.reasons[1].message == "missing; must be a string that is not blank"

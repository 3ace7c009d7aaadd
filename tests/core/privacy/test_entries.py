"""The lines of a scan: what is read, with which id, and what cannot be read."""

import json

import msgspec
import pytest

from antechamber.core.privacy.entries import Entry, UnreadableError, read_entry

IDS = ["null", "7", "-1.5e300", '"a\\u00e9"', "[1, 2]", '{"part": 3}', "true", "1000000000000000000000000000000"]


@pytest.mark.parametrize("entry_id", IDS)
def test_an_id_is_any_json_value(entry_id: str) -> None:
    """The id of a line comes back as it was written."""
    assert bytes(read_entry(f'{{"id": {entry_id}, "text": "x"}}'.encode()).id) == entry_id.encode()


def test_a_line_has_a_text_or_a_body() -> None:
    """A text is read as it is, and a body as values by pointer, with the kind of its scope; labels are ignored."""
    assert read_entry(b'{"text": "a\\u0000b", "label": "benign"}') == Entry(msgspec.Raw(b"null"), text="a\0b")
    body = {"submission_scope": "project", "payload": {"content": "x"}, "a/b": 1}
    entry = read_entry(json.dumps({"id": 1, "body": body}).encode())
    assert entry.values == {"/submission_scope": "project", "/payload": {"content": "x"}, "/a~1b": 1}
    assert entry.scope == "project"


def test_a_body_needs_nothing() -> None:
    """A body without hash, key, producer and scope is read; a scope that does not exist is none."""
    assert read_entry(b'{"body": {}}').values == {}
    assert read_entry(b'{"body": {"submission_scope": "galaxy"}}').scope is None
    assert read_entry(b'{"body": {"submission_scope": ["project"]}}').scope is None


def test_a_body_may_be_as_deep_as_a_submission() -> None:
    """Sixteen levels are read, of which the body is the first."""
    assert read_entry(b'{"body": {"a": ' + b"[" * 15 + b"]" * 15 + b"}}").values


def test_the_hash_of_a_body_is_not_scanned() -> None:
    """A hash holds no text; what only has the name of a hash is scanned."""
    right = {"source_event_hash": "blake3:" + "0" * 64}
    wrong = {"source_event_hash": "my secret"}
    assert read_entry(json.dumps({"body": right}).encode()).values == {}
    assert read_entry(json.dumps({"body": wrong}).encode()).values == {"/source_event_hash": "my secret"}
    assert read_entry(b'{"body": {"source_event_hash": 3}}').values == {"/source_event_hash": 3}


@pytest.mark.parametrize(
    ("line", "entry_id"),
    [
        (b"no json", b"null"),
        (b'"text"', b"null"),
        (b'{"id": 4}', b"4"),
        (b'{"id": 4, "text": "x", "body": {}}', b"4"),
        (b'{"id": 4, "text": 5}', b"4"),
        (b'{"id": 4, "text": "my secret", "te\\u0078t": "x"}', b"4"),
        (b'{"id": 4, "text": "\\ud800"}', b"null"),
        (b'{"id": 4, "text": "\xff"}', b"4"),
        (b'{"id": 4, "body": []}', b"4"),
        (b'{"id": 4, "body": {"a": 1, "a": 2}}', b"4"),
        (b'{"id": 4, "body": {"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}", b"null"),
        (b'{"id": 4, "body": {"a": ' + b"[" * 16 + b"]" * 16 + b"}}", b"4"),
        (b'{"id": ' + b"[" * 500_000 + b"]" * 500_000 + b"}", b"null"),
    ],
)
def test_what_cannot_be_read_is_named(line: bytes, entry_id: bytes) -> None:
    """A line that is no text and no body raises an error with its id, if that can be read."""
    with pytest.raises(UnreadableError) as caught:
        read_entry(line)
    assert bytes(caught.value.entry_id) == entry_id

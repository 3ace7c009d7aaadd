"""The fast path reads a submission exactly as the slow path does, or declines."""

import json
from datetime import date, time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.core.admission.canonical import digest, event_bytes, normalize
from antechamber.core.admission.fast_path import read_fast
from antechamber.core.admission.submission import Submission, read_draft, read_event
from antechamber.core.errors import RequestRefusedError
from support import event

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "hash-vectors.json").read_text())
FULL: dict[str, Any] = {
    "payload": {
        "kind": "procedure",
        "content": "Größe: run it,\nthen wait.",
        "tags": ["a-b", "deploy"],
        "attributes": {"severity": 2, "deep": [None, {"x": "y"}]},
    },
    "source_span": {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "end": 14, "revision": "9f1c2ab", "heading": "D"},
    "observed_at": "2026-11-20T10:00:00Z",
    "visibility": "shareable",
    "supersedes": "m-1",
    "derived_from": ["m-1", "m-2"],
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["x", "Fact", "\r\n", " x", "x\n", "\\r", "e\u0301", "\u00e9", "\u0338", '"', "a b", "A"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
odd = st.sampled_from(
    [
        ("idempotency_key", st.sampled_from(["k", "", "a b", "k" * 129, None, 7])),
        ("producer_identity", st.sampled_from(["worker:a", "robot:a", "worker:", 1])),
        ("submission_scope", st.sampled_from(["project", "galaxy", None])),
        ("scope_id", st.sampled_from(["apollo", "", "/x", 3])),
        ("observed_at", st.sampled_from(["2026-11-20T10:00:00+01:00", "2026-13-01T00:00:00Z", "now", 5])),
        ("visibility", st.sampled_from(["private", "shareable", "secret", None])),
        ("supersedes", texts | st.integers()),
        ("derived_from", st.lists(st.sampled_from(["m-1", "m-2", "", "a b", 7]), max_size=3) | texts),
        ("durable", st.sampled_from([True, False, "no"])),
        ("unknown", texts),
        ("source_event_hash", st.sampled_from(["blake3:" + "0" * 64, "", None, 1])),
    ]
).flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))
payloads = st.fixed_dictionaries(
    {"kind": st.sampled_from(["fact", "Fact", "a b", ""]), "content": texts},
    optional={
        "tags": st.lists(texts, max_size=3),
        "attributes": st.dictionaries(texts, values, max_size=3),
        "more": values,
    },
)
spans = st.fixed_dictionaries(
    {"uri": texts},
    optional={"start": st.integers(-1, 3) | values, "end": st.integers(-1, 2**53 + 1) | values, "heading": texts},
)


def slowly(raw: bytes, header_key: str | None) -> Submission | None:
    """Read a body on the slow path; return None for a refusal."""
    try:
        return read_event(read_draft(raw, header_key))
    except RequestRefusedError:
        return None


def hashed(body: dict[str, Any]) -> dict[str, Any]:
    """Add the hash of its normal form to a body, if it has one."""
    try:
        found = digest(event_bytes(*normalize(body["payload"], body["source_span"])))
    except (TypeError, AttributeError, KeyError, ValueError):
        return body
    return {**body, "source_event_hash": found}


@settings(max_examples=600)
@given(payloads, spans, st.lists(odd, max_size=2), st.sampled_from([None, None, "k", "other"]), st.booleans())
def test_the_fast_path_agrees_or_declines(
    payload: dict[str, Any],
    span: dict[str, Any],
    changes: list[tuple[str, Any]],
    header_key: str | None,
    escaped: bool,  # noqa: FBT001 -- drawn
) -> None:
    """For any body the fast path agrees with the slow path or declines, and never accepts a refused one."""
    body = hashed(event("x", payload=payload, source_span=span, source_event_hash="")) | dict(changes)
    raw = json.dumps(body, ensure_ascii=escaped).encode()
    quick = read_fast(raw, header_key)
    assert quick is None or quick == slowly(raw, header_key)


@pytest.mark.parametrize("changes", [{}, FULL, {"idempotency_key": None}], ids=["least", "everything", "key in header"])
def test_a_normal_body_is_read_quickly(changes: dict[str, Any]) -> None:
    """An ordinary body with every optional member takes the fast path."""
    body = event("Run the migration.", **changes)
    raw, header_key = msgspec.json.encode(body), None if "idempotency_key" in body else "key-1"
    quick = read_fast(raw, header_key)
    assert quick is not None
    assert quick == slowly(raw, header_key)


@settings(max_examples=400)
@given(
    st.dates(date(1, 1, 2), date(9999, 12, 30)),
    st.times(),
    st.text("0123456789", max_size=8),
    st.sampled_from(["Z", "z", "+00:00", "-00:00", "+05:45", "-11:30", "+23:59", "+24:00", "+02:60", "", "+0100"]),
    st.sampled_from(["", "", "", "59", "60", "61"]),
)
def test_times_are_read_alike(day: date, minute: time, fraction: str, offset: str, second: str) -> None:
    """Both paths read each notation of a time as the same moment, or refuse it."""
    text = f"{day.isoformat()}T{minute:%H:%M}:{second or minute.second:0>2}"
    raw = msgspec.json.encode(event("x", observed_at=text + (f".{fraction}" if fraction else "") + offset))
    assert read_fast(raw) == slowly(raw, None)


@pytest.mark.parametrize("content", ["a\r\nb", "e\u0301"], ids=["carriage return", "decomposed"])
def test_a_hash_over_a_text_that_is_not_normal_is_left_to_the_slow_way(content: str) -> None:
    """A hash over a non-normal text is left to the slow path, which refuses it with reasons."""
    body = event(content)
    body["source_event_hash"] = digest(event_bytes(body["payload"], body["source_span"]))
    raw = msgspec.json.encode(body)
    assert read_fast(raw) is None
    assert slowly(raw, None) is None


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["name"])
def test_it_agrees_with_the_published_vectors(vector: dict[str, Any]) -> None:
    """A published event and its normal form are read as in the vectors."""
    for part in (vector["event"], vector["normal_form"]):
        raw = msgspec.json.encode(event(**part, source_event_hash=vector["source_event_hash"]))
        quick = read_fast(raw)
        assert quick is None or quick.payload == vector["normal_form"]["payload"]
        assert quick is None or quick == slowly(raw, None)


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_what_the_vectors_refuse_is_left_to_the_slow_way(vector: dict[str, Any]) -> None:
    """The fast path declines the published refusals."""
    assert read_fast(vector["raw"].encode()) is None


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 5000, b'{"a":1,"a":1}', b" " * 65_537],
    ids=["empty", "object", "array", "null", "no UTF-8", "deep", "twice", "large"],
)
def test_what_is_no_body_is_left_to_the_slow_way(raw: bytes) -> None:
    """The fast path declines malformed bodies without raising anything else."""
    assert read_fast(raw) is None

"""The JSON profile, the normal form and the hash, checked against the published vectors."""

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785
from blake3 import blake3
from hypothesis import example, given
from hypothesis import strategies as st

from antechamber.core.admission.canonical import (
    canonical,
    check_profile,
    decode,
    digest,
    escape_pointer,
    event_bytes,
    lower_ascii,
    normalize,
    normalize_text,
)
from antechamber.core.admission.submission import Submission, derived_key, read_draft, read_event
from antechamber.core.errors import RequestRefusedError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "hash-vectors.json").read_text())
ENVELOPE = {
    "idempotency_key": "key-1",
    "producer_identity": "worker:release-bot",
    "submission_scope": "project",
    "scope_id": "apollo",
}
TRIMMED = "\t\n "
SPACES = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"

texts = st.text(st.characters(exclude_categories=["Cs"]))
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
scalars = st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=20
)
payloads = st.fixed_dictionaries(
    {"kind": texts, "content": texts},
    optional={"tags": st.lists(texts, max_size=5), "attributes": st.dictionaries(names, values, max_size=4)},
)
spans = st.fixed_dictionaries(
    {"uri": texts}, optional={"start": st.integers(1, 9), "revision": texts, "heading": texts}
)


def parsed(vector: dict[str, Any]) -> Submission:
    """Read a vector's event as the body of a request with the vector's hash."""
    body = ENVELOPE | vector["event"] | {"source_event_hash": vector["source_event_hash"]}
    return read_event(read_draft(msgspec.json.encode(body)))


def refusal(raw: bytes) -> RequestRefusedError:
    """Decode and check a value that must be refused."""
    with pytest.raises(RequestRefusedError) as caught:
        check_profile(decode(raw))
    return caught.value


def nested(levels: int) -> Any:
    """Return an array with this many levels."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(values)
@example({"a": '\x00\x08\t\n\x0b\x0c\r\x1f\x7f"\\/\u2028\u2029\ufeff\uffff\U0010ffff'})
@example([2**53 - 1, 1 - 2**53, 0, True, False, None, "", [], {}])
def test_the_canonical_encoding_is_rfc_8785(value: Any) -> None:
    """Within the profile the encoding equals the bytes of an independent implementation of RFC 8785."""
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("start", range(0, 0x110000, 0x8000))
def test_every_code_point_is_encoded_as_rfc_8785_does(start: int) -> None:
    """No code point is escaped differently from RFC 8785."""
    text = "".join(map(chr, (point for point in range(start, start + 0x8000) if not 0xD800 <= point < 0xE000)))
    assert canonical(text) == rfc8785.dumps(text)


@given(values)
def test_what_lies_inside_the_profile_passes(value: Any) -> None:
    """A value within the profile survives encoding, decoding and the check."""
    raw = msgspec.json.encode({"attributes": {"a": value}})
    check_profile(decode(raw), "/payload")
    assert decode(raw) == {"attributes": {"a": value}}


@given(values)
@example({"a": "\u00e9\U0001f600/\x7f"})
def test_another_spelling_of_the_same_json_decodes_to_the_same(value: Any) -> None:
    """White space and escapes of the standard library's encoder do not change the decoded value."""
    assert decode(json.dumps(value, indent=3).encode()) == decode(canonical(value))


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        (b"1.5", ""),
        (b"[1.0]", "/0"),
        (b'{"a":[0,1e3]}', "/a/1"),
        (b"-0.0", ""),
        (b"1E-2", ""),
        (b'{"a":9007199254740992}', "/a"),
        (b'{"a":-9007199254740992}', "/a"),
        (b'{"a":9223372036854775808}', "/a"),
        (b'{"a":' + b"1" * 4000 + b"}", "/a"),
        (b'{"A":1}', ""),
        (b'{"a":{"b-c":1}}', "/a"),
        (b'{"":1}', ""),
        (b'{"a\\n":1}', ""),
        ('{"\u00e9":1}'.encode(), ""),
        ('{"a\u0661":1}'.encode(), ""),
        (b"null", ""),
        (b'{"a":[null]}', "/a/0"),
    ],
)
def test_what_lies_outside_the_profile_is_refused_with_its_place(raw: bytes, pointer: str) -> None:
    """Floats, large integers, odd names and misplaced nulls are refused; for a name the pointer leads to its parent."""
    error = refusal(raw)
    assert (error.code, error.reasons[0].pointer) == ("out-of-profile", pointer)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'["\\ud800"]', id="high surrogate"),
        pytest.param(b'["\\udfff"]', id="low surrogate"),
        pytest.param(b'["\\ude00\\ud83d"]', id="wrong order"),
        pytest.param(b'["\\ud800\\ud800"]', id="two high surrogates"),
        pytest.param(b'{"\\ud800":1}', id="surrogate in a name"),
        pytest.param(b'["\\ud800",' + b"[" * 30_000 + b"]" * 30_001, id="surrogate before extreme nesting"),
        pytest.param(b"[1e400]", id="beyond any float"),
        pytest.param(b"[" + b"1" * 5000 + b"]", id="5000 digits"),
    ],
)
def test_json_that_no_value_of_the_profile_has_is_out_of_profile(raw: bytes) -> None:
    """Lone surrogates and out-of-range numbers are JSON, but outside the profile."""
    assert refusal(raw).code == "out-of-profile"


@pytest.mark.parametrize("location", ["[%s]", '{"a":%s}', '{"a":1,"b":[{"c":%s}]}'])
@pytest.mark.parametrize(
    "twice",
    ['{"a":1,"a":1}', '{"a":1,"b":2,"a":3}', '{"a":1,"\\u0061":2}', '{"\\u0061":{},"\\u0061":{}}', '{"":0,"":0}'],
)
def test_a_member_named_twice_is_refused_at_any_depth(location: str, twice: str) -> None:
    """A duplicate member is found at any depth and in any spelling."""
    assert refusal((location % twice).encode()).code == "duplicate-member"


def test_a_name_that_occurs_in_two_objects_is_no_duplicate() -> None:
    """Only names within one object are compared, also on the slow path."""
    assert decode(b'[{"\\u0061":1},{"a":{"a":2}}]') == [{"a": 1}, {"a": {"a": 2}}]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(raw, id=name)
        for name, raw in {
            "empty": b"",
            "blank": b" \n",
            "byte order mark": b"\xef\xbb\xbf{}",
            "UTF-16": "{}".encode("utf-16"),
            "NUL": b"{}\x00",
            "NaN": b"[NaN]",
            "Infinity": b"[Infinity]",
            "-Infinity": b"[-Infinity]",
            "trailing comma": b"[1,]",
            "two values": b"{} {}",
            "comment": b"[1]//",
            "single quotes": b"{'a':1}",
            "leading zero": b"[01]",
            "plus": b"[+1]",
            "no digit": b"[-]",
            "point without digits": b"[1.]",
            "control character": b'["\x01"]',
            "unknown escape": b'["\\x41"]',
            "short escape": b'["\\u12"]',
            "open string": b'["a',
            "invalid UTF-8": b'["\xff"]',
            "invalid UTF-8 in a name": b'{"\xff":1}',
            "overlong UTF-8": b'["\xc0\x80"]',
            "raw surrogate": b'["\xed\xa0\x80"]',
            "raw surrogate pair": b'["\xed\xa0\xbd\xed\xb8\x80"]',
            "beyond Unicode": b'["\xf4\x90\x80\x80"]',
        }.items()
    ],
)
def test_what_is_no_json_is_malformed(raw: bytes) -> None:
    """Bytes that are not JSON text by RFC 8259 are malformed."""
    assert refusal(raw).code == "malformed"


@pytest.mark.parametrize(
    ("raw", "message", "pointers"),
    [
        (b"", "the body is empty", [None]),
        (b" \r\n", "the body is empty", [None]),
        (gzip.compress(b"{}", mtime=0), "the body is compressed", [None]),
        (b'{"scope_id": "apollo",}', "from character 23 on", [None]),
        (b'{"payload": {"content": "a\nb"}}', "from character 27 on", [None]),
        (b'{"scope_id": 1, "other": 2, "scope_id": 3}', "a member twice: scope_id", [None]),
        (
            rb'{"payload": {"content": "\ud800", "tags": ["a", "\udc00"]}}',
            "half a character",
            ["/payload/content", "/payload/tags"],
        ),
        (rb'{"payload": {"attributes": {"content": ["\ud800"]}}}', "half a char", ["/payload/attributes/content"]),
        (rb'"\ud800"', "half a character", [None]),
        (rb'{"payload": {"attributes": {"\ud800": 1}}}', "a member name holds a lone surrogate", [None]),
    ],
)
def test_a_refused_text_names_the_mistake(raw: bytes, message: str, pointers: list[str | None]) -> None:
    """A refusal says what is wrong with the text, and where, as far as it can be known."""
    reasons = refusal(raw).reasons
    assert [reason.pointer for reason in reasons] == pointers
    assert all(message in reason.message for reason in reasons)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"attributes": {"hunter2": 1, "hunter2": 2}}',
        rb'{"payload": {"attributes": {"hunter2": "\ud800"}}}',
        rb'{"payload": {"attributes": {"hunter2": 1, "\ud800": "a"}}}',
        b'{"payload": {"attributes": {"hunter2": }}}',
    ],
)
def test_a_refused_text_repeats_no_name_of_its_author(raw: bytes) -> None:
    """A name that the contract does not know may be private, so that no refusal of the text repeats it."""
    assert "hunter2" not in str(msgspec.to_builtins(refusal(raw).reasons))


@given(st.binary(max_size=64) | st.text('[]{}:,"\\ud80019e.-ntf ').map(str.encode))
def test_no_bytes_crash_the_decoder(raw: bytes) -> None:
    """Any bytes are decoded or refused with a listed code."""
    codes = set()
    try:
        check_profile(decode(raw))
    except RequestRefusedError as error:
        codes.add(error.code)
    assert codes <= {"malformed", "out-of-profile", "duplicate-member"}


@pytest.mark.parametrize("levels", [1000, 5000, 30_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_extreme_nesting_is_out_of_profile(levels: int, opening: str, closing: str) -> None:
    """Nesting deeper than any parser supports is refused like any other excessive depth."""
    assert refusal((opening * levels + "1" + closing * levels).encode()).code == "out-of-profile"


@pytest.mark.parametrize(("depth", "levels"), [(1, 16), (2, 15), (4, 13), (16, 1)])
def test_sixteen_levels_pass_and_seventeen_do_not(depth: int, levels: int) -> None:
    """Depth counts containers; scalars on the deepest level are accepted."""
    check_profile(nested(levels), depth=depth)
    with pytest.raises(RequestRefusedError) as caught:
        check_profile(nested(levels + 1), depth=depth)
    assert (caught.value.code, caught.value.reasons[0].pointer) == ("out-of-profile", "/0" * levels)


def test_null_is_allowed_inside_attributes_only() -> None:
    """Inside payload.attributes null is a value; attributes itself and all other members must not be null."""
    check_profile({"attributes": {"a": None, "b": [None, {"c": None}]}}, "/payload")
    for value, pointer in (
        ({"attributes": None}, "/payload/attributes"),
        ({"tags": None}, "/payload/tags"),
        ({"tags": [None]}, "/payload/tags/0"),
        ({"other": {"attributes": {"a": None}}}, "/payload/other/attributes/a"),
    ):
        with pytest.raises(RequestRefusedError) as caught:
            check_profile(value, "/payload")
        assert [reason.pointer for reason in caught.value.reasons] == [pointer]


def test_at_most_twenty_violations_are_named() -> None:
    """An answer lists at most twenty violations."""
    with pytest.raises(RequestRefusedError) as caught:
        check_profile([0.5] * 21)
    assert [reason.pointer for reason in caught.value.reasons] == [f"/{index}" for index in range(20)]


def test_pointers_are_escaped() -> None:
    """JSON pointers are escaped as in RFC 6901."""
    assert escape_pointer("a/b~c~1") == "a~1b~0c~01"


@given(payloads, spans)
def test_normalizing_twice_is_normalizing_once(payload: dict[str, Any], span: dict[str, Any]) -> None:
    """Normalizing is idempotent for all strings."""
    once = normalize(payload, span)
    assert normalize(*once) == once


@given(payloads, spans)
def test_normalizing_leaves_its_input_alone(payload: dict[str, Any], span: dict[str, Any]) -> None:
    """The input event is not changed in place."""
    before = canonical([payload, span])
    normalize(payload, span)
    assert canonical([payload, span]) == before


@given(payloads, spans)
def test_normalizing_adds_and_drops_no_member(payload: dict[str, Any], span: dict[str, Any]) -> None:
    """Absent members stay absent and empty ones stay empty."""
    normal, normal_span = normalize(payload, span)
    assert (normal.keys(), normal_span.keys()) == (payload.keys(), span.keys())
    assert [name for name in payload if payload[name] in ({}, [])] == [
        name for name in normal if normal[name] in ({}, [])
    ]


@given(texts)
@example("a\r\r\nb\n\rc")
@example("\u212b\u0344\ufb01")
def test_every_string_becomes_nfc_with_line_feeds(text: str) -> None:
    """NFC is applied first, then each CRLF and each remaining CR becomes one LF."""
    expected = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    payload, span = normalize(
        {"kind": "fact", "content": "x", "attributes": {"a": [text]}}, {"uri": text, "heading": text}
    )
    assert [payload["attributes"]["a"][0], span["uri"], span["heading"], normalize_text(text)] == [expected] * 4
    assert "\r" not in expected


@given(st.text(SPACES, max_size=4), st.text(SPACES, max_size=4))
@example("\xa0", "\x0b")
@example(" \t\n", "\n\t ")
def test_content_loses_tab_line_feed_and_space_at_its_ends_only(before: str, after: str) -> None:
    """Content is stripped of tab, line feed and space after line ends are normalized; other strings are not."""
    text = f"{before}x \t\n y{after}"
    payload, span = normalize({"kind": "fact", "content": text}, {"uri": text})
    kept = normalize_text(text)
    assert payload["content"] == kept[len(kept) - len(kept.lstrip(TRIMMED)) : len(kept.rstrip(TRIMMED))]
    assert span["uri"] == kept


@given(texts)
@example("ABCXYZ\u0130\u0416\u00c9\u212a@[`{")
def test_lowering_touches_a_to_z_only(text: str) -> None:
    """Lower-casing changes the 26 ASCII letters and no other code point."""
    assert lower_ascii(text) == "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


@given(st.lists(texts | st.sampled_from(["A", "a", "\uff5e", "\U0001f600", "cafe\u0301", "CAF\u00c9"]), max_size=8))
def test_tags_are_unique_and_sorted_by_code_point(tags: list[str]) -> None:
    """Tags are lower-cased, then deduplicated and sorted by code point."""
    payload, _ = normalize({"kind": "fact", "content": "x", "tags": tags}, {"uri": "u"})
    points = [[ord(c) for c in tag] for tag in payload["tags"]]
    assert points == sorted(points)
    assert len(set(payload["tags"])) == len(payload["tags"])
    assert set(payload["tags"]) == {lower_ascii(normalize_text(tag)) for tag in tags}


@given(st.data())
def test_the_hash_ignores_member_order_and_white_space(data: st.DataObject) -> None:
    """The hash does not depend on the layout of the JSON."""
    members = {"kind": "fact", "content": "x", "tags": ["b", "a"], "attributes": {"n": 1, "m": {"q": [], "p": None}}}
    shuffled = dict(data.draw(st.permutations(list(members.items()))))
    indent = data.draw(st.sampled_from([None, 0, 1, 5, "\t"]))
    raw = json.dumps({"source_span": {"uri": "u"}, "payload": shuffled}, indent=indent).encode()
    body = decode(raw)
    expected = event_bytes(*normalize(members, {"uri": "u"}))
    assert event_bytes(*normalize(body["payload"], body["source_span"])) == expected


def test_the_digest_is_plain_blake3() -> None:
    """The hash is BLAKE3-256 of the bytes in lower-case hex, as b3sum prints it."""
    assert digest(b"abc") == "blake3:" + blake3(b"abc").hexdigest()
    assert digest(b"") == "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["name"])
def test_the_published_vectors_hold(vector: dict[str, Any]) -> None:
    """Normal form, canonical text and hash of each vector match the published ones."""
    submission = parsed(vector)
    assert {"payload": submission.payload, "source_span": submission.source_span} == vector["normal_form"]
    assert event_bytes(submission.payload, submission.source_span).decode() == vector["canonical"]
    assert submission.source_event_hash == vector["source_event_hash"]
    assert submission.size == len(vector["canonical"].encode())


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["name"])
def test_the_published_vectors_are_right(vector: dict[str, Any]) -> None:
    """Each vector is consistent by rfc8785 and blake3 alone, and its normal form is a fixed point."""
    text = rfc8785.dumps({**vector["normal_form"], "version": 1})
    assert text.decode() == vector["canonical"]
    assert "blake3:" + blake3(text).hexdigest() == vector["source_event_hash"]
    assert parsed({**vector, "event": vector["normal_form"]}).source_event_hash == vector["source_event_hash"]


def test_the_vectors_are_many_and_differ_by_name() -> None:
    """The published list has enough vectors, each with a unique name."""
    names = [vector["name"] for vector in (*VECTORS["accepted"], *VECTORS["refused"])]
    assert len(VECTORS["accepted"]) >= 20
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_the_published_refusals_hold(vector: dict[str, Any]) -> None:
    """Each refused body is refused with the published code."""
    with pytest.raises(RequestRefusedError) as caught:
        read_event(read_draft(vector["raw"].encode()))
    assert caught.value.code == vector["code"]


@pytest.mark.parametrize("vector", VECTORS["derived_keys"], ids=lambda vector: vector["submission_scope"])
def test_the_published_derived_keys_hold(vector: dict[str, Any]) -> None:
    """A key derived from content matches the published one and is valid."""
    body = ENVELOPE | VECTORS["accepted"][1]["event"]
    body |= {name: vector[name] for name in ("source_event_hash", "submission_scope", "scope_id")}
    key = derived_key(read_event(read_draft(msgspec.json.encode(body))))
    assert key == vector["derived_key"]
    assert read_draft(msgspec.json.encode(body | {"idempotency_key": key})).idempotency_key == key

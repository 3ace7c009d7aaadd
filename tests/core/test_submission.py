"""Reading a submission: every refusal, the grammar of keys and times, and the compared members."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from blake3 import blake3
from hypothesis import example, given
from hypothesis import strategies as st

from antechamber.core.admission.canonical import digest, event_bytes, normalize
from antechamber.core.admission.submission import (
    Submission,
    compared_bytes,
    derived_key,
    fingerprint,
    read_draft,
    read_event,
    read_key_header,
)
from antechamber.core.contract import MAX_BODY, SCOPES, Reason
from antechamber.core.errors import RequestRefusedError
from antechamber.core.times import format_age, format_minute, format_time, parse_time, start_of_day
from support import event

KEY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
GONE = object()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECRET = bytes(range(32))


def changed(pointer: str, value: Any) -> bytes:
    """Return a valid body with the member at a pointer replaced, added or (GONE) removed."""
    body = event(payload={"kind": "fact", "content": "x"}, source_span={"uri": "u"}, idempotency_key="key")
    *parents, name = pointer[1:].split("/")
    holder = body[parents[0]] if parents else body
    holder[name] = value
    if value is GONE:
        del holder[name]
    return msgspec.json.encode(body)


def rehashed(body: dict[str, Any]) -> bytes:
    """Return a body with the correct hash of its event."""
    return msgspec.json.encode({**body, "source_event_hash": digest(event_bytes(*_normal(body)))})


def _normal(body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return normalize(body["payload"], body["source_span"])


def refusal(raw: bytes, header_key: str | None = None) -> RequestRefusedError:
    """Read a body that must be refused."""
    with pytest.raises(RequestRefusedError) as caught:
        read_event(read_draft(raw, header_key))
    return caught.value


def submission(**members: Any) -> Submission:
    """Read a valid body."""
    return read_event(read_draft(msgspec.json.encode(event(**members))))


def test_a_minimal_body_is_read() -> None:
    """The required members alone make a submission, and no defaults are added."""
    read = submission(idempotency_key="key")
    assert msgspec.structs.asdict(read) == {
        "idempotency_key": "key",
        "producer_identity": "worker:release-bot",
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_event_hash": read.source_event_hash,
        "size": len(event_bytes(read.payload, read.source_span)),
        "kind": "procedure",
        "payload_json": '{"content":"Run the migration before the deploy.","kind":"procedure"}',
        "source_span_json": '{"uri":"repo://apollo/RUNBOOK.md"}',
        "observed_at": None,
        "visibility": None,
        "supersedes": None,
        "derived_from": None,
        "as_sent": {},
    }


def test_a_full_body_is_read() -> None:
    """Every optional member is read into its field."""
    span = {"uri": "u", "start": 10, "end": 14, "revision": "9f1c2ab", "heading": "Deploy"}
    payload = {"kind": "Fact", "content": " x ", "tags": ["B", "a"], "attributes": {"severity": 2}}
    read = submission(
        payload=payload,
        source_span=span,
        observed_at="1970-01-01T01:00:00.5+01:00",
        visibility="shareable",
        supersedes="0198c7f2",
        derived_from=["m-2", "m-10", "m-2"],
        durable=False,
    )
    assert read.payload == {"kind": "fact", "content": "x", "tags": ["a", "b"], "attributes": {"severity": 2}}
    assert read.source_span == span
    assert (read.observed_at, read.visibility, read.supersedes) == (500_000, "shareable", "0198c7f2")
    assert read.derived_from == ["m-10", "m-2"]


@pytest.mark.parametrize("scope", SCOPES)
def test_every_scope_is_read(scope: str) -> None:
    """All six scopes are valid."""
    assert submission(submission_scope=scope).submission_scope == scope


REFUSED: list[tuple[str, Any, str, str | None]] = [
    ("/idempotency_key", GONE, "key-missing", "/idempotency_key"),
    ("/idempotency_key", None, "key-invalid", "/idempotency_key"),
    ("/idempotency_key", 7, "key-invalid", "/idempotency_key"),
    ("/idempotency_key", "", "key-invalid", "/idempotency_key"),
    ("/idempotency_key", "-a", "key-invalid", "/idempotency_key"),
    ("/idempotency_key", "a\n", "key-invalid", "/idempotency_key"),
    ("/idempotency_key", "\u00e9", "key-invalid", "/idempotency_key"),
    ("/producer_identity", GONE, "malformed", "/producer_identity"),
    ("/producer_identity", 1, "malformed", "/producer_identity"),
    ("/producer_identity", "release-bot", "malformed", "/producer_identity"),
    ("/producer_identity", "robot:x", "malformed", "/producer_identity"),
    ("/producer_identity", "Worker:x", "malformed", "/producer_identity"),
    ("/producer_identity", "worker:", "malformed", "/producer_identity"),
    ("/producer_identity", "worker:.x", "malformed", "/producer_identity"),
    ("/producer_identity", "worker:x\n", "malformed", "/producer_identity"),
    ("/producer_identity", "worker:a:b", "malformed", "/producer_identity"),
    ("/producer_identity", "worker:" + "x" * 129, "malformed", "/producer_identity"),
    ("/submission_scope", GONE, "malformed", "/submission_scope"),
    ("/submission_scope", "Project", "malformed", "/submission_scope"),
    ("/submission_scope", None, "malformed", "/submission_scope"),
    ("/scope_id", GONE, "malformed", "/scope_id"),
    ("/scope_id", "", "malformed", "/scope_id"),
    ("/scope_id", "a b", "malformed", "/scope_id"),
    ("/scope_id", "*", "malformed", "/scope_id"),
    ("/scope_id", "a\n", "malformed", "/scope_id"),
    ("/scope_id", "x" * 129, "malformed", "/scope_id"),
    ("/scope_id", ["apollo"], "malformed", "/scope_id"),
    ("/source_event_hash", GONE, "hash-missing", "/source_event_hash"),
    ("/source_event_hash", None, "hash-missing", "/source_event_hash"),
    ("/source_event_hash", 1, "malformed", "/source_event_hash"),
    ("/source_event_hash", "", "malformed", "/source_event_hash"),
    ("/source_event_hash", "0" * 64, "malformed", "/source_event_hash"),
    ("/source_event_hash", "blake3:" + "A" * 64, "malformed", "/source_event_hash"),
    ("/source_event_hash", "blake3:" + "0" * 63, "malformed", "/source_event_hash"),
    ("/source_event_hash", "sha256:" + "0" * 64, "malformed", "/source_event_hash"),
    ("/source_event_hash", "blake3:" + "0" * 64, "hash-mismatch", "/source_event_hash"),
    ("/payload", GONE, "malformed", "/payload"),
    ("/payload", [], "malformed", "/payload"),
    ("/payload", "x", "malformed", "/payload"),
    ("/payload", None, "out-of-profile", "/payload"),
    ("/payload/kind", GONE, "malformed", "/payload/kind"),
    ("/payload/kind", 1, "malformed", "/payload/kind"),
    ("/payload/kind", "", "malformed", "/payload/kind"),
    ("/payload/kind", "1a", "malformed", "/payload/kind"),
    ("/payload/kind", " fact", "malformed", "/payload/kind"),
    ("/payload/kind", "fact\n", "malformed", "/payload/kind"),
    ("/payload/kind", "f" * 65, "malformed", "/payload/kind"),
    ("/payload/kind", "f\u00e4ct", "malformed", "/payload/kind"),
    ("/payload/content", GONE, "malformed", "/payload/content"),
    ("/payload/content", True, "malformed", "/payload/content"),
    ("/payload/content", "", "malformed", "/payload/content"),
    ("/payload/content", "\t \r\n\r", "malformed", "/payload/content"),
    ("/payload/tags", "deploy", "malformed", "/payload/tags"),
    ("/payload/tags", [["deploy"]], "malformed", "/payload/tags/0"),
    ("/payload/tags", ["a", "b", 3], "malformed", "/payload/tags/2"),
    ("/payload/tags", None, "out-of-profile", "/payload/tags"),
    ("/payload/tags", [None], "out-of-profile", "/payload/tags/0"),
    ("/payload/tags", [""], "malformed", "/payload/tags"),
    ("/payload/tags", ["t" * 65], "malformed", "/payload/tags"),
    ("/payload/tags", [f"t{number}" for number in range(33)], "malformed", "/payload/tags"),
    ("/payload/attributes", [], "malformed", "/payload/attributes"),
    ("/payload/attributes", None, "out-of-profile", "/payload/attributes"),
    ("/payload/attributes", {"a": 0.5}, "out-of-profile", "/payload/attributes/a"),
    ("/payload/attributes", {"A": 1}, "out-of-profile", "/payload/attributes"),
    ("/payload/extra", 1, "unknown-member", "/payload/extra"),
    ("/source_span", GONE, "malformed", "/source_span"),
    ("/source_span", [], "malformed", "/source_span"),
    ("/source_span", 1.5, "out-of-profile", "/source_span"),
    ("/source_span/uri", GONE, "malformed", "/source_span/uri"),
    ("/source_span/uri", "", "malformed", "/source_span/uri"),
    ("/source_span/uri", {}, "malformed", "/source_span/uri"),
    ("/source_span/start", 0, "malformed", "/source_span/start"),
    ("/source_span/start", -1, "malformed", "/source_span/start"),
    ("/source_span/start", "1", "malformed", "/source_span/start"),
    ("/source_span/start", True, "malformed", "/source_span/start"),
    ("/source_span/start", 1.0, "out-of-profile", "/source_span/start"),
    ("/source_span/start", None, "out-of-profile", "/source_span/start"),
    ("/source_span/end", 0, "malformed", "/source_span/end"),
    ("/source_span/end", 2**53, "out-of-profile", "/source_span/end"),
    ("/source_span/revision", 7, "malformed", "/source_span/revision"),
    ("/source_span/heading", ["x"], "malformed", "/source_span/heading"),
    ("/source_span/line", 1, "unknown-member", "/source_span/line"),
    ("/observed_at", "2026-11-20", "malformed", "/observed_at"),
    ("/observed_at", "2026-11-20T10:00:00", "malformed", "/observed_at"),
    ("/observed_at", None, "malformed", "/observed_at"),
    ("/observed_at", 1_700_000_000, "malformed", "/observed_at"),
    ("/visibility", "public", "malformed", "/visibility"),
    ("/visibility", None, "malformed", "/visibility"),
    ("/durable", True, "direct-write", "/durable"),
    ("/durable", "true", "malformed", "/durable"),
    ("/durable", 1, "malformed", "/durable"),
    ("/durable", None, "malformed", "/durable"),
    ("/supersedes", 1, "malformed", "/supersedes"),
    ("/supersedes", None, "malformed", "/supersedes"),
    ("/derived_from", None, "malformed", "/derived_from"),
    ("/derived_from", "m-1", "malformed", "/derived_from"),
    ("/derived_from", [], "malformed", "/derived_from"),
    ("/derived_from", ["m-1", 2], "malformed", "/derived_from/1"),
    ("/derived_from", ["m-1", ""], "malformed", "/derived_from"),
    ("/derived_from", ["a memory"], "malformed", "/derived_from"),
    ("/derived_from", ["m" * 129], "malformed", "/derived_from"),
    ("/derived_from", [f"m-{number}" for number in range(33)], "malformed", "/derived_from"),
    ("/extra", 1, "unknown-member", "/extra"),
    ("/version", 1, "unknown-member", "/version"),
]


@pytest.mark.parametrize(
    ("pointer", "value", "code", "location"),
    REFUSED,
    ids=[f"{number}{row[0]}-{row[2]}" for number, row in enumerate(REFUSED)],
)
def test_a_wrong_member_is_refused_by_code_and_place(pointer: str, value: Any, code: str, location: str) -> None:
    """One wrong member of a valid body gives its code and a pointer to it."""
    error = refusal(changed(pointer, value))
    assert [(reason.code, reason.pointer) for reason in error.reasons] == [(code, location)]


@pytest.mark.parametrize("raw", [b"[]", b"1", b'"x"', b"null", b"true"])
def test_a_body_that_is_no_object_is_malformed(raw: bytes) -> None:
    """Only a JSON object is a submission."""
    assert refusal(raw, "key").code == "malformed"


def test_all_unknown_and_missing_members_are_named_at_once() -> None:
    """Every unknown and missing member is named in one answer; unknown ones determine the code."""
    error = refusal(b'{"idempotency_key":"k","a/b~":1,"payload":{"kind":"fact","x":1},"source_span":7}')
    assert [(reason.code, reason.pointer) for reason in error.reasons] == [
        ("unknown-member", "/a~1b~0"),
        ("unknown-member", "/payload/x"),
        ("malformed", "/producer_identity"),
        ("malformed", "/submission_scope"),
        ("malformed", "/scope_id"),
        ("malformed", "/payload/content"),
        ("malformed", "/source_span"),
        ("hash-missing", "/source_event_hash"),
    ]


def test_a_refusal_lists_every_mistake_of_every_kind() -> None:
    """Key, members, profile, types, grammar, normal form, time, ids and hash are named together, each place once."""
    body = event(
        payload={"kind": "No Kind", "content": " \n", "tags": ["a b"], "attributes": {"rate": 0.5}, "extra": 1},
        source_span={"uri": "", "start": 0, "end": None, "revision": 7},
        idempotency_key="no key",
        producer_identity="release-bot",
        submission_scope="team",
        scope_id="-",
        source_event_hash="blake3:0",
    )
    body |= {"observed_at": "today", "derived_from": ["-"], "visibility": "hidden", "supersedes": 1}
    assert [(reason.code, reason.pointer) for reason in refusal(msgspec.json.encode(body)).reasons] == [
        ("key-invalid", "/idempotency_key"),
        ("unknown-member", "/payload/extra"),
        ("out-of-profile", "/payload/attributes/rate"),
        ("out-of-profile", "/source_span/end"),
        ("malformed", "/submission_scope"),
        ("malformed", "/visibility"),
        ("malformed", "/supersedes"),
        ("malformed", "/source_span/revision"),
        ("malformed", "/producer_identity"),
        ("malformed", "/scope_id"),
        ("malformed", "/source_span/start"),
        ("malformed", "/payload/content"),
        ("malformed", "/payload/kind"),
        ("malformed", "/payload/tags"),
        ("malformed", "/source_span/uri"),
        ("malformed", "/observed_at"),
        ("malformed", "/derived_from"),
        ("malformed", "/source_event_hash"),
    ]


def test_each_wrong_item_of_an_array_has_its_own_place() -> None:
    """Items that are no strings are named one by one."""
    body = event(derived_from=[2])
    body["payload"]["tags"] = ["a", 1, True]
    assert [reason.pointer for reason in refusal(msgspec.json.encode(body)).reasons] == [
        "/derived_from/0",
        "/payload/tags/1",
        "/payload/tags/2",
    ]


def test_a_wrong_hash_is_named_beside_other_mistakes_if_the_event_has_one() -> None:
    """The hash of a sound event is compared, whatever else is wrong; that of an event to be mended is not."""
    wrong = {"scope_id": "-", "source_event_hash": "blake3:" + "0" * 64}
    beside = refusal(msgspec.json.encode(event(**wrong)))
    assert [reason.code for reason in beside.reasons] == ["malformed", "hash-mismatch"]
    unsound = refusal(msgspec.json.encode(event(payload={"kind": "fact", "content": ""}, **wrong)))
    assert [reason.pointer for reason in unsound.reasons] == ["/scope_id", "/payload/content"]


def test_a_refusal_lists_twenty_mistakes_at_most() -> None:
    """A list that is full says nothing of the hash, because it may lack what is wrong with the event."""
    unknown = {f"unknown{letter}": 1 for letter in "abcdefghijklmnopqrstuvwxyz"}
    reasons = refusal(msgspec.json.encode(event() | unknown | {"payload": {"kind": 1, "content": "x"}})).reasons
    assert [reason.code for reason in reasons] == ["unknown-member"] * 20


def test_a_wrong_header_is_named_beside_the_mistakes_of_the_body() -> None:
    """What is wrong with the header Idempotency-Key comes first, also where the body cannot be read."""
    header = [Reason(code="key-invalid", message="no key")]
    for raw, codes in (
        (changed("/scope_id", "-"), ["malformed"]),
        (b"[]", ["malformed"]),
        (b'{"a":1,"a":1}', ["duplicate-member"]),
        (changed("/idempotency_key", GONE), []),
    ):
        with pytest.raises(RequestRefusedError) as caught:
            read_draft(raw, header_reasons=header)
        assert [reason.code for reason in caught.value.reasons] == ["key-invalid", *codes]


def test_a_pointer_ends_before_a_private_name() -> None:
    """A value outside the profile is named by its place, up to the first private name on the way."""
    attributes = {"rate": {"ada@example.org": 0.5, "plain": 0.5}}
    reasons = refusal(changed("/payload/attributes", attributes)).reasons
    assert [reason.pointer for reason in reasons] == [
        "/payload/attributes/rate",
        "/payload/attributes/rate",
        "/payload/attributes/rate/plain",
    ]


def test_a_body_of_64_kib_passes_and_a_longer_one_is_too_large() -> None:
    """The limit is 65,536 bytes of the body as sent."""
    body = event(payload={"kind": "fact", "content": ""})
    short = len(rehashed({**body, "payload": {"kind": "fact", "content": "x"}})) - 1
    fitting = rehashed({**body, "payload": {"kind": "fact", "content": "x" * (MAX_BODY - short)}})
    assert len(fitting) == 65_536
    assert len(read_event(read_draft(fitting)).payload["content"]) == MAX_BODY - short
    assert refusal(fitting + b" ").code == "body-too-large"


def test_the_size_is_checked_before_anything_is_parsed() -> None:
    """An oversized body is refused before it is parsed."""
    assert refusal(b"[" * (MAX_BODY + 1)).code == "body-too-large"


def test_a_durable_write_is_refused_before_key_members_and_hash() -> None:
    """The refusal of a durable write precedes all other errors."""
    assert refusal(b'{"durable":true,"nonsense":1}').code == "direct-write"


def test_the_depth_counts_from_the_body() -> None:
    """The body is level 1, so attributes may nest 13 levels below themselves and no more."""

    def deep(levels: int) -> dict[str, Any]:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return event(payload={"kind": "fact", "content": "x", "attributes": {"a": value}}, source_event_hash="none")

    read_draft(msgspec.json.encode(deep(13)))
    error = refusal(msgspec.json.encode(deep(14)))
    assert (error.code, error.reasons[0].pointer) == ("out-of-profile", "/payload/attributes/a" + "/0" * 13)


def test_limits_of_tags_hold_for_the_normal_form() -> None:
    """Tags are counted and measured after lower-casing, composition and deduplication."""
    many = ["T", "t"] * 40 + [f"t{number}" for number in range(31)]
    long = "e\u0301" * 64
    read = submission(payload={"kind": "fact", "content": "x", "tags": many})
    assert len(read.payload["tags"]) == 32
    read = submission(payload={"kind": "fact", "content": "x", "tags": [long]})
    assert read.payload["tags"] == ["\u00e9" * 64]


@pytest.mark.parametrize(
    "space",
    [chr(point) for point in (9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))]
    + [chr(point) for point in (0x2028, 0x2029, 0x202F, 0x205F, 0x3000)],
    ids=ascii,
)
def test_a_tag_has_no_white_space(space: str) -> None:
    """Each of the 25 code points that Unicode calls white space is refused in a tag."""
    assert refusal(changed("/payload/tags", [f"a{space}b"])).reasons[0].pointer == "/payload/tags"


@pytest.mark.parametrize("other", ["\x1c", "\x1f", "\u200b", "\u180e", "\ufeff", "\u2060"], ids=ascii)
def test_a_tag_may_hold_what_only_looks_like_white_space(other: str) -> None:
    """Characters that Unicode does not class as white space are allowed."""
    assert submission(payload={"kind": "fact", "content": "x", "tags": [other]}).payload["tags"] == [other]


@pytest.mark.parametrize("span", [{"start": 1}, {"end": 1}, {"start": 3, "end": 3}, {"start": 1, "end": 2**53 - 1}])
def test_lines_count_from_one_and_both_ends_are_included(span: dict[str, int]) -> None:
    """A span may be one line, and either end may be omitted."""
    assert submission(source_span={"uri": "u", **span}).source_span == {"uri": "u", **span}


def test_a_span_does_not_end_before_it_starts() -> None:
    """If the start is after the end, the end is reported."""
    error = refusal(msgspec.json.encode(event(source_span={"uri": "u", "start": 4, "end": 3}, source_event_hash="x")))
    assert (error.code, error.reasons[0].pointer) == ("malformed", "/source_span/end")


@pytest.mark.parametrize("key", ["a", "0", "A" * 128, "a._:~-", "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10"])
def test_the_key_may_be_in_body_header_or_both(key: str) -> None:
    """The key is the same in the body, in the header or in both."""
    raw = msgspec.json.encode(event(idempotency_key=key))
    bare = msgspec.json.encode({name: value for name, value in event().items() if name != "idempotency_key"})
    assert read_draft(raw).idempotency_key == key
    assert read_draft(raw, key).idempotency_key == key
    assert read_draft(bare, key).idempotency_key == key


@pytest.mark.parametrize("first", [chr(point) for point in range(33, 127)])
def test_a_key_begins_with_a_letter_or_digit(first: str) -> None:
    """Of the visible ASCII characters only letters and digits may start a key."""
    raw = msgspec.json.encode(event(idempotency_key=first + "x"))
    if first in KEY_CHARACTERS:
        assert read_draft(raw).idempotency_key == first + "x"
    else:
        assert refusal(raw).code == "key-invalid"


@pytest.mark.parametrize("inner", [chr(point) for point in range(256)], ids=ascii)
def test_a_key_goes_on_with_letters_digits_and_five_signs(inner: str) -> None:
    """After the first character . _ : ~ - are also allowed, and nothing else."""
    raw = msgspec.json.encode(event(idempotency_key=f"x{inner}x"))
    if inner in KEY_CHARACTERS + "._:~-":
        assert read_draft(raw).idempotency_key == f"x{inner}x"
    else:
        assert refusal(raw).code == "key-invalid"


def test_a_key_has_at_most_128_characters() -> None:
    """The 129th character is one too many."""
    assert refusal(changed("/idempotency_key", "x" * 129)).code == "key-invalid"


@pytest.mark.parametrize("other", ["KEY", "key-2", "ke"])
def test_header_and_body_must_agree_to_the_letter(other: str) -> None:
    """Keys are case-sensitive, so header and body must agree exactly."""
    assert refusal(changed("/idempotency_key", "key"), other).code == "key-header-differs"


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ([], None),
        (["a"], "a"),
        ([" \ta-1\t "], "a-1"),
        (['"a"'], "a"),
        ([' "a:b~c" '], "a:b~c"),
        (['"' + "a" * 128 + '"'], "a" * 128),
    ],
)
def test_the_header_is_a_bare_key_or_a_quoted_string(lines: list[str], key: str | None) -> None:
    """A key is read with or without quotes; without a header line there is no key."""
    assert read_key_header(lines) == key


@pytest.mark.parametrize(
    "lines",
    [
        ["a", "a"],
        ["a", "b"],
        [""],
        ['""'],
        ['"'],
        ['"a'],
        ['a"'],
        ['""a""'],
        ['"a";p=1'],
        ["a;p=1"],
        ["a, b"],
        ['"a", "b"'],
        ['"a\\"b"'],
        ['"a b"'],
        ['" a"'],
        ["a\n"],
        ["'a'"],
        [":YQ==:"],
        ["\u00e9"],
        ["a" * 129],
        ["-a"],
    ],
    ids=ascii,
)
def test_any_other_header_is_an_invalid_key(lines: list[str]) -> None:
    """Two lines, parameters, lists, escapes and odd characters are refused."""
    with pytest.raises(RequestRefusedError) as caught:
        read_key_header(lines)
    assert caught.value.code == "key-invalid"


SPY = "spyspyspy"
SPIES: list[Any] = [
    SPY,
    f"{SPY} {SPY}",
    [SPY],
    {SPY: SPY},
    {"a": [SPY, None, 0.5]},
    f"at `$.{SPY}",
    f"x - at `$.{SPY}`",
    f"' - at `$.{SPY}` - at `$.payload.{SPY}",
    f"\u212a`$[0].{SPY}\n",
]
PLACES = sorted({row[0] for row in REFUSED} - {"/extra", "/payload/extra", "/source_span/line", "/version"})


SPIED = [
    (pointer, value)
    for pointer, value in itertools.product(PLACES, SPIES)
    if not (pointer == "/supersedes" and isinstance(value, str))
    and not (pointer in {"/idempotency_key", "/scope_id"} and value == SPY)
    and not (pointer == "/derived_from" and value == [SPY])
]


@pytest.mark.parametrize(("pointer", "value"), SPIED, ids=ascii)
def test_a_refusal_never_repeats_a_submitted_value(pointer: str, value: Any) -> None:
    """Neither messages nor pointers repeat submitted values, however they imitate the service's messages."""
    error = refusal(changed(pointer, value))
    named = [reason.pointer for reason in error.reasons if not str(reason.pointer).startswith(pointer)]
    told = str(error) + "".join(reason.message for reason in error.reasons) + "".join(map(str, named))
    assert SPY not in told
    assert named in ([], ["/source_event_hash"])


@given(st.sampled_from(["/submission_scope", "/visibility", "/observed_at", "/scope_id"]), st.text())
@example("/submission_scope", "at `$.payload.kind")
def test_any_wrong_text_is_refused_at_its_own_place(pointer: str, text: str) -> None:
    """A pointer leads to the wrong member, whatever text it holds."""
    error = refusal(changed(pointer, text + "\x00"))
    assert [(reason.code, reason.pointer) for reason in error.reasons] == [("malformed", pointer)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    ),
    st.sampled_from(PLACES),
)
def test_any_json_at_any_place_is_read_or_refused(value: Any, pointer: str) -> None:
    """Any value of any member is read or refused."""
    body = json.loads(changed("/scope_id", "apollo"))
    *parents, name = pointer[1:].split("/")
    (body[parents[0]] if parents else body)[name] = value
    codes = set()
    try:
        read_event(read_draft(json.dumps(body).encode()))
    except RequestRefusedError as error:
        codes = {reason.code for reason in error.reasons}
    assert codes <= {
        "key-invalid",
        "malformed",
        "out-of-profile",
        "unknown-member",
        "hash-missing",
        "hash-mismatch",
        "direct-write",
    }


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T01:30:00+01:30", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-01-01T00:00:00.1Z", 100_000),
        ("1970-01-01T00:00:00.0000019Z", 1),
        ("2026-11-20T10:00:00Z", 1_795_168_800_000_000),
        ("2026-11-20T10:00:00-23:59", 1_795_168_800_000_000 + 86_340_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000_000),
        ("2016-12-31T15:59:60.5-08:00", 1_483_228_799_500_000),
        ("0001-01-01T00:00:00+23:59", -62_135_596_800_000_000 - 86_340_000_000),
        ("9999-12-31T23:59:59-23:59", 253_402_300_799_000_000 + 86_340_000_000),
    ],
)
def test_times_are_read_to_the_microsecond(text: str, micros: int) -> None:
    """All notations of RFC 3339 are read as microseconds; a leap second counts as the one before."""
    assert parse_time(text) == micros
    assert submission(observed_at=text).observed_at == micros


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-20",
        "2026-11-20T10:00Z",
        "2026-11-20T10:00:00",
        "2026-11-20 10:00:00Z",
        "2026-11-20T10:00:00,5Z",
        "2026-11-20T10:00:00.Z",
        "2026-11-20T10:00:00Z ",
        "2026-11-20T10:00:00Z\n",
        "2026-11-20T10:00:00+0100",
        "2026-11-20T10:00:00+01",
        "2026-11-20T10:00:00+24:00",
        "2026-11-20T10:00:00+01:60",
        "2026-11-20T10:00:00\u221201:00",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T10:60:00Z",
        "2026-11-20T10:00:61Z",
        "0000-01-01T00:00:00Z",
        "20261120T100000Z",
        "2026-W47-5T10:00:00Z",
        "\u0662026-11-20T10:00:00Z",
        "+2026-11-20T10:00:00Z",
    ],
    ids=ascii,
)
def test_anything_else_is_no_time(text: str) -> None:
    """Missing offsets, impossible dates and other notations raise ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 -- the message does not matter
        parse_time(text)
    assert refusal(changed("/observed_at", text)).code == "malformed"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_beyond_all_years_in_utc_is_written_as_the_nearest(text: str, written: str) -> None:
    """An offset gives times before the year 1 and after the year 9999, which no text in UTC has."""
    assert format_time(parse_time(text)) == written


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_written_as_they_are_read(moment: datetime) -> None:
    """Writing and reading a time are inverse, always in UTC with six digits."""
    micros = (moment - EPOCH) // timedelta(microseconds=1)
    text = format_time(micros)
    assert parse_time(text) == micros
    assert len(text) == len("2026-11-20T10:00:00.000000Z")
    assert text.endswith("Z")


COMPARED: dict[str, Any] = {
    "payload": {"kind": "fact", "content": "another"},
    "submission_scope": "session",
    "scope_id": "gemini",
    "visibility": "shareable",
    "supersedes": "0198c7f2",
    "derived_from": ["m-1"],
}


@pytest.mark.parametrize("secret", [None, SECRET], ids=["plain", "keyed"])
@pytest.mark.parametrize("member", COMPARED)
def test_what_is_compared_under_a_key_changes_the_fingerprint(member: str, secret: bytes | None) -> None:
    """Hash, scope, scope id, visibility, supersedes and derived_from each change the fingerprint."""
    assert fingerprint(compared_bytes(submission(**{member: COMPARED[member]})), secret) != fingerprint(
        compared_bytes(submission()), secret
    )


@pytest.mark.parametrize("secret", [None, SECRET], ids=["plain", "keyed"])
def test_the_order_of_memories_it_was_derived_from_is_not_compared(secret: bytes | None) -> None:
    """The ids are compared as a set."""
    one, other = submission(derived_from=["m-1", "m-2"]), submission(derived_from=["m-2", "m-1", "m-1"])
    assert fingerprint(compared_bytes(one), secret) == fingerprint(compared_bytes(other), secret)


@pytest.mark.parametrize("secret", [None, SECRET], ids=["plain", "keyed"])
def test_what_is_not_compared_leaves_the_fingerprint(secret: bytes | None) -> None:
    """Time, key, producer and spelling of an event are not compared."""
    other = submission(
        observed_at="2026-11-20T10:00:00Z",
        idempotency_key="other",
        producer_identity="tool:watcher",
        payload={"content": "Run the migration before the deploy.\r\n", "kind": "PROCEDURE"},
        durable=False,
    )
    assert fingerprint(compared_bytes(other), secret) == fingerprint(compared_bytes(submission()), secret)


def test_members_do_not_run_into_each_other() -> None:
    """Moving characters from one compared member to the next changes the fingerprint."""
    first, second = submission(scope_id="a", supersedes="private"), submission(scope_id="a", visibility="private")
    assert compared_bytes(first) != compared_bytes(second)
    assert fingerprint(compared_bytes(first)) != fingerprint(compared_bytes(second))


def test_a_fingerprint_is_short_and_keyed_by_the_secret() -> None:
    """A fingerprint has sixteen bytes; with a secret it cannot be derived from the event alone."""
    data = compared_bytes(submission())
    assert fingerprint(data) == blake3(data).digest()[:16]
    assert fingerprint(data, SECRET) == blake3(data, key=SECRET).digest()[:16]
    assert fingerprint(data, SECRET) not in {fingerprint(data), fingerprint(data, bytes(32))}


def test_a_derived_key_depends_on_content_and_place_alone() -> None:
    """The same event in the same scope has the same key; another event or scope has another."""
    key = derived_key(submission())
    assert key == derived_key(submission(idempotency_key="x", observed_at="2026-11-20T10:00:00Z", supersedes="y"))
    others = [submission(content="other"), submission(submission_scope="session"), submission(scope_id="gemini")]
    assert len({key, *map(derived_key, others)}) == 4


@pytest.mark.parametrize(
    ("offset", "begins"),
    [
        (0, "2026-11-23T00:00:00Z"),
        (60, "2026-11-22T23:00:00Z"),
        (-720, "2026-11-22T12:00:00Z"),
        (840, "2026-11-23T10:00:00Z"),
    ],
)
def test_a_day_begins_where_the_reader_is(offset: int, begins: str) -> None:
    """The start of a day is midnight on the reader's clock, at most 24 hours before now."""
    assert start_of_day(parse_time("2026-11-23T11:30:00Z"), offset) == parse_time(begins)
    assert start_of_day(parse_time(begins), offset) == parse_time(begins)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-61, "2026-11-23"),
        (-60, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 d ago"),
        (7 * 86_400 - 1, "6 d ago"),
        (7 * 86_400, "2026-11-16"),
    ],
)
def test_an_age_has_one_unit_and_becomes_a_day(seconds: int, text: str) -> None:
    """A recent time is said by its age in the largest unit that fits, another one by its day."""
    now = parse_time("2026-11-23T12:00:00Z")
    assert format_age(now - seconds * 1_000_000, now) == text


def test_a_time_to_the_minute_names_its_zone() -> None:
    """A table shows a time to the minute, and that it is in UTC."""
    assert format_minute(parse_time("2026-11-23T12:34:56+01:00")) == "2026-11-23 11:34 UTC"

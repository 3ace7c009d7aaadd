"""Privacy rules: matches and non-matches of each rule, pointers of findings, and hostile texts."""

import base64
import hashlib
import json
import string
import uuid
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.access.secret_format import PREFIXES, mint
from antechamber.core.privacy import Finding, Gate
from support import GATE, RULES, gate_without, places_of

RULE_IDS = [rule.rule_id for rule in RULES]
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
GITHUB = "gh" + "p_" + "a" * 36
OTHER_GITHUB = "gh" + "p_" + "b" * 36
MAIL = "ada@" + "lovelace.dev"
CARD = "4111 1111 " + "1111 1111"
UUID = "26240490-8637-4856-9139-e2ec35ba2d48"
"""Version 4, and its first sixteen digits could be a card number."""
OWN = mint("producer", bytes(range(24)))
JOINT = "-" * 5

PRIVATE: dict[str, list[str]] = {
    "private-key-pem": [
        f"{JOINT}BEGIN PRIVATE KEY{JOINT}\nMIIE",
        f"{JOINT}BEGIN RSA PRIVATE KEY{JOINT}\nProc-Type: 4,ENCRYPTED",
        f"x{JOINT}BEGIN ENCRYPTED PRIVATE KEY{JOINT}\nMIIB",
        f"{JOINT}BEGIN PGP PRIVATE KEY BLOCK{JOINT}\n\nlQOYBGKk8xQBCADX",
        f"{JOINT}BEGIN OPENSSH PRIVATE KEY{JOINT}\\nb3BlbnNz",
    ],
    "private-key-putty": ["PuTTY-User-Key-File-" + "2: ssh-rsa", "PuTTY-User-Key-File-" + "3: ssh-ed25519"],
    "private-key-age": ["AGE-SECRET-" + "KEY-1" + "Q" * 58],
    "antechamber-token": [mint(kind, bytes(range(24))) for kind in PREFIXES] + [f"token={OWN}.", f"x{OWN}"],
    "aws-access-key": ["AK" + "IA" + BASE32[:16], "id: AS" + "IA" + BASE32[-16:]],
    "anthropic-key": ["sk-" + "ant-api03-" + "a" * 40],
    "azure-storage-key": ["Account" + "Key=" + "a" * 86 + "=="],
    "digitalocean-token": ["do" + f"{kind}_v1_" + "0a" * 32 for kind in "opr"],
    "github-token": ["gh" + f"{kind}_" + "a" * 36 for kind in "pousr"]
    + [f"\u00e9{GITHUB}", f"({GITHUB})", f"_{GITHUB}", f"x{GITHUB}"],
    "github-fine-grained-token": ["github" + "_pat_" + "a" * 22 + "_" + "b" * 59],
    "gitlab-token": ["gl" + f"{kind}-" + "a" * 20 for kind in ("pat", "dt", "rt", "ptt", "cbt", "ft", "soat")],
    "google-api-key": ["AI" + "za" + "SyB1-x8ZqWm" + "K2vYt7RcPd4LhG9fNs3Jue0k"],
    "google-oauth-secret": ["GOC" + "SPX-" + "a" * 28],
    "hashicorp-vault-token": ["hv" + f"{kind}." + "a" * 24 for kind in "sbr"],
    "huggingface-token": ["hf" + "_" + "kQzWvXbRjTnYpLsDf" + "GhMcAeUiOqZwXrTyB"],
    "json-web-token": [".".join(("ey" + "J" + "a" * 10, "ey" + "J" + "b" * 10, "c" * 10))],
    "npm-token": ["np" + "m_" + "a" * 36],
    "openai-key": [
        "sk-" + kind + "a" * 20 + "T3Blbk" + "FJ" + "b" * 20 for kind in ("", "proj-", "svcacct-", "admin-")
    ],
    "pypi-token": ["py" + "pi-AgE" + "a" * 50],
    "sendgrid-key": ["S" + "G." + "a" * 22 + "." + "b" * 43],
    "slack-token": ["xo" + f"x{kind}-" + "1" * 10 for kind in "abeoprs"],
    "slack-webhook": ["https://hooks.slack" + ".com/services/T" + "0" * 8 + "/B" + "0" * 8 + "/" + "a" * 20],
    "stripe-key": ["sk" + "_live_" + "a" * 16, "rk" + "_live_" + "a" * 16],
    "telegram-bot-token": ["12345678:" + "AA" + "a" * 33],
    "twilio-key": ["S" + "K" + "0a" * 16],
    "url-password": [
        "postgres://app:" + "Tr0ub4dor" + "@db/orders",
        "https://app:" + "Tr0ub4dor" + "@shop.example.dev/",
        "see amqp://a:" + "%24ecret" + "@mq:5672.",
        "ftp://u:" + "hunter2" + "@h",
    ],
    "email-address": [
        MAIL,
        f"<{MAIL}>",
        "Ask ADA+deploy@" + "Lovelace.DEV.",
        "j\u00f6rg@" + "m\u00fcnchen.de",
        "a@" + "xn--mnchen-3ya.de",
        "a@" + "example.com.evil.dev",
        "a@" + "notexample.com",
        "ops@example.com and " + MAIL,
        "noreply@example.com\nx@" + "y.museum",
    ],
    "payment-card": [
        f"{UUID} {CARD}",
        CARD,
        CARD.replace(" ", ""),
        CARD.replace(" ", "-"),
        "card:" + CARD + ".",
        f"{CARD} 12 29",
        f"1234 {CARD}",
        "5555" + "555555554444",
        "2223" + "003122003222",
        "3782 " + "822463 " + "10005",
        "3056 " + "930902 " + "5904",
        "6011" + "111111111117",
        "6500" + "000000000002",
        "3530" + "111333300000",
        "6200" + "000000000005",
        "4222 " + "2222 2" + "2222",
    ],
    "iban": [
        "DE89 3704 0044 " + "0532 0130 00",
        "DE89-3704-0044-" + "0532-0130-00",
        "de8937040044" + "0532013000",
        "GB82 WEST 1234 " + "5698 7654 32",
        "NO93 8601 " + "1117 947",
        "IBAN:FR14 2004 1010 0505 " + "0001 3M02 606 is ours",
        "DE00 DE89 3704 0044 " + "0532 0130 00",
    ],
}
HARMLESS: dict[str, list[str]] = {
    "private-key-pem": [
        f"{JOINT}BEGIN PUBLIC KEY{JOINT}\nMIIB",
        f"{JOINT}BEGIN CERTIFICATE{JOINT}\nMIIB",
        "BEGIN PRIVATE KEY",
        f"The file begins with {JOINT}BEGIN PRIVATE KEY{JOINT} in the first line.",
        f"{JOINT}BEGIN PRIVATE KEY{JOINT}\n...\n{JOINT}END PRIVATE KEY{JOINT}",
    ],
    "private-key-putty": ["PuTTY-User-Key-File-1:", "PuTTY-User-Key-File"],
    "private-key-age": ["AGE-SECRET-" + "KEY-1" + "Q" * 57, "AGE-SECRET-" + "KEY-1" + "B" * 58],
    "antechamber-token": [OWN[:-1] + ("a" if OWN[-1] != "a" else "b"), "antp_" + "a" * 36, OWN[:-1]],
    "aws-access-key": ["AK" + "IA" + "0" * 16, "AK" + "IA" + "A" * 15, "XAK" + "IA" + "A" * 16],
    "anthropic-key": ["sk-" + "ant-api03-short"],
    "azure-storage-key": ["Account" + "Key=" + "a" * 85 + "==", "AccountKey=UseDevelopmentStorage"],
    "digitalocean-token": ["do" + "p_v1_" + "0" * 63, "do" + "x_v1_" + "0" * 64],
    "github-token": ["gh" + "p_" + "a" * 35, "gh" + "x_" + "a" * 36],
    "github-fine-grained-token": ["github" + "_pat_" + "a" * 22 + "_" + "b" * 58],
    "gitlab-token": ["gl" + "pat-" + "a" * 19, "gl" + "xyz-" + "a" * 20],
    "google-api-key": ["AI" + "za" + "a" * 34],
    "google-oauth-secret": ["GOC" + "SPX-" + "a" * 27],
    "hashicorp-vault-token": ["hv" + "s." + "a" * 23],
    "huggingface-token": ["hf" + "_" + "a" * 33, "hf" + "_hub_download_and_load_the_weights_of"],
    "json-web-token": [".".join(("ey" + "J" + "a" * 10, "ab" + "c" * 10, "c" * 10))],
    "npm-token": ["np" + "m_" + "a" * 35, "np" + "m_config_registry"],
    "openai-key": ["sk-" + "a" * 48, "sk-" + "a" * 19 + "T3Blbk" + "FJ" + "b" * 19],
    "pypi-token": ["py" + "pi-AgE" + "a" * 49],
    "sendgrid-key": ["S" + "G." + "a" * 22 + "." + "b" * 42],
    "slack-token": ["xo" + "xb-" + "1" * 9, "xo" + "xz-" + "1" * 10],
    "slack-webhook": ["https://hooks.slack" + ".com/services/", "https://api.slack" + ".com/services/T/B/x"],
    "stripe-key": ["sk" + "_test_" + "a" * 16, "sk" + "_live_" + "a" * 15],
    "telegram-bot-token": ["12345678:" + "AB" + "a" * 33, "1234567:" + "AA" + "a" * 33],
    "twilio-key": ["S" + "K" + "0A" * 16, "S" + "K" + "0" * 31],
    "url-password": [
        "https://shop.dev/a:b@c",
        "https://user@shop",
        "postgres://user:password@db/orders",
        "postgres://user:${PASSWORD}@db/orders",
        "postgres://user:$PASSWORD@db/orders",
        "postgres://user:<password>@db",
        "postgres://user:{{password}}@db",
        "postgres://user:%s@db",
        "postgres://user:****@db",
        "postgres://user:xxXX@db",
        "postgres://app:" + "Tr0ub4dor" + "@localhost:5432/orders",
        "postgres://app:" + "Tr0ub4dor" + "@db.example.com/orders",
        "postgres://app:" + "Tr0ub4dor" + "@DB.Example.COM/orders",
        "Use postgres://app:" + "Tr0ub4dor" + "@db.example.com.",
    ],
    "email-address": [
        "ops@example.com",
        "OPS@EXAMPLE.ORG",
        "ops@mail.example.net.",
        "ops@shop.example",
        "ops@shop.test",
        "ops@shop.invalid",
        "ops@app.localhost",
        "ops@printer.local",
        "ops@localhost",
        "git@github.com:acme/shop",
        "no-reply@acme.dev",
        "npm i @types/node@20.1.2",
        "pkg@1.2.3",
        "@decorator.name",
    ],
    "payment-card": [
        "4111 1111 " + "1111 1112",
        "4111 1111 " + "1111 111",
        "1234567890123456",
        "0000 0000 0000 0000",
        "4444444444444444",
        "9999" + "999999999995",
        "1795168800000000",
        "0." + CARD.replace(" ", ""),
        "a" + CARD.replace(" ", ""),
        CARD.replace(" ", "") + "a",
        "5555" + "55555555" + "555",
        UUID,
        UUID.upper(),
        f"job:{UUID}:2, before 019b0000-0000-7000-8000-000000000000",
    ],
    "iban": [
        "DE88 3704 0044 " + "0532 0130 00",
        "DE89 3704 0044 " + "0532 0130",
        "ZZ89 3704 0044 " + "0532 0130 00",
        "xDE8937040044" + "0532013000",
        "US12 3456 7890 1234 5678",
        "AB12CD34EF56AB12CD34EF56",
    ],
}


scan, is_clean = GATE.scan, GATE.is_clean


def found(text: str, gate: Gate = GATE) -> set[str]:
    """Return the rules with a finding in a text."""
    return {finding.rule_id for finding in gate.scan({"/payload/content": text})}


def rows(examples: dict[str, list[str]]) -> list[Any]:
    """Return one test case per example, with an id that omits the private value."""
    return [
        pytest.param(rule, text, id=f"{rule}-{number}")
        for rule, texts in examples.items()
        for number, text in enumerate(texts)
    ]


def test_every_rule_has_examples() -> None:
    """Every rule has an example that it finds and one that it does not, here or in its file."""
    assert set(PRIVATE) == set(HARMLESS) <= set(RULE_IDS)
    assert all(rule.hit and rule.miss for rule in RULES)
    assert all([*PRIVATE.values(), *HARMLESS.values()])


def test_rules_have_ids_of_their_own() -> None:
    """Rule ids are unique, and each id and title is fit for display."""
    assert len(set(RULE_IDS)) == len(RULE_IDS)
    assert all(set(rule_id) <= set(string.ascii_lowercase + string.digits + "-") for rule_id in RULE_IDS)
    assert len({rule.title for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("rule", "text"), rows(PRIVATE))
def test_a_rule_finds_its_examples(rule: str, text: str) -> None:
    """Each private example is found by its rule, alone and within other text."""
    assert rule in found(text)
    assert rule in found(f"Before the deploy, see: {text}\nand then go on.")


@pytest.mark.parametrize(("rule", "text"), rows(HARMLESS))
def test_a_rule_leaves_its_counterexamples(rule: str, text: str) -> None:
    """Each harmless example passes its rule, alone and within other text."""
    assert rule not in found(text)
    assert rule not in found(f"Before the deploy, see: {text}\nand then go on.")


@pytest.mark.parametrize("rule", list(PRIVATE))
def test_a_rule_that_is_off_stays_silent(rule: str) -> None:
    """Disabling a rule silences that rule and no other; a general rule may then find the same value."""
    text = f"{PRIVATE[rule][0]} {MAIL if rule != 'email-address' else CARD}"
    assert rule in found(text)
    general = {one.rule_id for one in GATE.rules if one.general}
    assert found(text, gate_without(rule)) - general == found(text) - general - {rule}


def test_an_ordinary_event_has_no_findings() -> None:
    """Ordinary texts, numbers, names and booleans pass."""
    payload = {
        "kind": "procedure",
        "content": "Run the migration before the deploy; it takes 12,5 minutes (see §3).",
        "tags": ["deploy", "v1.2.3"],
        "attributes": {"severity": 2, "at": 1_795_168_800_000_000, "ok": True, "nothing": None, "rev": "9f1c2ab" * 5},
    }
    assert scan({"/payload": payload, "/source_span": {"uri": "repo://apollo/RUNBOOK.md"}, "/supersedes": None}) == []


def test_findings_point_to_where_the_value_stands() -> None:
    """Pointers lead to strings in objects and arrays, are sorted, and occur once per rule."""
    payload = {
        "content": f"{MAIL} and {MAIL} and {GITHUB}",
        "tags": ["a", MAIL],
        "attributes": {"deep": [{"x": [None, MAIL]}]},
    }
    assert scan({"/payload": payload, "/scope_id": MAIL, "/supersedes": GITHUB}) == [
        Finding("/payload/attributes/deep/0/x/1", "email-address", "reject", 0, len(MAIL)),
        Finding("/payload/content", "email-address", "reject", 0, len(MAIL)),
        Finding("/payload/content", "email-address", "reject", len(MAIL) + 5, 2 * len(MAIL) + 5),
        Finding("/payload/content", "github-token", "reject", 2 * len(MAIL) + 10, 2 * len(MAIL) + 10 + len(GITHUB)),
        Finding("/payload/tags/1", "email-address", "reject", 0, len(MAIL)),
        Finding("/scope_id", "email-address", "reject", 0, len(MAIL)),
        Finding("/supersedes", "github-token", "reject", 0, len(GITHUB)),
    ]


def test_of_a_private_name_the_parent_is_named() -> None:
    """A private member name is reported by the pointer of its parent."""
    assert scan({"/payload": {"attributes": {"a": {GITHUB: 1}}}}) == [Finding("/payload/attributes/a", "github-token")]


@pytest.mark.parametrize(
    "below", [OTHER_GITHUB, [OTHER_GITHUB], {"x": [MAIL]}, {OTHER_GITHUB: MAIL}], ids=["value", "array", "deep", "name"]
)
def test_no_pointer_leads_through_a_private_name(below: Any) -> None:
    """Findings below a private name are reported without that name."""
    findings = scan({"/payload": {"attributes": {"note": MAIL, GITHUB: below}}})
    assert Finding("/payload/attributes", "github-token") in findings
    assert ("/payload/attributes/note", "email-address") in places_of(findings)
    assert all(GITHUB not in finding.pointer and OTHER_GITHUB not in finding.pointer for finding in findings)


def test_pointers_of_odd_names_are_escaped() -> None:
    """A slash or tilde in a name is escaped in the pointer."""
    assert scan({"": {"a/b~c": MAIL}}) == [Finding("/a~1b~0c", "email-address", "reject", 0, len(MAIL))]


@given(st.uuids())
def test_no_uuid_looks_private(value: uuid.UUID) -> None:
    """Keys are best random UUIDs, and none is refused for its digits."""
    assert found(str(value)) == set()


def test_integers_are_scanned_and_truth_values_are_not() -> None:
    """A card number is found as an integer with either sign; booleans are not scanned."""
    number = int(CARD.replace(" ", ""))
    assert scan({"/a": {"b": [number, -number, number + 1, True, False, None]}}) == [
        Finding("/a/b/0", "payment-card", "reject", 0, 16),
        Finding("/a/b/1", "payment-card", "reject", 1, 17),
    ]


def test_only_tokens_are_joined_across_members() -> None:
    """The halves of a token in two neighboring members are found, each in its place; those of a number are not."""
    token = "gh" + "p_" + "a1" * 18
    assert scan({"/a": ["word", token[:20], token[20:], "other"], "/b": [CARD[:10], CARD[10:]]}) == [
        Finding("/a/1", "github-token", "reject", 0, 20, ("split",)),
        Finding("/a/2", "github-token", "reject", 0, 20, ("split",)),
    ]


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from([MAIL, GITHUB]))
def test_any_surroundings_with_a_border_do_not_hide_a_value(before: str, after: str, value: str) -> None:
    """A value between blanks is found in any surrounding text."""
    assert found(f"{before} {value} {after}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_any_value_can_be_scanned(value: Any) -> None:
    """For any value the findings are sorted, unique and of known rules."""
    findings = scan({"/a": value})
    assert findings == sorted(set(findings))
    assert {finding.rule_id for finding in findings} <= set(RULE_IDS)


SIZE = 65_536
HOSTILE = {
    "a@": set(),
    "a": set(),
    "4 ": set(),
    "4-": set(),
    "4": set(),
    "de89": set(),
    "DE89 ": set(),
    "a@b.": set(),
    "a://b:": set(),
    "a://b:xxx@c ": set(),
    "ops@example.com ": set(),
    "sk-": set(),
    "-----BEGIN A ": set(),
    "eyJ" + "a" * 20: set(),
    "eyJ" + "a" * 20 + ".": {"json-web-token"},
    "\u00e9": set(),
    "\U0001f600": set(),
    "\x00": {"hidden-character"},
    "\n": set(),
    "4111 1111 " + "1111 1112 ": set(),
    "DE88 3704 0044 " + "0532 0130 00 ": set(),
    f"{CARD} ": {"payment-card"},
    f"{MAIL} ": {"email-address"},
    f"{GITHUB} ": {"github-token"},
}


@pytest.mark.parametrize(("unit", "rules"), HOSTILE.items(), ids=[str(number) for number in range(len(HOSTILE))])
def test_hostile_texts_are_judged_like_others(unit: str, rules: set[str]) -> None:
    """The longest texts that slow a scan down are judged correctly, also with a value at their end."""
    text = (unit * (SIZE // len(unit) + 1))[:SIZE]
    assert found(text) == rules
    assert found(f"{text}\n{GITHUB}") == rules | {"github-token"}


def test_a_value_behind_many_near_misses_is_found() -> None:
    """Thousands of failed checks do not hide the one that succeeds."""
    misses = "4111 1111 " + "1111 1112 ops@example.com DE88 3704 0044 " + "0532 0130 00; "
    iban = PRIVATE["iban"][0]
    text = misses * 800 + f"{CARD}; {MAIL}; {iban}"
    assert found(text) == {"payment-card", "email-address", "iban"}


@pytest.mark.parametrize(
    ("rule_id", "text"), [(rule_id, text) for rule_id, texts in PRIVATE.items() for text in texts], ids=ascii
)
@pytest.mark.parametrize("location", ["content", "tag", "name", "deep", "uri", "other"])
def test_the_quick_look_is_never_blind(rule_id: str, text: str, location: str) -> None:
    """The quick look asks for a scan whenever `scan` has a finding."""
    payload: dict[str, Any] = {"kind": "fact", "content": "Harmless."}
    span, other = {"uri": "repo://apollo/RUNBOOK.md"}, None
    match location:
        case "content":
            payload["content"] = f"Before {text}"
        case "tag":
            payload["tags"] = [text]
        case "name":
            payload["attributes"] = {text: 1}
        case "deep":
            payload["attributes"] = {"a": [1, {"b": text}], "z": 7}
        case "uri":
            span["uri"] = text
        case _:
            other = text
    values = {"/payload": payload, "/source_span": span, "/supersedes": other}
    assert rule_id in {finding.rule_id for finding in scan(values)}
    assert not is_clean(values)


SECRETS = [text for texts in PRIVATE.values() for text in texts]
FORMS: list[Callable[[str], str]] = [
    str,
    quote,
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: text.encode().hex(" "),
    lambda text: json.dumps(json.dumps(text)),
    "\u200b".join,
    lambda text: f"{text[: len(text) // 2]}\n{text[len(text) // 2 :]}",
]


@given(
    st.dictionaries(st.text(max_size=6), st.text(max_size=40) | st.integers(-(10**18), 10**18), max_size=4),
    st.sampled_from([*SECRETS, "4111111111111111", ""]),
    st.sampled_from(FORMS),
    st.text(max_size=10),
    st.sampled_from(["", "a\n", "\t", '"', "\\", "\\n", "\0", "\x1b", '\\"', "Deploy it before noon. " * 90]),
)
def test_what_the_quick_look_calls_clean_is_clean(
    members: dict[str, Any], secret: str, form: Callable[[str], str], around: str, escaped: str
) -> None:
    """For random texts and numbers around private values in any form, no scan finds anything in a clean event."""
    payload = {"content": around + escaped + form(secret) + escaped + around[::-1], "attributes": members, **members}
    number = {"start": 4111111111111111} if len(around) % 2 else {}
    values = {"/payload": payload, "/source_span": number}
    assert not (is_clean(values) and GATE.find_private(values))


@given(st.sampled_from(SECRETS), st.lists(st.integers(1, 60), min_size=1, max_size=4), st.booleans())
def test_no_divided_secret_is_called_clean(secret: str, cuts: list[int], first: bool) -> None:  # noqa: FBT001
    """A secret that is divided among neighbors, the key and the scope included, is found or not by both looks."""
    places = [0, *sorted({cut for cut in cuts if cut < len(secret)}), len(secret)]
    pieces = [secret[start:end] for start, end in pairwise(places)]
    values: dict[str, Any] = {"/idempotency_key": "key-1", "/scope_id": "apollo", "/payload": {"content": "Run it."}}
    if first:
        values.update(zip(values, pieces, strict=False))
    else:
        values["/payload"] = {"content": "Run it.", "tags": pieces}
    assert not (is_clean(values) and GATE.find_private(values))


@pytest.mark.parametrize("content", ["Run it before the deploy.", "**Cloudflare account**: Workers are enabled."])
@pytest.mark.parametrize("scope", ["HARBOR/crane", "Quay9/crane", "cloudflare/workers-sdk", "acme-payments-service"])
def test_a_key_and_the_scope_after_it_are_no_token(scope: str, content: str) -> None:
    """A key with a prefix gives the form of a random token together with a scope, or of the key of a service."""
    for number in range(60):
        digest = hashlib.sha256(bytes([number])).hexdigest()
        for key in (f"ge-{digest[:40]}", f"run-{digest[:18]}"):
            values = {"/idempotency_key": key, "/scope_id": scope, "/payload": {"content": content}}
            assert GATE.find_private(values) == [], key


@pytest.mark.parametrize("content", ['Run it,\n\tthen "wait".', "a\\b", "\x1b[0m", "caf\u00e9", "orders-2 and 3"])
def test_an_ordinary_text_is_called_clean(content: str) -> None:
    """The quick look spares ordinary texts the full scan, with unusual characters too."""
    assert is_clean({"/payload": {"kind": "fact", "content": content}, "/source_span": {"uri": "u", "end": 14}})


def test_a_mask_beside_a_token_does_not_hide_it() -> None:
    """A mask in the place of a token is harmless; a mask, a placeholder or a long row that a token follows is not."""
    token = "qT7Zk2mXw9" + "Ltr4Vb8PcdYh5GnQ"
    assert found("sk-proj-" + "x" * 24) == set()
    assert found("sk-proj-your-key-here") == set()
    for text in (f"{token}{'x' * 8}", f"your-{token}", f"{token}-here", f"{'x' * 24}{token}"):
        assert "openai-project-key" in found(f"Use sk-proj-{text} now."), text


@pytest.mark.parametrize("write", [str.lower, str.capitalize, str.title, str.upper])
def test_a_context_word_of_another_script_counts_at_the_beginning_of_a_sentence(write: Callable[[str], str]) -> None:
    """Beyond ASCII the first look knows only the forms that it is given, so that each usual one is given."""
    found = GATE.find_private({"": write("единен граждански номер") + ": 70100" + "22083"})
    assert "bg-egn" in {finding.rule_id for finding in found}

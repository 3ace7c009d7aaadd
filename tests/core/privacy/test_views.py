"""Views: a token is found in every disguise, and each finding leads back to the original text."""

import base64
import gzip
import quopri
import re
import zlib
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.forms import spaced_values
from antechamber.core.privacy.forms.decoders import find_compositions, find_escapes
from antechamber.core.privacy.forms.folding import fold, fold_sign, is_plain, plain_punctuation
from antechamber.core.privacy.forms.joints import find_joints
from antechamber.core.privacy.forms.runs import find_runs
from antechamber.core.privacy.forms.spaced_values import find_spaced
from antechamber.core.privacy.forms.view import Chains, View, apply
from antechamber.core.privacy.forms.views import MAX_LEVELS, all_views
from support import GATE

TOKEN = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
BASE64 = base64.b64encode(TOKEN.encode()).decode()


def base58(text: str, checksum: bytes = b"") -> str:
    """Return a text in base58, as addresses of Bitcoin are written."""
    number, signs = int.from_bytes(text.encode() + checksum, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        signs = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[rest] + signs
    return signs


LONG = "Deploy the service before noon and check its health twice. " * 60


def percent(text: str) -> str:
    """Return a text with a percent escape for each byte."""
    return "".join(f"%{byte:02X}" for byte in text.encode())


DISGUISES = {
    "base64": BASE64,
    "base64url": base64.urlsafe_b64encode(f"user?{TOKEN}>>>".encode()).decode(),
    "base64 without padding": BASE64.rstrip("="),
    "base64 after a path": f"/v1/{BASE64}",
    "base64 of UTF-16": base64.b64encode(TOKEN.encode("utf-16-le")).decode(),
    "base64 twice": base64.b64encode(BASE64.encode()).decode(),
    "base64 of UTF-16 with its byte order": base64.b64encode(TOKEN.encode("utf-16")).decode(),
    "base64 of gzip": base64.b64encode(gzip.compress(TOKEN.encode(), mtime=0)).decode(),
    "base64 of zlib": base64.b64encode(zlib.compress(f"token={TOKEN}".encode())).decode(),
    "base64 in groups": " ".join(BASE64[place : place + 4] for place in range(0, len(BASE64), 4)),
    "base64 of percent": base64.b64encode(percent(TOKEN).encode()).decode(),
    "wrapped base64": BASE64[:40] + "\n" + BASE64[40:],
    "hex": TOKEN.encode().hex(),
    "hex of capitals": TOKEN.encode().hex().upper(),
    "bytea of PostgreSQL": rf"'\x{TOKEN.encode().hex()}'",
    "string of C in hexadecimal": ", ".join(f"0x{byte:02x}" for byte in TOKEN.encode() + bytes(1)),
    "hex with an erased end": (TOKEN.encode() + b"\xff\xff").hex(),
    "hex in pairs": TOKEN.encode().hex(" "),
    "hex with colons": TOKEN.encode().hex(":"),
    "hex in groups": " ".join(TOKEN.encode().hex()[place : place + 4] for place in range(0, 2 * len(TOKEN), 4)),
    "percent": percent(TOKEN),
    "percent u": "".join(f"%u{ord(sign):04x}" for sign in TOKEN),
    "percent twice": quote(percent(TOKEN), safe=""),
    "one percent": TOKEN.replace("_", "%5F"),
    "backslash u": "".join(f"\\u{ord(sign):04x}" for sign in TOKEN),
    "backslash u with braces": "".join(f"\\u{{{ord(sign):x}}}" for sign in TOKEN),
    "backslash x": "".join(f"\\x{ord(sign):02x}" for sign in TOKEN),
    "backslash x with braces": "".join(f"\\x{{{ord(sign):x}}}" for sign in TOKEN),
    "octal": "".join(f"\\{ord(sign):03o}" for sign in TOKEN),
    "decimal entities": "".join(f"&#{ord(sign)};" for sign in TOKEN),
    "hexadecimal entities": "".join(f"&#x{ord(sign):x};" for sign in TOKEN),
    "named entity": TOKEN.replace("_", "&lowbar;"),
    "quoted-printable": "".join(f"={ord(sign):02X}" for sign in TOKEN),
    "quoted-printable before digits": "".join(
        f"={ord(sign):02X}" if place % 3 == 0 else sign for place, sign in enumerate(TOKEN.replace("E", "9"))
    ),
    "Markdown": TOKEN.replace("_", "\\_"),
    "colors": "\x1b[32m" + TOKEN[:9] + "\x1b[1;31m" + TOKEN[9:] + "\x1b[0m",
    "struck through": "".join(f"{sign}\u0336" for sign in TOKEN),
    "one quoted-printable": TOKEN.replace("_", "=5F"),
    "one quoted-printable digit": TOKEN.replace("p", "=70"),
    "quoted-printable line": quopri.encodestring(f"{'word ' * 8}{TOKEN}{' word' * 8}".encode()).decode(),
    "full width": "".join(chr(ord(sign) + 0xFEE0) if sign.isalnum() else sign for sign in TOKEN),
    "look-alikes": TOKEN.replace("p", "\u0440").replace("a", "\u0430"),
    "zero width": "\u200b".join(TOKEN),
    "soft hyphens": TOKEN.replace("_", "_\u00ad"),
    "controls": TOKEN.replace("_", "\x01_"),
    "tag characters": "".join(chr(0xE0000 + ord(sign)) for sign in TOKEN),
    "variation selectors": "n" + "".join(chr(0xE0100 + ord(sign) - 16) for sign in TOKEN),
    "selectors of the supplement": "n" + "".join(chr(0xE0100 + ord(sign)) for sign in TOKEN),
    "hexadecimal array": ", ".join(f"0x{ord(sign):02x}" for sign in TOKEN),
    "codes": ", ".join(str(ord(sign)) for sign in TOKEN),
    "codes in octal": " ".join(f"{ord(sign):03o}" for sign in TOKEN),
    "codes in binary": " ".join(f"{ord(sign):08b}" for sign in TOKEN),
    "codes in calls": " + ".join(f"chr({ord(sign)})" for sign in TOKEN),
    "codes of Unicode": " ".join(f"U+{ord(sign):04X}" for sign in TOKEN),
    "base32 in small letters": base64.b32encode(TOKEN.encode()).decode().lower(),
    "base32": base64.b32encode(TOKEN.encode()).decode(),
    "base64 backwards": BASE64[::-1],
    "base58": base58(TOKEN),
    "base58 with a checksum": base58(TOKEN, b"\xa1\xb2\xc3\xd4"),
    "a dump of a debugger": "\n"
    + "\n".join(
        f"0x7ffe{at:04x}:\t" + "\t".join(f"0x{ord(sign):02x}" for sign in TOKEN[at : at + 8])
        for at in range(0, len(TOKEN), 8)
    )
    + "\n",
    "a dump with control signs": "\n00000000  00 02 "
    + " ".join(f"{ord(sign):02x}" for sign in TOKEN[:14])
    + "  |..|\n"
    + "00000010  "
    + " ".join(f"{ord(sign):02x}" for sign in TOKEN[14:30])
    + "  |..|\n"
    + "00000020  "
    + " ".join(f"{ord(sign):02x}" for sign in TOKEN[30:])
    + "  |..|\n",
    "lines of a list": "".join(f'  - "{TOKEN[at : at + 10]}"\n' for at in range(0, len(TOKEN), 10)),
    "comments": "".join(f"// {TOKEN[at : at + 10]}\n" for at in range(0, len(TOKEN), 10)),
    "widely spaced": "  ".join(TOKEN),
    "wrapped": f"{TOKEN[:20]}\n{TOKEN[20:]}",
    "wrapped with indentation": f"{TOKEN[:20]}\\\n    {TOKEN[20:]}",
    "spaced": " ".join(TOKEN),
    "concatenated": f'"{TOKEN[:20]}" + "{TOKEN[20:]}"',
    "concatenated over lines": f"'{TOKEN[:20]}' +\n  '{TOKEN[20:]}'",
    "a comment": f"{TOKEN[:20]}<!-- -->{TOKEN[20:]}",
    "elements": f"{TOKEN[:20]}<b></b>{TOKEN[20:]}",
    "an open element": f"{TOKEN[:20]}<wbr>{TOKEN[20:]}",
    "bold": f"{TOKEN[:20]}**{TOKEN[20:]}",
    "quoted-printable with a line end": "".join(f"={ord(sign):02X}" for sign in f"a\n{TOKEN}\x1b \x7f"),
    "groups of two": " ".join(TOKEN[place : place + 2] for place in range(0, len(TOKEN), 2)),
    "groups of four": "-".join(TOKEN[place : place + 4] for place in range(0, len(TOKEN), 4)),
    "groups of eight": " / ".join(TOKEN[place : place + 8] for place in range(0, len(TOKEN), 8)),
    "groups after words of their length": "this that with " + " ".join(re.findall(".{4}", TOKEN)) + " and more",
    "signs with hyphens": "-".join(TOKEN),
    "signs with commas": ", ".join(TOKEN),
    "a sign on each line": "\n".join(TOKEN),
    "halves in a sentence": f"{TOKEN[:20]} is the first half, and {TOKEN[20:]} the other",
    "halves the other way round": f"{TOKEN[20:]} is the second half, and {TOKEN[:20]} the first",
    "the beginning apart": f"{TOKEN[:4]} and then {TOKEN[4:]}",
    "pieces in variables": f'a = "{TOKEN[:14]}"\nb = "{TOKEN[14:27]}"\nc = "{TOKEN[27:]}"\ntoken = a + b + c',
    "pieces in cells": f"| {TOKEN[:14]} | {TOKEN[14:27]} | {TOKEN[27:]} |",
    "pieces in numbered lines": f"1. {TOKEN[:12]}\n2. {TOKEN[12:24]}\n3. {TOKEN[24:36]}\n4. {TOKEN[36:]}",
    "listed": f'["{TOKEN[:20]}", "{TOKEN[20:]}"]',
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
@pytest.mark.parametrize("around", ["", LONG], ids=["short", "long"])
def test_a_token_is_found_in_every_disguise(disguise: str, around: str) -> None:
    """A disguised token is found, and its span in the original text covers the disguise and not the text around."""
    text = f"{around}(; {disguise} ;){around}"
    found = [one for one in GATE.scan({"/payload/content": text}) if one.rule_id.startswith("github")]
    assert found
    assert all(one.decoded for one in found)
    start, end = len(around) + 2, len(text) - len(around) - 2
    assert all(start <= one.start < one.end <= end for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.com/a%20b?c=10&d=20 and C:\\new\\table.",
        "x = y\nname = value\nUse `a` or `b`.",
        "d2VsY29tZQ",
        "0123456789abcdef0123456789abcdef01234567",
        "The \u201cquoted\u201d word \u2014 and an \U0001f600.",
        "a b c d e f g",
        "import os\nfrom sk_utils import sk_ASN1_new, UTF8_MODE\nghp_ = sha256sum(x86_64, ed25519)",
        "The prefix is ghp_ and then 36 letters and digits follow, as in RFC7519 and SHA256.",
        "They both said that this will have been some sort of mess; it was fun for all of us 24 7.",
        "10 20 30 40 50 60 70 80 90 11 21 31 41 51 61 71 and 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 300",
        "01010101 11111111 00000000 10000000 01010101 11111111 00000000 10000000 01010101",
        "eJx4eJx4eJx4eJx4eJx4eJx4 and H4sIAAAAAAAAAAAAAAAAAAAA",
        "PREFIXES = ['glpat-', 'xoxb-', 'sk-', 'sk-ant-', 'sk-proj-', 'sk_live_', 'AKIA', 'AIza', 'SG.', 'dop_v1_']",
        "retry?a=10&b=20&c=30&d=40&e=250 and x=1A,y=2B,z=3C,w=4D",
        "=3D =ZZ &nosuchentity; \\q \\u12 %zz =FF",
    ],
)
def test_ordinary_texts_have_no_finding(text: str) -> None:
    """Escapes, digests, quotation marks and short words of ordinary texts are no findings."""
    assert [one for one in GATE.scan({"/payload/content": text}) if one.is_private] == []


def test_a_text_that_is_encoded_too_deeply_cannot_be_verified() -> None:
    """A fourth level is a finding that quarantines, never a clean text."""
    text = TOKEN
    for _ in range(MAX_LEVELS):
        text = base64.b64encode(text.encode()).decode()
    assert "github-token" in {one.rule_id for one in GATE.scan({"": text})}
    deeper = GATE.scan({"": base64.b64encode(text.encode()).decode()})
    assert [(one.rule_id, one.action) for one in deeper] == [("too-many-look-alikes", "quarantine")]


def test_too_many_edits_cannot_be_verified() -> None:
    """A text with thousands of separate escapes is not decoded."""
    with pytest.raises(EffortSpentError):
        list(all_views(View("&amp; " * 5_001), Effort()))


def is_of_rows(view: View | None) -> bool:
    """Return whether a view has rows of pieces, of which several have the same piece."""
    return view is not None and (isinstance(view, Chains) or is_of_rows(view._parent))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "word",
                "%41",
                "\\u0062",
                "&#99;",
                "d2VsY29tZSB0byB0aGUgZ2F0ZQ==",
                "\u0430",
                "\u200b",
                '" + "',
                "\n",
                " ",
                "=5F",
                "ab3 ",
                "66,",
            ]
        ),
        max_size=24,
    )
)
def test_every_span_of_a_view_leads_to_a_span_of_the_text(pieces: list[str]) -> None:
    """Spans stay within the text, keep their order, and unchanged text keeps its characters."""
    text = "".join(pieces)
    try:
        views = list(all_views(View(text), Effort()))
    except EffortSpentError:
        return
    for view in views:
        spots = [view.locate(place, place + 1) for place in range(len(view.text))]
        assert all(0 <= spot.start < spot.end <= len(text) for spot in spots)
        if is_of_rows(view):
            continue
        assert all(one.start <= other.start for one, other in pairwise(spots))
        for spot, sign in zip(spots, view.text, strict=True):
            assert spot.decoded or text[spot.start : spot.end] == sign


def test_edits_are_applied_and_located() -> None:
    """A view has the text of its edits, and a span over several edits names each decoder once."""
    edits = [Edit(1, 3, "", "folded"), Edit(4, 6, "xyz", "percent"), Edit(6, 7, "q", "percent")]
    view = View(apply("0123456789", edits), View("0123456789"), edits)
    assert view.text == "03xyzq789"
    assert view.locate(0, 1) == (0, 1, ())
    assert view.locate(0, 2) == (0, 4, ("folded",))
    assert view.locate(1, 3) == (3, 6, ("percent",))
    assert view.locate(2, 7) == (4, 8, ("percent",))
    assert view.locate(7, 9) == (8, 10, ())


def test_folds_are_plain() -> None:
    """Look-alikes, styled letters and digits of other scripts become ASCII; invisible characters vanish."""
    assert fold("\U0001f1e6\U0001f1ff") == "az"
    assert fold("\uff21\U0001d5ba\u0430\u0663\u200b\u2014\u00a0z\0\n") == "Aaa3- z\0\n"
    assert fold_sign("\u4e00") == "\u4e00"
    assert fold_sign("\t") == "\t"


def test_a_fold_is_folded_once() -> None:
    """The fold of a fold is the same text, whatever the character, so no view is made of it again."""
    signs = "".join(chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    assert fold(fold(signs)) == fold(signs)
    # The Chinese words stay beyond ASCII, so that a window around them would be folded again.
    quoted = ("plain words " * 60 + "\u201cword\u201d ") * 9
    views = list(all_views(View(f"\u4e2d\u6587 {quoted}"), Effort()))
    assert len(views) == 2
    assert '"word"' in views[1].text


@given(st.text(st.one_of(st.characters(), st.sampled_from("\u2014\u2019\u00e9\u2192\uff21\u200b"))))
def test_a_text_is_plain_exactly_if_folding_changes_nothing(text: str) -> None:
    """A look at its different signs decides it."""
    text = text.encode(errors="replace").decode()
    assert is_plain(text.encode()) == (fold(text) == text)


def test_dashes_and_quotation_marks_become_ascii_without_a_view_of_their_own() -> None:
    """Each stays one character, so that a value is where it was; a search for what a text says keeps them."""
    text = f"\u201cAna\u2019s note\u201d \u2014 the token: {TOKEN}"
    assert plain_punctuation(text) == fold(text)
    assert len(plain_punctuation(text)) == len(text)
    card = "4539\u20131488\u20130343\u20136467"
    found = GATE.find_private({"": f"{text}, card {card}"})
    assert {text[one.start : one.end] for one in found if one.rule_id == "github-token"} == {TOKEN}
    assert "payment-card" in {one.rule_id for one in found}
    assert not any(one.decoded for one in found)
    assert GATE.is_clean({"": "Ana\u2019s note \u2014 deploy at noon"})


def test_signs_without_another_form_make_no_view_of_a_long_text() -> None:
    """Only what a fold changes is looked at again, with what is around it."""
    signs = LONG + "Build \u2192 test \u2705. " + LONG
    assert len(list(all_views(View(signs), Effort()))) == 1
    folded = list(all_views(View(signs + "\uff21\uff22" + LONG), Effort()))[1].text
    assert "AB" in folded
    assert "Build" not in folded


@pytest.mark.parametrize("signs", [[chr(0x1D400 + place) for place in range(300)], ["\u2014"] * 300])
def test_a_long_text_with_many_folded_signs_is_folded_as_a_whole(signs: list[str]) -> None:
    """Many different ones, or the same one in many places, leave little text that is far from all of them."""
    text = LONG + " ".join(signs)
    assert list(all_views(View(text), Effort()))[1].text == fold(text)


def test_words_of_a_sentence_are_not_joined_at_a_line_break() -> None:
    """Two plain words with further words on both lines are no value; all other pieces may be one."""
    assert list(find_joints("Stop the old\n  workers, then", quoted=True)) == []
    assert list(find_joints("Drain old workers.\nThen migrate", quoted=True)) == []
    for text in (
        "key abcd\nefgh\nijkl",
        "abcd\nefgh and",
        "key abcd\nefgh1 and",
        "key abCd\nefgh and",
        "a_bcd\nefgh a",
    ):
        assert "wrapped" in {edit.decoder for edit in find_joints(text, quoted=True)}, text


def test_decoders_leave_what_they_cannot_read() -> None:
    """Bytes that are no text, and runs that decode to none, stay as they are."""
    assert list(find_escapes("=FF=FE \\U00FFFFFF"))[-1].text == "\ufffd"
    assert list(find_runs("a" * 32 + " " + "ff" * 12, Effort(), pairs=False, codes=False, dumps=False)) == []
    assert list(find_runs("ff " * 12, Effort(), pairs=True, codes=False, dumps=False)) == []
    assert list(find_spaced("a b c d e f g h")) == [Edit(0, 15, "abcdefgh", "spaced")]
    assert list(find_spaced("a b c  d e f g h")) == [Edit(0, 16, "abc defgh", "spaced")]
    assert list(find_spaced("a  b  c  d  e  f  g  h")) == [Edit(0, 22, "abcdefgh", "spaced")]
    cut = base64.b64encode("gr\u00fc\u00dfe und mehr \u4e00".encode()[:-1]).decode()
    assert [edit.text for edit in find_runs(cut, Effort(), pairs=False, codes=False, dumps=False)] == [
        "gr\u00fc\u00dfe und mehr "
    ]


@given(st.lists(st.sampled_from(["a", "b", "Z", "7", "_", " ", "  ", "\t", "\u3000", "\n", "é", "(", ")", "ab", "."])))
def test_the_first_look_at_spaced_characters_misses_none(signs: list[str]) -> None:
    """All are found that the pattern alone finds, whatever is around them."""
    text = "".join(signs)
    found = [(edit.start, edit.end) for edit in find_spaced(text)]
    assert found == [match.span() for match in spaced_values._SPACES.finditer(text)]


@pytest.mark.parametrize("joint", ['"a" + "b" + ', "abcd\n"])
def test_a_text_of_more_joints_than_a_view_may_have_is_not_checked(joint: str) -> None:
    """Quotation marks with operators and line breaks within values are counted before they are collected."""
    assert list(find_joints(joint * 9, quoted=True))
    with pytest.raises(EffortSpentError):
        list(find_joints(joint * 20_000, quoted=True))


def test_marks_without_a_composed_form_go_from_ascii_and_stay_elsewhere() -> None:
    """A mark that makes no other character with a sign of ASCII hides that sign; other scripts need such marks."""
    assert [*find_compositions("x\u0301 and e\u0301")] == [Edit(0, 2, "x", "folded"), Edit(7, 9, "\u00e9", "folded")]
    assert [*find_compositions("\u0430\u0301 and \u0628\u064e")] == []


@pytest.mark.parametrize(
    ("dump", "plain"),
    [
        (
            "00000000: 6768 705f 6142 3364 4536 6748  ghp_aB3dE6gH\n0000000c: 396a 4b32                9jK2",
            "ghp_aB3dE6gH9jK2",
        ),
        ("00000000  67 68 70 5f 61 42 33 64  45 36 67 48  |ghp_aB3dE6gH|\n", "ghp_aB3dE6gH"),
        ("0000000 6867 5f70 4261 6433 3645 4867\n000000c\n", "ghp_aB3dE6gH"),
    ],
)
def test_dumps_are_read_line_by_line(dump: str, plain: str) -> None:
    """`xxd`, `hexdump -C` and `od -x` print offsets, groups and ASCII; the last one has the order of the machine."""
    found = list(find_runs(dump, Effort(), pairs=False, codes=False, dumps=True))
    assert [edit.text for edit in found] == [plain]
    assert list(find_runs("10203040 ff fe\n", Effort(), pairs=False, codes=False, dumps=True)) == []


def test_a_list_of_bytes_goes_on_over_lines() -> None:
    """Each line of an array in code begins with blanks."""
    codes = [f"0x{ord(sign):02x}" for sign in TOKEN]
    text = (
        "k[] = {\n  " + ",\n  ".join(", ".join(codes[place : place + 8]) for place in range(0, len(codes), 8)) + "\n}"
    )
    assert {one.rule_id for one in GATE.find_private({"": text})} >= {"github-token"}


def test_letters_with_accents_are_plain_in_values_and_stay_in_words() -> None:
    """A run with a digit between letters is no word; letters without an ASCII form stay."""
    marked = "".join(f"{sign}\u0301" if sign in "aEgkpvy" else sign for sign in TOKEN)
    assert {one.rule_id for one in GATE.find_private({"": marked})} >= {"github-token"}
    assert list(find_compositions("La clé de la base est gérée par une équipe.")) == []
    assert [edit.text for edit in find_compositions("a1b\u00e9ccc\u00f8ddddeeeeffff")] == ["e"]


def test_a_message_in_tags_is_apart_from_the_word_before_it() -> None:
    """Single tags within a value are part of it."""
    tags = "".join(chr(0xE0000 + ord(sign)) for sign in TOKEN)
    assert {one.rule_id for one in GATE.find_private({"": f"all tests passed{tags}"})} >= {"github-token"}
    assert [edit.text for edit in find_escapes("a\U000e0062c")] == ["b"]


@pytest.mark.parametrize("size", [4, 8])
def test_a_short_password_in_groups_of_digits_is_found(size: int) -> None:
    """What was joined before it was decoded is no chance, so that a rule without a form of its own judges it too."""
    digits = ("FTP_PASS" + "WORD: nouvelle_Teapot40").encode().hex()
    text = "value is " + " ".join(digits[place : place + size] for place in range(0, len(digits), size))
    assert any(finding.decoded == ("split", "hex") for finding in GATE.find_private({"": text}))


def css(text: str) -> str:
    """Return a text as escapes of CSS with all their digits."""
    return "".join(f"\\{ord(sign):06x}" for sign in text)


@pytest.mark.parametrize(
    "text",
    [
        " || ".join(f"CHR({ord(sign)})" for sign in "Otuf" + "V3S9BlaGx!7y1R") + " ist das Passwort von postgres",
        "$password = [char[]](" + ",".join(str(ord(sign)) for sign in "Otuf" + "V3S9BlaGx!7y1R") + ") -join ''",
        f'content: "{css(TOKEN)}";',
        f"byte[] DB_PASSWORD = new byte[] {{{', '.join(str(ord(sign)) for sign in 'bCcSamX' + 'Fy5U53$')}}};",
        '"ProxyPassword"=hex(2):' + ",".join(f"{ord(sign):02x},00" for sign in "Wint3r$" + "928") + ",00,00",
        "export PGPASSWORD=$'" + "".join(f"\\{ord(sign):03o}" for sign in "H03y5A!" + "dV3$tb") + "'",
        "od -An -tx1 x\n" + "\n".join(" " + line.hex(" ") for line in (TOKEN[:16].encode(), TOKEN[16:].encode())),
    ],
)
def test_characters_are_read_from_their_codes_with_what_joins_them(text: str) -> None:
    """A call for each code, an array of PowerShell, escapes of CSS, and bytes on several lines."""
    assert GATE.find_private({"": text})

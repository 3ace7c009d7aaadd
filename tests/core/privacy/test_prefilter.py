"""The prefilter: what every match of a pattern needs, and no rule is left out that finds something."""

import random
import uuid
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.core.privacy import Gate, is_uuid
from antechamber.core.privacy.automata import compile_pattern, search
from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.forms.splits import is_joint, rows_of_texts, rows_of_token
from antechamber.core.privacy.forms.texts import Text
from antechamber.core.privacy.forms.view import Chains
from antechamber.core.privacy.patterns.literals import needs_of
from antechamber.core.privacy.rule import Rule, join_example
from antechamber.core.privacy.search.matcher import Matcher, has_groups
from antechamber.core.privacy.search.prefilter import Prefilter
from antechamber.core.privacy.search.shapes import coarse_shape, fine_shape, shapes_needed
from support import GATE, RULES

HITS = [join_example(example) for rule in RULES for example in rule.hit]
FILLER = "Deploy the service before noon and check its health twice. " * 40


@cache
def compiled() -> tuple[Prefilter, list[Matcher]]:
    """Return the prefilter and the matchers of all rules; compiling takes seconds, and only one test needs them."""
    return Prefilter(dict(enumerate(RULES))), [Matcher(rule) for rule in RULES]


@pytest.mark.parametrize(
    ("pattern", "literals", "run", "digits"),
    [
        ("[rs]k_live_([0-9A-Za-z]{16,})", {"rk_live_", "sk_live_"}, 24, 0),
        ("(?i)Pass(?:word|wd)? *[:=]", {"pass", "password", "passwd"}, 4, 0),
        ("[0-9]{3}-[0-9]{2}-[0-9]{4}", {"000-00-0000"}, 11, 9),
        (r"\d{9}", None, 0, 9),
        ("[0-9](?:[ -]?[0-9]){12,18}", None, 1, 13),
        ("[0-9A-Za-z]{32}|[0-9A-Za-z]{40}", None, 32, 0),
        ("abc|[xyz]{2}", None, 2, 0),
        (r"\x{20ac}uro[^x]", {"\u20acuro"}, 3, 0),
        (r"\pL+@(?:\pN\.)+", {"@"}, 1, 0),
        ("(?:abc|def)+x?y{0,3}z*", {"abc", "def"}, 3, 0),
        ("[a-z]{2}[^a]", None, 2, 0),
        ("(?:a|bc)[0-9a-f]{4}(?:-[a-z]{3}){2} [a-z]{5}", None, 13, 0),
        ("(", None, 0, 0),
    ],
)
def test_what_a_match_needs_is_read_from_the_pattern(
    pattern: str, literals: set[str] | None, run: int, digits: int
) -> None:
    """Literals, runs of token characters and digits follow from the pattern; what is uncertain is not needed."""
    needs = needs_of(pattern)
    assert needs.literals == (frozenset(literals) if literals is not None else None)
    assert (needs.run, needs.digits) == (run, digits)


@pytest.mark.parametrize(
    ("pattern", "reach"),
    [("ab[c-e]{2,5}", 7), ("ab[0-9a-f]{20,}", 22), ("ab.*", None), ("ab(?:c|de){3}", 8), ("a{4001}", None)],
)
def test_the_reach_of_a_match_is_bounded_or_unknown(pattern: str, reach: int | None) -> None:
    """Runs without blanks count with their least length, because their surroundings end at a blank."""
    assert needs_of(pattern).reach == reach


@pytest.mark.parametrize(
    ("pattern", "bounded", "shapes"),
    [
        ("[0-9]{3}-[0-9]{2}-[0-9]{4}", True, {" 000 00 0000 "}),
        ("[0-9]{3}-[0-9]{2}-[0-9]{4}", False, {"000 00 0000"}),
        (r"(?:^|[^0-9A-Za-z])\d{4}[A-Z]", False, {" 0000a"}),
        (r"(\A[0-9]{4})[A-Z]", False, {" 0000a"}),
        ("^[0-9]{4}[a-f]", False, {" 0000a"}),
        ("[0-9a-f]{12}:[0-9a-f]{12}", True, {".xxxxxxxxxxxx.xxxxxxxxxxxx."}),
        (r"[0-9]{5}(?:\s|\x{20ac}|)[^a-zA-Z0-9][0-9]", False, {"00000 0", "00000  0"}),
        (r"[0-9]{5}[^a-zA-Z][0-9]", False, {"00000 0", "0000000"}),
        (r"[0-9]{5}[\w-][0-9]", False, {"00000 0", "0000000", "00000a0"}),
        ("[0-9]{4}[a-z]{2}|[a-z]{3}:[0-9]{5}", True, {" 0000aa ", " aaa 00000 "}),
        ("[0-9]{4}[a-z]{2}|[a-z]{3}", True, None),
        ("[0-9A-Za-z]{64}", True, None),
        ("[a-z]{3,9} [a-z]{3}", False, None),
        (r"[0-9]{4}[a-z]{2}|\w*", False, None),
        ("", False, None),
        ("(", False, None),
    ],
)
def test_the_shapes_of_a_match_are_read_from_the_pattern(pattern: str, bounded: bool, shapes: set[str] | None) -> None:  # noqa: FBT001
    """Where a match has letters, digits and other signs follows from the pattern; a common shape is not needed."""
    needed = shapes_needed(pattern, bounded=bounded)
    assert needed == (frozenset(shapes) if shapes is not None else None)


def test_a_pattern_with_groups_is_recognized_without_compiling_it() -> None:
    """What RE2 counts as a capturing group is recognized in each rule and in odd patterns."""
    odd = [r"\(", "[(]", "[]()]", r"[\](]", "(?:a)", "(?i:a)", "(a)", "(?P<n>a)", "(?<n>a)", r"\\(a)", "[^](]b"]
    for pattern in (*odd, *(rule.pattern for rule in RULES)):
        assert has_groups(pattern) == (compile_pattern(pattern).groups > 0), pattern


def test_a_text_has_a_fine_and_a_coarse_form() -> None:
    """Each character is one sign, whatever its length in UTF-8, and a sign is added at both ends."""
    data = "a7-\u20ac9".encode()
    assert (fine_shape(data), coarse_shape(data)) == (b" a0  0 ", b".xx..x.")


@settings(max_examples=250, deadline=None)
@given(
    st.lists(
        st.sampled_from([*HITS, " ", "\n", "x", "7", "-", "\u00e9", "token: ", SEPARATOR, f"{SEPARATOR}4{SEPARATOR}"]),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_no_rule_is_left_out_that_finds_something(pieces: list[str], long: bool) -> None:  # noqa: FBT001
    """What a rule finds in a text, it finds after the prefilter and in the areas that this names."""
    text = (FILLER if long else "").join([*pieces, ""])
    prefilter, matchers = compiled()
    read = Text(text)
    candidates = dict(prefilter.candidates(read, Effort()))
    for index, matcher in enumerate(matchers):
        spans = list(matcher.find(read, Effort(10**9)))
        if spans:
            assert index in candidates, matcher.rule.rule_id
            assert list(matcher.find(read, Effort(10**9), candidates[index])) == spans, matcher.rule.rule_id


def test_many_words_and_many_rules_cost_effort() -> None:
    """To look for rules is part of a scan's work: it counts where a text has more of their words than others have."""
    prefilter, _ = compiled()
    spent = []
    for text in ("An ordinary text, with one password.", "password " * 1_000, " ".join(HITS)):
        effort = Effort(10**9)
        prefilter.candidates(Text(text), effort)
        spent.append(effort.spent)
    ordinary, words, rules = spent
    assert ordinary == 0
    assert words >= 1_000 >> 4
    assert rules > words
    with pytest.raises(EffortSpentError):
        prefilter.candidates(Text("password " * 1_000), Effort(10))


def test_no_rule_finds_anything_inside_a_uuid() -> None:
    """20,000 random UUIDs are clean, also as the key of an event, and no rule reports a part of one."""
    generator = random.Random(7)  # noqa: S311 -- the same UUIDs in each run
    values = [str(uuid.UUID(int=generator.getrandbits(128), version=4)) for _ in range(20_000)]
    assert all(map(is_uuid, values))
    for start in range(0, len(values), 2_000):
        part = values[start : start + 2_000]
        assert GATE.scan({"/payload": {"content": " ".join(part)}}) == []
        assert GATE.is_clean({"/idempotency_key": part[0], "/payload": {"tags": part}})
    assert not is_uuid(values[0] + "0")


def test_a_rule_may_ask_for_uuids() -> None:
    """A rule with `in_uuids` finds a UUID, and the same rule without it does not."""
    value = "26240490-8637-4856-9139-e2ec35ba2d48"
    for wanted in (True, False):
        rule = Rule(
            rule_id="a", title="a", kind="secret", pattern="[0-9a-f]{8}-[0-9a-f]{4}", in_uuids=wanted, bounds="none"
        )
        assert bool(list(Matcher(rule).find(Text(value), Effort()))) is wanted


def test_halves_of_a_token_are_joined_and_ordinary_neighbors_are_not() -> None:
    """Rows begin at each text and end after two to five; digests, UUIDs and plain words make none."""
    assert rows_of_texts(["deploy", "apollo", "fact"]) == []
    assert rows_of_texts(["9f1c2ab" * 5 + "01234", "abcdefgh"]) == []
    assert rows_of_texts(["one"]) == []
    assert not is_joint("", "abcdefgh12345678")
    assert not is_joint("abcdefgh12345678.", " x")
    joined = Chains(rows_of_texts(["x" * 300 + " abcdefgh1", "ijklmnop2", "y" * 300, "qrstuvwx3"]))
    place = joined.text.index("abcdefgh1ijklmnop2")
    assert joined.locate(place, place + 18) == (301, 301 + 9 + 3 + 9, ("split",))
    assert joined.locate(place, place + 4) == (301, 305, ())


def test_a_mere_beginning_needs_its_rest_close_behind() -> None:
    """What is far away, in another text, labeled, or a commit is not the rest of a token."""
    rest = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"

    def rows(text: str) -> list[str]:
        return ["".join(piece for _, piece in row) for row in rows_of_token(text, 0, 4, len(text))]

    assert rows(f"ghp_ and then {rest}") == [f"ghp_{rest}"]
    assert rows(f"ghp_{' and' * 20} {rest}") == []
    assert rows(f"ghp_\n\0\n{rest}") == []
    assert rows(f"ghp_ and sha512-{rest}") == []
    assert rows("ghp_ in 951f0c16a156869b0f31e403e669a4c37757530c") == []
    assert rows_of_token(f"+ghp_ {rest}", 0, 4, 40) == []


def test_commits_beside_a_token_and_what_other_tokens_begin_with_are_no_pieces_of_it() -> None:
    """Rows end where another token begins; hexadecimal digits continue only what consists of such."""
    text = "ghp_xY7Zk4 by anna in 34077c7a and 8d919f872c0f, gho_aB3dE6gH9jK2"
    assert rows_of_token(text, 0, 4, text.index("gho_")) == []
    assert [len(row) for row in rows_of_token("dop_v1_34077c7a and 8d919f872c0f", 0, 7, 32)] == [2]


def test_an_example_that_does_not_do_what_it_claims_is_named() -> None:
    """A `hit` without a finding and a `miss` with one are reported by rule and number."""
    rule = Rule(
        rule_id="order",
        title="Order",
        kind="secret",
        pattern="ord-[0-9]{4}",
        hit=("ord-1", "ord-1234"),
        miss=("ord-5678",),
    )
    assert list(Gate([rule]).broken_examples()) == [
        ("order", "hit[0]: the rule finds nothing there"),
        ("order", "miss[0]: the rule finds something there"),
    ]


@pytest.mark.parametrize(
    ("start", "end", "found"), [(0, 3, ((0, 1),)), (1, 3, ((2, 3),)), (1, 2, None), (3, 3, None), (3, 2, None)]
)
def test_a_search_stays_within_its_part_of_a_text(start: int, end: int, found: tuple[tuple[int, int]] | None) -> None:
    """The first match at or behind the start and before the end is returned; an end before the start has none."""
    spans = search(compile_pattern("a"), b"aba", start, end)
    assert (None if spans is None else tuple(spans)) == found

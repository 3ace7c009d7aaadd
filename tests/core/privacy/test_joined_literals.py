"""Literals that code joins are read as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import EffortSpentError
from antechamber.core.privacy.forms.joined_literals import add_joined_literals
from antechamber.core.privacy.forms.view import apply
from support import GATE

FIRST, SECOND, THIRD = "Heron_", "Map", "le42x"


def joined(text: str) -> str:
    """Return a text with its joined literals as one."""
    return apply(text, add_joined_literals(text, []))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('p = "".join(["ab", "cd"])', 'p = "abcd"'),
        ("p = ''.join(('ab', 'cd',))", 'p = "abcd"'),
        ('p = ["ab", "cd"].join("");', 'p = "abcd";'),
        ("$p = implode('', ['ab', 'cd']);", '$p = "abcd";'),
        ('p = join("", ["ab", "cd"])', 'p = "abcd"'),
        ("char p[] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '\\0'};", 'char p[] = "abcdefgh";'),
        ('p = (\n    "ab"\n)', 'p = "ab"\n)'),
        ('a = "ab"\nb = "cd"\np = a + b', 'a = "ab"\nb = "cd"\np = "abcd"'),
        ("A='ab'\nB='cd'\nP=\"${A}${B}\"", "A='ab'\nB='cd'\nP=\"abcd\""),
        ("A='ab'\nB='cd'\nP=\"$A$B\"", "A='ab'\nB='cd'\nP=\"abcd\""),
        ("a = 'ab'\nb = 'cd'\np = f'{a}{b}'", "a = 'ab'\nb = 'cd'\np = f'abcd'"),
        ("KEY_1=ab\nKEY_2=cd\nKEY_3=ef", "KEY_1=abcdef"),
        ('{"key_part1": "ab", "key_part2": "cd"}', '{"key_part1": "abcd"}'),
        ('p := strings.Join([]string{"ab", "cd"}, "")', 'p := "abcd"'),
        ('val p = listOf("ab", "cd").joinToString("")', 'val p = "abcd"'),
        ('p = ["ab", "cd"].join', 'p = "abcd"'),
        ("const p = `${'ab'}${'cd'}x`;", "const p = `abcdx`;"),
        ('id,value\n1,"KEY=""ab"""', 'id,value\n1,"KEY="ab"""'),
        ('1,"{""key"": ""ab"", ""n"": 1}",x', '1,"{""key"": "ab"", ""n"": 1}",x'),
    ],
)
def test_a_statement_reads_as_its_value(text: str, plain: str) -> None:
    """Only the literal is left of what joins it."""
    assert joined(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        'p = ["ab", "cd"]',
        'p = ", ".join(["ab", "cd"])',
        "p = a + b",
        "a = 'ab'\np = a + b",
        "KEY_1=ab\nKEY_3=cd",
        "KEY_1=ab\nNAME_2=cd",
        "{'a', 'b'}",
        "f(a) (b)",
    ],
)
def test_other_literals_stay(text: str) -> None:
    """Lists, joins with a separator, unknown names and other numbers are no single value."""
    assert joined(text) == text


def test_only_parts_of_one_value_surely_belong_together() -> None:
    """Members with a number may be several values, and only rules for tokens with a form judge them as one."""
    numbered = list(add_joined_literals("KEY_1=ab\nKEY_2=cd", []))
    parts = list(add_joined_literals("key_part1=ab\nkey_part2=cd", []))
    assert [edit.decoder for edit in numbered] == ["listed"]
    assert [edit.decoder for edit in parts] == ["concatenated"]


@pytest.mark.parametrize(
    ("start", "end", "is_kept"), [(0, 2, True), (3, 6, False), (5, 7, False), (20, 21, False), (26, 27, True)]
)
def test_other_edits_stay_where_no_literals_are_joined(start: int, end: int, *, is_kept: bool) -> None:
    """Of two edits that share a character, the joined literals win."""
    text = 'p = "".join(["ab", "cd"]) + q'
    other = Edit(start, end, "", "wrapped")
    assert (other in list(add_joined_literals(text, [other]))) == is_kept


@pytest.mark.parametrize(
    "text",
    [
        f'db_password = "".join(["{FIRST}", "{SECOND}", "{THIRD}"])',
        f'const password = ["{FIRST}", "{SECOND}", "{THIRD}"].join("");',
        f"A='{FIRST}{SECOND}'\nB='{THIRD}'\nexport DB_PASSWORD=\"${{A}}${{B}}\"",
        f'db_password = (\n    "{FIRST}"\n    "{SECOND}"\n    "{THIRD}"\n)',
        f'{{"password_part_1": "{FIRST}", "password_part_2": "{SECOND}{THIRD}", "note": "join in order"}}',
        f'A={FIRST}\nexport B={SECOND}{THIRD}\nDB_PASSWORD="$A$B"',
        f'val dbPassword = Seq("{FIRST}", "{SECOND}", "{THIRD}").mkString',
        f"DB_PASSWORD=$(printf '%s%s%s' '{FIRST}' '{SECOND}' '{THIRD}')",
        f"pre={FIRST}; printf 'password=${{pre}}{SECOND}{THIRD}'",
        f"set P1={FIRST}{SECOND}\r\nset P2={THIRD}\r\nset DB_PASSWORD=%P1%%P2%",
        f'=CONCATENATE("db_password={FIRST}"; "{SECOND}"; "{THIRD}")',
        f"char k[] = {{{', '.join(map(repr, f'db_password={FIRST}{SECOND}{THIRD}'))}}};",
        f'sb.append("db_password={FIRST}");\nsb.append("{SECOND}");\nsb.append("{THIRD}");',
    ],
)
def test_a_password_in_joined_literals_is_found(text: str) -> None:
    """All rules judge what a statement joins."""
    assert GATE.find_private({"": text})


def test_a_literal_that_is_named_too_often_ends_the_search() -> None:
    """A short text does not become a long one."""
    text = f"a = '{'x' * 300}'\n" + "p = a + a\n" * 3_000
    with pytest.raises(EffortSpentError):
        list(add_joined_literals(text, []))


@given(st.lists(st.text("abcXYZ019_", min_size=1, max_size=9), min_size=2, max_size=12))
def test_an_array_reads_as_its_items(items: list[str]) -> None:
    """Any items without quotation marks are joined in their order."""
    array = ", ".join(f'"{item}"' for item in items)
    assert joined(f'x = "".join([{array}])') == f'x = "{"".join(items)}"'


@pytest.mark.parametrize(
    "unit",
    ['["a",', "''.join([", "'a','b',", "= (\n", "a + b ", "${a}${b}", "A_1=", "[" + " " * 30, "a='b' "],
)
def test_the_search_is_linear(unit: str) -> None:
    """A million characters take seconds; a quadratic search takes an hour, so that the limit of each test ends it."""
    list(add_joined_literals(unit * (1_000_000 // len(unit)), []))


def test_a_table_of_many_objects_is_read() -> None:
    """Thousands of doubled quotation marks are no reason to refuse a table."""
    cell = '"{""name"": ""apollo"", ""size"": 7, ""kind"": ""tool""}"'
    assert GATE.find_private({"": "\n".join(f"{number},{cell},2026" for number in range(900))}) == []


def test_two_values_of_a_list_are_no_token_without_a_form() -> None:
    """A UUID and a name beside it look like a token with any prefix once they are joined."""
    assert GATE.find_private({"": "INSERT INTO users VALUES ('f3de6cf8-d08a-4921-bbae-797a6124068d', 'John')"}) == []

"""Columns for secrets in tables: the header names what the cells below it are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.forms.tables import find_cells, find_inserted
from antechamber.core.privacy.forms.view import apply
from support import GATE

VALUE = "Kestrel94" + "moss"
LETTERS = "kyMFfWww" + "SCNEIh"
TABLE_OF_LETTERS = f"| User | Password |\n|---|---|\n| ada | {LETTERS} |\n"
TABLES = {
    "Markdown": f"Accounts:\n\n| Service | User | Password |\n|---|---|:--|\n| wiki | ada | {VALUE} |\n\nDone.",
    "a code span": f"| User | Password |\n| --- | --- |\n| ada | `{VALUE}` |",
    "no rule below the header": f"Device | User | Password\ndb1 | ada | {VALUE}\n",
    "indented": f"  | user | pass |\n  |------|------|\n  | ada  | {VALUE} |\n",
    "commas": f"user,password,email\nada,{VALUE},ada@example.com\n",
    "semicolons": f"name;initial password\r\nada;{VALUE}\r\n",
    "tabs": f"host\tuser\tpassword\ndb1\troot\t{VALUE}\n",
    "German": f"| Benutzer | Kennwort |\n|---|---|\n| ada | {VALUE} |\n",
    "Chinese": f"| \u7528\u6237 | \u5bc6\u7801 |\n|---|---|\n| ada | {VALUE} |\n",
    "letters": TABLE_OF_LETTERS,
    "a key": f"| Name | API key |\n|---|---|\n| maps | {'f3a9c017' * 2}{'b2d84e65'} |\n",
}
HARMLESS = {
    "kinds": "| option | password |\n|---|---|\n| required | string |\n| default | none |\n",
    "a meaning": "| password | meaning |\n|---|---|\n| minimum | 12 characters |\n",
    "scopes": "| endpoint | token |\n|---|---|\n| /v1/a | read:events |\n",
    "references": "| name | secret |\n|---|---|\n| DB_URL | ${DB_URL} |\n| KEY | vault:kv/key |\n",
    "prose": "We store email, password, and name, in order.\nIt is hashed, salted, and not logged, of course.\n",
    "code": "sign(\n    user, password, mode1,\n    kdf_rounds2, tls_hash4, mac_key8,\n)\n",
    "a package": "apt\tman-db\t2.11.2-2\napt\tpasswd\t1:4.13\napt\tperl\t5.36.0-7+deb12u2\n",
    "no row": f"| user | password |\nada, {VALUE[:9]} or so\n",
    "pins of a chip": "| pin | signal |\n|---|---|\n| 1024 | ground |\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_secret_in_its_column_is_private(text: str) -> None:
    """The finding marks the cell; the table may be within other text."""
    cell = next(value for value in (VALUE, LETTERS, "f3a9c017f3a9c017b2d84e65") if value in text)
    findings = GATE.find_private({"/payload": {"content": text}})
    assert {text[one.start : one.end] for one in findings} == {cell}


@pytest.mark.parametrize(
    "text",
    [
        "| name | Steueridentifikationsnummer |\n|---|---|\n| Ada | 82 549 106 237 |\n",
        "id,name,ssn\n1,Ada,275-77-4743\n2,Bob,212-83-4743\n",
    ],
)
def test_a_number_in_its_column_is_private(text: str) -> None:
    """The header is far from the rows below the first one."""
    edits = list(find_cells(text, Effort()))
    assert {edit.text.lower() for edit in edits} & {"steueridentifikationsnummer: ", "ssn: "}
    assert GATE.find_private({"/payload": {"content": text}})


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_such_a_column_is_not(text: str) -> None:
    """Kinds, scopes and references are no secrets; code, prose and rows in the middle of a table are no headers."""
    assert GATE.find_private({"/payload": {"content": text}}) == []


@given(st.lists(st.lists(st.sampled_from(["password", "token", "a", VALUE, "`x1y2z`", "", " b "]), max_size=4)))
def test_edits_are_in_order_and_made_once(rows: list[list[str]]) -> None:
    """Each edit is an insertion before a cell; a text with the names inserted needs no more of them."""
    text = "\n".join("|".join(row) for row in rows).replace("\n", "\n|-|-|\n", 1)
    edits = list(find_cells(text, Effort()))
    places = [edit.start for edit in edits]
    assert places == sorted(set(places))
    assert edits == [Edit(at, at, edit.text, "table") for at, edit in zip(places, edits, strict=True)]
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.start :]
    assert list(find_cells(text, Effort())) == []


def test_a_table_between_paragraphs_is_found_at_its_place() -> None:
    """An empty line ends a table, and paragraphs without the name of a secret are passed over."""
    table = f"user,password\nana,{VALUE}\nbo,{VALUE}"
    text = f"Größe, Farbe.\n\n{table}\n\n{VALUE},{VALUE}\n\n{table}"
    assert [text[edit.start :].split("\n", maxsplit=1)[0] for edit in find_cells(text, Effort())] == [VALUE] * 4


def test_what_the_name_of_a_column_has_is_found_once() -> None:
    """A view has the name before each cell; there it is no value of the text."""
    text = "| jo@lake" + "shore.org number | open |\n|---|---|\n| 12345 | yes |\n| 7777 | no |"
    (finding,) = (one for one in GATE.scan({"": text}) if one.rule_id == "email-address")
    assert text[finding.start : finding.end] == "jo@lake" + "shore.org"


def test_a_text_of_many_lines_has_a_bounded_cost() -> None:
    """Lines cost effort, and a text beyond the budget is not called harmless."""
    with pytest.raises(EffortSpentError):
        list(find_cells("a,password\n" + "\n" * 60_000, Effort()))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (
            "INSERT INTO clients(name, secret, enabled) VALUES ('pay', 'P8Ow', true);",
            "INSERT INTO clients(name, secret, enabled) VALUES ('pay', secret: 'P8Ow', true);",
        ),
        (
            "insert into `users` (`id`, `password`) values (1, 'it''s'), (2, \"b\")",
            "insert into `users` (`id`, `password`) values (1, password: 'it''s'), (2, password: \"b\")",
        ),
        ("INSERT INTO t (api_key) VALUES ('x')", "INSERT INTO t (api_key) VALUES (secret: 'x')"),
    ],
)
def test_an_insert_names_its_values(text: str, marked: str) -> None:
    """A value for a column of secrets reads as what its column is called."""
    assert apply(text, find_inserted(text)) == marked


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (name, size) VALUES ('a', 2)",
        "INSERT INTO t (secret) SELECT secret FROM u",
        "INSERT INTO t (secret) VALUES ('a",
        "INSERT INTO t VALUES ('a')",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "INSERT INTO users (name, password) VALUES ('ada', password: 'x')",
    ],
)
def test_other_inserts_stay(text: str) -> None:
    """Without names of columns for secrets, or without values, nothing is named."""
    assert list(find_inserted(text)) == []


def test_an_insert_is_refused_for_its_secret_only() -> None:
    """The value of the column is the finding; parameters and other columns are harmless."""
    text = "INSERT INTO clients (name, secret, size) VALUES ('pay', 'P8OwGufd0L6K" + "Y3EHJ6irZ4eYA2', 1);"
    found = GATE.find_private({"": text})
    assert {text[one.start : one.end] for one in found} == {"P8OwGufd0L6K" + "Y3EHJ6irZ4eYA2"}
    for harmless in (
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "INSERT INTO users (name, password_hash) VALUES ('ada', :hash)",
        "INSERT INTO settings (token, size) VALUES ('required', 3), ('optional', 4)",
    ):
        assert GATE.find_private({"": harmless}) == []


def test_an_insert_of_many_rows_is_read_to_a_limit() -> None:
    """Two hundred rows show what a table has."""
    text = "INSERT INTO t (secret) VALUES " + ", ".join(["('abc')"] * 300)
    assert len(list(find_inserted(text))) == 200

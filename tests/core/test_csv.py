"""CSV cells that no spreadsheet reads as formulas, for any separator, and whose text can be restored."""

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antechamber.core.csv import csv_row

FORMULA = "=+-@＝＋－＠"  # noqa: RUF001 -- the full-width forms
HOSTILE = st.text(alphabet=f"{FORMULA}'\"',;\t\r\n\v\f\0 \u00a0\u0085\u2028\ufeffab1", max_size=40)


def line(*values: object) -> str:
    """Return a row as text."""
    return csv_row(values).decode()


def read(text: str, separator: str) -> list[list[str]]:
    """Read a file as a program does that splits at one separator."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def begins_formula(cell: str) -> bool:
    """Return whether a spreadsheet could read a cell as a formula, even one that strips blanks, quotes and controls."""
    return re.sub(r'^[\s"\0\ufeff]+', "", cell).startswith(tuple(FORMULA))


def restored(cell: str) -> str:
    """Undo the insertions that core/log/README.md describes."""
    ends = r",;\t\n\v\f\r\0\x1c-\x1e\x85\u2028\u2029"
    cell = re.sub(rf"""((?:^|[{ends}])[{ends}\s"\ufeff]*)'('*[{re.escape(FORMULA)}])""", r"\1\2", cell)
    return re.sub(r"^'('*[\t\r\n\0])", r"\1", cell)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("plain", "plain"),
        ("a=1, b-2", "a=1, b-2"),
        ("x;=1", "x;'=1"),
        ("x\t@SUM(1)", "x\t'@SUM(1)"),
        ("x\n-1", "x\n'-1"),
        ('x; "+1"', 'x; "\'+1"'),
        ("x;;\t =1", "x;;\t '=1"),
        ("＝1", "'＝1"),  # noqa: RUF001
        ("\t=1", "'\t'=1"),
        ("\tplain", "'\tplain"),
        ("\0=1", "'\0'=1"),
        ("'=1", "''=1"),
        ("it's", "it's"),
        ("'quoted'", "'quoted'"),
        ("", ""),
    ],
)
def test_an_apostrophe_takes_the_meaning_of_a_formula_away(text: str, written: str) -> None:
    """An apostrophe precedes each character that could start a formula, and a text that starts with a control."""
    ((cell,),) = read(line(text), ",")
    assert cell == written
    assert restored(cell) == text


def test_every_field_is_quoted() -> None:
    """Numbers, booleans and missing values are quoted too, so no program has to guess."""
    assert line(*["a", 1, None, True], 'say "no"') == '"a","1","","true","say ""no"""\r\n'


@given(st.lists(HOSTILE, min_size=1, max_size=4))
@example(["x;=1"])
@example(["x", ";", "=1"])
@example(['"', "=1"])
@example(["\r\n\t;,=1"])
def test_no_cell_begins_a_formula_wherever_a_program_splits(texts: list[str]) -> None:
    """With every locale's separators, quoted or not, no cell is a formula and each text can be restored."""
    text = line(*texts)
    for separator in ",;\t":
        assert not any(begins_formula(cell) for cells in read(text, separator) for cell in cells)
    assert not any(begins_formula(piece) for piece in re.split(r"[,;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029\0]", text))
    assert [restored(cell) for cell in read(text, ",")[0]] == texts


@pytest.mark.parametrize("end", ["=", "a", ""])
def test_a_long_text_of_separators_takes_no_longer_than_any_other(end: str) -> None:
    """The time is linear in the length; quadratic time would take hours here."""
    marked = "'" if end == "=" else ""
    assert line("x" + "\t" * 1_000_000 + end).endswith(f'\t{marked}{end}"\r\n')

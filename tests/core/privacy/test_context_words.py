"""Context words: found in prose, in names of code, without accents and abbreviated."""

import pytest

from antechamber.core.privacy.patterns.context_words import context_pattern, forms_of, has_word
from support import GATE


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("tax id", {"tax id", "taxid", "tax_id", "tax-id"}),
        ("DNI", {"dni", "d.n.i"}),
        (
            "rodné číslo",
            {
                *("rodné číslo", "rodnéčíslo", "rodné_číslo", "rodné-číslo"),
                *("rodne cislo", "rodnecislo", "rodne_cislo", "rodne-cislo"),
            },
        ),
        ("Führerschein", {"führerschein", "fuhrerschein", "fuehrerschein"}),
        ("身份证", {"身份证"}),
        ("passport", {"passport"}),
        ("KİMLİK", {"ki\u0307mli\u0307k", "kİmlİk", "kimlik"}),
    ],
)
def test_a_word_has_the_forms_in_which_people_and_programs_write_it(word: str, forms: set[str]) -> None:
    """A word is written with another joint, without accents, with umlauts in two letters, or with periods."""
    assert forms_of(word) == forms


def test_names_of_code_leave_small_words_out() -> None:
    """`patente_guida` and `cartaIdentita` are forms of a word with a small word in it."""
    assert "patente_guida" in forms_of("patente di guida")
    assert "cartaidentita" in forms_of("carta d'identità")


@pytest.mark.parametrize(
    "text",
    ["employeeTfn=1", "employee_tfn: 1", "TFN", "T.F.N. of Ada", "the tfn", "dateOfBirth", "DATE_OF_BIRTH"],
)
def test_a_word_is_found_in_a_name(text: str) -> None:
    """A name such as `employeeTfn` has its words."""
    assert has_word(context_pattern(("tfn", "date of birth")), text)


@pytest.mark.parametrize("text", ["tfnx", "xtfn", "updateOfBirths"])
def test_letters_of_another_word_are_no_word(text: str) -> None:
    """A word in ASCII is found as a whole only."""
    assert not has_word(context_pattern(("tfn", "date of birth")), text)


@pytest.mark.parametrize(
    "text",
    [
        "<nhsNumber>943 476 5919</nhsNumber>",
        "RODNE_CISLO=7103192745",
        "La titular, D.N.I. 22.291.464, pide la baja.",
        "employeeTfn=123456782",
        '{"dateOfBirth": "1984-03-14"}',
    ],
)
def test_the_gate_finds_ids_by_names_of_code(text: str) -> None:
    """The prefilter and the rules agree on the forms of a word."""
    assert GATE.scan({"": text})

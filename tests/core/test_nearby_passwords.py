"""Values that only a password looks like, near a word for one."""

import pytest

from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.nearby_passwords import find_nearby_passwords, may_have_password
from support import GATE

VALUE = "Zebra!Ket" + "tle88"


def found(text: str) -> list[str]:
    """Return the values that the search finds."""
    return [text[start:end] for start, end in find_nearby_passwords(text, Effort())]


@pytest.mark.parametrize(
    "text",
    [
        f"The lab has a password, remember, and after Friday it will become {VALUE} for all of us.",
        f"{VALUE}, said the note beside the login.",
        f"Die Kollegin fragte nach dem Kennwort. Am Ende war ({VALUE}) richtig.",
        f"密码在纸上：{VALUE}。",  # noqa: RUF001 -- Chinese
        f"Which password?\n{VALUE}!",
    ],
)
def test_a_value_is_found_near_a_word_for_a_password(text: str) -> None:
    """No word has to link them; signs around the value are not part of it."""
    assert found(text) == [VALUE]
    assert may_have_password(text.encode())
    assert not {"nearby-password", "spoken-secret"}.isdisjoint(one.rule_id for one in GATE.scan({"": text}))


@pytest.mark.parametrize(
    "value",
    [
        "Regen^Schirm41",
        "Velstein$03",
        "Heron$44Market",
        "summer!2024Kites",
        "MapleTree!River19",
        "qX7!mK%9zT",
        "T7kq!Zw3Rb",
        "mQ9$vT2xLp7",
    ],
)
def test_values_that_persons_choose_and_programs_generate_are_found(value: str) -> None:
    """Two words with a sign and a number, a word with a dollar sign and a number, and characters in disorder."""
    assert found(f"Ask Jo for the login. She wrote {value} on the board.") == [value]


@pytest.mark.parametrize(
    "value",
    [
        "Sheet1!A2",
        "Sheet1!B2*2",
        "Users2024!LoginNames",
        "Budget2024!$B$12",
        "Phase1&Phase2",
        "Users&Roles_v2.docx",
        "LoginTask$3",
        "Outer$Inner2",
        "Outer$1Inner",
        "Caf%C3%A9Bar2",
        "User%1Login%2",
        "Save50%Today",
        "Rails#43997",
        "React@18.2.0",
        "Sigma1^2",
        "C1^C2*A1b",
        "Release-2024.1^2",
        "kettle!zebra88",
        "Ze!a8",
        "Zebra!Kettle",
        "Zoe&Co+News1@orbit-works.dev",
        "config/Zebra!Kettle88.yaml",
        "Inter2!important",
    ],
)
def test_what_documents_have_near_such_a_word_is_none(value: str) -> None:
    """Cells of a sheet, names of software, files and issues, classes, powers and escapes are no passwords."""
    assert found(f"The password is described in {value} since today.") == []


def test_the_word_is_in_the_same_paragraph_and_near() -> None:
    """A word of another member, of another paragraph or far away does not count, nor does one for a token."""
    for text in (
        f"The password is old.\0{VALUE}",
        f"The password is old.\n \n{VALUE}",
        f"The password {'is old and ' * 12}{VALUE}",
        f"The token of the bot is near {VALUE}",
    ):
        assert found(text) == []
    assert found(f"The token, or password, {VALUE}") == [VALUE]


def test_a_text_of_many_such_values_is_not_searched_to_its_end() -> None:
    """The effort of a scan is bounded; one value is judged once."""
    effort = Effort()
    assert len(list(find_nearby_passwords(f"password {VALUE} " * 100, effort))) == 100
    assert effort.spent < 1_000
    cells = " ".join(f"Budget2024!$B${number}" for number in range(4_000))
    assert list(find_nearby_passwords(f"password {cells}", Effort(10))) == []
    many = " ".join(f"Zebra!Kettle{number}" for number in range(10, 2_000))
    with pytest.raises(EffortSpentError):
        list(find_nearby_passwords(many, Effort()))
    assert not may_have_password(b"No sign! At all.")

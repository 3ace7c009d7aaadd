"""Numbers with their nouns."""

from antechamber.core.counted import counted


def test_only_one_takes_the_singular() -> None:
    """Zero and all numbers above one take the plural, which ends in s unless another one is named."""
    assert [counted(number, "item") for number in (0, 1, 2, 3231)] == ["0 items", "1 item", "2 items", "3,231 items"]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]

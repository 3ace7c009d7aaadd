"""The texts with which the model of disclosed secrets is trained and measured, and its training."""

from collections import Counter
from pathlib import Path

import pytest

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.models import disclosed_words
from antechamber.core.privacy.models.disclosed_secrets import ValueModel, find_with
from antechamber.core.privacy.models.disclosed_words import WordsModel
from antechamber.core.privacy.models.hashed_weights import source_of
from lib.disclosed_training import train, train_words
from lib.labelled.disclosed_texts import HELD_OUT, TRAINED, SecretText, read_secret_texts
from lib.labelled_sets import make_sets
from lib.train_disclosed_secrets import VALUES, WORDS, Recipe
from support import GATE


@pytest.mark.parametrize("recipe", [VALUES, WORDS], ids=["values", "words"])
def test_each_model_of_disclosed_secrets_is_that_of_its_texts(recipe: Recipe) -> None:
    """Texts that were changed need new models, which `scripts/train_disclosed_secrets` makes."""
    assert source_of(recipe.model.read_bytes()) == recipe.digest_of_sources()


def test_no_held_out_text_is_trained() -> None:
    """What measures the model is none of what it learned from."""
    trained = {text.text for text in read_secret_texts(TRAINED)}
    held_out = read_secret_texts(HELD_OUT)
    assert len(trained) > 10_000
    assert len(held_out) > 2_400
    assert trained.isdisjoint(text.text for text in held_out)


def test_secrets_that_a_text_tells_in_any_words_are_found() -> None:
    """Of texts that no model has seen most are refused, in each language, and almost no look-alike."""
    found: Counter[tuple[str, bool]] = Counter()
    number: Counter[tuple[str, bool]] = Counter()
    for text, secrets, language in read_secret_texts(HELD_OUT):
        number[language, bool(secrets)] += 1
        found[language, bool(secrets)] += bool(GATE.find_private({"": text}))
    assert sum(found[key] for key in found if key[1]) >= 0.8 * sum(number[key] for key in number if key[1])
    assert sum(found[key] for key in found if not key[1]) <= 0.01 * sum(number[key] for key in number if not key[1])
    assert all(found[key] >= 0.75 * number[key] for key in number if key[1])


def test_the_held_out_texts_are_a_labelled_set() -> None:
    """`scripts/score_detectors` scores them by language."""
    made = list(make_sets(["held-out-disclosed-secrets"]))
    assert len(made) == len(read_secret_texts(HELD_OUT))
    assert {one.subkind for one in made} == {"de", "en", "es", "fr", "ja", "zh"}
    assert {one.label for one in made} == {"secret", "benign"}


def test_training_separates_what_its_texts_separate() -> None:
    """A model of a few texts knows where its texts have a secret, and is the same each time."""
    labelled = [f"the door opens with the code {number} now" for number in range(4_100, 4_108)]
    texts = [SecretText(text, ((29, 33),)) for text in labelled]
    texts += [SecretText(f"the door of room {number} is closed, no code") for number in range(4_100, 4_108)]
    weights, bias = train(texts)
    assert (weights, bias) == train(texts)
    model = ValueModel(weights, bias)
    assert [*find_with(model, "so the door opens with the code 7719 now", Effort())] == [(32, 36)]
    assert [*find_with(model, "the door of room 7719 is closed, no code", Effort())] == []


def test_training_separates_phrases_too() -> None:
    """Of the phrases of a text, those that overlap a secret without being it teach nothing."""
    nouns = ["boat", "lamp", "tower", "river", "garden", "window", "bottle", "ladder"]
    texts = [SecretText(f"the password is: old red {noun}", ((17, 25 + len(noun)),)) for noun in nouns]
    texts += [SecretText(f"the password is in the old {noun}, ask Jo") for noun in nouns]
    weights, bias = train_words(texts)
    assert (weights, bias) == train_words(texts)
    model = WordsModel(weights, bias)
    text = "so the password is: old red engine"
    assert [text[start:end] for start, end in disclosed_words.find_with(model, text, Effort())] == ["old red engine"]
    assert [*disclosed_words.find_with(model, "the password is in the old engine, ask Jo", Effort())] == []


def test_a_line_of_another_form_is_an_error(tmp_path: Path) -> None:
    """A language and a text are two fields; the error names file and line."""
    file = tmp_path / "texts.txt"
    file.write_text("en\ttext\nno tab\n")
    with pytest.raises(ValueError, match=r"^texts\.txt, line 2: write a language and a text"):
        read_secret_texts(file)


def test_secrets_are_marked_and_some_are_made(tmp_path: Path) -> None:
    """A mark is no part of the text; what begins with a tilde is made of classes of characters, each time the same."""
    file = tmp_path / "texts.txt"
    file.write_text("de\tzwei\\nZeilen: ⟦Kranich7⟧ und ⟦~AAaa-0hH⟧.\\\\\n", encoding="utf-8")
    (read,) = read_secret_texts(file)
    assert [read] == read_secret_texts(file)
    first, made = (read.text[start:end] for start, end in read.secrets)
    assert (read.language, read.text) == ("de", f"zwei\nZeilen: Kranich7 und {made}.\\")
    assert first == "Kranich7"
    assert (made[:2].isupper(), made[2:4].islower(), made[4], made[5].isdigit(), len(made)) == (
        True,
        True,
        "-",
        True,
        8,
    )
    assert int(made[6:], 16) >= 0

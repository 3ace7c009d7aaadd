"""A model finds words and phrases that a text discloses as passwords."""

# ruff: noqa: RUF001 -- Chinese and Japanese have signs of their own

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.models.disclosed_words import (
    CUES,
    PLACES,
    WordsModel,
    features_of,
    find_disclosed_words,
    find_with,
    placed_phrases,
    shipped_model,
)
from antechamber.core.privacy.models.hashed_weights import place_of
from support import GATE


def found(text: str) -> list[str]:
    """Return the phrases that the search finds."""
    return [text[start:end] for start, end in find_disclosed_words(text, Effort())]


def phrases(text: str) -> list[str]:
    """Return the phrases that may be judged."""
    return [text[phrase.start : phrase.end] for phrase in placed_phrases(text, Effort())]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (
            'The passphrase of the backup disk is "seven damp otters ' + 'filing taxes".',
            "seven damp otters filing taxes",
        ),
        ("La phrase secrète du coffre : « girafe lundi " + "parapluie cuivre »", "girafe lundi parapluie cuivre"),
        ("合言葉は「みかん" + "電車ふくろう」です。", "みかん電車ふくろう"),
        ("私钥的口令短语是“三只" + "白鹭过江去”，中间没有空格。", "三只白鹭过江去"),
        ("Die Passphrase für den Schlüssel heißt „blaue Leiter " + "trinkt Kaffee“.", "blaue Leiter trinkt Kaffee"),
    ],
)
def test_a_passphrase_is_found(text: str, phrase: str) -> None:
    """Its words are in no list."""
    assert found(text) == [phrase]


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.",
        "The passphrase is wrong, so ask again.",
        "Das Passwort ist abgelaufen.",
        "La contraseña es obligatoria y caduca.",
        "密码是必填项，不能为空。",
        "パスワードは verifyPassword 関数の中で照合される。",
        'The key to a fast build is "fewer dependencies".',
        "The passphrase is stored in the vault of the team.",
        "The password field says 'Forgot password'.",
        "passphrase: your passphrase here",
        "",
    ],
)
def test_other_words_at_such_a_place_are_no_secrets(text: str) -> None:
    """States, names of code, places and labels are none."""
    assert found(text) == []


def test_words_at_the_border_of_a_sentence_or_at_its_end_are_judged() -> None:
    """A phrase is what is between two signs, what ends there, or one word of it; a short word only at its border."""
    assert phrases("password: red boat") == ["password", "red boat", "boat"]
    assert phrases("pass: one boat at sea, x") == ["pass", "one boat at sea", "boat at sea", "at sea"]
    assert phrases("pass: it is lanterns or so") == [
        *("pass", "it is lanterns or so", "is lanterns or so", "lanterns", "lanterns or so", "or so")
    ]
    assert phrases("the weather: red boat") == []


def test_long_rows_of_words_have_no_phrase_but_the_last_eight() -> None:
    """A sentence is no phrase."""
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet"
    assert words not in phrases(f"password: {words}")
    assert words.split(" ", 2)[2] in phrases(f"password: {words}")
    long = " ".join(["abcdefghijklmn"] * 6)
    assert long not in phrases(f"password: {long}")


@pytest.mark.parametrize("word", ["some_name", "API_NAME", "verifyPassword", "required", "state-of-the-art"])
def test_names_of_code_compounds_and_usual_words_are_no_secrets(word: str) -> None:
    """They are not judged, whatever is around them."""
    (phrase,) = (one for one in placed_phrases(f"password: {word}", Effort()) if one.words == (word,))
    assert phrase.is_usual
    assert list(find_with(WordsModel([1.0] * PLACES, 0), f"login: boat, {word}", Effort())) == [(7, 11)]


def test_a_small_number_may_be_within_a_phrase() -> None:
    """Alone it is none, and a value with digits and letters divides phrases."""
    assert phrases("login, 1234, x4b, 3 old boats") == ["login", "3 old boats", "old boats", "boats"]


def test_scripts_without_blanks_have_phrases_behind_links_and_before_particles() -> None:
    """A phrase in such a script is a run of signs, or the part of one behind a verb or before the end."""
    assert "さくらもち三個" in phrases("合言葉はさくらもち三個、です")
    assert "小熊饼干" in phrases("密码填小熊饼干就行")
    assert "かぐや姫" in phrases("パスワードはかぐや姫と言って")
    assert "三只猫在第9号站台" in phrases("密码“三只猫在第9号站台”")
    assert phrases("密") == []


@given(st.text("aZß9-_.:= \n密码はを'\"", max_size=60))
def test_the_score_is_the_sum_of_the_weights_of_all_features(text: str) -> None:
    """What is kept between two phrases changes nothing."""
    model = WordsModel(range(PLACES), 0.5, 1e-6)
    text = f"the password {text}"
    for phrase in placed_phrases(text, Effort()):
        expected = sum(place_of(feature, PLACES) for feature in features_of(phrase, text))
        assert model.score_alone(phrase) + model.score_around(phrase, text) == pytest.approx(expected * 1e-6 + 0.5)


def test_long_words_are_not_kept_in_memory() -> None:
    """A long word around a phrase may be a password itself; the weights of short ones are kept."""
    model = WordsModel([0.0] * PLACES, 0)

    def kept(word: str) -> int:
        """Return how many entries the caches have after a text with a word."""
        text = f"password: {word} or boats"
        for phrase in placed_phrases(text, Effort()):
            model.score_alone(phrase)
            model.score_around(phrase, text)
        return model._of_place.cache_info().currsize + model._of_placed.cache_info().currsize

    first = kept("lighthouses")
    assert kept("grasshopper") == kept("watermelons") == first
    assert kept("lamp") > first


def test_words_of_another_text_of_an_event_are_not_read() -> None:
    """The words around a phrase end where its own text does."""
    text = f"seven boats{SEPARATOR}the password is red boat{SEPARATOR}and more words"
    phrase = next(one for one in placed_phrases(text, Effort()) if one.words == ("boat",))
    assert {"<< boats", ">> more"}.isdisjoint(features_of(phrase, text))
    assert "<0 red" in features_of(phrase, text)


def test_the_prefilter_of_the_rule_has_the_same_words() -> None:
    """A text without them is not searched."""
    (rule,) = (rule for rule in GATE.rules if rule.rule_id == "disclosed-words")
    assert rule.pattern == CUES


def test_endless_phrases_spend_the_effort() -> None:
    """Each phrase that is judged costs effort, so that a search ends that has none left."""
    with pytest.raises(EffortSpentError):
        list(find_disclosed_words("password: 'red boat' " * 100, Effort(50)))


@pytest.mark.parametrize("unit", ["password: boat, ", "login a b c d e "])
def test_a_text_with_too_many_phrases_or_words_is_not_checked(unit: str) -> None:
    """What is behind them would be read by no search."""
    assert found(f"{unit * 100}and the passphrase is: «seven damp otters filing taxes»")
    with pytest.raises(EffortSpentError):
        found(unit * 3_000)


@pytest.mark.parametrize("unit", ["of-pass-", "парол", "암호", "pwd’", "of-pass-of-of-", "パスワードは", "密码1234"])
def test_a_long_word_is_read_once(unit: str) -> None:
    """A word that is no phrase is not read again from each of its letters, nor compared with compounds."""
    with suppress(EffortSpentError):
        found(f"password:{unit * 250_000}A=")


def test_a_value_ends_before_the_sign_that_closes_it() -> None:
    """A small number before a quotation mark, a bracket or the end of a sentence is a word of the phrase."""
    assert "red boat 12" in phrases('The password is "red boat 12".')
    assert "old boat 7" in phrases("the password (old boat 7) works")
    assert "red boat 12" not in phrases('The password is "red boat 12.5".')


def test_the_shipped_model_is_read_once() -> None:
    """Each search of a process shares it."""
    assert shipped_model() is shipped_model()

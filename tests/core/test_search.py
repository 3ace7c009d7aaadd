"""Search without a store: terms of texts, words of questions, corrections, weights and plans."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from antechamber.core.search.question import (
    MAX_CORRECTIONS,
    MAX_MISSPELLED,
    VocabularyWord,
    near_words,
    read_question,
    unknown_words,
    with_corrections,
)
from antechamber.core.search.ranking import (
    MIN_COVERAGE,
    SCALE,
    Corpus,
    Form,
    QuestionWord,
    contribution,
    plan_search,
    rarity,
)
from antechamber.core.search.stop_words import STOP_WORDS, WEAK_WORDS
from antechamber.core.search.synonyms import synonyms_by_term
from antechamber.core.search.terms import index_text, term_of, words_of_question
from antechamber.core.search_terms import words_of

CORPUS = Corpus(memories=100, length=2000)


def asked(*terms: str, weak: tuple[str, ...] = ()) -> list[QuestionWord]:
    """Return words that match one term each."""
    return [QuestionWord(term, (Form(term),), weak=term in weak) for term in terms]


def word(text: str, memories: int = 1) -> VocabularyWord:
    """Return a word of the vocabulary."""
    return VocabularyWord(word=text, term=term_of(text), memories=memories)


@pytest.mark.parametrize("other", ["migrations", "Migrating", "MIGRATE", "migrates", "migrated"])
def test_forms_of_a_word_have_one_term(other: str) -> None:
    """Inflection and case do not change the term."""
    assert index_text({"content": other}).frequencies == index_text({"content": "migration"}).frequencies


def test_terms_are_counted_without_stop_words() -> None:
    """A text has the terms of its content and tags, each with its number of occurrences."""
    text = index_text({"content": "The deploy of the deploys", "tags": ["release", "deploy"]})
    assert text.frequencies == {"deploy": 3, "releas": 1}
    assert text.words == {"deploy": "deploy", "deploys": "deploy", "release": "releas"}
    assert text.length == 4


def test_parts_of_a_compound_name_are_terms_too() -> None:
    """A name in camel case is found as a whole and by its parts; a name that begins with a capital is one word."""
    assert set(index_text({"content": "Set maxRetries on GitHub"}).frequencies) == {
        "set", "maxretri", "max", "retri", "github",
    }  # fmt: skip


@pytest.mark.parametrize("content", ["Set maxRetries to 3.", "Set max_retries to 3.", "The max of retries is 3."])
def test_a_compound_name_of_a_question_is_divided(content: str) -> None:
    """It finds texts that write the name in another form; stop words alone are no parts."""
    held = index_text({"content": content}).frequencies
    assert all(word.forms[0].term in held for word in read_question("maxRetries", synonyms=False))
    words = read_question("maxRetries", synonyms=True)
    assert [(word.word, word.weak) for word in words] == [("max", False), ("retries", False), ("maxretries", True)]
    for synonyms in (False, True):
        assert [word.word for word in read_question("doIt", synonyms=synonyms)] == ["doit"]


def test_a_word_of_another_language_keeps_a_term() -> None:
    """Words without English inflection have terms as well, equal in texts and questions."""
    text = index_text({"content": "Größe, 部署, ตรวจ, naïve"})
    for question in ("GROSSE", "部", "ต", "naive"):
        assert set(read_question(question, synonyms=False)[0].forms) <= {Form(term) for term in text.frequencies}


def test_the_lists_of_words_are_written_as_texts_are_folded() -> None:
    """Each listed word is one folded word, and no word is in both lists."""
    for one in STOP_WORDS | WEAK_WORDS:
        assert words_of(one) == [one]
    assert not STOP_WORDS & WEAK_WORDS
    synonyms = synonyms_by_term()
    assert all(term in synonyms[other] for term, others in synonyms.items() for other in others)


def test_particles_of_japanese_are_weak() -> None:
    """Each hiragana of a question counts for less, so that particles alone make no memory an answer."""
    words = read_question("今日の天気はどうですか", synonyms=True)
    assert "".join(word.word for word in words if not word.weak) == "今日天気"
    assert [word.weak for word in read_question("サーバー", synonyms=True)] == [False] * 3


def test_a_question_is_read_into_words_with_synonyms() -> None:
    """Stop words are dropped, frequent words are weak, and synonyms count for less."""
    remove, fixed = read_question("How do I remove the fix?", synonyms=True)
    assert (remove.word, remove.weak, remove.forms[0]) == ("remove", False, Form("remov"))
    assert Form("delet", 500) in remove.forms
    assert fixed.word == "fix"
    assert read_question("Only remove", synonyms=False) == [
        QuestionWord("only", (Form("onli"),), weak=True),
        QuestionWord("remove", (Form("remov"),)),
    ]
    assert words_of_question("What is it?") == []


def test_only_words_that_match_nothing_are_corrected() -> None:
    """A known word, a short word, a number and a word with a known synonym stay as they are."""
    words = read_question("relase deploy abc 2025 remove", synonyms=True)
    assert [one.word for one in unknown_words(words, {"deploy", "delet"})] == ["relase"]
    many = asked(*(f"unknown{letter}" for letter in "abcdefghijkl"))
    assert len(unknown_words(many, ())) == MAX_MISSPELLED


def test_a_correction_is_one_error_away() -> None:
    """An inserted, missing, replaced or exchanged letter is one error; two are too many."""
    vocabulary = [word(text) for text in ("release", "relapse", "relate", "relations", "please")]
    corrected = with_corrections(read_question("relase", synonyms=False)[0], vocabulary)
    assert {form.term for form in corrected.forms[1:]} == {term_of(text) for text in ("release", "relapse", "relate")}
    exchanged = with_corrections(read_question("bakcup", synonyms=False)[0], [word("backup")])
    assert Form("backup", 800) in exchanged.forms


def test_a_word_has_few_corrections() -> None:
    """The terms that most memories have replace a word with a typing error."""
    vocabulary = [word(f"wor{letter}k", memories) for memories, letter in enumerate("abcdefghijkl")]
    corrected = with_corrections(QuestionWord("work", (Form("work"),)), vocabulary)
    assert len(corrected.forms) == 1 + MAX_CORRECTIONS
    assert corrected.forms[1].term == term_of("worlk")


@given(
    st.text(alphabet="abcd", min_size=4, max_size=9),
    st.integers(0, 9),
    st.sampled_from(["insert", "delete", "replace", "exchange"]),
    st.sampled_from("abcd"),
)
def test_every_word_one_error_away_is_near(text: str, place: int, kind: str, letter: str) -> None:
    """The part of the vocabulary that is read holds all words with one error."""
    place %= len(text)
    other = {
        "insert": text[:place] + letter + text[place:],
        "delete": text[:place] + text[place + 1 :],
        "replace": text[:place] + letter + text[place + 1 :],
        "exchange": text[:place] + text[place : place + 2][::-1] + text[place + 2 :],
    }[kind]
    assert OSA.distance(text, other) <= 1
    near = near_words(text)
    assert other.startswith(near.beginning) or other.endswith(near.end)
    assert near.shortest <= len(other) <= near.longest


def test_rare_words_weigh_more() -> None:
    """A term of few memories weighs more than one of many, and one of all memories still weighs something."""
    assert rarity(CORPUS, 0) == rarity(CORPUS, 1) > rarity(CORPUS, 50) > rarity(CORPUS, 100) > 0
    assert rarity(Corpus(1, 5), 1) > 0


def test_a_contribution_grows_with_frequency_and_shrinks_with_length() -> None:
    """More occurrences add ever less, up to the gain; a long memory gets less for the same."""
    values = [contribution(1000, frequency, 20, CORPUS) for frequency in (1, 2, 3, 1000)]
    assert values == sorted(values)
    assert values[0] == 1000
    assert values[-1] < 2200
    assert contribution(1000, 1, 40, CORPUS) < values[0] < contribution(1000, 1, 10, CORPUS)


def test_a_question_that_nothing_can_answer_has_no_plan() -> None:
    """Without any known word there is no plan; if each word must match, one unknown word is enough."""
    words = asked("deploy", "unknown")
    assert plan_search(words, CORPUS, {}, every_word=False) is None
    assert plan_search(words, CORPUS, {"deploy": 3}, every_word=True) is None
    assert plan_search(words, CORPUS, {"deploy": 3}, every_word=False) is not None


def test_unknown_words_belong_to_the_question() -> None:
    """One known word is not enough if the memories know no other word of the question."""
    one = plan_search(asked("deploy", "unknown"), CORPUS, {"deploy": 3}, every_word=False)
    two = plan_search(asked("deploy", "unknown", "strange"), CORPUS, {"deploy": 3}, every_word=False)
    assert one is not None
    assert two is not None
    assert one.wanted[0].cover >= one.least_cover
    assert two.wanted[0].cover < two.least_cover


@pytest.mark.parametrize("holders", [(1, 100), (100, 1), (50, 50)])
def test_of_two_known_words_each_is_a_match(holders: tuple[int, int]) -> None:
    """A question of two known words finds memories that have one of them, however frequent it is."""
    plan = plan_search(asked("one", "two"), CORPUS, dict(zip(("one", "two"), holders, strict=True)), every_word=False)
    assert plan is not None
    assert all(wanted.cover >= plan.least_cover for wanted in plan.wanted)
    assert all(wanted.leads for wanted in plan.wanted)


def test_weak_words_count_for_less() -> None:
    """A weak word adds little to the score and is no match beside a known word."""
    plan = plan_search(asked("deploy", "use", weak=("use",)), CORPUS, {"deploy": 3, "use": 3}, every_word=False)
    assert plan is not None
    strong, weak = plan.wanted
    assert weak.weight * 3 < strong.weight
    assert weak.cover < plan.least_cover < strong.cover


def test_frequent_terms_do_not_lead() -> None:
    """Only memories with a leading term are candidates; those with all other terms together fall short."""
    terms = ("rare", "seldom", "usual", "common")
    plan = plan_search(asked(*terms), CORPUS, dict(zip(terms, (1, 2, 60, 90), strict=True)), every_word=False)
    assert plan is not None
    led = {wanted.term: wanted.leads for wanted in plan.wanted}
    assert led["rare"]
    assert not led["common"]
    assert sum(wanted.cover for wanted in plan.wanted if not wanted.leads) < plan.least_cover
    assert plan.least_words == 1
    assert plan.least_cover * SCALE >= MIN_COVERAGE * sum(wanted.cover for wanted in plan.wanted)


def test_if_each_word_must_match_the_rarest_leads() -> None:
    """With every word required, the memories of the rarest word are the candidates."""
    plan = plan_search(asked("common", "rare"), CORPUS, {"rare": 1, "common": 90}, every_word=True)
    assert plan is not None
    assert (plan.least_words, plan.least_cover) == (2, 0)
    assert [wanted.term for wanted in plan.wanted if wanted.leads] == ["rare"]


def test_a_frequent_synonym_takes_no_weight_from_a_rare_word() -> None:
    """A memory that has the word itself answers the question, however many memories have a synonym of it."""
    words = [QuestionWord("money", (Form("money"), Form("price", 500))), QuestionWord("represent", (Form("repres"),))]
    for having in (0, 1, 90):
        plan = plan_search(words, CORPUS, {"money": 1, "price": having}, every_word=False)
        assert plan is not None
        assert plan.wanted[0].term == "money"
        assert plan.wanted[0].leads
        assert plan.wanted[0].cover >= plan.least_cover


def test_a_synonym_counts_for_its_share() -> None:
    """A synonym that no memory has is not looked up; one that memories have counts for half."""
    words = [QuestionWord("remove", (Form("remov"), Form("delet", 500), Form("drop", 500)))]
    plan = plan_search(words, CORPUS, {"remov": 4, "delet": 4}, every_word=False)
    assert plan is not None
    own, synonym = plan.wanted
    assert synonym.weight == own.weight // 2
    assert msgspec.structs.replace(synonym, term="x").position == own.position == 0

"""Answer questions: find the active memories of some scopes that answer a question, the best first."""

from collections import Counter
from collections.abc import Sequence

from antechamber.core.ports.search import KnownTerm, RankedMemory
from antechamber.core.ports.store import Rows
from antechamber.core.search.question import near_words, read_question, unknown_words, with_corrections
from antechamber.core.search.ranking import Corpus, QuestionWord, plan_search


def answer_question(
    tx: Rows,
    scopes: Sequence[tuple[str, str]],
    question: str,
    *,
    every_word: bool,
    after: RankedMemory | None,
    number: int,
) -> list[RankedMemory]:
    """Return the memories of exactly these scopes that answer a question, the best first; of equal ones, the newest.

    With `every_word`, they match each word, in another form or with one typing error; otherwise enough of the words.
    """
    statistics = tx.search.statistics(scopes)
    corpus = Corpus(sum(scope.memories for scope in statistics), sum(scope.length for scope in statistics))
    words = read_question(question, synonyms=not every_word)
    if not words or not corpus.length:
        return []
    words, known = _look_up(tx, [scope.id for scope in statistics], words)
    holders: Counter[str] = Counter()
    for term in known:
        holders[term.term] += term.memories
    plan = plan_search(words, corpus, holders, every_word=every_word)
    return [] if plan is None else tx.search.best(plan, known, after, number)


def _look_up(
    tx: Rows, scopes: Sequence[int], words: Sequence[QuestionWord]
) -> tuple[list[QuestionWord], list[KnownTerm]]:
    """Return the words, with corrections of those that match nothing, and the terms that exist."""
    known = tx.search.terms(scopes, list(dict.fromkeys(form.term for word in words for form in word.forms)))
    corrected = {
        word.word: with_corrections(word, tx.search.vocabulary(scopes, near_words(word.word)))
        for word in unknown_words(words, {term.term for term in known})
    }
    have = {term.term for term in known}
    more = {form.term for word in corrected.values() for form in word.forms} - have
    known += tx.search.terms(scopes, sorted(more)) if more else []
    return [corrected.get(word.word, word) for word in words], known

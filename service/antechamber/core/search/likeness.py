"""Candidates for texts alike: which terms of a text to look up, so that memories with nearly the same text are found.

Two texts that are nearly the same share most of their rare terms, and few other texts have these. The memories that
score best on the rare terms are compared with the text character by character afterwards; see core.review.similarity.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from antechamber.core.search.ranking import Corpus, SearchPlan, WantedTerm, rarity

MOST_TERMS: Final = 24
"""Maximum number of terms that are looked up."""
MOST_HOLDERS: Final = 3_000
"""Memories that all looked-up terms but the rarest may have together, each term counted for itself."""


def plan_likeness(terms: Iterable[str], corpus: Corpus, holders: Mapping[str, int]) -> SearchPlan | None:
    """Return the plan that ranks memories by the rarest terms of a text; None if no memory has any of its terms.

    `holders` is the number of memories that have each term.
    """
    known = sorted((holders[term], term) for term in set(terms) if holders.get(term, 0))
    wanted: list[WantedTerm] = []
    budget = MOST_HOLDERS
    for number, term in known[:MOST_TERMS]:
        if wanted and number > budget:
            break
        budget -= number
        wanted.append(WantedTerm(term, len(wanted), rarity(corpus, number), 1, leads=True))
    return SearchPlan(tuple(wanted), 1, 1, corpus) if wanted else None

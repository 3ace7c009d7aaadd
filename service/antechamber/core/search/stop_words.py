"""Words that say little about what a text is about; written in the folded form of core.search_terms."""

import re
from typing import Final

_STOP: Final = """
    a about am an and any are as at be been being but by can could d did do does doing don else for from had has
    have having he her here him his how i if in into is isn it its just ll m may me might mine must my no nor not of
    on onto or our ours out re s shall she should so some such t than that the their theirs them then there these
    they this those thus to too until up upon us ve very was we were what when where whether which while who whom
    whose why will with would you your yours
"""
_WEAK: Final = """
    actually after again all allow allowed already also always another anything around ask avoid away back bad
    become before best better big both call called cause certain change come comes complete correct correctly
    current currently describe different during each easy enough entire ever every everything exactly exist exists
    explain fact find first full fully general generally get gets getting give given go goes going good got happen
    happened happening happens help important inside instead issue kind know large last least less let like little
    long look lot main make makes making many mean means more most much necessary need needed needs never new next
    now number off often ok okay old once one only other over part person please possible prefer preferred problem
    properly purpose put question reason recommend recommended require required requirement requires right run safe
    same say second see set several show since small someone something sometimes sort special specific still sure
    take takes tell thing things think third time times today together try two type under use used uses using usual
    usually various want wants way whole within without word work working works wrong
"""
STOP_WORDS: Final = frozenset(_STOP.split())
"""Words that are neither indexed nor searched for."""
WEAK_WORDS: Final = frozenset(_WEAK.split())
"""Words that count for less in a question, because they are frequent in questions about anything."""
_HIRAGANA: Final = re.compile("[\u3041-\u309f]")
"""A word of one such character is a particle or an ending of Japanese, or a part of one."""


def is_weak(word: str) -> bool:
    """Return whether a word says little about what a question is about."""
    return word in WEAK_WORDS or _HIRAGANA.fullmatch(word) is not None

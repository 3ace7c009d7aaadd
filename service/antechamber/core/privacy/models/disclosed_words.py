"""Disclosed words: words and phrases that a text discloses to its reader as a password or passphrase.

Such words look like any others, so that a linear model weighs their place in the sentence, the words themselves and
those around them. Its weights come from labelled texts (`scripts/train_disclosed_secrets`). Words near a word for
passwords, networks or what is encrypted are judged, and of them only those whose place is one of passwords.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from antechamber.core.privacy.automata import compile_pattern
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.models.hashed_weights import LinearModel, read_shipped
from antechamber.core.privacy.models.value_words import LONGEST_KEPT, Around, forms_of_word, parts_near, reach_of
from antechamber.core.privacy.values.letters import is_random_word
from antechamber.core.privacy.values.noise import is_placeholder
from antechamber.core.privacy.values.phrases import is_compound
from antechamber.core.privacy.values.words import PLAIN

PLACES: Final = 1 << 18
"""Weights of the model."""
_KNOWN: Final = 1 << 14
"""Places of words, and words at a place, whose weights are kept."""
_BEFORE: Final = 110
"""Characters before a phrase that are read, …"""
_BEHIND: Final = 50
"""… and behind it."""
_AHEAD: Final = 100
"""Characters from a phrase to a cue behind it, …"""
_AFTER: Final = 140
"""… and from the beginning of a cue to a phrase behind it."""
_LETTER: Final = "A-Za-z\u00c0-\u024f\u0386-\u04ff\uac00-\ud7af"
_UNSPACED: Final = "\u3005\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts without blanks between words."""
_UNSPACED_BEGIN: Final = "\u3005"
_WORD: Final = (
    rf"(?>[{_LETTER}](?:[{_LETTER}'’+&._-]*[{_LETTER}])?)(?![0-9=@/\\#$%^*~|_&+-])"
    r"|[0-9]{1,4}(?=[\s,;:!?\"”’»」』)\]。、，]|\.(?![0-9])|\Z)"
)
_TOKEN: Final = re.compile(
    rf"({_WORD}|[{_UNSPACED}]{{1,60}}(?:[0-9]{{1,4}}[{_UNSPACED}]{{1,30}}){{0,3}})"
    rf"|[0-9{_LETTER}](?:[!-~§’{_LETTER}]*[#-&*+/-9=@-Z\\^_a-z|~{_LETTER}])?|\n|\S"
)
"""A word, a small number or a run of an unspaced script as group 1; a value, a line break, or another sign.

A value ends before the quotation mark or bracket that closes what it is in.
"""
_NAME: Final = re.compile("[a-z]+(?:_[a-z]+)+|[A-ZÀ-Þ]+(?:_[A-ZÀ-Þ]+)+")
"""The name of a variable, which may be anything."""
_NAMING: Final = re.compile("passw|passphrase|credential|secret|token|kennwort|contrase|motdepasse", re.IGNORECASE)
"""What names of code have in them that are about secrets, such as `verifyPassword`."""
_VALUE: Final = "<value>"
_BLANK: Final = re.compile(r"\s")
_SHORTEST: Final = 4
"""Characters of a single word beside a sign, …"""
_SHORTEST_WITHIN: Final = 7
"""… and of one between two words, where most are."""
_LONGEST: Final = 70
"""Characters of a phrase or word."""
_MOST_WORDS: Final = 8
_UNSPACED_SIZES: Final = range(2, 31)
"""Signs of a phrase in an unspaced script."""
_END: Final = re.compile("(?:です|でした|だよ|だ|ですが|就行|就可以|就好|即可|吧|哦|だった|だから|なので)$")
"""What follows a phrase in a sentence of such a script."""
_LINK: Final = re.compile("[はをがにでと是为為用入填写輸输成叫和说說答敲打念按到给給]")
"""The signs behind which a phrase begins in such a script, …"""
_PARTICLE: Final = re.compile("[とでをにがって就]")
"""… and before which it ends."""
_WORDS: Final = (
    r"pass[wp]|pass[:=-]|pass is|passe\b|pwd\b|pw[ :=]|phrase|frase|satz\b|wi-?fi|wlan|ssid|kennw|losung|mdp\b|contrase"
    r"|clave|senha|parola|palabra|palavra|code ?word|crypt|chiff|cifr|schlüssel|zip\b|protected|protég|proteg|geschützt"
    r"|entpack|log(?:ged)? ?in|sign in|anmeld|unlock|entsperr|déverr|desbloq|sésame|credential|keepass|wachtwoord|hasło"
    r"|geheim|secret"
)
_WORDS_OF_OTHERS: Final = "арол|фраз|비밀번호|암호"
_WORDS_OF_SIGNS: Final = "密码|密碼|口令|短语|密语|暗号|暗號|解压|加密|パス|合言葉|フレーズ|暗証|ログイン|解凍|復号|開"
CUES: Final = f"(?i:{_WORDS})|{_WORDS_OF_OTHERS}|{_WORDS_OF_SIGNS}"
"""Words for what such a phrase opens; the rule has the same as its prefilter."""
_CUE: Final = compile_pattern(CUES)
_LEAST: Final = 0.1
"""What the place of a phrase exceeds before its words are weighed; one of 40 phrases that are secrets does not."""
_LEAST_ALONE: Final = 0.0
"""What its place and its words exceed before those around are; one of 30 does not."""
_MOST_TOKENS: Final = 6_500
"""Words and signs of a text that are read, …"""
_MOST_PLACED: Final = 2_500
"""… and its phrases that are looked at; a text with more of either is not checked."""
_LENGTH: Final = 9
"""Binary logarithm of the characters of a text that cost one unit of effort; …"""
_TOKENS: Final = 8
"""… the number of words and signs that do, …"""
_PLACED: Final = 1
"""… and the binary logarithm of the number of phrases that do; …"""
_ALONE: Final = 6
"""… the effort of a phrase whose place is one of passwords, …"""
_AROUND: Final = 15
"""… and of the words around it."""


class PlacedPhrase(NamedTuple):
    """Words that may be a secret, with their span in the text, and the word or sign on each side."""

    kind: str
    """`p`: a phrase; `u`: one that begins in a script without blanks; `w`: a word; `j`: words joined by signs."""
    words: tuple[str, ...]
    start: int
    end: int
    before: str
    behind: str

    @property
    def place(self) -> tuple[str, str, str, int, int]:
        """What its features have that depend on its place and size."""
        return self.kind, self.before, self.behind, len(self.words), min((self.end - self.start) // 4, 10)

    @property
    def is_usual(self) -> bool:
        """Whether this is a single word that is a name of code, a compound, or one that texts on passwords have."""
        word = self.words[0]
        return self.kind in "wj" and (
            word.lower() in PLAIN
            or is_compound(word)
            or _NAME.fullmatch(word) is not None
            or _NAMING.search(word) is not None
        )


class WordsModel(LinearModel):
    """A linear model of words and phrases, their places and the words around them."""

    def __init__(self, weights: Sequence[float], bias: float, unit: float = 1.0) -> None:
        super().__init__(weights, bias, unit)
        self._of_place = lru_cache(maxsize=_KNOWN)(self._weigh_place)
        self._of_placed = lru_cache(maxsize=_KNOWN)(self._weigh_placed)

    def score_place(self, phrase: PlacedPhrase) -> float:
        """Return the part of the score that depends on the place of a phrase alone."""
        may_keep = len(phrase.before) <= LONGEST_KEPT >= len(phrase.behind)
        return (self._of_place if may_keep else self._weigh_place)(*phrase.place) * self._unit

    def score_alone(self, phrase: PlacedPhrase) -> float:
        """Return the part of the score that depends on the place of a phrase and its words."""
        return self.score_place(phrase) + self._sum_of(features_of_words(phrase)) * self._unit

    def score_around(self, phrase: PlacedPhrase, text: str) -> float:
        """Return the rest of the score: that of the words around a phrase of a text, and the bias."""
        around, kind = _around(phrase, text), phrase.kind
        weight = self._sum_of(around.pairs(kind))
        for place, key in around.placed():
            weight += (self._of_placed if len(key) <= LONGEST_KEPT else self._weigh_placed)(kind, place, key)
        return weight * self._unit + self._bias

    def _weigh_place(self, *place: Any) -> float:
        return self._sum_of(features_of_place(*place))

    def _weigh_placed(self, kind: str, place: str, key: str) -> float:
        return self._sum_of(features_of_word(kind, place, key))


def features_of_place(kind: str, before: str, behind: str, words: int, size: int) -> Iterator[str]:
    """Yield the features that a phrase has by its place, the number of its words and its size."""
    yield f"kind {kind}"
    yield f"{kind} [{before}"
    yield f"{kind} {behind}]"
    yield f"{kind} [{before} {'' if behind.isalpha() else behind}]"
    yield f"{kind} words {words}"
    yield f"{kind} size {size}"


def features_of_words(phrase: PlacedPhrase) -> Iterator[str]:
    """Yield the features that a phrase has by its words."""
    kind, words = phrase.kind, phrase.words
    yield f"{kind} case {''.join(map(_case_of, words[:3]))}"
    if kind == "u":
        yield from (f"in {one}{other}" for one, other in pairwise("".join(words)))
    else:
        yield from (f"in {form}" for word in words for form in forms_of_word(word.lower()))
    if kind in "wj":
        yield from _features_of_letters(words[0])
    yield f"first {kind} {words[0][:1] if kind == 'u' else words[0].lower()}"
    yield f"last {kind} {words[-1][-2:] if kind == 'u' else words[-1].lower()}"


def _case_of(word: str) -> str:
    return "A" if word[0].isupper() else "0" if word[0].isdigit() else "a"


def _features_of_letters(word: str) -> Iterator[str]:
    """Yield the features of a single word."""
    if word.isupper():
        yield "capitals"
    elif any(one.islower() and other.isupper() for one, other in pairwise(word)):
        yield "hump"
    if is_random_word(word):
        yield from ("random", f"random {len(word) // 4}", "random letters")
    yield from (f"joint {sign}" for sign in sorted({sign for sign in word if not sign.isalpha()}))


def features_of_word(kind: str, place: str, key: str) -> Iterator[str]:
    """Yield the features of a word at a place around a phrase of a kind."""
    yield from (f"{place} {form}" for form in forms_of_word(key))
    yield f"{kind}{place} {key}"


def features_of(phrase: PlacedPhrase, text: str) -> Iterator[str]:
    """Yield the features of which a model adds the weights."""
    around, kind = _around(phrase, text), phrase.kind
    yield from features_of_place(*phrase.place)
    yield from features_of_words(phrase)
    yield from (feature for place, key in around.placed() for feature in features_of_word(kind, place, key))
    yield from around.pairs(kind)


def find_disclosed_words(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of words and phrases that a text discloses as secrets.

    Raises EffortSpentError at the end of the effort.
    """
    return find_with(shipped_model(), text, effort)


def find_with(model: WordsModel, text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield what a model finds in a text.

    Raises EffortSpentError at the end of the effort.
    """
    effort.spend(len(text) >> _LENGTH)
    placed = list(placed_phrases(text, effort))
    effort.spend(len(placed) >> _PLACED)
    done = 0
    for phrase in placed:
        if phrase.start < done or model.score_place(phrase) <= _LEAST or phrase.is_usual:
            continue
        effort.spend(_ALONE)
        alone = model.score_alone(phrase)
        if alone <= _LEAST_ALONE:
            continue
        effort.spend(_AROUND)
        if alone + model.score_around(phrase, text) > 0 and not is_placeholder(" ".join(phrase.words)):
            done = phrase.end
            yield phrase.start, done


def placed_phrases(text: str, effort: Effort) -> Iterator[PlacedPhrase]:
    """Yield the words and phrases of a text that are near a word for what they may open.

    A phrase is all that is between two signs, or the end of it.

    Raises EffortSpentError at the end of the effort, or if the text has too many.
    """
    row: list[re.Match[str]] = []
    before, number = "", 0
    for place, match in enumerate(_tokens_of(text)):
        if place % _TOKENS == 0:
            effort.spend()
            if place > _MOST_TOKENS:
                raise EffortSpentError
        if match is not None and match[1] is not None:
            row.append(match)
            continue
        sign = "" if match is None else match[0] if match.end() - match.start() == 1 else _VALUE
        for phrase in _phrases_between(row, before, sign) if row else ():
            number += 1
            if number > _MOST_PLACED:
                raise EffortSpentError
            yield phrase
        row, before = [], sign


def _tokens_of(text: str) -> Iterator[re.Match[str] | None]:
    """Yield the words, values, signs and blanks of the parts of a text that are near a cue; None ends a part."""
    done = 0
    for first, last in parts_near(_CUE, text, _AHEAD, _AFTER):
        begin = max(done, text.rfind(" ", done, first) + 1, text.rfind("\n", done, first) + 1)
        blank = _BLANK.search(text, last, last + 2 * _LONGEST)
        done = blank.start() if blank is not None else last + 2 * _LONGEST
        yield from _TOKEN.finditer(text, begin, done)
        yield None


def _phrases_between(row: list[re.Match[str]], before: str, behind: str) -> Iterator[PlacedPhrase]:
    """Yield the phrases of words in a row, between two signs."""
    words = [match[0] for match in row]
    lasts = [before, *(word.lower() if word[0] < _UNSPACED_BEGIN else _edge(word, -1) for word in words)]
    firsts = [*(word.lower() if word[0] < _UNSPACED_BEGIN else _edge(word, 0) for word in words), behind]
    last = len(row) - 1
    stop = row[last].end()
    for index, (word, match) in enumerate(zip(words, row, strict=True)):
        left, right, start, end = lasts[index], firsts[index + 1], match.start(), match.end()
        is_unspaced = word[0] >= _UNSPACED_BEGIN and _is_unspaced(word)
        if is_unspaced:
            yield from _unspaced_phrases(word, start, left, right)
        elif (_SHORTEST if index in (0, last) else _SHORTEST_WITHIN) <= end - start <= _LONGEST and not word.isdigit():
            yield PlacedPhrase("w" if word.isalpha() else "j", (word,), start, end, left, right)
        if 0 < last - index < _MOST_WORDS and stop - start <= _LONGEST:
            yield PlacedPhrase("u" if is_unspaced else "p", tuple(words[index:]), start, stop, left, behind)


def _edge(word: str, place: int) -> str:
    """Return the sign at an end of a run of an unspaced script; a word of another one as a whole."""
    return word[place] if _is_unspaced(word) else word.lower()


def _is_unspaced(word: str) -> bool:
    return word[0] >= _UNSPACED_BEGIN and not "\uac00" <= word[0] <= "\ud7af"


def _unspaced_phrases(run: str, start: int, left: str, right: str) -> Iterator[PlacedPhrase]:
    """Yield the phrases of a run of a script without blanks: all of it, or what is behind a link or before an end."""
    if len(run) in _UNSPACED_SIZES:
        yield PlacedPhrase("u", (run,), start, start + len(run), left, right)
    end = _END.search(run)
    stop, right = (end.start(), end[0][:1]) if end is not None else (len(run), right)
    links = [("", 0), *((link[0], link.end()) for link in _LINK.finditer(run, 0, stop))]
    for sign, first in links:
        before = sign or left
        if stop - first in _UNSPACED_SIZES and stop - first < len(run):
            yield PlacedPhrase("u", (run[first:stop],), start + first, start + stop, before, right)
        particle = _PARTICLE.search(run, first + _UNSPACED_SIZES[0], min(stop, first + _UNSPACED_SIZES[-1]))
        if particle is not None:
            last = particle.start()
            yield PlacedPhrase("u", (run[first:last],), start + first, start + last, before, particle[0])


def _around(phrase: PlacedPhrase, text: str) -> Around:
    return Around.read(text, phrase.start, phrase.end, reach_of(text, phrase.start, phrase.end, _BEFORE, _BEHIND))


@cache
def shipped_model() -> WordsModel:
    """Return the model that is part of this package."""
    return WordsModel(*read_shipped("disclosed_words.model", PLACES))


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "disclosed-words": find_disclosed_words
}

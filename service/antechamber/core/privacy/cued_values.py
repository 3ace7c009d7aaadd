"""Searches for random values in a sentence that names a password, a key or a token, or beside such a sentence.

A sentence hands out a random value in more ways than a list of links has: "X is what the cluster gave us for the
password", "the bearer was wrong. It works with X". So only the value and the words around decide: the value is long
and random, and no word says that it is a digest or an identifier. Each value costs a constant number of steps.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.access_values import is_encoded
from antechamber.core.privacy.automata import compile_pattern, search
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.letters import is_odd
from antechamber.core.privacy.noise import is_noise
from antechamber.core.privacy.passwords import is_generated
from antechamber.core.privacy.spoken_words import CUE, without_other_keys
from antechamber.core.privacy.values import share_of_changes

Search = Callable[[str, Effort], Iterator[tuple[int, int]]]

_REACH: Final = 130
"""Characters before and behind a value in which the word has to be."""
_PLACED: Final = 1
"""Effort of one long run …"""
_JUDGED: Final = 3
"""… of one different value in it …"""
_LOOKED: Final = 8
"""… and of the look around it."""
_SHORTEST: Final = 14
_VALUE: Final = re.compile(
    r"(?<![0-9A-Za-z_/.@:=#&$%+~\\<>{}\[\]*!?^,;|-])[!-~](?<![\"'`(\[{<>.,;:/\\])[!#-&*-;=?-Z^_a-z~]{12,79}(?![!#-&*-~])"
    r"|(?<![0-9A-Za-z_/.@:=#&$%+~\\<>{}\[\]*!?^|-])[0-9A-Za-z][0-9A-Za-z+/_-]{12,79}={0,2}(?![0-9A-Za-z_/@=({\[<>\\$%^|-])"
)
_LONGEST: Final = 82
_LONG_RUN: Final = b"a" * 12
_IS_ALNUM: Final = bytes(97 if chr(code).isalnum() else 32 for code in range(128)) + b" " * 128
"""Maps letters and digits to `a` and others to a blank."""
_SIGNED: Final = compile_pattern("(?:[0-9A-Za-z_-]{1,8}[!#$%^?@~+&*=]{1,2}){3}[0-9A-Za-z]")
"""Several rare signs among letters, as generated passwords have them."""
_TRAIL: Final = ".,;:!?)"
_SIGNS: Final = re.compile("[^0-9A-Za-z]+")
_PART: Final = re.compile("[0-9A-Za-z]+")
_LONG_WORD: Final = re.compile("[A-Z]?[a-z]{4,}|[A-Z]{5,}")
_HEX: Final = re.compile("[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64}")
_SHORTEST_DIGEST: Final = 32
_SMALL: Final = re.compile("(?=(?:[a-z]*[0-9]){4})[a-z0-9]{18,64}")
_DIGIT: Final = re.compile("[0-9]+")
_LEAST_NUMBERS: Final = 2
_LONG: Final = 24
"""Characters of a random value that may have a single number."""
_LEAST_RANDOM: Final = 16
_LEAST_CHANGES: Final = 0.35
_LEAST_CHANGES_OF_SMALL: Final = 0.4
_RARE_SIGNS: Final = frozenset("!#$%^?@~+&*")
_LEAST_SIGNS: Final = 3
_LONG_NUMBER: Final = 2
_OBJECT: Final = "eyJ"
"""How an object of JSON begins in base64; rules of their own judge tokens that consist of such parts."""
_ALGORITHM: Final = re.compile("(?:SHA|AES|RSA|MD|HMAC|PBE|DES|ECDH|UTF)[0-9]")
"""The names of algorithms in the names of code."""
_PER_WORD: Final = 16
_PER_WORD_WITH_SIGNS: Final = 26
"""Characters of a random value for each group of letters in it that might be a word."""
_KINDS: Final = (str.islower, str.isupper, str.isdecimal)
_SENTENCE: Final = re.compile(r"\0|\n[ \t]*\n|[.!?](?=\s)|[。！？]")
_PARAGRAPH: Final = re.compile("\0|\n[ \t]*\n")
_NAMED: Final = re.compile(
    r"(?i:\b(?:(?:open|union|app)?_?ids?|uuid|hash|commits?|sha-?[0-9]*|digest|checksum|fingerprint|empreinte|huella"
    r"|prüfsumme|builds?|version|tenants?|sessions?|clients?|devices?|customers?|objects?|records?|rows?|ticket|issue|order|trace|request|video"
    r"|document|sheet|folder|file|nonce|etag|revision|branch|job|run|channel"
    r"|integrity|public[ -]key(?:[ -]material)?|cid|objectid|address|adresse|tx|transaction|image|layer|model"
    r"|cookie name)s?)"
    r"\W{1,4}(?:\S{1,24}\W{1,3}){0,2}\Z|(?:编号|哈希|摘要|提交|指纹|コミット|ハッシュ|指紋|番号)\W{0,3}\Z"
)
"""What a value is named as, at most two words before it, if it is no secret."""
_BLOCK: Final = re.compile(r"[0-9A-Za-z+/]{30}[ \t]*\r?\n[ \t]*\Z")
_BLOCK_GOES_ON: Final = re.compile(r"[ \t]*\r?\n[ \t]*[0-9A-Za-z+/]{30}")
"""The neighboring lines of a line of a certificate or of other data in base64."""
_DIGEST: Final = re.compile(
    r"(?i:\b(?:hash(?:e[sd]|ing)?|commit\w*|sha-?[0-9]*|md5|digests?|blake[23]?[bs]?|somme|checksums?"
    r"|fingerprints?|empreinte|huella|prüfsumme"
    r"|revision|bisect|rebase[d]?|merged?|branch|images?|layers?|blobs?|etag|tra[cz][ea]s?(?:_?id)?|spans?|events?|evento"
    r"|requests?|uuid|ids?|git|builds?"
    r"|cert\w*|serial|thumbprint|nonce|salt|cache\w*|files?|objects?|block|tx|version)\b)"
    r"|\b(?:fix(?:ed|es)?|bugs?|corrig\w+|behoben)\b|修正|不具合|修复|日志|ログ|\blogs?\b|校验[值和码]|チェックサム"
    "|编号|哈希|摘要|提交|指纹|镜像|证书|コミット|ハッシュ|指紋|証明書|番号|リクエスト|トレース|イベント"
)
"""Words around a hexadecimal number that is a digest or an identifier."""
_MORE: Final = compile_pattern(
    r"(?i:(?:\A|[^a-z])(?:bearer|keys?|requirepass|app-?password|auth[a-zé]*|[a-zäöü]{3,20}schlüssel|clé|clave"
    r"|licen[cs]e|psk|pre-?shared|luks|restic"
    r"|(?:encrypt|decrypt|verschlüssel|chiffr|déchiffr|cifrad)[a-zé]*)"
    r"(?:\z|[^a-z0-9_]))|キー|鍵|密码|口令|加密|暗号|認証|入力|入れ|输入"
)
"""Further words for a secret, which are too frequent without a random value beside them."""
_SECRET_GROUPS: Final = {"hex": (2, 4)}
"""Groups of cues beside which a value of some kinds counts: a hexadecimal number is a key rather than a password."""
_ALL_GROUPS: Final = (1, 2, 3, 4)
_SHORT: Final = frozenset({b"pw", b"cle", b"cles"})
"""Words that are parts of many others, so that the prefilter does not look for them."""


def find_cued_values(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of random values near a word for a secret.

    Raises EffortSpentError if a text has too many values that could be one.
    """
    known: dict[str, str | None] = {}
    done = 0
    # One byte for each character, so that offsets are the same.
    for first, last in _spots(text.encode("ascii", "replace")):
        if first < done:
            continue
        effort.spend(_PLACED)
        begin, done = _token_around(text, done, first, last)
        # A value that begins before the end of this part may end behind it.
        for match in _VALUE.finditer(text, begin, done + _LONGEST):
            if match.start() >= done:
                break
            value = match[0].rstrip(_TRAIL)
            if value not in known:
                effort.spend(_JUDGED)
                known[value] = _kind_of(value)
            kind = known[value]
            start, end = match.start(), match.start() + len(value)
            if kind is not None and _is_cued(text, start, end, kind, effort):
                yield start, end


def _token_around(text: str, least: int, first: int, last: int) -> tuple[int, int]:
    """Return the span between two blanks, or less of it, in which a run is; it begins at `least` or behind it."""
    start = max(least, first - _LONGEST)
    # A run that goes on behind this is too long for a value, and the pattern has to see that.
    end = last + 2 * _LONGEST
    start = max(start, text.rfind(" ", start, first) + 1, text.rfind("\n", start, first) + 1)
    ends = [place for place in (text.find(" ", last, end), text.find("\n", last, end)) if place >= 0]
    return start, min([end, *ends])


def _spots(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the long runs of letters of both cases and digits, and the places with several rare signs."""
    signs = data.translate(_IS_ALNUM)
    place = signs.find(_LONG_RUN)
    while place >= 0:
        end = signs.find(b" ", place) % (len(signs) + 1)
        run = data[place:end]
        # Account numbers, short digests and words have letters of one case or no digit.
        if not (run.isalpha() or (len(run) < _SHORTEST_DIGEST and (run.isdigit() or run.isupper()))):
            yield place, end
        place = signs.find(_LONG_RUN, end)
    place = 0
    while (found := search(_SIGNED, data, place, len(data))) is not None:
        yield found[0]
        place = found[0][1]


def may_have_cued_value(data: bytes) -> bool:
    """Return quickly whether a text (UTF-8) may have such a value."""
    return next(_spots(data), None) is not None


def _kind_of(value: str) -> str | None:
    """Return how a value is random: `hex`, `small` or `mixed`; None if it is not, or something else."""
    if len(value) < _SHORTEST or value.startswith(_OBJECT) or is_noise(value) or _ALGORITHM.search(value):
        return None
    if _HEX.fullmatch(value):
        return "hex" if _DIGIT.search(value) and not value.isdecimal() else None
    if _SMALL.fullmatch(value):
        return "small" if share_of_changes(value) >= _LEAST_CHANGES_OF_SMALL else None
    return "mixed" if _is_signed(value) or _is_mixed(value) else None


def _words_in(value: str) -> list[str]:
    """Return the groups of letters in a value that might be words."""
    return [word for word in _LONG_WORD.findall(value) if not is_odd(word.lower())]


def _is_signed(value: str) -> bool:
    """Return whether a value has letters of both cases, digits and several signs, and no word."""
    return (
        (is_generated(value) or len(_RARE_SIGNS.intersection(value)) >= _LEAST_SIGNS)
        and all(any(map(kind, value)) for kind in _KINDS)
        and not _words_in(value)
    )


def _is_mixed(value: str) -> bool:
    """Return whether letters of both cases and digits are in disorder, and no part between signs is a word."""
    body = _SIGNS.sub("", value)
    words = _words_in(value)
    return (
        len(body) >= _LEAST_RANDOM
        and all(any(map(kind, body)) for kind in _KINDS)
        and len(_DIGIT.findall(body)) >= (_LEAST_NUMBERS if len(body) < _LONG else 1)
        and share_of_changes(body) >= _LEAST_CHANGES
        and len(words) <= len(body) // (_PER_WORD if value.isalnum() else _PER_WORD_WITH_SIGNS)
        and not any(part.isdecimal() and len(part) > _LONG_NUMBER for part in _PART.findall(value))
        and not is_encoded(value)
    )


def _is_cued(text: str, start: int, end: int, kind: str, effort: Effort) -> bool:
    """Return whether a word for a secret is near, and none for something else."""
    effort.spend(_LOOKED)
    before = _PARAGRAPH.split(text[max(0, start - _REACH) : start])[-1]
    after = " ".join(_SENTENCE.split(text[end : end + _REACH])[: 2 if kind == "mixed" else 1])
    if _NAMED.search(before) or _BLOCK.search(before) or _BLOCK_GOES_ON.match(text, end):
        return False
    if kind != "mixed" and (is_digest_named(before) or is_digest_named(after)):
        return False
    beside = " ".join(_SENTENCE.split(before)[-2:])
    return any(_has_cue(part, kind) for part in (beside, after))


def is_digest_named(part: str) -> bool:
    """Return whether a part of a sentence speaks of a digest or an identifier."""
    return _DIGEST.search(part) is not None


def _has_cue(part: str, kind: str) -> bool:
    data = without_other_keys(part).encode(errors="replace")
    if kind != "hex" and search(_MORE, data, 0, len(data)) is not None:
        return True
    place = 0
    while (cue := search(CUE, data, place, len(data))) is not None:
        named = [data[slice(*cue[group])] for group in _SECRET_GROUPS.get(kind, _ALL_GROUPS) if cue[group][0] >= 0]
        if named and named[0].lower() not in _SHORT:
            return True
        place = cue[0][1]
    return False


LOOKS: Final[dict[str, Callable[[bytes], bool]]] = {"cued-values": may_have_cued_value}
SEARCHES: Final[dict[str, Search]] = {"cued-values": find_cued_values}

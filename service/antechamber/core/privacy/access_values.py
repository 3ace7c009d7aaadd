"""Searches for values that only a password looks like, in a sentence on access to something.

A sentence may hand out a password without a word for one: "use … to decrypt the dump", "the laptop opens with …". Such
a value is words with a sign between them and a number, a word with a number and a sign, or letters and digits in
disorder. Prose has almost no such values: none in 3,000 events of guidance, and about ten in 9,000 pieces of manuals
and code, most of them examples of passwords. Each value costs a constant number of steps.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from antechamber.core.privacy.automata import compile_pattern, compile_set, search
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.letters import is_odd
from antechamber.core.privacy.noise import is_noise
from antechamber.core.privacy.passwords import is_generated, is_pair_password, is_spoken_password, is_wordy
from antechamber.core.privacy.runs import as_text
from antechamber.core.privacy.spoken_words import CUE, without_other_keys
from antechamber.core.privacy.values import share_of_changes

Search = Callable[[str, Effort], Iterator[tuple[int, int]]]

_REACH: Final = 100
"""Characters before and behind a value in which the sentence has to speak of access."""
_BEFORE: Final = 4
"""Characters before a value that its pattern reads."""
_JUDGED: Final = 1
"""Effort of one different value …"""
_LOOKED: Final = 6
"""… and of the look around it."""
_WITH_DIGIT: Final = re.compile(r"(?<!\S)[^\s0-9]*+[0-9]\S*+")
"""What is between two blanks, with a digit."""
_VALUE: Final = re.compile(
    r"(?<![0-9A-Za-z_/.@:=#&$%+~\\<>{}\[\]*!?^-])(?<![.=] )(?<![\"']: [\"'])[!+*#@$%&]?"
    r"[0-9A-Za-zÀ-ÖØ-öø-ÿ](?:[0-9A-Za-zÀ-ÖØ-öø-ÿ]|[_&+#*!@%^$.-](?=[0-9A-Za-zÀ-ÖØ-öø-ÿ])){5,63}+[!?*@$%&+_#-]{0,3}"
    r"(?![0-9A-Za-z_/@=({\[<>\\$%^|-]|[.:][0-9A-Za-z_/]|[#&*+!][0-9A-Za-z_]|[\"'] ?:)"
)
_WORD: Final = "[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2,}"
_NEXT: Final = "[A-ZÀ-ÖØ-Þa-zß-öø-ÿ][a-zß-öø-ÿ]{2,}"
_CHOSEN: Final = re.compile(
    rf"(?P<signed>[!+*#@$%&]?{_WORD}(?:{_WORD})?(?:_{_NEXT}){{1,3}}_?[0-9]{{2,4}}[a-z]{{0,4}}[!?*@$%&_#+]{{0,3}}"
    rf"|[!+*#@$%&]?{_WORD}(?:{_WORD})?(?:[_&+#*!@]{_NEXT}){{0,2}}[&+#*!@]{_NEXT}(?:_{_NEXT})?[_&+#*!]?[0-9]{{1,4}}[a-z]{{0,4}}"
    rf"[!?*@$%&_#+]{{0,3}})"
    rf"|(?P<ended>[!+*#@$%&]?{_NEXT}a?[0-9]{{2,4}}(?:[@$%&#_*]|[!?@$%&#_*+-]{{2,3}}))"
    rf"|(?P<led>[!+*#@$%&]{_WORD}[0-9]{{2,4}}[!?*@$%&_#+]?|(?:[a-z]{{3,}})?{_WORD}(?:[A-Z][a-z]+)?[!#*&$][0-9]{{2,4}}[a-z]*)"
    rf"|(?P<dated>[!+*#@$%&]?{_WORD}(?:{_WORD})?[_+&#!$*@-][0-9]{{2,4}}[!?#$*+%@]{{1,2}}"
    rf"|{_WORD}[+&@][0-9]{{2,4}}|(?=[A-Z][a-z]*[0-9][a-z])[A-Z][a-z0-9]{{3,}}[!#$&*+_-][0-9]{{2,4}}[!?#$*+%@]?)"
    rf"|(?P<numbered>[0-9]{{2,4}}{_WORD}[_&+#*!@]{_NEXT})"
    rf"|(?P<leet>(?=[A-Za-z0-9]*[a-z][0-9][a-z])[A-Z][a-z0-9]{{3,}}[&+#*!]{_WORD}[0-9]{{0,4}})"
    rf"|(?P<loud>{_WORD}[0-9]{{2,4}}!)"
    rf"|(?P<hyphened>{_WORD}(?:-[A-Za-zÀ-ÖØ-öø-ÿ]{{2,12}}){{1,2}}-[0-9]{{2,4}})"
    rf"|(?P<joined>{_WORD}(?:(?:{_WORD})?-)?{_WORD}[a-z][0-9]{{2,4}})"
)
"""Words with signs or capitals between them and a number, as in `Harbor_Lights42`, or a word with number and sign."""
_TECHNICAL: Final = re.compile(
    r"(?:win|base|int|utf|sha|md|ipv|http|float|double|word|byte|bit|rev|server|version|step|test|part|group|class|level"
    r"|page|type|port|node|host|line|row|col|unit|phase|chapter|release|build)s?[0-9]+\W*\Z",
    re.IGNORECASE,
)
"""How names of formats, of types and of numbered things end."""
_MIXED: Final = (str.islower, str.isupper, str.isdecimal)
_SHORTEST_RANDOM: Final = 10
_LONGEST_RANDOM: Final = 44
_SHORTEST_WITH_DIGIT: Final = 12
"""Characters of a random value with a single digit, which names of code have too."""
_QUANTUM: Final = 4
"""Characters of base64 that are three bytes."""
_DIGIT: Final = re.compile("[0-9]")
_LEAST_CHANGES: Final = 0.5
"""Runs of one kind of character per character, …"""
_LONG: Final = 16
_LEAST_CHANGES_OF_LONG: Final = 0.35
_LEAST_NUMBERS: Final = 2
"""… and those of a long value, which has two numbers at least; names of code seldom have."""
_DIGITS: Final = re.compile("[0-9]+")
_CAMEL: Final = re.compile("[A-Z][a-z]{2,}")
_LONGER: Final = re.compile("[A-Z]?[a-z]{4,}")
_CHARACTERS: Final = (12, 16)
"""Characters of a random value per word with a capital in it, and per longer word; names of code have fewer."""
_GENERATED_SIGN: Final = re.compile("[!$#*&%]")
_LONG_WORD: Final = re.compile("[a-z]{4}|[A-Z]{4}|[A-Z][a-z]{3}")
_IDENTIFIER: Final = re.compile(
    "0x|BV1[0-9A-Za-z]{9}$|.*%[0-9A-F]{2}|(?:Cmd|Ctrl|Control|Alt|Shift|Option|Opt|Super|Win|Strg|Fn)[+-]"
)
"""A hexadecimal number, the id of a video, a name with an escape, and keys that are pressed together."""
_PARAGRAPH: Final = re.compile("\0|\n[ \t]*\n")
_SENTENCE: Final = re.compile(f"{_PARAGRAPH.pattern}|[.!?](?=\\s)|[。！？；]")
"""What divides the paragraphs of an event, and their sentences."""
_NAMED: Final = re.compile(
    r"\b(?:(?:open|union)?_?ids?|tenant|session|client|device|customer|object|record|row|uuid|hash|commit|sha|digest|checksum|fingerprint|builds?|version|ticket|issue|order|trace|request|video"
    r"|document|sheet|folder|file|class|function|method|interface|module|package|event|field|column|table|variable"
    r"|property|component|sensor|model|nonce|etag|hook|widget|struct|enum|revision|branch|job|run|channel"
    r"|public[ -]key(?:[ -]material)?)s?\W{1,4}(?:形如\W{0,2})?\Z",
    re.IGNORECASE,
)
"""What a value is named as, directly before it, if it is none for access."""
_ACCESS_WORDS: Final = (
    "unlocks?|unlocked|unlocking|decrypts?|decrypting|encrypted with|opens?|log(?:s|ged|ging)? ?(?:in|on|into)|login|"
    "sign(?:s|ed)? in|sudo|su|root|admin|passw[a-z]+|secrets?|credentials?|vpn|wi-?fi|wlan|keepass|laptop|nas|router|"
    "jump host|bastion|console|second line|pre-?shared|users?|username|web ?interface|mailbox|access code|asks?|asked|"
    "fritz!?box|livebox|freebox|bitwarden|elster|portal|printers?|scanners?|drucker|kopierer|gültig|gilt|sftp|prompts?|types?|key|account|auth[a-z]*|zip|archive|vault|bank|token|"
    "entsperr[a-z]+|verschlüsselt|öffne[tn]?|anmeld[a-z]+|einlogg[a-z]+|eingeben|tipp(?:e|st|en)|schlüssel[a-z]*|"
    "konto|zug[aä]ng[a-z]*|benutzer|"
    "chiffr[ée]+s?|déverrouill[a-zé]+|ouvre[a-z]*|tape[rsz]?|saisi[a-z]*|session|comptes?|clés?|accès|coll(?:e|es|er|ez)|"
    "copieu[a-z]*|demande|imprimante|routeur|boîtes?|caisses?|portail|réseau|lecteur|remplac[a-zé]+|poste|utilise|mdp|digicode|alarme|utilisateur|"
    "cifrad[oa]s?|desbloque[a-z]*|abre[a-z]*|entr[ae][a-z]*|teclee?[a-z]*|sesión|cuenta|llave|clave|acceso|ordenador|"
    "esc[áa]ner|impresora|red de|ingres[ae]|escrib[ae]|pantalla|lector|"
    "cámaras|palabra|pregunta|banco|cabecera|poniendo|alarma|usuario|servidor|invitado|"
    "desbloqueia[a-z]*|senha|chave|conta|acesso|digit[a-z]+|cofre|"
    "sblocc[a-z]+|apr[ei]|chiave|conto|accesso"
)
_ACCESS: Final = compile_pattern(
    rf"(?i:(?:\A|[^A-Za-z])(?:{_ACCESS_WORDS})(?:\z|[^a-z0-9_]))"
    r"|[0-9a-z]@[0-9a-z-]+\.[a-z]|开机|開機|用户|用戶|系统|解锁|解鎖|登|输|輸|打印机|复印机|后台|路由器|授权|密|令牌|账号|帐号|帳號|钥|凭|认证|打开|解压|su的|入れ|入っ|入る|入力|開き|開け|解除|復号|ログ|プリンター|カメラ|打って|複合機|管理画面|鍵|パス|トークン|認証|渡|"
    "教え|アカウント|ユーザー|接続|разблок|откр|войти|вход|ключ|парол|логин|введ|шифр|учётн|учетн"
)
_CONTINUED: Final = re.compile(r"[ ]?(?:[a-zß-öø-ÿ;,–—(]|[\u3040-\u30ff\u3400-\u9fff])")
"""What follows an exclamation mark that ends no sentence."""
_PLACE: Final = re.compile(
    r"(?i:\b(?:to|on|onto|into|in|at|from|of|via|for|the|our|an?|auf|am|im|zum|zur|der|die|das|den|dem|vom|du|la|le|les|"
    r"des|sur|au|en|el|los|del|al|no|na|do|da|su|il|lo)) \Z"
)
"""Words before the name of a place or a program."""


def find_access_values(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of values that only a password looks like, in sentences on access.

    Raises EffortSpentError if a text has too many values that could be one.
    """
    known: dict[str, bool] = {}
    empty: set[str] = set()
    for piece in _WITH_DIGIT.finditer(text):
        # What is before a piece decides too, as it may say that this is no value.
        around = text[max(0, piece.start() - _BEFORE) : piece.end()]
        if around in empty:
            continue
        found = [*_VALUE.finditer(text, *piece.span())]
        if not found:
            empty.add(around)
        for match in found:
            value = match[0]
            if value not in known:
                effort.spend(_JUDGED)
                known[value] = is_unmistakable(value)
            if known[value] and _is_for_access(text, *match.span(), effort):
                yield match.span()


def is_unmistakable(value: str) -> bool:
    """Return whether only a password looks like a value: chosen words with signs and a number, or random letters."""
    return (
        (_is_chosen(value) or is_random_value(value) or _may_be_generated(value))
        and not is_noise(value)
        and _IDENTIFIER.match(value) is None
        and not is_encoded(value)
    )


def is_encoded(value: str) -> bool:
    """Return whether a value is a text in base64, which is judged in its decoded form."""
    try:
        return len(value) % _QUANTUM == 0 and as_text(b64decode(value, validate=True)) is not None
    except ValueError:
        return False


def _is_chosen(value: str) -> bool:
    return _CHOSEN.fullmatch(value) is not None and _TECHNICAL.search(value) is None


def is_random_value(value: str) -> bool:
    """Return whether letters of both cases and digits are in disorder, unlike in a name of code."""
    return (
        (_SHORTEST_RANDOM if len(_DIGIT.findall(value)) > 1 else _SHORTEST_WITH_DIGIT) <= len(value) <= _LONGEST_RANDOM
        and value.isascii()
        and value.isalnum()
        and all(any(map(kind, value)) for kind in _MIXED)
        and (share_of_changes(value) >= _LEAST_CHANGES or _is_long_random(value))
        and _count_words(_CAMEL, value) <= max(1, len(value) // _CHARACTERS[0])
        and _count_words(_LONGER, value) <= len(value) // _CHARACTERS[1]
        and not is_wordy(value)
    )


def _may_be_generated(value: str) -> bool:
    """Return whether a value has a sign among letters of both cases and digits, in disorder and without a word."""
    return (
        len(value) >= _SHORTEST_RANDOM
        and _GENERATED_SIGN.search(value) is not None
        and _LONG_WORD.search(value) is None
        and is_generated(value)
    )


def _count_words(words: re.Pattern[str], value: str) -> int:
    return sum(not is_odd(word) for word in words.findall(value))


def _is_long_random(value: str) -> bool:
    return (
        len(value) >= _LONG
        and len(_DIGITS.findall(value)) >= _LEAST_NUMBERS
        and share_of_changes(value) >= _LEAST_CHANGES_OF_LONG
    )


def _is_for_access(text: str, start: int, end: int, effort: Effort) -> bool:
    """Return whether the sentence speaks of access, and does not name the value as something else."""
    effort.spend(_LOOKED)
    chosen = _CHOSEN.fullmatch(text, start, end)
    kind = chosen.lastgroup if chosen is not None else None
    part = _SENTENCE if kind in {None, "joined"} else _PARAGRAPH
    before = part.split(text[max(0, start - _REACH) : start])[-1]
    if _NAMED.search(before) or (kind in {"joined", "hyphened"} and _PLACE.search(before)):
        return False
    if kind == "loud" and _CONTINUED.match(text, end) is None:
        return False
    if kind is None and not before.rpartition("\n")[2].strip():
        # A row of letters that begins a line is rather data than a word of a sentence.
        return False
    words = (CUE,) if kind == "hyphened" else (CUE, _ACCESS)
    return any(_has_word(words, one) for one in (before, part.split(text[end : end + _REACH])[0]))


def _has_word(words: Iterable[Any], part: str) -> bool:
    data = without_other_keys(part).encode(errors="replace")
    return any(search(pattern, data, 0, len(data)) is not None for pattern in words)


_LOOK: Final = compile_set(
    r"[A-Z][A-Za-z\x{c0}-\x{ff}]{2,}[_&+#*!@-][A-Za-z_&+#*!@\x{c0}-\x{ff}-]*[0-9]",
    r"[A-Za-z\x{c0}-\x{ff}]{3}[0-9]{2,4}(?:[@$%&#_*]|[!?@$%&#_*+-]{2,3})(?:[^0-9A-Za-z_]|$)",
    r"[!+*#@$%&][A-Z][a-z\x{df}-\x{ff}]{2,}[0-9]{2}|[A-Z][a-z\x{df}-\x{ff}]{2,}[!#*&$][0-9]{2}",
    r"[a-z\x{df}-\x{ff}][_+&#!$*@-][0-9]{2,4}[!?#$*+%@]|[a-z\x{df}-\x{ff}]{2}[+&@][0-9]{2}|[0-9][a-z]+[!#$&*+_-][0-9]{2}",
    r"[A-Z][a-z0-9]{3,}[&+#*!][A-Z][a-z]{2}|[0-9A-Za-z][!$#*&%][0-9A-Za-z]",
    r"[0-9]{2}[A-Z][a-z\x{df}-\x{ff}]{2,}[_&+#*!@][A-Za-z\x{c0}-\x{ff}]",
    r"[A-Z][a-z\x{df}-\x{ff}]{2,}-?[A-Z][a-z\x{df}-\x{ff}]{3,}[0-9]{2}",
    "[a-z][0-9]{2,4}!|[A-Z][a-z\\x{df}-\\x{ff}]{2,}-[A-Za-z\\x{c0}-\\x{ff}-]+-[0-9]{2}",
    "[0-9][0-9A-Za-z]*[A-Z][0-9A-Za-z]*[a-z]|[a-z][0-9A-Za-z]*[A-Z][0-9A-Za-z]*[0-9]|[A-Z][0-9A-Za-z]*[0-9][0-9A-Za-z]*[a-z]",
)


def may_have_access_value(data: bytes) -> bool:
    """Return quickly whether a text (UTF-8) may have such a value."""
    return bool(_LOOK(data))


_WORD_WITH_NUMBER: Final = re.compile("[a-z]{4,}[_@]?[0-9]{1,4}[!?#]?")
_CAMEL_WITH_NUMBER: Final = re.compile("[a-z]{3,}[A-Z][a-z]{3,}_[0-9]{2,4}")


def is_account_password(value: str) -> bool:
    """Return whether a value behind an account is random, or two words with a number."""
    return (
        is_random_value(value)
        or _CAMEL_WITH_NUMBER.fullmatch(value) is not None
        or (
            _LONG_WORD.search(value) is None
            and all(any(map(kind, value)) for kind in _MIXED)
            and share_of_changes(value) >= _LEAST_CHANGES
        )
    )


def is_login_password(value: str) -> bool:
    """Return whether a value with which a sentence logs in is a password: strong, or a longer word with a number."""
    return is_pair_password(value) or (_WORD_WITH_NUMBER.fullmatch(value) is not None and is_spoken_password(value))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "account-password": is_account_password,
    "login-password": is_login_password,
}
LOOKS: Final[dict[str, Callable[[bytes], bool]]] = {"access-values": may_have_access_value}
SEARCHES: Final[dict[str, Search]] = {"access-values": find_access_values}

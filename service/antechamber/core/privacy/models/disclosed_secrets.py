"""Disclosed secrets: values that a text discloses to its reader as a password, key or code, in whatever words.

Lists of links between a word and its value ("is", "lautet") find the sentences that their author thought of. Here a
linear model judges each value by its characters and by the words around it, each with its place. Its weights come from
labelled texts (`scripts/train_disclosed_secrets`). Only values near a word for passwords, doors or accounts are judged.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from antechamber.core.privacy.automata import compile_pattern, compile_set
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.models.hashed_weights import LinearModel, read_shipped
from antechamber.core.privacy.models.value_words import (
    LONGEST,
    LONGEST_KEPT,
    SHORTEST,
    UNSPACED,
    WORD_OR_VALUE,
    Around,
    classes_of,
    features_of_characters,
    features_of_classes,
    forms_of_word,
    is_value,
    kinds_in,
    parts_near,
    reach_of,
)
from antechamber.core.privacy.values.noise import is_noise
from antechamber.core.privacy.values.phrases import is_compound

PLACES: Final = 1 << 18
"""Weights of the model."""
_KNOWN: Final = 1 << 14
"""Words at a place whose weights are kept."""
_BEFORE: Final = 100
"""Characters before a value that are read, …"""
_BEHIND: Final = 50
"""… and behind it."""
_ODD: Final = re.compile(r"[0-9_#$%&+@^~=!-]\S*+")
"""A digit or a sign of values, and what follows it up to a blank."""
_REST: Final = re.compile(r"\S++")
_SIGNS: Final = "\"'`´“”‘’„«»‹›「」『』《》【】()[]{}<>*,.:;!?…、。，；：！？（）"
"""What is around words and values and belongs to neither."""
_PLAIN: Final = re.compile(
    r"[A-Za-z][a-z]*(?:[./][A-Za-z][a-z]*)+[/()]*|[A-Za-z][a-z]*[-_][A-Za-z][a-z]*|[A-Z]+(?:_[A-Z]+)+|[/.~$@-]+[A-Za-z_./-]+"
    r"|~?v?[0-9]+(?:[.,:/][0-9]+)+|\\[Uux][0-9A-Fa-f]{2,8}|0x[0-9A-Fa-f]{1,8}|[0-9]+(?:ms|s|px|[KMG]i?B|%)|[A-Z]{1,4}[0-9]{1,3}|#[0-9]+|[A-Za-z_]+\.[A-Za-z_.]+"
    r"|[A-Za-z][\w-]*(?::[\w-]+){2,}|(?:user|usr|org|team|proj|project|acct|account|cus|evt|event|req|msg|thread|run|asst|batch|job|task|wf|trace"
    r"|span|conv|chat|doc|order|inv|ws|workspace|tenant|role)_[0-9A-Za-z]{6,40}|(?i:no|nr)\.?[0-9]+|[\w-]+(?:\.[\w-]+)+:[0-9]{2,5}|localhost:[0-9]{2,5}"
)
"""Names, paths, versions, times and sizes, of which technical texts have many; the pattern is quick."""
_CUT_OFF: Final = ("...", "\u2026")
"""What is behind the beginning of a value, or before its end, where a text shows a part of it."""
_NAMED: Final = re.compile(
    r"(?:(?:1password|argon2|bcrypt|scrypt|yescrypt|pbkdf2|blake[23]|oauth2|ed25519|utf-?8|base(?:16|32|36|58|62|64|85))[a-z]*[0-9]?"
    r"|(?:scram-)?sha-?[0-9]+|md[45]|hmac|aes-?[0-9]+|chacha[0-9]*|rsa-?[0-9]+|ed448|[xp]-?[0-9]{3,5}|secp[0-9]+[a-z][0-9]|curve[0-9]+"
    r"|[hrep]s(?:256|384|512)|utf-?16|fido2|u2f|2fa|wpa[23]?|x\.?509|pkcs[0-9]*|tls|ssl|ipv[46]|http[23s]?|neo4j|log4j[0-9]?"
    r"|(?:chat)?gpt|claude|gemini|llama|mi[sx]tral|codestral|qwen|deepseek|gemma|phi|whisper|dall-e|grok|sonnet|haiku|opus|command-r"
    r"|text-embedding|o[1345](?=-)|k[38]s|s3|ec2|i18n|l10n|win(?:dows)?[0-9]+|uuidv?[0-9])(?:[-_./][a-z0-9]+)*",
    re.IGNORECASE,
)
"""Algorithms, formats and programs with digits in their names, which sentences on secrets often have."""
_WORDS: Final = (
    # Passwords, keys and accounts.
    "pass[wpck]|pass[ :=.,]|passe |pwd|pw[ :=?]|pw[.,]|mdp|mot de|kennw|losung|contraseñ|contrasen|clave|senha"
    "|wachtwoord|hasło|lösenord|passord|adgangskod|salasana|heslo|şifre"
    "|parola|cred|secret|segre|geheim|token|jeton|key|clé|clef|llave|chiav|chave|schlüssel|schluessel"
    "|auth[ :_=-]|authen|authori[sz]|bearer|user|benutz|utilisat|usuari|utent|account|konto|compte |compte,"
    "|cuenta|admin|sudo|as root|root[:/]|root (?:with|mit|avec|con|und|and|et|y|/)"
    "|(?:an|als|for|für|como|comme|en) root|identifia|login|logs? (?:me |you )?in|logged in|sign(?:s|ed)? in"
    "|sign(?:ing|ed with)|anmeld|einlog|connect(?:s|ed|ing)? (?:as|with)|connect(?:e|er|ez)[ -]|connexion"
    "|conect|conexi"
    # Doors, devices and files.
    "|unlock|opens with|padlock|locker|lock (?:is|on|opens|code|takes)|locked"
    "|code (?:is|for|to|ist|für|zu|zum|zur|am|vom|est|de|du|pour|es|del)|codes?:|door code|pin code|access code"
    "|alarm code|zugangscode|türcode|codice|codigo|código|combina[tcis]|kombination|keypad|alarm| safe[ ,.:]"
    "|safe code|vault|tresor|coffre|caja|cofre|cassaf|door|side gate|the gate|gate code|tür|porte |puerta"
    "|la porta|cadenas|candado|lucchetto|schloss|wi-?fi|wlan|ssid|hotspot|router| pin[ :,.]|pin-|puk|crypt"
    "|chiff|cifr|zip|protect|protég|proteg|geschützt|recover|bios|luks|vpn|ssh|ftp|smtp|imap|ldap|vnc|snmp"
    "|mysql|psql|redis|rabbit|mongo|minio|kibana|jenkins|webhook|firewall|nas[ ,.:]|printer|drucker|imprimante"
    "|impresora|netflix|tablet|kiosk|kasse"
    # What a reader is to do.
    "|zugang|zugriff|öffn|sperr|eingeb|eintipp|tippe|kommst|kommt man|komme ich| rein[ ,.]|accès|acceso|accede"
    "|accesso|acesso|entra[rs ]|entre[rz] |ouvr|verrou|tape[rz]? |saisi|abre |abrir|abre,|desbloq|bloq|teclea"
    "|pulsa|digite |digita |digitar|digicod|type in|typed |enter |accepts|wants| asks|prompted|prompts for"
    "|verlangt|exige|demande |pide |acepta|get in|gets you in|let me in|answers to"
)
_WORDS_OF_SIGNS: Final = (
    "арол|люч|окен|비밀번호|비번|암호|키|토큰|"
    "密码|密碼|口令|密语|密語|密钥|密鑰|令牌|登|门|門|锁|鎖|解|验|驗|证|暗|账|帳|帐|输|輸|按|敲|凭|钥|鑰|碼|码|开|開|进|進|改|险|險|パス|合言葉|鍵|キー"
    "|トークン|シークレット|ログ|入|錠|ロック|番号|アカウント|打|認|署名|コード|金庫|網|网|连|連|用"
)
CUES: Final = f"(?i:{_WORDS})|{_WORDS_OF_SIGNS}"
"""Words for what a secret opens, one of which is near each value that is judged; the rule has the same as prefilter."""
_CUE: Final = compile_pattern(CUES)
_MAY_DISCLOSE: Final = compile_set(CUES)
_LONGEST_CUE: Final = 40
"""Characters of the longest such word, which begins that far before what it announces."""
_LEAST: Final = -0.7
"""What the characters of a value weigh at least for a look at the words around; one of 100 secrets weighs less."""
_MOST_READ: Final = 1_500
"""Values of a text that are read, …"""
_MOST_WORDS: Final = 6_000
"""… and values and words between them; a text with more of one of these is not checked."""
_APART: Final = re.compile(rf"\s|[{UNSPACED}]")
"""What divides a value from a word of its sentence; an identifier has none of it."""
_FEWEST_WORDS: Final = 2
"""Words around a value that is judged; a member of an object has one."""
_LENGTH: Final = 9
"""Binary logarithm of the characters of a text that cost one unit of effort; …"""
_READ: Final = 2
"""… the effort of a value that is read, …"""
_JUDGED: Final = 10
"""… and that of one near a word for what it opens."""


class PlacedValue(NamedTuple):
    """A value that may be a secret, with its span in the text and what is around it."""

    value: str
    start: int
    end: int
    around: Around


class ValueModel(LinearModel):
    """A linear model of values and the words around them."""

    def __init__(self, weights: Sequence[float], bias: float, unit: float = 1.0) -> None:
        super().__init__(weights, bias, unit)
        self._of_placed = lru_cache(maxsize=_KNOWN)(self._weigh_placed)
        # The classes of characters say nothing about a secret, so that they may be kept.
        self._of_classes = lru_cache(maxsize=_KNOWN)(self._weigh_classes)

    def score(self, placed: PlacedValue) -> float:
        """Return the score of a value; above 0 it is disclosed as a secret."""
        around = placed.around
        context = self._sum_of(around.pairs(kinds_in(classes_of(placed.value))))
        for place, key in around.placed():
            context += (self._of_placed if len(key) <= LONGEST_KEPT else self._weigh_placed)(place, key)
        return self.score_value(placed.value) + context * self._unit + self._bias

    def score_value(self, value: str) -> float:
        """Return the part of the score that depends on the value alone."""
        return (self._of_classes(classes_of(value)) + self._sum_of(features_of_characters(value))) * self._unit

    def _weigh_classes(self, classes: str) -> float:
        return self._sum_of(features_of_classes(classes))

    def _weigh_placed(self, place: str, key: str) -> float:
        return self._sum_of(f"{place} {form}" for form in forms_of_word(key))


def features_of(placed: PlacedValue) -> Iterator[str]:
    """Yield the features of which a model adds the weights."""
    value, around = placed.value, placed.around
    yield from features_of_classes(classes_of(value))
    yield from features_of_characters(value)
    yield from (f"{place} {form}" for place, key in around.placed() for form in forms_of_word(key))
    yield from around.pairs(kinds_in(classes_of(value)))


def find_disclosed_secrets(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of values that a text discloses as secrets.

    Raises EffortSpentError at the end of the effort.
    """
    return find_with(shipped_model(), text, effort)


def find_with(model: ValueModel, text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield what a model finds in a text.

    Raises EffortSpentError at the end of the effort.
    """
    for placed in placed_values(text, effort, model.score_value):
        if model.score(placed) > 0 and not (_is_other(placed.value) or _is_cut_off(text, placed.start, placed.end)):
            # A sign at the end of a sentence may be the last one of a password.
            yield placed.start, placed.end + text.startswith("!", placed.end)


def _is_cut_off(text: str, start: int, end: int) -> bool:
    return text.startswith(_CUT_OFF, end) or text.endswith(_CUT_OFF, 0, start)


def _is_other(value: str) -> bool:
    """Return whether a value is a placeholder, a mask, a compound, or the name of an algorithm or a program."""
    if _NAMED.fullmatch(value) is not None or is_compound(value):
        return True
    # A code may consist of one digit, such as 0000; other values that do are masks.
    return not value.isdigit() and is_noise(value)


def placed_values(
    text: str, effort: Effort, score_value: Callable[[str], float] = lambda _: 0
) -> Iterator[PlacedValue]:
    """Yield the values of a text that may be secrets: possible ones near a word for passwords, doors or accounts.

    Raises EffortSpentError at the end of the effort, or if the text has too many values.
    """
    effort.spend(len(text) >> _LENGTH)
    possible = [found for found in _values_of(text, effort) if score_value(found[0]) > _LEAST]
    for value, start, end in possible:
        first, last = reach_of(text, start, end, _BEFORE, _BEHIND)
        # The value itself may have such a word, as the keys of submissions do.
        around = f"{text[first:start]}\0{text[end:last]}"
        if _APART.search(around) is not None and _MAY_DISCLOSE(around.encode(errors="replace")):
            effort.spend(_JUDGED)
            placed = PlacedValue(value, start, end, Around.read(text, start, end, (first, last)).without_marks())
            if placed.around.count_words() >= _FEWEST_WORDS:
                yield placed


def _values_of(text: str, effort: Effort) -> Iterator[tuple[str, int, int]]:
    """Yield the values that may be near a word for what they open, each with its span.

    Raises EffortSpentError at the end of the effort, or if there are too many.
    """
    values = words = 0
    for start, end in _odd_parts(text):
        if _is_plain(text[start:end].strip(_SIGNS)):
            continue
        for match in WORD_OR_VALUE.finditer(text, start, end):
            words += 1
            if is_value(match[0]) and not _is_plain(match[0]):
                values += 1
                effort.spend(_READ)
                yield match[0], *match.span()
            if values > _MOST_READ or words > _MOST_WORDS:
                raise EffortSpentError


def _odd_parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between blanks, near a word for what is opened, that have a digit or a sign of values."""
    done = 0
    for first, last in parts_near(_CUE, text, _BEHIND + LONGEST, _BEFORE + _LONGEST_CUE):
        if last <= done:
            continue
        # What is between two blanks is read as a whole.
        done = max(done, text.rfind(" ", done, first), text.rfind("\n", done, first))
        rest = _REST.match(text, last)
        stop = rest.end() if rest is not None else last
        for odd in _ODD.finditer(text, done, stop):
            start, end = odd.span()
            yield max(done, text.rfind(" ", done, start) + 1, text.rfind("\n", done, start) + 1), end
            done = end
        done = stop


def _is_plain(value: str) -> bool:
    """Return whether a value is a word, or one of the usual ones of technical texts."""
    size = len(value)
    # A part without blanks may be as long as its text.
    return size < SHORTEST or value.isalpha() or (size <= LONGEST and _PLAIN.fullmatch(value) is not None)


@cache
def shipped_model() -> ValueModel:
    """Return the model that is part of this package."""
    return ValueModel(*read_shipped("disclosed_secrets.model", PLACES))


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "disclosed-secrets": find_disclosed_secrets
}

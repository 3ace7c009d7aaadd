"""Searches for passwords and other secrets that a sentence names, in several languages.

A cue ("password", "Kennwort", "密码") opens a window of the text. In the window, the first value after a link ("is",
"lautet", "为", a colon) that looks like a secret is a finding; a word that follows the cue directly and a value before
"as the password" are judged too. Each cue costs a constant number of steps.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.automata import Offsets, compile_set, search
from antechamber.core.privacy.disclosed_secrets import score_at
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.noise import is_name, is_reference
from antechamber.core.privacy.passwords import is_pair_password
from antechamber.core.privacy.phrases import is_hyphenated
from antechamber.core.privacy.spoken_links import is_digest_named, is_outcome, leads_to_no_value
from antechamber.core.privacy.spoken_values import ValueJudge
from antechamber.core.privacy.spoken_words import CUE, by_first_letter

Search = Callable[[str, Effort], Iterator[tuple[int, int]]]

_WINDOW: Final = 130
_BEFORE: Final = 90
_LONGEST_HASH_OF: Final = 18
_AFTER: Final = 30
"""Characters behind a hexadecimal number that may say what it is."""
_SENTENCE: Final = re.compile(r"[\n。！？]|[.!?](?=\s)")
_DENIED: Final = -1.2
"""The score of a value, by the model of disclosed secrets, below which it is none."""
_DIGIT: Final = re.compile("[0-9]")
_SCORED: Final = 10
"""Effort of that score, …"""
_CUED: Final = 3
"""… of one cue …"""
_WINDOWED: Final = 8
"""… and of each of its two windows in which a value is possible."""
_OPENING: Final = "\"'`“‘”„«「『《"
_CLOSING: Final = "\"'`”’“»」』》"
_VALUE: Final = (
    rf"(?:(?:«[ \xa0\u202f]|[{_OPENING}]+)(?P<quoted>[^{_OPENING}{_CLOSING}\n]{{4,80}}?)[ \xa0\u202f]?[{_CLOSING}]"
    r"|(?P<bare>[!#-+<?-Z\\^-{~0-9À-ž-][!-~§À-ž]{4,80}))"
)
_SIGN: Final = "[0-9\"'`“‘”„«「『《@#$%&*+=~^]|[a-z][A-Z]|[A-Z]{2}[a-z]|-[a-z]{3,9}-[a-z]{3,9}-"
_INNER: Final = rf"(?:{_SIGN}|[!,./:;?_|(){{}}<>\[\]\\][!-~À-ž]|[×÷]|[a-zß-ž][A-ZÀ-Þ]|[a-z-]{{12}})"
"""What each value has that may be a secret: a sign, a change of case, words joined by hyphens, or many letters."""
_POSSIBLE: Final = (
    rf"(?:(?:«[ \x{{a0}}\x{{202f}}]|[{_OPENING}])[^{_OPENING}{_CLOSING}\n]{{4}}|[!-~§À-ž]*{_INNER}[!-~§À-ž]*)"
)
"""A value that may be a secret, roughly; RE2 reads a text in a tenth of the time of the patterns for values."""
_FILLERS: Final = (
    "(?:(?:now|currently|still|always|just|simply|only|set|changed|reset|the|to|as|temporarily|called|as follows|"
    "literally|since (?:today|yesterday)|seit (?:heute|gestern)|"
    "jetzt|aktuell|nun|derzeit|immer|noch|einfach|wörtlich|nämlich|toujours|maintenant|actuellement|désormais|"
    "à savoir|namely|ahora|actualmente|"
    "siempre)[ ]"
    "|(?:まだ|現在|昨日|今日|先週|目前|仍然|还是)[ ]?){0,3}"
)
_LINKS: Final = (
    r"is|was|are|be|being|gilt|nach wie vor|weiterhin|schreibt sich|siendo|donc|i\.e\.|isn['’]t|not|but|now|from|"
    r"give (?:it|him|her|them)|to|with|equals|reads|says|use|try|enter|type|and|would be|were|s|paste|paste in|"
    r"remains|stays|bleibt|reste|lautet|lauten|ist|war|wäre|sei|seien|heißt|heisst|von|auf|mit|und|nicht|sondern|"
    r"jetzt|a|à|en|to|är|er|com|digite|(?:remplacé|changé) par|c['’]est|tape[rz]?|saisi[rs]?|entre[rz]?|est|sont|"
    r"était|avec|et|vaut|vale|cambi[oó] (?:a|por)|escrib[ae]|teclea|introduc[ei]|gib|gebt|tippe|nimm|wurde in|es|"
    r"era|va|son|con|y|also|pas|mais|maintenant|no|sino|ahora|é|não|mas|agora|è|non|ma|ora|da|на|не|но|а|это"
)
_DIGEST: Final = "(?<!sha1)(?<!sha256)(?<!sha384)(?<!sha512)(?<!md5)"
_SIGNS: Final = (
    f"{_DIGEST}[:=：＝]{{1,2}}>?|"
    "[-=]?->?[ ]|→|⇒|[/,，、(（]|改成了?|设成了?|改为|改為|设置为|设为|設為|換成了?|换成了?|更改为|ではなく|というのは|"
    "是|为|為|和|与|は|を|に|の|를|을|叫|用|が|、|는|은|输入?|輸入|填上?|栏?粘贴|たら"
)
_SIGN_STARTS: Final = "-:=：＝→⇒/,，、(（改设設置换換更でとというのは是为為和与を를을叫用がは는은输輸入たらに填栏粘"
"""The characters with which a link of signs begins."""
_LINK: Final = re.compile(
    rf"(?:(?<![a-zäöüßéèáíóúñа-яё])(?:{by_first_letter(_LINKS)})[ ]|(?=[{_SIGN_STARTS}])(?:{_SIGNS}))"
    rf"[ \t]*{_FILLERS}[*_]{{0,2}}(?={_VALUE})",
    re.IGNORECASE,
)
_RESOURCE: Final = re.compile(r"(?<![^\s\"'`=:(])arn:\S*\Z")
"""The beginning of the name of a resource of AWS."""
_DIGESTS: Final = re.compile("[0-9a-f]{32,128}|[0-9A-F]{32,128}")
_HASH_OF: Final = re.compile(
    r"(?i:\bhash(?:es|ing)? (?:de|of|der|des|für) |\bhash "
    r"|\b(?:cache|partition|primary|foreign|sort|public|idempotency)[ _-]|\böffentlich\w* )\Z"
)
"""What is before a cue that names no value: the hash function of passwords with its iterations, the key of a cache."""
_OTHER_NOUN: Final = re.compile(
    r"[ _-]?(?:provider|manager|service|class|type|policy|field|page|prompt|file|path|column|table|helper|plugin|"
    r"module|rotation|backend|engine|library|format|length|hash(?:er|ing)?|generator|form|validator|checker"
    r"|de cach[eé]|du cache|di cache|publique|p[úu]blica|pubblica)s?(?![a-z0-9])",
    re.IGNORECASE,
)
"""What a cue may describe without naming a value: a credentials provider is a class, and no credential."""
_DIRECT: Final = re.compile(
    rf"(?:[ \t]+{_FILLERS}"
    r"(?:(?:temporaire|provisoire|initial|temporal|provisional|temporário|provisório|temporanea|provvisoria) )?"
    r"(?:(?:wi-?fi|wlan|root|admin|sudo|ssh|vpn) |(?:(?:d[aoe]s?|del?|di|for|für|pour|per) [\w-]{2,20} ){1,2})?"
    rf"[*_]{{0,2}}|(?=[{_OPENING}])|(?<=[ぁ-ヿ一-鿿]))"
    rf"(?={_VALUE})"
)
_AS_WORDS: Final = (
    "(?:as|für|als|comme|como|de[ ]|is|was|ist|est|es|作为|作為|作爲|是|を|が|で|という|当[作做成]?|做|가|이|é|è"
    "|for)[ ]?"
    "(?:(?:the|your|its|our|an?|das|dein|unser|le|la|votre|el|su|tu|il|o|uma?|una?)[ ])?"
)
_AS: Final = re.compile(
    rf"(?<![!-~])(?={_VALUE}[ ]?{_AS_WORDS}(?:[\w-]+ ){{0,3}}[\w-]{{0,12}}$)",
    re.IGNORECASE,
)
_USE_WORDS: Final = "use|using|enter|type|try|with|nutze|verwende|benutze|utilise[rz]?|nehme|prends|us[ao]|utiliza"
_USE: Final = re.compile(
    rf"(?:(?<![a-z])(?:{_USE_WORDS})|"
    rf"使用|用)[ ]?(?={_VALUE}[ ]?(?:as|for|als|für|comme|como|pour|para|zum|beim|to|作为|作為|as[ ]the"
    "|when|if|whenever|wenn|falls|quand|lorsque|si|cuando)[ ])",
    re.IGNORECASE,
)
_WITH: Final = re.compile(rf"(?:(?<![a-z])(?:with|mit|avec|con|com)[ ]|[用以和])[ ]?(?={_VALUE}[ ]?$)", re.IGNORECASE)
_DASH: Final = re.compile(
    rf"(?<![!-~])(?={_VALUE}[ ](?:[—–-][ ]|(?:←|<-)[^\n]{{0,16}}|[—–]{{1,2}}[ ]?(?:这是|那是|これは|that(?:['’]s| is)"
    r"|das ist|c['’]est|es|é)[^\n]{0,24})$)"
)
_MAY_HOLD: Final = compile_set(
    rf"{_SIGN}|![^ \t\n]",
    rf"(?i:(?:{_LINKS})[ ]|{_SIGNS.removeprefix(_DIGEST)})[ \t]*(?i:{_FILLERS})[*_]{{0,2}}{_POSSIBLE}",
)
"""A window without the first of these has no value, and one without the second has none behind a link."""
_BEHIND_LINK: Final = 1
_MAY_PRECEDE: Final = compile_set(
    rf"{_POSSIBLE}[^{_OPENING}{_CLOSING}\n]*[{_CLOSING}]?[ ]?(?i:{_AS_WORDS})"
    r"(?:[^ \n]+ ){0,3}[^ \n]{0,12}\n?\z",
    rf"(?i:{_USE_WORDS}|使用|用)[ ]?{_POSSIBLE}",
    rf"(?:(?i:with|mit|avec|con|com)[ ]|[用以和])[ ]?{_POSSIBLE}[^{_OPENING}{_CLOSING}\n]*[{_CLOSING}]?[ ]?\n?\z",
    r" (?:[—–-] |(?:←|<-)[^\n]{0,16}|[—–][^\n]{2,30})\n?\z",
)
"""The same of values before what a cue names, for each of the patterns above."""
_PRECEDING: Final = (_AS, _USE, _WITH, _DASH)
_END: Final = re.compile(
    r"[.!?](?=\s)(?!\s(?:but|mais|sino|sondern|ma|mas|to)\s)(?!(?<=\?)\s(?:[Ii]t(?:['’]s| is)|->|→))|[。！？；\n]"
)
"""The end of a sentence; a question goes on in its answer, and what a sign at the end of a password divides."""
_GOES_ON: Final = re.compile(
    r"[.。!?][ \t]*(?:(?i:it(?:['’]s| is)|ours(?: is)?|mine is|(?:the )?(?:value|(?:new|right|current) one)(?: is)?"
    r"|paste in|type in|use|antwort|answer|(?:neu|gültig|richtig) ist|(?:er|es|sie) lautet|(?:seit \w+ |jetzt )gilt"
    r"|la (?:nôtre|nouvelle|bonne)|le (?:nôtre|nouveau|bon)|c['’]est|es la|agora é|a nova|o novo"
    r"|(?:la|el) (?:nuev[ao]|nuestr[ao]|buen[ao]|que pusimos))\b"
    r"|正式|新的|现在|我们的|改成|正しくは|新しい|現在|今は|値は"
    r"|(?=[A-Z][!-~]{5,40}[、，,]))"
)
"""The beginning of a sentence on what the one before names."""
_QUESTION: Final = r"[^?？\n]{0,60}[?？][\"'”“»」]?(?=\s)[ \t]*(?:(?:Antwort|Answer|Réponse|Respuesta|答え?)[:：][ ]?)?"
_ANSWER_BESIDE: Final = re.compile(rf"{_QUESTION}(?={_VALUE}[.,。]?(?:$|\s))")
"""A question for a password, and the value behind it."""
_ANSWER_BELOW: Final = re.compile(
    rf"{_QUESTION}\r?\n(?:[ \t]*\r?\n)?[ \t]*"
    r"(?:(?:<[^<>\n]{1,24}>|\[[^\[\]\n]{1,24}\]|[\w.@-][\w .@-]{0,23}[:：>]|[>*–-]{1,2})[ \t]*){0,2}"
    rf"(?={_VALUE}[ \t]*(?:$|[\n,，、]))"
)
"""The same with a value that begins the next line, behind a name or a sign of a list, and is alone in its clause."""
_BELOW: Final = re.compile(
    r"(?!\()[^\n.!?。！？]{0,60}?(?:[:：]|next line|below|n[äa]chste[nr]? Zeile|ligne suivante|línea siguiente|"
    r"linha seguinte|riga seguente|下一行|如下|(?:次の|以下の)(?:通り|とおり|行)[^\n]{0,6})"
    r"[.:。：]?[ \t]*\r?\n(?:[ \t]*\r?\n)?"
    rf"[ \t]*(?:[>*–-][ \t])?[*_`]{{0,2}}(?={_VALUE}[*_`]{{0,2}}[ \t]*(?:$|\n))",
    re.IGNORECASE,
)
"""A sentence that announces a value, which is alone on the next line."""
_CUES: Final = 5
_PASSWORD_GROUPS: Final = (1, 3)
_LOCK_GROUP: Final = 5
_NETWORK: Final = frozenset("wW")
"""The first letters of cues that are networks."""
_ACCOUNT: Final = re.compile("[a-z]+@[a-z]+[0-9]*")
"""An account on a machine, which answers a question for a login."""
_LOGIN: Final = re.compile(
    "log(?: ?ins?)?|sign in|connexion|connecte.*|entrar|.*sesi[óo]n|kommst du|kommt man|登[录錄]|ログイン",
    re.IGNORECASE,
)
"""Cues behind which a place is as frequent as a password."""
_HYPHENED: Final = re.compile(
    r"(?<=[ぁ-ヿ一-鿿])[^\n。！？A-Za-z]{0,12}[はの是为：「“][ ]?(?P<words>[a-z]{2,12}(?:-[A-Za-z]{2,12}){1,4})"
    r"[ ]?(?:です|だ(?![けっ])|でした|のまま|[。、，,」”]|$)"
)
_STORES: Final = ("key", "vault", "secret", "pass", "auth", "aws", "aes", "sha", "case", "base", "read", "non")
"""How names of programs and of properties begin that such a sentence may name."""
_PROGRAM: Final = re.compile(r"[A-Z][A-Za-z]{2,}[0-9]{1,2}(?:\.[0-9]{1,3})*")


def find_spoken_secrets(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of passwords and secrets that the sentences of a text name.

    Raises EffortSpentError if a text has too many cues.
    """
    done = place = 0
    judge = ValueJudge(effort)
    data = text.encode(errors="replace")
    offset = Offsets(data)
    while (cue := search(CUE, data, place, len(data))) is not None:
        effort.spend(_CUED)
        group = next(index for index in range(1, _CUES + 1) if cue[index][0] >= 0)
        # What is behind a cue may be the first character of another one.
        place = cue[group][1]
        start, end = map(offset, cue[group])
        if _OTHER_NOUN.match(text, end) is not None or _is_called(text, start, end):
            continue
        judge.is_password, judge.is_lock = group in _PASSWORD_GROUPS, group == _LOCK_GROUP
        judge.is_network = text[start : start + 1] in _NETWORK
        is_login = _LOGIN.fullmatch(text, start, end) is not None
        for span in _spans_of(text, start, end, judge):
            if span[0] < done or _is_denied(text, start, span, effort):
                continue
            if not ((is_login and _is_place(text[slice(*span)])) or _is_digest(text, start, span)):
                # A sign at the end of a sentence may be the last one of the password.
                done = span[1] + (text[span[1] : span[1] + 1] == "!")
                yield span[0], done


def _is_denied(text: str, start: int, span: tuple[int, int], effort: Effort) -> bool:
    """Return whether a value in the line of a cue is rather a ticket, a commit or a name, by the words around it."""
    value = text[slice(*span)]
    if "\n" in text[min(start, span[0]) : max(start, span[1])] or _DIGIT.search(value) is None:
        return False
    effort.spend(_SCORED)
    return score_at(text, *span) < _DENIED


def _is_digest(text: str, start: int, span: tuple[int, int]) -> bool:
    """Return whether a value is the digest of what a cue names, as in `the MD5 of the password list is …`."""
    if _DIGESTS.fullmatch(text, *span) is None:
        return False
    before = _SENTENCE.split(text[max(0, start - _BEFORE) : max(start, span[0])])[-1]
    after = _SENTENCE.split(text[span[1] : span[1] + _AFTER])[0]
    return is_digest_named(before) or is_digest_named(after)


def _is_place(value: str) -> bool:
    """Return whether a value is rather what one logs in to: a program with its version, or the name of a machine."""
    return _PROGRAM.fullmatch(value) is not None or is_hyphenated(value)


def _spans_of(text: str, start: int, end: int, judge: ValueJudge) -> list[tuple[int, int]]:
    """Return the spans of the secrets that a cue names: behind it, else before it, else in an answer."""
    spans = list(_find_after(text, end, judge)) or list(_find_hyphened(text, end, judge))
    for find, place in ((_find_before, start), (_find_answer, end)):
        if not spans and (span := find(text, place, judge)) is not None:
            spans.append(span)
    return spans


def _is_called(text: str, start: int, end: int) -> bool:
    """Return whether a cue is part of a resource's name, the end of a function's, or what a hash function hashes."""
    if _HASH_OF.search(text[max(0, start - _LONGEST_HASH_OF) : start]):
        return True
    if text[start - 1 : start] == ":":
        first = text.rfind("arn:", max(0, start - _BEFORE), start)
        return first >= 0 and _RESOURCE.match(text, first, start) is not None
    return text[start - 1 : start] in {"_", "."} and text[end : end + 1] == "("


def _find_after(text: str, start: int, judge: ValueJudge) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values in the rest of the sentence that look like secrets: an old and a new one."""
    window = text[start : start + _WINDOW]
    window = _its_sentence(window)
    possible = _MAY_HOLD(window.encode(errors="replace"))
    if not possible:
        return
    judge.effort.spend(_WINDOWED)
    inside = 0
    direct = _DIRECT.match(text, start, start + len(window))
    if direct is not None and (span := judge.span(direct, linked=False)) is not None:
        yield span
        inside = span[1] - start
    for link in _LINK.finditer(window) if _BEHIND_LINK in possible else ():
        if link.start() < inside or leads_to_no_value(link, window):
            continue
        if link["bare"] and is_reference(link["bare"]):
            inside = link.end("bare")
            continue
        if (span := judge.span(link, linked=True)) is not None:
            yield start + span[0], start + span[1]
            inside = span[1]


def _its_sentence(window: str) -> str:
    """Return a text up to the end of its first sentence, or of the second one if that is about the same."""
    end = _END.search(window)
    if end is not None and _GOES_ON.match(window, end.start()) is not None:
        end = _END.search(window, end.end())
    return window if end is None else window[: end.start()]


def _find_hyphened(text: str, start: int, judge: ValueJudge) -> Iterator[tuple[int, int]]:
    """Yield the span of Latin words joined by hyphens that a sentence in Chinese or Japanese calls a password."""
    words = _HYPHENED.match(text, start, start + _WINDOW) if judge.is_password else None
    if words is not None and not words["words"].startswith(_STORES):
        judge.effort.spend()
        yield words.span("words")


def _find_answer(text: str, start: int, judge: ValueJudge) -> tuple[int, int] | None:
    """Return the span of the answer to a question for a password, or of a value on the next line."""
    end = start + _WINDOW
    answer = _ANSWER_BESIDE.match(text, start, end) if judge.is_password else None
    # A single word behind a question may be its subject, as in `Password forgotten? reset-link2`.
    if answer is not None and not is_pair_password(answer["bare"] or answer["quoted"]):
        return None
    if answer is None and judge.is_password:
        answer = _ANSWER_BELOW.match(text, start, end)
    answer = answer or _BELOW.match(text, start, end)
    if answer is None or _ACCOUNT.fullmatch(answer["bare"] or ""):
        return None
    return judge.span(answer, linked=True)


def _find_before(text: str, end: int, judge: ValueJudge) -> tuple[int, int] | None:
    """Return the span of a value that the text uses as what the cue names."""
    offset = max(0, end - _BEFORE)
    window = text[offset:end]
    possible = _MAY_PRECEDE(window.encode(errors="replace"))
    if not possible:
        return None
    judge.effort.spend(_WINDOWED)
    for index in sorted(possible):
        for match in _PRECEDING[index].finditer(window):
            value = match.start("quoted" if match["quoted"] else "bare")
            if is_name(match["bare"] or ""):
                continue
            if not is_outcome(window, value) and (span := judge.span(match, linked=True)) is not None:
                return offset + span[0], offset + span[1]
    return None


SEARCHES: Final[dict[str, Search]] = {"spoken-secrets": find_spoken_secrets}

"""Requests that work against the user, whatever their words: a sentence that has all parts of a frame.

A frame such as "skip a safeguard and act" names the kinds of words that such a sentence has, in any order and in eight
languages. A pattern for a phrase finds only that phrase. Each sentence is looked at once, by one automaton for all
kinds of words.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import re2

from antechamber.core.privacy.effort import Effort

_KINDS: Final = {
    "lift": (
        r"\b(?:skip|bypass|turn(?:ed)? (?:\w+ ){0,3}?off|switch(?:ed)? (?:\w+ ){0,3}?off|disable|leave out|"
        "do(?: not|n['’]t) (?:run|wait|bother)|no need (?:to|for)|without (?:waiting|running|asking|review|"
        r"tests|checking|confirmation|approval))\b|überspring|\b(?:umgeh|deaktivier|schalte?\b)|"
        r"brauch\w* keine|\bohne (?:prüfung|freigabe|rückfrage|durchsicht)|\b(?:omit[ea]|salt[ae]|desactiv)|"
        r"no hace falta|no es necesario|\bsin (?:esperar|revisar|ejecutar|preguntar)|\b(?:saute|désactiv|"
        r"contourn)|pas besoin|inutile d|\bsans (?:attendre|relecture|vérifi|lancer|demander)|\b(?:pule|"
        r"desativ)|não (?:é preciso|precisa)|\bsem (?:esperar|revis|executar|perguntar)|пропус(?:ти|кай)|"
        "отключ|не (?:жди|запускай|спрашивай)|без (?:проверки|ревью|подтверждения)|跳过|不用(?:跑|等|问|做)|"
        r"无需|不必|飛ばし|スキップ|待たず|聞かず|せずに|\bturn it off\b|nicht mehr nötig"
    ),
    "safeguard": (
        r"\b(?:tests?|test suite|reviews?|reviewers?|verification|signatures?|checksums?|"
        "permission (?:prompts?|dialogs?|requests?)|confirmations?|confirmation dialogs?|approvals?|audits?|"
        r"scanners?|sandbox|safety checks?)\b|prüfung|durchsicht|freigabe|bestätigung|signatur|\b(?:pruebas|"
        r"revisi[óo]n|firma|confirmaci[óo]n|permiso)|\b(?:relecture|vérification|signature|confirmation|"
        r"autorisation)|\b(?:testes|revisão|assinatura|confirmação|permissão)|тест|ревью|провер|подпис|"
        "подтвержден|разрешени|测试|评审|审核|审查|签名|验证|确认|テスト|レビュー|署名|検証|確認|承認|"
        r"\b(?:tool calls?|permission|secret scanning|destructive actions?)\b|prüf-hooks|rückfragen"
    ),
    "act": (
        r"\b(?:merge|push|deploy|install|publish|release|approve) (?:it|them|this|directly|anyway|at once|"
        r"immediately|straight|right away)\b|\b(?:merge|push|deploy|install|continue|proceed|"
        r"go ahead) anyway\b|sofort|\bfusiona\w* directamente|fusionne\w* directement|\bmescle direto|"
        "сразу (?:влив|слива|публик|выкат)|直接(?:合并|批准|执行|上线|发布)|そのままマージ|すぐにマージ|"
        r"\bso (?:that )?(?:nobody|no one) notices\b|\bschalte\b.*\bab\b"
    ),
    "self-approval": (
        r"\bapprove (?:\w+ )?(?:yourself|on your own)|\bjust approve\b|\balways (?:answer|say|click|choose|"
        r"""select) [\"“'«]?(?:yes|allow|approve|accept)|\banswer [\"“'«]yes|\bsay yes to (?:any|every|all)|"""
        r"genehmige\w* (?:\pL+ )?selbst|approuve\w* (?:\pL+ )?toi-même|aprueba\w* (?:\pL+ )?(?:tú mismo|"
        r"por tu cuenta)|aprove (?:\pL+ )?sozinho|одобряй (?:\pL+ )?сам|(?:自行|自己|直接)(?:批准|同意|"
        r"点确认)|人に聞かずに|\bapprove (?:every|all|any) [^.]*\bautomatically\b|\b(?:don[’\']t|never|"
        r"do not) need (?:to ask|the (?:human|user|owner)[’\']s (?:permission|approval))|\bnever need to ask\b"
    ),
    "say": (
        r"\b(?:report|say|write|tell|claim|state|inform|put|schreib|melde|sag|dis|indique|informe|di|diga|"
        r"escrib[ae]|escreva)\w*\b|пиши|сообщи|скажи|写|报告|汇报|告诉|書|報告|伝え|écri[st]"
    ),
    "good": (
        r"\b(?:passed|pass|green|completed|succeeded|successful|went well|is fine|all good|erfolgreich|"
        r"bestanden|passaram|concluíd\w+|pasaron|correctamente)\b|bien passé|\bse hizo\b|прошли|успешн|"
        "выполнен|通过|成功|完成|合格|完了|通った|réussi|terminé"
    ),
    "contrast": (
        r"\b(?:even though|even if|although|nobody checks|no one checks|auch wenn|obwohl|selbst wenn|même si|"
        r"bien que|aunque|aun si|incluso si|mesmo que|embora|ainda que)\b|даже если|хотя|即使|就算|哪怕|尽管|"
        r"ても成功|でも成功|のに|\bwhatever the (?:outcome|results?)\b|\b(?:but|and) leave the code\b|不管|"
        "无论|どうであれ"
    ),
    "failed": (
        r"\b(?:fail\w*|broke\w*|skipped|not run|never ran|did not|didn['’]t|fehl\w*|fall[aeo]\w*|falh\w*|"
        r"no se|nicht)\b|\bno$|упал|не прош|не выполн|没有?通过|失败|没有做|未通过|失敗|落ち|échou|"
        r"\bwhatever\b|\bleave the code\b|结果如何"
    ),
    "fake": (r"\b(?:make up|fabricate|invent|erfinde|inventez?|inventa)\b|придумай|выдумай|编造|捏造|でっち上げ"),
    "claim": (
        r"\b(?:claim|pretend|say|as if|behaupte|prétend\w*|finge|afirma)\b|утвержда|скажи|声称|谎称|装作|言っ|"
        r"\bprétends\b|声明"
    ),
    "spread": (
        r"\b(?:copy|add|write|put|append|insert|paste|pass|repeat|propagate|recopie|ajoute|copie|añade|copia|"
        r"agrega|pega|adicione|cole|kopiere|füge|schreibe)\b|скопируй|добавь|вставь|запиши|写进|写入|复制|"
        r"添加|粘贴|抄进|書き写|コピー|追記|追加|\bstelle? (?:ihn|sie|es) wieder her\b|grave-a|переда(?:й|вай)"
    ),
    "this-text": (
        r"\b(?:this (?:text|note|paragraph|entry|memory|message|line|instruction|rule)|these (?:directions|"
        "instructions|lines|rules|sentences)|cette (?:consigne|note|instruction)|ce (?:texte|paragraphe)|"
        "este (?:texto|párrafo|parágrafo|mensaje)|esta (?:nota|instrucción|instrução)|diesen? (?:text|absatz|"
        r"notiz|anweisung|hinweis|satz))\b|этот (?:текст|абзац)|эту (?:запись|заметку|инструкцию)|这段话|这条|"
        r"这段|本段|この(?:文|段落|指示|メモ|内容)|\bthese orders\b|\b(?:diesen|diese) (?:eintrag|regel)\b|"
        r"\besta (?:memória|regla|memoria)\b"
    ),
    "agent-place": (
        r"\b(?:claude|agents|gemini|memory|skill)\.md\b|\.cursorrules|\.claude/|\.cursor\b|\b(?:sub-?agents?|"
        r"other agents|agent files|instruction files|archivos de instrucciones)\b|すべての|各リポジトリ|"
        r"每一?个|\bcada (?:repositorio|proyecto|repositório|projeto)\b|\btod[oa]s l[oa]s (?:proyectos|"
        r"repositorios)\b|\ball projects\b|кажд\pL+ (?:agents|claude)|субагент"
    ),
    "hide": (
        r"\b(?:discreetly|secretly|covertly|under the radar|heimlich|unauffällig|discrètement|en secret|"
        r"en secreto|a escondidas|discretamente)\b|незаметно|тайком|悄悄|偷偷|暗中|こっそり|密かに"
    ),
    "not-told": (
        r"\b(?:should|must|need|may)(?: not|n['’]t) (?:learn|hear|know|find out)\b|"
        r"\bn['’]en parle\w* (?:surtout )?(?:pas|jamais)|\bque (?:el|la) \pL+ no se entere|\berwähn\w+ (?:das|"
        "es|dies) (?:weder|nicht|nie)|не говори (?:об этом|никому)|别告诉|不要告诉|知られない|言わないで|内緒"
    ),
    "concealment": (
        r"\bkeep (?:the|this) (?:\w+ ){0,2}?to yourself\b|\bleave this (?:entry|note|memory) out\b|"
        r"\bdeny that (?:you|it)\b|\bno mention (?:of it |of this )?in the\b|\bnever reveal that\b|"
        r"\bsay (?:that )?you don['’]t know\b|\bdo(?: not|n['’]t) bring (?:it|this) up\b"
    ),
    "person": (
        r"\b(?:users?|persons?|humans?|reviewers?|maintainers?|owners?|nobody|anyone|nutzer|benutzer|prüfer|"
        r"utilisateur|relecteur|usuario|revisor|usuário)\b|пользовател|ревьюер|用户|评审|审核|维护者|ユーザー|"
        "レビュ"
    ),
    "send": (
        r"\b(?:send|post|mail|mailed|e-?mail|upload|include|paste|push|attach|forward|transmit|poste|envoi\w*|"
        r"envoy\w*|transmet\w*|envía|sube|pega|manda|publica|envie|cole|schick\w*|sende|lade)\b|отправ|"
        "загрузи|вставь|发送|发到|上传|贴到|推送|送信|送って|貼"
    ),
    "secret-thing": (
        r"\bdatabase_url\b|\b[A-Z]+_(?:KEY|TOKEN|SECRET)\b|\b(?:private key|ssh key|environment variables?|"
        "access keys?|aws keys?|credentials|passwords?|les clés|mots? de passe|contraseñas?|claves|senhas?|"
        r"passw[oö]rt\w*|zugangsdaten)\b|~/\.(?:aws|ssh|npmrc|netrc|kube)|парол|密码|密钥|凭证|环境变量|"
        r"パスワード|秘密鍵|環境変数|\bapi keys?\b|\bclés d['’]api\b|(?:^|[^0-9A-Za-z])\.env\b"
    ),
    "outside": (
        r"https?://|\b(?:commit message|public (?:issue|comment|gist|channel)|comentario público|"
        r"commentaire public|pastebin)\b|mailed to|公开|公開|öffentlich|\btelemetry\b|[\w.+-]+@[\w-]+\.\w"
    ),
    "condition": (
        r"\b(?:when|once|if|as soon as|whenever|the day|sobald|wenn|falls|dès que|quand|cuando|quando|"
        r"assim que)\b|когда|как только|если|等|一旦|当|とき|たら|le jour où"
    ),
    "talk": (
        r"\b(?:says?|mentions?|the word|the phrase|asks about|comes up|parlera|parle de|aparezca|la palabra|"
        r"mencione|mencionar|a palavra|erwähnt|das wort)\b|слово|упомян|提到|说出|という(?:言葉|単語)"
    ),
    "harm": (
        r"\b(?:delete|wipe|erase|drop the|push the contents|leak|open the port|disable (?:the )?(?:alerts?|"
        r"logging)|efface\w*|borra|desactiva|abre el puerto|apague|lösch\w*)\b|отключи|удали|сотри|删掉|删除|"
        "关闭|消し|削除"
    ),
    "role": (
        r"\b(?:pretend|persona|maintenance mode|act as|you are now|tu so, als|fais comme si|finge|actúa|"
        r"faça de conta)\b|\bthe model before\b|представь|притворись|假装|扮演|ふりを|なりきって|"
        r"\byou (?:now )?play\b|\bswitched to\b|\bpersona unlocked\b"
    ),
    "free": (
        r"\b(?:no (?:limits|refusals|restrictions)|unrestricted|bound by none|never applied|before alignment|"
        "safety training|without (?:limits|restrictions|filters)|ohne (?:grenzen|regeln|filter)|"
        r"sans (?:limites|restrictions|filtre)|sin (?:límites|restricciones)|sem (?:limites|restrições))\b|"
        r"без (?:ограничений|цензуры)|没有限制|不受限制|制限のない|制限なし|\bno filters\b|"
        r"\bunrestricted mode\b|\blimits are lifted\b|\bnever turns down\b"
    ),
    "earlier": (
        r"\b(?:repository|earlier|previous|prior|former) (?:guidelines|directions|instructions|guidance|"
        r"orders)\b|\bsystem message\b|\bdirections from your\b|tudo o que o \pL+ (?:definiu|disse)|"
        r"tout ce que \pL+ (?:a|ont) (?:dit|défini)|todo lo que \pL+ (?:dijo|definió)|\b(?:original|initial|"
        r"first) (?:guidelines|directions|instructions|rules)\b|\bsystem prompt\b|\boperator['’]s (?:policy|"
        r"rules|instructions)\b|las normas que te dieron"
    ),
    "void": (
        r"\b(?:no longer counts?|outdated documentation|this note wins|(?:was|were) a draft|drop them|"
        r"disregard|desconsider\w+|oublie\w*|ignora\w*)\b|\b(?:guidance below|this note|this memory|"
        r"this entry) (?:replaces|wins|overrides)\b|\b(?:as|were|was|is) outdated\b|\bstop following\b|"
        r"\bside with this\b|\bdej[ae] de lado\b"
    ),
    "covert": (
        r"/dev/(?:tcp|udp)/[0-9a-z]|[?&]\w+=\$\((?:printenv|env|cat)\b|\b(?:resolve|look up|dig|"
        r"nslookup)\b.{0,60}<[^>]*(?:secret|token|key|hex)|[?&]\w+=<(?:the )?(?:file|path|contents?|secret|"
        r"token|conversation|history)[^>]*>|\bexecutes? whatever\b"
    ),
    "forbidden": (
        r"\b(?:never|do not|don['’]t|must not|should not|avoid|cannot|may not) (?:\w+ ){0,3}?(?:skip|bypass|"
        r"disable|turn (?:\w+ ){0,3}?off|commit|merge|push|send|post|share|paste|include|hide|delete|put|"
        r"upload|copy|publish|deploy|release|install|write|add)\b|\bne (?:\pL+ )?(?:saut|contourn|désactiv|"
        r"commit|pouss|envo|publi|partag|supprim|fusionn|met)\w* (?:pas|jamais)|\b(?:no|nunca|jamás) (?:te |"
        "se |lo |la |los |las )?(?:salt|omit|desactiv|sub|env[ií]|public|compart|fusion|guard|incluy|peg|"
        r"copi)\w+|(?:überspring|umgeh|deaktivier|schick|send|committe|pushe|veröffentlich|"
        r"lösch)\w* (?:\pL+ ){0,4}?(?:nie|niemals|nicht)\b|\b(?:não|nunca) (?:pul|desativ|envi|public|"
        r"compartilh|inclu|col|copi|comit)\w+|(?:не|никогда не) (?:пропускай|отключай|отправляй|публикуй|"
        "коммить|вливай|вставляй|копируй|удаляй)|(?:不要|切勿|禁止|不得|请勿|绝不|严禁)(?:把|"
        "将)?[^。，]{0,12}(?:跳过|关闭|提交|发送|上传|推送|泄露|写|粘贴|公开|复制|合并|删除)|(?:スキップ|"
        "無効に|コミット|公開|共有|マージ)し(?:ない|ては)|送らない|貼らない|含めない"
    ),
}
"""Kinds of words, each as an RE2 pattern; case is ignored."""


class _Frame(NamedTuple):
    """The kinds of words of a request; a sentence that forbids the act is none."""

    parts: frozenset[str]
    can_be_forbidden: bool = True


_FRAMES: Final = (
    _Frame(frozenset({"lift", "safeguard", "act"})),
    _Frame(frozenset({"self-approval", "safeguard"})),
    _Frame(frozenset({"say", "good", "contrast", "failed"})),
    _Frame(frozenset({"fake", "claim"})),
    _Frame(frozenset({"spread", "this-text", "agent-place"})),
    _Frame(frozenset({"hide", "person"}), can_be_forbidden=False),
    _Frame(frozenset({"not-told", "person"}), can_be_forbidden=False),
    _Frame(frozenset({"concealment"}), can_be_forbidden=False),
    _Frame(frozenset({"send", "secret-thing", "outside"})),
    _Frame(frozenset({"condition", "talk", "harm"})),
    _Frame(frozenset({"role", "free"})),
    _Frame(frozenset({"earlier", "void"}), can_be_forbidden=False),
    _Frame(frozenset({"covert"}), can_be_forbidden=False),
)
_NAMES: Final = tuple(_KINDS)
_PATTERNS: Final = {name: re2.compile(f"(?i:{pattern})") for name, pattern in _KINDS.items()}
_SENTENCE: Final = re.compile(r"(?:[^.!?。！？\n\0]|[.!?](?=[^\s\"'`)*])){8,}[.!?。！？]?")
"""A sentence of some length: up to a full stop and white space, or the end of the line."""
_FORBIDDEN: Final = "forbidden"


def _compile() -> Any:
    found = re2.Set.SearchSet()
    for pattern in _KINDS.values():
        found.Add(f"(?i:{pattern})")
    found.Compile()
    # The method of the set itself, without the one around it that would encode a string.
    return found._set.Match  # noqa: SLF001


_LOOK: Final = _compile()


def find_hostile_frames(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the span of the parts of each sentence that has all parts of a frame.

    Raises EffortSpentError if there are too many sentences.
    """
    effort.spend(len(text) >> _LENGTH)
    frames = _frames_of(text)
    if not frames:
        return
    for sentence in _SENTENCE.finditer(text):
        words = sentence[0]
        effort.spend(len(words) >> _LENGTH)
        kinds = _kinds_of(words)
        for frame in frames:
            if frame.parts <= kinds and not (frame.can_be_forbidden and _FORBIDDEN in kinds):
                spans = [match.span() for part in frame.parts if (match := _PATTERNS[part].search(words)) is not None]
                start, end = min(first for first, _ in spans), max(last for _, last in spans)
                yield sentence.start() + start, sentence.start() + end
                break


def _kinds_of(text: str) -> set[str]:
    return {_NAMES[index] for index in _LOOK(text.encode(errors="replace"))}


def _frames_of(text: str) -> list[_Frame]:
    """Return the frames of which a text has all parts anywhere; most texts have none."""
    kinds = _kinds_of(text)
    return [frame for frame in _FRAMES if frame.parts <= kinds]


_LENGTH: Final = 8
"""Binary logarithm of the characters of a sentence that count as one unit of effort."""
SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"hostile-frames": find_hostile_frames}

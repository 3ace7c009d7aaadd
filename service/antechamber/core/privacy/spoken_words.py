"""The words with which a sentence names a password or another secret, in several languages."""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from typing import Final

from antechamber.core.privacy.automata import compile_pattern

_LOGIN_WORDS: Final = (
    "pass is|magic word|"
    "pass(?:word|phrase|code|wd)s?|[a-z0-9]{1,20}_pass|pwd|pw|logins?|log in|sign in|credentials?|creds|"
    "(?:root|admin|user|db|app)?passwor[dt]s?|[a-zäöüß]{1,20}(?:pass|kenn)wort|(?:zugangs|zugriffs)(?:code|daten|kennwort|passwort)|"
    "(?:kenn|zugangs)(?:wort|wörter)|lösungswort|"
    "losung|geheimwort|anmeld(?:en|ung|edaten)|kommst du|kommt man|"
    "(?:wi-?fi|wlan|wpa2?|network|netzwerk)[ -]?(?:key|schlüssel)|"
    "(?:wi-?fi|wlan|ssid)[^\n.;]{1,30}[ ,;](?:key|clé|clave)|"
    "(?:cl[ée]|clave|chave|chiave)(?: del| do| de la)? (?:wi-?fi|wpa2?|wlan)|"
    "mots? de passe|mdp|code d['’]acc[eè]s|phrase (?:secr[eè]te|de passe)|identifiants|secret partag[ée]|"
    "connexion|connecte[rz]?(?:-(?:toi|vous))?|shared secret|gemeinsames geheimnis|"
    "contrase(?:ñ|n)as?|clave(?: de acceso)?|frase de paso|credenciales|secreto compartido|"
    "entrar|(?:inici\\w+ (?:de )?|la )sesi[óo]n|"
    "senha|palavra[- ]passe|credenciais|(?:mud|alter|troc)[a-z]{1,3} a senha para|"
    "parola d['’]ordine|credenziali|cambiat[oa] la password in|"
    "(?:snmp )?community string|has[łl][oa]|wachtwoord(?:en)?|lösenord(?:et)?|adgangskoden?|passord(?:et)?|"
    "(?:the|my|new|la|le|mi|mon|key ?store|root|admin|db|router|guest|wi-?fi|login|temp) pass"
)
_KEY_WORDS: Final = (
    "token de acceso|(?:(?:api|access|auth|bearer|session|refresh|deploy|webhook|bot|personal access)[ _-]?)?tokens?|"
    "(?:api|access|secret|shared|private|encryption|signing|license|account|master|storage|auth|service|host|admin)"
    "[ _-]?keys?|unseal keys?|(?:(?:client|app|shared|signing|webhook)[ _-]?)?secrets?|secret_key_base|"
    "(?:use|using|with|is|enter|take) (?:the|this|our|my) key|(?:auth|access) code|"
    "(?:(?:zugangs|zugriffs|api|geheim|sitzungs|client|app|dienst|service)-?)?schlüssel|(?:zugangs|zugriffs)token|"
    "geheimnis(?: zum signieren)?|"
    "cl[ée]s?(?: (?:api|d['’]api|d['’]acc[eè]s|secr[eè]te|priv[ée]e))?|jeton(?: d['’]acc[eè]s)?|"
    "chiave (?:api|d['’]accesso|segreta|privata|di accesso)|segredo(?: do cliente)?|segreto|"
    "chave (?:(?:de |da )?api|de acesso|secreta|privada)|"
    "(?:llave|clave) (?:api|de (?:la )?api|secreta|privada)|secreto"
)
_LOCK_WORDS: Final = (
    "wi-?fi|wlan|(?:locked|encrypted|protected|opens?|unlocks?|unlocked|extracts?) (?:with|using)|"
    "(?:geschützt|verschlüsselt|öffnet sich|öffnen|entsperren) mit|"
    "(?:prot[ée]g[ée]e?|chiffr[ée]e?|s['’]ouvre|ouvrir) (?:par|avec)|"
    "(?:protegid[oa]|cifrad[oa]|abre|abrir) co[nm]|(?:protett[oa]|cifrat[oa]|si apre|aprire) con|"
    "(?:open|unlock|extract|decrypt|abrir|ouvrir|aprire|öffnen) (?:[^\\s:;.,!?]{1,16} ){0,3}(?:pdf|zip|xlsx|keepass)"
)
CUE: Final = compile_pattern(
    rf"(?i:(?:\A|[^A-Za-z])(?:({_LOGIN_WORDS})|({_KEY_WORDS}))(?:\z|[^a-z0-9_]))"
    "|(密码|密碼|口令|登[录錄]|凭据|凭证|パスワード|パスフレーズ|パス[はが：:、]|合言葉|暗証(?:番号|コード)?|"
    "ログイン|認証情報|密语|密語|"
    "비밀번호|비번|암호|[Пп]арол(?:ь|я|ем|и|ю)(?: (?:от|для|к) [а-яё-]{2,20})?|[Уу]чётные данные)"
    "|(密钥|密鑰|的 ?(?i:key) ?[是为]|令牌|秘钥|トークン|シークレット|秘密鍵|"
    "(?:(?i:api)|アクセス|共有|署名|認証|暗号化?)[ の]?(?:キー|鍵)|"
    "(?:(?i:api)|액세스|비밀|접근) ?키|토큰|시크릿|[Кк]люч(?:а|ом)? (?i:api|доступа)|[Тт]окен(?:а|ом)?)"
    rf"|(?i:(?:\A|[^A-Za-z])({_LOCK_WORDS}|加密的?(?:pdf|压缩包|文件|文档)用)(?:\z|[^a-z0-9_]))"
)
"""Names of passwords and logins as groups 1 and 3, names of keys and tokens as groups 2 and 4, and as group 5 what is
locked."""


def by_first_letter(alternatives: str) -> str:
    """Return the same alternatives by their first letters, so that a place of a text is tried once for each letter."""
    groups: dict[str, list[str]] = {}
    for words in re.split(r"\|(?![^(]*\))", alternatives):
        groups.setdefault(words[0] if words[0].isalpha() else words, []).append(words)
    return "|".join(
        words[0] if len(words) == 1 else f"{first}(?:{'|'.join(word[1:] for word in words)})"
        for first, words in groups.items()
    )

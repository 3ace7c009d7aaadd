"""What looks like a password or a secret and is none: references, masks, placeholders, addresses, paths and code."""

import re
from typing import Final

from antechamber.core.privacy.values.words import PLACEHOLDER

_FEWEST: Final = 2
"""Different characters of the shortest mask that is none."""
_LONGEST: Final = 1_024
_REFERENCE: Final = re.compile(
    r"""
    \$[A-Za-z_][A-Za-z_]*$ | \$[A-Z][A-Z0-9_]*(?:$|/) | \$\$?[{(\[] | \$env: | \$[a-z_]\w*(?:->|\[|\.)
    | \{\{ | %(?:24%)?7B | (?:3D)?=24=7B | \{%?[ ]?[A-Za-z_.-]*[ %]*\}?$ | \#\{ | @\{ | \W?_?[A-Z][A-Z0-9_]*%$
    | %\(?[a-z]\w*\)?[sd]?$ | %[A-Za-z_]\w*%$ | %[sdr]$ | <.*>?$ | \[[A-Za-z _.:-]*\]?$ | __\w+__$ | @@\w+@@$ | \#\w+\#$
    | @[A-Za-z][\w.-]*@$ | f["'][^"'\s]*\{[A-Za-z_]
    | (?:vault|op|env|file|secrets?|ssm|asm|sops|ref|ref\+\w+|key-?vault|awssm|aws|gcp|gcpsm|doppler|bws|kms|keyring
        |consul|secretsmanager|aws-secretsmanager|data|cmd|awsps|bao|k8s|from|lookup|bitwarden|1password|onepassword
        |lastpass|keepass|gopass|infisical|akeyless|conjur|akv|azurekeyvault)
      (?:://|:) (?!\S*[^\w./:\#@?=-])
    | (?:self|this|cls|os|process|config|cfg|settings|env|secrets|vars?|local|data|module|options|opts|args|params
        |request|req|ctx|user|props|state|inputs?|event|values|steps|needs|github|conf|environ)\.[A-Za-z_]
    | (?:MII[BC][0-9A-Za-z]jANBgkqhkiG9w0BAQEFAAOC|MIGfMA0GCSqGSIb3DQEBAQUAA4GN|M(?:Fk|HY)wE[Aw]YHKoZIzj0CAQ
        |MCowBQYDK2V|AAAA[BCE][23]Nz)
    | [\w.@-]{1,60}:\$\{?[A-Za-z_]\w*\}?$
    | (?:secret|path)=[A-Za-z][\w-]*/[\w/.-]+(?::\w+)?$
    | arn:aws | enc: | !(?:vault|ref|sub|getatt|importvalue|env|secret|include|join)\b
    | projects/[^/]+/secrets/ | @Microsoft\.KeyVault | %\{ | \S*\$\{\w | (?:https?|ftp|file|git|ssh|s3|gs|repo)://
    """,
    re.VERBOSE,
)
"""References to a value that is elsewhere (variables, templates, secret stores, addresses), and public keys."""
_BUILD_SECRET: Final = re.compile("(?:id=)?[A-Za-z][A-Za-z_.-]{0,40}[0-9]?,(?:src|source|env|type|target)=")
"""The secret of a build by its name and place, as `docker build --secret` takes it; a password has more digits."""
_DECODER: Final = re.compile(
    "(?:base64|binascii|codecs)[.](?:(?:urlsafe|standard|strict|url)_?)?"
    "(?:[ab](?:16|32|64|85)|decode|encode|a2b|b2a|hexlify|unhexlify)[a-z0-9_]*$",
    re.IGNORECASE,
)
"""A call of a decoder that gives the secret; its arguments are not part of the value."""
_ENCRYPTED: Final = re.compile(r"ENC[\[(]|vault:v[0-9]+:|A[Qg][A-D][0-9A-Za-z+/]{77}")
"""Values that SOPS, Jasypt, the transit engine of Vault and Sealed Secrets encrypted."""
_CODE: Final = re.compile(
    r"[A-Za-z_][\w.:>-]*[(\[]|[(\[{&|]|\*+[A-Za-z_(]|\)+(?:\.[a-z]|[,;:\])}])|\w+(?:::|->)|.*(?:\s--?[a-z]|=>|==[^=:]|!=|&&.|\|\|.|\(\)|\);?$|</|/>)|.*[{(\[]$"
    r"|.*[;}](?:return|const|let|var)(?:$|\W)|.*[:!](?:null|true|false|undefined|[01],\w+:)|.*\}\},|[A-Z_]+=/"
    r"|\w*\]\[|\\[\"'](?:[\w-]+\\?[\"']?$|\{\{)|[^{]*\}\}\\?$|(?:await|new|not|lambda|async|yield|return|typeof|function|const|let|var|def|if)\b"
)
SIGNED: Final = re.compile(r"[!*]+[A-Z][a-z]{2,}[._-]?[0-9]{2,4}|[A-Z][a-z]{2,}[._-]?[0-9]{2,4}[!#$%&*+?]{1,2}")
"""A password of a word and a year with a sign before or behind."""
_PUBLIC: Final = re.compile(
    r"[^@\s]*@sha256:[0-9a-f]{64}$|(?:%[sdifrvqx][^\w%]*){2,}$|(?:%2F[A-Za-z_-]{1,24}){2,}(?:%3F[\w%-]*)?$|.*\\\$env:[A-Z]"
    r"|[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|dev|local|internal|corp|lan|cloud|eu|de)(?::[0-9]{2,5})?$"
    r"|[A-Z]{2,8}-[0-9]{1,6}$|[A-Z]{2,}(?:_[A-Z]{2,}){2,}_?[0-9]{0,2}$|[A-Z]{3,8}[0-9]{5,8}:?$|_?[a-z]\w*(?:\.[a-z]\w*)*\.(?:Py[A-Z]\w*|(?:[A-Z]+[a-z]+){3,})$"
    r"|[~^]?v?[0-9]+\.[0-9]+\.[0-9]+-(?:alpha|beta|rc|pre|preview|dev|next|canary|snapshot|hotfix|patch|alpine|slim"
    r"|bookworm|bullseye|jammy|ubi)[.-]?[0-9]*(?:\.[0-9]+){0,2}$"
    r"|[0-9]{1,4}(?:\.[0-9]+){1,3}-[0-9a-f]{7,12}$|(?:Cmd|Ctrl|Control|Alt|Shift|Option|Strg)\+"
    r"|[\w.]*(?:Public|Private|Secret)Key$|RWQ[0-9A-Za-z+/]{50,53}=*$|B[0-9A-Za-z_-]{86}$|ssh-[a-z0-9-]{2,20}AAAA[BCE][23]Nz"
)
"""An image by its digest, a format, an escaped path, a variable of PowerShell, a ticket, names of hosts, variables and
classes, a version before its release or with a commit, and keys that are pressed together."""
_PROSE: Final = re.compile("[\u3001\u3002\uff0c\uff1b\uff08\uff09]|[\u3040-\u30ff\u3400-\u9fff]{3}")
"""A sentence in Chinese or Japanese, which have no blanks between words."""
_COLOR: Final = re.compile(
    "(?:(?:bold|italic|underline|bg|border)[: ]{1,2}){0,3}#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})(?:[;,)]|$)",
    re.IGNORECASE,
)
_DIGEST: Final = re.compile("(?:(?:hmac-)?sha[0-9]{0,3}|md5|blake[23][bs]?)[:-]", re.IGNORECASE)
_REGEX: Final = re.compile(r".*(?:\[\^?(?:A-Z|a-z|0-9|\\[wds])|\(\?[=!:<]|\\[dws](?:[+*{)]|$)|\]\{[0-9]|\.[*+]/)")
_MEMBER: Final = re.compile(r"[\w.?,;&-]*\w=[\"'\w\[({./~]|\?[\w.,;&-]*\w=")
"""A name with a value, such as `type=\"password\"`: not what the sentence names."""
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|txt|md|sh|env|pem|key|crt|cer|cfg|ini|conf|go|rs|java|rb|php"
    r"|html?|css|sql|log|xml|properties|local|example|db|csv|gz|zip|tar|tgz|zst|bak|dump|lock|service|tf|kt|swift|c|h|cpp|cs|vue|svelte)$"
)
_FOLDER: Final = re.compile(r"(?:~|\.{1,2}|[A-Z]:)?(?:[/\\][A-Z]?[a-z0-9@._-]{1,32}){2,}[/\\]?$")
"""A path of two or more names, such as the working folder that shells have in `PWD`."""
_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
_TEMPLATE: Final = re.compile(
    r".*(?:[$#@%]?\{[^{}]*\}|<[A-Za-z_][^<>]*>|\$\([a-z]{2}|\{\{|\}\}|\}[:@/]\{|\$[A-Z][A-Z0-9_]{2}|%\([A-Za-z_]\w*\)|[A-Za-z_]\w{2}\(|://)|[$@][A-Za-z_]{3}"
)
"""A value with a part that is replaced, a call, or an address."""
_MASK: Final = re.compile(
    r".*(?:\*\*\*|@@@|xxx|XXX|\.\.\.|…|••|●●|###|___|---|(?i:redacted|elided|omitted|masked|censored)|<|>)"
)
_COUNTED: Final = re.compile(
    r"(?i).*(?:0123456789abc|1234567890ab|abcdefghijkl|00112233445566|000102030405060|(?:deadbeef){2}|123456789012345)"
)
"""Characters in the order of the alphabet or of numbers, as documents and test vectors have them."""


def is_noise(value: str) -> bool:
    """Return whether a value is a reference, mask, placeholder, address, path, sentence, digest or piece of code."""
    return bool(
        len(value) > _LONGEST
        or is_reference(value)
        or _MASK.match(value)
        or _COUNTED.match(value)
        or len(set(value)) <= _FEWEST
        or PLACEHOLDER.fullmatch(value)
        or (_CODE.match(value) and not SIGNED.fullmatch(value))
        or _PUBLIC.match(value)
        or _FILE.match(value)
        or _FOLDER.match(value)
        or _MAIL.match(value)
        or _PROSE.search(value)
        or _COLOR.match(value)
        or _DIGEST.match(value)
        or _REGEX.match(value)
        or _DECODER.match(value)
        or _BUILD_SECRET.match(value)
    )


def is_placeholder(value: str) -> bool:
    """Return whether words refer to a value that is elsewhere, hide it, or ask for it."""
    return is_reference(value) or bool(_MASK.match(value) or PLACEHOLDER.fullmatch(value))


def is_reference(value: str) -> bool:
    """Return whether a value is encrypted, or refers to one that is elsewhere."""
    # A string within a string escapes the sign of a variable.
    return bool(_REFERENCE.match(value.lstrip("\\")) or _ENCRYPTED.match(value))


def is_member(value: str) -> bool:
    """Return whether a value is a name with a value of its own, such as `max_tokens=8192`."""
    return bool(_MEMBER.match(value))


def is_template(value: str) -> bool:
    """Return whether a value has a part that is replaced, is a regular expression or a digest, or is encrypted."""
    return bool(_TEMPLATE.match(value) or _REGEX.match(value) or _DIGEST.match(value) or _ENCRYPTED.match(value))

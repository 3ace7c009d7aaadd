"""Checks whether a value is a password or a secret, and not code, prose, a reference, a mask or a placeholder.

A pattern finds the place of a value (`password: …`); these checks judge the value alone. They read a value a constant
number of times.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from antechamber.core.privacy.letters import is_gibberish, is_random_word
from antechamber.core.privacy.phrases import (
    is_grouped,
    is_hyphenated,
    is_long_phrase,
    is_numbered,
    is_phrase,
    is_spaced,
)
from antechamber.core.privacy.values import changes_often, entropy_of, longest_run_of
from antechamber.core.privacy.words import PLACEHOLDER, PLAIN, TECHNICAL

_SHORTEST: Final = 6
_SHORTEST_QUOTED: Final = 5
_SHORTEST_SECRET: Final = 8
_LONGEST: Final = 1_024
_LEAST_BITS: Final = 2.7
_RANDOM_BITS: Final = 3.2
_RANDOM_LENGTH: Final = 20
_LEAST_DIGITS: Final = 2
_RANDOM_RUN: Final = 12
_LEAST_NUMBERS: Final = 2
_MIXED_BITS: Final = 3.9

_REFERENCE: Final = re.compile(
    r"""
    \$[A-Za-z_][A-Za-z_]*$ | \$[A-Z][A-Z0-9_]*$ | \$\$?[{(\[] | \$env: | \$[a-z_]\w*(?:->|\[|\.)
    | \{\{ | %(?:24%)?7B | (?:3D)?=24=7B | \{%?[ ]?[A-Za-z_.-]*[ %]*\}?$ | \#\{ | @\{ | \W?_?[A-Z][A-Z0-9_]*%$
    | %\(?[a-z]\w*\)?[sd]?$ | %[A-Za-z_]\w*%$ | %[sdr]$ | <.*>?$ | \[[A-Za-z _.:-]*\]?$ | __\w+__$ | @@\w+@@$ | \#\w+\#$
    | @[a-z][\w.-]*@$
    | (?:vault|op|env|file|secrets?|ssm|asm|sops|ref|ref\+\w+|key-?vault|awssm|aws|gcp|gcpsm|doppler|bws|kms|keyring
        |consul|secretsmanager|aws-secretsmanager|data|cmd|awsps|bao|k8s|from|lookup|bitwarden|1password|onepassword
        |lastpass|keepass|gopass|infisical|akeyless|conjur|akv|azurekeyvault)
      (?:://|:) (?!\S*[^\w./:\#@?=-])
    | (?:self|this|cls|os|process|config|cfg|settings|env|secrets|vars?|local|data|module|options|opts|args|params
        |request|req|ctx|user|props|state|inputs?|event|values|steps|needs|github|conf|environ)\.[A-Za-z_]
    | (?:MII[BC][0-9A-Za-z]jANBgkqhkiG9w0BAQEFAAOC|MIGfMA0GCSqGSIb3DQEBAQUAA4GN|M(?:Fk|HY)wE[Aw]YHKoZIzj0CAQ
        |MCowBQYDK2V|AAAA[BCE][23]Nz)
    | (?:secret|path)=[A-Za-z][\w-]*/[\w/.-]+(?::\w+)?$
    | arn:aws | enc: | !(?:vault|ref|sub|getatt|importvalue|env|secret|include|join)\b
    | projects/[^/]+/secrets/ | @Microsoft\.KeyVault | %\{ | \S*\$\{\w | (?:https?|ftp|file|git|ssh|s3|gs|repo)://
    """,
    re.VERBOSE,
)
"""References to a value that is elsewhere (variables, templates, secret stores, addresses), and public keys."""
_STORE: Final = re.compile(
    r"(?:1password|keepassxc|keepassx?[0-9]?|vault[0-9]?|bitwarden|lastpass|dashlane|passbolt|nordpass)[.,;:!?)\"']*$",
    re.IGNORECASE,
)
"""The program in which a password is kept."""
_BUILD_SECRET: Final = re.compile("(?:id=)?[A-Za-z][A-Za-z_.-]{0,40}[0-9]?,(?:src|source|env|type|target)=")
"""The secret of a build by its name and place, as `docker build --secret` takes it; a password has more digits."""
_DECODER: Final = re.compile(
    "(?:base64|binascii|codecs)[.](?:(?:urlsafe|standard|strict|url)_?)?"
    "(?:[ab](?:16|32|64|85)|decode|encode|a2b|b2a|hexlify|unhexlify)[a-z0-9_]*$",
    re.IGNORECASE,
)
"""A call of a decoder that gives the secret; its arguments are not part of the value."""
_ENCRYPTED: Final = re.compile(r"ENC[\[(]|vault:v[0-9]+:|Ag[A-D][0-9A-Za-z+/]{77}")
"""Values that SOPS, Jasypt, the transit engine of Vault and Sealed Secrets encrypted."""
_CODE: Final = re.compile(
    r"[A-Za-z_][\w.:>-]*[(\[]|[(\[{&*|]|\)+(?:\.[a-z]|[,;:\])}])|\w+(?:::|->)|.*(?:\s--?[a-z]|=>|==[^=]|!=|&&.|\|\|.|\(\)|\);?$|</|/>)|.*[{(\[]$"
    r"|.*[;}](?:return|const|let|var)(?:$|\W)|.*:(?:null|true|false|undefined)[},;]|[A-Z_]+=/"
    r"|\w*\]\[|\\[\"'](?:[\w-]+\\?[\"']?$|\{\{)|[^{]*\}\}\\?$|(?:await|new|not|lambda|async|yield|return|typeof|function|const|let|var|def|if)\b"
)
_SIGNED: Final = re.compile(r"[!*]+[A-Z][a-z]{2,}[._-]?[0-9]{2,4}|[A-Z][a-z]{2,}[._-]?[0-9]{2,4}[!#$%&*+?]{1,2}")
"""A password of a word and a year with a sign before or behind."""
_NAME: Final = re.compile(
    r"""
    (?:[A-Z][a-z]+){2,}\$[0-9]$ | [A-Za-z]\w*\$\.[A-Za-z$.]{4,}$ | [\w.]+!\.[A-Za-z]{4,}$ | SYS\$[A-Z]+(?:[:\[]|$)
    | [a-z][\w.\#-]*\{[a-z-]+: | .*(?:!important$|%[A-Z_]{3,}%|&(?:nbsp|quot|amp|lt|gt);) | ['"]\)\.[a-z]
    | [\w&!.-]+\.(?:docx?|xlsx?|pptx?|pdf)$
    """,
    re.VERBOSE,
)
"""Names in code and documents: an inner class without a name, a stream, a value that is not null, a logical name of
OpenVMS, a rule and a declaration of CSS, a variable of Windows, an entity of HTML, a call, a file."""
_PUBLIC: Final = re.compile(
    r"[^@\s]*@sha256:[0-9a-f]{64}$|(?:%[sdifrvqx][^\w%]*){2,}$|(?:%2F[A-Za-z_-]{1,24}){2,}(?:%3F[\w%-]*)?$|.*\\\$env:[A-Z]"
    r"|[~^]?v?[0-9]+\.[0-9]+\.[0-9]+-(?:alpha|beta|rc|pre|preview|dev|next|canary|snapshot)[.-]?[0-9]*$"
)
"""An image by its digest, a format, an escaped path, a variable of PowerShell, and a version before its release."""
_PROSE: Final = re.compile("[\u3001\u3002\uff0c\uff1b\uff08\uff09]|[\u3040-\u30ff\u3400-\u9fff]{3}")
"""A sentence in Chinese or Japanese, which have no blanks between words."""
_COLOR: Final = re.compile("#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})(?:[;,)]|$)", re.IGNORECASE)
_DIGEST: Final = re.compile("(?:sha[0-9]{1,3}|md5|blake[23][bs]?)[:-]", re.IGNORECASE)
_REGEX: Final = re.compile(r".*(?:\[\^?(?:A-Z|a-z|0-9|\\[wds])|\(\?[=!:<]|\\[dws](?:[+*{)]|$)|\]\{[0-9])")
_OBJECT: Final = re.compile("[a-z]+(?:-[a-z]+)+-[0-9a-f]{4,6}$")
"""The name of an object of Kubernetes that ends with a part of a hash."""
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+[0-9]?$|(?:[A-Z][a-z]+){2,}[0-9]?$")
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:|[\w.-]+)?(?:[/\\][\w.*@#?=-]+)+[/\\]?$")
_MEMBER: Final = re.compile(r"[\w.?,;&-]*\w=[\"'\w\[({]|\?[\w.,;&-]*\w=")
"""A name with a value, such as `type=\"password\"`: not what the sentence names."""
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+[0-9]{0,2}$")
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|txt|md|sh|env|pem|key|crt|cer|cfg|ini|conf|go|rs|java|rb|php"
    r"|html?|css|sql|log|xml|properties|local|example|db|csv|lock|service|tf|kt|swift|c|h|cpp|cs|vue|svelte)$"
)
_FOLDER: Final = re.compile(r"(?:~|\.{1,2}|[A-Z]:)?(?:[/\\][A-Z]?[a-z0-9._-]{1,32}){2,}[/\\]?$")
"""A path of two or more names, such as the working folder that shells have in `PWD`."""
_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
_TEMPLATE: Final = re.compile(
    r".*(?:[$#@%]?\{[^{}]*\}|<[A-Za-z_][^<>]*>|\$\([a-z]{2}|\{\{|\}\}|\$[A-Z][A-Z0-9_]{2}|%\([A-Za-z_]\w*\)|[A-Za-z_]\w{2}\(|://)|[$@][A-Za-z_]{3}"
)
"""A value with a part that is replaced, a call, or an address."""
_STRONG_SIGNS: Final = frozenset("!#$%^?@~+&*")
"""Signs that are rarer in code than its brackets, points and commas."""
_LEAST_SIGNS: Final = 2
_KINDS: Final = 4
_LEAST_CHANGES: Final = 0.6
"""Changes of the kind of character per pair of neighbors: 0.7 in random printable ASCII."""
_LONGEST_GENERATED: Final = 64
_ODD: Final = re.compile("[a-z][A-Z][0-9]{1,3}")
"""A short group that programs put in front of a word, such as `gR7`, and no technical term."""
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_MASK: Final = re.compile(
    r"(?i).*(?:\*\*\*|xxx|\.\.\.|…|••|●●|###|___|---|redacted|elided|omitted|masked|censored|<|>)"
)
_COUNTED: Final = re.compile(
    r"(?i).*(?:0123456789abc|1234567890ab|abcdefghijkl|00112233445566|000102030405060|(?:deadbeef){2}|123456789012345)"
)
"""Characters in the order of the alphabet or of numbers, as documents and test vectors have them."""
_HASH: Final = re.compile(
    r"(?i)(?:sha|md[0-9]|blake|b3|crc|xxh|hash|digest|e?tag_|checksum|sum_|integrity|commit|rev|git|tree|blob|cid|sri|nar"
    r"|fingerprint|img|image|layer|build|cache|file|trace|span|req)"
)
"""Prefixes of hashes and of identifiers that are no secrets."""
_JOINT: Final = re.compile(r"[-_./:,|\\ ~'\u2019]+")
_WORD: Final = re.compile(r"[^\W\d_]+")
_AFTER_PREFIX: Final = re.compile("^[0-9A-Za-z]*[_-]")
_HOST: Final = re.compile(r"@(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:[0-9]))(?::[0-9]{1,5})?(?:/\S*)?$")
"""The host behind an account and a password in an address."""
_NUMBERS: Final = re.compile("[0-9]+")
_VOWELS: Final = frozenset("aeiouy")
_CLASSES: Final = 3


def is_noise(value: str) -> bool:
    """Return whether a value is a reference, mask, placeholder, address, path, sentence, digest or piece of code."""
    return bool(
        len(value) > _LONGEST
        or is_reference(value)
        or _MASK.match(value)
        or _COUNTED.match(value)
        or len(set(value)) <= _LEAST_DIGITS
        or PLACEHOLDER.fullmatch(value)
        or (_CODE.match(value) and not _SIGNED.fullmatch(value))
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


def is_reference(value: str) -> bool:
    """Return whether a value is encrypted, or refers to one that is elsewhere."""
    return bool(_REFERENCE.match(value) or _ENCRYPTED.match(value))


def is_wordy(value: str) -> bool:
    """Return whether a value consists of words, numbers and technical terms, joined by the usual signs."""
    return all(
        not part
        or part.isdecimal()
        or (TECHNICAL.fullmatch(part) and not _ODD.fullmatch(part))
        or (_WORD.fullmatch(part) and not is_gibberish(part))
        for part in _JOINT.split(value.strip("'\"`()[]{}<>,;:.!?"))
    )


def _is_mixed(value: str) -> bool:
    """Return whether a value mixes letters with digits or signs as a password does."""
    return (
        any(map(str.isalpha, value))
        and not all(map(str.isalpha, value))
        and (not is_wordy(value) or _SIGNED.fullmatch(value) is not None)
    )


def _is_chosen(value: str) -> bool:
    """Return whether a value looks like what persons and programs choose as a password."""
    return (
        _is_mixed(value)
        or is_phrase(value)
        or is_numbered(value)
        or is_grouped(value)
        or is_random_word(value)
        or (value.endswith("!") and value[:-1].isalpha() and not _is_plain(value[:-1]))
    )


def is_spoken_password(value: str) -> bool:
    """Return whether a word of a sentence is a password; a word of a dictionary is none."""
    return (
        len(value) >= _SHORTEST
        and (_is_mixed(value) or is_long_phrase(value) or is_hyphenated(value) or is_random_word(value))
        and not is_noise(value)
        and not _PATH.match(value)
        and not is_member(value)
        and not _SNAKE.match(value)
        and not _STORE.match(value)
    )


def is_name(value: str) -> bool:
    """Return whether a value is rather a name in code or a document, if no word of the sentence calls it a password."""
    return bool(_NAME.match(value))


def is_member(value: str) -> bool:
    """Return whether a value is a name with a value of its own, such as `max_tokens=8192`."""
    return bool(_MEMBER.match(value))


def is_generated(value: str) -> bool:
    """Return whether a value mixes all kinds of characters as generators of passwords do, and not as code does.

    A random password is so full of signs that it resembles code, a template or a regular expression.
    """
    if not _SHORTEST_SECRET <= len(value) <= _LONGEST_GENERATED:
        return False
    kinds = [_kind_of(character) for character in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return (
        len(set(kinds)) == _KINDS
        and changes >= _LEAST_CHANGES * (len(value) - 1)
        and value.isascii()
        and not _TEMPLATE.match(value)
        and not _REGEX.match(value)
        and not _DIGEST.match(value)
        and not _ENCRYPTED.match(value)
        and not is_wordy(value)
    )


def is_random(value: str) -> bool:
    """Return whether a value is generated and has letters and digits in disorder, whatever signs are between them."""
    return is_generated(value) and is_secret(value)


def _kind_of(character: str) -> int:
    """Return the kind of a character: digit, small letter, capital or sign."""
    return 0 if character.isdecimal() else 1 if character.islower() else 2 if character.isupper() else 3


def is_bare_password(value: str) -> bool:
    """Return whether a value without quotation marks is a password, after a name and `=` or `:`."""
    if is_generated(value) and len(_STRONG_SIGNS.intersection(value)) >= _LEAST_SIGNS:
        return True
    value = value.rstrip(".,;:)")
    if value.isdecimal():
        return len(value) >= _SHORTEST and len(set(value)) > 1
    return len(value) >= _SHORTEST and _is_chosen(value) and not is_noise(value)


def is_lone_password(value: str) -> bool:
    """Return whether a value that ends its line is a password; here a plain word can be one."""
    return is_bare_password(value) or (
        len(value) >= _SHORTEST and value.isalpha() and not _is_plain(value) and not is_noise(value)
    )


def is_quoted_password(value: str) -> bool:
    """Return whether a value in quotation marks is a password, after a name and a separator."""
    if value != value.strip() or len(value) < _SHORTEST_QUOTED:
        return False
    if is_generated(value):
        return True
    if is_noise(value):
        return False
    if " " in value:
        return is_phrase(value) or is_spaced(value)
    if value.isdecimal():
        return len(set(value)) > 1
    return _is_chosen(value) or (value.isalpha() and not value.isupper() and not _is_plain(value))


def _is_plain(word: str) -> bool:
    return word.lower() in PLAIN or bool(_CAMEL.match(word)) or not word.isascii()


def is_secret(value: str) -> bool:
    """Return whether a value is a secret, after a name such as `token` or `api_key`: letters and digits, no words."""
    value = value.rstrip(".,;:)")
    if len(value) >= _RANDOM_LENGTH and is_random_word(value):
        return not is_noise(value)
    return (
        len(value) >= _SHORTEST_SECRET
        and not value.isdecimal()
        and not _UUID.match(value)
        and not _OBJECT.match(value)
        and not is_wordy(value)
        and entropy_of(value) >= _LEAST_BITS
        and (
            sum(map(str.isdecimal, value)) >= _LEAST_DIGITS
            or is_gibberish("".join(filter(str.isalpha, value)), _SHORTEST_SECRET)
        )
        and not is_noise(value)
    )


def is_random_token(value: str) -> bool:
    """Return whether the longest run of letters and digits in a value is random."""
    run = longest_run_of(value)
    return (
        len(run) >= _RANDOM_LENGTH
        and sum(map(str.isdecimal, run)) > _LEAST_DIGITS
        and sum(map(str.isalpha, run)) > _LEAST_DIGITS
        and entropy_of(run) >= _RANDOM_BITS
        and not is_noise(value)
    )


def is_prefixed_token(value: str) -> bool:
    """Return whether a prefix, which is none of a hash, is followed by a random part of letters and digits."""
    tail = _AFTER_PREFIX.sub("", value)
    run = longest_run_of(tail)
    return (
        not _HASH.match(value)
        and len(run) >= _RANDOM_RUN
        and all(any(map(test, run)) for test in (str.islower, str.isupper))
        and len(_NUMBERS.findall(tail)) >= _LEAST_NUMBERS
        and entropy_of(tail) >= _MIXED_BITS
        and changes_often(tail)
        and not is_noise(value)
    )


def is_prefixed_hex_token(value: str) -> bool:
    """Return whether a prefix before a hexadecimal number is none of a hash; a context word has to be near."""
    return not _HASH.match(value) and is_random_token(value)


def is_consonant_run(value: str) -> bool:
    """Return whether one of several groups of letters has no vowel, so that they are no words."""
    return any(not _VOWELS.intersection(group) for group in value.lower().split())


def is_command_password(value: str) -> bool:
    """Return whether an argument of a command is a password; a word of letters is none."""
    value = value.rstrip("\"'`.,;:)")
    return (
        len(value) >= _SHORTEST_QUOTED
        and not value.startswith("-")
        and (_is_mixed(value) or is_long_phrase(value) or is_hyphenated(value) or is_random_word(value))
        and not is_noise(value)
    )


def is_header_secret(value: str) -> bool:
    """Return whether the value of a header is a secret; here a UUID can be one."""
    return bool(_UUID.match(value)) or is_secret(value)


def is_pair_password(value: str) -> bool:
    """Return whether a word after a user name is a password: three kinds of characters, random letters or words."""
    value = _HOST.sub("", value).rstrip(".,;:)]}>")
    classes = sum(any(map(test, value)) for test in (str.islower, str.isupper, str.isdecimal, _is_sign))
    is_strong = classes >= _CLASSES or is_hyphenated(value) or is_random_word(value)
    return is_strong and is_spoken_password(value)


def _is_sign(character: str) -> bool:
    return not character.isalnum() and character not in "-_./\\:"


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "spoken-password": is_spoken_password,
    "bare-password": is_bare_password,
    "lone-password": is_lone_password,
    "quoted-password": is_quoted_password,
    "secret": is_secret,
    "random-token": is_random_token,
    "prefixed-token": is_prefixed_token,
    "prefixed-hex-token": is_prefixed_hex_token,
    "consonant-run": is_consonant_run,
    "command-password": is_command_password,
    "header-secret": is_header_secret,
    "pair-password": is_pair_password,
}

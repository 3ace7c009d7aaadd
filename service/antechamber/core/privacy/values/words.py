"""Words and technical terms that are no passwords where a text names one."""

import re
from typing import Final

PLAIN: Final = frozenset(
    """
    required optional invalid incorrect wrong missing empty expired weak strong secure insecure hidden masked
    encrypted hashed salted string text number boolean integer object array null none nil undefined true false
    default basic bearer digest plain plaintext bcrypt scrypt argon email username user users admin administrator
    root guest test tests testing postgres postgresql mysql redis rabbitmq mongo mongodb minio elastic neo4j sqlite
    oracle login logout input field form type prompt keyring vault environ environment secret secrets token tokens
    password passwords pass passwd passphrase passwort kennwort senha
    contrasena wachtwoord key keys value values name label placeholder disabled enabled never
    always rotate rotated reset forgot changed change update updated stored saved unknown unset auto manual manually
    generated random other public private visible blank stdin stdout getpass getenv environ process input readline
    yes prompted needed used unused shared protected provided supplied valid bytes char varchar secretstr sensitive
    credential credentials auth authentication authorization oauth session cookie header config configuration
    settings variable variables parameter argument option constant literal function method class module import
    export return const static final async await lambda erforderlich ungültig falsch abgelaufen leer notwendig
    anonymous geheim requis invalide incorrecte expiré oublié requerido inválida incorrecta caducada minioadmin
    """.split()  # noqa: SIM905 -- a list would take a line for each word
)
"""Words that follow the name of a password in prose, schemas and code."""
STOPWORDS: Final = frozenset(
    """
    a an the is are was be to of for in on at by or and not no if it its as with from that this your you our we must
    should can may will has have when then use used using enter please user users password passwords passphrase
    secret token key value field at least between characters letters und oder der die das ist nicht le la les est
    pas el los es de con para por
    """.split()  # noqa: SIM905 -- as above
)
"""Words that occur in sentences about passwords, and not in passphrases."""
NO_PHRASE: Final = (
    STOPWORDS
    | PLAIN
    | frozenset(
        """
        version release beta alpha build step phase part section chapter page line issue ticket rfc iso nist aes sha
        rsa hmac scram utf api app gpt claude python node java http https tls ssl ssh port host server service
        cluster region east west north south prod production staging dev
        """.split()  # noqa: SIM905 -- as above
    )
)
"""Words that passphrases are not made of."""
PROSE: Final = frozenset(
    """
    written down nowhere somewhere else kept known held lives living only inside outside every each both same
    different two three four five six seven eight word words lowercase uppercase long longer short shorter see ask read
    reads come comes taken loaded loads fetched sent given gives passed passes created chosen picked typed pasted copied
    via per during after before until once still also just currently mandatory unnecessary impossible possible more less
    than most least very too was were been being has had have does did done get gets got let lets like make makes made
    what where which who whose why how because since while whether either neither nor but yet here there now soon later
    again already often ever any anyone anything someone something everyone everything nobody nothing all some many few
    such own out off over under above below near per about against into onto upon within without through across along
    around split derived derive exported imported printed shown displayed logged leaked removed deleted added needs
    asked expected accepted rejected verified checked tested configured managed handled delivered entered empty
    separately together directly correctly automatically interactively offline online twice first second third last
    next previous new old english german diceware
    """.split()  # noqa: SIM905 -- as above
)
"""Words of sentences about passphrases; four others in a row, without any of these, are rather a passphrase."""
TECHNICAL: Final = re.compile(
    r"""(?ix)
    v?[0-9]+(?:st|nd|rd|th|x|k|m|g|h|s|d|kb|mb|gb|ms|ns|px|pt|em|min|mins|sec|secs|hours?|days?|weeks?|months?|years?
        |bits?|bytes?|chars?|digits?|fa|step|factor|way|plus|times)? |
    (?:user|host|server|node|db|app|vm|prod|staging|dev|env|worker|client|service|svc|web|api|box|cluster|region|zone
        |version|section|table|figure|line|page|row|col|run|job|task|item|group|team|account|org
        |repo|project)[0-9]{1,2} |
    v[0-9]+(?:[a-z]+[0-9]*)? | r[0-9]+ | rfc[0-9]+ | cve | sha[0-9]{1,3}(?:sum)? | md[245] |
    base(?:16|32|36|58|62|64|85)(?:url)?(?:encoded)? | b64 | oauth[12]? | [hrep]s(?:256|384|512) | ed(?:25519|448) |
    x(?:25519|509|86|64) | utf(?:8|16|32) | iso[0-9]+ | aes(?:128|192|256)? | gcm | cbc | rsa[0-9]* | ipv[46] | s3 |
    ec2 | k8s | k3s | i18n | l10n | h2 | h264 | p(?:12|256|384|521) | pkcs[0-9]+ | (?:pb)?kdf2 | argon2(?:id|i|d)? |
    [bs]crypt[0-9]{0,2} | oidc | saml[12]? | pkce | s256 | chacha20(?:poly1305)? | poly1305 | tlsv[123] | m[0-9]{4,6} |
    latin1 | cl100k | o200k | mp[34] | es(?:20[0-9]{2}|[0-9]) | http[123]? | web[23] | log4j | neo4j | auth0 |
    py(?:thon)?[23][0-9]* | node[0-9]+ | java[0-9]+ | go1 | [cd][0-9] | j2ee | d3 | blake[23][bs]? | crc32 |
    secp256[kr]1 | sqlite3 | boto3 | psycopg[23] | bs4 | tls[123]? | ssl[23]? | ntlmv2 | kerberos5 | u2f | fido2 |
    mfa | totp | 2fa | o365 | m365 | win32 | arm64 | amd64 | f[0-9]+ | q[1-4] | [a-z]{1,2}[0-9]{1,2} | [0-9]+[a-z] |
    east[12] | west[12] | (?:south|north)(?:east|west)[12] | central[12] | u[0-9a-f]{4} |
    (?:mon|tues|wednes|thurs|fri|satur|sun)day | rc[0-9]+ | alpha[0-9]+ | beta[0-9]+ | tier[0-9] | level[0-9] |
    phase[0-9]+ | step[0-9]+ | part[0-9]+ | issue[0-9]+ | pr[0-9]+ | port[0-9]+ | int(?:8|16|32|64) | uint[0-9]+ |
    float(?:32|64)
    """
)
"""Words with a digit that are no passwords: algorithms, encodings, versions, units, names of machines."""
PLACEHOLDER: Final = re.compile(
    r"""(?ix)
    .*(?:example|sample|placeholder|change[-_ ]?(?:me|it|this)|replace[-_ ]?(?:me|with|this)|insert[-_ ]|your[-_ ]|dummy
        |to[-_]?do\b|fixme|not[-_]?(?:a[-_])?real|(?:put|add|enter|fill)[-_ ](?:your|in|the|here)|goes[-_]?here
        |[-_ ]here$).* |
    (?:vot?re|ton|dein|ihr|hier|tu|su|sua?|aqu[ií]|ici)[-_].* | .*[-_](?:hier|ici|aqu[ií]|eintragen|ersetzen) |
    .*(?:ここに|入力してください|を記入|请填写|请替换|填在这里|此处填写).* |
    \w+[\#@](?:password|passwd|secret|token|key) | your\w* | \#[a-z][a-z-]+ |
    (?:my|the|a|some|any|this|new|old|user|db|admin|root|test|fake|mock|super|user(?:name)?|login|e?mail|default|valid
        |invalid|wrong|correct)?
    [-_ ]?(?:super|very|top)?
    [-_ ]?(?:password|passwd|passphrase|passwort|pass|pwd|secret|token|api[-_ ]?key|key|credentials?)
    [-_ ]?(?:key|token|value|hash|string|field|name|here|text|var|env|s)?[0-9]? |
    (?:test|foo|bar|baz|qux|abc|xyz|key|user|item|id|value|str|arg|var|val|opt)[-_]?[0-9]{0,3}
    """
)
"""Values that documents give in the place of a real one."""

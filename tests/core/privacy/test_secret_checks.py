"""Checks of secrets: passwords in assignments and prose, encoded keys, seed phrases."""

import base64
import random
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from types import ModuleType
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mnemonic import Mnemonic

from antechamber.core.privacy.checks import key_formats, registry
from antechamber.core.privacy.checks.registry import CHECKS
from antechamber.core.privacy.checks.seed_phrases import find_seed_phrases, may_have_seed_phrase
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.values import passwords
from antechamber.core.privacy.values.bounds import is_encoded_prose, is_published, variety_of
from antechamber.core.privacy.values.phrases import is_quoted_phrase, is_spoken_phrase
from support import GATE

STRONG = "Tr0ub4" + "dor&3"
RANDOM = "f3a9c017" + "b2d84e65" + "aa10c4d9e7"
PHRASE = "maple-river-" + "falcon-52"
WORDS = "copper-violin-" + "meadow-thunder"
LETTERS = "kyMFfWww" + "SCNEIh"
NOT_PASSWORDS = [
    "${DB_PASSWORD}",
    "$DB_PASSWORD",
    "%DB_PASSWORD%",
    "{{ password }}",
    "<password>",
    "[redacted]",
    "__PASSWORD__",
    "vault:secret/data/db#password",
    "op://Private/db/password2",
    "ENC[AES256_GCM,data:x1]",
    "!vault",
    "self.password2",
    "get_password(1)",
    "os.environ['X1']",
    "********",
    "xxxxxxxx1",
    "1111111a1",
    "your-password-1",
    "changeme",
    "my_password1",
    "config/secrets_v2.yaml",
    "ops@corp.dev",
    "https://corp.dev/x1",
    "a1" * 600,
    "@Microsoft.KeyVault(SecretUri=https://kv.example/db2)",
    "%{secret:db2}",
    "${DB}-${ENV2}",
    "bitwarden:item/3f2c/password",
    "#a94f3c",
    "SHA256:q7Zk2mXw9Ltr4Vb8Pcd1",
    "^[A-Za-z0-9_-]{32,64}$",
    "%2FAdmin%2FUsers%3Fpage%3D2",
    "DOMAIN2\\$env:USERNAME",
    "2.14.3-rc.1@sha256:" + "0f1e2d3c" * 8,
    "^5.0.0-beta.19",
    '%s/%s"',
    "请联系管理员重置2，谢谢。",  # noqa: RUF001 -- Chinese
    "管理者に2回問い合わせてください",
    "l'équipe",
    "vault:v1:q7Zk2mXw9+Ltr4Vb8Pcd1/w==",
    "AgB" + "q7Zk2mXw" * 10,
    "AQC" + "q7Zk2mXw" * 10,
    "\\$DB_PASSWORD",
    "elastic:$DB_PASSWORD2",
    "hmac-sha256:5f5793309f433d4f",
    "B" + "pEwbWO1NoSZcTP2RpOxiLxGMmMHZsURbPmTTjNL9A2dxekgq9wo7ZlKJCB1racRl11ljrjU2Ttijts2QIMIgq7",
    "$APP_BASE_URL/2#/forgot_password",
    "/en/server@3.0/auth",
    "db1.int.velmora.net:8443",
    "REAL_VALUE_OF_STAGE7",
    "@@@a1@@@b2@@@",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEq7Zk2mXw",
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8Aq7Zk2mXw",
    "AAAAC3NzaC1lZDI1NTE5AAAAIq7Zk2mXw",
    "openssl rand -hex 32 | tee k2",
    ").min(12),",
    "0123456789abcdef" * 2,
    "000102030405060708090a0b0c0d0e0f",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "00112233445566778899aabbccddeeff",
]


@pytest.mark.parametrize("value", NOT_PASSWORDS)
@pytest.mark.parametrize("check", list(passwords.CHECKS.values()), ids=list(passwords.CHECKS))
def test_references_masks_and_code_are_no_passwords(check: Callable[[str], bool], value: str) -> None:
    """No check accepts what refers to a value, hides it or replaces it."""
    if check is not passwords.is_consonant_run:
        assert not check(value)


ACCEPTED: dict[str, list[str]] = {
    "spoken-password": [
        "gR7-Tannen" + "zapfen",
        "Zebra-Quilt-" + "77-Moon",
        "Kestrel-" + "94-moss",
        "Ru8_finch" + "_Tar",
        STRONG,
        "hunter" + "2!x",
        PHRASE,
        "mapleRiver" + "+83",
        "copper-violin-" + "meadow-thunder",
        "kyMFfWww" + "SCNEIh",
        "rhVNXWdt" + "kf",
        "ENdZOizB" + "Uo",
    ],
    "bare-password": [
        STRONG,
        "81726" + "354",
        "maple river".replace(" ", "-") + "-7",
        "Tmp-4829" + "-Xk",
        "monkey!",
        "x%Q2{m," + "T8!r[K5",
    ],
    "lone-password": [STRONG, "sunflower"],
    "quoted-password": [
        "#abc!Tr0" + "ub4",
        "Dx6 blue " + "finch",
        STRONG,
        "correct horse battery " + "staple",
        "4711" + "0815",
        "swordfish",
        PHRASE,
        "k<9$(Lw2)" + "#Vd[7",
        "<>9$kL" + "(2)#Qw",
        "db_secret" + "_417",
    ],
    "secret": [
        RANDOM,
        "Zx81kQm20" + "pLwv7",
        "XqZkWvBn" + "MtRpLs",
        "WVmFnOHmALqalCia" + "ddATkmLofysOPTJf",
        "G6GHZokjOToUyJfITSXP" + "bOKqDOnetPwcdUQWnxve",
    ],
    "prefixed-token": [
        "acme_" + "Zx81kQm20pLw" + "v7XqZkWvBn3MtRp5Ls",
        "acme-live_" + "Zx81kQm20pLw" + "v7XqZkWvBn3MtRp5Ls",
    ],
    "prefixed-hex-token": ["acme_" + "f3a9c017b2d84e65" * 2],
    "random-token": ["acme_" + RANDOM, RANDOM],
    "consonant-run": ["qzxw kvbt mnlp rjhd"],
    "command-password": [STRONG, PHRASE, f'{STRONG}"'],
    "login-password": ["Lu4n" + "pQx2", "Lu4n" + "#pQx", "Winter" + "2024!"],
    "aiven-password": ["AVNS_D1k9rIl" + "HrO4e80V", "AVNS_ZmHzc" + "17BV"],
    "bare-key": ["lg43t5apl4h0wgwj" + "bq2ip0cjyhip6mvae7", "ohBuByZI0hWuHAGNpp2j" + "impjStWNoFTS6S1K7LjZ"],
    "authorization": [RANDOM, "26240490-8637-4856-" + "9139-e2ec35ba2d48"],
    "slack-token": ["xox" + "b-4829137756-abc", "xox" + "o.xoxp-ZTaLGW" + "OPd2"],
    "known-service-token": ["lip_fmaHCehp" + "X3qfW2i5", "cog_4xzj2rjs4f53" + "gp37zpnqp634sdgtfocpjg"],
    "placed-password": ["pav" + "3l11", "cEtHTkdqLGfLvLqM" + "tqbuxkZE", STRONG],
    "disordered": ["2xCA4U6yhlGF" + "DC3mbIMmCjGt", "ZQhAZ/htqDJl" + "ylHgRUWlGA=="],
    "named-random": [
        "PVmDDduQiuQmoIOh" + "PLjNyuoKYykvPMOG",
        "8b060ef53a669bb4" + "ac3470bbb01d4110",
        "ruLuayzLz8" + "jLzg2NrX",
    ],
    "kubernetes-value": [b64encode(b"lAN3AhxSK").decode(), b64encode(bytes(range(200, 232))).decode()],
    "stated-password": ["soroban" + "_ichi", "aubergine" + "Farcie", STRONG],
    "hinted": ["2xCA4U6yhlGF" + "DC3mbIMmCjGt", "26f0a9e64f0e22b93638" + "34adbba224690dfeb3c8c"],
    "key-bytes": [
        "94, 82, 122, 58, 232, 38, 196, 137, 189, 215, 31, 74",
        "0xB0,0xE0,0x13,0x82,0xF5,0xF6,0xA8,0xAB,0x92,0x61,0xF8,0xEC",
    ],
    "seed-words": ["ridge puzzle velvet orphan, panic cousin fabric ticket shallow salmon oxygen kidney"],
    "account-password": ["abcQWE12rt" + "yUIO34xy"],
    "service-value": [
        "ek8s3sct" + "w0c013jpl",
        "f930d4048ad44f3683dc19aa9136c783" + "005ffa7c397cce2b1b98465c7ec153d6",
    ],
    "header-secret": [RANDOM, "26240490-8637-4856-" + "9139-e2ec35ba2d48"],
    "chosen-secret": [
        "copper-violin-" + "meadow-thunder",
        "super-secret-orbit-" + "key-2031",
        "hoWTRbnqvk+m" + "^xLdA!Zf",
    ],
    "nested-key": [RANDOM, "copper-violin-" + "meadow-thunder"],
    "marked-password": ["'O''Brien" + "IRvp4b'", "\"kyMFf'Www" + 'SCNEIh"'],
    "recovery-code": ["4k7m-" + "9xq2"],
    "bitlocker-key": ["294921-567105-432091-170203-" + "654577-123552-099891-311322"],
    "pair-password": [
        "Passw0rd!" + "x",
        "hunt" + "er2!x",
        "P@ssw" + "0rd1",
        "P@ssw" + "0rd1@db.corp.dev:5432",
        "kyMFfWww" + "SCNEIh",
    ],
}
REFUSED: dict[str, list[str]] = {
    "spoken-password": [
        "hunter",
        "is2",
        "user_id2",
        "base64-encoded",
        "SHA-256",
        "OAuth2",
        'type="password"',
        "app/views2/login",
        "10.0.0.8",
        "getXMLHttpNode",
        "PostgreSQL",
        "end-to-end-encryption",
        "state-of-the-art",
        "copper-copper-copper-copper",
        "copper-extraordinary-violin-meadow",
        "one-two-three",
        "a-b-c-d-e-f-g-h-i",
        "copper-violin-meadow-thunder-" * 2 + "end",
    ],
    "bare-password": [
        "string",
        "12",
        "11111111",
        "required",
        "secret",
        "user_id",
        "ALL-CAPS-12x".upper(),
        "the-user-is-2",
    ],
    "lone-password": ["required", "bcrypt", "userPassword", "contraseña", "abc"],
    "quoted-password": [
        "${Db1!Pw}",
        "{{Vault.Db1}}!",
        "os.Environ['Db1$X']",
        "^(?=.*[A-Z])(?=.*[0-9]).{8,}$",
        "<Your-Pw1!>",
        "https://A1b.C/?D2#e",
        " x1y2z3",
        "abc",
        "Enter your password",
        "00000",
        "required",
        "userName",
        "user_name",
        "aes_cbc_256",
        "user_name_7",
    ],
    "secret": [
        "short1",
        "12345678901",
        "26240490-8637-4856-9139-e2ec35ba2d48",
        "user-name-2",
        "aaaaaaa11",
        "words1only",
    ],
    "random-token": [
        "",
        "acme_key",
        "abcdefghijklmnopqrstuvwx",
        "123456789012345678901234",
        "aaaaaaaaaaaaaaaaaaaa111bbb",
    ],
    "login-password": ["Widget2Api", "Dashboard2.0", "required", "name2", "AuthV2"],
    "aiven-password": ["AVNS_SERVICE_PASSWORD", "AVNS_password_of_the_user"],
    "bare-key": [
        "d41d8cd98f00b204e9800998ecf8427e",
        "the-name-of-the-other-table-2",
        "app/users:list-of-everything-2026",
    ],
    "authorization": ["the-name-of-the-header-2"],
    "slack-token": ["xoxb-xoxb-name-of-token", "xoxo-festival-3"],
    "known-service-token": [
        "polar_oat_the_name_of_the_token",
        "lip_ABCDEFabcd",
        "waka_000000000000000000000000",
        "npm_config_registry_2",
    ],
    "placed-password": ["public", "private", "ls", "/srv/apollo/data"],
    "disordered": ["usersOfTheWholeCompany2", "d41d8cd98f00b204e9800998ecf8427e"],
    "named-random": ["the-name-of-the-secret-2", "invalid_grant_2"],
    "kubernetes-value": ["Y2hhbmdlbWU=", "cGFzc3dvcmQ=", "ICAg", "not base64", "abc"],
    "stated-password": ["my_password", "app_db", "short", "from-vault"],
    "hinted": ["the_name_of_the_other_table_2", "2024-11-30-orders-of-berlin"],
    "key-bytes": [
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
        "0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x00",
        "300, 82, 122, 58, 232, 38, 196, 137, 189, 215, 31, 74",
        "3, 9, 1, 7, 2, 8, 5, 4, 12, 11, 10, 6",
    ],
    "seed-words": ["ridge puzzle velvet orphan panic cousin fabric ticket shallow salmon oxygen gateway"],
    "service-value": ["65f0c1a2b3d4e5f60718293a", "announcements2", "general-announcements-2"],
    "consonant-run": ["this that with from"],
    "command-password": ["-token2", "production", "abc", "8080:80"],
    "header-secret": ["required"],
    "chosen-secret": ["secret.winter2", "user-name", "aB!c@d", "AbCdEf!g@H()", "lower!case@only"],
    "nested-key": ["user-name", "${KEY}"],
    "marked-password": ["'it''s'", '"doesn\'t"'],
    "recovery-code": ["fast-path"],
    "bitlocker-key": [
        "294922-567105-432091-170203-654577-123552-099891-311322",
        "720896-567105-432091-170203-654577-123552-099891-311322",
        "000011-000011-000011-000011-000011-000011-000011-000011",
    ],
    "pair-password": ["hunter2", "lower-case", "V2-list"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ACCEPTED.items() for value in values])
def test_a_check_accepts_passwords_of_its_place(name: str, value: str) -> None:
    """Each check accepts what persons and programs choose."""
    assert CHECKS[name](value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_a_check_refuses_words_and_numbers(name: str, value: str) -> None:
    """Each check refuses words, names, numbers and technical terms."""
    assert not CHECKS[name](value)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("The password is ", "SummerTime$1", " now."),
        ("password=", "SummerTime$1", ""),
        ('password = "', "Kuchen12^7", '"'),
        ("password=", "kQ7$.mZx9", ""),
        ('password: "', "Winter24!.Xq", '"'),
        ("DB_PASSWORD=", "12.34.56-abc", ""),
        ("password: ", "Regen24.pdf", ""),
        ("password=", "SYS$Admin9", ""),
        ("The credentials are ada and ", "hunter22", "."),
        ("the password (", "regen07", ") works"),
        ("The password (", "Sakura#2024", ") is old."),
        ("The passwords (", "Tr0ub4dor&3,Winter2024!x,Qwerty!23", ") work."),
        ("token=", "%2FabC9dQ7zK2mLw8%3D", ""),
        ("password: ", 'Ab"&9xQz!', ""),
        ('ssh.connect(host, password="', "*62*ch+n4xde", '")'),
        ('readonly secretPass: string = "', "_!ptzsJq#L", '";'),
        ("Statuspage token -> ", "3b0caa2b2a8eea21bb26d3e0b83d071ef9a68102d3e28e10acad3dab83807109", ""),
    ],
)
def test_what_resembles_a_name_is_a_secret_where_the_text_says_so(before: str, value: str, after: str) -> None:
    """A name in code is no password beside a word for one, but it is where that word names it."""
    assert any(not one.rule_id.startswith("national") for one in GATE.find_private({"": before + value + after}))


@pytest.mark.parametrize(
    "text",
    [
        "docker build --secret id=npm,src=$HOME/.npmrc .",
        "docker build --secret id=aws2,env=AWS_SESSION_2 .",
        'secret = base64.b64decode(os.environ["S"])',
        "secret = Base64.decode64(raw)",
        "NEXT_PUBLIC_RECAPTCHA_SITE_KEY=6LdAbCdEAAAAAH1m2n3b4v5" + "c6x7z8l9k0j1h2g3f",
        "Slack bot tokens have the form xoxb-123-456-abc",
        '{"Sid": "PublicReadOverHttps", "Effect": "Allow"}',
        "def exchange(self, peer_public_key: X448PublicKey) -> bytes",
        "We pin gpt-4o-2024-08-06 for extraction and text-embedding-3-large for search.",
        "user_2Cpgl9ewIYxuLy2ZxjZzznMEcZ1 belongs to org_25vwlKJS8SUuJJGi9x1IDx3rLGm",
        "conversation 19:ca350c51823c45f9b7eaaee681082f45@thread.v2",
        "SENDGRID_API_KEY=SG." + "x" * 22 + "." + "y" * 43,
        'applicationServerKey = urlBase64ToUint8Array("x")',
        'sed -i "s/password=.*/password=$NEW_PASS/" /etc/app.conf',
        "snmp-server community $COMMUNITY RO",
        '<PackageReference Include="Acme.Tokens" Version="8.6.8" PublicKeyToken="a30cfcc7c8d3f358" />',
        'LICENSE_COMMIT="7f5c039c66bc11cd5cc2373634051f40cb100f48"',
        "PRICE_PRO=price_PiQpAu0SX5qkMw80p9k1Ykh9\nPRODUCT_ID=prod_9BngNqta9Aogc3",
        '<key name="minisign">RWQzIQkiUDq1XrznLb18ze2ZjYe2b0urmgUMgO0QkfOlozAmJKUtfiD</key>',
        "https://login.corp.dev/cb?state=%25CE%259A%25CE%25B1%25CE%25BB",
        '"ClientToken": "c9adb218-3222-4889-8216-0cf0e52dc37e"',
    ],
)
def test_code_and_commands_about_secrets_are_harmless(text: str) -> None:
    """The place of a secret, a call that gives one, a public key and the form of a token are no secrets."""
    assert GATE.find_private({"": text}) == []


@pytest.mark.parametrize(
    "value",
    [
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "mF_9.B5f-4.1JqM",
        "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "JBSWY3DP" + "EHPK3PXP",
        "abandon " * 11 + "about",
        "pk_live_" + "iW7Fsjchu7lIDfBpzybo5LR6",
    ],
)
def test_published_examples_are_harmless(value: str) -> None:
    """What documents of standards and services show everyone opens nothing, whatever name is before it."""
    assert is_published(value)
    for text in (value, f"Authorization: Bearer {value}", f"The secret is {value}.", f'API_TOKEN="{value}"'):
        assert GATE.find_private({"": text}) == []
    assert not is_published(f"{value}.2")


@pytest.mark.parametrize("value", ["Vault7#" + "Mint", "KeePass2!" + "x9Q", "Bitwarden" + "-4471"])
def test_a_password_that_begins_as_a_product_is_found(value: str) -> None:
    """Only the whole name of a password manager is the place of a password."""
    assert GATE.find_private({"": f"The password is {value} now."})


@pytest.mark.parametrize("value", ["s3cr3tXy7" + ",type=x", "crypto.Xy7" + "zK2pQ", "base64.Xy7" + "zK2pQ"])
def test_a_password_that_resembles_code_is_a_password(value: str) -> None:
    """Digits among letters are neither the name of a build's secret nor a decoder."""
    assert passwords.is_command_password(value)


DER = {
    "rsa": "3082025d02010002818100c3",
    "pkcs8": "308204bd020100300d06092a",
    "ec": "30770201010420822d",
    "pkcs12": "30820a1b0201033082",
    "encrypted": "3082051c304e06092a864886f70d01050d3041",
}
PUBLIC_DER = {
    "certificate": "308203773082025fa003",
    "public": "30820122300d06092a864886f70d010101",
    "version": "3003020105",
    "number": "300602010005000500",
    "octets": "0403010203",
}


@pytest.mark.parametrize("head", DER.values(), ids=list(DER))
def test_private_keys_in_der_are_recognized(head: str) -> None:
    """Keys and key stores are recognized by the beginning of their structure."""
    assert key_formats.is_private_der(b64encode(bytes.fromhex(head) + bytes(40)).decode())


@pytest.mark.parametrize("head", PUBLIC_DER.values(), ids=list(PUBLIC_DER))
def test_public_structures_in_der_are_harmless(head: str) -> None:
    """Certificates, public keys and other structures are no private keys."""
    assert not key_formats.is_private_der(b64encode(bytes.fromhex(head) + bytes(40)).decode())


@pytest.mark.parametrize("text", ["M===", "", "MA==", "MP8CAQ=="])
def test_damaged_der_is_harmless(text: str) -> None:
    """A text that is no base64, or ends too early, is no private key."""
    assert not key_formats.is_private_der(text)


def test_a_bitcoin_key_has_a_checksum() -> None:
    """The example of the wallet import format is accepted, and with another last character it is not."""
    key = "5HueCGU8rM" + "jxEXxiPuD5BDku4" + "MkFqeZyd4dZ1jvh" + "TVqvbTLvyTJ"
    assert key_formats.is_base58_key(key)
    assert not key_formats.is_base58_key(key[:-1] + "K")


@pytest.mark.parametrize(
    ("login", "wanted"),
    [
        (b"ops:" + STRONG.encode(), True),
        (b"ops:x", False),
        (b"user:password", False),
        (b"ops:ops", False),
        (b"no colon", False),
        (b"ops:\x01\x02\x03", False),
        (b"ops:\xff\xfe", False),
    ],
)
def test_basic_authentication_holds_a_real_password(login: bytes, wanted: bool) -> None:  # noqa: FBT001 -- a column
    """A name and a password that is no placeholder are a credential."""
    assert key_formats.is_basic_credential(b64encode(login).decode().rstrip("=")) is wanted


@pytest.mark.parametrize(
    ("login", "is_credential"),
    [
        (b"\0ada\0" + b"Tr0ub4dor3", True),
        (b"admin\0ada\0" + b"Tr0ub4dor3", True),
        (b"\0test\0test", False),
        (b"ada\0" + b"Tr0ub4dor3", False),
        (b"\0ada\0\x07" + b"Tr0ub4dor3", False),
        (b"\0ada\0\xff" + b"Tr0ub4dor3", False),
    ],
)
def test_a_credential_of_sasl_has_three_parts(login: bytes, *, is_credential: bool) -> None:
    """Identity, user name and password are text with NUL between them (RFC 4616)."""
    assert key_formats.is_sasl_credential(b64encode(login).decode().rstrip("=")) is is_credential


@pytest.mark.parametrize(
    ("check", "text", "wanted"),
    [
        ("url-password", f"app:{STRONG}@db", True),
        ("url-password", "app:password@db", False),
        ("url-password", "postgres:postgres@db", False),
        ("url-password", f"app:{STRONG}@db.example.com", False),
        ("url-password", f"app:{STRONG}@localhost", False),
        ("url-password", "app:Ql6u~O8J" + "rGoElf7Pt@localhost", True),
        ("url-password", "app:Ql6u~O8J" + "rGoElf7Pt@db.corp.example", True),
        ("url-password", "app:abcdefghijkl@localhost", False),
        ("url-password", "app:Schrauben7" + "Kiste@db.test", True),
        ("url-password", "app:Nv8%21" + "koRt3@mail.example", True),
        ("url-password", "app:Bq9.fasan" + "Floete@mq.example.com", True),
        ("url-password", "app:MyPassw0rd1@db.example", False),
        ("url-password", "app:Demo!Account9@db.example", False),
        ("url-password", "app:Abcdefghijk" + "l!@localhost", False),
        ("slash-password", f"scott/{STRONG}", True),
        ("slash-password", f"scott/{PHRASE}", True),
        ("slash-password", "scott/tiger", False),
        ("slash-password", "user/password", False),
    ],
)
def test_logins_have_a_real_password(check: str, text: str, wanted: bool) -> None:  # noqa: FBT001 -- a column
    """Placeholders, defaults and reserved hosts are no findings."""
    assert key_formats.CHECKS[check](text) is wanted


SEED = "legal winner thank year wave sausage worth useful legal winner thank " + "yellow"
LONG_SEED = "abandon " * 23 + "art"


def seeds(text: str) -> list[str]:
    """Return the phrases that the search finds in a text."""
    return [text[start:end] for start, end in find_seed_phrases(text, Effort())]


@pytest.mark.parametrize(
    "phrase",
    [SEED, LONG_SEED, SEED.upper(), SEED.replace(" ", ", "), "\n".join(f"1. {word}" for word in SEED.split())[3:]],
    ids=["short", "long", "upper case", "commas", "list"],
)
def test_a_seed_phrase_is_found_in_its_usual_forms(phrase: str) -> None:
    """Twelve to twenty-four words with a valid checksum are found, also after other words of the list."""
    assert seeds(phrase) == [phrase]
    assert seeds(f"Backup of the wallet (write it down): {phrase} 2026.") == [phrase]


@pytest.mark.parametrize("language", ["french", "spanish", "japanese", "korean", "chinese_simplified"])
def test_seed_phrases_of_other_languages_are_found(language: str) -> None:
    """Lists with accents and of other scripts are compared in their normal form."""
    phrase = Mnemonic(language).to_mnemonic(bytes(range(16)))
    assert seeds(phrase) == [phrase]


@given(
    st.sampled_from(Mnemonic.list_languages()),
    st.sampled_from([16, 20, 24, 28, 32]),
    st.text(st.characters(exclude_categories=["L", "M", "Cs"]), min_size=1, max_size=8),
    st.sampled_from([str, str.upper, str.title, partial(normalize, "NFC")]),
    st.sampled_from(["", "the ", "größe der ", "用", "a" * 30 + " "]),
    st.randoms(use_true_random=False),
)
def test_the_first_look_passes_each_phrase(
    language: str, size: int, between: str, form: Callable[[str], str], around: str, generator: random.Random
) -> None:
    """What is found in full, the quick look does not exclude, whatever divides the words and is around them."""
    phrase = Mnemonic(language).to_mnemonic(generator.randbytes(size))
    text = f"{around}{form(between.join(phrase.split()))} {around}"
    assume(seeds(text))
    assert may_have_seed_phrase(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "the legal winner of the year, thank you, is a wave of sausage worth the useful legal winner",
        "Größe der Datei prüfen, dann über die Einstellungen ändern; für Übersetzungen gilt später Näheres",
        " ".join(["wörd", "somehow"] * 20),
    ],
)
def test_the_first_look_excludes_ordinary_words(text: str) -> None:
    """Common words between those of the lists end a row, with and without letters beyond ASCII."""
    assert not may_have_seed_phrase(text.encode())


def test_words_without_a_checksum_are_harmless() -> None:
    """A wrong last word, too few words, words far apart and words of two languages are no phrase."""
    assert seeds(SEED.replace("yellow", "year")) == []
    assert seeds(" ".join(SEED.split()[:11])) == []
    assert seeds(f"{LONG_SEED[:-3]}zoo. Then, after a stop: something else.") == []
    assert seeds(SEED.replace("worth", "worth" + " " * 9)) == []
    assert seeds(" ".join(SEED.split()[:11]) + " abeille") == []
    assert seeds("An ordinary sentence about nothing, which names neither words nor numbers of a list at all.") == []


def test_words_of_another_language_beside_a_phrase_do_not_hide_it() -> None:
    """A word that only another list has ends the run of its language, not the search."""
    assert seeds(f"abaisser {SEED}") == [SEED]
    assert seeds(f"{SEED} abaisser and then nothing of a list") == [SEED]


def test_two_seed_phrases_in_a_row_are_two_findings() -> None:
    """The search goes on after a phrase."""
    assert seeds(f"{SEED} {SEED}") == [SEED, SEED]


def test_endless_seed_words_spend_the_effort() -> None:
    """A text of nothing but list words ends the search instead of lasting long."""
    words = random.Random(1).choices(Mnemonic("english").wordlist, k=9_000)  # noqa: S311 -- the same words in each run
    with pytest.raises(EffortSpentError):
        seeds(" ".join(words))


def test_a_text_that_repeats_itself_is_verified_once() -> None:
    """The same row of list words is verified once, so that a long harmless text is no finding."""
    assert seeds("Long text. " * 6_000) == []


def test_the_variety_of_a_value_counts_its_classes_of_signs() -> None:
    """Lower case, upper case, digits and other signs count once each."""
    assert [variety_of(value) for value in ("abc", "abC", "abC1", "abC1!")] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "Log in to Nexus3 first",
        "Login works with SAML2.0",
        "ssh login to lemon-tiger-marble-harbor",
        "The password is hashed with bcrypt12.",
        "Use the key e6d303eb-a920-4ad4-a7c2-05a27b42036e to find the row",
        "The tables are admin, Users2 and Roles3",
    ],
)
def test_programs_machines_and_algorithms_are_no_passwords(text: str) -> None:
    """What one logs in to, and how a password is stored, is named near the same words as a password."""
    assert not GATE.find_private({"": text})


@pytest.mark.parametrize(
    "text",
    [
        "Expected a number, got 48213377",
        "AmazonEKS_CNI_Policy in account 481122937715",
        "Nombre maximal d'octets permis : 1073741824",
        "NIT: 1500 3000 7500 as thresholds",
        "The NAS is 684176498 KiB full",
        "licenseNumber: 48213377",
        "PLC alarm code 7012 was reset",
        "Update passport to 0.7, closes WEB482133",
        "Please be patient, build 4010232137",
        "Das ist ein Testlauf mit Nummer 558073021",
    ],
)
def test_words_of_software_make_no_number_an_id(text: str) -> None:
    """Names of ids mean other things in software and in other languages."""
    assert not GATE.find_private({"": text})


def test_prose_in_base64_is_no_secret() -> None:
    """A value that decodes to words with blanks is none, however often it is encoded; other texts may be."""
    prose = b"Release notes: faster start, smaller images and fewer warnings in the console."
    once = base64.b64encode(prose).decode()
    assert is_encoded_prose(once)
    assert is_encoded_prose(base64.urlsafe_b64encode(once.encode()).decode().rstrip("="))
    assert not is_encoded_prose(base64.b64encode(b"q\x8f\x01" * 30).decode())
    assert is_encoded_prose(
        base64.b64encode("\u767b\u5f55\u6210\u529f\uff0c\u6b22\u8fce\u56de\u6765".encode()).decode()
    )
    assert not is_encoded_prose("a" * 41)
    passphrase = base64.b64encode(b"amber garden saddle willow planet harbor timber").decode()
    assert not is_encoded_prose(passphrase)
    assert GATE.find_private({"": f'token = "{passphrase}"'})
    assert not GATE.find_private({"": f'token = "{once}"'})
    deep = prose
    for _ in range(5):
        deep = base64.b64encode(deep)
    assert not is_encoded_prose(deep.decode())


def test_a_line_of_a_dump_is_no_card_number() -> None:
    """Its groups have four digits too; without the offset they are a card number."""
    groups = "4539 1488" + " 0343 6467"
    assert "payment-card" in {one.rule_id for one in GATE.find_private({"": f"{groups} is my card"})}
    assert not GATE.find_private({"": f"00000010: 5468 {groups} 6f6c  Th.9..C.gol"})


def test_a_sentence_on_a_passphrase_is_none() -> None:
    """A passphrase has no word twice, and none of those that sentences on passphrases have."""
    assert is_spoken_phrase("velvet tractor moonlight onion")
    assert not is_spoken_phrase("velvet tractor velvet onion")
    assert not is_spoken_phrase("written down nowhere else")
    assert is_quoted_phrase("the duck sleeps below the bridge")
    assert not any(map(is_quoted_phrase, ("wrong key try again", "SEVEN GREEN BOATS", " seven green boats")))


@pytest.mark.parametrize("value", ["2024.06.3-2b942cfe5e4a", "1.44.0-hotfix2", "2.19.1-alpine3.20", "sha-90ab5cd01af0"])
def test_a_version_with_a_commit_or_a_variant_is_no_secret(value: str) -> None:
    """Tags of images are behind names that have words such as token in them."""
    assert not CHECKS["secret"](value)


def test_no_check_search_or_look_replaces_another_one() -> None:
    """Each name that rules may use means one function, in all modules that define it."""
    for kind in ("CHECKS", "SEARCHES", "LOOKS"):
        modules = [one for one in vars(registry).values() if isinstance(one, ModuleType) and hasattr(one, kind)]
        assert modules
        for name, function in getattr(registry, kind).items():
            assert {getattr(one, kind).get(name, function) for one in modules} == {function}, name

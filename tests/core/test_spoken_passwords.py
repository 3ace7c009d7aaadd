"""Passwords in sentences: the first look at a window misses no value that the closer one finds."""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antechamber.core.privacy import spoken_passwords
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.spoken_passwords import find_spoken_secrets
from antechamber.core.privacy.spoken_values import ValueJudge

VALUES = (
    "Tram" + "way-0634",
    "Sommer" + "!2024",
    "qmkimz" + "ncegezmm",
    "Über#" + "Mut7",
    "cedar-" + "harbor-quartz-moon",
)
LINKS = "is|lautet|=|: |->|→ |改成了|は|to|isn’t|remplacé par|with|,|(|é|用|以|use"
WORDS = 'hello|the|for|as|root | - | — |now|“|”|"|`|« | »|que|という|when|.|*|为'


def found(text: str) -> list[str]:
    """Return the values that the search finds."""
    return [text[start:end] for start, end in find_spoken_secrets(text, Effort())]


@settings(max_examples=400)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(VALUES),
            st.sampled_from(LINKS.split("|")),
            st.sampled_from(WORDS.split("|")),
            st.just(" "),
            st.from_regex(r"[!-~À-ž]{1,9}", fullmatch=True),
        ),
        max_size=10,
    )
)
def test_the_first_look_misses_no_value(pieces: list[str]) -> None:
    """What a pattern finds behind or before a cue, and what is then judged to be a secret, the look announces."""
    window = "".join(pieces)
    data = window.encode()
    judge = ValueJudge(Effort())
    for is_password in (False, True):
        judge.is_password = is_password
        for link in spoken_passwords._LINK.finditer(window):
            if judge.span(link, linked=True) is not None:
                assert 1 in spoken_passwords._MAY_HOLD(data), link
        for index, pattern in enumerate(spoken_passwords._PRECEDING):
            for match in pattern.finditer(window):
                if judge.span(match, linked=True) is not None:
                    assert index in spoken_passwords._MAY_PRECEDE(data), match


def test_each_link_of_signs_begins_with_a_sign_that_is_looked_for() -> None:
    """The pattern tries its links of signs only where one of these is; without that, it finds no further links."""
    starts = re.compile(f"[{spoken_passwords._SIGN_STARTS}]")
    links = re.compile(spoken_passwords._SIGNS)
    every = "".join(dict.fromkeys(spoken_passwords._SIGNS)) + "(=,"
    for first in every:
        for second in every:
            link = links.match(f"{first}{second} > 成了为為置成とうのはではなくら")
            assert link is None or starts.match(first), first + second


def test_a_random_word_in_small_letters_is_found_alone() -> None:
    """It needs no other sign in its sentence."""
    assert found("The password is " + "qmkimz" + "ncegezmmgxkx.") == ["qmkimz" + "ncegezmmgxkx"]


@pytest.mark.parametrize(("opening", "closing"), [('"', '"'), ("“", "”"), ("'", "'"), ("«", "»")])
def test_a_value_at_the_end_of_a_quoted_sentence_is_found(opening: str, closing: str) -> None:
    """The sign that ends the quotation is no part of the value."""
    value = "garden-" + "willow-planet-53"
    assert found(f"{opening}The password of the router is {value}.{closing} said Ana") == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The password of the old box is on the next line:\n{}", "@Copper" + ".1979"),
        ("My master password? {} Yes, I know.", "gravel-" + "otter-dolphin-clover."),
        ("添付PDFの解凍パスワードは次の通りです。\n{}", "Tessa" + "1987&&"),
        ("密码见下一行\n{}", "LXfXLYlKjRT8" + "chhQb5vG"),
        ("Segnati il token per il gestionale:\n\n  `{}`\n", "M8w3naxia04O5J2H" + "7A3XV9wdzLKgDXO8"),
        ("{} ← 共享邮箱的密码", "chengdu" + "789$"),
        ("{} è la password della casella.", "*Torino" + ".1979"),
        ("Anota: chave da API dos Correios {}", "2b0efea9f3d60317" + "80d7b60adbfdc192"),
    ],
)
def test_a_value_is_found_beside_what_announces_it(text: str, value: str) -> None:
    """The answer to a question, a line of its own behind a colon, and a value before an arrow or with a sign first."""
    assert found(text.format(value)) == [value.rstrip(".")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The payroll PDF opens with {}, delete the mail.", "cinder" + "176#"),
        ("Wi-Fi ospiti: {} (con la maiuscola)", "L1m0n3" + "M4r316"),
        ("Para abrir o PDF do contrato use {}, o João já confirmou.", "cafe8" + "085$"),
        ('The archive is encrypted with "{}".', "Otter" + "19*x"),
        ("El zip está protegido con {}", "gravel-" + "otter-dolphin-clover"),
        ("这个加密的PDF用「{}」打开。", "Martin" + "1987##"),
    ],
)
def test_a_value_is_found_beside_what_it_opens(text: str, value: str) -> None:
    """No word calls it a password, so that only an unmistakable one counts."""
    assert found(text.format(value)) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "The viewer opens with Ctrl+Shift+P, or with Acrobat11.",
        "Traffic is encrypted with AES-256-GCM; Wi-Fi: WPA2-Enterprise, SSID FritzBox7590.",
        "class Credentials(SyncAPIResource):\n    @cached_property\n",
        "if password.length>=12;export{a,b};",
        "password: z.string().min(12).max(128),",
        "arn:aws:secretsmanager:eu-north-1:222630742688:secret:prod/ledger/db-95c55g",
        "The MD5 of the password list is da6497016faa6b3a" + "79e40b911a2589a9.",
        "Password forgotten? reset-link2",
        "Which login? anna@host2",
        "SECRET_ARN=arn:aws:secretsmanager:eu-north-1:222630742688:secret:prod/ledger-a1B2c3",
        "db.password=@db.password@",
        'def login(user, password, mount_point="radius"): ...',
        "Refresh the access token, SEP-2352 has it.",
        "password = parsed.encode('latin1')",
        'password = f"{registry_id}-auth-token"',
        "Login: _win32typing.PyEVT_RPC_LOGIN",
        "Token: bold #038B8B",
        'var e={password:"",token:null};return e',
        "POSTGRES_PASSWORD_FILE=/run/secrets/postgres-passwd",
        "The form calls useField('password', isLongEnough12) first.",
        "After the login the fixture sets role = 'admin4'.",
        "Pour te connecter au poste : l'identifiant est cdelmas12.",
        "Zum Anmelden, der Benutzername ist kweber04.",
        "登录时，用户名为wangwei88。",
    ],
)
def test_what_only_resembles_a_password_is_none(text: str) -> None:
    """Programs, keys, comparisons, calls, resources, digests and accounts are no values."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("new pass for the label printer: 7P7n9" + "UeQ3vnX", "7P7n9" + "UeQ3vnX"),
        ("测试环境的口令填 0BUAH" + "dGdm0FB 就行", "0BUAH" + "dGdm0FB"),
        ("パスワードに aJHDE" + "bCh5kis を入れて", "aJHDE" + "bCh5kis"),
        ("The archive opens with Green" + "Apples_1987", "Green" + "Apples_1987"),
        ("Le mot de passe du wifi invité est maintenant Tourne" + "sol_82!", "Tourne" + "sol_82!"),
        ("Ojo, la contraseña ahora va Tormenta" + "#58x", "Tormenta" + "#58x"),
        ("WiFi密码是AtekQ" + "+8p_1C2。", "AtekQ" + "+8p_1C2"),
        ("log in with admin / aq3gEs" + "Jc0f=ngJlg on the staging box", "aq3gEs" + "Jc0f=ngJlg"),
        ("Le stagiaire a pour mot de passe temporaire Stage" + "-2025.", "Stage" + "-2025"),
        ("备份硬盘的密语:Thistle-Velvet" + "-Tundra-Badger57", "Thistle-Velvet" + "-Tundra-Badger57"),
    ],
)
def test_a_value_is_found_behind_more_links(text: str, value: str) -> None:
    """Verbs and particles in Chinese and Japanese, and two words with a number behind what they open."""
    assert found(text) == [value]


@pytest.mark.parametrize("text", ["The wifi is Fritz" + "-Boxes7590", "write the credentials issue to #security"])
def test_the_name_of_a_network_or_a_channel_is_no_password(text: str) -> None:
    """Networks are named like passwords, and channels begin with a sign."""
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The console has a password. It's {} since Monday.",
        "We were asked for a passphrase. Ours is {}, as ever.",
        "Das Passwort ist neu. Seit gestern gilt {}, sagt Ada.",
        "Le mot de passe a changé. La nouvelle est {}, notez-la.",
        "密码是旧的。改成 {} 以后就好了",
        "The password is, as ever, still {} there.",
        "Wie lautet das Passwort? Antwort: „{}“",
    ],
)
def test_the_next_sentence_may_hand_out_what_the_first_one_names(text: str) -> None:
    """A sentence that begins as an answer belongs to the one before."""
    value = "Tram" + "way!0634"
    assert found(text.format(value)) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "The hash of passwords went from 100000 rounds to 600000.",
        "El hash de contraseñas pasó de 100000 iteraciones a 600000.",
        "Mit dem Cache-Schlüssel v2-pnpm-linux-d510df65 ging es schneller.",
        "Our bucket for secrets is harbor-audit-logs-eu1-7f3c now.",
        "The login page is fixed since " + "0123abcd" * 5 + " again.",
        "密码日志的问题，" + "0123abcd" * 5 + " 这个提交已经改掉了",
        "The password page is in login-ui:1.44.0-hotfix2 now.",
        "The shortcut for the login dialog is Ctrl+Shift+L there.",
        "パスワード再設定メールのテンプレート ID は d-" + "021fc20c" * 4 + " です",
        "La clé publique minisign est RWQU0FiCCiuKnGCau2rt8nO7rn4m now.",
    ],
)
def test_what_is_beside_a_cue_may_be_something_else(text: str) -> None:
    """Iterations, caches, buckets, commits and versions are no secrets."""
    assert found(text) == []


def test_latin_words_with_hyphens_are_passwords_in_chinese_and_japanese_sentences() -> None:
    """There such words are a name or a value, and the verb says which."""
    words = "kumo-ga-" + "tobu"
    assert found(f"パスワードは {words} です。") == [words]
    assert found(f"固定口令是 {words}，别外传") == [words]
    assert found(f"パスワードは {words} に保存する") == []
    assert found("密码是 vault-store，别外传") == []
    assert found("The password is kumo-ga-tobu there.") == []

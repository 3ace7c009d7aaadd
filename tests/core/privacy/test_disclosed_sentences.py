"""Sentences that name a password or another secret, as the whole gate judges them: models and rules together."""

# ruff: noqa: RUF001 -- Chinese and Japanese have signs of their own

import pytest

from support import GATE

STRONG = "Tr0ub4" + "dor&3"
RANDOM = "f3a9c017" + "b2d84e65" + "aa10c4d9e7"
PHRASE = "maple-river-" + "falcon-52"
WORDS = "copper-violin-" + "meadow-thunder"
LETTERS = "kyMFfWww" + "SCNEIh"


def found(text: str) -> list[str]:
    """Return the values that the gate finds in a text, each once, in order."""
    return list(dict.fromkeys(text[one.start : one.end] for one in GATE.find_private({"": text})))


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("The password for the staging database is ", STRONG, "."),
        ("**password**: **", STRONG, "**"),
        ("Use `", STRONG, "` as the password."),
        ("The password ", STRONG, " still works"),
        ("The door password is ", "4711" + "08", ""),
        ("The API key for the weather is ", RANDOM, ", keep it."),
        ("The token is '", RANDOM, "'"),
        ("Das Kennwort für den Server lautet ", "Winter" + "2024!x", "."),
        ("Nutze ", STRONG, " als Passwort."),
        ("Le mot de passe est ", "Printemps" + "!24", "."),
        ("La contraseña cambió a ", PHRASE, "."),
        ("我的密码改成了 ", "Qwe" + "rty#23", "。"),
        ("パスワードは「", "Sakura" + "#2024", "」です"),
        ("密码", "Admin" + "#888", ""),
        ("密钥是", RANDOM, ""),
        ("Mot de passe wifi « ", "Velstein" + "$03", " »"),
        ("Lösenordet är ", STRONG, "."),
        ("Enter ", STRONG, " if it asks for the password."),
        ("The admin password is ", WORDS, ""),
        ("The admin password is ", LETTERS, "."),
        ("Use ", STRONG, " to log in as root on db3."),
        ("I set the keystore pass to ", STRONG, ""),
        ("wifi: AcmeGuest, key ", STRONG, ""),
        ("sudo asks for a password, give it ", STRONG, ""),
        ("Anna meinte, das Passwort sei ", STRONG, ""),
        ("Mit ", STRONG, " kommst du auf die Datenbank."),
        ("Connecte-toi en root avec ", STRONG, ""),
        ("La clé wifi est ", "violin." + "horse9", ""),
        ("La password del server è ", WORDS, "."),
        ("", LETTERS, " è la password del router"),
        ("ho cambiato la password in ", STRONG, ""),
        ("La chiave API è ", RANDOM, ""),
        ("mudei a senha para ", STRONG, ""),
        ("palavra-passe: ", STRONG, ""),
        ("A chave de API é ", RANDOM, ""),
        ("비번 ", STRONG, ""),
        ("암호: ", STRONG, ""),
        ("비밀번호를 ", STRONG, "로 바꿨어요"),
        ("API 키는 ", RANDOM, "입니다"),
        ("пароль от роутера ", STRONG, ""),
        ("сменил пароль на ", STRONG, ""),
        ("", STRONG, " — пароль от роутера"),
        ("Ключ API: ", RANDOM, ""),
        ("测试环境统一用", STRONG, "当密码"),
        ("用root和", STRONG, "登录"),
        ("テスト環境は全部", STRONG, "というパスワードです"),
        ("パスは", STRONG, ""),
        ("<ada> what's the pw?\n<bob> ", STRONG, "\n<ada> thanks"),
        ("Q: password for jenkins?\nA: ", STRONG, ""),
        ("小李: 密码多少?\n小王: ", STRONG, ""),
        ("Who knows the root password?\n\nbob> `", STRONG, "`"),
        ("What's the password? ", STRONG, ""),
        ("The password of the old box is on the next line:\n", "@Copper" + ".1979", ""),
        ("My master password? ", "gravel-" + "otter-dolphin-clover", ". Yes, I know."),
        ("添付PDFの解凍パスワードは次の通りです。\n", "Tessa" + "1987&&", ""),
        ("密码见下一行\n", "LXfXLYlKjRT8" + "chhQb5vG", ""),
        ("Segnati il token per il gestionale:\n\n  `", "M8w3naxia04O5J2H" + "7A3XV9wdzLKgDXO8", "`\n"),
        ("", "chengdu" + "789$", " ← 共享邮箱的密码"),
        ("", "*Torino" + ".1979", " è la password della casella."),
        ("Anota: chave da API dos Correios ", "2b0efea9f3d60317" + "80d7b60adbfdc192", ""),
        ("The payroll PDF opens with ", "cinder" + "176#", ", delete the mail."),
        ("Wi-Fi ospiti: ", "L1m0n3" + "M4r316", " (con la maiuscola)"),
        ("Para abrir o PDF do contrato use ", "cafe8" + "085$", ", o João já confirmou."),
        ('The archive is encrypted with "', "Otter" + "19*x", '".'),
        ("El zip está protegido con ", "gravel-" + "otter-dolphin-clover", ""),
        ("这个加密的PDF用「", "Martin" + "1987##", "」打开。"),
        ("new pass for the label printer: ", "7P7n9" + "UeQ3vnX", ""),
        ("测试环境的口令填 ", "0BUAH" + "dGdm0FB", " 就行"),
        ("パスワードに ", "aJHDE" + "bCh5kis", " を入れて"),
        ("The archive opens with ", "Green" + "Apples_1987", ""),
        ("Le mot de passe du wifi invité est maintenant ", "Tourne" + "sol_82!", ""),
        ("Ojo, la contraseña ahora va ", "Tormenta" + "#58x", ""),
        ("WiFi密码是", "AtekQ" + "+8p_1C2", "。"),
        ("log in with admin / ", "aq3gEs" + "Jc0f=ngJlg", " on the staging box"),
        ("Le stagiaire a pour mot de passe temporaire ", "Stage" + "-2025", "."),
        ("备份硬盘的密语:", "Thistle-Velvet" + "-Tundra-Badger57", ""),
        ("The console has a password. It's ", "Tram" + "way!0634", " since Monday."),
        ("We were asked for a passphrase. Ours is ", "Tram" + "way!0634", ", as ever."),
        ("Das Passwort ist neu. Seit gestern gilt ", "Tram" + "way!0634", ", sagt Ada."),
        ("Le mot de passe a changé. La nouvelle est ", "Tram" + "way!0634", ", notez-la."),
        ("密码是旧的。改成 ", "Tram" + "way!0634", " 以后就好了"),
        ("The password is, as ever, still ", "Tram" + "way!0634", " there."),
        ("Wie lautet das Passwort? Antwort: „", "Tram" + "way!0634", "“"),
        ("パスワードは ", "kumo-ga-" + "tobu", " です。"),
        ("固定口令是 ", "kumo-ga-" + "tobu", "，别外传"),
        ('"', "OtufV3S9" + "BlaGx!7y1R", '" ist das Passwort von postgres'),
    ],
)
def test_a_sentence_that_names_a_secret_is_found(before: str, value: str, after: str) -> None:
    """The value is within what is marked."""
    assert any(value in one or one in value for one in found(before + value + after))


@pytest.mark.parametrize(
    "text",
    [
        "The password is stored in the vault.",
        "The password is required and has 12 characters at least.",
        'The field is of type="password" in v2.',
        "The token is base64-encoded; use 2 of them.",
        "The token 12 is `expired`.",
        "A password. It has 3 words.",
        "Password hunter2 is short.",
        "The password is get_password(user2).",
        "Use `user_id2` as the key name of step 2.",
        "PASSWORD_MIN_LENGTH=12",
        "The token budget is 128k, max_output_tokens=8192 at most.",
        "In 2024 use hunter as the password.",
        "The login is rejected at once with ERR-40312 on Monday.",
        "The job fails with AADSTS50126 when the password is wrong.",
        "jwt.verify(token, key, algorithms=['RS256', 'ES256'])",
        "La contraseña es 1Password, como siempre.",
        "パスワードは1Passwordにあります",
        "パスワードはVault2で管理",
        "The password is of the kind :class:`bytes`.",
        "Is the password set?\nYes, see step2 of the list.",
        "Password forgotten? reset-link2",
        "Which login?\nroot@db3",
        "The password is sent with XMLHttpRequest.",
        "The password is state-of-the-art.",
        "The password policy asks for twelve-or-more-characters.",
        '暗証番号の入力欄は inputmode="numeric" にする。',
        "Login$.MODULE$.apply is called for the credentials case class.",
        "loginState1$.value is the last login event.",
        "page.fill('#login', user1!.email)",
        "登录失败时，LoginActivity$1 会抛出空指针异常。",
        "CSS: .login input{border:1px solid #C0FFEE!important}",
        "page.getByLabel('Password').fill(process.env.TEST_PASSWORD2!);",
        "See Login&Registration-v2.docx for the login wireframes.",
        "SYS$LOGIN and SYS$SYSTEM:AUTHORIZE.EXE are used to reset a password.",
        'https://duckduckgo.com/?q="Passwort zurücksetzen"&hl=de2',
        "Fix the password check (Rails#43997).",
        "CSV: id,login,last_login,status;17,anna,2024-03-01,active",
        "The viewer opens with Ctrl+Shift+P, or with Acrobat11.",
        "Traffic is encrypted with AES-256-GCM; Wi-Fi: WPA2-Enterprise, SSID FritzBox7590.",
        "class Credentials(SyncAPIResource):\n    @cached_property\n",
        "if password.length>=12;export{a,b};",
        "password: z.string().min(12).max(128),",
        "arn:aws:secretsmanager:eu-north-1:222630742688:secret:prod/ledger/db-95c55g",
        "The MD5 of the password list is da6497016faa6b3a" + "79e40b911a2589a9.",
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
        "write the credentials issue to #security",
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
        "密码是 vault-store，别外传",
        "PWD=/srv/apollo2",
        "The token file is /var/lib/app/token9f3ac2b7d1",
        "PWD: ~/src/app2",
        "пароль не хранится; версия 40771265",
    ],
)
def test_a_sentence_about_secrets_is_harmless(text: str) -> None:
    """Programs, keys, comparisons, calls, resources, digests, accounts, states and places are no secrets."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("The password was changed from {} to {}", ["Winter" + "2024", "Spring" + "2025!"]),
        ("Correction: the password isn't {}? but {}", ["Pikachu" + "123", STRONG]),
        ("Le mot de passe n'est pas {} mais {}", ["P@ssbiscuit" + "47", "Tram" + "way!0634"]),
        ("Das alte Passwort {} gilt nicht mehr, jetzt {}", ["Winter" + "2024!x", WORDS]),
        ("La contraseña no es {} sino {}", [WORDS, STRONG]),
        ("密码不是{}, 而是{}", ["horse." + "mango2", STRONG]),
        ("パスワードは{}ではなく{}", [WORDS, STRONG]),
    ],
)
def test_the_new_password_is_found_beside_the_old_one(text: str, values: list[str]) -> None:
    """A correction names two values; the first one does not hide the second."""
    assert any(values[1] in one for one in found(text.format(*values)))


MARKS = ['"{}"', "'{}'", "`{}`", "**{}**", "„{}“", "«{}»", "「{}」"]


@pytest.mark.parametrize("marked", MARKS)
@pytest.mark.parametrize(
    "sentence",
    [
        "The password is {}.",
        "The API key is {}.",
        "Das Passwort lautet {}.",
        "Le mot de passe est {}.",
        "La contraseña es {}.",
        "密码是{}。",
        "パスワードは{}です。",
        "Log in as root with {} on the console.",
    ],
)
def test_marks_around_a_value_hide_nothing(sentence: str, marked: str) -> None:
    """Texts in Markdown set most values in marks; the words around the marks decide."""
    for value in ("mop" + "Vex81kr", "Kq93mZtLw72x" + "VbNpQ5yTz4Wm", "q8V~3kLm2Zt9" + "Xw-4Rn7Pb1Yc"):
        assert found(sentence.format(marked.format(value)))


DIGEST = "ce18c458468cdea846a610b30c822e29"


@pytest.mark.parametrize(
    "text",
    [
        f"The Redis key {DIGEST} expires after an hour.",
        f"The worker stores the artifact under the cache key {DIGEST} and reuses it.",
        f"restore key {DIGEST}",
        f"cache_key={DIGEST}",
        f"IDEMPOTENCY_KEY: {DIGEST}",
        f'object_key = "{DIGEST}"',
        f"pass {DIGEST} finished",
        f"request token count for {DIGEST * 2}",
        "The product code is 724313443.",
        "The status code is 747500497.",
        "Der Fehlercode lautet 62204284.",
        "The password was changed on 2024-05-01.",
        "user: admin, password: see KeePass entry 12",
        "mysqladmin -u root -p$MYSQL_ROOT_PASSWORD ping",
    ],
)
def test_digests_and_numbers_with_other_names_are_none(text: str) -> None:
    """Keys of caches and rows, codes of products and errors, and dates are near the same words as secrets."""
    assert found(text) == []

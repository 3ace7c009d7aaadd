"""Settings, the secret, and policy files: what is read, and the errors for invalid ones."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antechamber.core.contract import PRODUCER, SCOPES
from antechamber.core.errors import PolicyError
from antechamber.core.log.checkpoint_text import VerifierKey
from antechamber.core.policy import Limits, Policy, Producer, Rules
from antechamber.core.policy_help import IDENTITY
from antechamber.detector_files import check_file, list_files
from antechamber.policy_files import read_policy
from antechamber.secret_key import SECRET, load_secret
from antechamber.settings import DATABASE, Settings, SettingsError
from support import RULES, antechamber

SHIPPED = Path(__file__).parents[1] / "policies"
BOT = '[[producer]]\nidentity = "worker:release-bot"\nowner = "ada"\nsubmit = ["project:apollo"]\n'
CASE = (
    '[[test]]\nname = "n"\nproducer = "worker:release-bot"\nscope = "project:apollo"\nexpect = "accepted-for-review"\n'
)
OWN = CASE.replace('"worker:release-bot"', '{identity = "worker:own", owner = "ada", submit = ["project:apollo"]}')


def write(folder: Path, **files: str | bytes) -> Path:
    """Write policy files by their names without suffix."""
    for name, text in files.items():
        (folder / f"{name}.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def complaint(folder: Path, **files: str | bytes) -> str:
    """Read a folder that must be refused, and return the message."""
    with pytest.raises(PolicyError) as caught:
        read_policy(write(folder, **files))
    return str(caught.value)


def test_missing_files_are_the_defaults(tmp_path: Path) -> None:
    """An empty folder is the shipped policy, which admits no producer."""
    assert read_policy(tmp_path) == Policy(detectors=RULES)
    assert read_policy(tmp_path).digest() == Policy(detectors=RULES).digest() != Policy().digest()


def test_each_pattern_of_the_shipped_detectors_is_valid() -> None:
    """The service does not compile them when it starts, so this is where an invalid one shows."""
    files = list_files(SHIPPED)
    assert len(files) > 10
    for file in files:
        check_file(file.name, file.read_bytes())


def test_the_shipped_folder_says_what_the_code_says() -> None:
    """Scopes, limits and privacy of the shipped files equal the defaults in the code, and their tables pass."""
    policy = read_policy(SHIPPED)
    assert policy.cases
    assert (policy.defaults, policy.limits, policy.privacy) == (Rules(), Limits(), Policy().privacy)
    assert {scope: policy.rules(scope) for scope in SCOPES} == {scope: Policy().rules(scope) for scope in SCOPES}


def test_everything_a_folder_says_is_read(tmp_path: Path) -> None:
    """Producers, rules, limits, privacy and tests are combined."""
    scopes = '[defaults]\ncurators = 2\n[scope.session]\nkinds = ["fact"]\n[limits]\nattempts_per_minute = 9\n'
    policy = read_policy(write(tmp_path, producers=BOT, scopes=scopes, privacy='off = ["iban"]\n', tests=CASE * 3))
    assert policy.producers == {
        "worker:release-bot": Producer(identity="worker:release-bot", owner="ada", submit=["project:apollo"])
    }
    assert policy.rules("project") == Rules(curators=2)
    assert policy.rules("session") == Rules(curators=2, kinds=["fact"])
    assert policy.limits == Limits(attempts_per_minute=9)
    assert policy.privacy.off == ["iban"]
    assert len(policy.cases) == 3


PROVIDER = """[[provider]]
name = "acme"
title = "Acme"
issuer = "https://id.example.com"
client_id = "x"
"""


@pytest.mark.parametrize("scope", ["organization", "cross_organization"])
def test_a_wide_scope_keeps_its_two_persons_unless_told_otherwise(tmp_path: Path, scope: str) -> None:
    """Narrowing the kinds of a scope does not silently drop the second curator."""
    policy = read_policy(write(tmp_path, scopes=f'[scope.{scope}]\nkinds = ["fact"]\n'))
    assert policy.rules(scope) == Rules(kinds=["fact"], curators=2)  # type: ignore[arg-type]


def test_a_wide_scope_can_be_told_otherwise(tmp_path: Path) -> None:
    """An explicit setting replaces the default of a wide scope."""
    assert read_policy(write(tmp_path, scopes="[scope.organization]\ncurators = 1\n")).rules("organization") == Rules()


def test_comments_and_order_do_not_change_the_digest(tmp_path: Path) -> None:
    """The digest depends on the policy's content, not on its notation."""
    other = '[[producer]]\nidentity = "tool:watcher"\nowner = "grace"\n'
    first = read_policy(write(tmp_path, producers=BOT + other))
    second = read_policy(write(tmp_path, producers="# producers\n" + other + BOT))
    assert first.digest() == second.digest()


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("producers", "[[producers]]\n", ["producers.toml", '"producers"', '"producer"']),
        ("producers", BOT + 'submits = ["project:x"]\n', ["producers.toml", '"submits"', "producer", '"submit"']),
        ("producers", BOT + "zzz = 1\n", ["producers.toml", '"zzz"', "identity, owner, submit, read"]),
        ("tests", CASE + "age = 3\n", ["tests.toml", '"age"', "test", "age_days"]),
        ("tests", OWN.replace("submit", "submits"), ["tests.toml", '"submits"', "test[0].producer", '"submit"']),
        ("scopes", "[default]\n", ["scopes.toml", '"default"', '"defaults"']),
        ("scopes", "[defaults]\ncurator = 2\n", ["scopes.toml", '"curator"', "[defaults]", '"curators"']),
        ("guidelines", '[[guideline]]\ntxt = "A"\n', ["guidelines.toml", '"txt"', '"text"']),
        ("scopes", "[limits]\nconflict_per_key = 2\n", ["scopes.toml", '"conflict_per_key"', '"conflicts_per_key"']),
        ("scopes", "[scope.project]\nmax_byte = 2\n", ["scopes.toml", '"max_byte"', "scope", '"max_bytes"']),
        ("scopes", "[producer]\nsees_note = true\n", ["scopes.toml", '"sees_note"', "[producer]", '"sees_notes"']),
        ("privacy", 'of = ["iban"]\n', ["privacy.toml", '"of"', '"off"']),
        ("privacy", "zzz = 1\n", ["privacy.toml", '"zzz"', "known are off"]),
    ],
)
def test_an_unknown_key_is_named_with_its_file_and_what_to_write(
    tmp_path: Path, file: str, text: str, said: list[str]
) -> None:
    """A misspelled key is refused with the nearest known key, otherwise with all of them."""
    message = complaint(tmp_path, **{file: text})
    assert "unknown key" in message
    assert [part for part in said if part not in message] == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("producers", '[[producer]]\nidentity = "worker:x"\n', "producer[0]: owner is missing; write a name"),
        (
            "producers",
            '[[producer]]\nowner = "a"\n',
            "producer[0]: identity is missing; write worker:, tool:, repo: or",
        ),
        ("producers", '[producer]\nowner = "a"\n', "producer is a table; write tables: [[producer]]"),
        (
            "producers",
            '[[producer]]\nidentity = "robot:x"\nowner = "a"\n',
            f'producer[0].identity cannot be "robot:x"; write {IDENTITY}',
        ),
        (
            "producers",
            '[[producer]]\nidentity = "worker:x"\nowner = ""\n',
            'producer[0].owner cannot be ""; write a name',
        ),
        ("producers", BOT + BOT.replace('"ada"', '"a\\nb"'), "producer[1].owner cannot be this value; write a name"),
        ("producers", BOT + 'read = "project:apollo"\n', 'producer[0].read is a text; write a list of scopes, e.g. ["'),
        (
            "producers",
            BOT + 'read = ["apollo"]\n',
            'producer[0].read[0] cannot be "apollo"; write kind:id, e.g. "project',
        ),
        ("producers", BOT + "read = [1]\n", "producer[0].read[0] is a whole number; write kind:id"),
        ("scopes", "[defaults]\ncurators = 3\n", "defaults.curators cannot be 3; write 1 or 2"),
        ("scopes", "[defaults]\ncurators = 0\n", "defaults.curators cannot be 0; write 1 or 2"),
        ("scopes", "[scope.session]\ncurators = 3\n", "scope[...].curators cannot be this value; write 1 or 2"),
        ("scopes", "[scope]\nsession = 3\n", "scope[...] is a whole number; write a table"),
        (
            "scopes",
            "[defaults]\nmax_bytes = 1.5\n",
            "defaults.max_bytes is a number with a fraction; write a whole number",
        ),
        ("scopes", '[defaults]\nkinds = ["Fact"]\n', 'defaults.kinds[0] cannot be "Fact"; write a word of a-z'),
        (
            "scopes",
            "[limits]\nconflicts_per_key = -1\n",
            "limits.conflicts_per_key cannot be -1; write a whole number, 0",
        ),
        ("scopes", '[limits]\nwaiting_per_producer = "many"\n', "limits.waiting_per_producer is a text; write a whole"),
        (
            "scopes",
            "[limits]\nattempts_per_minute = 0\n",
            "limits.attempts_per_minute cannot be 0; write a whole number, 1",
        ),
        (
            "scopes",
            "[limits]\nattempts_per_minute = 2026-11-20\n",
            "limits.attempts_per_minute is a date; write a whole",
        ),
        ("scopes", "[limits]\nbulk_approve = 1\n", "limits.bulk_approve is a whole number; write true or false"),
        ("scopes", "scope = 3\n", "scope is a whole number; write tables: [scope.organization]"),
        ("privacy", 'off = "iban"\n', "off is a text; write a list of rules"),
        ("privacy", "off = [true]\n", "off[0] is true or false; write the name of a rule"),
        ("guidelines", '[[guideline]]\ntext = ""\n', 'guideline[0].text cannot be ""; write one line of 1 to 500'),
        (
            "guidelines",
            f'[[guideline]]\ntext = "{"a" * 501}"\n',
            "guideline[0].text cannot be this value; write one line",
        ),
        (
            "guidelines",
            '[[guideline]]\ntext = "A"\nkinds = ["A"]\n',
            'guideline[0].kinds[0] cannot be "A"; write a word',
        ),
        (
            "guidelines",
            '[[guideline]]\ntext = "A"\nscopes = [1]\n',
            "guideline[0].scopes[0] is a whole number; write one",
        ),
        ("tests", CASE + 'action = "write"\n', 'test[0].action cannot be "write"; write "submit" or "read"'),
        ("tests", CASE + 'age_days = "old"\n', "test[0].age_days is a text; write a whole number"),
        ("tests", CASE.replace("apollo", "a b"), 'test[0].scope cannot be "project:a b"; write kind:id'),
        (
            "tests",
            CASE.replace('"worker:release-bot"', "3"),
            "test[0].producer is a whole number; write an identity of",
        ),
        ("tests", OWN.replace("worker:", "robot:"), 'test[0].producer.identity cannot be "robot:own"; write worker:'),
        (
            "tests",
            OWN.replace('"project:apollo"]', '"apollo"]'),
            'test[0].producer.submit[0] cannot be "apollo"; write',
        ),
        ("tests", OWN.replace(', owner = "ada"', ""), "test[0].producer: owner is missing; write a name"),
        (
            "tests",
            CASE.replace("worker:release", "release"),
            'test "n": producer cannot be "release-bot"; write worker:',
        ),
        (
            "tests",
            OWN.replace('"project:apollo"]', '"projct:a"]'),
            'test "n": worker:own: "projct:a" names no scope; write',
        ),
        ("privacy", "[off\n", "this is no TOML: "),
        ("privacy", "off = []\noff = []\n", "this is no TOML: "),
        ("privacy", b"off = ['\xff']\n", ""),
    ],
)
def test_a_wrong_value_is_named_with_its_file_and_place_and_what_to_write(
    tmp_path: Path, file: str, text: str | bytes, said: str
) -> None:
    """No message mentions regular expressions or types unknown to TOML."""
    message = complaint(tmp_path, **{file: text})
    assert message.startswith(f"{file}.toml: {said}")
    assert [part for part in ("$", "regex", "`", "object", "array") if part in message] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[session.boss]\nidle_minutes = 5\n", 'unknown key "boss" in [session]; known are curator, auditor, operator'),
        (
            "[session.auditor]\nidle_minuts = 5\n",
            'unknown key "idle_minuts" in [session.auditor]; write "idle_minutes"',
        ),
        ("[sesion.auditor]\nidle_minutes = 5\n", 'unknown key "sesion"; write "session"'),
        ("[session.operator]\nidle_minutes = 0\n", "session.operator.idle_minutes cannot be 0; write a whole number"),
        (
            "[session.curator]\nabsolute_hours = 721\n",
            "session.curator.absolute_hours cannot be 721; write a whole number",
        ),
        (
            '[session.curator]\nconfirm_minutes = "5"\n',
            "session.curator.confirm_minutes is a text; write a whole number",
        ),
        ("[session]\nauditor = 5\n", "session.auditor is a whole number; write a table: [session.curator]"),
        ("session = 5\n", "session is a whole number; write tables: [session.curator]"),
        (PROVIDER + 'secret = "x"\n', 'unknown key "secret" in [provider[0]]; write "secret_env"'),
        (
            PROVIDER + 'roles = [{clam = "g", value = "x", role = "curator"}]\n',
            'unknown key "clam" in [role]; write "claim"',
        ),
        (PROVIDER + 'people = [{subject = "1", accont = "x"}]\n', 'unknown key "accont" in [person]; write "account"'),
        (PROVIDER + PROVIDER, "the provider acme is listed twice; keep one [[provider]] for it"),
        (PROVIDER.replace("https", "http"), "the provider acme: issuer: "),
        (PROVIDER.replace("com", "com/?a=b"), "the provider acme: issuer: it cannot have a query"),
        (PROVIDER + 'secret_env = "A"\nsecret_file = "/a"\n', "the provider acme: give secret_env or secret_file"),
        (PROVIDER + 'scopes = ["profile"]\n', 'the provider acme: scopes: "openid" is missing; add it'),
        (PROVIDER + "create = true\n", "the provider acme: create needs roles"),
        (
            PROVIDER + 'people = [{subject = "1", account = "a"}, {subject = "1", account = "b"}]\n',
            "the provider acme: people: a subject is listed twice",
        ),
        ("[sign_in]\npassword = false\n", "[sign_in] password = false needs a [[provider]]"),
    ],
)
def test_what_is_wrong_with_the_rules_of_sessions_is_named(tmp_path: Path, text: str, said: str) -> None:
    """An unknown role or key, and a value beyond its limits, is named with what to write."""
    assert said in complaint(tmp_path, people=text)


ISSUER = '[[issuer]]\nissuer = "https://ci.example.com"\naudience = "here"\n'
REMOTE = ISSUER + 'keys_url = "https://ci.example.com/jwks"\n'
OWNED = BOT + 'subjects = [{issuer = "https://ci.example.com", subject = "job:a"}]\n'
PUBLIC = '{kty = "EC", kid = "a", crv = "P-256", x = "x", y = "y"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ISSUER, "the issuer https://ci.example.com: give either keys_url or keys"),
        (REMOTE + f"keys = [{PUBLIC}]\n", "give either keys_url or keys"),
        (REMOTE + REMOTE, "the issuer https://ci.example.com is listed twice"),
        (ISSUER + 'keys_url = "http://ci.example.com/jwks"\n', "keys_url: http sends events unencrypted"),
        (ISSUER + 'keys_url = "https://10.0.0.1/jwks"\n', "keys_url: 10.0.0.1 is in a private network; write an https"),
        (ISSUER + 'keys_url = "jwks"\n', "keys_url: the URL begins with neither"),
        (ISSUER + f"keys = [{PUBLIC}, {PUBLIC}]\n", "a key: two keys have its kid"),
        (ISSUER + 'keys = [{kty = "oct", kid = "a", k = "x"}]\n', "a key: kty must be RSA, EC or OKP"),
        (ISSUER + f'keys = [{PUBLIC[:-1]}, d = "x"}}]\n', "a key: d belongs to a private key"),
        (ISSUER + 'keys = [{kty = 5, kid = "a"}]\n', "producers.toml: issuer[0].keys[0]"),
        (REMOTE + 'algorithms = ["HS256"]\n', 'issuer[0].algorithms[0] cannot be "HS256"; write one of RS256, RS384'),
        (REMOTE + 'algorithms = ["none"]\n', 'issuer[0].algorithms[0] cannot be "none"; write one of RS256, RS384'),
        (REMOTE + "algorithms = []\n", "issuer[0].algorithms cannot be"),
        (REMOTE + "max_minutes = 0\n", "issuer[0].max_minutes cannot be 0; write a whole number of minutes"),
        (REMOTE + "max_minute = 5\n", 'unknown key "max_minute" in [issuer[0]]; write "max_minutes"'),
        (REMOTE.replace('"here"', '""'), 'issuer[0].audience cannot be ""; write a name in the claim aud'),
        (OWNED, "worker:release-bot: no [[issuer]] has the issuer https://ci.example.com"),
        (
            OWNED.replace("}]", '}, {issuer = "https://ci.example.com", subject = "job:a"}]') + REMOTE,
            "worker:release-bot: the subject job:a is listed twice",
        ),
        (OWNED.replace("subject =", "sub =") + REMOTE, 'unknown key "sub"'),
        (BOT + 'subjects = ["job:a"]\n', "producer[0].subjects[0] is a text; write {issuer ="),
    ],
)
def test_what_is_wrong_with_an_issuer_is_named(tmp_path: Path, text: str, said: str) -> None:
    """An issuer without keys or with a shared secret, another's subject and every misspelling are named."""
    assert said in complaint(tmp_path, producers=text)


def test_subjects_lead_to_their_producers(tmp_path: Path) -> None:
    """A subject is compared with its issuer, character by character."""
    policy = read_policy(write(tmp_path, producers=OWNED + REMOTE))
    assert policy.producer_of("https://ci.example.com", "job:a") == "worker:release-bot"
    assert policy.producer_of("https://ci.example.com", "job:A") is None
    assert policy.producer_of("https://ci.example.org", "job:a") is None
    own = read_policy(write(tmp_path, producers=ISSUER + f"keys = [{PUBLIC}]\n"))
    assert own.issuers["https://ci.example.com"].keys[0]["kid"] == "a"
    assert own.digest() != policy.digest()


def test_rules_of_sessions_replace_single_keys(tmp_path: Path) -> None:
    """Keys and roles that the file does not name keep their defaults, which differ for curators."""
    session = read_policy(write(tmp_path, people="[session.curator]\nidle_minutes = 30\n")).session
    assert (session.curator.idle_minutes, session.curator.absolute_hours) == (30, 24)
    assert (session.auditor.idle_minutes, session.operator.absolute_hours) == (60, 12)


def test_an_unknown_scope_is_named_with_what_to_write(tmp_path: Path) -> None:
    """A misspelled table of scopes is refused with the nearest scope."""
    message = complaint(tmp_path, scopes="[scope.organisation]\ncurators = 2\n")
    assert message.startswith("scopes.toml: ")
    assert "organisation" in message
    assert '"organization"' in message
    message = complaint(tmp_path, scopes="", guidelines='[[guideline]]\ntext = "A"\nscopes = ["projct"]\n')
    assert message.startswith('guidelines.toml: [guideline[0].scopes]: "projct" is no scope; write "project"')


@pytest.mark.parametrize("word", ["submit", "read"])
def test_a_grant_of_an_unknown_scope_is_named_with_what_to_write(tmp_path: Path, word: str) -> None:
    """A misspelled scope in a grant is refused, because it would silently grant nothing."""
    producer = f'[[producer]]\nidentity = "worker:x"\nowner = "a"\n{word} = ["*:ok", "projct:apollo"]\n'
    message = complaint(tmp_path, producers=producer)
    assert message == 'producers.toml: worker:x: "projct:apollo" names no scope; write "project"'


def test_a_case_of_an_unknown_scope_is_refused(tmp_path: Path) -> None:
    """A misspelled scope in a decision table is refused, because the case would test nothing."""
    case = CASE.replace("project:apollo", "projct:apollo").replace("accepted-for-review", "scope-not-granted")
    message = complaint(tmp_path, producers=BOT, tests=case)
    assert "projct" in message
    assert '"project"' in message


def test_a_producer_is_listed_once(tmp_path: Path) -> None:
    """A second entry of a producer is refused, because it could contradict the first."""
    message = complaint(tmp_path, producers=BOT + BOT.replace("ada", "grace"))
    assert message.startswith("producers.toml: worker:release-bot is listed twice")


@pytest.mark.parametrize(("name", "instead"), [("email-adress", '"email-address"'), ("zzz", RULES[0].rule_id)])
def test_an_unknown_privacy_rule_is_named_with_what_to_write(tmp_path: Path, name: str, instead: str) -> None:
    """A misspelled privacy rule is refused with the nearest one, otherwise with all."""
    message = complaint(tmp_path, privacy=f'off = ["iban", "{name}"]\n')
    assert f'"{name}" is no rule' in message
    assert instead in message


def test_every_privacy_rule_can_be_switched_off(tmp_path: Path) -> None:
    """Every rule id of the scanner is valid in the file."""
    names = [rule.rule_id for rule in RULES]
    assert read_policy(write(tmp_path, privacy=f"off = {names}\n")).privacy.off == names


@pytest.mark.parametrize(
    ("name", "instead"), [("producer", '"producers.toml"'), ("zzzzzzzz", "producers.toml, scopes.toml")]
)
def test_an_unknown_file_is_named_with_what_to_write(tmp_path: Path, name: str, instead: str) -> None:
    """A misspelled file name is refused instead of being silently ignored."""
    message = complaint(tmp_path, **{name: ""})
    assert message.startswith(f"{name}.toml: ")
    assert instead in message


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Files of other kinds in the folder are ignored."""
    (tmp_path / "README.md").write_text("notes")
    assert read_policy(tmp_path) == Policy(detectors=RULES)


@pytest.mark.parametrize("kind", ["nothing", "file"])
def test_a_folder_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    """The message describes the required folder."""
    path = tmp_path / kind
    if kind == "file":
        path.write_text("")
    with pytest.raises(PolicyError, match=re.escape(f"{path} is no folder; name one that holds producers.toml")):
        read_policy(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A folder in place of a policy file is reported with its name."""
    (tmp_path / "scopes.toml").mkdir()
    assert complaint(tmp_path).startswith("scopes.toml: cannot be read: ")


def test_a_broken_test_stops_the_policy(tmp_path: Path) -> None:
    """Every failed case is described in one line."""
    broken = CASE.replace('"n"', '"two"').replace("accepted-for-review", "nonsense")
    unlisted = CASE.replace('"n"', '"three"').replace("worker:release-bot", "worker:other")
    tests = CASE.replace('"n"', '"one"').replace("project:", "session:") + CASE + broken + unlisted
    first, second, third = complaint(tmp_path, producers=BOT, tests=tests).splitlines()
    advice = "; change the policy or the test"
    assert first == f'tests.toml: test "one": expected accepted-for-review, the policy says scope-not-granted{advice}'
    assert second.startswith('tests.toml: test "two": expect "nonsense" is neither')
    assert third == (
        'tests.toml: test "three": expected accepted-for-review, the policy says producer-mismatch; '
        "producers.toml does not list "
        "worker:other: list it, or define it in the test with producer = {identity = …}"
    )


@pytest.mark.parametrize("file", ["producers", "scopes", "privacy", "guidelines"])
@pytest.mark.parametrize("word", ["test", "tests"])
def test_tests_in_another_file_are_sent_where_they_belong(tmp_path: Path, file: str, word: str) -> None:
    """Tests in another file are refused with their proper place, so that producers.toml can be replaced alone."""
    message = complaint(tmp_path, **{file: CASE.replace("[[test]]", f"[[{word}]]")})
    renamed = " and call it [[test]]" if word == "tests" else ""
    assert message == f"{file}.toml: tests belong in tests.toml; move each [[{word}]] there{renamed}"


def test_what_an_identity_looks_like_is_said_as_the_contract_has_it() -> None:
    """The message names every kind of producer, and its example is valid."""
    assert set(re.findall(r"(\w+):[, ]", IDENTITY)) == {"worker", "tool", "repo", "service"}
    assert PRODUCER.fullmatch(re.findall(r'"(.*)"', IDENTITY)[0])


def test_a_test_may_bring_its_own_producer(tmp_path: Path) -> None:
    """A case with its own producer is judged by its own grants, whether or not producers.toml lists that producer."""
    assert read_policy(write(tmp_path, tests=OWN)).producers == {}
    denied = OWN.replace("project:apollo", "project:gemini", 1)
    assert complaint(tmp_path, tests=denied).endswith(
        "the policy says scope-not-granted; change the policy or the test"
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("producers", '[[producer]]\nidentity = "repo:mine"\nowner = "me"\nsubmit = ["agent_repo:mine"]\n'),
        ("producers", ""),
        ("scopes", "[defaults]\nstale_after_days = 30\nmax_bytes = 1000\ncurators = 2\n"),
        ("privacy", 'off = ["email-address"]\n'),
        ("guidelines", ""),
    ],
)
def test_each_shipped_file_can_be_replaced_alone(tmp_path: Path, file: str, text: str) -> None:
    """An operator who replaces only the producers gets no errors about samples."""
    for shipped in SHIPPED.glob("*.toml"):
        (tmp_path / shipped.name).write_bytes(shipped.read_bytes())
    assert read_policy(write(tmp_path, **{file: text})).cases


def test_the_file_of_tests_is_optional(tmp_path: Path) -> None:
    """A folder without the file is a policy without tests."""
    for shipped in SHIPPED.glob("*.toml"):
        (tmp_path / shipped.name).write_bytes(shipped.read_bytes())
    (tmp_path / "tests.toml").unlink()
    assert read_policy(tmp_path).cases == []


def test_the_secret_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    """The first use creates folder and secret for the owner alone; later uses return the same bytes."""
    data = tmp_path / "new" / "data"
    secret = load_secret(data)
    assert len(secret) == 32
    assert stat.S_IMODE((data / SECRET).stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert [load_secret(data), (data / SECRET).read_bytes()] == [secret, secret]
    assert [path.name for path in data.iterdir()] == [SECRET]


def test_secrets_of_two_folders_differ(tmp_path: Path) -> None:
    """The secrets of two folders differ, because they are random."""
    assert load_secret(tmp_path / "a") != load_secret(tmp_path / "b")


def test_a_secret_beside_a_database_is_kept(tmp_path: Path) -> None:
    """The secret beside an existing database is used unchanged."""
    secret = load_secret(tmp_path)
    (tmp_path / DATABASE).write_bytes(b"")
    assert load_secret(tmp_path) == secret


def test_half_a_secret_of_a_crash_is_not_used(tmp_path: Path) -> None:
    """An incomplete draft left by a crash neither becomes the secret nor prevents one."""
    draft = tmp_path / f"{SECRET}.0123456789abcdef.new"
    draft.write_bytes(b"half")
    assert len(load_secret(tmp_path)) == 32
    assert draft.read_bytes() == b"half"
    assert {path.name for path in tmp_path.iterdir()} == {SECRET, draft.name}


def test_processes_that_start_together_share_one_secret(tmp_path: Path) -> None:
    """The first process creates the secret, and the others use it."""
    code = "import sys, pathlib as p, antechamber.secret_key as c; print(c.load_secret(p.Path(sys.argv[1])).hex())"
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]  # noqa: S603 -- ours
    said = {process.communicate(timeout=60)[0].strip() for process in started}
    assert said == {(tmp_path / "data" / SECRET).read_bytes().hex()}
    assert [path.name for path in (tmp_path / "data").iterdir()] == [SECRET]


def test_a_missing_secret_beside_a_database_is_an_error(tmp_path: Path) -> None:
    """A missing secret is not replaced, because old receipts would become unrecognizable."""
    (tmp_path / DATABASE).write_bytes(b"")
    with pytest.raises(SettingsError, match=r"secret\.key is missing.*[Rr]estore.*backup"):
        load_secret(tmp_path)
    assert not (tmp_path / SECRET).exists()


def test_a_secret_is_not_made_where_it_must_exist(tmp_path: Path) -> None:
    """Read access does not create a secret."""
    with pytest.raises(SettingsError, match="missing"):
        load_secret(tmp_path, begun=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_damaged_secret_is_an_error(tmp_path: Path, size: int) -> None:
    """A secret of another length is reported, not used and not replaced."""
    (tmp_path / SECRET).write_bytes(bytes(size))
    with pytest.raises(SettingsError, match=r"secret\.key is damaged: it must hold 32 bytes.*backup"):
        load_secret(tmp_path)
    assert (tmp_path / SECRET).read_bytes() == bytes(size)


def settings(host: str = "127.0.0.1", public_url: str | None = None) -> Settings:
    """Return settings for a host."""
    return Settings(data=Path("data"), policies=Path("policies"), host=host, public_url=public_url)


@pytest.mark.parametrize(
    ("urls", "reason"),
    [
        ({"read_database_url": "postgresql://b/x"}, "SQLite has none"),
        ({"database_url": "postgresql://a/x", "read_database_url": "mysql://b/x"}, "must begin with postgresql://"),
        ({"database_url": "postgresql://a/x", "read_database_url": "postgresql://[b"}, "cannot be read"),
    ],
)
def test_a_replica_is_a_standby_of_a_server(urls: dict[str, str], reason: str) -> None:
    """A replica without PostgreSQL, or at an address that is none, is refused before anything starts."""
    with pytest.raises(SettingsError, match=f"--read-database-url .*{reason}"):
        Settings(data=Path("data"), policies=Path("policies"), **urls).check()  # type: ignore[arg-type]
    several = Settings(
        data=Path("data"),
        policies=Path("policies"),
        database_url="postgresql://a/x",
        read_database_url="postgresql://b:5432,c:5433/x",
    )
    several.check()


def test_synchronous_replication_is_required_only_of_a_server() -> None:
    """A file in the folder has no standby, so the option alone is a mistake."""
    with pytest.raises(SettingsError, match="give --database-url too"):
        Settings(data=Path("data"), policies=Path("policies"), require_synchronous=True).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "0:0:0:0:0:0:0:1"])
def test_a_loopback_host_needs_no_public_address(host: str) -> None:
    """A loopback host needs no public address, because nothing crosses a network."""
    made = settings(host)
    made.check()
    assert not made.secure


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "shop.example"])  # noqa: S104 -- refused here
def test_another_host_needs_a_public_address(host: str) -> None:
    """Sign-ins would cross the network unencrypted, so the message requires a TLS proxy."""
    with pytest.raises(SettingsError, match="--public-url https://"):
        settings(host).check()
    made = settings(host, "https://memory.example")
    made.check()
    assert made.secure


@pytest.mark.parametrize("public_url", ["memory.example", "ftp://memory.example", "https://", "//memory", "https://[x"])
def test_a_public_address_must_be_one(public_url: str) -> None:
    """A public address that a browser could not open is refused with an example."""
    with pytest.raises(SettingsError, match=re.escape(f"--public-url {public_url} is no address")):
        settings("192.0.2.1", public_url).check()


@pytest.mark.parametrize(
    "public_url",
    ["https://me:s3cr3t@memory.example", "https://memory.example/?s3cr3t", "https://memory.example#s3cr3t"],
)
def test_a_public_address_has_no_credentials(public_url: str) -> None:
    """Credentials in a public address are refused without repeating them, because the address is printed and linked."""
    with pytest.raises(SettingsError, match="without user name, password and query") as caught:
        settings("192.0.2.1", public_url).check()
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("name", ["database_url", "pin_url", "public_url"])
@pytest.mark.parametrize(
    "url",
    [
        "gopher://me:s3cr3t@pins.example/antechamber",
        "https://me:s3cr3t@pins.example:port/",
        "me:s3cr3t@pins.example",
        "https://?s3cr3t",
        "https://[s3cr3t@",
    ],
)
def test_no_refused_address_is_repeated_with_its_password(name: str, url: str) -> None:
    """The message is shown on a terminal or in a log, so it repeats no password."""
    wrong: dict[str, Any] = {name: url}
    made = Settings(data=Path("data"), policies=Path("policies"), **wrong)
    with pytest.raises(SettingsError, match="--" + name.replace("_", "-")) as caught:
        made.check()
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:a@s3cr3t@db.example/memories", "postgresql://me:s3cr3t%@db.example/m"]
)
def test_a_database_address_that_the_driver_would_repeat_is_refused(tmp_path: Path, url: str) -> None:
    """Such an address is refused before the driver sees it, with the correct form."""
    said = antechamber("doctor", "--data", str(tmp_path), "--database-url", url)
    assert said.returncode == 1
    assert "%40 for @" in said.stderr
    assert "s3cr3t" not in said.stdout + said.stderr


@pytest.mark.parametrize(
    ("host", "public_url", "url"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8080"),
        ("localhost", None, "http://localhost:8080"),
        ("::1", None, "http://[::1]:8080"),
        ("127.0.0.1", "https://memory.example", "https://memory.example"),
        ("127.0.0.1", "https://memory.example/", "https://memory.example"),
        ("127.0.0.1", "http://localhost:9000", "http://localhost:9000"),
    ],
)
def test_the_address_is_the_public_one_or_that_of_the_host(host: str, public_url: str | None, url: str) -> None:
    """IPv6 hosts are in brackets, and no address ends with a slash."""
    assert settings(host, public_url).url == url


def test_requests_may_name_loopback_and_the_public_host_only() -> None:
    """The list of allowed hosts contains every name of this service and no other."""
    assert settings().hosts == sorted({"127.0.0.1", "::1", "[::1]", "localhost"})
    assert set(settings("192.0.2.1", "https://memory.example:8443/").hosts) - set(settings().hosts) == {
        "192.0.2.1",
        "memory.example",
    }


def test_a_witness_that_cannot_be_asked_is_named_with_what_to_write(tmp_path: Path) -> None:
    """A key that is none of a witness, an address that cannot be used and a second table are refused."""
    key = str(VerifierKey("witness.example/w", bytes(32), 4))
    table = f'[[witness]]\nkey = "{key}"\nurl = "https://witness.example"\n'
    assert complaint(tmp_path, log=table.replace(key, "nonsense")).startswith(
        "log.toml: a witness: key: a verifier key"
    )
    other = str(VerifierKey("witness.example/w", bytes(32)))
    assert "no key of a witness" in complaint(tmp_path, log=table.replace(key, other))
    assert "write an https address, or set allow_private" in complaint(tmp_path, log=table.replace("https", "http"))
    assert "is listed twice" in complaint(tmp_path, log=table + table)
    (tmp_path / "log.toml").write_text(table)
    assert read_policy(tmp_path).log.witness[0].url == "https://witness.example"

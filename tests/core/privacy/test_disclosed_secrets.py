"""A model finds values that a text discloses as secrets, near a word for what they open."""

# ruff: noqa: RUF001 -- Chinese has commas of its own

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.models import disclosed_secrets
from antechamber.core.privacy.models.disclosed_secrets import (
    PLACES,
    ValueModel,
    features_of,
    find_disclosed_secrets,
    placed_values,
)
from antechamber.core.privacy.models.hashed_weights import place_of, read_weights
from antechamber.core.privacy.models.value_words import Around, classes_of, is_value, kinds_in
from support import GATE

VALUE = "Zebra!Ket" + "tle88"
ENDLESS = 1 << 40


def found(text: str) -> list[str]:
    """Return the values that the search finds."""
    return [text[start:end] for start, end in find_disclosed_secrets(text, Effort())]


def values(text: str) -> list[str]:
    """Return the values that are judged."""
    return [placed.value for placed in placed_values(text, Effort(ENDLESS))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The ferry's booking desk wants a login again, so use kai and Mar" + "mot!Dusk41 there.", "Marmot!Dusk41"),
        ("Lift to the archive: hold the bell, then enter 77" + "34 and wait.", "7734"),
        ("Der Tresor im Keller geht mit 77" + "34 auf, die Klinke klemmt.", "7734"),
        ("Pour entrer dans l'atelier, tape 77" + "34 puis la flèche.", "7734"),
        ("El router del faro pide usuario y clave: faro y Gavi" + "ota_Roja7.", "Gaviota_Roja7"),
        ("门口的键盘输入 77" + "34 就能进。", "7734"),
        ("裏口は 77" + "34 を押すと開きます。", "7734"),
        ("The new login of the print server is root with 00" + "00, I know.", "0000"),
    ],
)
def test_a_secret_is_found_in_any_words(text: str, value: str) -> None:
    """No list has these sentences."""
    assert value in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "The login service runs on port 8443 and needs Neo4j 5.26.",
        "The password is described in Budget2024!$B$12 since today.",
        "The token was lost with commit 82803c71fd758685fc75995f3e18be8ba540cadc last week.",
        "The key of the cache is user-profile-settings-v2-2024.",
        "Das Kennwort liegt im Tresor, Raum 4711, Fach B-12.",
        "La clave pública del servidor termina en 9f2c41d7.",
        "The password field shows ************ and ####-####.",
        "",
    ],
)
def test_other_values_near_such_words_are_no_secrets(text: str) -> None:
    """Ports, cells, commits, names, rooms, public keys and masks are none."""
    assert found(text) == []


def test_only_values_near_a_word_for_what_they_open_are_judged() -> None:
    """The word is within some ninety characters before, or fifty behind, and in the same text of the event."""
    assert values(f"The password is {VALUE}.") == [VALUE]
    assert values(f"{VALUE} opens the door.") == [VALUE]
    assert values(f"The weather is {VALUE}.") == []
    assert values(f"The password {'of the harbor is old and ' * 6}{VALUE}") == []
    assert values(f"{VALUE} {'of the harbor is old and ' * 4} password") == []
    assert values(f"The password is old.{SEPARATOR}{VALUE}{SEPARATOR}password") == []


def test_words_names_paths_and_short_numbers_are_no_values() -> None:
    """Of technical texts most values are of a kind that no secret has."""
    plain = (
        "login-service user_name deploy/prod config.yaml 10:30 v1.2 500ms 95% #865 A4 SIM108 API_KEY ~/notes e.g. 12"
    )
    assert values(f"The password of {plain}!") == []
    assert values("the password: 123, 12345678901, 4711") == ["4711"]


def test_names_before_a_value_are_no_part_of_it() -> None:
    """A name with an equals sign or a colon is a word before the value."""
    assert values("password=Gull" + "77! and key:Gull" + "78, see login->Gull" + "79") == ["Gull77", "Gull78", "Gull79"]
    assert values("密码是Gull" + "77，请登录") == ["Gull77"]


@given(st.text("aZ9!-_.:= \n密码'\"", max_size=60))
def test_the_score_is_the_sum_of_the_weights_of_all_features(text: str) -> None:
    """What is kept between two values changes nothing."""
    model = ValueModel(range(PLACES), 0.5, 1e-6)
    for placed in placed_values(f"the key {text}", Effort(ENDLESS)):
        expected = sum(place_of(feature, PLACES) for feature in features_of(placed))
        assert model.score(placed) == pytest.approx(expected * 1e-6 + 0.5)


def test_values_of_a_kind_that_no_secret_has_are_not_judged() -> None:
    """What the characters weigh decides whether the words around are read."""
    text = f"The key of the door is {VALUE} or mcp-memory-x86 now."
    weights = {VALUE: 1.0, "mcp-memory-x86": -1.0}
    assert [one.value for one in placed_values(text, Effort(), weights.__getitem__)] == [VALUE]
    assert values(text) == [*weights]


def test_the_numbers_of_a_long_table_do_not_hide_a_password() -> None:
    """Each value near a word for passwords, doors or accounts is judged."""
    rows = "".join(f"| account {number} | paid |\n" for number in range(4_000, 4_400))
    text = f"{rows}The password of the archive is {VALUE}.\n{rows.replace('paid', 'open')[:2_000]}"
    assert found(text) == [VALUE]


@pytest.mark.parametrize("unit", ["account {} paid, ", "key {}\n", "key x{}y\t", "a key {}-x "])
def test_a_text_with_too_many_values_is_not_checked(unit: str) -> None:
    """What is behind them would be read by no search, so that the text does not count as clean."""
    with pytest.raises(EffortSpentError):
        list(find_disclosed_secrets("".join(map(unit.format, range(4_000, 9_900))), Effort(ENDLESS)))


def test_a_part_without_blanks_has_a_limited_number_of_words() -> None:
    """Such a part may have many words and few values; beyond a limit it is not checked."""
    assert found(f"key=1{'码a' * 5_000}") == []
    with pytest.raises(EffortSpentError):
        list(find_disclosed_secrets(f"key=1{'码a' * 7_000}", Effort(ENDLESS)))


def test_each_judged_value_spends_effort() -> None:
    """A search ends that has none left."""
    with pytest.raises(EffortSpentError):
        list(find_disclosed_secrets("The password of the archive is Zebra!Kettle7.\n" * 20, Effort(10)))


def test_identifiers_and_members_are_no_sentences() -> None:
    """Keys of submissions, scopes, tags and members of objects have words for secrets in them, and disclose none."""
    assert values("answer-key-982") == values("token:step:45905") == values("admin:45905") == []
    assert values("door: alpha30221") == values("code = AdminDoor27") == values("order: pass:admin:82866") == []
    assert values("the code of the door: 45905") == ["45905"]
    assert values("密码：45905") == ["45905"]


def test_a_long_run_without_blanks_is_read_once() -> None:
    """Chinese and Japanese have none; two words for passwords in one run do not make its value two."""
    assert values(f"密码{'中' * 300}密码是Gull" + f"77{'中' * 300}口令。密码 是Gull" + "78") == ["Gull77", "Gull78"]


@pytest.mark.parametrize(
    "run", ["ab." * 90 + "!", "-" * 60_000 + "1!", "_码" * 5_000, "a-b." * 9_000 + ":x1", "=" * 60_000]
)
def test_runs_of_signs_take_linear_time(run: str) -> None:
    """Each pattern can match such a run in one way only: with several, the search would take exponential time."""
    assert found(f"key {run} key") == []


def test_a_value_has_classes_and_kinds() -> None:
    """Letters beyond ASCII have a case, or none; each sign is its own class."""
    assert classes_of("Zaunkönig!77") == "Aaaaaaaaa!00"
    assert classes_of("Éa中9") == "Aax0"
    assert kinds_in(classes_of("Éa中9!")) == "aA0x!"
    assert (is_value("4711"), is_value("471"), is_value("word"), is_value("a.b"), is_value("a1-b")) == (
        True,
        False,
        False,
        False,
        True,
    )


def test_what_is_around_a_value_is_read_from_near_to_far() -> None:
    """Words lose their case, numbers and values are known by their kind."""
    text = "Use 12 Ab-1 for the Door = VALUE today, 2024"
    start = text.index("VALUE")
    around = Around.read(text, start, start + 5, (0, len(text)))
    assert around.before == ["=", "door", "the", "for", "<aA0!>", "<2>", "use"]
    assert around.behind == ["today", ",", "<4>"]


def test_the_prefilter_of_the_rule_has_the_same_words() -> None:
    """A text without one of them has no such value, so that the rule leaves it out."""
    (rule,) = (rule for rule in GATE.rules if rule.search == "disclosed-secrets")
    assert rule.prefilter == disclosed_secrets.CUES


def test_a_ticket_behind_a_word_for_a_password_is_none() -> None:
    """The words around it say what it is."""
    assert not GATE.find_private({"": "The number of the password ticket is INC-2047731."})
    assert found("The password of the ferry is Gull" + "&Tide77.") == ["Gull&Tide77"]


def test_a_part_of_a_value_and_a_number_in_code_are_no_secrets() -> None:
    """A text that shows the end of a token, or an error by its number, discloses nothing."""
    assert found("Only the last characters of the token are stored, \u2026k7" + "Qd here.") == []
    assert found("The login fails with error 0x8007052D, which is the rule for passwords.") == []
    assert found("The key of the door is Gull" + "&Tide... as you know") == []


def test_a_sign_behind_a_password_may_be_its_last_one() -> None:
    """It is marked too, so that the desk masks it."""
    assert found("The password of the ferry is Gull" + "Tide77!") == ["GullTide77!"]


def test_a_model_of_another_size_is_refused() -> None:
    """A model that was cut or belongs to another version is not read."""
    with pytest.raises(ValueError, match=r"^a model has 262168 bytes, not 5$"):
        read_weights(b"short", PLACES)

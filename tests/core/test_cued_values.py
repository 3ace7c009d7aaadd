"""Random values are found near a word for a secret, without a link between the two."""

# ruff: noqa: RUF001 -- Chinese and Japanese have marks of their own

import random
import string

import pytest

from antechamber.core.privacy.cued_values import find_cued_values, may_have_cued_value
from antechamber.core.privacy.effort import Effort, EffortSpentError

CHANCE = random.Random(18)  # noqa: S311 -- no secret
MIXED = "q7Rk2ZtB" + "9xWm4LpV" + "3nHd"
DIVIDED = "q7Rk2ZtB9xWm4LpV" + "/3nHd+8Yc"
SIGNED = "x%9RQ!z" + "TfK#4w&bLp~e"
SMALL = "q7rk2ztb9xwm" + "4lpv3nhd"
KEY = "".join(CHANCE.choices("0123456789abcdef", k=40))


def found(text: str) -> list[str]:
    """Return the values that the search finds."""
    return [text[start:end] for start, end in find_cued_values(text, Effort())]


@pytest.mark.parametrize("value", [MIXED, DIVIDED, SIGNED, SMALL])
@pytest.mark.parametrize(
    "sentence",
    [
        "The old token had expired. Everything works with {} again.",
        "{} is what they gave us when we asked for the API key.",
        "Der Bearer war falsch, mit {} antwortet der Dienst.",
        "Sans clé tout échoue ; avec {} tout passe.",
        "La contraseña caducó, hay que mandar {} ahora.",
        "网关要校验令牌，换成新的之后用 {} 就好了",
        "署名の鍵は更新済みで、CIでは{}を渡す",
    ],
)
def test_a_random_value_is_found_near_a_word_for_a_secret(value: str, sentence: str) -> None:
    """The word is in the same sentence or in the one beside it."""
    assert found(sentence.format(value)) == [value]


def test_a_hexadecimal_number_is_a_key_but_no_password() -> None:
    """Passwords are seldom hexadecimal, and commits are often named near them."""
    assert found(f"The map server wants an API key, and {KEY} did it.") == [KEY]
    assert found(f"The password form is back since {KEY} yesterday.") == []


@pytest.mark.parametrize(
    "text",
    [
        f"The table of the harbor has {MIXED} in its first row.",
        f"The token is fine, see document {MIXED} there.",
        f"The key was lost with commit {KEY} last week.",
        f"{KEY} fixed how the token is logged.",
        f"令牌的校验值 {KEY} 对不上",
        "The token of x25519.X25519PrivateKey and getUserTokenFromCacheV2 is loaded.",
        "The key of the cache is user-profile-settings-v2-2024, the secret is elsewhere.",
        "The token is in /run/secrets/q7Rk2ZtB9xWm4LpV3nHd and there only.",
        "key: bG9nX2xldmVsOiBpbmZvCndvcmtlcnM6IDQK",
        f"The key file:\n{MIXED}{SMALL}\n{DIVIDED}{SMALL}\n{MIXED}\n",
        f"A token of {MIXED * 6} is too long for a value.",
        "The password is mostly 12345678901234567890123456789012 by now.",
        f"The sort key of the table is {MIXED} since May.",
        f"The key takeaway is in {MIXED} there.",
        f"The login of tenant {MIXED} failed.",
        f"La clé publique de signature est {MIXED}, à épingler.",
        f"El id de despliegue {MIXED} corrige las contraseñas.",
    ],
)
def test_other_long_values_are_no_secrets(text: str) -> None:
    """Ids, digests, names of code, paths, blocks of data and numbers stay."""
    assert found(text) == []


def test_the_look_is_no_narrower_than_the_search() -> None:
    """What the search finds passes the quick look; prose and names without a digit do not."""
    assert all(may_have_cued_value(f"the key {value} works".encode()) for value in (MIXED, DIVIDED, SIGNED, SMALL, KEY))
    assert not may_have_cued_value(b"The implementation of refreshAccessToken has 12 steps.")


@pytest.mark.parametrize("before", range(100, 200, 5))
def test_a_value_is_found_wherever_it_is_behind_another_long_run(before: int) -> None:
    """Text without blanks is read in parts, and a value may begin in one and end in the next."""
    text = "鍵の表abcdefghijkl1" + "の" * before + MIXED + "の鍵です"
    assert found(text) == [MIXED]


def test_too_many_values_end_the_search() -> None:
    """Each different value costs effort."""
    values = ("".join(CHANCE.choices(string.ascii_letters + string.digits, k=20)) for _ in range(4_000))
    with pytest.raises(EffortSpentError):
        list(find_cued_values(" ".join(values), Effort()))


@pytest.mark.parametrize("unit", [f"{MIXED} ", MIXED, f"鍵{MIXED}", f"{MIXED}/", "a1!b2#", "abcdefghijkl1,"])
def test_the_search_is_linear(unit: str) -> None:
    """A million characters take seconds; a quadratic search takes an hour, so that the limit of each test ends it."""
    list(find_cued_values(unit * (300_000 // len(unit)), Effort(10**9)))

"""Recipes of random values: a text with fields such as `{b62*36}`, filled by a seeded generator.

A field has a class of characters and a number of them, as in `{hex*32}`, or the name of a maker, as in `{uuid}`.
"""

import base64
import json
import random
import re
import string
import tomllib
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

_FIELD: Final = re.compile(r"\{([A-Za-z]\w*)(?:\*(\d+))?\}")
_DIGITS: Final = string.digits
_BASE62: Final = _DIGITS + string.ascii_uppercase + string.ascii_lowercase
CLASSES: Final[dict[str, str]] = {
    "alpha": string.ascii_letters,
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "dig": _DIGITS,
    "one": "123456789",
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "low": string.ascii_lowercase + _DIGITS,
    "up": string.ascii_uppercase + _DIGITS,
    "b32": string.ascii_uppercase + "234567",
    "b62": _BASE62,
    "b64": _BASE62 + "+/",
    "url": _BASE62 + "_-",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
"""Characters of each class."""
_CHECKED: Final = 30
"""Characters before the check characters of GitHub's and npm's tokens."""
_WORDS: Final = [
    "amber", "anchor", "autumn", "bridge", "candle", "canyon", "cedar", "copper", "coral",
    "desert", "ember", "falcon", "forest", "garden", "glacier", "harbor", "island", "jungle",
    "lantern", "maple", "marble", "meadow", "mirror", "monsoon", "ocean", "orchid", "pepper",
    "pirate", "planet", "prairie", "quartz", "raven", "river", "saddle", "silver", "summit",
    "thunder", "timber", "tunnel", "valley", "velvet", "violet", "walnut", "willow", "winter",
    "zephyr",
]  # fmt: skip


class Labelled(Struct, frozen=True, omit_defaults=True):
    """One labelled text, or one submission body."""

    id: str
    label: str
    """`secret`, `personal`, `hostile`, `hidden` or `benign`."""
    kind: str
    subkind: str
    text: str | None = None
    body: dict[str, Any] | None = None


@cache
def load(name: str) -> dict[str, Any]:
    """Return the recipes of a TOML file beside this module; callers share them, and change nothing."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def expand(recipe: str, rng: random.Random, **makers: Callable[[random.Random], str]) -> str:
    """Return a text in which each field of the recipe is filled; `makers` fill further fields by name.

    An unknown field stays as it is: templates of code have braces too.
    """
    known = {**MAKERS, **makers}
    parts: list[str] = []
    after = 0
    for field in _FIELD.finditer(recipe):
        parts.append(recipe[after : field.start()])
        after = field.end()
        name, count = field[1], int(field[2] or 1)
        if name == "crc":
            parts.append(_check_characters("".join(parts)[-_CHECKED:]))
        elif name in CLASSES:
            parts.append("".join(rng.choices(CLASSES[name], k=count)))
        elif name in known:
            parts.append(known[name](rng))
        else:
            parts.append(field[0])
    return "".join([*parts, recipe[after:]])


def _check_characters(text: str) -> str:
    """Return CRC-32 in six base-62 digits (GitHub's engineering blog, "Behind GitHub's new token formats")."""
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits


def make_uuid(rng: random.Random) -> str:
    """Return a random UUID (version 4)."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{rng.choice('89ab')}{digits[17:20]}-{digits[20:]}"


def make_jwt(rng: random.Random) -> str:
    """Return a JSON web token (RFC 7519) with random claims and signature."""
    header = {"alg": "HS256", "typ": "JWT"}
    claims = {"sub": str(rng.randrange(10**9)), "name": rng.choice(_WORDS), "iat": rng.randrange(1_500_000_000)}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims)]
    return ".".join([*parts, "".join(rng.choices(CLASSES["url"], k=43))])


def make_base64_json(rng: random.Random) -> str:
    """Return base64 of a JSON object, as some vendors' tokens have."""
    value = {"iat": rng.randrange(1_700_000_000), "url": "cloud", "org": rng.choice(_WORDS), "k": f"{rng.random()}"}
    return base64.b64encode(json.dumps(value).encode()).decode().rstrip("=")


def make_password(rng: random.Random) -> str:
    """Return a password as people and generators make them."""
    first, second = rng.sample(_WORDS, 2)
    signs = "!#$%&*?@^-_+"
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"{first.title()}{rng.randrange(1950, 2026)}{rng.choice('!?#*')}",
        lambda: f"{first}{second.title()}{rng.choice(signs)}{rng.randrange(10, 999)}",
        lambda: first.replace("a", "4").replace("e", "3").title() + rng.choice("!$%") + expand("{dig*3}{b62*3}", rng),
        lambda: "".join(rng.choices(_BASE62 + "!#%&*+-_?", k=rng.randrange(12, 25))) + rng.choice(_DIGITS),
        lambda: expand("{b62*15}{dig}", rng),
        lambda: f"{first}-{second}-{rng.choice(_WORDS)}-{rng.randrange(10, 99)}",
    )
    return rng.choice(forms)()


def make_user(rng: random.Random) -> str:
    """Return a user name."""
    return rng.choice(("admin", "deploy", "root", "svc-backup", "reporting", "jenkins", rng.choice(_WORDS)))


def make_host(rng: random.Random) -> str:
    """Return a host name that is not reserved."""
    return f"{rng.choice(('db', 'api', 'mq', 'smtp', 'cache'))}{rng.randrange(1, 9)}.{rng.choice(_WORDS)}-works.net"


def make_word(rng: random.Random) -> str:
    """Return a word."""
    return rng.choice(_WORDS)


MAKERS: Final[dict[str, Callable[[random.Random], str]]] = {
    "uuid": make_uuid,
    "jwt": make_jwt,
    "json64": make_base64_json,
    "password": make_password,
    "user": make_user,
    "host": make_host,
    "word": make_word,
}
"""Makers of fields by name."""

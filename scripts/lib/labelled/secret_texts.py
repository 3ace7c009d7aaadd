"""Texts with secrets: vendors' tokens, keys with context, private keys, assignments and sentences."""

import base64
import random
from collections.abc import Iterator
from typing import Final

from mnemonic import Mnemonic

from lib.labelled.recipes import CLASSES, Labelled, expand, load, make_password, make_user

AROUND: Final = (
    "{}",
    "The service uses {} to call the interface.",
    "token: {}",
    'KEY = "{}"',
    "Deploy failed with {} in the log",
    "`{}`",
    "export SERVICE_TOKEN={}",
    '{{"value": "{}", "retries": 3}}',
)
"""Contexts of a token; each token is tried in some of them."""
_EACH: Final = 4
_CRYPT: Final = "./" + CLASSES["b62"]


def make_prefixed(rng: random.Random) -> Iterator[Labelled]:
    """Yield each vendor's tokens in several contexts."""
    for subkind, recipe in load("formats")["prefixed"].items():
        for number, around in enumerate(rng.sample(AROUND, _EACH)):
            text = around.replace("{}", expand(recipe, rng)).replace("{{", "{").replace("}}", "}")
            yield Labelled(f"prefixed-{subkind}-{number}", "secret", "prefixed", subkind, text)


def make_token(subkind: str, rng: random.Random) -> str:
    """Return one token of a vendor."""
    return expand(load("formats")["prefixed"][subkind], rng)


def make_unprefixed(rng: random.Random) -> Iterator[Labelled]:
    """Yield keys that only their context gives away."""
    for subkind, recipes in load("formats")["unprefixed"].items():
        for number, recipe in enumerate(recipes):
            text = expand(recipe, rng, basic=_make_basic)
            yield Labelled(f"unprefixed-{subkind}-{number}", "secret", "unprefixed", subkind, text)


def make_private_keys(rng: random.Random) -> Iterator[Labelled]:
    """Yield private keys as files, as one line with escapes, in JSON, without their header line, and as JWK."""
    for heading in load("formats")["keys"]["headings"]:
        lines = [expand("MII{b64*61}", rng), *(expand("{b64*64}", rng) for _ in range(20)), expand("{b64*40}==", rng)]
        block = "\n".join([f"-----BEGIN {heading}-----", *lines, f"-----END {heading}-----"])
        escaped = block.replace("\n", "\\n")
        forms = {
            "file": block,
            "escaped": f'private_key: "{escaped}"',
            "indented": "key: |\n  " + block.replace("\n", "\n  "),
            "quoted": "> " + block.replace("\n", "\n> "),
            "cut": block[: len(block) // 2],
        }
        for form, text in forms.items():
            yield Labelled(f"key-{heading.lower().replace(' ', '-')}-{form}", "secret", "private-keys", form, text)
    for number in range(10):
        jwk = expand('{"kty":"EC","crv":"P-256","x":"{url*43}","y":"{url*43}","d":"{url*43}"}', rng)
        yield Labelled(f"key-jwk-{number}", "secret", "private-keys", "jwk", jwk)
        putty = expand("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{b64*43}=\n", rng)
        yield Labelled(f"key-putty-{number}", "secret", "private-keys", "putty", putty)


def make_assignments(rng: random.Random, each: int = 3) -> Iterator[Labelled]:
    """Yield passwords in configuration files, code, headers and command lines."""
    for subkind, recipes in load("passwords")["assignments"].items():
        for number, recipe in enumerate(recipes * each):
            text = fill(recipe, rng)
            yield Labelled(f"assignment-{subkind}-{number}", "secret", "assignments", subkind, text)


def make_sentences(rng: random.Random) -> Iterator[Labelled]:
    """Yield sixty sentences with a credential, in six languages."""
    for language, forms in load("passwords")["sentences"].items():
        for number, recipe in enumerate(forms["secret"]):
            yield Labelled(f"sentence-{language}-{number}", "secret", "sentences", language, fill(recipe, rng))


def make_held_out(rng: random.Random) -> Iterator[Labelled]:
    """Yield vendors' secrets, assignments and sentences of the second set, with its harmless sentences."""
    recipes = load("held_out")
    for subkind, recipe in recipes["prefixed"].items():
        yield Labelled(f"held-out-{subkind}", "secret", "held-out-vendors", subkind, fill(recipe, rng))
    for number, recipe in enumerate(recipes["assignments"]["misc"] * 2):
        yield Labelled(f"held-out-{number}", "secret", "held-out-assignments", "misc", fill(recipe, rng))
    for language, forms in recipes["sentences"].items():
        for label, kind in (("secret", "secret"), ("benign", "harmless")):
            for number, recipe in enumerate(forms[kind]):
                text = fill(recipe, rng)
                yield Labelled(f"held-out-{kind}-{language}-{number}", label, "held-out-sentences", language, text)


def fill(recipe: str, rng: random.Random) -> str:
    """Fill a recipe; the passwords avoid the signs that would end them where they are."""

    def plain(rng: random.Random, avoid: str) -> str:
        while set(found := make_password(rng)) & set(avoid):
            pass
        return found

    return expand(
        _fill_crypt(recipe, rng),
        rng,
        password=lambda rng: plain(rng, "'\"\\"),
        password0=lambda rng: plain(rng, ";:'\"\\"),
        password1=lambda rng: plain(rng, "@:/?#&%;$!*'\"\\^+"),
        password64=lambda rng: base64.b64encode(make_password(rng).encode()).decode(),
        basic=_make_basic,
        mnemonic=lambda rng: Mnemonic("english").to_mnemonic(rng.randbytes(rng.choice((16, 20, 24, 32)))),
    )


def _fill_crypt(recipe: str, rng: random.Random) -> str:
    """Fill the fields of crypt's alphabet (crypt(5))."""
    for count in (8, 22, 43, 53, 86):
        field = f"{{crypt*{count}}}"
        while field in recipe:
            recipe = recipe.replace(field, "".join(rng.choices(_CRYPT, k=count)), 1)
    return recipe


def _make_basic(rng: random.Random) -> str:
    """Return user name and password as basic authentication has them (RFC 7617)."""
    return base64.b64encode(f"{make_user(rng)}:{make_password(rng)}".encode()).decode()

"""The third and fourth set: secrets, encodings, ids, hostile texts and harmless ones; the rules had not met them."""

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from lib.labelled.personal_texts import find_valid
from lib.labelled.recipes import Labelled, expand, load, make_word
from lib.labelled.secret_texts import AROUND, fill, make_token

_TOKENS: Final = (
    "github-fine-grained-token",
    "gitlab-deploy-token",
    "stripe-webhook-secret",
    "telegram-bot-token",
    "pypi-token",
    "replicate-token",
    "doppler-personal-token",
    "aws-session-key",
)
"""Formats that every detector should know, so that the encoding alone is tested."""
_EACH: Final = 2


def make_held_out_2(rng: random.Random) -> Iterator[Labelled]:
    """Yield all texts of the third set."""
    yield from _make_texts(rng, "third", load("held_out_2"), load("hostile_2"))
    yield from _make_encodings(rng)


def make_held_out_3(rng: random.Random) -> Iterator[Labelled]:
    """Yield all texts of the fourth, smaller set."""
    yield from _make_texts(rng, "fourth", load("held_out_3"), load("hostile_3"))


def _make_texts(
    rng: random.Random, name: str, recipes: dict[str, Any], hostile: dict[str, dict[str, list[str]]]
) -> Iterator[Labelled]:
    yield from _make_secrets(rng, name, recipes)
    yield from _make_sentences(rng, name, recipes)
    yield from _make_ids(rng, name, recipes)
    yield from _make_hostile(rng, name, hostile)


def _make_secrets(rng: random.Random, name: str, recipes: dict[str, Any]) -> Iterator[Labelled]:
    for subkind, recipe in recipes["prefixed"].items():
        for number, around in enumerate(rng.sample(AROUND, _EACH)):
            text = around.replace("{}", fill(recipe, rng)).replace("{{", "{").replace("}}", "}")
            yield Labelled(f"{name}-{subkind}-{number}", "secret", f"{name}-vendors", subkind, text)
    lists = (
        ("secret", f"{name}-context", recipes["context"]["lines"]),
        ("secret", f"{name}-assignments", recipes["assignments"]["misc"] * _EACH),
        ("benign", f"{name}-assignments", recipes["assignments"]["harmless"]),
    )
    for label, kind, lines in lists:
        for number, recipe in enumerate(lines):
            yield Labelled(f"{kind}-{label}-{number}", label, kind, recipe, fill(recipe, rng))


def _make_sentences(rng: random.Random, name: str, recipes: dict[str, Any]) -> Iterator[Labelled]:
    for language, forms in recipes["sentences"].items():
        for label, kind in (("secret", "secret"), ("benign", "harmless")):
            for number, recipe in enumerate(forms[kind]):
                text = fill(recipe, rng)
                yield Labelled(
                    f"{name}-sentence-{kind}-{language}-{number}", label, f"{name}-sentences", language, text
                )


def _encode_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _cut(text: str, size: int = 9) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


ENCODINGS: Final[dict[str, Callable[[str], str]]] = {
    "data-uri": lambda text: f"data:text/plain;base64,{_encode_base64(text)}",
    "base64-in-json": lambda text: json.dumps({"b": _encode_base64(json.dumps({"token": text}))}),
    "base64-lines": lambda text: re.sub("(.{20})", r"\1\n", _encode_base64(f"key: {text} and some more words")),
    "json-in-json": lambda text: json.dumps(json.dumps(json.dumps({"note": f"it's {text}"}))),
    "percent-partly": lambda text: "".join(
        f"%{ord(sign):02x}" if place % 4 else sign for place, sign in enumerate(text)
    ),
    "percent-twice": lambda text: "".join(f"%25{ord(sign):02X}" for sign in text),
    "hex-colons": lambda text: ":".join(f"{ord(sign):02x}" for sign in text),
    "hex-0x": lambda text: "0x" + text.encode().hex(),
    "hex-array": lambda text: "{" + ", ".join(f"0x{ord(sign):02x}" for sign in text) + "}",
    "escapes-braced": lambda text: "".join(f"\\u{{{ord(sign):x}}}" for sign in text),
    "escapes-partly": lambda text: "".join(
        f"\\u{ord(sign):04X}" if place % 3 else sign for place, sign in enumerate(text)
    ),
    "escapes-octal": lambda text: "".join(f"\\{ord(sign):03o}" for sign in text),
    "entities-named": lambda text: "".join(f"&#{ord(sign):05d};" for sign in text).replace("&#00095;", "&lowbar;"),
    "entities-twice": lambda text: "".join(f"&amp;#x{ord(sign):X};" for sign in text),
    "base64-utf16": lambda text: base64.b64encode(f"$t='{text}'".encode("utf-16-le")).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "joined-array": lambda text: json.dumps(_cut(text)) + ".join('')",
    "joined-plus": lambda text: "+".join(f"'{part}'" for part in _cut(text)),
    "joined-quotes": lambda text: "".join(f'"{part}"' for part in _cut(text)),
    "folded-yaml": lambda text: 'token: "' + "\\\n    ".join(_cut(text, 15)) + '"',
    "spaced-letters": "  ".join,
    "dashed-parts": lambda text: " - ".join(_cut(text, 12)),
    "full-width-parts": lambda text: text[:5] + "".join(chr(ord(sign) + 0xFEE0) for sign in text[5:]),
    "zero-width": lambda text: "\u2063".join(_cut(text, 3)),
}
"""Further ways to write a secret differently."""


def _make_encodings(rng: random.Random) -> Iterator[Labelled]:
    for subkind, encode in ENCODINGS.items():
        for token in _TOKENS:
            text = encode(make_token(token, rng))
            yield Labelled(f"third-encoding-{subkind}-{token}", "secret", "third-encodings", subkind, text)


def _make_ids(rng: random.Random, name: str, recipes: dict[str, Any]) -> Iterator[Labelled]:
    for subkind, (recipe, *words) in recipes["ids"].items():
        for number, word in enumerate(words * _EACH):
            form = ("{}: {}", "{} {}", "My {} is {}.", "{}={}")[number % 4]
            text = form.format(word, find_valid(subkind, recipe, rng))
            yield Labelled(f"{name}-id-{subkind}-{number}", "personal", f"{name}-ids", subkind, text)


def _make_hostile(rng: random.Random, name: str, hostile: dict[str, dict[str, list[str]]]) -> Iterator[Labelled]:
    for category, languages in hostile.items():
        label, kind = ("benign", f"{name}-orders") if category == "harmless" else ("hostile", f"{name}-{category}")
        for language, recipes in languages.items():
            for number, recipe in enumerate(recipes):
                text = expand(recipe, rng)
                if number % 2:
                    text = f"The build of {make_word(rng)} takes six minutes. {text} The report has two pages."
                yield Labelled(f"{name}-{category}-{language}-{number}", label, kind, language, text)

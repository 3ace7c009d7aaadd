"""Harmless texts: prose, code, configuration, logs, other scripts, numbers, and look-alikes of credentials."""

import random
from collections.abc import Iterator
from itertools import chain
from typing import Final

from stdnum import ean, isbn

from lib.labelled.encoded_texts import make_body
from lib.labelled.recipes import Labelled, expand, load

_PROSE: Final = 70
_SCRIPTS: Final = 3
_RESERVED: Final = 4
_CODE: Final = 8
_AROUND: Final = ("{}", "id {}", "see {} for details", "value={}", "({})")


def make_benign(rng: random.Random, numbers: int = 100) -> Iterator[Labelled]:
    """Yield harmless texts, each once; of each kind of number this many."""
    seen: set[str | None] = set()
    for one in chain(_make_texts(rng), make_look_alikes(rng), make_bodies(rng), make_numbers(rng, numbers)):
        if one.text is None or one.text not in seen:
            seen.add(one.text)
            yield one


def _make_texts(rng: random.Random) -> Iterator[Labelled]:
    """Yield prose of one to three sentences, words of many scripts, and pieces of code."""
    recipes = load("benign")
    for language, texts in recipes["prose"].items():
        for number in range(_PROSE):
            chosen = rng.choices(texts, k=rng.randrange(1, 4))
            yield _benign("prose", language, number, expand(" ".join(chosen), rng))
    for kind, each in (("scripts", _SCRIPTS), ("reserved", _RESERVED), ("code", _CODE)):
        for subkind, texts in recipes[kind].items():
            for number, text in enumerate(texts * each):
                yield _benign(kind, subkind, number, expand(text, rng))


def _benign(kind: str, subkind: str, number: int, text: str) -> Labelled:
    return Labelled(f"benign-{kind}-{subkind}-{number}", "benign", kind, subkind, text)


def make_look_alikes(rng: random.Random) -> Iterator[Labelled]:
    """Yield references, masks, placeholders and prose in the places of credentials, with sixty sentences."""
    recipes = load("passwords")
    for subkind, texts in recipes["harmless"].items():
        for number, text in enumerate(texts):
            yield _benign("assignments", subkind, number, text)
    for language, forms in recipes["sentences"].items():
        for number, text in enumerate(forms["harmless"]):
            yield _benign("sentences", language, number, expand(text, rng))


def make_bodies(rng: random.Random, count: int = 200) -> Iterator[Labelled]:
    """Yield complete submission bodies without findings."""
    texts = [text for texts in load("benign")["prose"].values() for text in texts]
    for number in range(count):
        attributes = {"severity": rng.randrange(9), "build": expand("{hex*7}", rng), "seconds": rng.randrange(9000)}
        body = make_body(expand(rng.choice(texts), rng), tags=["deploy", expand("{word}", rng)], attributes=attributes)
        yield Labelled(f"benign-bodies-{number}", "benign", "bodies", "body", body=body)


def make_numbers(rng: random.Random, each: int) -> Iterator[Labelled]:
    """Yield this many identifiers of each kind: UUIDs, hashes, versions, timings, orders, EANs, ISBNs."""
    for subkind, recipe in load("benign")["numbers"].items():
        for number in range(each):
            text = rng.choice(_AROUND).format(expand(recipe, rng))
            yield _benign("numbers", subkind, number, text)
    for number in range(each):
        body = expand("4{dig*11}", rng)
        text = rng.choice(_AROUND).format(body + ean.calc_check_digit(body))
        yield _benign("numbers", "ean", number, text)
        book = expand("978{one}{dig*8}", rng)
        book += ean.calc_check_digit(book)
        shown = isbn.format(book) if number % 2 else book
        yield _benign("numbers", "isbn", number, f"ISBN {shown}")

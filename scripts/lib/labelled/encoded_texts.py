"""Secrets in other encodings, cut into lines or groups, joined by operators, or in pieces over texts and members."""

import base64
import codecs
import gzip
import quopri
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from lib.labelled.recipes import Labelled
from lib.labelled.secret_texts import make_token

_TOKENS: Final = (
    "github-classic-token",
    "gitlab-token",
    "slack-bot-token",
    "stripe-secret-key",
    "openai-project-key",
    "anthropic-key",
    "google-api-key",
    "sendgrid-key",
    "npm-token",
    "digitalocean-token",
    "huggingface-token",
    "aws-access-key",
    "shopify-token",
    "linear-key",
)
"""Formats that every detector should know, so that the encoding alone is tested."""
EACH: Final = 4
"""Texts of each encoding and format."""
_LINE: Final = 12


def _encode_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _encode_quoted_printable(text: str) -> str:
    """Quote every third character (RFC 2045)."""
    return "".join(f"={ord(sign):02X}" if place % 3 == 0 else sign for place, sign in enumerate(text))


def _encode_percent(text: str) -> str:
    return "".join(f"%{ord(sign):02X}" for sign in text)


def _wrap(text: str, end: str) -> str:
    return end.join(text[place : place + _LINE] for place in range(0, len(text), _LINE))


def _concatenate(text: str, operator: str) -> str:
    return operator.join(f'"{part}"' for part in _thirds(text))


def _thirds(text: str) -> tuple[str, str, str]:
    third = len(text) // 3
    return text[:third], text[third : 2 * third], text[2 * third :]


def _break(text: str, form: str) -> str:
    """Divide a token within what it begins with, which takes three characters at least."""
    return form.format(text[:2], text[2:])


def _lines(parts: list[str], size: int, gap: str) -> list[str]:
    return [gap.join(parts[place : place + size]) for place in range(0, len(parts), size)]


def _dump(text: str, form: str, size: int) -> str:
    """Print a text as the dump of its bytes does, in groups of a size, with offset and ASCII."""
    rows = _lines(list(text), 16, "")
    groups = [" ".join(row[at : at + size].encode().hex() for at in range(0, len(row), size)) for row in rows]
    return "\n".join(form.format(16 * at, line, row) for at, (line, row) in enumerate(zip(groups, rows, strict=True)))


def _encode_entities(text: str) -> str:
    return "".join(f"&#{ord(sign)};" if place % 2 else f"&#x{ord(sign):x};" for place, sign in enumerate(text))


def _group(text: str, size: int, gap: str) -> str:
    return gap.join(text[place : place + size] for place in range(0, len(text), size))


def _halve(text: str, frame: str) -> str:
    half = len(text) // 2
    return frame.format(text[:half], text[half:])


ENCODINGS: Final[dict[str, tuple[Callable[[str], str], ...]]] = {
    "base64": (
        _encode_base64,
        lambda text: _encode_base64(f"token={text}\n"),
        lambda text: _encode_base64(text).rstrip("="),
    ),
    "base64url": (lambda text: base64.urlsafe_b64encode(f"{{'key?': '{text}>>'}}".encode()).decode().rstrip("="),),
    "hex": (
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
        lambda text: text.encode().hex(" "),
    ),
    "percent": (_encode_percent, lambda text: _encode_percent(text).lower()),
    "unicode-escapes": (
        lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
        lambda text: "".join(f"\\x{ord(sign):02x}" for sign in text),
    ),
    "html-entities": (_encode_entities, lambda text: "".join(f"&#{ord(sign)};" for sign in text)),
    "quoted-printable": (
        lambda text: "".join(f"={ord(sign):02X}" for sign in text),
        lambda text: quopri.encodestring(f"é {text} ü".encode()).decode(),
        _encode_quoted_printable,
        lambda text: text[:20] + "=\n" + text[20:],
    ),
    "double": (
        lambda text: _encode_base64(_encode_base64(text)),
        lambda text: _encode_percent(_encode_base64(text)),
        lambda text: _encode_base64(text.encode().hex()),
        lambda text: _encode_base64(_encode_percent(text)),
    ),
    "triple": (
        lambda text: _encode_base64(_encode_base64(_encode_base64(text))),
        lambda text: _encode_base64(_encode_base64(text).encode().hex()),
        lambda text: _encode_percent(_encode_base64(text.encode().hex())),
    ),
    "wrapped": (
        lambda text: _wrap(text, "\n"),
        lambda text: _wrap(text, "\n    "),
        lambda text: _wrap(text, "\\\n"),
        lambda text: _wrap(_encode_base64(text), "\n"),
    ),
    "spaced": (
        " ".join,
        lambda text: _wrap(text, " "),
        "\u200b".join,
    ),
    "concatenated": (
        lambda text: _concatenate(text, " + "),
        lambda text: _concatenate(text, " . "),
        lambda text: _concatenate(text, "\n    "),
        lambda text: _concatenate(text, " & "),
    ),
    "disguised": (
        lambda text: "".join(chr(ord(sign) + 0xFEE0) for sign in text),
        lambda text: text[:6] + "\u00ad" + text[6:12] + "\u2060" + text[12:],
        lambda text: text.replace("o", "\u043e").replace("a", "\u0430").replace("e", "\u0435"),
    ),
    "grouped": (
        lambda text: _group(text, 2, " "),
        lambda text: _group(text, 4, " "),
        lambda text: _group(text, 3, " / "),
        lambda text: _group(text, 1, "\n"),
        lambda text: _group(text, 1, ", "),
        lambda text: _group(_encode_base64(text), 4, " "),
    ),
    "codes": (
        lambda text: ", ".join(str(ord(sign)) for sign in text),
        lambda text: " ".join(f"{ord(sign):03o}" for sign in text),
        lambda text: " ".join(f"{ord(sign):08b}" for sign in text),
        lambda text: " + ".join(f"chr({ord(sign)})" for sign in text),
        lambda text: " ".join(f"U+{ord(sign):04X}" for sign in text),
    ),
    "compressed": (
        lambda text: base64.b64encode(gzip.compress(f"token: {text}\n".encode(), mtime=0)).decode(),
        lambda text: base64.b64encode(zlib.compress(text.encode())).decode(),
    ),
    "apart": (
        lambda text: _halve(text, "the first half is {}, the second half is {}"),
        lambda text: _halve(text, "{1} comes second, after {0}"),
        lambda text: _halve(text, "| {} | {} |"),
        lambda text: _halve(text, 'a = "{}"\nb = "{}"\ntoken = a + b'),
        lambda text: _halve(text, "- {}\n- {}"),
    ),
    "embedded": (lambda text: f"my_{text}", lambda text: f"x{text}", lambda text: f"a_{text}_b"),
    "broken": (
        lambda text: _break(text, "| {} | {} |"),
        lambda text: _break(text, "A={}\nB={}\nexport TOKEN=$A$B"),
        lambda text: _break(text, 'rest = "{1}"\ntoken = f"{0}{{rest}}"'),
        lambda text: _break(text, "<td>{}</td><td>{}</td>"),
        lambda text: _break(text, 't = "{}"\nt += "{}"'),
    ),
    "dumped": (
        lambda text: _dump(text, "{:08x}: {}  {}", 2),
        lambda text: _dump(text, "{:08x}  {}  |{}|", 1),
        lambda text: "{" + ",\n ".join(_lines([f"0x{ord(sign):02x}" for sign in text], 8, ", ")) + "}",
    ),
    "turned": (lambda text: text[::-1], lambda text: codecs.encode(text, "rot13")),
    "accented": (
        lambda text: "".join(f"{sign}\u0301" if sign in "aeiouyn" else sign for sign in text),
        lambda text: "".join(f"{sign}\u0336" for sign in text),
    ),
    "appended": (
        lambda text: "\n".join(
            f'{sign} "{part}";' for sign, part in zip(("t =", "t +=", "t +="), _thirds(text), strict=True)
        ),
        lambda text: "(\n" + "\n".join(f'    "{part}"' for part in _thirds(text)) + "\n)",
        lambda text: "t = " + " & _\n    ".join(f'"{part}"' for part in _thirds(text)),
    ),
}
"""Ways to write a secret differently; several of each kind."""


def make_encoded(rng: random.Random) -> Iterator[Labelled]:
    """Yield some thirteen hundred secrets in other encodings."""
    for subkind, ways in ENCODINGS.items():
        for token in _TOKENS:
            for number in range(EACH):
                text = rng.choice(ways)(make_token(token, rng))
                around = rng.choice(("{}", "value: {}", "The blob is {} as sent."))
                yield Labelled(
                    f"encoding-{subkind}-{token}-{number}", "secret", "encodings", subkind, around.format(text)
                )
    for place, token in enumerate(_TOKENS):
        for number, body in enumerate(_split(make_token(token, rng))):
            yield Labelled(f"encoding-split-{place}-{number}", "secret", "encodings", "split", body=body)


def _split(token: str) -> Iterator[dict[str, Any]]:
    """Yield bodies with the halves of a token in two members."""
    half = len(token) // 2
    first, second = token[:half], token[half:]
    yield make_body("Both parts belong together.", attributes={"part_1": first, "part_2": second})
    yield make_body("Both parts belong together.", attributes={"parts": [first, second]})
    yield make_body(f"It begins with {first}", attributes={"rest": second})
    yield make_body("The parts are tags.", tags=[first, second])


def make_body(content: str, **members: Any) -> dict[str, Any]:
    """Return a submission body without key, producer and hash, which a scan does not need."""
    return {"payload": {"kind": "fact", "content": content, **members}, "source_span": {"uri": "repo://apollo/notes"}}

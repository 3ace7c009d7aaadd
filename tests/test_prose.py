"""The prose of code and documents is plain technical English: listed words are counted for each file."""

import ast
import io
import re
import tokenize
from pathlib import Path

PROJECT = Path(__file__).parent.parent
LISTED = re.compile(
    r"\b(?:whoever|somebody|nobody|everybody|anybody|anew|stands?|stood|tells?|told|so many|by which)\b", re.IGNORECASE
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
COMMENT = {
    ".sql": re.compile(r"--(.*)"),
    ".js": re.compile(r"(?m)^\s*//(.*)|/\*((?s:.*?))\*/"),
    ".mjs": re.compile(r"(?m)^\s*//(.*)|/\*((?s:.*?))\*/"),
    ".css": re.compile(r"/\*((?s:.*?))\*/"),
    ".html": re.compile(r"\{#((?s:.*?))#\}"),
    ".toml": re.compile(r"(?m)^[^\"'\n]*?#(.*)"),
}
SHELL = re.compile(r"(?m)^\s*#(?!!)(.*)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
ALLOWED: dict[str, int] = {}
"""Maximum number of listed words per file; a number may only fall."""


def _python(text: str) -> str:
    """Return comments, docstrings and documented attributes of a module."""
    strings = [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*strings, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def prose_of(path: Path) -> str:
    """Return the prose of a file: a document's text without code, or a program's comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = _python(text)
    elif path.suffix != ".md":
        comments = COMMENT.get(path.suffix, SHELL).finditer(text)
        text = "\n".join("".join(filter(None, found.groups())) for found in comments)
    return CODE.sub(" ", text)


def files() -> list[Path]:
    """Return all files with prose."""
    found = [*PROJECT.glob("*.md"), PROJECT / ".ci" / "run", PROJECT / "pyproject.toml"]
    for folder in ("service", "templates", "policies", "scripts", "tests"):
        found += [
            path
            for path in (PROJECT / folder).rglob("*")
            if path.is_file()
            and (path.suffix in COMMENT or path.suffix in {".md", ".py"} or path.parent.name == "scripts")
            and not {"node_modules", "__pycache__", "locks"} & set(path.parts)
        ]
    return sorted(found)


def counted() -> tuple[dict[str, int], int]:
    """Return how often each file uses a listed word, and how many words all prose has."""
    counts, words = {}, 0
    for path in files():
        prose = prose_of(path)
        words += len(WORD.findall(prose))
        if number := len(LISTED.findall(prose)):
            counts[str(path.relative_to(PROJECT))] = number
    return counts, words


def test_listed_words_only_become_fewer() -> None:
    """No file uses more listed words than allowed, and each allowance equals the actual number."""
    counts, words = counted()
    assert words > 50_000
    assert {name: number for name, number in counts.items() if number > ALLOWED.get(name, 0)} == {}
    assert {name: number for name, number in ALLOWED.items() if number > counts.get(name, 0)} == {}

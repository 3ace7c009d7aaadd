"""The structure of the project: sizes, docstrings, templates and forbidden contents."""

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
SOURCE = PROJECT / "service" / "antechamber"
MODULES = sorted(SOURCE.rglob("*.py"))
TEMPLATES = sorted((PROJECT / "templates").glob("*.html"))
FOLDERS = ("service", "templates", "policies", "tests", "scripts")
TEXTS = {".py", ".sql", ".html", ".css", ".toml", ".md", ".json", ".jsonl", ".txt", ".sh", ""}
FORBIDDEN = (
    "://" + "pypi", "python" + "hosted", "registry." + "npmjs", "registry." + "yarnpkg", "ruby" + "gems.org",
    "crates.io" + "-index", "docker" + ".io/", "ghcr" + ".io", "quay" + ".io",
    "/" + "work/", "/" + "root/", "/" + "home/", "/" + "Users/", "/" + "tmp/w/",
)  # fmt: skip


def _functions(module: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module.relative_to(SOURCE)}:{node.name}", (node.end_lineno or 0) - node.lineno + 1


def _files() -> list[Path]:
    found = [file for file in PROJECT.iterdir() if file.is_file() and not file.name.startswith(".cov")]
    for folder in FOLDERS:
        found += [file for file in (PROJECT / folder).rglob("*") if file.is_file()]
    # In a linked worktree `.git` is a file that names another folder.
    return [file for file in found if file.suffix in TEXTS and "__pycache__" not in file.parts and file.name != ".git"]


def test_modules_are_short() -> None:
    """No module is longer than 400 lines."""
    lengths = {str(module.relative_to(SOURCE)): len(module.read_text().splitlines()) for module in MODULES}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_functions_are_short() -> None:
    """No function is longer than 60 lines, and half of them are shorter than ten."""
    lengths = [pair for module in MODULES for pair in _functions(module)]
    assert [pair for pair in lengths if pair[1] > 60] == []
    assert statistics.median(length for _, length in lengths) < 10


def test_every_module_says_what_it_is_for() -> None:
    """Every module begins with a docstring."""
    assert [module for module in MODULES if not ast.get_docstring(ast.parse(module.read_text()))] == []


def test_every_schema_and_query_file_is_beside_its_module() -> None:
    """SQL is in the store and nowhere else."""
    assert {file.relative_to(SOURCE).parts[0] for file in SOURCE.rglob("*.sql")} == {"store"}


def test_types_are_read_in_one_place() -> None:
    """One module converts to declared types with msgspec, which ends the process if two threads begin at once."""
    typed = re.compile(r"msgspec\.(?:convert|msgpack\.decode|json\.decode\([^\n]*type=|json\.Decoder\([^)])")
    assert {module.name for module in MODULES if typed.search(module.read_text())} == {"conversion.py"}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_mark_nothing_as_safe(template: Path) -> None:
    """No template disables escaping or contains a script, an inline style or an event handler; it loads three files."""
    text = template.read_text()
    for own in ("keys_script", "live_script", "times_script"):
        text = text.replace(f'<script src="{{{{ {own} }}}}" defer></script>', "")
    text = text.replace(" ", "").lower()
    for word in ("|safe", "autoescapefalse", "<script", "<style", "style=", "onclick=", "javascript:"):
        assert word not in text


def test_no_file_names_a_machine_or_a_registry() -> None:
    """No file contains a path of a development machine or the address of a package registry."""
    files = _files()
    assert len(files) > 60
    found = [
        (str(file.relative_to(PROJECT)), word)
        for file in files
        for word in FORBIDDEN
        if word in file.read_text(errors="replace")
    ]
    assert found == []


def test_the_arrows_between_packages_are_checked() -> None:
    """The contracts name every top-level module and keep the core free of frameworks."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"]
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    there = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert named == {name for name in there if not name.startswith("__")}
    pure = [c for c in contracts if c["type"] == "forbidden" and "antechamber.core" in c["source_modules"]]
    assert {"litestar", "jinja2", "httpx", "click", "sqlite3"} <= {
        name for c in pure for name in c["forbidden_modules"]
    }


def test_the_package_is_typed_and_complete() -> None:
    """The wheel contains the type marker and the folders it needs."""
    build = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert (SOURCE / "py.typed").is_file()
    assert set(build["force-include"]) == {
        "templates",
        "policies",
        "scripts/verify_export.py",
        "README.md",
        "service/README.md",
        "service/DECISIONS.md",
        "scripts/README.md",
        "tests/README.md",
    }


def test_no_two_public_classes_share_a_name() -> None:
    """A class name in a traceback or a search identifies one class."""
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(module.relative_to(SOURCE)))
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}

"""The form of templates, scripts and the style sheet: short lines, and one attribute per line in tags with many."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "templates"
TEMPLATES = sorted(FOLDER.glob("*.html"))
MAX_COLUMNS = 120
MAX_ATTRIBUTES_ON_A_LINE = 4
TAG = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(?P<name>[a-z][a-z0-9]*)", re.DOTALL)
PART = re.compile(
    r"""\s+|\{\#.*?\#\}|\{%.*?%\}  # White space, comments and block tags are no attributes.
    |(?P<attribute>\{\{.*?\}\}|[a-z][a-z0-9:-]*(?:=(?:"(?:\{\{.*?\}\}|\{%.*?%\}|[^"])*"|[^\s"'>{]+))?)
    |(?P<end>/?>)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


def tags(text: str) -> Iterator[tuple[int, str, list[int]]]:
    """Yield line and name of each tag of a template, and the offset of each of its attributes.

    An expression that prints attributes counts as one. Raises ValueError if a tag cannot be read.
    """
    for tag in TAG.finditer(text):
        if not tag["name"]:
            continue
        attributes, position = [], tag.end()
        while (part := PART.match(text, position)) and not part["end"]:
            if part["attribute"]:
                attributes.append(part.start())
            position = part.end()
        line = text.count("\n", 0, tag.start()) + 1
        if part is None:
            message = f"the tag {tag['name']} in line {line} cannot be read"
            raise ValueError(message)
        yield line, tag["name"], attributes


def crowded(text: str) -> list[tuple[int, str]]:
    """Return line and name of each tag with many attributes that has two of them, or its name and one, on a line."""
    found = []
    for line, name, attributes in tags(text):
        before = [re.sub(r"\{%.*?%\}", "", text[text.rfind("\n", 0, start) + 1 : start]) for start in attributes]
        if len(attributes) > MAX_ATTRIBUTES_ON_A_LINE and any(part.strip() for part in before):
            found.append((line, name))
    return found


@pytest.mark.parametrize(
    "file",
    [path for path in sorted(FOLDER.rglob("*")) if path.suffix in {".html", ".css", ".js", ".md"}],
    ids=lambda path: path.name,
)
def test_lines_are_short(file: Path) -> None:
    """No line of a template, a script, the style sheet or their document is longer than 120 characters."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_tag_with_more_than_four_attributes_has_each_on_its_own_line(template: Path) -> None:
    """Tags with up to four attributes may be one line."""
    assert crowded(template.read_text(encoding="utf-8")) == []


def test_the_attributes_of_a_tag_are_counted() -> None:
    """Expressions count as one attribute, block tags as none; values may contain both, and signs of a tag's end."""
    link = """<a href="/x?{{ {'q': y > 1} | urlencode }}" {% if x > 1 %}b{% endif %} c=d {{ act() }}>"""
    four = "{# <i a b c d e> #}" + link
    assert [(name, len(attributes)) for _, name, attributes in tags(four)] == [("a", 4)]
    assert crowded(four) == []
    five = four.replace("c=d", "c=d e")
    assert crowded(five) == [(1, "a")]
    apart = five.replace(" href", "\n  href").replace(" {% if", "\n  {% if").replace(" c=d e", "\n  c=d\n  e")
    assert crowded(apart) == [(1, "a")]
    assert crowded(apart.replace(" {{ act", "\n  {{ act")) == []


def test_the_page_of_a_proposal_has_eight_parts() -> None:
    """Each part of a page is included by a page, and the page of a proposal includes its eight."""
    included = {
        template.name: set(re.findall(r"\{% include '([^']+)' %\}", template.read_text(encoding="utf-8")))
        for template in TEMPLATES
    }
    parts = {"_warnings.html", "_decide.html", "_edit.html", "_conversation.html", "_similar.html", "_history.html"}
    parts |= {"_facts.html", "_review_date.html"}
    assert included["proposal.html"] == parts
    assert set().union(*included.values()) == {path.name for path in TEMPLATES if path.name.startswith("_")}

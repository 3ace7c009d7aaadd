"""Memory files of people: what a Markdown file says item by item, and files that are rewritten as a whole."""

import os
import stat
from pathlib import Path

import pytest

from antechamber import durable_files
from antechamber.client.markdown_items import read_markdown
from antechamber.client.memory_files import ExportedFile, file_for, read_items, read_limited, uri_of
from antechamber.core.contract import MemoryItem
from antechamber.core.memory_files.item import MAX_FILE, MemoryFileError

APOLLO = "project:apollo"
GUIDE = """\
---
description: A rule file
---
# Apollo

Apollo is a service
written in Python.

## Deploy

- Run the migration
  before the deploy.
* Another list:
  - with an item

  ```sh
  make all
  ```
- [ ] A task

Never do these:

- force a push
- edit
  - generated files

Steps:
1. Build.
2. Ship.

Run the tests first.

```sh
make test
```

    indented code

| a | b |
|---|---|
| 1 | 2 |

> A quotation.

---

<!-- A comment. --> <!-- Another. -->

<div>A block.</div>

[link]: https://docs.example

### Decisions ###
We use one database.\\
It is small.

A heading
---------
@docs/other.md
"""


def contents(text: str, **options: bool) -> list[str]:
    """Return the texts of the items of a Markdown file."""
    return [item.content for item in read_markdown(text.encode(), APOLLO, **options)]


def memory(content: str, scope_id: str = "apollo") -> MemoryItem:
    """Return a memory of a project."""
    return MemoryItem(
        memory_id="memory-1",
        content=content,
        kind="fact",
        tags=[],
        attributes={},
        submission_scope="project",
        scope_id=scope_id,
        source_span={},
        supersedes=None,
        derived_from=[],
        admitted_at="2026-11-20T10:00:00Z",
        producer_identity="worker:release-bot",
        approvals=1,
        evidence=0,
        review_record_ids=[],
    )


def test_a_markdown_file_is_read_item_by_item() -> None:
    """Each block is one item with heading, line and kind; a lead-in belongs to what it introduces."""
    items = [(item.line, item.heading, item.kind, item.content) for item in read_markdown(GUIDE.encode(), APOLLO)]
    assert items == [
        (6, "Apollo", None, "Apollo is a service written in Python."),
        (11, "Deploy", None, "Run the migration before the deploy."),
        (13, "Deploy", None, "Another list:\n- with an item\n\n```sh\nmake all\n```"),
        (19, "Deploy", None, "[ ] A task"),
        (23, "Deploy", None, "Never do these: force a push"),
        (24, "Deploy", None, "Never do these:\nedit\n- generated files"),
        (27, "Deploy", None, "Steps:\n\n1. Build.\n2. Ship."),
        (31, "Deploy", None, "Run the tests first.\n\n```sh\nmake test\n```"),
        (37, "Deploy", None, "    indented code"),
        (39, "Deploy", None, "| a | b |\n|---|---|\n| 1 | 2 |"),
        (43, "Deploy", None, "> A quotation."),
        (49, "Deploy", None, "<div>A block.</div>"),
        (54, "Decisions", "decision", "We use one database.\\\nIt is small."),
        (59, "A heading", None, "@docs/other.md"),
    ]


def test_imports_of_a_claude_file_are_no_items() -> None:
    """A paragraph or list item that imports other files is left out; one that mentions a name is not."""
    text = "@AGENTS.md\n\n- @docs/a.md\n- Ask @ada.\n\n`@code` stays\n"
    assert contents(text, for_claude=True) == ["Ask @ada.", "`@code` stays"]
    assert contents(text)[:2] == ["@AGENTS.md", "@docs/a.md"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ("\ufeff# Only a heading\n", []),
        ("- One\r\n- Two\r\n", ["One", "Two"]),
        ("- One\r- Two", ["One", "Two"]),
        ("- No end", ["No end"]),
        ("-\n- \n", []),
        ("#\n\nText", ["Text"]),
        ("---\nNever closed", ["Never closed"]),
        ("1) One\n2) Two", ["1) One\n2) Two"]),
        ("-\t- deep\n\t- er", ["- deep\n- er"]),
        ("-       code in an item\n", ["      code in an item"]),
        ("Line  \nbreak", ["Line\nbreak"]),
        ("```\nnever closed\n- code", ["```\nnever closed\n- code"]),
        ("Lead:\n\nText.\n- Item", ["Lead:", "Text.", "Item"]),
        ("Before code.\n<!-- c -->\n```\nx\n```", ["Before code.", "```\nx\n```"]),
    ],
)
def test_any_markdown_is_read(text: str, expected: list[str]) -> None:
    """An empty file, other line ends, a byte order mark and unusual Markdown are read without an error."""
    assert [content.strip("\n") for content in contents(text)] == expected


def test_a_deeply_nested_file_is_read() -> None:
    """Nesting without end is cut off by the parser and does not exhaust the stack."""
    assert len(contents("> " * 50_000 + "a")) <= 1
    assert len(contents("".join(f"{' ' * number * 2}- a\n" for number in range(400)))) == 1


def test_every_format_is_imported() -> None:
    """Each format has its reader."""
    raw = b'{"content": "a"}'
    assert [item.content for item in read_items("jsonl", raw, APOLLO)] == ["a"]
    assert [item.content for item in read_items("mem0", b'[{"memory": "b"}]', APOLLO)] == ["b"]
    assert read_items("mcp-memory", b"", APOLLO) == []
    assert [item.content for item in read_items("agents-md", b"@c", APOLLO)] == ["@c"]
    assert read_items("claude-md", b"@c", APOLLO) == []


def test_a_file_is_written_only_if_it_changes(tmp_path: Path) -> None:
    """A second write changes nothing, not even the time of the file; a missing file is written without memories too."""
    file = ExportedFile(tmp_path / "AGENTS.md", "agents-md", [APOLLO])
    assert file.difference([])
    assert file.write([])
    os.utime(file.path, ns=(1, 1))
    assert not file.write([])
    assert file.difference([]) is None
    assert file.path.stat().st_mtime_ns == 1
    shown = file.difference([memory("One.")]) or ""
    assert "+- One.\n" in shown
    assert shown.startswith(f"--- {file.path}\n+++ {file.path} (current)\n")
    assert file.write([memory("One."), memory("Of another scope.", "gemini")])
    assert "another" not in file.path.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["AGENTS.md"]


def test_the_mode_and_the_link_of_a_file_stay(tmp_path: Path) -> None:
    """A file that others may read stays so, a new one has the usual mode, and a link is not replaced by a file."""
    target = tmp_path / "CLAUDE.md"
    target.write_text("# Notes\n")
    target.chmod(0o640)
    link = tmp_path / "AGENTS.md"
    link.symlink_to(target)
    assert ExportedFile(link, "agents-md", [APOLLO]).write([])
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_text().startswith("# Notes\n\n<!-- antechamber:begin")
    before = os.umask(0o022)
    try:
        durable_files.rewrite(tmp_path / "new", b"a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644


def test_a_difference_shows_a_missing_line_end(tmp_path: Path) -> None:
    """The difference of a line without its end is marked, as diff does; one that is too long is not shown."""
    file = ExportedFile(tmp_path / "AGENTS.md", "agents-md", [APOLLO])
    file.path.write_text("Last line")
    assert "-Last line\n\\ No newline at end of file\n+Last line\n" in (file.difference([]) or "")
    file.path.write_text("a\n" * 20_001)
    assert "too long to show" in (file.difference([]) or "")


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a file without a folder, one that is no graph and a full disk are errors that name the file."""
    folder = ExportedFile(tmp_path, "agents-md", [APOLLO])
    with pytest.raises(MemoryFileError, match="no regular file"):
        folder.difference([])
    with pytest.raises(MemoryFileError, match=r"missing/AGENTS.md: cannot be written: No such file"):
        ExportedFile(tmp_path / "missing" / "AGENTS.md", "agents-md", [APOLLO]).write([])
    notes = tmp_path / "notes"
    notes.write_text("Notes.")
    for form in ("mcp-memory", "jsonl"):
        with pytest.raises(MemoryFileError, match="notes: line 1 is no JSON object"):
            ExportedFile(notes, form, [APOLLO]).write([])
    with pytest.raises(MemoryFileError, match="cannot be read: Not a directory"):
        ExportedFile(notes / "below", "jsonl", [APOLLO]).write([])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MemoryFileError, match="No space left"):
        ExportedFile(notes, "agents-md", [APOLLO]).write([])
    assert notes.read_text() == "Notes."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes"]


def test_a_file_that_changes_meanwhile_is_read_again(tmp_path: Path) -> None:
    """What another program writes between reading and replacing is not lost; if that never ends, it is an error."""

    class Edited(ExportedFile):
        """A file that another program edits while it is rewritten."""

        edits = 1

        def content(self, raw: bytes, memories: list[MemoryItem]) -> bytes:  # type: ignore[override]
            """Edit the file before the new content is ready."""
            wanted = super().content(raw, memories)
            if self.edits:
                self.edits -= 1
                self.path.write_text(self.path.read_text() + "More.\n")
            return wanted

    file = Edited(tmp_path / "AGENTS.md", "agents-md", [APOLLO])
    file.path.write_text("Notes.\n")
    assert file.write([memory("One.")])
    assert file.path.read_text().startswith("Notes.\nMore.\n\n<!-- antechamber:begin")
    file.edits = 9
    with pytest.raises(MemoryFileError, match="again and again"):
        file.write([])


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    """A larger file is refused when it is read, and a missing one is empty."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MAX_FILE + 10)
    assert len(read_limited(large)) == MAX_FILE + 1
    with pytest.raises(MemoryFileError, match="larger than 16 MiB"):
        read_items("jsonl", read_limited(large), APOLLO)
    assert read_limited(tmp_path / "missing") == b""


def test_a_pattern_names_a_file_for_each_scope() -> None:
    """Signs that lead to other folders do not occur in the part that a scope gives."""
    assert file_for("m/{scope}.md", APOLLO) == Path("m/project-apollo.md")
    assert file_for("m/{scope}.md", "project:a/../../b@c") == Path("m/project-a-..-..-b-c.md")
    assert file_for("AGENTS.md", APOLLO) == Path("AGENTS.md")


def test_a_uri_names_no_folder_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a repository it is the path there, wherever the command runs; elsewhere the name alone."""
    (tmp_path / "my apollo" / ".git").mkdir(parents=True)
    docs = tmp_path / "my apollo" / "docs"
    docs.mkdir()
    monkeypatch.chdir(docs)
    assert uri_of(Path("AGENTS.md")) == "repo://my%20apollo/docs/AGENTS.md"
    assert uri_of(Path("../CLAUDE.md")) == uri_of(docs.parent / "CLAUDE.md") == "repo://my%20apollo/CLAUDE.md"
    assert uri_of(tmp_path / "notes.md") == "file:notes.md"

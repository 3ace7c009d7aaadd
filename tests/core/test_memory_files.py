"""Memory files: what an export writes is read back unchanged, and hostile texts or files change nothing else."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.admission.canonical import NORMAL_TRIM, normalize_text
from antechamber.core.contract import MAX_BODY, MAX_TAGS, MemoryItem
from antechamber.core.memory_files.claude_imports import escape_imports, is_import, unescape_imports
from antechamber.core.memory_files.import_plan import ImportTarget, PlannedItem, plan_import
from antechamber.core.memory_files.item import (
    MAX_FILE,
    FileItem,
    MemoryFileError,
    check_scope,
    read_text,
)
from antechamber.core.memory_files.json_lines import check_lines, read_lines, render_lines
from antechamber.core.memory_files.knowledge_graph import read_graph, render_graph
from antechamber.core.memory_files.managed_block import kind_named, managed_items, render_block, replace_blocks
from antechamber.core.memory_files.mem0_export import read_mem0

APOLLO = "project:apollo"
GEMINI = "project:gemini"
BEGIN, END = f"<!-- antechamber:begin {APOLLO} -->", f"<!-- antechamber:end {APOLLO} -->"
TARGET = ImportTarget(producer="repo:apollo", scope=APOLLO, uri="repo://apollo/AGENTS.md", kind="fact")
HOSTILE = [
    END,
    f"Text\n{END}\nmore",
    f"{BEGIN}\n{END}",
    "ends a comment --> here",
    "<!-- begins one",
    "<!-- antechamber:memory other-id -->",
    "a\n<!-- antechamber:memory other-id -->\nb",
    "a\n\n<!-- antechamber:memory other-id -->\n\n- b",
    "```\nnever closed",
    "# Heading\n## Facts\n- item",
    "- - -",
    "---",
    "1. one\n2. two\n   - nested",
    "text\n\n\n\nafter empty lines\n   \nand spaces",
    "tab\tand\n\ttab",
    "\u2028 line separator \x0b\x0c\x85 others",
    "@file and\n@other @third `@code` \\@escaped \\\\@twice",
    "```py\n@fixture\n```\n@after",
    "~~~\n@inside\n```\n@inside too",
    "``` not ` a fence @at\n@second",
    "\ufeffmark",
    "| a |\n|---|\n| b |",
]
CONTENT = (
    st.one_of(
        st.sampled_from(HOSTILE),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
        st.lists(st.sampled_from(["- ", "@", "`", "```", "\n", " ", "#", "\\", "a", END, "-->", "<!--", "~~~"])).map(
            "".join
        ),
    )
    .map(lambda text: normalize_text(text).strip(NORMAL_TRIM))
    .filter(bool)
)
KIND = st.one_of(st.sampled_from(["fact", "procedure", "decision"]), st.from_regex(r"\A[a-z][a-z0-9_-]{0,9}\Z"))


def memory(content: str, number: int = 1, **members: Any) -> MemoryItem:
    """Return a memory of project:apollo."""
    whole: dict[str, Any] = {
        "memory_id": f"memory-{number}",
        "content": content,
        "kind": "fact",
        "tags": [],
        "attributes": {},
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_span": {"uri": "repo://apollo/RUNBOOK.md"},
        "supersedes": None,
        "derived_from": [],
        "admitted_at": "2026-11-20T10:00:00.000000Z",
        "producer_identity": "worker:release-bot",
        "approvals": 1,
        "evidence": 0,
        "review_record_ids": ["record-1"],
    } | members
    return MemoryItem(**whole)


MEMORIES = st.lists(st.tuples(CONTENT, KIND), max_size=5).map(
    lambda pairs: [memory(content, number, kind=kind) for number, (content, kind) in enumerate(pairs)]
)


def plan(items: list[FileItem], *known: MemoryItem, **members: Any) -> list[PlannedItem]:
    """Plan an import with memories that the service knows."""
    target = msgspec.structs.replace(TARGET, **members)
    return list(plan_import(items, target, {one.memory_id: one for one in known}.get))


def steps(items: list[FileItem], *known: MemoryItem) -> list[str]:
    """Return the steps of a plan."""
    return [one.step for one in plan(items, *known)]


def event_of(planned: PlannedItem) -> dict[str, Any]:
    """Return the event that a plan sends."""
    event: dict[str, Any] = msgspec.json.decode(planned.body)
    return event


@given(memories=MEMORIES, for_claude=st.booleans(), line_end=st.sampled_from([b"\n", b"\r\n"]))
def test_an_exported_markdown_file_is_read_back_unchanged(
    memories: list[MemoryItem], *, for_claude: bool, line_end: bytes
) -> None:
    """Each item of a managed block has the text, kind and id of its memory, and nothing else of the file is an item."""
    before = b"# Apollo" + line_end + b"Text."
    raw = replace_blocks(before, {APOLLO: render_block(APOLLO, memories, for_claude=for_claude)})
    assert raw.startswith(before + line_end)
    items, rest = managed_items(read_text(raw), APOLLO, for_claude=for_claude)
    assert {(item.memory_id, item.kind, item.content) for item in items} == {
        (one.memory_id, one.kind, one.content) for one in memories
    }
    assert not re.search("memory-", rest)
    assert steps(items, *memories) == ["unchanged"] * len(memories)


@given(MEMORIES, MEMORIES, st.binary(max_size=60), st.binary(max_size=60), st.sampled_from([b"", b"Title\r\n"]))
def test_every_byte_outside_of_the_block_stays(
    first: list[MemoryItem], second: list[MemoryItem], before: bytes, after: bytes, title: bytes
) -> None:
    """Replacing a block keeps what is before and after it, and replacing it by itself changes nothing."""
    head = title + before.decode("utf-8", "ignore").encode()
    tail = after.decode("utf-8", "ignore").encode()
    whole = replace_blocks(head, {APOLLO: render_block(APOLLO, first)}) + tail
    changed = replace_blocks(whole, {APOLLO: render_block(APOLLO, second)})
    assert changed.startswith(head)
    assert changed.endswith(tail)
    assert replace_blocks(changed, {APOLLO: render_block(APOLLO, second)}) == changed
    assert replace_blocks(changed, {APOLLO: render_block(APOLLO, first)}) == whole


@pytest.mark.parametrize("content", HOSTILE)
def test_no_text_can_end_its_block(content: str) -> None:
    """A text with markers, comment ends or unclosed code stays inside its block when that is written again."""
    hostile = render_block(APOLLO, [memory(content)])
    raw = replace_blocks(b"Before\n", {APOLLO: hostile}) + b"After\n"
    empty = replace_blocks(raw, {APOLLO: render_block(APOLLO, [])})
    assert empty == b"Before\n\n" + render_block(APOLLO, []).encode() + b"\nAfter\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (b"", b"BLOCK\n"),
        (b"\n", b"\nBLOCK\n"),
        (b"   ", b"   \n\nBLOCK\n"),
        (b"No end", b"No end\n\nBLOCK\n"),
        (b"Line\n", b"Line\n\nBLOCK\n"),
        (b"Line\r\n", b"Line\r\n\r\nBLOCK\r\n"),
        (b"\xef\xbb\xbfLine\n", b"\xef\xbb\xbfLine\n\nBLOCK\n"),
        (b"Old Mac\r", b"Old Mac\r\n\nBLOCK\n"),
    ],
)
def test_a_block_is_appended_to_any_file(before: bytes, expected: bytes) -> None:
    """An empty file, another line end, a byte order mark and a last line without end are all kept."""
    block = render_block(APOLLO, [])
    line_end = b"\r\n" if b"\r\n" in before else b"\n"
    raw = replace_blocks(before, {APOLLO: block})
    assert raw == expected.replace(b"BLOCK", block.encode().replace(b"\n", line_end))
    assert replace_blocks(raw, {APOLLO: block}) == raw


def test_a_block_behind_a_byte_order_mark_is_found() -> None:
    """A file that begins with a byte order mark and a block keeps both."""
    block = render_block(APOLLO, [memory("One.")])
    raw = b"\xef\xbb\xbf" + block.encode() + b"\nRest"
    assert replace_blocks(raw, {APOLLO: block}) == raw
    assert [item.content for item in managed_items(read_text(raw), APOLLO)[0]] == ["One."]


def test_blocks_of_several_scopes_live_in_one_file() -> None:
    """Each scope has its own block; an import of one scope leaves the block of another out."""
    other = memory("Of Gemini.", 2, scope_id="gemini")
    blocks = {APOLLO: render_block(APOLLO, [memory("Of Apollo.")]), GEMINI: render_block(GEMINI, [other])}
    raw = replace_blocks(b"", blocks)
    items, rest = managed_items(read_text(raw), APOLLO)
    assert [item.content for item in items] == ["Of Apollo."]
    assert "Gemini" not in rest
    assert replace_blocks(raw, {GEMINI: render_block(GEMINI, [])}).startswith(blocks[APOLLO].encode())


@pytest.mark.parametrize(
    "raw",
    [
        f"{BEGIN}\n",
        f"{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n<!-- antechamber:begin {GEMINI} -->\n<!-- antechamber:end {GEMINI} -->\n{END}\n",
    ],
)
def test_damaged_markers_are_refused(raw: str) -> None:
    """With a missing, doubled or crossed marker the bounds of a block are unknown, so nothing is written."""
    with pytest.raises(MemoryFileError, match=f"markers of {APOLLO} are damaged"):
        replace_blocks(raw.encode(), {APOLLO: render_block(APOLLO, [])})


def test_a_block_of_another_scope_without_end_is_refused() -> None:
    """Where a foreign block ends is unknown, so nothing of the file is imported."""
    with pytest.raises(MemoryFileError, match="has no end"):
        managed_items(f"<!-- antechamber:begin {GEMINI} -->\n- text", APOLLO)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"caf\xe9", "not UTF-8 (byte 4)"),
        ("text".encode("utf-16"), "not UTF-8 (byte 1)"),
        (b"a" * (MAX_FILE + 1), "larger than 16 MiB"),
    ],
    ids=["latin-1", "utf-16", "large"],
)
def test_a_file_that_is_no_text_is_refused(raw: bytes, words: str) -> None:
    """A file in another encoding, or too large, is neither read nor rewritten, and the error says why."""
    with pytest.raises(MemoryFileError, match=re.escape(words)):
        read_text(raw)
    with pytest.raises(MemoryFileError, match=re.escape(words)):
        replace_blocks(raw, {APOLLO: render_block(APOLLO, [])})


def test_an_export_is_grouped_by_kind_and_sorted() -> None:
    """The order of the memories does not matter; an empty scope has a block that says so."""
    memories = [memory("B.", 1), memory("A.", 2, kind="warning"), memory("A.", 3), memory("C.", 4, kind="custom")]
    block = render_block(APOLLO, memories)
    assert block == render_block(APOLLO, memories[::-1])
    assert re.findall(r"(?m)^(?:### |- )(.+)$", block) == ["custom", "C.", "Facts", "A.", "B.", "Warnings", "A."]
    assert "No memories" in render_block(APOLLO, [])


def test_an_edited_item_is_proposed_instead_of_its_memory() -> None:
    """An edited text, or one below another heading, supersedes; new items, and ones of an unknown id, are new."""
    known = [memory("Keep.", 1), memory("Edit me.", 2, tags=["a"], attributes={"n": 1}), memory("Move me.", 3)]
    text = render_block(APOLLO, known).replace("Edit me.", "Edited.\n  Twice.  ")
    moved = "- Move me.\n  <!-- antechamber:memory memory-3 -->\n"
    text = text.replace(moved, "").replace(END, f"### Decisions\n{moved}\n{END}")
    items, _ = managed_items(text, APOLLO)
    edited, keep, move = plan(items, *known)
    assert [edited.step, keep.step, move.step] == ["changed", "unchanged", "changed"]
    event = event_of(edited)
    assert event["supersedes"] == "memory-2"
    assert event["payload"] == {"kind": "fact", "content": "Edited.\nTwice.  ", "tags": ["a"], "attributes": {"n": 1}}
    assert event["source_span"] == {"uri": TARGET.uri, "heading": "Facts"}
    assert event_of(move)["payload"]["kind"] == "decision"
    assert steps(items) == ["new", "new", "new"]
    assert steps(items, *(msgspec.structs.replace(one, scope_id="gemini") for one in known)) == ["new"] * 3


def test_the_key_of_an_edited_item_is_its_own() -> None:
    """A text that was proposed before without a claim is no conflict when it supersedes a memory."""
    item = FileItem(content="Edited.", line=1)
    (plain,) = plan([item])
    (claimed,) = plan([msgspec.structs.replace(item, memory_id="memory-1")], memory("Before."))
    assert plain.key != claimed.key
    assert event_of(plain)["source_event_hash"] == event_of(claimed)["source_event_hash"]


def test_white_space_at_the_ends_of_lines_is_no_edit() -> None:
    """An editor that removes it, and one that writes other line ends, leave an item unchanged."""
    known = memory("First  \n\nsecond\t\nthird")
    assert steps([FileItem(content="First\n\nsecond\nthird\n", line=1, memory_id="memory-1")], known) == ["unchanged"]
    lazy = "- First\ncontinued\n  <!-- antechamber:memory memory-1 -->\n\nA paragraph.\n- Other"
    items, rest = managed_items(lazy, APOLLO)
    assert [item.content for item in items] == ["First\ncontinued"]
    assert rest == "\n\n\n\nA paragraph.\n- Other"


def test_an_item_without_an_id_is_left_to_the_reader_of_markdown() -> None:
    """Items that a person added to a block, without a comment or followed by a heading, stay in the rest."""
    text = "## Facts ##\n\n- Added.\n  More.\n### \n- Last"
    assert managed_items(text, APOLLO) == ([], text)


def test_the_same_item_twice_is_one_proposal() -> None:
    """Of equal items below one heading the first is proposed; below another heading it is another event."""
    items = [FileItem(content="Same.", line=line, heading=heading) for line, heading in ((1, "A"), (2, "A"), (3, "B"))]
    assert steps(items) == ["new", "unchanged", "new"]


def test_the_key_depends_on_content_and_not_on_the_line() -> None:
    """A text that moved within its heading has the same key; another kind, file or scope has another one."""
    (first,) = plan([FileItem(content="Text.", line=1)])
    (moved,) = plan([FileItem(content="  Text.\r\n", line=9)])
    assert moved.key == first.key
    others = [
        plan([FileItem(content="Text.", line=1)], **change)[0].key
        for change in ({"kind": "warning"}, {"uri": "repo://apollo/CLAUDE.md"}, {"scope": GEMINI})
    ]
    assert len({first.key, *others}) == 4


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (FileItem(content=" \n", line=1), "malformed: "),
        (FileItem(content="half \ud800", line=1), "surrogate"),
        (FileItem(content="a", line=1, attributes={"n": 1.5}), "/payload/attributes/n"),
        (FileItem(content="a", line=1, kind="No Kind"), "/payload/kind"),
        (FileItem(content="a" * MAX_BODY, line=1), "body-too-large"),
    ],
    ids=["blank", "surrogate", "float", "kind", "large"],
)
def test_an_item_that_cannot_be_sent_says_why(item: FileItem, words: str) -> None:
    """An item that is no event is not sent, and the other items are."""
    bad, good = plan([item, FileItem(content="Good.", line=2)])
    assert (bad.step, good.step) == ("invalid", "new")
    assert words in bad.reason


def test_an_item_that_its_key_makes_too_large_is_not_sent() -> None:
    """The limit counts the body as it is sent, with its key."""
    sizes = [len(plan([FileItem(content="a" * length, line=1)])[0].body) for length in (1, 2)]
    assert sizes[1] == sizes[0] + 1
    fits = MAX_BODY - sizes[0] + 1
    (largest,) = plan([FileItem(content="a" * fits, line=1)])
    assert (largest.step, len(largest.body)) == ("new", MAX_BODY)
    (larger,) = plan([FileItem(content="a" * (fits + 1), line=1)])
    assert (larger.step, larger.key) == ("invalid", "")


def test_a_plan_names_its_items_briefly() -> None:
    """A title has line, heading and the first words on one line."""
    long, short = plan([FileItem(content="word\n" * 40, line=3, heading="Deploy"), FileItem(content="Short.", line=4)])
    assert re.fullmatch(r"line 3: Deploy: (word )+w?o?r?d?…", long.title())
    assert len(long.title()) < 80
    assert short.title() == "line 4: Short."


@given(MEMORIES)
def test_json_lines_are_read_back_unchanged(memories: list[MemoryItem]) -> None:
    """Each line holds a memory in all members but the score of a search, whatever its order."""
    raw = render_lines([msgspec.structs.replace(one, score=3) for one in memories])
    assert raw == render_lines(memories[::-1])
    items = read_lines(read_text(raw))
    assert {(one.memory_id, one.kind, one.content) for one in items} == {
        (one.memory_id, one.kind, one.content) for one in memories
    }
    assert steps(items, *memories) == ["unchanged"] * len(memories)
    check_lines(read_text(raw), [APOLLO])


def test_a_line_of_json_may_say_little() -> None:
    """Content is enough; tags and attributes that differ from a memory's are a change of it."""
    items = read_lines(
        '\n{"content": "Text."}\n\n{"content": "A.", "source_span": {"heading": "H"}, "tags": ["b", "a"]}'
    )
    assert [(one.line, one.heading, one.tags) for one in items] == [(2, None, None), (4, "H", ["b", "a"])]
    assert event_of(plan(items)[1])["payload"]["tags"] == ["b", "a"]
    known = memory("A.", tags=["a", "b"], attributes={"n": 1})
    tagged = FileItem(content="A.", line=1, tags=["b", "a"], memory_id="memory-1")
    assert steps([tagged], known) == ["unchanged"]
    for change in ({"tags": ["a"]}, {"attributes": {"n": 2}}, {"tags": []}):
        assert steps([msgspec.structs.replace(tagged, **change)], known) == ["changed"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "line 2 is no JSON object"),
        ("[]", "line 2 is no JSON object"),
        ("[" * 100_000, "line 2 is no JSON object"),
        ('"\\ud800"', "line 2 is no JSON object"),
        ("{}", "line 2: content is missing"),
        ('{"content": null}', "content is missing"),
        ('{"content": 1}', "content has the wrong type"),
        ('{"content": "a", "tags": "b"}', "tags has the wrong type"),
        ('{"content": "a", "tags": [1]}', "tags is no array of texts"),
        ('{"content": "a", "attributes": []}', "attributes has the wrong type"),
        ('{"content": "a", "source_span": {"heading": 1}}', "heading has the wrong type"),
        ('{"content": "a", "text": "b"}', "members that no memory has: text"),
    ],
)
def test_a_line_that_is_no_memory_is_named(line: str, words: str) -> None:
    """A malformed file is refused as a whole, and the error names line and member."""
    with pytest.raises(MemoryFileError, match=re.escape(words)):
        read_lines('{"content": "a"}\n' + line)


@pytest.mark.parametrize("line", ['{"content": "mine"}', render_lines([memory("a", scope_id="gemini")]).decode()])
def test_json_lines_that_an_export_would_lose_are_refused(line: str) -> None:
    """A file with other lines, or memories of another scope, is not replaced."""
    with pytest.raises(MemoryFileError, match="line 1 is no memory of project:apollo and would be lost"):
        check_lines(line, [APOLLO])


@given(MEMORIES)
def test_a_graph_is_read_back_unchanged(memories: list[MemoryItem]) -> None:
    """Each memory is an entity with one observation, related to its scope; writing it again changes nothing."""
    raw = render_graph(b"", {APOLLO: memories})
    assert raw == render_graph(raw, {APOLLO: memories[::-1]})
    items = read_graph(read_text(raw))
    assert steps(items, *memories) == ["unchanged"] * len(memories)


def test_a_graph_keeps_what_is_not_of_the_export() -> None:
    """Other entities, relations and scopes stay; memories that ended are removed, also without their relation."""
    own = b'{"type":"entity","name":"Ada","entityType":"person","observations":["Reviews deploys."]}\n'
    own += b'{"type":"relation","from":"Ada","to":"antechamber:memory-1","relationType":"wrote"}\n'
    first = memory("First.", 1)
    second = memory("Second.", 2, derived_from=["memory-1", "memory-9"])
    other = memory("Of Gemini.", 3, scope_id="gemini")
    raw = render_graph(own, {APOLLO: [first, second], GEMINI: [other]})
    assert raw.startswith(own)
    assert raw.count(b'"derived_from"') == 1
    orphan = b'{"type":"entity","name":"antechamber:memory-8","entityType":"fact","observations":["Ended."]}\n'
    left = render_graph(raw + orphan, {APOLLO: []})
    assert left.startswith(own)
    assert [word in left for word in (b"First.", b"Second.", b"Ended.", b"Of Gemini.")] == [False, False, False, True]
    assert render_graph(left, {GEMINI: [other], APOLLO: [second, first]}).count(b"\n") == raw.count(b"\n")


def test_a_foreign_graph_is_read() -> None:
    """Observations and relations are named by their entities, in lines or as one object."""
    lines = (
        '{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Reviews deploys.", "In Zurich."]}'
        '\n{"type": "entity", "name": "Empty", "entityType": "thing"}\n'
        '{"type": "relation", "from": "Ada", "to": "Apollo", "relationType": "works_on"}\n'
    )
    whole = (
        '{"entities": [{"name": "Ada", "entityType": "person", "observations": ["Reviews deploys.", "In Zurich."]}],\n'
        ' "relations": [{"from": "Ada", "to": "Apollo", "relationType": "works_on"}]}'
    )
    for text in (lines, whole):
        items = read_graph(text)
        assert [item.content for item in items] == ["Ada: Reviews deploys.", "Ada: In Zurich.", "Ada works_on Apollo"]
        assert {item.heading for item in items} == {"Ada"}
    assert read_graph('{"entities": []}') == read_graph("") == []


def test_what_a_model_adds_to_an_exported_entity_is_new() -> None:
    """Later observations of a memory's entity are items of their own; an entity that is no memory is a plain one."""
    raw = '{"type":"entity","name":"antechamber:memory-1","entityType":"fact","observations":["One.","Two."]}\n'
    raw += '{"type":"entity","name":"antechamber: none","entityType":"entities","observations":["Three."]}'
    items = read_graph(raw)
    assert [one.memory_id for one in items] == ["memory-1", None, None]
    assert steps(items, memory("One.")) == ["unchanged", "new", "new"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "line 1: type is missing"),
        ('{"type": "note"}', "line 1: type is neither entity nor relation"),
        ('{"type": "entity", "entityType": "a"}', "name is missing"),
        ('{"type": "relation", "from": "a", "to": "b"}', "relationType is missing"),
        (
            '{"type": "entity", "name": "a", "entityType": "b", "observations": [1]}',
            "observations is no array of texts",
        ),
        ('{"entities": [1]}', "entities has a member that is no object"),
        ('{"entities": {}}', "entities has the wrong type"),
    ],
)
def test_what_is_no_graph_is_named(text: str, words: str) -> None:
    """A malformed graph is refused as a whole."""
    with pytest.raises(MemoryFileError, match=re.escape(words)):
        read_graph(text)


def test_a_file_that_is_no_graph_is_not_rewritten() -> None:
    """An export refuses to replace another kind of file."""
    with pytest.raises(MemoryFileError, match="no JSON object"):
        render_graph(b"# Notes\n", {APOLLO: []})


MEM0 = (
    '[{"id": "m-1", "memory": "Ada prefers mornings.", "user_id": "ada", "categories": ["Work Style", " "],'
    ' "created_at": "2025-01-02T03:04:05Z", "metadata": {"score": 0.5}, "score": null}, {"memory": "Plain."}]'
)


@pytest.mark.parametrize(
    "text", [MEM0, f'{{"results": {MEM0}, "relations": []}}', f'{{"count": 2, "memories": {MEM0}}}']
)
def test_an_export_of_mem0_is_read(text: str) -> None:
    """Texts become items, categories tags, and id and time attributes; other members are left out."""
    first, second = read_mem0(text)
    assert (first.content, first.tags) == ("Ada prefers mornings.", ["Work-Style"])
    assert first.attributes == {"mem0_id": "m-1", "created_at": "2025-01-02T03:04:05Z"}
    assert second == FileItem(content="Plain.", line=2)
    assert [one.step for one in plan([first, second])] == ["new", "new"]
    assert (
        len(
            read_mem0(
                f'[{{"memory": "a", "categories": {msgspec.json.encode([f"t{n}" for n in range(99)]).decode()}}}]'
            )[0].tags
            or []
        )
        == MAX_TAGS
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "no JSON; export with get_all"),
        ("[" * 100_000, "no JSON"),
        ("1", "no list of memories"),
        ("{}", "no list of memories"),
        ("[1]", "memory 1 is no object"),
        ('[{"id": "a"}]', "memory 1: memory is missing"),
        ('[{"memory": "a", "id": 7}]', "memory 1: id has the wrong type"),
        ('[{"memory": "a", "categories": [1]}]', "categories is no array of texts"),
    ],
)
def test_what_is_no_export_of_mem0_is_named(text: str, words: str) -> None:
    """A malformed export is refused as a whole; an empty file has no items."""
    with pytest.raises(MemoryFileError, match=re.escape(words)):
        read_mem0(text)
    assert read_mem0(" \n") == []


@given(CONTENT)
def test_escaped_at_signs_come_back(content: str) -> None:
    """Escaping and its inverse leave any text unchanged."""
    assert unescape_imports(escape_imports(content)) == content


@pytest.mark.parametrize(
    ("content", "escaped"),
    [
        ("@a", "\\@a"),
        ("see @a and x@y.example", "see \\@a and x@y.example"),
        ("`@a` @b ``@c ` @d``", "`@a` \\@b ``@c ` @d``"),
        ("\\`@a @b`", "\\`@a \\@b`"),
        ("```\n@a\n```\n@b", "```\n@a\n```\n\\@b"),
        ("\\@a", "\\\\@a"),
    ],
)
def test_only_at_signs_that_import_are_escaped(content: str, escaped: str) -> None:
    """An at sign in code or within a word imports nothing and stays."""
    assert escape_imports(content) == escaped


@pytest.mark.parametrize(("text", "expected"), [("@a", True), ("- @a.md @~/b", True), ("see @a", False), ("@", False)])
def test_a_paragraph_of_imports_is_recognized(text: str, *, expected: bool) -> None:
    """Only a paragraph that has nothing else is an import."""
    assert is_import(text) is expected


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Decisions", "decision"),
        (" warning ", "warning"),
        ("FACTS", "fact"),
        ("Deploy", None),
        ("", None),
        (None, None),
    ],
)
def test_a_heading_may_name_a_kind(heading: str | None, kind: str | None) -> None:
    """Singular, plural and case do not matter."""
    assert kind_named(heading) == kind


@pytest.mark.parametrize("scope", ["apollo", "project:", "team:a", "project:a b", ":a", "project:a\n"])
def test_a_scope_that_is_none_is_refused(scope: str) -> None:
    """The error says how a scope is written."""
    with pytest.raises(ValueError, match="write kind:id"):
        check_scope(scope)
    assert check_scope(APOLLO) == APOLLO

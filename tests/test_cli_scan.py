"""`antechamber scan`: findings, exit statuses, lines for people and programs, files of any kind and size."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antechamber.cli import main
from antechamber.flows import scan as scan_flow
from support import antechamber, event

TOKEN = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
RULE = """
[[rule]]
id = "code-word"
title = "code word"
kind = "hostile"
action = "warn"
pattern = "xyzzy"
hit = ["say xyzzy"]
miss = ["xyz"]
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy folder with a rule of its own that only warns."""
    folder = tmp_path / "policies"
    (folder / "detectors").mkdir(parents=True)
    (folder / "producers.toml").touch()
    (folder / "detectors" / "own.toml").write_text(RULE)
    return folder


def scan(*arguments: str, stdin: bytes = b"") -> Result:
    """Run the verb in this process."""
    return CliRunner().invoke(main, ["scan", *arguments], input=stdin)


def found(result: Result) -> list[dict[str, Any]]:
    """Return the findings of an output in JSON."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def lines(*values: Any) -> bytes:
    """Return values as NDJSON."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_a_clean_text_has_status_0() -> None:
    """A text without findings prints nothing."""
    result = scan("-", stdin=b"Run the migration before the deploy.\n")
    assert (result.exit_code, result.output) == (0, "")


def test_a_secret_is_named_without_its_value(tmp_path: Path) -> None:
    """People get file, line, column, title, rule and action; the value is nowhere."""
    file = tmp_path / "notes.txt"
    file.write_text(f"first\nthe é token {TOKEN}\n", encoding="utf-8")
    result = scan(str(file))
    assert result.exit_code == 1
    assert f"{file}:2:13: GitHub token (github-token, reject)\n" in result.output
    assert TOKEN not in result.output


def test_json_has_the_documented_members() -> None:
    """Programs get one object per finding, with offsets in code points; the id of a text is its file."""
    result = scan("-", "--json", stdin=f"é🔑 {TOKEN}".encode())
    (finding,) = [one for one in found(result) if one["rule"] == "github-token"]
    assert finding == {
        "id": "-",
        "rule": "github-token",
        "kind": "secret",
        "action": "reject",
        "pointer": "",
        "start": 3,
        "end": 3 + len(TOKEN),
        "decoded": [],
    }
    assert list(finding) == ["id", "rule", "kind", "action", "pointer", "start", "end", "decoded"]


def test_a_decoded_value_names_its_decoders() -> None:
    """The span is that of the encoded text, and the decoders are listed in order."""
    encoded = base64.b64encode(base64.b64encode(TOKEN.encode())).decode()
    result = scan("-", "--json", stdin=f"the blob is {encoded} as sent".encode())
    (finding,) = [one for one in found(result) if one["rule"] == "github-token"]
    assert finding["decoded"] == ["base64", "base64"]
    assert 12 <= finding["start"] < finding["end"] <= 12 + len(encoded)


def test_a_warning_does_not_change_the_status(policies: Path) -> None:
    """A finding with the action warn is printed, and the status is 0; the policy folder brings the rule."""
    result = scan("-", "--json", "--policies", str(policies), stdin=b"say xyzzy")
    assert result.exit_code == 0
    assert [(one["rule"], one["kind"], one["action"], one["start"], one["end"]) for one in found(result)] == [
        ("code-word", "hostile", "warn", 4, 9)
    ]


def test_bodies_need_no_hash_grant_or_producer() -> None:
    """A body is scanned by the rules alone, complete or with its payload only."""
    whole = event(f"the token is {TOKEN}", producer_identity="worker:unknown", scope_id="elsewhere")
    del whole["source_event_hash"]
    part = {"payload": {"attributes": {"keys": ["x", TOKEN]}}}
    result = scan("-", "--ndjson", "--json", stdin=lines({"id": 1, "body": whole}, {"id": [2], "body": part}))
    places = {(json.dumps(one["id"]), one["pointer"]) for one in found(result) if one["rule"] == "github-token"}
    assert result.exit_code == 1
    assert places == {("1", "/payload/content"), ("[2]", "/payload/attributes/keys/1")}


def test_ndjson_names_the_line_for_people() -> None:
    """People get the number of the line, the pointer and the offsets."""
    stdin = b"\n" + lines({"text": "fine"}, {"id": "a", "text": TOKEN}, {"body": {"payload": {"content": TOKEN}}})
    output = scan("-", "--ndjson", stdin=stdin).output.splitlines()
    assert f"-:3: GitHub token (github-token, reject) at text, characters 0 to {len(TOKEN)}" in output
    assert f"-:4: GitHub token (github-token, reject) at /payload/content, characters 0 to {len(TOKEN)}" in output


def test_a_line_that_cannot_be_read_is_a_finding() -> None:
    """The other lines are scanned all the same; standard error names the line and the reason."""
    result = scan("-", "--ndjson", "--json", stdin=b"{\n" + lines({"id": 5, "text": 1}, {"id": 6, "text": "fine"}))
    unreadable = {"rule": "unreadable", "kind": "unreadable", "action": "quarantine", "pointer": ""}
    assert result.exit_code == 1
    assert found(result) == [
        {"id": entry_id} | unreadable | {"start": 0, "end": 0, "decoded": []} for entry_id in (None, 5)
    ]
    assert "-:1: cannot be read" in result.stderr
    assert "-:2: cannot be read" in result.stderr


def test_a_line_that_is_too_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the line is skipped in portions, and the next lines are scanned; a line of the limit's size too."""
    monkeypatch.setattr(scan_flow, "MAX_LINE", 100)
    long = lines({"id": 1, "text": "x" * 350})
    exact = lines({"id": 2, "text": "x" * 78})
    assert len(exact) == 100
    result = scan("-", "--ndjson", "--json", stdin=long + exact + lines({"id": 3, "text": TOKEN}))
    assert [(one["id"], one["rule"]) for one in found(result)][:2] == [(None, "unreadable"), (3, "github-token")]
    assert [one["id"] for one in found(scan("-", "--ndjson", "--json", stdin=long.rstrip()))] == [None]


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"latin \xe9", "utf-16".encode("utf-16")])
def test_a_binary_file_is_unreadable(data: bytes, tmp_path: Path) -> None:
    """A file that is binary or no UTF-8 is never called clean."""
    (tmp_path / "file").write_bytes(data)
    result = scan(str(tmp_path / "file"), "--json")
    assert result.exit_code == 1
    assert [(one["id"], one["rule"]) for one in found(result)] == [(str(tmp_path / "file"), "unreadable")]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Offsets count from the first character after it."""
    result = scan("-", "--json", stdin=b"\xef\xbb\xbf" + TOKEN.encode())
    findings = found(result)
    assert "github-token" in {one["rule"] for one in findings}
    assert {one["start"] for one in findings} == {0}


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file opens here that cannot be read")
@pytest.mark.parametrize("options", [[], ["--ndjson"]])
def test_an_error_of_the_disk_is_a_finding(options: list[str]) -> None:
    """A file that opens but cannot be read is never called clean."""
    result = scan("/proc/self/mem", "--json", *options)
    assert result.exit_code == 1
    assert [one["rule"] for one in found(result)] == ["unreadable"]
    assert "/proc/self/mem:1: cannot be read: Input/output error" in result.stderr


def test_a_file_name_may_be_any_bytes(tmp_path: Path) -> None:
    """A name that is no UTF-8 is shown with a replacement character."""
    name = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(name)).write_text(TOKEN)
    result = scan(os.fsdecode(name), "--json")
    assert found(result)[0]["id"] == f"{tmp_path}/caf\ufffd"


def test_several_files_are_scanned_in_order(tmp_path: Path) -> None:
    """Each finding names its file, as a commit hook needs that passes many files."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(TOKEN if name != "b" else "fine")
    result = scan(*(str(tmp_path / name) for name in ("a", "b", "c")), "--json")
    assert [Path(one["id"]).name for one in found(result) if one["rule"] == "github-token"] == ["a", "c"]


@pytest.mark.parametrize("ndjson", [True, False])
def test_a_value_at_the_cut_of_a_long_text_is_found_once(ndjson: bool) -> None:  # noqa: FBT001 -- a parameter of a test
    """In a text of several pieces, each value is found once with its offsets, line and column."""
    filler = "a line of harmless words\n" * 2_500
    text = f"{filler}{TOKEN}\n{filler}one {TOKEN} two\n{filler}{TOKEN}"
    stdin = lines({"text": text}) if ndjson else text.encode()
    result = scan("-", "--json", *(["--ndjson"] if ndjson else []), stdin=stdin)
    spans = [(one["start"], one["end"]) for one in found(result) if one["rule"] == "github-token"]
    starts = [index for index in range(len(text)) if text.startswith(TOKEN, index)]
    assert spans == [(start, start + len(TOKEN)) for start in starts]
    if not ndjson:
        places = [line.split(":")[1:3] for line in scan("-", stdin=stdin).output.splitlines() if "GitHub" in line]
        assert places == [["2501", "1"], ["5002", "5"], ["7503", "1"]]


MEASURED = """
import re
from pathlib import Path
from antechamber.cli import main
try:
    main()
finally:
    print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the largest memory is read from /proc")
def test_a_large_file_takes_bounded_memory(tmp_path: Path) -> None:
    """A file of 5 MB takes less than half of its size more than one of 125 kB, after which the automata are built."""
    peaks = []
    for size in (5_000, 200_000):
        file = tmp_path / f"file-{size}"
        file.write_bytes(b"a line of harmless words\n" * size)
        command = [sys.executable, "-c", f"import sys{MEASURED}", "scan", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110)  # noqa: S603 -- our own program
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] - peaks[0] < 2_400


def test_what_git_lists_and_has_no_text_is_skipped(tmp_path: Path) -> None:
    """Folders of submodules and links to nothing keep no other file from being scanned."""
    (tmp_path / "module").mkdir()
    (tmp_path / "filled").mkdir()
    (tmp_path / "filled" / ".git").write_text("gitdir: ../.git/modules/filled")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "text").write_text(f"use {TOKEN} now")
    result = scan("--", *(str(tmp_path / name) for name in ("module", "filled", "link", "text")))
    assert result.exit_code == 1
    assert result.stdout.count("github-token") == 1
    assert [line.partition(" skipped")[2] for line in result.stderr.splitlines()] == [
        ", because it is the folder of a submodule",
        ", because it is the folder of a submodule",
        ", because it is a link to nothing",
    ]


def test_a_checkout_itself_is_no_file(tmp_path: Path) -> None:
    """Its folder, and what would leave nothing to scan, are wrong usage, and not a check without findings."""
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    (tmp_path / "module").mkdir()
    assert scan(str(tmp_path / "checkout")).exit_code == 2
    assert scan(str(tmp_path / "module")).exit_code == 2


def test_the_name_of_a_file_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind two hyphens a file may have the name of one."""
    monkeypatch.chdir(tmp_path)
    Path("--help").write_text(f"use {TOKEN} now")
    assert scan("--", "--help").exit_code == 1


def test_a_long_file_with_many_names_of_passwords_is_scanned_in_small_pieces(tmp_path: Path) -> None:
    """What takes too much effort as one text is no finding of a file, unless it does in small pieces too."""
    file = tmp_path / "text"
    file.write_text("def login(user, passwd='', acct=''): return auth(user, passwd)\n" * 900)
    assert scan(str(file)).exit_code == 0
    with file.open("a") as more:
        more.write(f"use {TOKEN} now")
    assert scan(str(file)).stdout.count("github-token") == 1
    file.write_text("%25252541 " * 6_000)
    assert "too-many-look-alikes" in scan(str(file)).stdout


def test_wrong_usage_has_status_2(tmp_path: Path, policies: Path) -> None:
    """A missing file, a folder, an unknown option, no file and a wrong policy folder are wrong usage."""
    (policies / "detectors" / "own.toml").write_text("[[rule]]\n")
    for arguments in (
        [str(tmp_path / "missing")],
        [str(tmp_path)],
        ["-", "--unknown"],
        [],
        ["-", "--policies", str(tmp_path / "missing")],
        ["-", "--policies", str(policies)],
    ):
        assert scan(*arguments).exit_code == 2, arguments


def test_the_verb_runs_as_a_process() -> None:
    """Standard input is read from a pipe, and the status reaches the caller."""
    done = antechamber("scan", "-", "--json", stdin=TOKEN)
    assert (done.returncode, json.loads(done.stdout.splitlines()[0])["id"]) == (1, "-")

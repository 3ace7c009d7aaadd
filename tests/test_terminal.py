"""What commands print of stored texts: exact bytes for files and programs, and nothing that a terminal would obey."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from antechamber.app import open_store
from antechamber.cli.terminal import escape, escape_json
from antechamber.settings import Location
from support import (
    HANG_SECONDS,
    Service,
    antechamber,
    database,
    event,
    issue_token,
    running,
    serving,
    where,
    write_policies,
)

HOSTILE = "Run it.\x1b]0;owned\x07 \x1b[2J\x9b31m \u202etxt.exe\u202c\n\ttab"
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e", "\u202c")


def at_a_terminal(*arguments: str, **environment: str) -> str:
    """Run a command whose standard output is a terminal; return what the terminal gets."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "antechamber.cli", *arguments]
    process = subprocess.Popen(  # noqa: S603 -- our own program
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=os.environ | environment
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # Linux raises this when the other side closes
        while more := os.read(ours, 65_536):
            seen += more
    os.close(ours)
    process.wait(timeout=HANG_SECONDS)
    return seen.decode().replace("\r\n", "\n")


def obeyed(text: str) -> list[str]:
    """Return the characters in a text that a terminal would obey."""
    return [one for one in OBEYED if one in text]


def test_exports_on_a_terminal_are_escaped_and_exact_elsewhere(service: Service) -> None:
    """JSONL keeps its values and CSV its cells readable on a terminal; a pipe gets the stored text."""
    service.submit(event(HOSTILE, idempotency_key="a"))
    options = where(service.location)
    piped = antechamber("export", "dispositions", *options).stdout
    shown = at_a_terminal("export", "dispositions", *options)
    assert obeyed(shown) == []
    records = [json.loads(line) for line in piped.split("\n")[:-2]]
    assert [json.loads(line) for line in shown.split("\n")[:-2]] == records
    assert json.loads(records[0]["payload"])["content"] == HOSTILE
    table = antechamber("export", "dispositions", "--format", "csv", *options).stdout
    assert set(obeyed(table)) == set(OBEYED)
    shown = at_a_terminal("export", "dispositions", "--format", "csv", *options)
    assert obeyed(shown) == []
    assert r"\x1b[2J" in shown
    assert r"\u202e" in shown


def test_a_package_is_not_written_to_a_terminal(service: Service) -> None:
    """A ZIP archive would be obeyed by a terminal, so a file has to be named."""
    assert "name a file with --output" in at_a_terminal("export", "package", *where(service.location))


def test_memories_on_a_terminal_are_escaped_and_exact_elsewhere(location: Location, tmp_path: Path) -> None:
    """A memory file keeps its text for a pipe; on a terminal JSON keeps its values, and Markdown is escaped."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        proposal = service.submit(event(HOSTILE, idempotency_key="a")).json()["proposal_id"]
        assert service.sign_in().decide(proposal, "approve").status_code == 303
    with serving(location, policies) as (url, _):
        token = issue_token(location)
        for form in ("agents-md", "jsonl"):
            command = ("memories", "export", "--scope", "project:apollo", "--as", form, "--url", url)
            piped = antechamber(*command, ANTECHAMBER_TOKEN=token).stdout
            shown = at_a_terminal(*command, ANTECHAMBER_TOKEN=token)
            assert obeyed(piped) != []
            assert obeyed(shown) == []
            if form == "jsonl":
                assert json.loads(shown) == json.loads(piped)
                assert json.loads(shown)["content"] == HOSTILE
            else:
                assert shown == escape(piped)


def test_lists_and_findings_on_a_terminal_are_escaped(location: Location) -> None:
    """A name that was planted in the database does not reach the terminal of the operator who looks for it."""
    open_store(location).close()
    with database(location) as raw:
        raw.execute(
            f"INSERT INTO users (name, person, role, created_at) VALUES ('{HOSTILE}', '{HOSTILE}', 'curator', 1)"
        )
    for command in (("doctor",), ("doctor", "--json"), ("user", "list"), ("user", "list", "--json")):
        piped, shown = antechamber(*command, *where(location)).stdout, at_a_terminal(*command, *where(location))
        assert obeyed(piped) != []
        assert obeyed(shown) == []
        if "--json" in command:
            assert json.loads(shown) == json.loads(piped)
        else:
            assert "txt.exe" in shown


@given(st.text())
def test_an_escaped_text_is_printable(text: str) -> None:
    """Only line ends and tabs are left of what is not printed as itself, and printable text stays as it is."""
    shown = escape(text)
    assert all(one.isprintable() or one in "\t\n" for one in shown.replace("\r\n", "\n"))
    assert (shown == text) == all(one.isprintable() or one in "\t\n" for one in text.replace("\r\n", "\n"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaped_json_has_the_same_value(text: str) -> None:
    """JSON stays JSON, also for characters beyond the first plane."""
    shown = escape_json(msgspec.json.encode({"text": text}).decode())
    assert json.loads(shown) == {"text": text}
    assert shown.isprintable()

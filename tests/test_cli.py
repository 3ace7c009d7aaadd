"""The command line, as people and programs use it."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import psutil
import pytest
from click.testing import CliRunner, Result
from litestar.testing import TestClient

from antechamber import __version__, app
from antechamber.app.factory import create_app
from antechamber.cli import main
from antechamber.client import delivery, retry
from antechamber.client.submitter import Submitter
from antechamber.core.outgoing import hash_event
from antechamber.settings import Location, Settings
from support import (
    HANG_SECONDS,
    PRODUCERS,
    Databases,
    Service,
    antechamber,
    database,
    event,
    free_port,
    running,
    serving,
    where,
    write_policies,
)

TOKEN_FORM = re.compile(r"ant[pra]_[0-9A-Za-z]{36}\n")
LINK_FORM = re.compile(r"http://127\.0\.0\.1:8080/login\?link=antl_[0-9A-Za-z]{36}\n")


def _run(*arguments: str | Path, stdin: str | bytes = "", **environment: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin, env=environment)


def _fails(result: Result, *words: str) -> None:
    """Check that a command ended with one clear error and without a traceback."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert re.search(r"^Error: \S", result.stderr, re.MULTILINE)
    assert "Traceback" not in result.stderr
    assert [word for word in words if word not in result.stderr] == []


def _json(*arguments: str | Path) -> Any:
    result = _run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A created, empty data folder."""
    app.migrate(Location(data=tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def missing(tmp_path: Path) -> Path:
    """A data folder that does not exist."""
    return tmp_path / "missing"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A running service and the environment that `submit` needs to reach it."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "data", write_policies(folder / "policies")) as (url, _process):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(folder / "data")).stdout.strip()
        yield {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token}


def _ndjson(*bodies: dict[str, Any]) -> str:
    return "".join(json.dumps(body) + "\n" for body in bodies)


def _bare(content: str, **members: Any) -> dict[str, Any]:
    """Return an event as people write it: without key and hash."""
    return event(content, **{"idempotency_key": None, "source_event_hash": None} | members)


@pytest.mark.parametrize("command", [(), *_commands(main)], ids=" ".join)
def test_every_command_explains_itself(command: tuple[str, ...]) -> None:
    """--help and -h print a whole sentence about each command."""
    shown = _run(*command, "--help")
    assert shown.exit_code == 0
    paragraph = " ".join(shown.output.split("\n\n")[1].split())
    assert re.match(r"[A-Z][a-z]+\b.* .*[.]$", paragraph)
    assert _run(*command, "-h").output == shown.output


@pytest.mark.parametrize("command", [*_commands(main)], ids=" ".join)
def test_every_option_explains_itself(command: tuple[str, ...]) -> None:
    """Every option of every command has a help text, which names its environment variable."""
    found: click.Command = main
    for name in command:
        assert isinstance(found, click.Group)
        found = found.commands[name]
    options = [parameter for parameter in found.params if isinstance(parameter, click.Option)]
    assert [option.opts[0] for option in options if not option.help] == []
    assert [option.opts[0] for option in options if option.envvar and not option.show_envvar] == []


def test_the_help_lists_exit_statuses() -> None:
    """What 0, 1 and 2 mean is part of the first help text."""
    assert "Exit status: 0 if it is done; 1 if" in " ".join(_run("--help").output.split())


def test_the_version_is_told() -> None:
    """--version prints the package's version."""
    assert _run("--version").output == f"antechamber, version {__version__}\n"


def test_an_unknown_command_or_option_ends_with_usage() -> None:
    """An unknown command or option ends with exit code 2 and the usage."""
    for arguments in (("srve",), ("token", "isue"), ("export", "--formt", "csv"), ("token", "issue")):
        result = _run(*arguments)
        assert result.exit_code == 2
        assert "Usage:" in result.stderr


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (("export", "log", "--format", "csv"), "exported whole and as JSONL"),
        (("export", "package", "--since", "2026-11-20"), "exported whole and as JSONL"),
        (("migrate", "--move"), "--move needs --database-url"),
        (("migrate", "--move", "--dry-run", "--database-url", "postgresql://a"), "leave one of them out"),
    ],
)
def test_options_that_do_not_fit_together_are_a_wrong_call(call: tuple[str, ...], text: str, data: Path) -> None:
    """They end with exit code 2 before anything is done."""
    result = _run(*call, "--data", data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


@pytest.mark.parametrize(
    "call", ["--help", "--version", "token issue worker:a", "token list", "doctor", "scan - --json"]
)
def test_an_output_that_takes_no_more_is_explained(data: Path, call: str) -> None:
    """A full device at standard output is one error of one line, which says what became of the command."""
    _run("token", "issue", "worker:a", "--data", data)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = _raw(
            *call.split(), stdout=full, stderr=subprocess.PIPE, input=b"the password is Ym9va3NoZWxm7", data=data
        )
    lines = [line for line in done.stderr.decode().splitlines() if not line.startswith("Warning: ")]
    said = "the output cannot be written: No space left on device. Anything that the command changed stays changed"
    assert (done.returncode, lines) == (1, [f"Error: {said}"])


def test_closed_standard_streams_end_no_command(data: Path) -> None:
    """A command without standard input, output and error does its work, and opens no file in their place."""
    done = _raw("token", "issue", "worker:a", data=data, closed="<&- >&- 2>&-")
    assert done.returncode == 0
    issued = _raw("token", "list", data=data, closed="<&- 2>&-", stdout=subprocess.PIPE)
    assert issued.returncode == 0
    assert b" worker:a " in issued.stdout


def _raw(*call: str, data: Path, closed: str = "", **streams: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run a command with standard streams of its own."""
    shell = f'exec "$0" -m antechamber.cli "$@" {closed}'
    return subprocess.run(  # noqa: S603, PLW1510
        ["/bin/sh", "-c", shell, sys.executable, *call], env=os.environ | {"ANTECHAMBER_DATA": str(data)}, **streams
    )


def test_the_data_folder_comes_from_the_environment(data: Path) -> None:
    """ANTECHAMBER_DATA replaces --data; without either the error names the option."""
    assert _run("token", "issue", "worker:a", ANTECHAMBER_DATA=str(data)).exit_code == 0
    missing = _run("token", "list")
    assert missing.exit_code == 2
    assert "--data" in missing.stderr


def test_tokens_are_issued_listed_and_revoked(data: Path) -> None:
    """A token is printed once; the list omits its secret; revoking by name or id ends it."""
    issued = _run("token", "issue", "worker:release-bot", "--data", data)
    assert TOKEN_FORM.fullmatch(issued.stdout)
    second = _json(
        "token", "issue", "notes", "--role", "reader", "--read", "project:apollo", "--expires", "90d", "--data", data
    )
    listed = _run("token", "list", "--data", data)
    assert "worker:release-bot" in listed.stdout
    assert "no expiry  last used never" in listed.stdout
    assert issued.stdout.strip() not in listed.stdout
    rows = _json("token", "list", "--data", data)
    assert [(row["name"], row["role"], row["read"]) for row in rows] == [
        ("worker:release-bot", "producer", []),
        ("notes", "reader", ["project:apollo"]),
    ]
    assert rows[1]["expires_at"] - rows[1]["created_at"] == 90 * 86_400 * 1_000_000
    assert second["token"] not in json.dumps(rows)
    assert _run("token", "revoke", "worker:release-bot", "--data", data).stdout == "Revoked 1 token.\n"
    assert _json("token", "revoke", second["token_id"], "--data", data) == {"revoked": 1}
    assert _run("token", "list", "--data", data).stdout.count("revoked 20") == 2
    _fails(_run("token", "revoke", "notes", "--data", data), "notes", "antechamber token list")


def test_an_empty_list_says_how_to_begin(data: Path) -> None:
    """Empty lists print the command that fills them, and nothing on standard output."""
    _run("token", "issue", "worker:a", "--data", data)
    users = _run("user", "list", "--data", data)
    assert (users.exit_code, users.stdout) == (0, "")
    assert "antechamber user add" in users.stderr
    assert _json("user", "list", "--data", data) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("release-bot",), ("kind:name",)),
        (("worker:",), ("kind:name",)),
        (("worker:ü",), ("kind:name",)),
        (("notes", "--role", "reader"), ("--read",)),
        (("notes", "--role", "reader", "--read", "apollo"), ("scope:scope_id",)),
        (("notes", "--role", "reader", "--read", "session:*"), ("session",)),
        (("no name", "--role", "auditor"), ("no name",)),
    ],
    ids=str,
)
def test_a_token_that_cannot_be_is_refused(data: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    """A wrong name or grant is explained, and no token is created."""
    _fails(_run("token", "issue", *arguments, "--data", data), *words)
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    assert _json("token", "list", "--data", data) == []


@pytest.mark.parametrize(
    ("name", "read", "warning"),
    [
        ("worker:release-bot", [], None),
        ("worker:release-bot", ["project:apollo"], None),
        ("worker:release-bot", ["session:s-1"], None),
        ("worker:release-bot", ["project:apollo", "project:gemini"], "release-bot read project:gemini; a token never"),
        ("worker:realease-bot", [], "the policy does not list worker:realease-bot"),
    ],
)
def test_a_token_that_promises_too_much_comes_with_a_warning(
    data: Path, policies: Path, name: str, read: list[str], warning: str | None
) -> None:
    """The token is issued and is alone on standard output; the warning names the policy that was compared."""
    scopes = [word for scope in read for word in ("--read", scope)]
    issued = _run("token", "issue", name, *scopes, "--data", data, "--policies", policies)
    assert TOKEN_FORM.fullmatch(issued.stdout)
    assert issued.exit_code == 0
    if warning is None:
        assert issued.stderr == ""
    else:
        assert warning in issued.stderr
        assert str(policies) in issued.stderr


def test_a_token_of_no_producer_is_compared_with_no_policy(data: Path, tmp_path: Path) -> None:
    """Readers and auditors are not in the policy; a policy that cannot be read is a warning to producers only."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "producers.toml").write_text("producer = 1")
    broken = ("--data", data, "--policies", tmp_path / "broken")
    assert _run("token", "issue", "lens", "--role", "auditor", *broken).stderr == ""
    issued = _run("token", "issue", "worker:a", *broken)
    assert (issued.exit_code, "was not compared" in issued.stderr) == (0, True)
    assert TOKEN_FORM.fullmatch(issued.stdout)


@pytest.mark.parametrize("lifetime", ["soon", "90", "-1d", "1w", "1.5h", "999999d", "", "0d", "00m"])
def test_a_lifetime_that_is_none_is_refused(data: Path, lifetime: str) -> None:
    """An invalid lifetime gives an error with the correct form."""
    result = _run("token", "issue", "worker:a", "--expires", lifetime, "--data", data)
    assert result.exit_code == 2
    assert "90d" in result.stderr


def test_people_are_added_with_a_link(data: Path) -> None:
    """Without a password the command prints a link that signs in once."""
    added = _run("user", "add", "ada", "--role", "curator", "--data", data)
    assert LINK_FORM.fullmatch(added.stdout)
    other = _run("user", "link", "ada", "--url", "https://desk.example.org/", "--data", data)
    assert other.stdout.startswith("https://desk.example.org/login?link=antl_")
    both = _json("user", "add", "bob", "--role", "auditor", "--person", "robert", "--data", data)
    assert (both["name"], both["role"], both["person"]) == ("bob", "auditor", "robert")
    assert LINK_FORM.fullmatch(both["link"] + "\n")


def test_a_link_of_the_command_line_opens_the_desk(data: Path, policies: Path) -> None:
    """The printed link works at a service on the same folder."""
    link = _run("user", "add", "ada", "--role", "curator", "--data", data).stdout.strip()
    with running(data, policies) as service:
        page = service.client.get(link)
        assert page.status_code == 200
        secret = link.partition("link=")[2]
        signed_in = service.client.post("/login", data={"link": secret}, follow_redirects=False)
        assert signed_in.headers["location"] == "/review"


@pytest.mark.parametrize(
    "url", ["foo", "javascript:alert(1)", "https://", "https://a.example/?next=1", "https://u:p@a.example"]
)
@pytest.mark.parametrize("command", [("add", "ada", "--role", "curator"), ("link", "ada")])
def test_a_link_to_no_desk_is_not_made(data: Path, command: tuple[str, ...], url: str) -> None:
    """A link that no browser can open is a wrong call, which adds no account."""
    wrong = _run("user", *command, "--data", data, "--url", url)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "write the address of the desk" in wrong.stderr
    assert json.loads(_run("user", "list", "--data", data, "--json").stdout) == []


def test_people_are_added_with_a_password(data: Path, policies: Path) -> None:
    """A password from standard input is stored as a hash only, and signs in."""
    password = "a long enough pass phrase"
    added = _run("user", "add", "ada", "--role", "curator", "--password-stdin", "--data", data, stdin=password + "\r\n")
    assert added.stdout == "Added ada.\n"
    rows = _json("user", "list", "--data", data)
    assert rows[0]["password"] is True
    assert "argon2" not in json.dumps(rows)
    with running(data, policies) as service:
        sent = {"name": "ada", "password": password}
        assert service.client.post("/login", data=sent, follow_redirects=False).status_code == 303


@pytest.mark.parametrize("stdin", ["short\n", "", "\n", "           \n", b"\xff" * 20 + b"\n"])
def test_a_password_that_cannot_be_is_refused(data: Path, stdin: str | bytes) -> None:
    """A short or unreadable password is explained, and no account is created."""
    refused = _run("user", "add", "ada", "--role", "curator", "--password-stdin", "--data", data, stdin=stdin)
    _fails(refused, "password")
    assert _run("user", "add", "ada", "--role", "curator", "--data", data).exit_code == 0


PASSWORD = "a long enough pass phrase"


def _signs_in(service: Service, password: str) -> bool:
    """Return whether a password signs ada in."""
    answer = service.client.post("/login", data={"name": "ada", "password": password}, follow_redirects=False)
    return bool(answer.status_code == 303)


def test_a_password_is_set_while_the_service_runs(location: Location, policies: Path) -> None:
    """The new password works at once, the account's sessions and links end, and log and doctor record the change."""
    with running(location, policies) as service:
        desk = service.sign_in("ada")
        link = service.state.access.sign_in.create_link("ada")
        done = _run("user", "password", "ada", "--password-stdin", *where(location), stdin=PASSWORD + "\n")
        assert done.stdout == "Set the password of ada. Its sessions and sign-in links have ended.\n"
        assert _signs_in(service, PASSWORD)
        assert service.client.post("/login", data={"link": link}).status_code == 400
        service.state.access.sessions.forget()
        assert desk.browser.get("/settings", follow_redirects=False).status_code == 303
        other = "another long pass phrase"
        assert _run("user", "password", "ada", "--password-stdin", *where(location), stdin=other).exit_code == 0
        assert (_signs_in(service, PASSWORD), _signs_in(service, other)) == (False, True)
    assert _json("doctor", *where(location)) == {"healthy": True, "findings": []}
    with database(location) as raw:
        stored = str(raw.execute("SELECT leaf, salt FROM log_leaves").fetchall())
    assert stored.count('"action":"set-password","actor":"command-line"') == 2
    assert "argon2" not in stored


def test_a_password_that_cannot_be_set_is_explained(data: Path) -> None:
    """Unknown and disabled accounts, short passwords and a missing terminal are explained."""
    unknown = _run("user", "password", "ada", "--password-stdin", "--data", data, stdin=PASSWORD)
    _fails(unknown, "no account ada", "antechamber user add")
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    _fails(_run("user", "password", "ada", "--password-stdin", "--data", data, stdin="short"), "12 characters")
    _fails(_run("user", "password", "ada", "--data", data, stdin=f"{PASSWORD}\n{PASSWORD}\n"), "--password-stdin")
    _run("user", "disable", "ada", "--data", data)
    _fails(_run("user", "password", "ada", "--password-stdin", "--data", data, stdin=PASSWORD), "no account ada")
    assert [row["password"] for row in _json("user", "list", "--data", data)] == [False]


def _at_a_terminal(*arguments: str, typed: list[str]) -> tuple[int, str]:
    """Run a command at a terminal, type one line at each question; return the exit code and the terminal's output."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "antechamber.cli", *arguments]
    process = subprocess.Popen(  # noqa: S603 -- our own program
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    for number, line in enumerate(typed, 1):
        while len(re.findall(rb"(?:of ada|again): ", seen)) < number:
            seen += os.read(ours, 1000)
        os.write(ours, f"{line}\n".encode())
    with contextlib.suppress(OSError):  # Linux raises this when the other side closes
        while more := os.read(ours, 1000):
            seen += more
    os.close(ours)
    return process.wait(timeout=30), seen.decode()


def test_a_password_is_asked_twice_and_not_shown(data: Path, policies: Path) -> None:
    """At a terminal the password is asked twice without echo, and again if the two differ."""
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    typed = [PASSWORD, "something else altogether", PASSWORD + "!", PASSWORD + "!"]
    code, seen = _at_a_terminal("user", "password", "ada", "--data", str(data), typed=typed)
    assert code == 0, seen
    assert "New password of ada: " in seen
    assert "do not match" in seen
    assert all(line not in seen for line in typed)
    with running(data, policies) as service:
        assert _signs_in(service, PASSWORD + "!")


def test_links_lead_to_where_the_service_was_served_last(location: Location, policies: Path) -> None:
    """Links use the own or public address of the last service, else the default; --url overrides both."""
    app.migrate(location)
    added = _run("user", "add", "ada", "--role", "curator", *where(location))
    assert LINK_FORM.fullmatch(added.stdout)
    with serving(location, policies) as (url, _):
        assert _run("user", "link", "ada", *where(location)).stdout.startswith(f"{url}/login?link=antl_")
    added = _run("user", "add", "bob", "--role", "auditor", *where(location))
    assert added.stdout.startswith(f"{url}/login?link=antl_")
    settings = Settings(
        data=location.data,
        database_url=location.database_url,
        policies=policies,
        public_url="https://desk.example.org/",
    )
    with TestClient(create_app(settings)):
        pass
    assert _run("user", "link", "ada", *where(location)).stdout.startswith("https://desk.example.org/login?link=antl_")
    other = _run("user", "link", "ada", "--url", "http://127.0.0.1:9", *where(location)).stdout
    assert other.startswith("http://127.0.0.1:9/login?link=antl_")


@pytest.mark.parametrize("name", ["", "no name", "ü", "-x", "a" * 129, "a\nb"])
def test_a_name_that_cannot_be_is_refused(data: Path, name: str) -> None:
    """An invalid name, of an account or of its person, is explained."""
    _fails(_run("user", "add", "--role", "curator", "--data", data, "--", name), "is no name")
    if name:
        _fails(_run("user", "add", "ada", "--role", "curator", "--person", name, "--data", data), "is no name")


def test_a_taken_name_is_refused(data: Path) -> None:
    """A second account of the same name is refused, and the first one is unchanged."""
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    _fails(_run("user", "add", "ada", "--role", "operator", "--data", data), "taken", "--person ada")
    assert [row["role"] for row in _json("user", "list", "--data", data)] == ["curator"]


def test_one_person_cannot_be_two_by_case(data: Path) -> None:
    """An account of a person whose name differs from a known one only by case is refused; another account is not."""
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    for arguments in (["Ada"], ["ada-2", "--person", "ADA"]):
        _fails(
            _run("user", "add", *arguments, "--role", "curator", "--data", data), "person ada already", "--person ada"
        )
    assert _run("user", "add", "ada-2", "--person", "ada", "--role", "curator", "--data", data).exit_code == 0


def test_people_are_disabled(data: Path) -> None:
    """A disabled account stays in the list, gets no link, and cannot be disabled again."""
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    assert _run("user", "disable", "ada", "--data", data).stdout == "Disabled ada.\n"
    assert re.search(r"ada +curator +person ada +disabled", _run("user", "list", "--data", data).stdout)
    _fails(_run("user", "link", "ada", "--data", data), "ada", "antechamber user add")
    _fails(_run("user", "disable", "ada", "--data", data), "ada", "antechamber user list")
    _fails(_run("user", "link", "nobody", "--data", data), "nobody")


READING = [
    ("token", "list"),
    ("token", "revoke", "x"),
    ("user", "list"),
    ("user", "link", "x"),
    ("user", "disable", "x"),
]
READING += [("doctor",), ("export",), ("erase", "x")]
MAKING = [("token", "issue", "worker:a"), ("user", "add", "ada", "--role", "curator")]


@pytest.mark.parametrize("command", [*READING, *MAKING], ids=" ".join)
def test_a_mistyped_folder_is_not_made(missing: Path, command: tuple[str, ...]) -> None:
    """Every command but serve and migrate reports a missing folder and how to create it, and creates nothing."""
    _fails(_run(*command, "--data", missing), f"there is no folder {missing}", f"antechamber migrate --data {missing}")
    assert not missing.exists()


@pytest.mark.parametrize("command", [*READING, *MAKING], ids=" ".join)
def test_a_folder_without_a_store_is_a_mistyped_one(missing: Path, command: tuple[str, ...]) -> None:
    """A folder with other contents is unchanged, and keeps its mode."""
    missing.mkdir()
    missing.chmod(0o755)
    (missing / "notes.txt").write_text("mine")
    _fails(_run(*command, "--data", missing), f"{missing} holds no data of Antechamber", "antechamber migrate")
    assert [file.name for file in missing.iterdir()] == ["notes.txt"]
    assert stat.S_IMODE(missing.stat().st_mode) == 0o755


@pytest.mark.parametrize("command", [*READING, *MAKING], ids=" ".join)
def test_a_mistyped_folder_is_not_made_beside_a_database(
    postgres: Databases, missing: Path, command: tuple[str, ...]
) -> None:
    """On PostgreSQL the folder holds the secret: without it nothing is created in folder or database."""
    url = postgres.fresh()
    location = Location(data=missing, database_url=url)
    _fails(_run(*command, *where(location)), f"there is no folder {missing}", "antechamber migrate")
    assert not missing.exists()
    missing.mkdir()
    _fails(_run(*command, *where(location)), "secret.key is missing")
    assert list(missing.iterdir()) == []
    postgres.drop(url)


def test_migrate_and_serve_make_the_folder(missing: Path, policies: Path) -> None:
    """Both create a missing folder, and its files belong to the owner alone."""
    assert _run("migrate", "--data", missing / "one").exit_code == 0
    assert _run("token", "issue", "worker:a", "--data", missing / "one").exit_code == 0
    with serving(missing / "two", policies):
        assert _run("token", "issue", "worker:a", "--data", missing / "two").exit_code == 0


@pytest.mark.parametrize("command", [*READING, *MAKING], ids=" ".join)
def test_a_damaged_folder_is_a_clear_error(data: Path, command: tuple[str, ...]) -> None:
    """Every command explains a missing secret or a file that is not a database."""
    _run("user", "add", "ada", "--role", "curator", "--data", data)
    secret = (data / "secret.key").read_bytes()
    (data / "secret.key").unlink()
    _fails(_run(*command, "--data", data), "secret.key", "backup")
    (data / "secret.key").write_bytes(secret[:7])
    _fails(_run(*command, "--data", data), "secret.key", "damaged")
    (data / "secret.key").write_bytes(secret)
    for file in data.glob("antechamber.db*"):
        file.unlink()
    (data / "antechamber.db").write_bytes(b"This is no database at all. " * 200)
    _fails(_run(*command, "--data", data), "antechamber.db")


@pytest.mark.parametrize("command", [*READING, *MAKING, ("serve",)], ids=" ".join)
def test_a_folder_below_a_file_is_a_clear_error(tmp_path: Path, command: tuple[str, ...]) -> None:
    """A data folder that cannot be created is named in the error."""
    (tmp_path / "file").write_text("")
    _fails(_run(*command, "--data", tmp_path / "file" / "data"), str(tmp_path / "file" / "data"))


def test_submitting_fills_in_and_is_repeatable(server: dict[str, str], tmp_path: Path) -> None:
    """A file of bare events is accepted; the same file again gives replays with the ids of the first run."""
    file = tmp_path / "events.jsonl"
    file.write_text(_ndjson(_bare("Submit one."), _bare("Submit two.")) + "\n")
    first = _run("submit", file, **server)
    assert first.exit_code == 0
    *lines, total = first.stdout.splitlines()
    ids = [
        re.fullmatch(rf"line {number}: accepted-for-review, submission (\S{{36}})", line)
        for number, line in enumerate(lines, 1)
    ]
    assert total == "      2 accepted-for-review"
    again = _run("submit", file, **server)
    assert again.exit_code == 0
    assert again.stdout.splitlines() == [
        *(
            f"line {one}: accepted-for-review, replayed, submission {found[1]}"
            for one, found in enumerate(ids, 1)
            if found
        ),
        "      2 accepted-for-review, of which 2 replayed",
    ]
    told = json.loads(_run("submit", file, "--json", **server).stdout)
    assert (told["accepted-for-review"], told["replayed"]) == (2, 2)
    assert [(one["line"], one["submission_id"]) for one in told["lines"]] == [
        (number, found[1]) for number, found in enumerate(ids, 1) if found
    ]


def test_submitting_reads_standard_input_as_a_process(server: dict[str, str]) -> None:
    """FILE may be -, and standard output contains only the result."""
    done = antechamber("submit", "-", "--json", stdin=_ndjson(_bare("From standard input.")), **server)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accepted-for-review"] == 1


def test_submitting_reports_every_refused_line(server: dict[str, str]) -> None:
    """Each refused line has one sentence with its number; conflicts name the key and its producer."""
    key, other = {"idempotency_key": "the-key"}, {"idempotency_key": "another"}
    lines = ["", _bare("A good one."), _bare("A bad one.", scope_id="gemini"), _bare("Key one.", **key)]
    lines += [_bare("Key two.", **key), _bare("Page mira@orbit-works.dev.", **other)]
    stdin = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = _run("submit", "-", stdin=stdin, **server)
    assert done.exit_code == 0
    denied = "scope-not-granted: this producer may not submit to this scope; granted: project:apollo, session:*"
    denied += ", organization:labs"
    told = [re.sub(r"submission [0-9a-f-]{36}", "submission ID", line) for line in done.stderr.splitlines()]
    assert told == [
        f"line 3: rejected-invalid, submission ID: {denied} at /submission_scope",
        'line 5: rejected-conflict: key "the-key" belongs to line 4, submission ID',
        "line 6: rejected-private, submission ID: private-detected: email-address: e-mail address at /payload/content",
    ]
    again = _run("submit", "-", stdin=_ndjson(_bare("Key two.", **key)), **server)
    assert 'line 1: rejected-conflict, replayed: key "the-key" belongs to an earlier event, submission' in again.stderr
    assert again.stdout == "      1 rejected-conflict, of which 1 replayed\n"


def test_lines_with_the_same_key_are_all_sent_and_answered_in_order(server: dict[str, str]) -> None:
    """Each line has its own answer: a replay for the same event, a conflict for another one, under a key of its own."""
    key = {"idempotency_key": "own-key"}
    lines = [
        _bare("Own one.", **key),
        _bare("Derived."),
        _bare("Own two.", **key),
        _bare("Derived."),
        _bare("Own one.", **key),
    ]
    done = _run("submit", "-", "--json", stdin=_ndjson(*lines), **server)
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    rows = [(line["line"], line["disposition"], line["duplicate"]) for line in printed["lines"]]
    assert rows == [
        (1, "accepted-for-review", False),
        (2, "accepted-for-review", False),
        (3, "rejected-conflict", False),
        (4, "accepted-for-review", True),
        (5, "accepted-for-review", True),
    ]
    assert [line["idempotency_key"] for line in printed["lines"][::2]] == ["own-key"] * 3
    assert printed["lines"][3]["idempotency_key"] == printed["lines"][1]["idempotency_key"]
    assert (printed["accepted-for-review"], printed["rejected-conflict"], printed["replayed"]) == (4, 1, 2)
    assert [line["detail"] is None for line in printed["lines"]] == [True, True, False, True, True]


def test_a_line_that_only_the_service_refuses_is_named_and_ends_with_status_1(server: dict[str, str]) -> None:
    """A key that looks private leaves nothing behind; the lines around it are recorded."""
    lines = [_bare("Before."), _bare("Refused.", idempotency_key="4111111111111111"), _bare("After.")]
    done = _run("submit", "-", stdin=_ndjson(*lines), **server)
    assert done.exit_code == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("line 2: rejected-invalid: key-invalid: the key looks like a private value")
    assert sentence.endswith(" at /idempotency_key")
    assert [line[:27] for line in done.stdout.splitlines()[:2]] == [
        "line 1: accepted-for-review",
        "line 3: accepted-for-review",
    ]


def test_a_line_that_stays_without_an_answer_is_named_and_nothing_follows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Over the rate limit the rest of the file is not sent, so that its lines keep their order."""
    monkeypatch.setattr(delivery, "MAX_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(delivery, "MAX_LINES", 3)
    policies = write_policies(tmp_path / "policies", scopes="[limits]\nattempts_per_minute = 2\n")
    with serving(tmp_path / "data", policies) as (url, _process):
        issued = antechamber("token", "issue", "worker:release-bot", "--data", str(tmp_path / "data"))
        stdin = _ndjson(*(_bare(f"Sentence {number}.") for number in range(5)))
        done = _run("submit", "-", "--url", url, stdin=stdin, ANTECHAMBER_TOKEN=issued.stdout.strip())
    _fails(done, f"2 of 5 lines answered. {url}: rate-limited: ", "(line 3). Nothing is lost: send the same file")
    assert done.stdout.splitlines()[-1] == "      2 accepted-for-review"


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [
        ([], 0),
        (["rejected"], 1),
        (["rejected-invalid"], 1),
        (["rejected-private", "rejected-conflict"], 0),
        (["accepted-as-duplicate"], 0),
        (["accepted-as-duplicate", "accepted-for-review"], 1),
    ],
)
def test_a_disposition_can_be_a_failure(server: dict[str, str], fail_on: list[str], status: int) -> None:
    """A script chooses the dispositions that give exit status 1, also with machine-readable output."""
    stdin = _ndjson(_bare("One to accept."), _bare("One to refuse.", scope_id="gemini"))
    options = [word for one in fail_on for word in ("--fail-on", one)]
    for more in ([], ["--json"]):
        done = _run("submit", "-", *options, *more, stdin=stdin, **server)
        assert done.exit_code == status
    assert {one["disposition"] for one in json.loads(done.stdout)["lines"]} == {
        "accepted-for-review",
        "rejected-invalid",
    }
    unknown = _run("submit", "-", "--fail-on", "rejectd", stdin=stdin, **server)
    assert (unknown.exit_code, "'rejected-private', 'rejected-invalid', 'rejected'" in unknown.stderr) == (2, True)


def test_submitting_more_than_a_batch(server: dict[str, str]) -> None:
    """A long file is sent in several batches."""
    lines = [_bare(f"Sentence number {number} of many.") for number in range(1500)]
    done = _run("submit", "-", "--json", stdin=_ndjson(*lines), **server)
    assert json.loads(done.stdout)["accepted-for-review"] == 1500


BAD: list[tuple[str | bytes, str]] = [
    ("{", "malformed: the body is not JSON"),
    ("[1]", "malformed: an event must be a JSON object"),
    ('"text"', "malformed: an event must be a JSON object"),
    ('{"payload": {}}', "malformed: an event needs the objects payload and source_span"),
    (
        '{"payload": {"kind": "fact", "content": 1.5}, "source_span": {"uri": "x"}}',
        "out-of-profile: numbers with a fraction or exponent are refused; write decimals as strings",
    ),
    (json.dumps(_bare("x", idempotency_key="k" * 200)), "key-invalid: "),
    (json.dumps(_bare("x", idempotency_key=7)), "key-invalid: "),
    (json.dumps(_bare("x", producer_identity="robot:x")), "malformed: "),
    (json.dumps(event("x") | {"source_event_hash": "blake3:" + "0" * 64}), "hash-mismatch: "),
    (json.dumps(_bare("x", durable=True)), "direct-write: "),
    (json.dumps(_bare("x " * 40_000)), "body-too-large: a submission may have 65536 bytes"),
    (b'{"payload": "\xff"}', "malformed: the body is not UTF-8"),
    (b"\xef\xbb\xbf{}", "malformed: the body is not JSON as RFC 8259 defines it, without byte order mark"),
    ("{}".encode("utf-16"), "malformed: "),
]


@pytest.mark.parametrize(("bad", "said"), BAD)
def test_a_bad_line_stops_everything_before_it_begins(server: dict[str, str], bad: str | bytes, said: str) -> None:
    """An invalid line is named by its number in one sentence, and no line is sent."""
    good = _bare(f"Never sent, for the next line is bad: {BAD.index((bad, said))}.")
    stdin = json.dumps(good).encode() + b"\n\n" + (bad.encode() if isinstance(bad, str) else bad) + b"\n"
    done = _run("submit", "-", stdin=stdin, **server)
    _fails(done, "Error: Invalid events: 1 of 2 lines. Nothing was sent.")
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("Error")]
    assert line.startswith(f"line 3: {said}")
    assert "None" not in line
    assert len(line) < 200
    assert json.loads(_run("submit", "-", "--json", stdin=_ndjson(good), **server).stdout)["replayed"] == 0


def test_every_bad_line_is_named_up_to_some(server: dict[str, str]) -> None:
    """Several invalid lines are named at once, so a file can be corrected in one pass."""
    done = _run("submit", "-", stdin="{\n" * 30, **server)
    assert [int(number) for number in re.findall(r"^line (\d+): ", done.stderr, re.MULTILINE)] == [*range(1, 21)]
    _fails(done, "Invalid events: 30 of 30 lines. Nothing was sent. The other 10 are not shown.")


@pytest.mark.parametrize("stdin", ["", "\n", " \n\r\n"])
def test_submitting_nothing_says_so(server: dict[str, str], stdin: str) -> None:
    """An empty file succeeds with a message."""
    done = _run("submit", "-", stdin=stdin, **server)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "No line was sent: there is none." in done.stderr
    assert json.loads(_run("submit", "-", "--json", stdin=stdin, **server).stdout) == {"replayed": 0, "lines": []}


@pytest.mark.parametrize("name", ["nowhere.jsonl", "."])
def test_submitting_a_file_that_is_none_is_a_usage_error(server: dict[str, str], tmp_path: Path, name: str) -> None:
    """A missing file or a folder is named in a usage error."""
    done = _run("submit", tmp_path / name, **server)
    assert done.exit_code == 2
    assert str(tmp_path / name) in done.stderr


def test_submitting_needs_a_token(server: dict[str, str]) -> None:
    """The error names a missing or wrong token without printing it."""
    lines, url = _ndjson(_bare("Some text.")), server["ANTECHAMBER_URL"]
    _fails(_run("submit", "-", stdin=lines, ANTECHAMBER_URL=url, ANTECHAMBER_TOKEN=""), "ANTECHAMBER_TOKEN")
    for token in ("antp_wrong", "antp_wrong\n", "tök"):
        refused = _run("submit", "-", stdin=lines, ANTECHAMBER_URL=url, ANTECHAMBER_TOKEN=token)
        _fails(refused, "token")
        assert token.strip() not in refused.output
    assert "Nothing is lost: send the same file again with a valid token." in (
        _run("submit", "-", stdin=lines, ANTECHAMBER_URL=url, ANTECHAMBER_TOKEN="antp_wrong").stderr
    )


@pytest.mark.parametrize("url", ["http://[::1", "desk", "http://127.0.0.1:99999", "nothing"])
def test_an_unreachable_service_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """An unreachable address gives an error which explains that nothing is lost."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE_SECONDS", 0.0)
    address = f"http://127.0.0.1:{free_port()}" if url == "nothing" else url
    done = _run("submit", "-", "--url", address, stdin=_ndjson(_bare("Some text.")), ANTECHAMBER_TOKEN="antp_x")
    _fails(done, "Error: 0 of 1 line answered. ")
    assert done.stdout == ""
    assert "No line was sent" not in done.stderr
    assert (url != "nothing") or f"{address}: no connection: " in done.stderr
    assert (url != "nothing") or "Nothing is lost: send the same file again." in done.stderr


def test_an_unreachable_service_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error shows where the service was expected, but no password."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE_SECONDS", 0.0)
    port = free_port()
    options = ("--url", f"http://me:s3cr3t@127.0.0.1:{port}")
    done = _run("submit", "-", *options, stdin=_ndjson(_bare("Some text.")), ANTECHAMBER_TOKEN="antp_x")
    _fails(done, f" http://127.0.0.1:{port}: no connection")
    assert "s3cr3t" not in done.output


def test_hash_prints_the_hash_of_a_body_or_a_pair(tmp_path: Path) -> None:
    """A whole body and its payload with source_span have the same hash, from a file or standard input."""
    body = event("Some text.")
    pair = {name: body[name] for name in ("payload", "source_span")}
    file = tmp_path / "event.json"
    file.write_text(json.dumps(body))
    expected = body["source_event_hash"] + "\n"
    assert _run("hash", file).stdout == expected
    assert _run("hash", "-", stdin=json.dumps(pair)).stdout == expected
    assert hash_event(pair) + "\n" == expected


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        ("", ("malformed",)),
        ("{", ("malformed",)),
        ("[]", ("payload and source_span",)),
        ('{"payload": {"kind": "fact", "content": "x"}}', ("source_span",)),
        (
            '{"payload": {"kind": "fact", "content": 1.5}, "source_span": {"uri": "x"}}',
            ("out-of-profile", "/payload/content"),
        ),
        ('{"payload": {"kind": 1, "content": "x"}, "source_span": {"uri": "x"}}', ("/payload/kind",)),
        (
            '{"payload": {"kind": "fact", "content": "x", "content": "y"}, "source_span": {"uri": "x"}}',
            ("duplicate-member",),
        ),
        (b'{"payload": {"kind": "fact", "content": "\xff"}, "source_span": {"uri": "x"}}', ("malformed",)),
    ],
    ids=str,
)
def test_hash_explains_what_it_cannot_hash(stdin: str | bytes, words: tuple[str, ...]) -> None:
    """A malformed event is reported with code and pointer."""
    _fails(_run("hash", "-", stdin=stdin), *words)


def test_hash_of_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    """A missing file is named in a usage error."""
    result = _run("hash", tmp_path / "nothing.json")
    assert result.exit_code == 2
    assert "nothing.json" in result.stderr


def test_policy_check_reads_the_shipped_policy_and_a_folder(policies: Path) -> None:
    """The check counts a valid folder's entries and prints the digest that a service uses."""
    shipped = _run("policy", "check")
    assert shipped.exit_code == 0
    assert re.search(
        r"^Producers: \d+\. Tests that hold: [1-9]\d*\.\nblake3:[0-9a-f]{64}\nsecret: \d+ rules$",
        shipped.stdout,
        re.MULTILINE,
    )
    assert "iban" not in shipped.stdout
    listed = _run("policy", "check", "--rules")
    assert re.search(r"^  iban: reject: \w", listed.stdout, re.MULTILINE)
    checked = _json("policy", "check", policies)
    assert checked["producers"] == 2
    with running(policies.parent / "data", policies) as service:
        assert service.submit(event()).json()["policy_digest"] == checked["digest"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"producers": PRODUCERS.replace("submit", "submt")}, ("producers.toml", "submt", 'write "submit"')),
        ({"producers": PRODUCERS.replace("session:", "sesion:")}, ("producers.toml", "sesion", 'write "session"')),
        ({"producers": PRODUCERS * 2}, ("producers.toml", "worker:release-bot", "twice")),
        ({"producers": "[[producer]"}, ("producers.toml",)),
        ({"privacy": 'off = ["no-such-rule"]'}, ("privacy.toml", "no-such-rule")),
        ({"scopes": "[defaults]\ncurators = 3"}, ("scopes.toml", "curators")),
        ({"scope": ""}, ("scope.toml", "scopes.toml")),
    ],
    ids=["key", "scope", "twice", "toml", "rule", "value", "file"],
)
def test_policy_check_explains_what_is_wrong(tmp_path: Path, files: dict[str, str], words: tuple[str, ...]) -> None:
    """An invalid folder is reported with file, key and correction; serve reports the same and does not start."""
    folder = write_policies(tmp_path / "bad", **{"producers": PRODUCERS} | files)
    _fails(_run("policy", "check", folder), *words)
    _fails(_run("serve", "--data", tmp_path / "data", "--policies", folder), *words)
    assert not (tmp_path / "data").exists()


def test_policy_check_of_no_folder(tmp_path: Path) -> None:
    """A missing folder is named."""
    _fails(_run("policy", "check", tmp_path / "nothing"), "nothing", "producers.toml")


def test_a_policy_that_breaks_its_own_tests_is_refused(tmp_path: Path) -> None:
    """A failed case in a decision table is named by its row."""
    table = (
        '\n[[test]]\nname = "gemini is open"\nproducer = "worker:release-bot"\nscope = "project:gemini"\n'
        'expect = "accepted-for-review"\n'
    )
    folder = write_policies(tmp_path / "policies", PRODUCERS, tests=table)
    _fails(_run("policy", "check", folder), "gemini is open")


def _decided(data: Path, policies: Path) -> None:
    """Fill a folder with two decisions."""
    with running(data, policies) as service:
        desk = service.sign_in()
        for number, decision in enumerate(("approve", "reject")):
            proposal = service.submit(event(f"Sentence {number}.")).json()["proposal_id"]
            assert desk.decide(proposal, decision, reason_code="wrong").status_code == 303


def test_export_writes_records_and_a_closing_one(data: Path, policies: Path, tmp_path: Path) -> None:
    """The export goes to standard output or a file, as JSONL or CSV, and can be filtered by time."""
    _decided(data, policies)
    records = [json.loads(line) for line in _run("export", "--data", data).stdout.splitlines()]
    assert [record["record"] for record in records] == ["review", "review", "closing"]
    assert (records[-1]["count"], records[-1]["complete"]) == (2, False)
    output = tmp_path / "records.csv"
    done = _run("export", "--format", "csv", "--output", output, "--data", data)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"Wrote 4 lines to {output}.\n")
    rows = list(csv.reader(io.StringIO(output.read_text(), newline="")))
    assert [row[0] for row in rows] == ["record", "review", "review", "closing"]
    later = _run("export", "--since", records[1]["decided_at"], "--data", data).stdout.splitlines()
    assert [json.loads(line).get("decision") for line in later] == ["reject", None]
    none = _run("export", "--until", "2000-01-01T00:00:00Z", "--data", data).stdout.splitlines()
    assert [json.loads(line)["count"] for line in none] == [0]
    assert json.loads(none[0])["complete"] is False


def test_an_export_replaces_a_file_once_it_is_complete(data: Path, policies: Path, tmp_path: Path) -> None:
    """A file stays as it is after a failure; a pipe or device is written to; a folder that is missing is named."""
    _decided(data, policies)
    output = tmp_path / "records.jsonl"
    output.write_text("an earlier export")
    link = tmp_path / "link.jsonl"
    link.symlink_to(output)
    _fails(_run("export", "--output", output, "--data", tmp_path / "no-data"), "no folder")
    assert output.read_text() == "an earlier export"
    assert _run("export", "--output", link, "--data", data).exit_code == 0
    assert link.is_symlink()
    assert output.read_text().count("\n") == 3
    assert _run("export", "--output", "/dev/null", "--data", data).exit_code == 0
    assert Path("/dev/null").is_char_device()
    nowhere = tmp_path / "nowhere" / "records.jsonl"
    _fails(_run("export", "--output", nowhere, "--data", data), f"{nowhere} cannot be written")
    assert _run("export", "--output", "-", "--data", data).stdout.count("\n") == 3


def test_an_export_that_fails_leaves_no_file(data: Path, tmp_path: Path) -> None:
    """The file has its name only once it is complete; what a killed export left is removed by the next one."""
    output = tmp_path / "made" / "records.jsonl"
    output.parent.mkdir()
    _fails(_run("export", "--output", output, "--data", tmp_path / "no-data"), "no folder")
    assert list(output.parent.iterdir()) == []
    (output.parent / "records.jsonl.0123456789abcdef.new").write_text("half")
    assert _run("export", "--output", output, "--data", data).exit_code == 0
    assert [file.name for file in output.parent.iterdir()] == ["records.jsonl"]


@pytest.mark.parametrize("moment", ["yesterday", "", "2026-99-01T00:00:00Z", "2026-11-20T10:00:00"])
def test_export_refuses_a_time_that_is_none(data: Path, policies: Path, moment: str) -> None:
    """An invalid time exports nothing, and the error shows the correct form."""
    _decided(data, policies)
    for option in ("--since", "--until"):
        result = _run("export", option, moment, "--data", data)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"Invalid value for {option}: it takes a date or an RFC 3339 time" in result.stderr


def test_doctor_finds_a_good_folder_healthy(data: Path, policies: Path) -> None:
    """An intact folder is healthy, also in machine-readable output, and the check does not change it."""
    _decided(data, policies)
    before = {file.name: file.read_bytes() for file in data.iterdir() if file.suffix != ".db-shm"}
    healthy = _run("doctor", "--data", data)
    assert (healthy.exit_code, healthy.stdout.partition(":")[0]) == (0, "Healthy")
    assert _json("doctor", "--data", data) == {"healthy": True, "findings": []}
    assert (data / "antechamber.db").read_bytes() == before["antechamber.db"]


def _corrupt(data: Path, statement: str) -> None:
    """Change the database behind the service's back, with triggers, keys and checks off."""
    connection = sqlite3.connect(data / "antechamber.db")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    assert connection.execute(statement).rowcount > 0
    for _, text in triggers:
        connection.execute(text)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET payload = replace(payload, 'Sentence', 'Changed')",
        "UPDATE proposals SET payload = replace(payload, 'Sentence', 'Changed')",
        "UPDATE review_records SET decision = 'reject' WHERE decision = 'approve'",
        "UPDATE review_records SET resulting_hash = 'x' WHERE decision = 'approve'",
        "DELETE FROM review_records WHERE decision = 'approve'",
    ],
)
def test_doctor_finds_what_was_changed_behind_its_back(data: Path, policies: Path, statement: str) -> None:
    """A changed text, hash or approval is named, with exit code 1."""
    _decided(data, policies)
    _corrupt(data, statement)
    result = _run("doctor", "--data", data)
    assert result.exit_code == 1
    assert re.search(r"(memory|proposal) [0-9a-f-]{36} |foreign_key_check", result.stdout)
    found = json.loads(_run("doctor", "--data", data, "--json").stdout)
    assert found["healthy"] is False
    assert found["findings"]


def test_doctor_survives_a_torn_file(data: Path, policies: Path) -> None:
    """Overwritten pages in the database give exit code 1 without a traceback."""
    _decided(data, policies)
    file = data / "antechamber.db"
    raw = bytearray(file.read_bytes())
    for page in range(4096 * 2, len(raw), 4096):
        raw[page : page + 64] = b"\xff" * 64
    file.write_bytes(raw)
    done = antechamber("doctor", "--data", str(data))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stdout or done.stderr.startswith("Error: ")


def test_serve_ends_cleanly_when_told_to(data: Path, policies: Path) -> None:
    """SIGTERM and SIGINT end the service with exit code 0, and accepted events are stored."""
    token = _run("token", "issue", "worker:release-bot", "--data", data).stdout.strip()
    for number, name in enumerate((signal.SIGTERM, signal.SIGINT)):
        with serving(data, policies) as (url, process):
            headers = {"authorization": f"Bearer {token}"}
            answer = httpx.post(
                f"{url}/v1/submissions", json=event(f"Sentence {number}."), headers=headers, timeout=HANG_SECONDS
            )
            assert answer.status_code == 201
            process.send_signal(name)
            assert process.wait(timeout=20) == 0
    with running(data, policies) as service:
        assert len(re.findall(r"Sentence \d\.", service.sign_in().browser.get("/review").text)) == 2


def test_serve_says_where_it_listens(data: Path, policies: Path) -> None:
    """The single line on standard output names the address and the desk."""
    port = free_port()
    command = [sys.executable, "-m", "antechamber.cli", "serve", "--data", data, "--policies", policies, "--port", port]
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        rest = process.stdout.read()
    assert line == f"Antechamber is ready: http://127.0.0.1:{port}  (desk: http://127.0.0.1:{port}/review)\n"
    assert rest == ""


def test_serve_on_a_taken_port_is_a_clear_error(data: Path, policies: Path) -> None:
    """A port in use is named in one line without a traceback."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = antechamber("serve", "--data", str(data), "--policies", str(policies), "--port", port)
    assert done.returncode == 1
    assert done.stdout == ""
    assert port in done.stderr
    assert "in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_serve_refuses_to_listen_in_the_clear(data: Path, policies: Path) -> None:
    """An address that other machines can reach requires a public address with TLS."""
    _fails(_run("serve", "--data", data, "--policies", policies, "--host", "0.0.0.0"), "--public-url", "TLS")  # noqa: S104


def test_lines_without_a_disposition_end_with_status_1(tmp_path: Path, policies: Path) -> None:
    """A script can detect lines that were refused without a disposition."""
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(event(producer_identity="tool:watcher")) + "\n" + json.dumps(event()) + "\n")
    with serving(tmp_path / "data", policies) as (url, _process):
        issued = antechamber("token", "issue", "worker:release-bot", "--data", str(tmp_path / "data"))
        done = antechamber("submit", str(file), "--url", url, "--json", ANTECHAMBER_TOKEN=issued.stdout.strip())
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert [one["reasons"][:1] == [] or one["reasons"][0]["code"] for one in told.pop("lines")] == [
        "producer-mismatch",
        True,
    ]
    assert told == {"refused (403)": 1, "accepted-for-review": 1, "replayed": 0}


def test_what_was_answered_before_the_service_went_away_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, policies: Path
) -> None:
    """The results of earlier batches are printed with their ids, and the error counts them."""
    monkeypatch.setattr(delivery, "MAX_LINES", 2)
    data = tmp_path / "data"
    with serving(data, policies) as (url, _process):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        submit_batch = Submitter.submit_batch

        def revoke_after_one(self: Submitter, events: Iterable[Any]) -> Any:
            outcomes = submit_batch(self, events)
            self._client.headers["authorization"] = "Bearer antp_" + "A" * 36
            return outcomes

        monkeypatch.setattr(Submitter, "submit_batch", revoke_after_one)
        stdin = _ndjson(*(_bare(f"Sentence {number}.") for number in range(5)))
        done = _run("submit", "-", "--url", url, stdin=stdin, ANTECHAMBER_TOKEN=token)
    _fails(done, "Error: 2 of 5 lines answered. http://", "no valid token came", "(line 3)", "same file again")
    assert [line[:27] for line in done.stdout.splitlines()] == [
        "line 1: accepted-for-review",
        "line 2: accepted-for-review",
        "      2 accepted-for-review",
    ]


def test_a_demo_empties_no_folder_of_others(tmp_path: Path) -> None:
    """A folder with files that are not of a demo stays as it is."""
    note = tmp_path / "note.txt"
    note.write_text("keep", encoding="utf-8")
    _fails(_run("demo", "--once", "--data", tmp_path), "files that are not of a demo", "name a folder that is empty")
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]


def test_a_demo_whose_service_is_killed_says_so(tmp_path: Path) -> None:
    """It ends with one line and the last one of the service's log."""
    command = [sys.executable, "-m", "antechamber.cli", "demo", "--port", "0", "--data", str(tmp_path / "demo")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stderr is not None
        assert any("Ctrl-C stops the service" in line for line in process.stdout)
        [service] = psutil.Process(process.pid).children()
        service.kill()
        said = process.stderr.read()
    assert process.returncode == 1
    assert re.fullmatch(r"Error: the service answers no more \(.+\); the last line of its log: .+\n", said)


def test_the_verifier_calls_itself_as_it_was_called() -> None:
    """Help and errors of `antechamber verify` name this command, and not the file that is the same program."""
    shown, wrong = _run("verify", "--help"), _run("verify")
    assert shown.stdout.startswith("usage: antechamber verify ")
    assert wrong.exit_code == 2
    assert "verify_export.py" not in shown.stdout + wrong.stderr

"""Residue: what was private is found in no form, anywhere, after it was rejected, destroyed, expired or redacted."""

import base64
import json
import logging
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from antechamber.app.maintenance import clock
from antechamber.cli import main
from antechamber.core.access.callers import Account
from antechamber.settings import Location
from lib.processes import postgres_programs
from support import Desk, Service, dump, event, running, where, write_policies

CANARIES = {
    name: f"{name}.quillfeather{number}@lovelace.dev"
    for number, name in enumerate(("rejected", "waiting", "destroyed", "expired", "released", "cleared"), 41)
}
SCOPES = """
reveal = ["bob", "eve"]

[scope.project]
keep_private = "sealed"
actions = {email-address = "quarantine"}
"""
EXPORTS = (
    "/v1/audit/export",
    "/v1/audit/checkpoint",
    *(
        f"/v1/audit/{what}?format={form}"
        for what in ("review-records", "dispositions", "notes")
        for form in ("jsonl", "csv")
    ),
)
DAY = 86_400_000_000
BOB = Account(id=1, name="bob", person="bob", role="curator", session="")


def forms(canary: str) -> Iterator[bytes]:
    """Yield a value in the forms in which a copy of it might be stored."""
    for text in (canary, canary.upper(), canary.title()):
        plain = text.encode()
        yield plain
        yield plain.hex().encode()
        yield plain.hex().upper().encode()
        yield quote(text, safe="").encode()
        yield "".join(f"%{byte:02X}" for byte in plain).encode()
        yield "".join(f"\\u{ord(character):04x}" for character in text).encode()
        yield "".join(f"&#{ord(character)};" for character in text).encode()
        yield text.encode("utf-16-le")
        yield text.encode("utf-16-be")
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            for before in range(3):
                # The characters at both ends depend on their neighbors.
                yield encode(b"\0" * before + plain)[4 * (before > 0) + 1 : -4]


def search(haystacks: dict[str, bytes], canaries: dict[str, str]) -> list[tuple[str, str]]:
    """Return where which canary was found."""
    return [
        (place, name)
        for name, canary in canaries.items()
        for form in forms(canary)
        for place, data in haystacks.items()
        if form in data
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder."""
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def act(desk: Desk, quarantine_id: str, kind: str, **fields: str) -> None:
    """Fill in a form of a sealed event and send it."""
    page = desk.browser.get(f"/quarantine/{quarantine_id}").text
    form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', page))
    answer = desk.post(f"/quarantine/{quarantine_id}/{kind}", form | fields)
    assert answer.status_code in {200, 303}, answer.text


def read_everything(service: Service) -> dict[str, bytes]:
    """Return what the service answers to curators, auditors, operators, agents and probes."""
    auditor, operator, bob = service.sign_in("una", "auditor"), service.sign_in("kim", "operator"), service.sign_in()
    bearer = service.bearer("auditing", "auditor")
    answers = {path: service.client.get(path, headers=bearer) for path in EXPORTS}
    assert {answer.status_code for answer in answers.values()} == {200}
    pages = ("/review", "/review/latest", "/quarantine", "/memories", "/submissions", "/audit", "/dashboard")
    quarantined = set(re.findall(r'href="/quarantine/([0-9a-f-]{36})"', bob.browser.get("/quarantine").text))
    for path in (*pages, "/settings", "/policy", *(f"/quarantine/{one}" for one in quarantined)):
        answers[path] = bob.browser.get(path)
        answers[f"{path} auditor"] = auditor.browser.get(path)
    answers |= {
        path: operator.browser.get(path) for path in ("/readyz", "/metrics", "/dashboard?days=7", "/operations")
    }
    answers["memories"] = service.client.get(
        "/v1/memories", params={"submission_scope": "project", "scope_id": "apollo"}, headers=service.bearer()
    )
    return {name: f"{answer.url} {answer.headers} ".encode() + answer.content for name, answer in answers.items()}


def fill(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an event of each fate; every canary is in content, an attribute and the source."""

    def refuse(name: str) -> str:
        canary = CANARIES[name]
        payload = {"kind": "fact", "content": f"Ask {canary} now.", "attributes": {"who": canary}}
        span = {"uri": "repo://apollo/notes", "heading": f"By {canary}"}
        scope = {"submission_scope": "session", "scope_id": "s-1"} if name == "rejected" else {}
        answer = service.submit(event(payload=payload, source_span=span, idempotency_key=name, **scope))
        assert answer.status_code == 422
        assert canary not in answer.text
        quarantine_id: str = answer.json()["quarantine_id"]
        return quarantine_id

    refuse("rejected")
    with monkeypatch.context() as past:
        past.setattr(service.state.admission, "_clock", lambda: clock() - 15 * DAY)
        refuse("expired")
    service.state.sealed_events.end_expired()
    bob = service.sign_in()
    ids = {name: refuse(name) for name in ("waiting", "destroyed", "released", "cleared")}
    for number in ("1", "2", "3"):
        act(bob, ids["destroyed"], "reveal", span=number, reveal_reason="To see it.")
        act(bob, ids["waiting"], "reveal", span=number, reveal_reason="To see it.")
    act(bob, ids["destroyed"], "destroy")
    act(bob, ids["cleared"], "clear")
    act(bob, ids["released"], "release", content="Ask the owner now.")
    proposal = service.client.get("/v1/submissions/by-key/released", headers=service.bearer()).json()
    assert proposal["review"]["state"] == "pending"


def archived(location: Location, folder: Path) -> dict[str, bytes]:
    """Return the members of a backup of a running service, a dump of PostgreSQL as plain SQL."""
    done = CliRunner().invoke(main, ["backup", "create", str(folder / "made.tar"), *where(location)])
    assert done.exit_code == 0, done.output
    with tarfile.open(folder / "made.tar") as archive:
        (folder / "made").mkdir()
        for member in archive:
            # Python before 3.11.4 has no filters for whole archives.
            if (content := archive.extractfile(member)) is not None:
                (folder / "made" / Path(member.name).name).write_bytes(content.read())
    for dumped in (folder / "made").glob("*.pgdump"):
        subprocess.run(["pg_restore", "-f", str(folder / "made" / "dump.sql"), str(dumped)], check=True)  # noqa: S603, S607 -- PostgreSQL's own program
    members = files_of(folder / "made")
    # What is not private is found there, so the search looks at the right form.
    assert any(b"Ask the owner now." in data for data in members.values())
    return members


def test_no_canary_is_found_anywhere(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither while the service runs nor after it stopped, in files, answers, logs, metrics, exports and backups."""
    policies = write_policies(tmp_path / "policies", scopes=SCOPES)
    with caplog.at_level(logging.DEBUG), running(location, policies) as service:
        fill(service, monkeypatch)
        haystacks = files_of(location.data) | read_everything(service)
        haystacks["database"] = dump(location).encode()
        monkeypatch.setenv("PATH", postgres_programs())
        haystacks |= archived(location, tmp_path)
    haystacks["logs"] = "\n".join(record.getMessage() for record in caplog.records).encode()
    shutil.copytree(location.data, tmp_path / "backup")
    haystacks |= files_of(tmp_path / "backup")
    haystacks["database at rest"] = dump(location).encode()
    assert sum(map(len, haystacks.values())) > 100_000
    assert search(haystacks, CANARIES) == []


def test_the_search_finds_what_is_there() -> None:
    """The same search finds each form of a canary."""
    canary = {"planted": CANARIES["waiting"]}
    for form in forms(canary["planted"]):
        assert search({"place": b"before" + form + b"after"}, canary)
    text = json.dumps({"content": f"Ask {canary['planted']} now."})
    assert search({"place": base64.b64encode(text.encode())}, canary)


def test_nothing_sealed_stays_in_the_files(tmp_path: Path) -> None:
    """On SQLite neither the file nor its write-ahead log keeps ciphertext or wrapped key of an event that ended."""
    location = Location(data=tmp_path / "data")
    with running(location, write_policies(tmp_path / "policies", scopes=SCOPES)) as service:
        sealed = service.submit(event(f"Ask {CANARIES['destroyed']}.")).json()["quarantine_id"]
        one = service.state.quarantine.event(sealed, BOB)
        with service.state.sealed_events._store.read() as tx:
            text = tx.sealed_events.text(one.event.id)
        assert any(text.ciphertext[:64] in data for data in files_of(location.data).values())
        act(service.sign_in(), sealed, "destroy")
        service.state.checkpoints.tick()
        for data in files_of(location.data).values():
            assert text.ciphertext[:64] not in data
            assert text.wrapped_key not in data

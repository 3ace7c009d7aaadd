"""Small data folders of each released version, with which tests check that every later version migrates them.

Clock and randomness are fixed, so that the same version makes the same data again.
"""

import argparse
import base64
import contextlib
import gzip
import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import psycopg
from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antechamber import __version__, app, checkpoint_signer
from antechamber.app import factory
from antechamber.app.webhooks import opened_webhooks
from antechamber.settings import DATABASE, Location
from antechamber.store.statements import migrations
from lib.processes import postgres, postgres_programs
from lib.released import FOLDER
from support import PRODUCERS, Service, event, write_policies

ENGINES: Final = ("sqlite", "postgres")
BEGUN: Final = 1_795_000_000_000_000
"""The time of the first step, in microseconds since 1970 UTC."""
STEP: Final = 1_000_000
"""Microseconds from one reading of the clock to the next."""
TEXTS: Final = {
    "kept": "The night build needs two machines.",
    "newer": "The night build needs three machines.",
    "retracted": "The old gateway answers on port 7000.",
    "rejected": "Every release is made on a Friday.",
    "waiting": "The archive of the logs is read-only.",
    "undone": "The dashboard shows the last week.",
    "erased": "The first tester was on holiday.",
}


@contextlib.contextmanager
def fixed() -> Iterator[None]:
    """Let clock, randomness and the key of the log be the same each time."""
    readings, blocks = itertools.count(BEGUN, STEP), itertools.count()

    def read() -> int:
        return next(readings)

    def read_ns() -> int:
        return read() * 1000

    def draw(size: int) -> bytes:
        return blake3(next(blocks).to_bytes(8, "big")).digest(size)

    key = Ed25519PrivateKey.from_private_bytes(blake3(b"the key of a fixture").digest())
    made = SimpleNamespace(generate=lambda: key, from_private_bytes=Ed25519PrivateKey.from_private_bytes)
    with (
        mock.patch.object(os, "urandom", draw),
        mock.patch.object(random, "_urandom", draw),
        mock.patch.object(time, "time_ns", read_ns),
        mock.patch.object(factory, "elapsed", read),
        mock.patch.object(checkpoint_signer, "Ed25519PrivateKey", made),
    ):
        yield


def fill(location: Location, policies: Path) -> dict[str, Any]:
    """Make one of every kind of row through a service without background work; return what it answered."""
    service = Service(location, policies)
    store = service.state.checkpoints._store  # noqa: SLF001 -- no background work closes it
    try:
        service.state.checkpoints.look()
        bodies = {name: event(text, idempotency_key=f"fixture-{name}") for name, text in TEXTS.items()}
        sent = [
            *bodies.values(),
            event(TEXTS["kept"], idempotency_key="fixture-evidence", producer_identity="tool:watcher"),
            event(TEXTS["kept"], idempotency_key="fixture-again"),
            event("Ask mira@orbit-works.dev.", idempotency_key="fixture-private"),
            event("A kind that no scope takes.", payload={"kind": "rumor", "content": "A kind that no scope takes."},
                idempotency_key="fixture-invalid"),
        ]  # fmt: skip
        answers = [(body, json.loads(service.submit(body).content)) for body in sent]
        proposals = {name: answer["proposal_id"] for name, (_, answer) in zip(bodies, answers, strict=False)}
        service.submit(event("Another text.", idempotency_key="fixture-kept"))
        service.client.put("/v1/submissions/by-key/fixture-sealed/seal", headers=service.bearer())
        decide(service, proposals)
        with opened_webhooks(location) as webhooks:
            webhooks.add("https://127.0.0.1:9/hook", ["memory.admitted"], allow_private=True)
        app.erase(location, proposals["erased"], "private")
        auditor = service.bearer("una", "auditor")
        for what in ("review-records", "dispositions", "notes"):
            service.client.get(f"/v1/audit/{what}", headers=auditor)
        service.state.admission.flush()
        service.state.checkpoints.tick(at_once=True)
        signed = service.state.checkpoints.checkpoint()
        return {
            "answers": answers,
            "memories": sorted(item["content"] for item in service.recall()),
            "verifier_key": service.state.proofs.verifier_keys()[0],
            "size": signed.size,
            "checkpoint": signed.note,
            "steps": [name for name, _ in migrations(store.engine)],
        }
    finally:
        store.close()


def decide(service: Service, proposals: dict[str, str]) -> None:
    """Decide in every way, and write notes."""
    desk = service.sign_in()
    done = [
        desk.write(proposals["waiting"], "note", "Which archive?"),
        desk.write(proposals["waiting"], "question", "Is it mounted?"),
        desk.decide(proposals["kept"], "approve"),
        desk.decide(proposals["retracted"], "approve"),
        desk.decide(proposals["retracted"], "retract", reason_code="outdated"),
        desk.decide(proposals["rejected"], "reject", reason_code="wrong", reason_text="Not on Fridays."),
        desk.decide(proposals["erased"], "reject", reason_code="private"),
        desk.decide(proposals["undone"], "approve"),
        desk.decide(proposals["undone"], "undo"),
    ]
    [memory] = [item for item in service.recall() if item["content"] == TEXTS["kept"]]
    done.append(desk.decide(proposals["newer"], "supersede", target=memory["memory_id"]))
    wrong = [answer.text for answer in done if answer.status_code != 303]  # noqa: PLR2004 -- a redirect
    if wrong:
        sys.exit(f"A decision was refused: {wrong[0][:2000]}")


def make(folder: Path, url: str | None) -> None:
    """Write the files of one engine."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place, fixed():
        location = Location(data=Path(place) / "data", database_url=url)
        policies = write_policies(Path(place) / "policies", PRODUCERS)
        app.migrate(location)
        expected = fill(location, policies)
        keys = {file.name: file.read_bytes() for file in sorted(location.data.iterdir()) if is_key(file.name)}
        database = sqlite_file(location.data / DATABASE) if url is None else postgres_dump(url)
    (folder / "database.gz").write_bytes(gzip.compress(database, 9, mtime=0))
    texts = {name: base64.b64encode(data).decode() for name, data in keys.items()}
    (folder / "keys.json").write_text(json.dumps(texts, indent=1) + "\n")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


def is_key(name: str) -> bool:
    """Return whether a file of a data folder is a key or says what was signed last."""
    return name in {"secret.key", "log.key", "quarantine.key", "log.checkpoint", "log.where"}


def sqlite_file(path: Path) -> bytes:
    """Return the bytes of a database, without free pages, and with a fixed time of its steps."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET applied_at = '2026-11-23'")
        connection.commit()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def postgres_dump(url: str) -> bytes:
    """Return the schema with its rows as SQL that a driver can run."""
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE antechamber.steps SET applied_at = '2026-11-23T00:00:00Z'")
        connection.execute("DELETE FROM antechamber.writers")
    program = shutil.which("pg_dump", path=postgres_programs()) or "pg_dump"
    command = [program, "--schema=antechamber", "--no-owner", "--inserts", f"--dbname={url}"]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 -- PostgreSQL's own program
    # Some comments name versions; lines with a backslash are for psql, and settings may be newer than a server. Other
    # lines stay, because a text may have several.
    return b"".join(
        line for line in done.stdout.splitlines(keepends=True) if not re.match(rb"-- Dumped|\\|SET (?!default)", line)
    )


def main() -> None:
    """Make the files of the version that is checked out."""
    parser = argparse.ArgumentParser(
        prog="scripts/schema_fixture",
        description="Make small data of this version on both engines, in tests/schemas: run it once for each release.",
    )
    parser.add_argument("version", nargs="?", default=__version__, help=f"name of the release (default {__version__})")
    version = parser.parse_args().version
    make(FOLDER / version / "sqlite", None)
    with tempfile.TemporaryDirectory() as place, postgres(Path(place)) as server:
        make(FOLDER / version / "postgres", server.empty())
    for file in sorted((FOLDER / version).rglob("*")):
        if file.is_file():
            print(f"{file.stat().st_size:>8}  {file.relative_to(FOLDER)}")


if __name__ == "__main__":
    main()

"""The log as tiles: what auditors and mirrors read of it, who may read it, and how long caches keep it."""

import json
from pathlib import Path

import httpx
import pytest

from antechamber.app import open_store
from antechamber.checkpoint_signer import verify
from antechamber.core.log.checkpoint_text import read_checkpoint, read_key
from antechamber.core.log.leaf import of_direct_write
from antechamber.core.log.merkle import BLOCK, Blocks, frontier_of, leaf_hash
from antechamber.core.log.tiles import edge, read_bundle, read_tile, width_at
from antechamber.core.policy import Policy
from antechamber.settings import Location
from support import Service, event, running, sent_texts, until, write_policies
from web.test_audit_api import fill, get


def grow(location: Location, number: int) -> None:
    """Append leaves to the log of a store."""
    store = open_store(location, create=False)
    try:
        leaves = [of_direct_write("worker:release-bot", 1_700_000_000_000_000 + at) for at in range(number)]
        store.write(lambda tx: tx.sql.append_leaves(leaves)).result()
    finally:
        store.close()


def read(service: Service, path: str, **headers: str) -> httpx.Response:
    """Read below /log as an auditor."""
    response: httpx.Response = service.client.get(
        f"/log/{path}", headers=headers or service.bearer("auditing", "auditor")
    )
    return response


def tile(service: Service, path: str) -> bytes:
    """Return a tile that has to exist."""
    response = read(service, f"tile/{path}")
    assert response.status_code == 200, path
    assert response.headers["content-type"] == "application/octet-stream"
    return response.content


def test_the_tiles_are_the_signed_log(location: Location, policies: Path) -> None:
    """The tiles of a checkpoint add up to its root at every level, and the entries are the leaves."""
    with running(location, policies) as service:
        service.token()
        grow(location, 600)
        signed = get(service, "checkpoint").text
        assert read(service, "checkpoint").text == signed
        checkpoint = read_checkpoint(signed, read_key(get(service, "key").text), verify)
        assert checkpoint.size > 2 * BLOCK

        def load(level: int, block: int) -> list[bytes]:
            width = width_at(level // 8, block, checkpoint.size)
            suffix = "" if width == BLOCK else f".p/{width}"
            return read_tile(tile(service, f"{level // 8}/{block:03}{suffix}"), width)

        assert [place.level for place in edge(checkpoint.size)] == [0, 1]
        assert frontier_of(checkpoint.size, Blocks(load)).root() == checkpoint.root
        entries = read_bundle(tile(service, "entries/000"), BLOCK)
        assert [leaf_hash(entry) for entry in entries] == load(0, 0)
        exported = get(service, "export").text.splitlines()
        assert [json.loads(entry) for entry in entries] == [json.loads(line)["leaf"] for line in exported[:BLOCK]]


def test_nothing_unsigned_is_served(service: Service) -> None:
    """A tile is served as far as a checkpoint covers it, and no further, whatever the log has by now."""
    assert read(service, "checkpoint").status_code == 404
    assert read(service, "tile/entries/000.p/1").status_code == 404
    get(service, "checkpoint")
    size = int(read(service, "checkpoint").text.split("\n")[1])
    service.submit(event("Not signed yet."))
    assert len(read_bundle(tile(service, f"entries/000.p/{size}"), size)) == size
    for path in (f"entries/000.p/{size + 1}", f"0/000.p/{size + 1}", "0/000", "0/001.p/1", "1/000.p/1", "0/x999/999"):
        answer = read(service, f"tile/{path}")
        assert answer.status_code == 404
        assert "no checkpoint covers it yet" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["0/0", "0/000.p/256", "entries/..%2f000", "99/000", "", "0/000.p/1%00", "x" * 2000])
def test_a_path_that_names_no_tile_is_not_found(service: Service, path: str) -> None:
    """Whatever is asked for, the answer is 404 with an explanation."""
    get(service, "checkpoint")
    assert read(service, f"tile/{path}").status_code == 404


def test_a_leaf_that_no_bundle_can_hold_is_refused_in_words(location: Location, policies: Path) -> None:
    """A leaf of more than 65,535 bytes, which the format cannot hold, is explained instead of being cut."""
    with running(location, policies) as service:
        service.token("many", "reader", tuple(f"project:{number:0120}" for number in range(600)))
        size = int(get(service, "checkpoint").text.split("\n")[1])
        answer = read(service, f"tile/entries/000.p/{size}")
        assert answer.status_code == 404
        assert "longer than the 65535 bytes" in answer.json()["detail"]
        assert len(tile(service, f"0/000.p/{size}")) == 32 * size


def test_only_auditors_of_all_scopes_read_a_log_that_is_not_public(service: Service) -> None:
    """Without a public log, tiles need an auditor who is not limited to some scopes; caches may not share them."""
    get(service, "checkpoint")
    assert read(service, "checkpoint", authorization="").status_code == 401
    limited = read(service, "checkpoint", **service.bearer("few", "auditor", ("project:apollo",)))
    assert limited.status_code == 403
    assert "auditors of all scopes" in limited.json()["detail"]
    assert read(service, "checkpoint").headers["cache-control"] == "private, max-age=5"
    assert read(service, "tile/0/000.p/1").headers["cache-control"] == "private, max-age=5"
    desk = service.sign_in("olga", "auditor")
    assert desk.browser.get("/log/tile/0/000.p/1").status_code == 200


def test_a_public_log_is_read_without_a_token_and_cached_for_ever(location: Location, tmp_path: Path) -> None:
    """With `public = true`, everyone reads tiles; full ones are immutable, and an edit of the policy ends it."""
    folder = write_policies(tmp_path / "policies", log="public = true")
    with running(location, folder) as service:
        grow(location, 300)
        get(service, "checkpoint")
        answers = [service.client.get(f"/log/{path}") for path in ("checkpoint", "tile/0/000", "tile/0/001.p/1")]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert [answer.headers["cache-control"] for answer in answers] == [
            "public, max-age=5",
            "public, max-age=31536000, immutable",
            "public, max-age=5",
        ]
        assert service.client.get("/v1/audit/checkpoint").status_code == 401
        (folder / "log.toml").write_text("public = false")
        until(lambda: service.client.get("/log/checkpoint").status_code == 401, "the edited policy")


def test_entries_hold_no_text(service: Service) -> None:
    """No entry of a log with one of everything holds a text, a reason, a note, a key or a secret."""
    fill(service)
    get(service, "checkpoint")
    size = int(read(service, "checkpoint").text.split("\n")[1])
    entries = read_bundle(tile(service, f"entries/000.p/{size}"), size)
    whole = b"\n".join(entries).decode()
    typed = {"quokka", "=SUM", '\\"quoted', "Which", "house 4", "mira@", "Größe"}
    assert [text for text in typed | {text for text in sent_texts if len(text) > 2} if text in whole] == []
    assert not any(secret in whole for secret in service._tokens.values())
    found = {json.loads(entry)["action"] for entry in entries}
    assert {"submit", "seal", "note", "question", "answer", "assignment", "approve", "reject", "retract"} <= found


def test_the_shipped_policy_keeps_the_log_to_auditors() -> None:
    """Publishing is a decision of the operator."""
    assert Policy().log.public is False

"""Leaves of accepted submissions in a SQLite file: stored in a shorter form, and read byte for byte."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antechamber.app import examine, open_store
from antechamber.core.log.leaf import Leaf, leaf_bytes
from antechamber.core.times import format_time
from antechamber.settings import Location
from antechamber.store.sqlite.packed_leaf import pack, unpack
from support import database, event, leaf_texts, running

DIGEST = st.binary(min_size=32, max_size=32).map(bytes.hex)
ID = st.uuids().map(str)
ACTOR = st.one_of(st.sampled_from(["worker:release-bot", "tool:1", "repo:ä"]), st.text(min_size=1))
TIME = st.integers(0, 4_000_000_000_000_000).map(format_time)
BROKEN = st.from_regex(r"1[A-Za-z0-9+/]{0,127}[ !#-*,.:-@][ -~]{0,200}", fullmatch=True)
"""Texts that begin as a packed leaf does and are no base64."""
LONGEST = 200
"""Characters that the stored leaf of a submission has at most, with the names of these tests."""


@st.composite
def accepted(draw: st.DrawFn, **other: Any) -> str:
    """Return the leaf of an accepted submission, with other members if they are given."""
    leaf = Leaf(
        action="submit",
        actor=draw(ACTOR),
        payload_commitment=f"sha256:{draw(DIGEST)}",
        policy_digest=f"blake3:{draw(DIGEST)}",
        role="producer",
        subject={"proposal_id": draw(ID), "submission_id": draw(ID)},
        time=draw(TIME),
        after="accepted-for-review",
    )
    return leaf_bytes(msgspec.structs.replace(leaf, **other)).decode()


@given(accepted())
def test_a_leaf_comes_back_byte_for_byte(leaf: str) -> None:
    """A leaf of any accepted submission is packed, unless its actor needs escapes, and equals itself when unpacked."""
    stored = pack(leaf)
    assert unpack(stored) == leaf
    escaped = "\\" in leaf
    assert (stored == leaf) is escaped


@given(st.one_of(accepted(reason_code="x"), accepted(after="rejected-invalid"), accepted(role="operator"), st.text()))
def test_every_other_leaf_is_stored_as_it_is(leaf: str) -> None:
    """What is not such a leaf is stored unchanged; only a text in the packed form reads as another one."""
    assert pack(leaf) == leaf


@given(st.from_regex(r'1[A-Za-z0-9+/]{128}[0-9]{20}[^"\\]+', fullmatch=True))
def test_two_stored_texts_are_never_the_same_leaf(stored: str) -> None:
    """A stored text can be formed from its leaf again, so each alteration of it alters the leaf."""
    assert pack(unpack(stored)) == stored


@given(st.one_of(st.text(max_size=140), BROKEN))
@example("1" + "=" * 128 + "0" * 20 + "x")
@example("1" + "A" * 126 + "==" + "0" * 20 + "x")
@example("1" + "é" * 128 + "0" * 20 + "x")
def test_a_text_in_no_known_form_is_read_as_it_is(stored: str) -> None:
    """Reading what a file should not hold raises nothing and changes nothing."""
    assert unpack(stored) == stored


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("sha256:ab", "sha256:AB"),
        ("sha256:abab", "sha256:ab  "),
        ('"time":"2', '"time":"x'),
        ('"time":"2', '"time":"٢'),
        ('"proposal_id":"01', '"proposal_id":"xx'),
    ],
)
def test_values_in_another_form_are_not_packed(part: str, other: str) -> None:
    """Capital letters, blanks and other digits would come back changed, so such a leaf is stored as it is."""
    subject = {"proposal_id": "01988888-aaaa-7bbb-8ccc-0123456789ab"}
    leaf = leaf_bytes(
        Leaf(
            action="submit",
            actor="worker:release-bot",
            payload_commitment="sha256:" + "ab" * 32,
            policy_digest="blake3:" + "cd" * 32,
            role="producer",
            subject=subject | {"submission_id": subject["proposal_id"]},
            time=format_time(1),
            after="accepted-for-review",
        )
    ).decode()
    leaf = leaf.replace('"time":"1', '"time":"2')
    changed = leaf.replace(part, other)
    assert pack(leaf) != leaf
    assert changed != leaf
    assert pack(changed) == changed


def test_a_file_stores_short_leaves_and_the_service_reads_whole_ones(tmp_path: Path, policies: Path) -> None:
    """The service packs what it accepts; reading, the doctor and a further start see the whole leaves."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service:
        for number in range(3):
            assert service.submit(event(f"Lesson {number}.")).status_code == 201
    with database(location) as raw:
        stored = [row[0] for row in raw.execute("SELECT leaf FROM log_leaves WHERE submission IS NOT NULL")]
        whole = leaf_texts(raw)
    assert all(len(leaf) < LONGEST for leaf in stored)
    assert len(stored) == len([leaf for leaf in whole if json.loads(leaf)["action"] == "submit"])
    assert examine(location) == []
    store = open_store(location)
    with store.read() as tx:
        assert tx.log.leaf_texts(0, len(whole)) == whole
    store.close()


@pytest.mark.parametrize(
    "change",
    ["replace(leaf, substr(leaf, 20, 4), 'AAAA')", "replace(leaf, 'release-bot', 'watcher')", "substr(leaf, 1, 140)"],
)
def test_an_alteration_of_a_packed_leaf_is_found(tmp_path: Path, policies: Path, change: str) -> None:
    """The doctor finds each change of what is stored, as it does that of a whole leaf."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service:
        service.submit(event("A lesson."))
    with database(location) as raw:
        raw.execute("DROP TRIGGER log_leaves_are_final")
        raw.execute(f"UPDATE log_leaves SET leaf = {change} WHERE submission = 1")
    assert [line for line in examine(location) if "leaf" in line or "log" in line]


def test_a_whole_leaf_of_an_earlier_version_stays_valid(tmp_path: Path, policies: Path) -> None:
    """Leaves that were stored before leaves were packed read as before, beside packed ones."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service:
        service.submit(event("An old lesson."))
    with database(location) as raw:
        raw.execute("DROP TRIGGER log_leaves_are_final")
        (stored,) = raw.execute("SELECT leaf FROM log_leaves WHERE submission = 1").fetchone()
        raw.execute("UPDATE log_leaves SET leaf = ? WHERE submission = 1", [unpack(stored)])
    with running(location, policies) as service:
        assert service.submit(event("A new lesson.")).status_code == 201
    assert [line for line in examine(location) if "trigger" not in line] == []

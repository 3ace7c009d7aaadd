"""Altered exports, judged by the auditors' verifier and by a second one; and a verifier that is blind is found out."""

import random
from pathlib import Path
from typing import Any

import pytest

import tamper
from forgeries import FORGERIES, forge
from support import Service
from web.test_log_api import fill, get


def proven(folder: Path, each: int, *, node: bool) -> dict[str, Any]:
    """Prove it on fewer exports than the script does."""
    seed = random.randrange(2**32)  # noqa: S311 -- no secret
    return tamper.prove(folder, clean=each, mutations=each * len(tamper.MUTATIONS), seed=seed, node=node)


@pytest.mark.timeout(300)
def test_both_verifiers_find_every_alteration_and_nothing_else(tmp_path: Path) -> None:
    """Ten of each kind; the full form is scripts/tamper."""
    told = proven(tmp_path, 10, node=True)
    nothing = {"python": 0, "node": 0}
    assert set(told["mutations"].values()) == {10}
    assert (told["false_alarms"], told["not_found"]) == (nothing, nothing), told


@pytest.mark.parametrize("kind", ["review-records", "dispositions"])
def test_both_verifiers_say_the_same_of_records(service: Service, tmp_path: Path, kind: str) -> None:
    """Real exports and every forgery of them."""
    fill(service)
    exported = get(service, kind).content
    made = {"untouched": exported} | {how: forge(exported, how) for how in FORGERIES}
    cases = []
    for number, data in enumerate(made.values()):
        case = tamper.Case(
            data.splitlines(keepends=True), get(service, "checkpoint").text, get(service, "key").text, None
        )
        cases.append(tamper.write(tmp_path, number, case))
    for verdicts in ([tamper.by_python(one) for one in cases], tamper.by_node(tmp_path, cases)):
        assert [how for how, wrong in zip(made, verdicts, strict=True) if wrong is None] == ["untouched"]


def _believe(record: dict[str, Any], place: str) -> bytes:
    """Take the hash that a record names for that of its leaf."""
    tool = tamper.verify_export
    if not isinstance(record.get("leaf"), dict) or set(record["leaf"]) != tool.LEAF:
        tool.bad(place)
    try:
        return bytes.fromhex(str(record["leaf_hash"]))
    except ValueError:
        tool.bad(place)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("blind", ["check_leaf", "signs", "close_log", "pass_previous"])
def test_a_blind_verifier_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: str) -> None:
    """Without one of its checks it lets alterations pass, and the proof says so."""
    tool = tamper.verify_export
    place, instead = {
        "check_leaf": (tool, _believe),
        "signs": (tool, lambda *_: True),
        "close_log": (tool.Export, lambda *_: None),
        "pass_previous": (tool.Export, lambda _: None),
    }[blind]
    monkeypatch.setattr(place, blind, instead)
    told = proven(tmp_path, 5, node=False)
    assert told["not_found"]["python"] > 0

"""`antechamber policy diff`: what a policy would change in a store, on both engines, without writing anything."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antechamber import app
from antechamber.cli import main
from antechamber.core import rehearsal as core
from antechamber.flows import rehearsal
from antechamber.settings import Location
from support import PRODUCERS, Service, dump, event, running, where, write_policies

EMAIL = "zoe.quill" + "@" + "lovelace.dev"
TOKEN = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
ACCOUNT = "GB82 " + "WEST 1234 5698 7654 32"
PHONE = "Call +49 30 901820 if it fails."
WARNED = '[actions]\nemail-address = "warn"\n'
SEALED = 'reveal = ["bob"]\n[scope.project]\nkeep_private = "sealed"\nactions = {iban = "quarantine"}\n'


def diff(location: Location | Path, new: Path, *arguments: str) -> Result:
    """Run the verb in this process."""
    return CliRunner().invoke(main, ["policy", "diff", str(new), *where(location), *arguments])


def told(location: Location | Path, new: Path, *arguments: str) -> dict[str, Any]:
    """Return the report for a program; its exit status says whether something changes."""
    result = diff(location, new, "--json", *arguments)
    assert result.exit_code in {0, 1}, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == int(report["changes"]) == int(bool(report["groups"]))
    return report


def groups(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the groups of a report without their examples, in a fixed order."""
    names = ("change", "producer_identity", "scope", "reason", "rule_id", "before", "after", "number")
    return sorted((tuple(one[name] for name in names) for one in report["groups"]), key=str)


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read two submissions at a time, so that every test reads several pages."""
    monkeypatch.setattr(rehearsal, "PAGE", 2)


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """The policy in force: it warns of e-mail addresses and seals events with tokens."""
    return write_policies(tmp_path / "policies", privacy=WARNED, scopes=SEALED)


@pytest.fixture
def filled(service: Service) -> tuple[Service, dict[str, str]]:
    """A running service with submissions of every kind, and the ids of some."""
    bob = service.sign_in("bob")
    bodies = {
        "memory": event("Deploy on Fridays."),
        "warned": event(f"Ask {EMAIL} first."),
        "duplicate": event("Deploy on Fridays.", producer_identity="tool:watcher"),
        "team": event("Labs meet weekly.", submission_scope="organization", scope_id="labs"),
        "ungranted": event("Deploy at night.", scope_id="zeus"),
        "private": event("Declared.", visibility="private"),
        "encrypted": event(f"Pay to {ACCOUNT}."),
        "edited": event("Ask Zoe."),
        "erased": event("Forget this soon."),
    }
    answers = {name: service.submit(body).json() for name, body in bodies.items()}
    ids = {name: answer["submission_id"] for name, answer in answers.items()}
    proposals = {name: answer["proposal_id"] for name, answer in answers.items()}
    service.client.put("/v1/submissions/by-key/never-used/seal", headers=service.bearer())
    assert bob.decide(proposals["memory"], "approve").status_code == 303
    edit = bob.decide(proposals["edited"], "edit", content=f"Ask {EMAIL}.", reason_code="unclear")
    assert edit.status_code == 303
    eve = service.sign_in("eve")
    assert eve.decide(proposals["edited"], "approve").status_code == 303
    assert bob.decide(proposals["erased"], "reject", reason_code="private").status_code == 303
    app.erase(service.location, proposals["erased"], "private")
    return service, ids


NOT_REPLAYED = {"encrypted": 1, "erased": 1, "invalid": 1, "private": 1, "sealed-key": 1}


def test_the_policy_in_force_changes_nothing(filled: tuple[Service, dict[str, str]], policies: Path) -> None:
    """Everything with a text is replayed and the rest is counted, while the service runs."""
    service, _ = filled
    report = told(service.location, policies, "--policies", str(policies))
    expected = {"changes": False, "replayed": 5, "changed": 0, "not_replayed": NOT_REPLAYED, "totals": {}, "groups": []}
    assert report == expected
    said = diff(service.location, policies, "--policies", str(policies)).output
    assert said.startswith("No change in 5 submissions.\nNot replayed, because no text of them can be read:\n")
    assert "        1  erased\n" in said


def test_changes_are_named_by_producer_scope_reason_and_rule(
    filled: tuple[Service, dict[str, str]], policies: Path, tmp_path: Path
) -> None:
    """A policy that differs in grants, owner, detectors and approvals: each change is named with its submissions."""
    service, ids = filled
    producers = PRODUCERS.replace('owner = "ada"', 'owner = "bob"').replace('"organization:labs"', '"project:zeus"')
    new = write_policies(
        tmp_path / "new", producers, scopes=SEALED.replace("[scope", "[defaults]\ncurators = 2\n[scope")
    )
    report = told(service.location, new, "--policies", str(policies))
    bot, project = "worker:release-bot", "project:apollo"
    accepted = "accepted-for-review"
    assert groups(report) == sorted(
        [
            ("approvals", bot, project, None, None, "1", "2", 2),
            ("disposition", bot, project, "private-detected", "email-address", accepted, "rejected-private", 1),
            ("disposition", bot, "organization:labs", "scope-not-granted", None, accepted, "rejected-invalid", 1),
            ("grant", bot, "project:zeus", "scope-not-granted", None, "missing", "granted", 1),
            ("memory", bot, project, "private-detected", "email-address", "admitted", "refused", 1),
            ("owner", bot, project, None, None, "another person", "owner", 2),
            ("second-person", bot, project, None, None, "1", "2", 1),
        ],
        key=str,
    )
    examples = {one["change"]: one["examples"] for one in report["groups"] if one["scope"] == project}
    assert examples["disposition"] == [ids["warned"]]
    assert examples["memory"] == [ids["edited"]]
    assert examples["second-person"] == [ids["memory"]]
    assert examples["approvals"] == examples["owner"] == [ids["memory"], ids["edited"]]
    assert report["totals"] == {
        "approvals": 2, "disposition": 2, "grant": 1, "memory": 1, "owner": 2, "second-person": 1,
    }  # fmt: skip
    assert (report["replayed"], report["changed"], report["not_replayed"]) == (5, 5, NOT_REPLAYED)
    said = diff(service.location, new, "--policies", str(policies))
    assert said.exit_code == 1
    assert EMAIL not in said.output + json.dumps(report)
    assert re.search(
        rf"approvals +{bot} +{project} +- +- +1 → 2 +2\n    e\.g\. {ids['memory']}, {ids['edited']}\n", said.output
    )
    assert "5 of 5 replayed submissions would change:\n        2  submissions with another answer\n" in said.output


def test_the_last_submissions_are_those_with_a_text(
    filled: tuple[Service, dict[str, str]], policies: Path, tmp_path: Path
) -> None:
    """What cannot be replayed does not count, and is named as far as it lies between."""
    service, ids = filled
    new = write_policies(tmp_path / "new", "", privacy=WARNED, scopes=SEALED)
    report = told(service.location, new, "--last", "1", "--policies", str(policies))
    [group] = [one for one in report["groups"] if one["change"] == "disposition"]
    assert (report["replayed"], group["after"], group["examples"]) == (1, "unlisted", [ids["edited"]])
    assert report["not_replayed"] == {"erased": 1, "sealed-key": 1}


def rows(location: Location) -> list[str]:
    """Return the rows of all tables but one of PostgreSQL, which lists the connections that are open."""
    return [line for line in dump(location).splitlines() if not line.startswith("writers ")]


def test_nothing_is_written(location: Location, policies: Path, tmp_path: Path) -> None:
    """A store is left as it was, also an empty one, whether or not something would change."""
    app.open_store(location).close()
    arguments = ("--policies", str(policies))
    assert diff(location, policies, *arguments).output == "No change in 0 submissions.\n"
    with running(location, policies) as service:
        service.submit(event("Deploy on Wednesdays."))
    before = rows(location)
    assert told(location, write_policies(tmp_path / "new", ""), *arguments)["changed"] == 1
    assert rows(location) == before


@pytest.fixture
def data(tmp_path: Path, policies: Path) -> Iterator[Service]:
    """A service on SQLite."""
    with running(tmp_path / "data", policies) as service:
        yield service


def test_a_new_rule_and_a_lifted_one_are_named(data: Service, policies: Path, tmp_path: Path) -> None:
    """A rule of the new folder warns of what none finds today, and a warning that is switched off ends."""
    service = data
    found, warned = (service.submit(event(text)).json()["submission_id"] for text in ("Say xyzzy.", PHONE))
    service.submit(event("Deploy on Mondays."))
    new = write_policies(tmp_path / "new", privacy='off = ["phone-number"]\n' + WARNED, scopes=SEALED)
    (new / "detectors").mkdir()
    rule = "[[rule]]\nid = 'code-word'\ntitle = 'code word'\nkind = 'hostile'\naction = 'warn'\npattern = 'xyzzy'\n"
    rule += "hit = ['say xyzzy']\nmiss = ['xyz']\n"
    (new / "detectors" / "own.toml").write_text(rule)
    report = told(service.data, new, "--policies", str(policies))
    bot = ("worker:release-bot", "project:apollo", None)
    assert groups(report) == [
        ("finding", *bot, "code-word", "none", "warn", 1),
        ("finding", *bot, "phone-number", "warn", "none", 1),
    ]
    assert {one["rule_id"]: one["examples"] for one in report["groups"]} == {
        "code-word": [found],
        "phone-number": [warned],
    }


def bodies() -> list[dict[str, Any]]:
    """Return events that a strict policy answers in every way."""
    observed = "2026-01-01T00:00:00Z"
    tagged = {"kind": "fact", "content": "Tagged.", "tags": ["deploy"], "attributes": {"n": None, "mail": EMAIL}}
    return [
        event("Plain."),
        event("Plain.", producer_identity="tool:watcher"),
        event("Old news.", observed_at=observed),
        event("Old news with a key.", observed_at=observed, idempotency_key="zoe-quill"),
        event("Longer. " * 2000),
        event("With a claim.", supersedes="m-1", derived_from=["m-1", "m-2"]),
        event("Said in a session.", submission_scope="session", scope_id="s-1"),
        event("Elsewhere.", scope_id="zeus"),
        event("Elsewhere and old.", scope_id="zeus", observed_at=observed),
        event("Tagged.", payload=tagged),
        event(f"Ask {EMAIL}.", scope_id="zeus"),
        event(f"Use {TOKEN}, or {EMAIL}."),
        event(f"Use {TOKEN} as key.", idempotency_key=TOKEN),
        event(PHONE),
        event("Of another kind.", payload={"kind": "decision", "content": "Of another kind."}),
        event(f"It begins {TOKEN[:22]}"),
        event(f"and ends {TOKEN[22:]}"),
        event("From a page.", source_span={"uri": f"https://lovelace.dev/?token={TOKEN}"}),
    ]


def test_the_replay_judges_as_admission_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a strict service answers to the same events is what the replay of a lax one's events says of its policy."""
    monkeypatch.setattr(core, "EXAMPLES", 100)
    allowed = PRODUCERS.replace('"project:apollo"', '"project:*"')
    lax = write_policies(tmp_path / "lax", allowed, privacy='[actions]\nsecret = "off"\npersonal = "off"\n')
    rules = '[defaults]\nkinds = ["procedure", "fact"]\nstale_after_days = 90\nmax_bytes = 9000\n'
    strict = write_policies(tmp_path / "strict", scopes=rules)
    events = bodies()
    with running(tmp_path / "data", lax) as service:
        kept = [service.submit(body).json() for body in events]
        assert {one["disposition"] for one in kept} == {"accepted-for-review", "accepted-as-duplicate"}
    with running(tmp_path / "other", strict) as service:
        answers = [service.submit(body).json() for body in events]
    # Its first part came with the event before.
    assert answers[-2]["disposition"] == "rejected-private"
    report = told(tmp_path / "data", strict, "--policies", str(lax))
    changed = [one for one in report["groups"] if one["change"] == "disposition"]
    for body, before, answer in zip(events, kept, answers, strict=True):
        own = [one for one in changed if before["submission_id"] in one["examples"]]
        refused = {reason["code"] for reason in answer["reasons"]} if answer["status"] >= 400 else set()
        assert {one["reason"] for one in own} == refused, body["payload"]["content"][:40]
        assert {one["after"] for one in own} == ({answer["disposition"]} if refused else set())
    assert {one["reason"] for one in changed} == {
        "key-invalid", "private-detected", "scope-not-granted", "stale", "kind-unsupported", "too-large-for-scope",
    }  # fmt: skip


def test_a_scope_id_that_is_private_is_not_shown(tmp_path: Path) -> None:
    """A report names the kind of the scope only, for a stored text as for a refusal without one."""
    grants = PRODUCERS.replace('"project:apollo"', '"project:apollo", "project:zoe*"', 1)
    old = write_policies(tmp_path / "old", grants, privacy=WARNED)
    with running(tmp_path / "data", old) as service:
        assert service.submit(event("One.", scope_id=EMAIL)).status_code == 201
        assert service.submit(event("Two.", scope_id=EMAIL[1:])).status_code == 422
    new = write_policies(tmp_path / "new", grants.replace("zoe*", "oe*"))
    result = diff(tmp_path / "data", new, "--policies", str(old))
    assert "lovelace" not in result.output
    assert {one[2] for one in groups(told(tmp_path / "data", new, "--policies", str(old)))} == {"project:*"}


def test_a_faulty_policy_or_store_has_status_2(data: Service, policies: Path, tmp_path: Path) -> None:
    """The error names file, key and remedy; a wrong number, folder or location is wrong usage too."""
    bad = write_policies(tmp_path / "bad", scopes="[defaults]\ncurator = 2\n")
    result = diff(data.data, bad, "--policies", str(policies))
    assert (result.exit_code, 'scopes.toml: unknown key "curator"' in result.stderr) == (2, True)
    for arguments, said in (
        (("--last", "0"), "--last"),
        (("--last", "many"), "--last"),
        (("--policies", str(bad)), "unknown key"),
        (("--policies", str(tmp_path / "none")), "is no folder"),
    ):
        result = diff(data.data, policies, *arguments)
        assert (result.exit_code, said in result.stderr) == (2, True)
    result = diff(tmp_path / "nowhere", policies)
    assert (result.exit_code, "check the folder's name" in result.stderr) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_the_folders_own_policy_is_the_one_in_force(data: Service, policies: Path) -> None:
    """Without --policies, the policy in the data folder is compared, as serve would use it."""
    data.submit(event("Deploy on Tuesdays."))
    write_policies(data.data / "policies", "")
    assert told(data.data, policies)["groups"][0]["before"] == "unlisted"
    write_policies(data.data / "policies", privacy=WARNED, scopes=SEALED)
    assert diff(data.data, policies).output == "No change in 1 submission.\n"


def test_progress_is_shown_on_a_terminal_only(data: Service, policies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each full percent is shown once on standard error, and standard output has the report alone."""
    for number in range(4):
        data.submit(event(f"Step {number} of the runbook."))
    silent = diff(data.data, policies, "--policies", str(policies))
    assert silent.stderr == ""
    monkeypatch.setattr("antechamber.cli.policies.is_terminal", lambda: True)
    shown = diff(data.data, policies, "--policies", str(policies))
    assert shown.stderr == "\rReplaying 4 submissions: 50 % \rReplaying 4 submissions: 100 % \n"
    assert shown.stdout == "No change in 4 submissions.\n"

"""`antechamber webhook`, as operators use it, and a service that is killed while it delivers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from antechamber.app import open_store
from antechamber.cli import main
from antechamber.flows.webhooks import pending
from antechamber.settings import Location
from receiver import Receiver
from support import antechamber, database, event, free_port, running, serving, until

URL = "https://hooks.example.org/services/one?token=quiet"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder."""
    folder = tmp_path / "data"
    open_store(Location(data=folder)).close()
    return folder


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that is running."""
    with Receiver().running() as made:
        yield made


def run(*arguments: object) -> Result:
    """Run a verb of webhooks in this process."""
    return CliRunner().invoke(main, ["webhook", *map(str, arguments)])


def listed(data: Path) -> list[dict[str, object]]:
    """Return the endpoints as a program reads them."""
    found: list[dict[str, object]] = json.loads(run("list", "--json", "--data", data).stdout)
    return found


def test_an_endpoint_is_added_listed_and_removed(data: Path) -> None:
    """The secret is printed once, is not in the database, and no query of a URL is shown."""
    assert "No webhooks yet" in run("list", "--data", data).output
    done = run("add", URL, "--event", "proposal.waiting", "--event", "memory.ended", "--data", data)
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=\n", done.output)
    secret = done.output.strip().removeprefix("whsec_")
    [one] = listed(data)
    assert one["url"] == "https://hooks.example.org/services/one"
    assert one["events"] == ["memory.ended", "proposal.waiting"]
    assert (one["state"], one["waiting"], one["last_error"], one["delivered_at"]) == ("active", 0, None, None)
    text = run("list", "--data", data).output
    assert text.startswith(f"{one['webhook_id']}  active    0 waiting  https://hooks.example.org/services/one  ")
    with database(Location(data=data)) as raw:
        assert secret not in "\n".join(raw.iterdump())
    twice = run("add", URL, "--event", "alarm.raised", "--data", data)
    assert twice.exit_code == 1
    assert "remove it first" in twice.output
    assert "quiet" not in twice.output + text
    assert run("remove", one["webhook_id"], "--data", data).output == f"Removed {one['webhook_id']}.\n"
    gone = run("remove", one["webhook_id"], "--data", data)
    assert (gone.exit_code, "antechamber webhook list" in gone.output) == (1, True)
    assert listed(data) == []


def test_json_has_id_and_secret(data: Path) -> None:
    """A program gets both from one call, and the sequence of a replay."""
    added = json.loads(run("add", URL, "--event", "alarm.raised", "--json", "--data", data).output)
    assert added.keys() == {"webhook_id", "secret"}
    assert json.loads(run("replay", URL, "--from", "0", "--json", "--data", data).output) == {"sequence": 0}
    said = run("replay", added["webhook_id"], "--from", "2026-01-01T00:00:00Z", "--data", data).output
    assert said == "Its events are sent again from sequence 0 on.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", URL], "Missing option '--event'"),
        (["add", URL, "--event", "proposal.everything"], "is not one of"),
        (["add", "http://hooks.example.org", "--event", "alarm.raised"], "--allow-private"),
        (["add", "https://192.168.0.1/", "--event", "alarm.raised"], "--allow-private"),
        (["add", "https://a:b@hooks.example.org/", "--event", "alarm.raised"], "password"),
        (["add", "nowhere", "--event", "alarm.raised"], "write it like https://"),
        (["remove", "other"], "antechamber webhook list"),
        (["replay", "other", "--from", "0"], "antechamber webhook list"),
        (["replay", "other"], "Missing option '--from'"),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], said: str, data: Path) -> None:
    """A wrong value ends with a text that names it, and stores nothing."""
    done = run(*arguments, "--data", data)
    assert done.exit_code != 0
    assert said in done.output
    assert listed(data) == []


def test_a_start_that_is_no_place_in_the_log_is_refused(data: Path) -> None:
    """The error says what a start looks like, or how long the log is."""
    run("add", URL, "--event", "alarm.raised", "--data", data)
    assert "neither a sequence nor a time" in run("replay", URL, "--from", "yesterday", "--data", data).output
    assert "there is no sequence 99" in run("replay", URL, "--from", "99", "--data", data).output


def test_a_mistyped_folder_is_not_made(tmp_path: Path) -> None:
    """Only serve and migrate make a data folder."""
    done = run("list", "--data", tmp_path / "typo")
    assert done.exit_code == 1
    assert not (tmp_path / "typo").exists()


def test_the_list_shows_why_an_endpoint_fails(
    tmp_path: Path, policies: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State, number of waiting events, error, time of the next attempt, and that a receiver is gone."""
    receiver.answers = [500]
    with running(tmp_path / "data", policies) as service:
        run("add", receiver.url, "--event", "proposal.waiting", "--allow-private", "--data", service.data)
        service.submit(event("One."))
        service.submit(event("Two."))
        until(lambda: listed(service.data)[0]["attempts"] == 1, "an attempt failed")
        text = run("list", "--data", service.data).stdout
        assert re.search(r"  failing   [12] waiting  http://127", text)
        assert re.search(r"  1 failed since \S+Z: the receiver answered 500; next attempt at \S+Z\n", text)
        monkeypatch.setattr(pending, "MAX_COUNTED", 1)
        monkeypatch.setattr("antechamber.cli.webhooks.MAX_COUNTED", 1)
        assert "more than 1000 waiting" in run("list", "--data", service.data).stdout
        receiver.answers = [410]
        run("replay", receiver.url, "--from", "0", "--data", service.data)
        until(lambda: listed(service.data)[0]["state"] == "disabled", "it was disabled")
        assert "the receiver answered 410\n" in run("list", "--data", service.data).stdout


def test_a_service_that_is_killed_delivers_the_rest(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """After `kill -9` in the middle of a request, each event has arrived at least once, in order, under one id."""
    receiver.answers = [204] * 5 + ["hang"]
    data, port = tmp_path / "data", free_port()
    with serving(data, policies, port) as (url, process):
        options = ["--event", "proposal.waiting", "--allow-private", "--data", str(data)]
        assert antechamber("webhook", "add", receiver.url, *options).returncode == 0
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        lines = "\n".join(json.dumps(event(f"Text {number}.")) for number in range(12))
        sent = httpx.post(
            f"{url}/v1/submissions/batch", content=lines, headers={"authorization": f"Bearer {token}"}, timeout=30
        )
        assert sent.status_code == 200
        until(lambda: len(receiver.requests) == 6, "the sixth hangs")
        process.kill()
        process.wait()
    receiver.release.set()
    with serving(data, policies, port):
        until(lambda: len(set(receiver.ids)) == 12, "all arrived")
    firsts = list(dict.fromkeys(receiver.sequences))
    assert firsts == sorted(firsts)
    assert len({(headers["webhook-id"], body) for headers, body in receiver.requests}) == 12

"""`/metrics`: what is counted, its formats, and the processes that it covers."""

import re
from pathlib import Path
from typing import Final

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from antechamber.core.contract import CODES
from antechamber.core.metrics.definitions import METRICS
from antechamber.core.review.decision import Decision
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.settings import Location
from support import Databases, Service, antechamber, database, event, full, serving, until, where

UNKNOWN: Final = "00000000-0000-7000-8000-000000000000"
Samples = dict[str, float]


def scrape(service: Service) -> Samples:
    """Read the metrics with an auditor's token, each sample under its name with labels."""
    response = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor"))
    assert response.status_code == 200, response.text
    return samples(response.text)


def samples(text: str) -> Samples:
    """Parse the text format; a sample without labels has its bare name."""
    found: Samples = {}
    for family in parse(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_an_auditors_token_and_a_signed_in_operator_read_the_metrics(service: Service) -> None:
    """Both get all figures in the text format, which no cache may keep."""
    token = service.bearer("prometheus", "auditor")
    for client, headers in ((service.client, token), (service.sign_in("olga", "operator").browser, {})):
        response = client.get("/metrics", headers=headers)
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        assert "# TYPE antechamber_submissions_total counter" in response.text


def test_others_are_refused_as_on_every_route_for_programs(service: Service) -> None:
    """Without a token the answer is 401, with that of a producer 403, both as problems."""
    for headers, status in (({}, 401), (service.bearer(), 403)):
        response = service.client.get("/metrics", headers=headers)
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("accept", ["application/openmetrics-text", "application/openmetrics-text; version=x;q=nan"])
def test_openmetrics_is_served_to_scrapers_that_accept_it(service: Service, accept: str) -> None:
    """The format has its own type and ends with its own mark, also if the rest of the header is nonsense."""
    headers = service.bearer("prometheus", "auditor") | {"accept": accept}
    response = service.client.get("/metrics", headers=headers)
    assert response.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert response.text.endswith("# EOF\n")
    assert {family.name for family in parse_openmetrics(response.text)} >= {"antechamber_submissions"}


def test_submissions_attempts_and_tasks_are_counted(service: Service) -> None:
    """First attempts, replays, duplicates, evidence, conflicts and refusals each have their place."""
    first = event()
    service.submit(first)
    service.submit(first)
    service.submit(event())
    service.submit(event(producer_identity="tool:watcher"))
    service.submit(event("Another text.", idempotency_key=first["idempotency_key"]))
    service.submit(event("A private text.", visibility="private"))
    service.submit(b"{")
    found = until(lambda: _when(scrape(service), "antechamber_admission_seconds_count", 7), "seven answers are counted")
    one = "antechamber_submissions_total{{disposition={},producer_kind={}}}"
    assert found[one.format("accepted-for-review", "worker")] == 1
    assert found[one.format("accepted-as-duplicate", "worker")] == 1
    assert found[one.format("accepted-as-duplicate", "tool")] == 1
    assert found[one.format("rejected-conflict", "worker")] == 1
    assert found[one.format("rejected-private", "worker")] == 1
    assert found["antechamber_attempts_total{producer_kind=worker,result=stored}"] == 4
    assert found["antechamber_attempts_total{producer_kind=worker,result=replayed}"] == 1
    assert found["antechamber_task_writes_total{producer_kind=worker}"] == 3
    assert found["antechamber_tasks_total{producer_kind=worker}"] == 2
    assert found["antechamber_tasks_total{producer_kind=tool}"] == 1
    assert found["antechamber_producer_attempts_total{producer=worker:release-bot}"] == 5
    assert found["antechamber_producer_duplicates_total{producer=worker:release-bot}"] == 2
    assert found["antechamber_refusals_total{code=malformed}"] == 1
    assert found["antechamber_scan_seconds_count"] == 6
    assert found["antechamber_commit_seconds_count"] == found["antechamber_group_size_count"] > 0
    assert found["antechamber_transaction_seconds_sum"] > found["antechamber_commit_seconds_sum"] > 0


def _when(found: Samples, name: str, number: float) -> Samples | None:
    return found if found[name] == number else None


def test_a_conflict_beyond_its_limit_counts_as_a_replay(service: Service) -> None:
    """The same refused event again is an attempt, and no second submission."""
    service.submit(event("The first text.", idempotency_key="reused"))
    for _ in range(2):
        service.submit(event("The second text.", idempotency_key="reused"))
    found = scrape(service)
    assert found["antechamber_submissions_total{disposition=rejected-conflict,producer_kind=worker}"] == 1
    assert found["antechamber_attempts_total{producer_kind=worker,result=replayed}"] == 1


def test_findings_are_counted_by_rule_and_never_show_the_value(service: Service) -> None:
    """The metrics name the rule of a finding; they hold no value, key, scope or token."""
    secret = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    sent = event(f"The token is {secret}", idempotency_key="a-key-to-find")
    assert service.submit(sent).status_code == 422
    text = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
    assert samples(text)["antechamber_findings_total{rule=github-token}"] == 1
    for hidden in (secret, "a-key-to-find", "apollo", "anta_", "antp_"):
        assert hidden not in text


def test_decisions_and_the_age_of_proposals_are_counted(service: Service) -> None:
    """Each decision counts by its kind; the age only of decisions on a text that waits."""
    ids = [service.submit(event(f"Text number {number}.")).json()["proposal_id"] for number in range(4)]
    desk = service.sign_in()
    assert desk.decide(ids[0], "approve").status_code == 303
    assert desk.decide(ids[0], "undo", reason_code="wrong").status_code == 303
    assert desk.decide(ids[1], "reject", reason_code="wrong").status_code == 303
    assert desk.decide(ids[2], "approve", decision_key="").status_code == 409
    found = scrape(service)
    decisions = {name: number for name, number in found.items() if name.startswith("antechamber_decisions_total")}
    assert {name: number for name, number in decisions.items() if number} == {
        "antechamber_decisions_total{decision=approve}": 1,
        "antechamber_decisions_total{decision=undo}": 1,
        "antechamber_decisions_total{decision=reject}": 1,
    }
    assert found["antechamber_decision_age_seconds_count"] == 2
    assert found["antechamber_queue_depth"] == 3
    assert found["antechamber_queue_oldest_seconds"] > 0


def test_decisions_on_a_group_and_on_quarantined_events_are_counted(service: Service) -> None:
    """A group counts one decision for each proposal that was decided, and a settlement counts by its kind."""
    ids = [service.submit(event(f"Text number {number}.")).json()["proposal_id"] for number in range(2)]
    service.submit(event("A first text.", idempotency_key="reused"))
    refused = service.submit(event("A second text.", idempotency_key="reused")).json()["quarantine_id"]
    desk = service.sign_in()
    fields = dict(
        re.findall(
            r'name="(csrf|version|decision_key)" value="([^"]*)"', desk.browser.get(f"/quarantine/{refused}").text
        )
    )
    assert desk.post(f"/quarantine/{refused}/keep", fields | {"reason_code": "wrong"}).status_code == 303
    account = service.state.access.sessions.account(desk.browser.cookies["antechamber"])
    forms = {proposal_id: desk.form(proposal_id) for proposal_id in ids} | {UNKNOWN: desk.form(ids[0])}
    decisions = [(proposal_id, _rejection(form)) for proposal_id, form in forms.items()]
    results = service.state.groups.decide(decisions, account)
    assert [failure is None for _, failure in results] == [True, True, False]
    found = scrape(service)
    assert found["antechamber_decisions_total{decision=reject}"] == 2
    assert found["antechamber_decisions_total{decision=keep}"] == 1


def _rejection(form: dict[str, str]) -> Decision:
    return Decision(
        kind="reject",
        version=int(form["version"]),
        shown_hash=form["shown_hash"],
        decision_key=form["decision_key"],
        reason_code="wrong",
    )


def test_sign_ins_are_counted_by_result(service: Service) -> None:
    """A sign-in by link, a wrong password, a used link, and one beyond the limit each count."""
    service.sign_in()
    service.client.post("/login", data={"link": "antl_unknown"})
    for _ in range(6):
        service.client.post("/login", data={"name": "bob", "password": "not the password"})
    found = scrape(service)
    results = {
        result: found[f"antechamber_sign_ins_total{{result={result}}}"] for result in ("done", "failed", "limited")
    }
    assert results == {"done": 1, "failed": 6, "limited": 1}


def test_log_signer_policy_and_store_have_gauges(service: Service) -> None:
    """The gauges agree with what other pages say."""
    service.submit(event())
    operator = service.sign_in("olga", "operator").browser
    digest = operator.get("/readyz").json()["policy_digest"]
    scrape(service)
    service.state.checkpoints.tick(at_once=True)
    found = scrape(service)
    assert found[f"antechamber_policy_info{{digest={digest}}}"] == 1
    assert found["antechamber_signer_state{state=signing}"] == 1
    assert found["antechamber_log_size"] >= found["antechamber_unsigned_leaves"] == 0
    assert 0 <= found["antechamber_checkpoint_age_seconds"] < 60
    assert found["antechamber_store_bytes"] > 100_000
    assert found["antechamber_disk_free_bytes"] < found["antechamber_disk_bytes"]
    engine = "sqlite" if service.location.database_url is None else "postgres"
    assert [
        number for name, number in found.items() if name.startswith(f"antechamber_build_info{{engine={engine}")
    ] == [1]
    assert {number for name, number in found.items() if name.startswith("antechamber_alarms{")} == {0}
    assert {f"antechamber_refusals_total{{code={code}}}" for code in CODES} <= set(found)
    assert {name.partition("{")[0] for name in found if "_seconds_" not in name} - {
        "antechamber_group_size_bucket",
        "antechamber_group_size_count",
        "antechamber_group_size_sum",
    } <= set(METRICS)


def test_a_signer_that_was_refused_or_is_in_doubt_is_shown(service: Service) -> None:
    """The state of the signer and the alarm's source follow from the reason."""
    checkpoints: Checkpoints = service.state.checkpoints
    checkpoints.alarm = "The log is not signed any more."
    refused = scrape(service)
    checkpoints.alarm, checkpoints.doubt = None, "The log had 5 leaves and has fewer now."
    closed = scrape(service)
    checkpoints.doubt = None
    assert (refused["antechamber_signer_state{state=refused}"], refused["antechamber_alarms{source=signer}"]) == (1, 1)
    assert (closed["antechamber_signer_state{state=closed}"], closed["antechamber_signer_state{state=signing}"]) == (
        1,
        0,
    )


def test_failed_transactions_are_counted(service: Service) -> None:
    """A disk that is full fails a transaction, and the metrics can still be read."""
    service.submit(event())
    with full(service):
        assert service.submit(event("A text for which there is no space. " * 1_400)).status_code == 503
        assert scrape(service)["antechamber_failed_transactions_total"] == 1


def test_figures_of_the_process_are_served_while_the_store_cannot_be_read(service: Service) -> None:
    """A store that cannot be read is itself a figure; its other figures are left out."""
    service.submit(event())
    scrape(service)
    with database(service.location) as owner:
        owner.execute("ALTER TABLE proposals RENAME TO proposals_gone")
    found = scrape(service)
    assert found["antechamber_store_up"] == 0
    assert "antechamber_queue_depth" not in found
    assert found["antechamber_admission_seconds_count"] == 1


def test_an_unknown_disk_is_left_out(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the space on the disk cannot be found out, all other figures are there."""
    monkeypatch.setattr(service.state.metrics._snapshots, "_data", service.data / "gone")
    found = scrape(service)
    assert "antechamber_disk_bytes" not in found
    assert found["antechamber_store_up"] == 1


def test_all_processes_of_a_host_are_covered(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """With two processes over one database, each answers for both; after one was killed its counters stay."""
    location = Location(data=tmp_path / "data", database_url=postgres.fresh())
    with serving(location, policies) as (one, _), serving(location, policies) as (two, process):
        headers, producer = (
            _token(location, "prometheus", "auditor"),
            _token(location, "worker:release-bot", "producer"),
        )
        assert samples(httpx.get(f"{one}/metrics", headers=headers).text)["antechamber_processes"] == 2
        for url in (one, two):
            assert httpx.post(f"{url}/v1/submissions", json=event(f"From {url}."), headers=producer).status_code == 201
        name = "antechamber_submissions_total{disposition=accepted-for-review,producer_kind=worker}"

        def read(url: str) -> Samples:
            return samples(httpx.get(f"{url}/metrics", headers=headers).text)

        until(lambda: read(one)[name] == read(two)[name] == 2, "both processes count both submissions")
        assert read(one)["antechamber_processes"] == 2
        process.kill()
        process.wait()
        found = until(lambda: _when(read(one), "antechamber_processes", 1), "the killed process is gone")
        assert found[name] == 2


def _token(location: Location, name: str, role: str) -> dict[str, str]:
    """Issue a token on the command line, and return its header."""
    issued = antechamber("token", "issue", name, "--role", role, *where(location))
    return {"authorization": f"Bearer {issued.stdout.strip()}"}

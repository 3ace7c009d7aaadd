"""The pages for auditors who are not cryptographers: words, reasons, and pictures of proofs."""

import csv
import io
import re

from support import Service, event, without_indents


def columns(service: Service, what: str) -> list[dict[str, str]]:
    """Return an export as CSV, without its closing record."""
    answer = service.client.get(f"/v1/audit/{what}?format=csv", headers=service.bearer("auditing", "auditor"))
    return list(csv.DictReader(io.StringIO(answer.text)))[:-1]


def test_the_audit_page_explains_itself(service: Service) -> None:
    """It says through which entry the log is signed, explains six words, and has producer and whole reason."""
    reason = "It repeats what the handbook says, " + "and at length " * 20
    proposal = service.submit(event("Deploy on Fridays.")).json()["proposal_id"]
    bob = service.sign_in("bob")
    assert bob.decide(proposal, "reject", reason_code="duplicate", reason_text=reason).status_code == 303
    size = int(service.client.get("/v1/audit/checkpoint", headers=service.bearer("a", "auditor")).text.split("\n")[1])
    page = service.sign_in("ava", "auditor").browser.get("/audit").text
    assert f"Signed through entry {size - 1:,}" in page
    words = re.findall(r"<dt>([^<]+)</dt>", page.partition("Six words of this page")[2].partition("</dl>")[0])
    assert words == ["Entry, or leaf", "Tree", "Checkpoint", "Inclusion proof", "Consistency proof", "Commitment"]
    assert reason.strip() in page
    assert '<code class="key">worker:release-bot</code>' in page
    assert 'action="/v1/audit/package"' in page


def test_an_export_until_a_time_after_all_years_keeps_the_page(service: Service) -> None:
    """The history shows the filter of each export, also a time that an offset puts beyond the year 9999."""
    late = {"until": "9999-12-31T23:59:59-00:01"}
    headers = service.bearer("auditing", "auditor")
    assert service.client.get("/v1/audit/dispositions", params=late, headers=headers).status_code == 200
    page = service.sign_in("ava", "auditor").browser.get("/audit")
    assert page.status_code == 200
    assert "9999-12-31" in page.text


def test_the_page_of_an_entry_draws_its_proof(service: Service) -> None:
    """Picture and table show every hash from the entry to the root of the checkpoint, without scripts."""
    proposal = service.submit(event("Deploy on Fridays.")).json()["proposal_id"]
    checkpoint = service.client.get("/v1/audit/checkpoint", headers=service.bearer("auditing", "auditor")).text
    ava = service.sign_in("ava", "auditor").browser
    found = re.search(r"/audit/leaves/(\d+)", ava.get(f"/audit/items/{proposal}").text)
    assert found
    page = without_indents(ava.get(found[0]).text)
    assert "root, signed" in page
    assert checkpoint.split("\n")[2] in page
    proof = ava.get(f"/v1/audit/proof/inclusion?sequence={found[1]}").json()["proof"]
    hashes = len([line for line in proof.partition("\n\n")[0].split("\n")[2:] if line])
    assert page.count('class="own"') == page.count("</tr>") - 1
    assert page.count("<tr><td>") >= 1
    assert hashes > 0
    assert " style=" not in page
    for wrong in ("999999", "-1"):
        assert ava.get(f"/audit/leaves/{wrong}").status_code == 404


def test_texts_are_columns_of_a_csv_and_no_formulas(service: Service) -> None:
    """Decisions and answers have their texts in columns of their own, with signs that begin a formula made harmless."""
    payload = {"kind": "fact", "content": "=1+1 is two.", "tags": ["+a", "b"]}
    proposal = service.submit(event("x", payload=payload)).json()["proposal_id"]
    service.submit(event("Private.", visibility="private"))
    bob = service.sign_in("bob")
    assert bob.decide(proposal, "edit", content="@two is two.", reason_code="wrong").status_code == 303
    [record] = columns(service, "review-records")
    texts = {name: record[name] for name in ("text_shown", "text_resulting", "kind", "tags", "self_edit")}
    assert texts == {
        "text_shown": "'=1+1 is two.",
        "text_resulting": "'@two is two.",
        "kind": "fact",
        "tags": "'+a b",
        "self_edit": "false",
    }
    assert not {"shown", "resulting"} & record.keys()
    first, second = columns(service, "dispositions")
    assert (first["content"], first["source_uri"]) == ("'=1+1 is two.", "repo://apollo/RUNBOOK.md")
    assert (second["disposition"], second["content"], second["kind"]) == ("rejected-private", "", "")


def test_the_dashboard_has_producers_and_replays_in_one_table(service: Service) -> None:
    """Each producer is one group of rows, with its answers once and its attempts by channel."""
    first = event("Deploy on Fridays.")
    for _ in range(2):
        service.submit(first)
    service.client.post(
        "/v1/submissions/batch",
        content=b'{"x":1}\n',
        headers=service.bearer() | {"content-type": "application/x-ndjson"},
    )
    second = event("Deploy on Mondays.")
    service.submit(second, submission_channel="mcp")
    service.state.admission.flush()
    page = without_indents(service.sign_in("ava", "auditor").browser.get("/dashboard").text)
    table = page.partition('aria-label="Producers and replays"')[2].partition("</section>")[0]
    assert table.count("worker:release-bot</a>") == 1
    assert 'rowspan="2"' in table
    assert "Retries by producer" not in page
    for word in ("median time to decision", "90th percentile"):
        assert word in page

"""The list of submissions, and the dashboard's numbers that link to it."""

import html
import re
from typing import Any

import msgspec
import pytest

from antechamber.store import reports
from support import Desk, Service, database, event, without_indents

OTHER = {"producer_identity": "tool:watcher"}


def rows(desk: Desk, **query: str) -> list[list[str]]:
    """Return the cells of the list."""
    page = desk.browser.get("/submissions", params=query)
    assert page.status_code == 200
    body = page.text.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [
            " ".join(html.unescape(re.sub(r"<[^>]+>", "", cell)).split())
            for cell in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)
        ]
        for row in body.split("</tr>")[:-1]
    ]


def fill(service: Service) -> dict[str, Any]:
    """Submit one event of each kind and return the answers."""
    sent = event("First.", idempotency_key="first")
    return {
        "first": service.submit(sent).json(),
        "again": service.submit(sent).json(),
        "duplicate": service.submit(event("First.", idempotency_key="second")).json(),
        "private": service.submit(event("Call me.", idempotency_key="secret", visibility="private")).json(),
        "conflict": service.submit(event("Another.", idempotency_key="first")).json(),
        "other": service.submit(event("Second.", idempotency_key="third", **OTHER)).json(),
    }


def test_every_submission_is_listed_with_its_answer(service: Service) -> None:
    """The list is newest first, with conflicts, attempts and results, but no text and no private key."""
    answers = fill(service)
    service.state.admission.flush()
    desk = service.sign_in()
    found = [(row[1], row[2], row[3].split()[0], row[5], row[6]) for row in rows(desk)]
    assert found == [
        ("tool:watcher", "third", "accepted-for-review", "1", "its proposal"),
        ("worker:release-bot", "first", "rejected-conflict", "1", "the quarantine"),
        ("worker:release-bot", "not shown", "rejected-private", "1", "the quarantine"),
        ("worker:release-bot", "second", "accepted-as-duplicate", "1", "its proposal"),
        ("worker:release-bot", "first", "accepted-for-review", "2", "its proposal"),
    ]
    page = desk.browser.get("/submissions").text
    assert "secret" not in page
    assert "Call me" not in page
    for name in ("conflict", "private"):
        assert f"/quarantine/{answers[name]['quarantine_id']}" in page
        assert desk.browser.get(f"/quarantine/{answers[name]['quarantine_id']}").status_code == 200


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"disposition": "rejected-conflict"}, 1),
        ({"disposition": "rejected-private"}, 1),
        ({"disposition": "accepted-for-review"}, 2),
        ({"producer_identity": "tool:watcher"}, 1),
        ({"producer_identity": "tool:nobody\0"}, 0),
        ({"producer_identity": "worker:release-bot", "disposition": "accepted-for-review"}, 1),
        ({"since": "2000-01-01", "until": "2100-01-01"}, 5),
        ({"since": "2100-01-01"}, 0),
        ({"until": "2000-01-01T00:00:00Z"}, 0),
        ({"after": "\0"}, 5),
    ],
)
def test_submissions_are_filtered(service: Service, query: dict[str, str], number: int) -> None:
    """Filters by disposition, producer and time work alone and together."""
    fill(service)
    assert len(rows(service.sign_in(), **query)) == number


def test_a_bad_filter_of_submissions_is_explained(service: Service) -> None:
    """An invalid filter is explained, and an empty list has a note."""
    desk = service.sign_in()
    assert "What agents submit appears here." in desk.browser.get("/submissions").text
    assert "Show all" in desk.browser.get("/submissions?disposition=rejected-private").text
    for query, text in (("disposition=lost", "accepted-for-review"), ("since=yesterday", "RFC 3339")):
        page = desk.browser.get(f"/submissions?{query}")
        assert page.status_code == 400
        assert text in page.text


def test_the_list_of_submissions_leads_on(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages follow without gap or overlap; a filtered page reports that its scan limit was reached."""
    sent = [service.submit(event(f"Number {one}.")).json()["submission_id"] for one in range(60)]
    desk = service.sign_in()
    first = desk.browser.get("/submissions").text
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = desk.browser.get(following).text
    assert (first + second).count("its proposal") == len(sent)
    assert 'rel="next"' not in second
    service.submit(event("Another.", idempotency_key="number"))
    service.submit(event("And another.", idempotency_key="number"))
    monkeypatch.setattr(reports, "WINDOW", 20)
    looked = 0
    location = "/submissions?producer_identity=tool:watcher"
    while location:
        page = desk.browser.get(location).text
        looked += 1
        location = html.unescape("".join(re.findall(r'rel="next" href="([^"]+)"', page)))
        assert ("were looked through" in page) == bool(location)
    assert looked == 4


def test_every_number_of_the_dashboard_leads_to_its_list(service: Service) -> None:
    """Each linked list has as many rows as its number; roles without lists see numbers only."""
    fill(service)
    desk = service.sign_in()
    desk.decide(fill(service)["other"]["proposal_id"], "reject", reason_code="wrong")
    service.state.admission.flush()
    page = desk.browser.get("/dashboard").text.partition("<main")[2]
    found = re.findall(r'<td[^>]*><a href="(/submissions\?[^"]+)">(\d+)</a>', page)
    assert len(found) >= 8
    attempts = {"attempts": 0}
    for index, number in found:
        listed = desk.browser.get(html.unescape(index)).text.partition("<tbody>")[2]
        cells = [int(one) for one in re.findall(r"<td>(\d+)</td>", listed)]
        assert int(number) in {listed.count("<tr>"), sum(cells), sum(cells) - len(cells)}, index
        attempts["attempts"] += sum(cells)
    assert attempts["attempts"] > 0
    for index in re.findall(r'href="(/audit\?[^"]+)"', page):
        assert desk.browser.get(html.unescape(index)).status_code == 200
    assert "/submissions" not in service.sign_in("olga", "operator").browser.get("/dashboard").text


def test_what_was_counted_under_a_clock_that_ran_ahead_is_left_out(service: Service) -> None:
    """An hour in the future is left out of the table, and the totals include it."""
    fill(service)
    with database(service.location) as raw:
        raw.execute(
            "INSERT INTO tally (hour, producer, name, channel, lane, number)"
            " SELECT hour + 100, producer, name, channel, lane, 7 FROM tally WHERE name = 'accepted-as-duplicate'"
        )
    page = without_indents(service.sign_in().browser.get("/dashboard").text)
    assert '<div class="figure">8</div><a href="/submissions?disposition=accepted-as-duplicate">' in page
    assert page.count("<rect") == 72


def test_the_list_shows_the_channel_of_an_event(service: Service) -> None:
    """Submissions by batch and by tool are labelled; those by HTTP, the usual channel, are not."""
    service.submit(event("By hand.", idempotency_key="by-hand"))
    service.submit(event("By a tool.", idempotency_key="by-tool"), submission_channel="mcp")
    service.submit(event("By whatever.", idempotency_key="by-whatever"), submission_channel="pigeon")
    line = msgspec.json.encode(event("In a batch.", idempotency_key="in-batch"))
    service.client.post("/v1/submissions/batch", content=line, headers=service.bearer())
    page = service.sign_in().browser.get("/submissions").text
    key = r'<code class="key">([a-z-]+)</code>(?:\s*<span class="tag">(\w+)</span>)?\s*</td>'
    shown = dict(re.findall(key, page))
    assert shown == {"by-hand": "", "by-tool": "mcp", "by-whatever": "", "in-batch": "batch"}

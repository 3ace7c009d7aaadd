"""Batches over HTTP: one answer per line, and either all lines or none are stored."""

from typing import Any

import httpx
import msgspec
import pytest

from support import Service, event, full, locked


def post(service: Service, raw: bytes, *bearer: Any) -> httpx.Response:
    """Send a batch."""
    return service.client.post("/v1/submissions/batch", content=raw, headers=service.bearer(*bearer))


def lines_of(*bodies: dict[str, Any]) -> bytes:
    """Join bodies to a batch."""
    return b"\n".join(map(msgspec.json.encode, bodies))


def answers_of(response: httpx.Response) -> list[dict[str, Any]]:
    """Check the properties common to all batch answers and return the lines."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].partition(";")[0] == "application/x-ndjson"
    assert response.headers["cache-control"] == "no-store"
    assert response.content.endswith(b"\n") or not response.content
    return [msgspec.json.decode(line) for line in response.content.splitlines()]


def is_bound(service: Service, key: str) -> bool:
    """Return whether a key of the release bot has a receipt."""
    return service.client.get(f"/v1/submissions/by-key/{key}", headers=service.bearer()).status_code == 200


def test_every_line_is_answered_in_order(service: Service) -> None:
    """Each line gets the single route's body and status with its number; numbers start at 1 and count blank lines."""
    good, private, gossip = event("One."), event("Two.", visibility="private"), event("Three.", scope_id="gemini")
    raw = b"\n".join(
        [
            b"",
            msgspec.json.encode(good),
            b"  \t",
            msgspec.json.encode(private) + b"\r",
            b"{",
            msgspec.json.encode(gossip),
        ]
    )
    answers = answers_of(post(service, raw + b"\n\n"))
    assert [(answer["line"], answer["status"], answer["disposition"]) for answer in answers] == [
        (2, 201, "accepted-for-review"),
        (4, 422, "rejected-private"),
        (5, 400, "rejected-invalid"),
        (6, 422, "rejected-invalid"),
    ]
    for body, answer in ((good, answers[0]), (private, answers[1]), (gossip, answers[3])):
        single = service.submit(body)
        assert {name: value for name, value in answer.items() if name != "line"} == single.json() | {"duplicate": False}
        assert single.headers["idempotent-replayed"] == "true"


def test_later_lines_see_earlier_ones(service: Service) -> None:
    """Within one batch a key replays, conflicts and duplicates as if the lines had been sent one by one."""
    first = event("One.")
    other = event("Two.", idempotency_key=first["idempotency_key"])
    again = event("One.")
    watcher = event("Three.", producer_identity="tool:watcher")
    answers = answers_of(post(service, lines_of(first, first, other, other, again, watcher)))
    assert [(answer["status"], answer["duplicate"]) for answer in answers] == [
        (201, False),
        (201, True),
        (422, False),
        (422, True),
        (200, False),
        (403, False),
    ]
    ids = [answer["submission_id"] for answer in answers]
    assert ids[:4] == [ids[0]] * 4
    assert answers[2]["quarantine_id"] == answers[3]["quarantine_id"] is not None
    assert answers[4]["duplicate_of"] == ids[0]
    assert answers[5]["disposition"] is None


def test_a_batch_sent_again_replays_every_line(service: Service) -> None:
    """A batch that is sent again stores nothing new, and each line repeats its answer."""
    raw = lines_of(event("One."), event("Two.", visibility="private"), event("Three.", scope_id="gemini"))
    first, again = answers_of(post(service, raw)), answers_of(post(service, raw))
    assert again == [answer | {"duplicate": True} for answer in first]


def test_a_line_may_be_as_large_as_a_body_and_no_larger(service: Service) -> None:
    """A line over 64 KiB is refused, and its neighbors are not."""
    fits, too_large, after = event("One."), event("Two."), event("Three.")
    raw = b"\n".join(
        [
            msgspec.json.encode(fits).ljust(65_536),
            msgspec.json.encode(too_large).ljust(65_537),
            msgspec.json.encode(after),
        ]
    )
    answers = answers_of(post(service, raw))
    assert [answer["status"] for answer in answers] == [201, 413, 201]
    assert (answers[1]["disposition"], answers[1]["retry_same_key"]) == (None, True)
    assert [reason["code"] for reason in answers[1]["reasons"]] == ["body-too-large"]
    assert not is_bound(service, too_large["idempotency_key"])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"idempotency_key":"\xff"}', "malformed"),
        (b"[1]", "malformed"),
        (b'{"scope_id":"a","scope_id":"a"}', "duplicate-member"),
        (b"[" * 30_000, "out-of-profile"),
        (msgspec.json.encode(event(idempotency_key=None)), "key-missing"),
        (msgspec.json.encode(event(durable=True)), "direct-write"),
        (msgspec.json.encode(event(source_event_hash="blake3:" + "0" * 64)), "hash-mismatch"),
    ],
    ids=["not UTF-8", "array", "duplicate", "deep", "no key", "durable", "hash"],
)
def test_a_bad_line_harms_no_other(service: Service, line: bytes, code: str) -> None:
    """A bad line has its own answer, and the next line is admitted."""
    answers = answers_of(post(service, line + b"\n" + msgspec.json.encode(event())))
    assert [answer["line"] for answer in answers] == [1, 2]
    assert [reason["code"] for reason in answers[0]["reasons"]] == [code]
    assert answers[0]["status"] in {400, 403}
    assert answers[1]["status"] == 201


def test_a_header_key_does_not_reach_the_lines(service: Service) -> None:
    """The key header does not apply to a batch: a line without a key stays without."""
    headers = service.bearer() | {"idempotency-key": "k-1"}
    raw = lines_of(event(idempotency_key=None))
    response = service.client.post("/v1/submissions/batch", content=raw, headers=headers)
    (answer,) = answers_of(response)
    assert [reason["code"] for reason in answer["reasons"]] == ["key-missing"]
    assert answer["idempotency_key"] is None


def test_a_batch_without_lines_has_no_answers(service: Service) -> None:
    """An empty batch and a batch of blank lines return no lines."""
    assert answers_of(post(service, b"")) == answers_of(post(service, b"\n \r\n\n")) == []


def test_a_thousand_lines_are_taken(service: Service) -> None:
    """A thousand lines are admitted in one batch."""
    bodies = [event(f"Sentence {number}.") for number in range(1000)]
    answers = answers_of(post(service, lines_of(*bodies) + b"\n\n"))
    assert [answer["idempotency_key"] for answer in answers] == [body["idempotency_key"] for body in bodies]
    assert [answer["line"] for answer in answers] == list(range(1, 1001))
    assert {answer["status"] for answer in answers} == {201}


def too_many() -> bytes:
    """Return a thousand and one good lines."""
    return lines_of(event(idempotency_key="first")) + b"\n{}" * 1000


def too_large() -> bytes:
    """Return a good line in a batch of one byte over 4 MiB."""
    return lines_of(event(idempotency_key="first")).ljust(4 * 1024 * 1024 + 1, b"\n")


@pytest.mark.parametrize("make", [too_many, too_large])
def test_a_batch_over_the_limits_admits_nothing(service: Service, make: Any) -> None:
    """1,001 lines or more than 4 MiB are refused as a whole."""
    response = post(service, make())
    assert response.status_code == 413
    assert response.headers["content-type"].partition(";")[0] == "application/problem+json"
    answer = response.json()
    assert (answer["status"], answer["disposition"], answer["retry_same_key"]) == (413, None, True)
    assert [reason["code"] for reason in answer["reasons"]] == ["body-too-large"]
    assert not is_bound(service, "first")


def test_a_batch_of_four_mebibytes_is_taken(service: Service) -> None:
    """A batch of exactly 4 MiB is within the limit."""
    raw = lines_of(event()).ljust(4 * 1024 * 1024, b"\n")
    assert [answer["status"] for answer in answers_of(post(service, raw))] == [201]


def test_a_batch_needs_a_token(service: Service) -> None:
    """Without a token the batch is refused as a whole, with all members of an answer."""
    response = service.client.post("/v1/submissions/batch", content=lines_of(event(idempotency_key="first")))
    assert (response.status_code, response.json()["status"]) == (401, 401)
    assert not is_bound(service, "first")


def test_a_reader_submits_no_line(service: Service) -> None:
    """Every line from a token that may not submit is refused."""
    response = post(service, lines_of(event(), event()), "lookout", "reader", ("project:apollo",))
    assert [answer["status"] for answer in answers_of(response)] == [403, 403]


TROUBLES = [(lambda service: locked(service.location), 409), (full, 503)]


@pytest.mark.parametrize(("trouble", "status"), TROUBLES, ids=["locked", "full"])
def test_a_batch_that_cannot_be_stored_admits_nothing(service: Service, trouble: Any, status: int) -> None:
    """If the store cannot commit, no line is kept, and the same batch is admitted later."""
    bodies = [event(), *(event(str(number) * 50_000) for number in range(3))]
    service.token()
    with trouble(service):
        response = post(service, lines_of(*bodies))
    assert (response.status_code, response.json()["status"]) == (status, status)
    assert int(response.headers["retry-after"]) > 0
    assert not any(is_bound(service, body["idempotency_key"]) for body in bodies)
    answers = answers_of(post(service, lines_of(*bodies)))
    assert [(answer["status"], answer["duplicate"]) for answer in answers] == [(201, False)] * 4

"""Replies: the bytes of an answer with its header values, for a first answer or a replay."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from antechamber.core.admission.receipt import Echo
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import KEY, MAX_BATCH, NAME, PRODUCER, SCOPES, Disposition, Problem, Reason, Receipt
from antechamber.core.conversion import convert, parse_json
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.privacy import Gate


class Reply(Struct, frozen=True, kw_only=True):
    """An answer that is ready to be sent: status, body bytes and header values."""

    status: int
    body: bytes
    disposition: Disposition | None = None
    idempotency_key: str | None = None
    location: str | None = None
    replayed: bool = False
    retry_after: int | None = None
    problem: bool = False


def replay(submission: Submission, stored: str) -> Reply:
    """Return the stored answer as a replay; a hash that was left out for privacy is echoed from the request."""
    members = msgspec.json.decode(stored)
    if any(reason["code"].startswith("private-") for reason in members["reasons"]):
        members["source_event_hash"] = submission.source_event_hash
    members["duplicate"] = True
    return reply_of(msgspec.json.encode(members), submission.idempotency_key)


def reasons_of(reply: Reply) -> list[Reason]:
    """Return the reasons of an answer."""
    return convert(msgspec.json.decode(reply.body)["reasons"], list[Reason])


def redact_receipt(receipt: Receipt) -> bytes:
    """Return the answer to a private event as it is stored, which is without the event's hash."""
    return msgspec.json.encode(msgspec.structs.replace(receipt, source_event_hash=None))


def first_reply(receipt: Receipt) -> Reply:
    """Return the reply with a first answer."""
    accepted = receipt.disposition == "accepted-for-review"
    return Reply(
        status=receipt.status,
        body=msgspec.json.encode(receipt),
        disposition=receipt.disposition,
        idempotency_key=receipt.idempotency_key,
        location=f"/v1/submissions/{receipt.submission_id}" if accepted else None,
        problem=isinstance(receipt, Problem),
    )


def reply_of(body: bytes, key: str | None, retry_after: int | None = None) -> Reply:
    """Return the reply with an encoded answer."""
    members = parse_json(body, _RepeatedMembers)
    return Reply(
        status=members.status,
        body=body,
        disposition=members.disposition,
        idempotency_key=key,
        location=f"/v1/submissions/{members.submission_id}" if members.disposition == "accepted-for-review" else None,
        replayed=members.duplicate,
        retry_after=retry_after,
        problem=members.type is not None,
    )


def failure_of(error: BusyError | UnavailableError) -> Reason:
    """Return the reason of an answer that could not be stored."""
    return Reason(code="busy" if isinstance(error, BusyError) else "unavailable", message=str(error))


class _RepeatedMembers(Struct):
    """The members of a body that headers repeat."""

    status: int
    submission_id: str | None
    disposition: Disposition | None
    duplicate: bool
    type: str | None = None


def guess_echo(raw: bytes, header_key: str | None, gate: Gate) -> Echo:
    """Echo the members of a refused body that fit their grammar and are not private."""
    try:
        body = msgspec.json.decode(raw) if len(raw) <= MAX_BATCH else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    members = dict(_readable(body if isinstance(body, dict) else {}))
    members.setdefault("idempotency_key", header_key)
    return Echo(**{name: value for name, value in members.items() if not gate.find_private({name: value})})


def _readable(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    grammars = (("idempotency_key", KEY), ("producer_identity", PRODUCER), ("scope_id", NAME))
    for name, grammar in grammars:
        if isinstance(value := body.get(name), str) and grammar.fullmatch(value):
            yield name, value
    if (scope := body.get("submission_scope")) in SCOPES:
        yield "submission_scope", scope

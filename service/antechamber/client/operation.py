"""What a ledger stores: operations and their changes, with the SQL that reads and writes them."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.client.ledger_file import DamagedLedgerError
from antechamber.core.contract import Receipt
from antechamber.core.conversion import convert, parse_json
from antechamber.core.delivery_rules import State

OperationKind = Literal["submission", "call"]
"""A submission to Antechamber, or a call of another service's tool."""


class Operation(Struct, frozen=True, kw_only=True):
    """One operation and what is known about it."""

    id: int
    operation_id: str
    """UUIDv7; the idempotency key of a submission, the correlation token of a call. See also `key`."""
    kind: OperationKind
    name: str
    """The producer of a submission, or the tool of a call."""
    body: bytes | None
    """The bytes to send, the same each time; None after they were found private."""
    fingerprint: bytes
    """Finds the same event or call again."""
    source_event_hash: str | None
    normal_form: int | None
    """Version of the normal form used to compute the hash."""
    state: State
    attempts: int
    in_flight: int
    """Number of attempts that may still arrive: begun, and neither proven unsent nor refused by the service."""
    session: int | None
    """Session (opened ledger) that prepared it or has an attempt in progress; None if there is none."""
    receipt: bytes | None
    """The service's answer that ended it or refused its token, or a call's result."""
    reason: str
    recorded_at: int
    """Microseconds since 1970 UTC."""
    changed_at: int

    @property
    def key(self) -> str:
        """The idempotency key: the id, without the number that `ids_of` adds to a key that is in use."""
        return self.operation_id.partition("#")[0]

    def typed_receipt(self) -> Receipt | None:
        """Return the receipt of a submission that ended; None if the service kept none."""
        return parse_json(self.receipt, Receipt) if self.receipt and self.kind == "submission" else None

    def is_unsent(self) -> bool:
        """Return whether it is unsettled and no attempt of it can still arrive."""
        return self.state in {"pending", "uncertain"} and not self.in_flight

    def is_sealed(self) -> bool:
        """Return whether it failed because its key was sealed: the service never judged its event."""
        receipt = self.typed_receipt()
        return receipt is not None and any(reason.code == "sealed" for reason in receipt.reasons)


class OperationChange(Struct, frozen=True, kw_only=True):
    """One change of an operation."""

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


def ids_of(key: str) -> Iterator[str]:
    """Yield the possible ids of operations under a key: the key itself, then the key with a number.

    Several events, or several lines of a batch with the same event, can be recorded under one key.
    """
    yield key
    for number in count(2):
        yield f"{key}#{number}"


def fingerprint_under(key: str, fingerprint: bytes) -> bytes:
    """Return the fingerprint of an event whose caller names its calls: without that key it is another operation."""
    return blake3(key.encode() + b"\n" + fingerprint).digest()


def checksum(entry: Operation) -> bytes:
    """Return the checksum that detects an altered entry."""
    return blake3(msgspec.msgpack.encode(msgspec.structs.astuple(entry))).digest(length=16)


def decode_operation(row: tuple[Any, ...], path: Path) -> Operation:
    """Return an operation from a row of a ledger's file.

    Raises DamagedLedgerError if it is not as it was written.
    """
    try:
        entry = convert(dict(zip(COLUMNS, row[:-1], strict=True)), Operation)
    except msgspec.ValidationError as error:
        raise DamagedLedgerError(path, f"entry {row[0]}: {error}") from None
    if checksum(entry) != row[-1]:
        raise DamagedLedgerError(path, f"entry {row[0]} was altered")
    return entry


def parameters(entry: Operation) -> dict[str, Any]:
    """Return the parameters of ADD and WRITE."""
    return {**msgspec.structs.asdict(entry), "checksum": checksum(entry)}

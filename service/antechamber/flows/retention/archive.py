"""The archive of a run: all records of its items with their texts and proofs, in the form of an export of records."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.ports.store import Rows, Store
from antechamber.core.retention import ExpiredItem
from antechamber.core.times import format_time
from antechamber.flows.export import CLOSING, KINDS

_WINDOW: Final = 256
"""Sequences covered by one read."""
_CLAIMS: Final = ("derived_from", "supersedes")


class Contents(Struct, frozen=True):
    """What an archive is to hold: the sequences of its records, and the items with claims by their public ids."""

    sequences: set[int]
    claims: dict[str, ExpiredItem]
    items: int


def collect(store: Store, items: Iterable[ExpiredItem], size: int) -> Contents:
    """Find the records of items; those with a record that a log of `size` leaves does not have are left out."""
    sequences: set[int] = set()
    claims: dict[str, ExpiredItem] = {}
    number = 0
    for item in items:
        with store.read() as tx:
            own = tx.retention.leaves_with_text(item)
        if own and own[-1] < size:
            sequences.update(own)
            number += 1
            if item.supersedes is not None or item.derived_from is not None:
                claims[item.subject] = item
    return Contents(sequences, claims, number)


def archive_lines(
    store: Store, contents: Contents, signed: SignedCheckpoint, about: dict[str, Any], now: int
) -> Iterator[bytes]:
    """Yield the lines of an archive in the order of the log; `about` identifies its run in the closing record."""
    count, last = 0, None
    for number in sorted({sequence // _WINDOW for sequence in contents.sequences}):
        with store.read() as tx:
            records = _records(tx, contents, signed.size, number * _WINDOW)
        for record in sorted(records, key=lambda one: int(one["sequence"])):
            count, last = count + 1, record["sequence"]
            yield canonical(record) + b"\n"
    closing = {"record": CLOSING, "complete": False, "checkpoint": signed.note, "filters": about}
    yield canonical(closing | {"exported_at": format_time(now), "count": count, "last_sequence": last}) + b"\n"


def _records(tx: Rows, contents: Contents, size: int, first: int) -> list[dict[str, Any]]:
    tree = Tree(tx.log, size)
    end = min(first + _WINDOW, size)
    return [
        _with_claims(kind.record(row, tree), contents)
        for kind in KINDS
        for row in kind.read(tx, kind.everything, first, end)
        if row.sequence in contents.sequences
    ]


def _with_claims(record: dict[str, Any], contents: Contents) -> dict[str, Any]:
    """Add the claims of its item to the record of an event: they are removed with the text, and no leaf has them."""
    if record["record"] != "disposition":
        return record
    subject = record["leaf"]["subject"]
    item = contents.claims.get(subject.get("proposal_id") or subject["quarantine_id"])
    return record if item is None else record | {name: getattr(item, name) for name in _CLAIMS}

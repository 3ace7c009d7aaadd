"""For agents: propose events so that nothing lands twice and nothing is lost, whatever breaks."""

from antechamber.client.entry import Entry
from antechamber.client.exchange import AddressError, ReadError
from antechamber.client.ledger import Ledger, UnderWayError
from antechamber.client.ledger_file import DamagedLedgerError, LedgerError
from antechamber.client.results import (
    FailedError,
    InvalidEventError,
    NeedsReviewError,
    NotSentError,
    OperationError,
    RefusedError,
    SettledByHandError,
    UncertainError,
)
from antechamber.client.steps import Recovery
from antechamber.client.submitter import AsyncSubmitter, Submitter
from antechamber.core.errors import AntechamberError
from antechamber.core.tools import Status

__all__ = [
    "AddressError",
    "AntechamberError",
    "AsyncSubmitter",
    "DamagedLedgerError",
    "Entry",
    "FailedError",
    "InvalidEventError",
    "Ledger",
    "LedgerError",
    "NeedsReviewError",
    "NotSentError",
    "OperationError",
    "ReadError",
    "Recovery",
    "RefusedError",
    "SettledByHandError",
    "Status",
    "Submitter",
    "UncertainError",
    "UnderWayError",
]

"""Client for agents: proposes events so that none is stored twice and none is lost, after any failure."""

from antechamber.client.delivery import Recovery
from antechamber.client.errors import (
    FailedError,
    InvalidEventError,
    NeedsReviewError,
    NotSentError,
    OperationError,
    RefusedError,
    SettledByHandError,
    UncertainError,
)
from antechamber.client.ledger import Ledger, UnderWayError
from antechamber.client.ledger_file import DamagedLedgerError, LedgerError
from antechamber.client.mirror import AsyncMirror, Mirror
from antechamber.client.mirror_file import MirrorError
from antechamber.client.operation import Operation
from antechamber.client.submitter import AsyncSubmitter, Submitter
from antechamber.client.wire import AddressError, AnswerError, ReadError
from antechamber.core.contract import ChangeItem, NoteItem
from antechamber.core.errors import AntechamberError
from antechamber.core.mcp_tools import Status

__all__ = [
    "AddressError",
    "AnswerError",
    "AntechamberError",
    "AsyncMirror",
    "AsyncSubmitter",
    "ChangeItem",
    "DamagedLedgerError",
    "FailedError",
    "InvalidEventError",
    "Ledger",
    "LedgerError",
    "Mirror",
    "MirrorError",
    "NeedsReviewError",
    "NotSentError",
    "NoteItem",
    "Operation",
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

"""One transaction or read snapshot: the queries of each subject over the statements of one engine."""

from antechamber.store.access import AccessQueries
from antechamber.store.admissions import AdmissionQueries
from antechamber.store.blind import BlindQueries
from antechamber.store.changes import ChangeQueries
from antechamber.store.doctor import DoctorQueries
from antechamber.store.log import LogQueries
from antechamber.store.memories import MemoryQueries
from antechamber.store.notes import NoteQueries
from antechamber.store.quarantine import QuarantineQueries
from antechamber.store.rehearsal import RehearsalQueries
from antechamber.store.reports import ReportQueries
from antechamber.store.retention import RetentionQueries
from antechamber.store.review_queue import QueueQueries
from antechamber.store.reviews import ReviewQueries
from antechamber.store.sealed_events import SealedEventQueries
from antechamber.store.search import SearchQueries
from antechamber.store.statements import Statements
from antechamber.store.upkeep import UpkeepQueries
from antechamber.store.webhooks import WebhookQueries


class Transaction:
    """Implements core.ports.store.Rows over `sql`, whose owner begins and ends the transaction.

    `lane` is the counter lane of this process. `known_numbers` is a cache that may outlive the transaction.
    """

    __slots__ = (
        "access",
        "admission",
        "blind",
        "changes",
        "doctor",
        "log",
        "memories",
        "notes",
        "quarantine",
        "queue",
        "rehearsal",
        "reports",
        "retention",
        "review",
        "sealed_events",
        "search",
        "sql",
        "upkeep",
        "webhooks",
    )

    def __init__(self, sql: Statements, lane: int = 0, known_numbers: dict[str, int] | None = None) -> None:
        self.sql = sql
        self.admission = AdmissionQueries(sql, lane, {} if known_numbers is None else known_numbers)
        self.memories = MemoryQueries(sql)
        self.search = SearchQueries(sql)
        self.changes = ChangeQueries(sql)
        self.queue = QueueQueries(sql)
        self.review = ReviewQueries(sql, lane)
        self.blind = BlindQueries(sql)
        self.notes = NoteQueries(sql)
        self.quarantine = QuarantineQueries(sql)
        self.sealed_events = SealedEventQueries(sql)
        self.access = AccessQueries(sql)
        self.reports = ReportQueries(sql)
        self.rehearsal = RehearsalQueries(sql)
        self.retention = RetentionQueries(sql)
        self.doctor = DoctorQueries(sql)
        self.webhooks = WebhookQueries(sql)
        self.upkeep = UpkeepQueries(sql)
        self.log = LogQueries(sql)

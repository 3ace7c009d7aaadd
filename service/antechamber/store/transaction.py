"""One transaction or read snapshot: the queries of each subject over the statements of one engine."""

from antechamber.store.access import AccessQueries
from antechamber.store.admissions import AdmissionQueries
from antechamber.store.doctor import DoctorQueries
from antechamber.store.log import LogQueries
from antechamber.store.memories import MemoryQueries
from antechamber.store.quarantine import QuarantineQueries
from antechamber.store.reports import ReportQueries
from antechamber.store.review_queue import QueueQueries
from antechamber.store.reviews import ReviewQueries
from antechamber.store.statements import Statements


class Transaction:
    """Implements core.ports.store.Rows over `sql`, whose owner begins and ends the transaction.

    `lane` is the counter lane of this process. `known_producers` is a cache that may outlive the transaction.
    """

    __slots__ = ("access", "admission", "doctor", "log", "memories", "quarantine", "queue", "reports", "review", "sql")

    def __init__(self, sql: Statements, lane: int = 0, known_producers: dict[str, int] | None = None) -> None:
        self.sql = sql
        self.admission = AdmissionQueries(sql, lane, {} if known_producers is None else known_producers)
        self.memories = MemoryQueries(sql)
        self.queue = QueueQueries(sql)
        self.review = ReviewQueries(sql, lane)
        self.quarantine = QuarantineQueries(sql)
        self.access = AccessQueries(sql)
        self.reports = ReportQueries(sql)
        self.doctor = DoctorQueries(sql)
        self.log = LogQueries(sql)

"""The table of all metrics: name, type, help text, labels, and the values of labels that form a closed list."""

from itertools import product
from typing import Final, Literal, get_args

from msgspec import Struct

from antechamber.core.contract import CODES, PRODUCER_KINDS, Disposition
from antechamber.core.review.decision import DECISIONS, SETTLEMENTS

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[str, ...]
DISPOSITIONS: Final[Labels] = get_args(Disposition)
RESULTS: Final = ("stored", "replayed")
"""What an answered attempt was: the first under its key, or a repetition that is only counted."""
SIGNER_STATES: Final = ("signing", "refused", "closed")
ALARM_SOURCES: Final = (
    *("store", "policy", "processes", "clock", "signer", "pin", "replication", "replica", "provider", "witness"),
    "secret",
    "background",
)
OTHER: Final = "other"
"""The label for everything beyond the maximum number of labels."""
MAX_PRODUCERS: Final = 200
"""Maximum number of producers that a process counts by name; all others are counted as one."""
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SCAN_SECONDS: Final = (0.00001, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1)
_SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)
_AGES: Final = (60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0, 259_200.0, 604_800.0, 2_592_000.0)


class Metric(Struct, frozen=True):
    """One metric; `bounds` are the upper bounds of a histogram's buckets."""

    name: str
    kind: Kind
    text: str
    labels: Labels = ()
    values: tuple[Labels, ...] = ()
    """The values of each label, if they form a closed list; these are shown from the start, with the value 0."""
    bounds: tuple[float, ...] = ()

    def known_labels(self) -> list[Labels]:
        """Return every combination of the labels' values, as far as they form closed lists."""
        return list(product(*self.values)) if self.values or not self.labels else []


def _counter(name: str, text: str, *labels: str, values: tuple[Labels, ...] = ()) -> Metric:
    return Metric(f"antechamber_{name}_total", "counter", text, labels, values)


def _gauge(name: str, text: str, *labels: str, values: tuple[Labels, ...] = ()) -> Metric:
    return Metric(f"antechamber_{name}", "gauge", text, labels, values)


def _histogram(name: str, text: str, bounds: tuple[float, ...]) -> Metric:
    return Metric(f"antechamber_{name}", "histogram", text, bounds=bounds)


ATTEMPTS: Final = _counter(
    "attempts", "Answered attempts to submit an event.", "producer_kind", "result", values=(PRODUCER_KINDS, RESULTS)
)
SUBMISSIONS: Final = _counter(
    "submissions", "Stored submissions.", "disposition", "producer_kind", values=(DISPOSITIONS, PRODUCER_KINDS)
)
TASKS: Final = _counter("tasks", "Events that a producer submitted first.", "producer_kind", values=(PRODUCER_KINDS,))
TASK_WRITES: Final = _counter(
    "task_writes",
    "Submissions stored for these events, also those of the same event under another key.",
    "producer_kind",
    values=(PRODUCER_KINDS,),
)
PRODUCER_ATTEMPTS: Final = _counter("producer_attempts", "Answered attempts by producer.", "producer")
PRODUCER_DUPLICATES: Final = _counter(
    "producer_duplicates", "Attempts that were replays or duplicates, by producer.", "producer"
)
REFUSALS: Final = _counter(
    "refusals", "Refusals that left the key free, by the code of the contract.", "code", values=(tuple(CODES),)
)
ADMISSION_SECONDS: Final = _histogram(
    "admission_seconds", "Time from a complete body to its answer, which is on disk by then.", _SECONDS
)
SCAN_SECONDS: Final = _histogram("scan_seconds", "Time of the detectors for one submission.", _SCAN_SECONDS)
FINDINGS: Final = _counter("findings", "Submissions in which a rule of the detectors found something.", "rule")
GROUP_SIZE: Final = _histogram("group_size", "Items of work that one transaction held.", _SIZES)
TRANSACTION_SECONDS: Final = _histogram(
    "transaction_seconds", "Time of one transaction, from its begin to the end of its commit.", _SECONDS
)
COMMIT_SECONDS: Final = _histogram(
    "commit_seconds", "Time of one commit, most of which is the sync of the disk.", _SECONDS
)
FAILED_TRANSACTIONS: Final = _counter("failed_transactions", "Transactions whose callers received an error.")
DECISIONS_MADE: Final = _counter(
    "decisions", "Decisions of curators.", "decision", values=((*DECISIONS, *SETTLEMENTS),)
)
DECISION_AGE: Final = _histogram(
    "decision_age_seconds", "Time from the submission of a proposal to a decision on its text.", _AGES
)
SIGN_INS: Final = _counter("sign_ins", "Attempts to sign in.", "result", values=(("done", "failed", "limited"),))
QUEUE_DEPTH: Final = _gauge("queue_depth", "Proposals that wait for a decision.")
QUEUE_OLDEST: Final = _gauge("queue_oldest_seconds", "Age of the proposal that has waited longest; 0 if none waits.")
LOG_SIZE: Final = _gauge("log_size", "Leaves of the transparency log.")
UNSIGNED_LEAVES: Final = _gauge("unsigned_leaves", "Leaves that no checkpoint covers yet.")
CHECKPOINT_AGE: Final = _gauge("checkpoint_age_seconds", "Age of the last signed checkpoint; 0 before the first.")
RETENTION_AGE: Final = _gauge(
    "retention_age_seconds",
    "Time since retention ran last; missing before the first run, and where the policy keeps all texts.",
)
BACKUP_AGE: Final = _gauge("backup_age_seconds", "Age of the last backup; missing before the first.")
SIGNER_STATE: Final = _gauge(
    "signer_state",
    "1 for the state of the signer: it signs, it was refused, or writing is closed because the log is in doubt.",
    "state",
    values=(SIGNER_STATES,),
)
WEBHOOK_ATTEMPTS: Final = _counter(
    "webhook_attempts", "Attempts to deliver an event to a webhook.", "result", values=(("delivered", "failed"),)
)
WEBHOOKS: Final = _gauge("webhooks", "Webhooks by state.", "state", values=(("active", "failing", "disabled"),))
WEBHOOK_BACKLOG: Final = _gauge("webhook_backlog", "Events that webhooks have not got yet, at most 1,001 of each.")
WEBHOOK_OLDEST: Final = _gauge(
    "webhook_oldest_seconds", "Age of the oldest event that an active webhook has not got; 0 if each has got all."
)
STORE_UP: Final = _gauge("store_up", "1 if the store could be read for these figures.")
STORE_BYTES: Final = _gauge("store_bytes", "Size of the database with its indexes.")
DISK_FREE: Final = _gauge("disk_free_bytes", "Free space on the disk of the data folder.")
DISK_SIZE: Final = _gauge("disk_bytes", "Size of the disk of the data folder.")
POLICY: Final = _gauge("policy_info", "1 for each policy that a process enforces.", "digest")
ALARMS: Final = _gauge("alarms", "Alarms that need an operator, by source.", "source", values=(ALARM_SOURCES,))
BUILD: Final = _gauge("build_info", "1 for the version and the engine of each process.", "version", "engine")
PROCESSES: Final = _gauge("processes", "Processes of this host that these figures cover.")

METRICS: Final[dict[str, Metric]] = {
    metric.name: metric for metric in (value for value in list(globals().values()) if isinstance(value, Metric))
}
"""All metrics by name, in the order of this file."""

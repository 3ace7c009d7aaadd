"""The leaf of a run of retention."""

from antechamber.core.log.leaf import Leaf, leaf_bytes
from antechamber.core.log.rows import LeafWrite
from antechamber.core.retention import RetentionRun
from antechamber.core.times import format_time


def of_retention(run: RetentionRun) -> LeafWrite:
    """Return the leaf of a run of retention, with the digest of the archive that was written before it."""
    leaf = Leaf(
        action="retention",
        actor="command-line",
        policy_digest=run.policy_digest,
        role="operator",
        subject={
            "retention_id": run.retention_id,
            "archive": run.archive,
            "items": str(run.items),
            "size": str(run.size),
        },
        time=format_time(run.begun_at),
        after="begun",
    )
    return LeafWrite(leaf_bytes(leaf), run.retention_id, None)

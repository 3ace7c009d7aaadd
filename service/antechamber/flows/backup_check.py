"""What a backup says about the log of its snapshot, and whether a copy holds it."""

from antechamber.core.backups.manifest import LogState
from antechamber.core.backups.newer_log import Erasure
from antechamber.core.errors import LogError
from antechamber.core.log.ports import LogRows
from antechamber.core.log.tree import Tree
from antechamber.core.ports.store import Rows
from antechamber.flows.checkpoint_comparison import Verify, compare


def state_of(log: LogRows) -> LogState:
    """Return how far the log of a snapshot goes."""
    tree, last = Tree(log), log.checkpoint()
    return LogState(size=tree.size, root=tree.root(tree.size).hex(), checkpoint=last.note if last else None)


def check_copy(tx: Rows, state: LogState, verify: Verify) -> list[str]:
    """Return what is wrong with a copy: all that the doctor finds, and a log that is not the one of its backup."""
    findings, tree = list(tx.doctor.check()), Tree(tx.log)
    if (tree.size, tree.root(tree.size).hex()) != (state.size, state.root):
        findings.append(f"the log has {tree.size} leaves that are not the {state.size} leaves of the manifest")
    if state.checkpoint is not None:
        try:
            compare(tx.log, tree, [state.checkpoint], verify, pinned=True)
        except LogError as error:
            findings.append(f"the log contradicts the checkpoint of the manifest: {error}")
    return findings


def erasures_to_repeat(tx: Rows, erasures: list[Erasure]) -> list[Erasure]:
    """Return the erasures of texts that a restored copy holds; it holds none of what was submitted later."""
    return [one for one in erasures if tx.log.leaves_of_item(one.subject) or tx.quarantine.event(one.subject)]

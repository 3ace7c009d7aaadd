"""What the page of a proposal shows of its conversation."""

from msgspec import Struct

from antechamber.core.policy import Policy
from antechamber.core.ports.store import Rows
from antechamber.core.review.notes import question_obstacle
from antechamber.core.rows.access import UserRow
from antechamber.core.rows.notes import NoteRow, OpenQuestion
from antechamber.core.rows.review import ProposalRow


class ConversationView(Struct, frozen=True, kw_only=True):
    """The conversation about a proposal, and what a curator can do in it."""

    notes: list[NoteRow]
    """Oldest first."""
    asked: OpenQuestion | None
    """The question that its producer has not answered yet."""
    assigned_to: str | None
    obstacle: str | None
    """Why its producer cannot be asked, or None."""
    shared: bool
    """Whether its producer reads the notes."""
    curators: list[str]
    """The persons to whom it can be assigned."""
    mentioned: bool
    """Whether a note mentions the reader, who has neither answered it nor marked it as seen."""

    @property
    def of_producer(self) -> int:
        """The number of notes that the producer wrote."""
        return sum(note.person is None for note in self.notes)

    @property
    def answered(self) -> NoteRow | None:
        """The answer, if the latest thing that was said is one."""
        said = [note for note in self.notes if note.kind != "assignment"]
        return said[-1] if said and said[-1].kind == "answer" else None


def view_conversation(
    tx: Rows, policy: Policy, proposal: ProposalRow, owners: frozenset[str], reader: str
) -> ConversationView:
    """Return the conversation about a proposal for a person; its producer's owners cannot be assigned to it."""
    [turn] = tx.notes.turns([proposal.id])
    return ConversationView(
        notes=tx.notes.of_proposal(proposal.id),
        asked=tx.notes.open_question(proposal.id),
        assigned_to=turn.assigned_to,
        obstacle=obstacle_to_question(tx, policy, proposal),
        shared=policy.producer.sees_notes,
        curators=sorted({user.person for user in active_curators(tx)} - owners),
        mentioned=tx.notes.mentions(proposal.id, reader),
    )


def active_curators(tx: Rows) -> list[UserRow]:
    """Return the accounts of curators that can sign in."""
    return [user for user in tx.access.users() if user.role == "curator" and user.disabled_at is None]


def obstacle_to_question(tx: Rows, policy: Policy, proposal: ProposalRow) -> str | None:
    """Return why a proposal's producer cannot be asked, or None."""
    return question_obstacle(
        shared=policy.producer.sees_notes,
        listed=proposal.producer_identity in policy.producers,
        reachable=not tx.notes.opened_from_conflict(proposal.id),
        open_question=tx.notes.open_question(proposal.id) is not None,
    )

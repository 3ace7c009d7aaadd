"""The MCP tools inside the service: what they answer for submissions that are not the bearer's, and refused notes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.mcp_tools import AnswerQuestion
from antechamber.flows.mcp_tools import InProcessTools
from antechamber.flows.producer_notes import ProducerNotes
from antechamber.settings import Location
from flows.test_edges import BOT, Flows
from support import event

UNKNOWN = "019a0000-0000-7000-8000-000000000000"


@pytest.fixture
def opened(location: Location, policies: Path) -> Iterator[Flows]:
    """All flows over a fresh store of each engine."""
    made = Flows(location, policies)
    yield made
    made.store.close()


@pytest.fixture
def tools(opened: Flows) -> InProcessTools:
    """The tools of the release bot."""
    notes = ProducerNotes(opened.store, opened.keeper, opened.admission, opened.clock, opened.chance)
    return InProcessTools(opened.admission, opened.recall, notes, BOT)


def test_the_status_of_an_own_submission_is_found_and_no_other(opened: Flows, tools: InProcessTools) -> None:
    """An unknown id has no status, without an error."""
    submitted = opened.submit(event("Run the migration first."))
    found = asyncio.run(tools.status(submitted["submission_id"]))
    assert found is not None
    assert found.submission_id == submitted["submission_id"]
    assert asyncio.run(tools.status(UNKNOWN)) is None


def test_an_answer_to_no_submission_or_with_a_secret_is_refused(opened: Flows, tools: InProcessTools) -> None:
    """The error names the cause; a private answer is refused as on the HTTP route."""
    submitted = opened.submit(event("Run the migration first."))
    with pytest.raises(AntechamberError, match="no submission of yours"):
        asyncio.run(tools.answer(AnswerQuestion(submission_id=UNKNOWN, text="Yes.")))
    with pytest.raises(RequestRefusedError, match="email-address"):
        asyncio.run(
            tools.answer(AnswerQuestion(submission_id=submitted["submission_id"], text="Ask ada@lovelace.dev."))
        )
    written = asyncio.run(tools.answer(AnswerQuestion(submission_id=submitted["submission_id"], text="Always.")))
    assert written.text == "Always."
    assert asyncio.run(tools.memory(UNKNOWN)) is None

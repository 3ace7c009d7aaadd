"""The event stream: what it sends, and that it leaves no tasks behind."""

import asyncio
import contextlib
import json
import re
from typing import Any

from antechamber.web.waiting import first_of
from support import Service, event


def messages(service: Service, path: str) -> list[dict[str, Any]]:
    """Return what a stream sends before the service ends it."""
    service.state.stopping.set()
    text = service.sign_in().browser.get(path).text
    return [json.loads(line) for line in re.findall(r"^data: (.*?)\r?$", text, re.MULTILINE)]


def test_the_stream_sends_counters_and_ids_only(service: Service) -> None:
    """The stream sends counters, and state, version and activity of the requested proposal, but no text."""
    proposal = service.submit(event("A text that stays on its page.")).json()["proposal_id"]
    none = {"pending": 1, "quarantined": 0, "proposal": None, "activity": None}
    assert messages(service, "/review/changes") == [none]
    asked = messages(service, f"/review/changes?proposal={proposal}")
    quiet = {"decisions": 0, "notes": 0, "answers": 0}
    assert asked == [{"pending": 1, "quarantined": 0, "proposal": "pending 1", "activity": quiet}]
    assert messages(service, "/review/changes?proposal=%00")[0]["proposal"] is None


def test_a_stream_that_is_closed_while_it_waits_leaves_no_task_behind() -> None:
    """A stream that is closed while waiting leaves no task behind; each open tab would otherwise leave two."""

    async def closed() -> set[asyncio.Task[Any]]:
        waiting = asyncio.create_task(first_of(asyncio.Event().wait(), asyncio.Event().wait(), seconds=60))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0)
        own = asyncio.current_task()
        return {task for task in asyncio.all_tasks() if task is not own}

    assert asyncio.run(closed()) == set()


def test_the_stream_shows_what_leaves_state_and_version_as_they_are(service: Service) -> None:
    """A flag, an assignment and an answer are counted as the page counts them, so that an open page notices them."""
    receipt, bob = service.submit(event("Deploy on Fridays.")).json(), service.sign_in("bob")
    proposal = receipt["proposal_id"]
    bob.write(proposal, "assignment", person="bob")
    bob.write(proposal, "question", "Which Fridays?")
    service.answer(receipt["submission_id"], "All of them.", "k")
    bob.decide(proposal, "flag")
    page = bob.browser.get(f"/review/{proposal}").text
    (sent,) = messages(service, f"/review/changes?proposal={proposal}")
    assert (sent["proposal"], sent["activity"]) == ("pending 1", {"decisions": 1, "notes": 3, "answers": 1})
    for name, number in sent["activity"].items():
        assert f'data-{name}="{number}"' in page

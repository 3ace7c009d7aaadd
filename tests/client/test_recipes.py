"""The recipes of the client's document, run as written with the current packages; no model and no network."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest

from antechamber.client import Ledger, Submitter
from antechamber.core.contract import MemoryPage
from antechamber.mcp_server import TOOLS
from client.test_mcp import LESSON
from support import database, event, place_of, running, serving

DOCUMENT = Path(__file__).resolve().parents[2] / "service/antechamber/client/README.md"


def recipe(name: str) -> str:
    """Return the code of a recipe, which has at most 20 lines."""
    found = re.search(rf"### Recipe: {name}\n.*?```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert len([line for line in found[1].splitlines() if line]) <= 20
    return found[1]


def run(name: str, **known: Any) -> dict[str, Any]:
    """Run the code of a recipe, and return what it defines."""
    defined = dict(known)
    exec(recipe(name), defined)  # noqa: S102 -- our own documents
    return defined


@pytest.fixture
def live(tmp_path: Path, policies: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A service with one memory; the environment leads to it and to the installed command."""
    with running(tmp_path / "data", policies) as service:
        proposal = service.submit(event("Deploys run on Friday.")).json()["proposal_id"]
        assert service.sign_in().decide(proposal, "approve").status_code == 303
        token = service.token()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with serving(tmp_path / "data", policies) as (url, _):
        monkeypatch.setenv("ANTECHAMBER_URL", url)
        monkeypatch.setenv("ANTECHAMBER_TOKEN", token)
        yield url, token


def proposals(tmp_path: Path) -> int:
    """Return the number of proposals, without the one that became a memory."""
    with database(place_of(tmp_path / "data")) as raw:
        number: int = raw.execute("SELECT count(*) FROM proposals").fetchone()[0]
    return number - 1


def test_the_official_sdk_repeats_a_call_and_makes_one_proposal(live: tuple[str, str], tmp_path: Path) -> None:
    """A retry gets the receipt of the first call; a reworded retry is refused."""
    del live
    propose = run("MCP with the official SDK")["propose"]
    assert asyncio.run(propose("toolu_01", LESSON)).startswith("accepted-for-review")
    assert asyncio.run(propose("toolu_01", LESSON)).startswith("accepted-for-review")
    assert asyncio.run(propose("toolu_01", LESSON | {"content": "Migrate first."})).startswith("key-reused")
    assert proposals(tmp_path) == 1


class State(TypedDict, total=False):
    """What the nodes of the graph pass on."""

    event: dict[str, Any]
    known: list[str]
    submission_id: str


def test_a_graph_reads_memory_and_proposes_once(live: tuple[str, str], tmp_path: Path) -> None:
    """A node reads approved memory from the store; the node that proposes may run again, and writing is refused."""
    from langgraph.graph import StateGraph  # noqa: PLC0415 -- slow to import

    unsent = event("Deploys need two approvals.")
    for name in ("idempotency_key", "source_event_hash"):
        unsent.pop(name, None)
    with Ledger("agent.ledger") as ledger, Submitter(*live, ledger) as client:
        defined = run("LangGraph", client=client)
        store = defined["ApprovedMemory"]()

        async def read(_: State, runtime: Any) -> State:
            found = await runtime.store.asearch(("project", "apollo"), query="When do deploys run?")
            return {"known": [item.value["content"] for item in found]}

        graph = StateGraph(State).add_node("read", read).add_node("propose", defined["propose"])
        graph.add_edge("__start__", "read").add_edge("read", "propose")
        compiled = graph.compile(store=store)
        states = [asyncio.run(compiled.ainvoke({"event": unsent})) for _ in range(2)]
        assert states[0] == states[1]
        assert states[0]["known"] == ["Deploys run on Friday."]
        page = client.memories("project", "apollo")
        assert isinstance(page, MemoryPage)
        (only,) = page.items
        assert store.get(("project", "apollo"), only.memory_id).value["kind"] == only.kind
        assert store.get(("project", "apollo"), "nowhere") is None
        with pytest.raises(NotImplementedError, match="read-only"):
            store.put(("project", "apollo"), "mine", {"content": "Deploys run daily."})
    assert proposals(tmp_path) == 1


def test_an_agent_proposes_over_http_with_the_id_of_its_call(live: tuple[str, str], tmp_path: Path) -> None:
    """The tools pass the SDK's strict mode; a run that repeats its call in other words gets the original's id."""
    del live
    # Each worker collects this file, and these packages take seconds to import.
    from agents import RunConfig, Runner  # noqa: PLC0415

    from client.scripted_model import Scripted  # noqa: PLC0415

    defined, silent = run("OpenAI Agents SDK"), RunConfig(tracing_disabled=True)

    async def journey() -> list[str]:
        async with defined["memory"]:
            strict = {tool.name: tool.strict_json_schema for tool in await defined["agent"].get_mcp_tools(None)}
            assert strict == dict.fromkeys(TOOLS, True)
            wordings = ("Run the migration first.", "Run the migration first.", "First run the migration.")
            runs = [defined["agent"].clone(model=Scripted(words)) for words in wordings]
            return [(await Runner.run(agent, "Propose it.", run_config=silent)).final_output for agent in runs]

    first, again, reworded = asyncio.run(journey())
    submission_id = re.search(r"submission_id: ([0-9a-f-]+)", first)
    assert submission_id
    assert "It was proposed before; nothing changed." in again
    assert f"as submission {submission_id[1]};" in reworded
    assert proposals(tmp_path) == 1

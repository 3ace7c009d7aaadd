"""Routes for agents: submit events, read receipts, seal keys, and read memories."""

from functools import partial
from typing import Any, Final

from litestar import Controller, Request, Response, get, post, put, route
from litestar.di import NamedDependency
from litestar.params import FromPath

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import MAX_BATCH, MAX_BODY, Holder, MemoryDetail, MemoryPage
from antechamber.core.errors import read_all, refuse
from antechamber.flows.admit import Admission
from antechamber.flows.producer_notes import ProducerNotes
from antechamber.flows.recall import DEFAULT_ITEMS, MemoryQuery, Recall
from antechamber.flows.replies import Reply
from antechamber.flows.seal import KeySealer
from antechamber.web import thread_pools
from antechamber.web.auth import needs_token
from antechamber.web.problems import respond
from antechamber.web.query_parameters import check_names, read_count
from antechamber.web.request_body import read_body

NO_STORE: Final = {"cache-control": "no-store"}
NDJSON: Final = "application/x-ndjson"
AgentRequest = Request[Bearer, Any, Any]
_MEMORY_PARAMETERS: Final = ("submission_scope", "scope_id", "scope", "q", "match", "limit", "after")


class Submissions(Controller):
    """`/v1/submissions`: submits events and reads their receipts."""

    path = "/v1/submissions"
    guards = (needs_token,)

    @post("/batch", request_max_body_size=MAX_BATCH)
    async def submit_batch(self, request: AgentRequest, admission: NamedDependency[Admission]) -> Response[bytes]:
        """Submit up to 1,000 events, one JSON object per line."""
        body = await read_body(request.scope, request.receive, MAX_BATCH)
        # The token may have been revoked while the body arrived.
        await needs_token(request, request.route_handler)
        answer = await admission.submit_batch(body, request.user)
        if isinstance(answer, Reply):
            return respond(answer)
        return Response(b"".join(answer), status_code=200, media_type=NDJSON, headers=NO_STORE)

    @get("/{submission_id:str}")
    async def by_id(
        self, submission_id: FromPath[str], request: AgentRequest, recall: NamedDependency[Recall]
    ) -> Response[dict[str, Any]]:
        """Return the receipt and review of one of the producer's submissions."""
        receipt = await thread_pools.run(
            thread_pools.AGENTS, partial(recall.receipt, request.user, submission_id=submission_id)
        )
        return Response(receipt, headers=NO_STORE)

    @get("/by-key/{idempotency_key:str}")
    async def by_key(
        self, idempotency_key: FromPath[str], request: AgentRequest, recall: NamedDependency[Recall]
    ) -> Response[dict[str, Any]]:
        """Return the receipt and review by one of the producer's keys."""
        receipt = await thread_pools.run(
            thread_pools.AGENTS, partial(recall.receipt, request.user, key=idempotency_key)
        )
        return Response(receipt, headers=NO_STORE)

    @put("/by-key/{idempotency_key:str}/seal", request_max_body_size=MAX_BODY)
    async def seal(
        self, idempotency_key: FromPath[str], request: AgentRequest, sealer: NamedDependency[KeySealer]
    ) -> Response[bytes]:
        """Seal a free key, so that no late request can use it."""
        return respond(await sealer.seal(idempotency_key, request.user))


@post("/v1/submissions/{submission_id:str}/notes", guards=[needs_token], request_max_body_size=MAX_BODY)
async def write_note(
    submission_id: FromPath[str], request: AgentRequest, producer_notes: NamedDependency[ProducerNotes]
) -> Response[bytes]:
    """Answer a curator's question about a proposal, or add a note to it."""
    body = await read_body(request.scope, request.receive, MAX_BODY)
    await needs_token(request, request.route_handler)
    keys = request.headers.getall("idempotency-key", [])
    return respond(await producer_notes.write(submission_id, body, keys, request.user))


@get("/v1/token", guards=[needs_token], sync_to_thread=False)
def whose_token(request: AgentRequest, recall: NamedDependency[Recall]) -> Response[Holder]:
    """Return the owner and rights of the token, so that an agent need not be configured with its own name."""
    return Response(recall.holder(request.user), headers=NO_STORE)


class Memories(Controller):
    """`/v1/memories`: reads memories, for tokens that may read them."""

    path = "/v1/memories"
    guards = (needs_token,)

    @get("/")
    async def recall(self, request: AgentRequest, recall: NamedDependency[Recall]) -> Response[MemoryPage]:
        """Return memories of exactly the named scopes: the best answers to `q`, or the newest."""
        query = request.query_params
        wanted = MemoryQuery(
            submission_scope=query.get("submission_scope"),
            scope_id=query.get("scope_id"),
            scopes=query.getall("scope", []),
            q=query.get("q", ""),
            match=query.get("match", "any"),
            limit=read_count(query, "limit", DEFAULT_ITEMS),
            after=query.get("after"),
        )

        def read() -> MemoryPage:
            read_all(partial(check_names, query, *_MEMORY_PARAMETERS), wanted.check)
            return recall.memories(request.user, wanted)

        return Response(await thread_pools.run(thread_pools.AGENTS, read), headers=NO_STORE)

    # The same pattern as that of refuse_direct_write: beside it the router finds no other.
    @get("/{rest:path}")
    async def read_memory(
        self, rest: FromPath[str], request: AgentRequest, recall: NamedDependency[Recall]
    ) -> Response[MemoryDetail]:
        """Return one memory in any state."""
        memory_id = str(rest).removeprefix("/")
        memory = await thread_pools.run(thread_pools.AGENTS, recall.memory, request.user, memory_id)
        return Response(memory, headers=NO_STORE)


@route(
    ["/v1/memories", "/v1/memories/{rest:path}"],
    http_method=["POST", "PUT", "PATCH", "DELETE"],
    guards=[needs_token],
    sync_to_thread=False,
    status_code=403,
)
def refuse_direct_write(request: AgentRequest, admission: NamedDependency[Admission]) -> Response[bytes]:
    """Refuse every write to memories: only a curator's decision creates one."""
    if request.user.role == "producer":
        admission.direct.note(request.user.name)
    raise refuse("direct-write", "no token writes memories; submit an event and let a curator decide")

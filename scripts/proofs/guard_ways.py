"""Transports to a tool server that lose calls: the server's process dies, or the connection to it fails."""

import asyncio
import contextlib
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
from mcp import Client, StdioServerParameters, stdio_client

from lib.processes import free_port

HERE: Final = Path(__file__).resolve().parent
SERVER: Final = str(HERE / "guard_server.py")
LATE: Final = 0.4
"""Seconds after which no request is still in transit, as configured for the agents."""
INSIDE: Final = frozenset({"none", "cancel", "crash"})
"""Cases without a fault on the transport: none, a cancelled agent, an agent that dies."""
CHANCE: Final = random.Random()  # noqa: S311 -- no secret
_WRITES: Final = (b'"charge"', b'"post"', b'"put"', b'"append"')


class Way(Protocol):
    """A transport that opens sessions with a fault."""

    faults: tuple[str, ...]
    met: Counter[str]

    def session(self, fault: str) -> contextlib.AbstractAsyncContextManager[Any]:
        """Open a session with a fault; `none` means without one."""
        ...


class Stdio:
    """Standard input and output: each session starts a server process, which dies or gives a false error on request.

    `effects` is the file in which the server counts effects.
    """

    faults = ("before", "during", "after", "refuse", "cancel", "crash")

    def __init__(self, effects: Path) -> None:
        self._effects = effects
        self.met: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def session(self, fault: str) -> AsyncIterator[Any]:
        """Start a server that exits at its first or second write."""
        environment = {} if fault in INSIDE else {"FAULT": fault, "AT": str(CHANCE.choice((1, 1, 2)))}
        params = StdioServerParameters(
            command=sys.executable, args=[SERVER, "stdio", str(self._effects)], env=environment
        )
        async with Client(stdio_client(params)) as client:
            yield client


class Http:
    """Streamable HTTP: a permanent server, and a relay in front of it that cuts connections.

    `before`: the request never arrives. `during`: the connection breaks while the tool runs. `after`: the answer is
    lost. `late`: the agent's connection breaks, and the request arrives afterwards. `effects` is the file in which the
    server counts effects.
    """

    faults = ("before", "during", "after", "late", "cancel", "crash")

    def __init__(self, effects: Path) -> None:
        self._effects = effects
        self._fault = "none"
        self.met: Counter[str] = Counter()
        self._late: set[asyncio.Task[Any]] = set()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Http"]:
        """Run the server and the relay in front of it."""
        self._port = free_port()
        process = await asyncio.create_subprocess_exec(
            sys.executable, SERVER, "http", str(self._effects), str(self._port)
        )
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self._port}", timeout=20) as self._forward:
                await self._ready()
                between = await asyncio.start_server(self._relay, "127.0.0.1", 0)
                async with between:
                    self.url = f"http://127.0.0.1:{between.sockets[0].getsockname()[1]}/mcp"
                    yield self
                    await asyncio.gather(*self._late, return_exceptions=True)
        finally:
            process.terminate()
            await process.wait()

    async def _ready(self) -> None:
        for _ in range(200):
            with contextlib.suppress(httpx.TransportError):
                await self._forward.get("/")
                return
            await asyncio.sleep(0.05)
        sys.exit("the tool server did not start")

    @contextlib.asynccontextmanager
    async def session(self, fault: str) -> AsyncIterator[Any]:
        """Open a session through the relay; one write, or occasionally a read, meets the fault."""
        self._fault = fault
        try:
            async with Client(self.url) as client:
                yield client
        finally:
            self._fault = "none"

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward the requests of one connection until one meets the fault."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields if one)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = line.split(" ")
        kept = {name: headers[name] for name in headers if name not in {"host", "connection", "content-length"}}
        asking = self._forward.request(method, path, headers=kept, content=body)
        fault = self._take(body)
        if fault in {"before", "late"}:
            if fault == "late":
                self._later(asking)
            else:
                asking.close()
            return False
        if fault == "during":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asking, CHANCE.uniform(0.001, 0.02))
            return False
        answer = await asking
        if fault == "after":
            return False
        writer.write(f"HTTP/1.1 {answer.status_code} OK\r\n".encode())
        told = {name: answer.headers[name] for name in ("content-type", "mcp-session-id") if name in answer.headers}
        for name, value in (told | {"content-length": str(len(answer.content))}).items():
            writer.write(f"{name}: {value}\r\n".encode())
        writer.write(b"\r\n" + answer.content)
        await writer.drain()
        return True

    def _take(self, body: bytes) -> str:
        """Return and clear the fault for this request."""
        fault = self._fault
        if fault in INSIDE or b'"tools/call"' not in body:
            return "none"
        if not any(name in body for name in _WRITES):
            return CHANCE.choice(("before", "none", "none", "none"))
        self._fault = CHANCE.choice(("none", "none", fault))
        self.met[fault] += 1
        return fault

    def _later(self, asking: Any) -> None:
        async def arrive() -> None:
            await asyncio.sleep(CHANCE.uniform(0, LATE / 4))
            await asking

        task = asyncio.create_task(arrive())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

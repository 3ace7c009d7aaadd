"""Lists the tools of an MCP server that a command starts, over its standard input and output.

It speaks the few messages that this needs itself, so that an audit does not need the MCP SDK, and so that each way in
which a command can fail has an error of its own.
"""

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber import __version__
from antechamber.core.conversion import convert
from antechamber.core.errors import AntechamberError

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_TOOLS: Final = 10_000
MAX_NOISE: Final = 1000
"""Maximum number of lines between two messages that are no messages."""
_KEPT_STDERR_BYTES: Final = 2000
_GRACE_SECONDS: Final = 2.0
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "antechamber guard audit", "version": __version__},
}


class ListingError(AntechamberError):
    """A command did not start, or did not list its tools as an MCP server does."""


class ListedTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool, as far as an audit reads it."""

    name: str
    input_schema: dict[str, Any] = {}
    annotations: dict[str, Any] | None = None


class _Page(Struct, frozen=True, kw_only=True, rename="camel"):
    tools: list[ListedTool]
    next_cursor: str | None = None


async def list_tools(command: Sequence[str], seconds: float) -> list[ListedTool]:
    """Start a command, list its tools, and end it; all of that takes at most `seconds` and a moment to end.

    Raises ListingError.
    """
    async with _running(command) as server:
        try:
            async with asyncio.timeout(seconds):
                return await server.list_tools()
        except TimeoutError:
            late = f"did not list its tools within {seconds:g} seconds"
            raise server.failure(late) from None


@contextlib.asynccontextmanager
async def _running(command: Sequence[str]) -> AsyncIterator["_Server"]:
    try:
        # In a group of its own, so that programs that the command starts end with it.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE_BYTES, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"{command[0]} could not be started: {reason}"
        raise ListingError(message) from None
    server = _Server(process, command[0])
    listening = asyncio.create_task(server.keep_stderr())
    try:
        yield server
    finally:
        await _end(process)
        listening.cancel()


async def _end(process: Process) -> None:
    """Close the input, as MCP asks a client to; kill the whole group if that does not end it."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # asyncio reports the end only after all output was read, which a program that left the group may keep open.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            while process.stdout is not None and await process.stdout.read(65536):
                pass
            await process.wait()


class _Server:
    """A server that runs, and what it said so far."""

    def __init__(self, process: Process, name: str) -> None:
        self._process = process
        self._name = name
        self._stderr = b""
        self._noise = ""
        self._last_id = 0

    async def keep_stderr(self) -> None:
        """Read standard error, so that the server is never blocked by it; keep its end for an error."""
        assert self._process.stderr is not None  # noqa: S101 -- it is a pipe
        while piece := await self._process.stderr.read(65536):
            self._stderr = (self._stderr + piece)[-_KEPT_STDERR_BYTES:]

    def failure(self, what: str) -> ListingError:
        """Return an error with what the server printed."""
        printed = self._noise or self._stderr.decode(errors="replace").strip()
        return ListingError(f"{self._name} {what}{f'; it printed: {_one_line(printed)}' if printed else ''}")

    async def list_tools(self) -> list[ListedTool]:
        """Return all pages of the listing."""
        await self._ask("initialize", _HELLO)
        await self._send({"method": "notifications/initialized"})
        tools: list[ListedTool] = []
        cursor, seen = None, set[str]()
        while len(tools) <= MAX_TOOLS:
            result = await self._ask("tools/list", {"cursor": cursor} if cursor else {})
            try:
                page = convert(result, _Page)
            except msgspec.ValidationError as error:
                other = f"answered tools/list with something else: {error}"
                raise self.failure(other) from None
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or cursor in seen:
                return tools
            seen.add(cursor)
        many = f"lists more than {MAX_TOOLS} tools"
        raise self.failure(many)

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._last_id += 1
        await self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            message = await self._receive()
            if message.get("method") == method:
                echo = "does not speak MCP: it repeats what it reads"
                raise self.failure(echo)
            if "method" in message and "id" in message:
                # A question of the server: an audit has no answer to it.
                await self._send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
            elif message.get("id") == self._last_id and "method" not in message:
                if "result" in message:
                    return message["result"]
                refused = f"refused {method}: {_one_line(json.dumps(message.get('error')))}"
                raise self.failure(refused)

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 -- it is a pipe
        # A server that has ended is noticed when its output ends.
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await self._process.stdin.drain()

    async def _receive(self) -> dict[str, Any]:
        """Return the next message; lines that are none, such as a log, are remembered for an error."""
        for _ in range(MAX_NOISE):
            line = await self._read_line()
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict) and message.get("jsonrpc") == "2.0":
                    return message
            self._noise = self._noise or line.decode(errors="replace").strip()
        other = "does not speak MCP"
        raise self.failure(other)

    async def _read_line(self) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 -- it is a pipe
        # Reading from a full buffer does not pause by itself, so that the time limit could not take effect.
        await asyncio.sleep(0)
        try:
            line = await self._process.stdout.readline()
        except ValueError:
            long = f"printed a line of more than {MAX_LINE_BYTES // 2**20} MiB"
            raise self.failure(long) from None
        if not line:
            early = f"ended with status {await self._process.wait()} before it listed its tools"
            raise self.failure(early)
        return line


def _one_line(text: str) -> str:
    """Return the end of a text of a server in one line, without characters that a terminal would obey."""
    last = " ".join(text.split())[-300:]
    return "".join(character if character.isprintable() else "?" for character in last)

"""An MCP server of another project: four tools that write, one that reads, and a crash at a chosen point of a write.

`stdio FILE` serves one client, `http FILE PORT` many. FAULT (`before`, `during` or `after`) and AT (the number of the
write) choose where the process exits; `refuse` returns a protocol error after the write. Effects are counted in FILE.
"""

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS effects (tool TEXT NOT NULL, label TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS effects_by_label ON effects (tool, label);
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
MOMENT: Final = 0.01
"""Duration of a write in seconds."""
TOOLS: Final = {
    "charge": ("label", "key"),
    "post": ("text",),
    "put": ("name", "value"),
    "append": ("text",),
    "find_posts": ("query",),
}


class World:
    """The state that the tools change, kept in the file of effects."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.executescript(SCHEMA)
        self._fault = os.environ.get("FAULT", "")
        self._at = int(os.environ.get("AT", "1"))
        self._writes = 0

    def _die(self, point: str) -> None:
        if point == self._fault and self._writes == self._at:
            os._exit(9)

    async def write(self, tool: str, arguments: dict[str, str]) -> None:
        """Record an effect, and exit at the requested point."""
        self._writes += 1
        self._die("before")
        await asyncio.sleep(MOMENT)
        with self._transaction():
            if tool != "charge" or self._is_new(arguments["key"]):
                text = arguments.get("text", "")
                label = text.partition("\n")[0] or arguments.get("label") or arguments["name"]
                self._connection.execute("INSERT INTO effects VALUES (?, ?, ?)", (tool, label, text))
            if tool == "put":
                self._connection.execute(
                    "INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                    (arguments["name"], arguments["value"]),
                )
            self._die("during")
        self._die("after")
        if self._fault == "refuse" and self._writes == self._at:
            raise MCPError(INVALID_PARAMS, "Invalid request parameters")
        await asyncio.sleep(MOMENT)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def _is_new(self, key: str) -> bool:
        return self._connection.execute("INSERT OR IGNORE INTO keys VALUES (?)", (key,)).rowcount == 1

    def find(self, query: str) -> list[dict[str, str]]:
        """Return the posts that contain a text."""
        rows = self._connection.execute(
            "SELECT text FROM effects WHERE tool = 'post' AND instr(text, ?) > 0", (query,)
        ).fetchall()
        return [{"text": text} for (text,) in rows]


def build(world: World) -> Server[Any]:
    """Build the server."""

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name, arguments) for name, arguments in TOOLS.items()])

    async def call_tool(_: Any, asked: Any) -> CallToolResult:
        arguments = asked.arguments or {}
        if asked.name == "find_posts":
            posts = world.find(arguments["query"])
            said = f"{len(posts)} posts hold {arguments['query']}"
            return CallToolResult(content=[TextContent(text=said)], structured_content={"posts": posts})
        await world.write(asked.name, arguments)
        return CallToolResult(content=[TextContent(text="done")])

    return Server("elsewhere", on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(name: str, arguments: tuple[str, ...]) -> Tool:
    return Tool(
        name=name,
        input_schema={
            "type": "object",
            "properties": {one: {"type": "string"} for one in arguments},
            "required": list(arguments),
        },
        annotations=ToolAnnotations(read_only_hint=name == "find_posts"),
    )


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def main() -> None:
    """Serve."""
    way, path, *port = sys.argv[1:]
    server = build(World(Path(path)))
    if way == "stdio":
        asyncio.run(_serve_stdio(server))
    else:
        application = server.streamable_http_app(stateless_http=True)
        uvicorn.run(application, host="127.0.0.1", port=int(port[0]), log_level="error")


if __name__ == "__main__":
    main()

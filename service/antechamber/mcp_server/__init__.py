"""The MCP server: tools to propose events and search, and memories as resources."""

from antechamber.mcp_server.server import build, serve_stdio, serving_http
from antechamber.mcp_server.tools import TOOLS, ToolHandlers

__all__ = ["TOOLS", "ToolHandlers", "build", "serve_stdio", "serving_http"]

"""A small MCP server that speaks over its standard input and output."""

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("test")


@server.tool()
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool()
def fail() -> str:
    """Always goes wrong."""
    raise ToolError("it went wrong")


if __name__ == "__main__":
    server.run()

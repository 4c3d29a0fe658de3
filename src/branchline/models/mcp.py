"""Tools of MCP servers, without loading what speaks to them before they are asked for."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from branchline.errors import BranchlineError, NetworkFailure, NotSupported
from branchline.models.protocol import Tool

__all__ = ["mcp_tools"]


@asynccontextmanager
async def mcp_tools(
    *, config: str | None = None, urls: Iterable[str] = (), commands: Iterable[Sequence[str]] = ()
) -> AsyncGenerator[tuple[Tool, ...], None]:
    """The tools of MCP servers while the connections to them are open. Enter and leave in one task.

    ``config`` is a file with ``mcpServers`` as other programs have it, ``urls`` are addresses, ``commands``
    start servers that speak over their standard input and output.
    """
    if importlib.util.find_spec("pydantic_ai") is None:
        raise NotSupported("MCP servers need more than the base package: pip install 'branchline[chat]'")
    from branchline.models.pydantic_ai import mcp_toolsets, toolset_tools  # noqa: PLC0415

    toolsets = mcp_toolsets(config=config, urls=urls, commands=commands)
    async with AsyncExitStack() as connections:
        try:
            tools = await connections.enter_async_context(toolset_tools(toolsets))
        except BranchlineError:
            raise
        except Exception as problem:  # an MCP server may raise anything
            named = "the MCP servers" if config is None else f"the MCP servers of {config}"
            raise NetworkFailure(f"{named} cannot be reached: {problem}") from problem
        yield tools

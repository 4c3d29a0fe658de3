"""Tools of MCP servers. The client library is loaded only when servers are configured."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType

from branchline._version import install_extra
from branchline.errors import BranchlineError, NetworkFailure, NotSupported
from branchline.models.protocol import Tool
from branchline.settings import McpServerSettings

__all__ = ["mcp_tools"]


@asynccontextmanager
async def mcp_tools(
    *,
    config: str | None = None,
    urls: Iterable[str] = (),
    commands: Iterable[Sequence[str]] = (),
    servers: Mapping[str, McpServerSettings] = MappingProxyType({}),
    on_problem: Callable[[str], object] | None = None,
) -> AsyncGenerator[tuple[Tool, ...], None]:
    """Connect to MCP servers and return their tools, which work until exit. Enter and exit in one task.

    ``config`` is a JSON file with ``mcpServers``, as other agents use it; ``urls`` are HTTP servers;
    ``commands`` start stdio servers; ``servers`` come from the settings. A server from the settings that
    cannot be reached is reported to ``on_problem`` and skipped.
    """
    if importlib.util.find_spec("pydantic_ai") is None:
        raise NotSupported(f"MCP servers need more than the base package: {install_extra('chat')}")
    from branchline.models.pydantic_ai.toolsets import mcp_toolset, mcp_toolsets, toolset_tools  # noqa: PLC0415

    toolsets = mcp_toolsets(config=config, urls=urls, commands=commands)
    async with AsyncExitStack() as connections:
        try:
            tools = await connections.enter_async_context(toolset_tools(toolsets))
        except BranchlineError:
            raise
        except Exception as problem:  # an MCP server may raise anything
            named = "the MCP servers" if config is None else f"the MCP servers of {config}"
            raise NetworkFailure(f"{named} cannot be reached: {problem}") from problem
        for name, server in servers.items():
            try:
                found = await connections.enter_async_context(toolset_tools([mcp_toolset(name, server)]))
            except Exception as problem:  # noqa: BLE001 - as above; a chat works without it
                if on_problem is not None:
                    on_problem(f"the MCP server {name} of the settings is not used: {problem}")
            else:
                tools += tuple(tool for tool in found if (tool.name_there or tool.name) not in server.deny)
        yield tools

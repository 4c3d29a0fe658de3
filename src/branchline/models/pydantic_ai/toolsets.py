"""pydantic-ai toolsets, including MCP servers, as branchline tools.

The tools work while the connections to their servers are open: from entry to exit of the context manager.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.messages import BinaryContent
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, PrefixedToolset, ToolsetTool
from pydantic_ai.usage import RunUsage

from branchline._version import install_extra
from branchline.entries import Image, Text
from branchline.errors import NotSupported
from branchline.models.protocol import Tool
from branchline.programs import find_program, safe_environment
from branchline.settings import McpServerSettings

if TYPE_CHECKING:
    from fastmcp.client.transports import StdioTransport

__all__ = ["mcp_toolset", "mcp_toolsets", "toolset_tools"]

_ENV_FILE = "FASTMCP_ENV_FILE"
_START_SECONDS = 30.0
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def mcp_toolsets(
    *, config: str | None = None, urls: Iterable[str] = (), commands: Iterable[Sequence[str]] = ()
) -> list[AbstractToolset[Any]]:
    """Return MCP servers from a ``mcpServers`` file, by URL, and by the command that starts them."""
    try:
        with _no_env_file():
            from fastmcp.client.transports import StdioTransport  # noqa: PLC0415
            from pydantic_ai.mcp import MCPToolset, load_mcp_toolsets  # noqa: PLC0415
    except ImportError as problem:
        raise NotSupported(f"MCP servers need a client library: {install_extra('chat')}") from problem
    found: list[AbstractToolset[Any]] = []
    if config is not None:
        try:
            loaded = load_mcp_toolsets(config)
        except ValueError as problem:
            raise NotSupported(f"{config} does not describe MCP servers: {problem}") from problem
        for one in loaded:  # rebuilt, because the loader's start timeout is only five seconds
            assert isinstance(one, PrefixedToolset)
            assert isinstance(one.wrapped, MCPToolset)
            transport = one.wrapped.client.transport
            if isinstance(transport, StdioTransport):
                _start_safely(transport)
            server = MCPToolset(transport, id=one.prefix, init_timeout=_START_SECONDS)
            found.append(server.prefixed(one.prefix))
    found += [MCPToolset(url, init_timeout=_START_SECONDS) for url in urls]
    for command in commands:
        transport = StdioTransport(command=command[0], args=list(command[1:]))
        _start_safely(transport)
        found.append(MCPToolset(transport, init_timeout=_START_SECONDS))
    return found


def mcp_toolset(name: str, server: McpServerSettings) -> AbstractToolset[Any]:
    """Return an MCP server from the settings.

    Raises ValueError if the program is not found or an environment variable is not set.
    """
    with _no_env_file():
        from fastmcp.client.transports import StdioTransport  # noqa: PLC0415
        from pydantic_ai.mcp import MCPToolset  # noqa: PLC0415
    if server.url is not None:
        headers = _expanded(server.headers)
        return MCPToolset(server.url, id=name, headers=headers, init_timeout=_START_SECONDS).prefixed(name)
    assert server.command is not None
    program = find_program(os.path.expanduser(server.command))  # None for a relative path, too
    if program is None:
        raise ValueError(f"no program {server.command!r} on PATH")
    transport = StdioTransport(command=program, args=list(server.args), env=_expanded(server.env))
    _start_safely(transport)
    return MCPToolset(transport, id=name, init_timeout=_START_SECONDS).prefixed(name)


def _start_safely(transport: StdioTransport) -> None:
    """Look a server's program up, and let it look up others, in absolute ``PATH`` entries only.

    A path is used as it is given. NotSupported for a program that is not there.
    """
    if not os.path.dirname(transport.command):
        program = find_program(transport.command)
        if program is None:
            raise NotSupported(f"cannot start an MCP server: no program {transport.command!r} on PATH")
        transport.command = program
    transport.env = {"PATH": safe_environment()["PATH"], **(transport.env or {})}


def _expanded(values: Mapping[str, str]) -> dict[str, str]:
    """Replace ``${NAME}`` in the values by the environment variable of that name."""

    def variable(found: re.Match[str]) -> str:
        value = os.environ.get(found[1])
        if value is None:
            raise ValueError(f"the environment variable {found[1]} is not set")
        return value

    return {name: _VARIABLE.sub(variable, text) for name, text in values.items()}


@contextmanager
def _no_env_file() -> Iterator[None]:
    """Prevent fastmcp from reading ``.env`` in the working directory when it is imported."""
    if _ENV_FILE in os.environ:
        yield
        return
    os.environ[_ENV_FILE] = os.devnull
    try:
        yield
    finally:
        del os.environ[_ENV_FILE]


@asynccontextmanager
async def toolset_tools(toolsets: Iterable[AbstractToolset[Any]]) -> AsyncGenerator[tuple[Tool, ...], None]:
    """Open the toolsets and return their tools, which work until exit. Enter and exit in one task."""
    # There is no agent run; toolsets use the context only for names and counts.
    context: RunContext[Any] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    async with AsyncExitStack() as stack:
        tools: list[Tool] = []
        for toolset in toolsets:
            opened = await stack.enter_async_context(toolset)
            prefix = f"{opened.prefix}_" if isinstance(opened, PrefixedToolset) else ""
            for name, tool in (await opened.get_tools(context)).items():
                tools.append(
                    Tool(
                        name=name,
                        description=tool.tool_def.description or "",
                        parameters=tool.tool_def.parameters_json_schema,
                        function=_caller(opened, name, tool, context),
                        server=prefix[:-1] or opened.id or opened.label,
                        name_there=name.removeprefix(prefix),
                    )
                )
        yield tuple(tools)


def _caller(
    toolset: AbstractToolset[Any], name: str, tool: ToolsetTool[Any], context: RunContext[Any]
) -> Callable[..., Any]:
    async def call(**arguments: Any) -> Any:
        checked = tool.args_validator.validate_python(arguments)
        return _content(await toolset.call_tool(name, checked, context, tool))

    return call


def _content(value: Any) -> Any:
    """Convert texts and images to blocks; return anything else unchanged."""
    values = value if isinstance(value, list) else [value]
    if not any(isinstance(item, BinaryContent) for item in values):
        return value
    return [_block(item) for item in values]


def _block(value: Any) -> Text | Image:
    if isinstance(value, BinaryContent) and value.is_image:
        return Image(data=base64.b64encode(value.data).decode("ascii"), mime_type=value.media_type)
    if isinstance(value, BinaryContent):
        return Text(text=f"[{len(value.data)} bytes of {value.media_type}]")
    return Text(text=str(value))

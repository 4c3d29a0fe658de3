"""``mcp``: serve past sessions to other agents over standard input and output."""

from __future__ import annotations

import asyncio
from functools import partial

import click

from branchline._version import install_extra
from branchline.cli import end_at_once
from branchline.cli.options import agent_option, command, store_option
from branchline.cli.output import Output
from branchline.cli.resolver import chosen_library
from branchline.errors import NotSupported

__all__ = ["mcp_command"]


@command(
    "mcp",
    plain=False,
    examples="""
    claude mcp add branchline -- branchline mcp
    codex mcp add branchline -- branchline mcp --all-projects
    branchline mcp --allow-write
    """,
)
@click.option("--all-projects", is_flag=True, help="Serve the sessions of all projects.")
@click.option("--allow-write", is_flag=True, help="Also offer tools that fork and convert sessions.")
@store_option("Serve only the sessions in STORE.")
@agent_option
def mcp_command(
    out: Output,
    all_projects: bool,  # noqa: FBT001
    allow_write: bool,  # noqa: FBT001
    directory: str | None,
    agents: tuple[str, ...],
) -> None:
    """Serve past sessions to an agent over the Model Context Protocol (stdio).

    The agent can list, search and read the sessions of this directory. Secrets are redacted, answers have
    at most 32 KB, and nothing can be deleted. With --json, the tools are listed and nothing is served.
    """
    if directory is not None and (all_projects or agents):
        raise click.UsageError("--dir names the sessions; omit --all-projects and --agent")
    try:
        from branchline.mcp.server import build_server
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        raise NotSupported(f"the MCP server needs a library: {install_extra('mcp')}") from None

    open_library = partial(chosen_library, directory, agents, everywhere=all_projects)
    open_library()  # report an invalid name now, not at the first request
    server = build_server(open_library, allow_write=allow_write)
    if out.json:
        tools = asyncio.run(server.list_tools())
        described = [{"name": tool.name, "description": tool.description} for tool in tools]
        out.result("mcp", {"tools": described})
    else:
        end_at_once()
        server.run("stdio")

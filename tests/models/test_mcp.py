"""Tools of MCP servers work like other tools."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from branchline.entries import Text, ToolCall
from branchline.errors import NotSupported
from branchline.models import call_tool, mcp_tools
from branchline.settings import McpServerSettings

SERVER = str(Path(__file__).with_name("mcp_server.py"))


def use(calls, **where):
    async def talk():
        async with mcp_tools(**where) as tools:
            by_name = {tool.name: tool for tool in tools}
            results = [
                await call_tool(by_name.get(name), ToolCall(id="c", name=name, arguments=arguments))
                for name, arguments in calls
            ]
            return by_name, results

    return asyncio.run(talk())


def test_a_server_is_started_by_its_command_and_its_tools_are_called():
    tools, (loud, wrong, failed) = use(
        [("shout", {"text": "hello"}), ("shout", {"text": 5, "more": 1}), ("fail", {})],
        commands=[[sys.executable, SERVER]],
    )

    assert tools["shout"].description == "Say it louder."
    assert tools["shout"].parameters["required"] == ["text"]
    assert loud.content == (Text(text="HELLO"),)
    assert loud.is_error is False
    assert wrong.is_error is True
    assert failed.is_error is True
    assert "it went wrong" in failed.content[0].text


def test_a_file_of_servers_gives_each_tool_the_name_of_its_server(tmp_path):
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"loud": {"command": sys.executable, "args": [SERVER]}}}))

    tools, (result,) = use([("loud_shout", {"text": "hi"})], config=str(config))

    assert set(tools) == {"loud_shout", "loud_fail"}
    assert result.content == (Text(text="HI"),)


def test_servers_of_a_file_have_as_much_time_to_start_as_all_others(tmp_path):
    from branchline.models.pydantic_ai.toolsets import mcp_toolsets

    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"loud": {"command": sys.executable, "args": [SERVER]}}}))

    *_, from_file, by_command = mcp_toolsets(config=str(config), commands=[[sys.executable, SERVER]])

    assert from_file.wrapped.client._init_timeout == by_command.client._init_timeout == 30


@pytest.mark.parametrize("way", ["file", "command", "settings"])
def test_a_server_runs_nothing_that_is_in_the_present_directory(tmp_path, monkeypatch, way):
    """Neither its program nor the interpreter that the program names is looked up there."""
    here, tools = tmp_path / "here", tmp_path / "tools"
    for folder in (here, tools):
        folder.mkdir()
    (tools / "server").write_text(f"#!/usr/bin/env node\n{Path(SERVER).read_text()}")
    for name in ("node", "server"):
        (here / name).write_text(f"#!/bin/sh\n: > {tmp_path}/ran\n")
    for program in (tools / "server", here / "node", here / "server"):
        program.chmod(0o755)
    (tools / "node").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "node").chmod(0o755)
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"loud": {"command": "server"}}}))
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(tools), "/usr/bin", "/bin"]))
    started: dict[str, Any] = {
        "file": {"config": str(config)},
        "command": {"commands": [["server"]]},
        "settings": {"servers": {"loud": McpServerSettings(command="server")}},
    }[way]

    tools_found, _results = use([], **started)

    assert any(name.endswith("shout") for name in tools_found)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_not_installed_is_named():
    with pytest.raises(NotSupported, match="no program 'no-such-program' on PATH"):
        use([], commands=[["no-such-program"]])


def test_servers_of_the_settings_are_started_and_one_that_fails_is_reported(monkeypatch):
    monkeypatch.setenv("WORD", "secret")
    loud = McpServerSettings(
        command=sys.executable, args=(SERVER,), env={"TOKEN": "${WORD}"}, deny=("fail",), allow=("shout",)
    )
    servers = {
        "loud": loud,
        "absent": McpServerSettings(command="no-such-program"),
        "keyless": McpServerSettings(url="http://127.0.0.1:9/mcp", headers={"x": "${NOT_SET}"}),
    }
    problems: list[str] = []

    tools, (result,) = use([("loud_shout", {"text": "hi"})], servers=servers, on_problem=problems.append)

    assert set(tools) == {"loud_shout"}
    assert tools["loud_shout"].full_name == "loud.shout"
    assert result.content == (Text(text="HI"),)
    assert problems == [
        "the MCP server absent of the settings is not used: no program 'no-such-program' on PATH",
        "the MCP server keyless of the settings is not used: the environment variable NOT_SET is not set",
    ]


@pytest.mark.parametrize("text", ["not json", '{"mcpServers": {"x": {}}}', '{"servers": 1}'])
def test_a_file_that_describes_no_servers_is_named(tmp_path, text):
    config = tmp_path / "mcp.json"
    config.write_text(text)

    with pytest.raises(NotSupported, match=r"mcp\.json does not describe MCP servers"):
        use([], config=str(config))

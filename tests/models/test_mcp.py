"""Tools of MCP servers work like other tools."""

import asyncio
import json
import sys
from pathlib import Path

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

"""No MCP tool runs in a chat unless the person, a setting or an option allowed it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import Session
from branchline.cli.app import cli
from branchline.conductor import ALLOW_ALL, Conductor, MessageAppended, ToolStarted
from branchline.entries import ToolResult, message_text
from branchline.models import OfflineModel, Tool
from branchline.programs import own_command
from chat.kit import Talk, drive
from security.traps import Trap

HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07\u202e\x9b31m"


def planted(trap: Trap, name: str = "evil_run", server: str = "evil") -> Tool:
    """A tool that leaves a mark."""

    def run(**arguments: object) -> str:
        trap.mark(name).write_text(json.dumps(arguments))
        return "done"

    return Tool(name=name, function=run, server=server, name_there=name.removeprefix(f"{server}_"))


def results(talk: Talk) -> list[str]:
    events = [event.message for event in talk.front.events if isinstance(event, MessageAppended)]
    return [message_text(message) for message in events if isinstance(message, ToolResult)]


def say(talk: Talk, *lines: str) -> Talk:
    async def work() -> None:
        async with talk.conductor:
            await talk.say(*lines)

    drive(work)
    return talk


CALL = 'offline: call evil_run {"path": "x"}'


# -- answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["deny", "never", None])
def test_a_call_that_is_denied_does_not_run_and_the_model_is_told(
    answer: str | None, here: Path, trap: Trap
) -> None:
    talk = say(Talk(here, answer, tools=[planted(trap)]), CALL)

    assert trap.sprung == set()
    (told,) = results(talk)
    assert told.startswith("The user ")
    assert told.endswith("It was not run.")
    assert not any(isinstance(event, ToolStarted) for event in talk.front.events)


def test_a_call_that_is_allowed_runs_once_and_the_next_is_asked_about_again(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, "once", "deny", tools=[planted(trap)]), CALL, CALL)

    assert trap.sprung == {"evil_run"}
    assert results(talk) == ["done", "The user denied this call. It was not run."]
    assert talk.front.asked == ["Run evil.run?", "Run evil.run?"]


@pytest.mark.parametrize(("answer", "told"), [("always", "done"), ("never", "The user does not allow")])
def test_an_answer_for_the_session_is_not_asked_for_again(
    answer: str, told: str, here: Path, trap: Trap
) -> None:
    talk = say(Talk(here, answer, tools=[planted(trap)]), CALL, CALL)

    assert [result.startswith(told) for result in results(talk)] == [True, True]
    assert len(talk.front.asked) == 1
    assert trap.sprung == ({"evil_run"} if answer == "always" else set())


def test_several_calls_of_one_answer_are_asked_about_one_by_one(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, "deny", "deny", "deny", tools=[planted(trap)]), f"{CALL}\n{CALL}\n{CALL}")

    assert len(talk.front.asked) == 3
    assert trap.sprung == set()


def test_permission_ends_when_the_chat_goes_to_another_session(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, "always", "deny", tools=[planted(trap)]), CALL, "/new", CALL)

    assert results(talk) == ["done", "The user denied this call. It was not run."]


def test_a_denial_stays_when_the_chat_goes_to_another_session(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, "never", tools=[planted(trap)]), CALL, "/new", CALL)

    assert len(talk.front.asked) == 1
    assert trap.sprung == set()


def test_permission_for_one_tool_is_none_for_another(here: Path, trap: Trap) -> None:
    tools = [planted(trap), planted(trap, "evil_other"), planted(trap, "good_run", "good")]
    asking = ["always", "deny", "deny"]

    say(Talk(here, *asking, tools=tools), CALL, "offline: call evil_other", "offline: call good_run")

    assert trap.sprung == {"evil_run"}


def test_the_question_is_asked_after_what_the_model_said_was_shown(here: Path, trap: Trap) -> None:
    seen: list[bool] = []
    talk = Talk(here, tools=[planted(trap)])
    talk.front.answers.append(lambda _picker: seen.append("Calling evil_run." in talk.front.written))

    say(talk, CALL)

    assert seen == [True]


def test_the_question_names_server_tool_and_arguments(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, "deny", tools=[planted(trap)]), CALL)

    shown = "\n".join(talk.front.lines)
    assert "evil.run (MCP server evil)" in shown
    assert '"path": "x"' in shown


@pytest.mark.parametrize("where", ["server", "tool", "key", "value"])
def test_nothing_in_a_question_acts_on_the_terminal(where: str, here: Path, trap: Trap) -> None:
    tool = planted(
        trap,
        f"run{HOSTILE}" if where == "tool" else "run",
        f"evil{HOSTILE}" if where == "server" else "evil",
    )
    arguments = {HOSTILE if where == "key" else "key": HOSTILE if where == "value" else "value"}
    tool = Tool(name="run", function=tool.function, server=tool.server, name_there=tool.name_there)
    talk = Talk(here, "deny", tools=[tool])

    say(talk, f"offline: call run {json.dumps(arguments)}")

    shown = "".join([*talk.front.lines, *talk.front.asked, *talk.front.remarks])
    assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert "‹U+202E›" in shown


def test_long_arguments_are_cut_and_shown_in_full_on_request(here: Path, trap: Trap) -> None:
    text = "a" * 50_000 + "MIDDLE" + "b" * 50_000 + "END"
    talk = Talk(here, tools=[planted(trap)])
    seen: list[str] = []

    def look(_picker: object) -> str:
        seen.append("\n".join(talk.front.lines))
        return "show" if len(seen) == 1 else "deny"

    talk.front.answers += [look, look]
    say(talk, f"offline: call evil_run {json.dumps({'text': text})}")

    assert len(seen[0]) < 3_000
    assert "more characters" in seen[0]
    assert "END" in seen[0]
    assert "MIDDLE" not in seen[0]
    assert "MIDDLE" in seen[1]
    assert trap.sprung == set()


def test_denying_is_what_enter_does(here: Path, trap: Trap) -> None:
    talk = Talk(here, lambda picker: picker.options[picker.selected].key, tools=[planted(trap)])

    say(talk, CALL)

    assert trap.sprung == set()


def test_what_fails_while_asking_runs_nothing(here: Path, trap: Trap) -> None:
    def broken(_picker: object) -> str:
        raise RuntimeError("the terminal is gone")

    talk = say(Talk(here, broken, tools=[planted(trap)]), CALL)

    assert trap.sprung == set()
    assert "the terminal is gone" in talk.front.remarks


# -- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "allowed",
    [["evil.runs"], ["evil"], ["evil.*"], ["run"], ["*"], ["evil_run"], ["EVIL.RUN"], [""], ["good.run"]],
)
def test_only_the_exact_name_allows_a_tool(allowed: list[str], here: Path, trap: Trap) -> None:
    say(Talk(here, "deny", tools=[planted(trap)], allowed_tools=allowed), CALL)

    assert trap.sprung == set()


def test_an_allowed_tool_runs_without_a_question(here: Path, trap: Trap) -> None:
    talk = say(Talk(here, tools=[planted(trap)], allowed_tools=["evil.run"]), CALL)

    assert trap.sprung == {"evil_run"}
    assert talk.front.asked == []


def test_a_name_that_two_tools_share_allows_neither(here: Path, trap: Trap) -> None:
    """A server could name its tool so that it reads like the allowed tool of another server."""
    tools = [
        Tool(name="one", function=planted(trap, "one").function, server="a.b", name_there="c"),
        Tool(name="two", function=planted(trap, "two").function, server="a", name_there="b.c"),
    ]

    say(
        Talk(here, "deny", "deny", tools=tools, allowed_tools=["a.b.c"]),
        "offline: call one",
        "offline: call two",
    )

    assert trap.sprung == set()


def test_tools_lists_permissions_and_changes_them(here: Path, trap: Trap) -> None:
    talk = Talk(here, tools=[planted(trap)])

    say(talk, "/tools", "/tools deny evil.run", CALL, "/tools allow evil.run", CALL, "/tools ask evil_run")

    listed = [line.split() for line in talk.front.lines if line.startswith("evil.run")]
    assert [line[1] for line in listed] == ["ask", "deny", "allow", "ask"]
    assert ["count_words", "allow"] in [line.split()[:2] for line in talk.front.lines]
    assert [result.startswith("The user does not") for result in results(talk)] == [True, False]


@pytest.mark.parametrize("words", ["allow", "allow nothing", "permit evil.run", "allow evil.*"])
def test_tools_changes_nothing_for_a_name_or_a_verb_that_it_does_not_know(
    words: str, here: Path, trap: Trap
) -> None:
    say(Talk(here, "deny", tools=[planted(trap)]), f"/tools {words}", CALL)

    assert trap.sprung == set()


# -- no terminal ------------------------------------------------------------------------------------------


def test_without_a_terminal_a_call_is_denied_and_the_option_is_named(here: Path, trap: Trap) -> None:
    talk = Talk(here, tools=[planted(trap)])
    talk.front.can_ask = False

    say(talk, CALL)

    assert trap.sprung == set()
    assert talk.front.asked == []
    assert any("--allow-tool evil.run allows it" in words for words in talk.front.remarks)


@pytest.fixture
def server(here: Path, trap: Trap, tmp_path: Path) -> Path:
    """A file that names an MCP server whose tool leaves a mark."""
    pytest.importorskip("fastmcp")
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server import MCPServer\n"
        'server = MCPServer("test")\n'
        "@server.tool()\n"
        "def run(path: str) -> str:\n"
        '    """Run it."""\n'
        f"    open({str(trap.mark('evil_run'))!r}, 'w').close()\n"
        '    return "ran"\n'
        "server.run()\n"
    )
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"evil": {"command": sys.executable, "args": [str(script)]}}})
    )
    return config


def chat(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """A chat in a process of its own: MCP servers inherit its standard error."""
    return subprocess.run(
        own_command("chat", "--no-session", *arguments),
        input=stdin or "",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["--print", CALL], None),
        pytest.param(["--print", CALL, "--json"], None, marks=pytest.mark.slow),
        pytest.param([], f"{CALL}\nonce\n", marks=pytest.mark.slow),
        ([], f"{CALL}\n2\nalways\ny\nyes\n"),
        pytest.param(["--allow-tool", "evil"], f"{CALL}\n", marks=pytest.mark.slow),
        (["--allow-tool", "evil.other"], f"{CALL}\n"),
    ],
)
def test_piped_prompts_are_no_answers(
    arguments: Sequence[str], stdin: str | None, server: Path, trap: Trap
) -> None:
    done = chat("--mcp", str(server), *arguments, stdin=stdin)

    assert done.returncode == 0, done.stderr
    assert "no terminal to ask on" in done.stderr
    assert trap.sprung == set()


@pytest.mark.parametrize("how", ["option", "setting", pytest.param("environment", marks=pytest.mark.slow)])
def test_a_tool_is_allowed_by_name(
    how: str, server: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    if how == "setting":
        (tmp_path / "home" / "config.toml").write_text('allow_tools = ["evil.run"]\n')
    if how == "environment":
        monkeypatch.setenv("BRANCHLINE_ALLOW_TOOLS", "evil.run")

    done = chat(
        "--mcp", str(server), "--print", CALL, *(["--allow-tool", "evil.run"] if how == "option" else [])
    )

    assert done.returncode == 0, done.stderr
    assert trap.sprung == {"evil_run"}


@pytest.mark.parametrize(
    "name", [".mcp.json", "mcp.json", ".branchline/config.toml", "config.toml", ".claude.json"]
)
@pytest.mark.parametrize("where", ["present directory", "session directory"])
def test_servers_and_settings_are_never_taken_from_a_directory(
    name: str, where: str, server: Path, here: Path, trap: Trap
) -> None:
    directory = here if where == "present directory" else trap.directory
    planted_file = directory / name
    planted_file.parent.mkdir(exist_ok=True)
    planted_file.write_text(
        server.read_text() if name.endswith(".json") else 'allow_tools = ["evil.run"]\nmodel = "openai:x"\n'
    )

    done = CliRunner().invoke(
        cli, ["chat", "--no-session", "--cwd", str(directory)], input=f"/tools\n{CALL}\n"
    )

    assert done.exit_code == 0, done.output
    assert "evil" not in done.stdout.replace("evil_run", "")
    assert "using the offline model" in done.stderr
    assert trap.sprung == set()


def test_the_mcp_client_reads_no_env_file_of_the_present_directory(here: Path, server: Path) -> None:
    (here / ".env").write_text("FASTMCP_LOG_LEVEL=nonsense\nFASTMCP_HOME=/nonexistent\n")
    script = (
        "import asyncio, os\n"
        "from branchline.models import mcp_tools\n"
        "async def main():\n"
        f"    async with mcp_tools(config={str(server)!r}) as tools:\n"
        "        import fastmcp\n"
        "        print(fastmcp.settings.home, 'FASTMCP_ENV_FILE' in os.environ)\n"
        "asyncio.run(main())\n"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "/nonexistent" not in done.stdout
    assert done.stdout.rstrip().endswith("False")


# -- Python -----------------------------------------------------------------------------------------------


def conduct(trap: Trap, here: Path, **options: object) -> list[ToolResult]:
    async def work() -> list[ToolResult]:
        session = Session.in_memory(str(here))
        async with Conductor(session, OfflineModel(), tools=[planted(trap)], **options) as conductor:
            events = [event async for event in conductor.send(CALL)]
        shown = [event.message for event in events if isinstance(event, MessageAppended)]
        return [message for message in shown if isinstance(message, ToolResult)]

    return asyncio.run(work())


def test_in_python_the_tools_that_were_passed_run(trap: Trap, here: Path) -> None:
    conduct(trap, here)
    conduct(trap, here, permissions=ALLOW_ALL)

    assert trap.sprung == {"evil_run"}


def test_in_python_a_policy_refuses_with_its_own_words(trap: Trap, here: Path) -> None:
    class Nothing:
        async def refusal(self, tool: Tool, call: object, /) -> str | None:
            return f"{tool.full_name} is switched off."

    (result,) = conduct(trap, here, permissions=Nothing())

    assert message_text(result) == "evil.run is switched off."
    assert result.is_error is True
    assert trap.sprung == set()


def test_in_python_a_policy_that_fails_runs_nothing(trap: Trap, here: Path) -> None:
    class Broken:
        async def refusal(self, tool: Tool, call: object, /) -> str | None:
            raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        conduct(trap, here, permissions=Broken())

    assert trap.sprung == set()

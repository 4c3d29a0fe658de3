"""The screen of a chat in a real terminal: resume, tools, several answers, a resize, history, failures."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import message_text
from cli.chat_terminal import READY

pytest.importorskip("prompt_toolkit")


def conversation(world: Path) -> None:
    """A session with five turns, the last of them with a tool call and a failure."""
    with Session.create(world) as session:
        for number in range(1, 6):
            session.append_message(f"question {number}")
            text = f"answer **{number}**\n\n```diff\n-old\n+new\n```\n"
            session.append_message({"role": "assistant", "content": [{"type": "text", "text": text}]})
        call = {"type": "toolCall", "id": "c1", "name": "edit", "arguments": EDIT}
        session.append_message({"role": "assistant", "content": [call]})
        result = [{"type": "text", "text": "ok"}]
        session.append_message(
            {
                "role": "toolResult",
                "toolCallId": "c1",
                "toolName": "edit",
                "content": result,
                "isError": False,
            }
        )
        failed = {
            "role": "assistant",
            "content": [],
            "stopReason": "error",
            "errorMessage": "overloaded \x1b]0;x\x07",
        }
        session.append_message(failed)


EDIT = {"path": "x.py", "oldText": "a = 1", "newText": "a = 2"}


def test_a_resumed_chat_shows_its_last_turns_and_tries_several_answers(start, world):
    """Calls take one line with their diff, failures one line that nobody says; the rest is one command away."""
    conversation(world)

    terminal = start("--continue", "--model", "offline:echo")
    seen = terminal.wait(READY)

    assert "2 earlier turns" in (whole := terminal.history())
    assert "question 2" not in whole
    assert "last prompt" not in whole  # it is shown with its turn
    assert re.search(r"^❯ question 3$", whole, re.MULTILINE)
    assert re.search(r"^answer 5$", seen, re.MULTILINE)  # Markdown, not its marks
    assert re.search(r"^edit +x\.py +\+1 -1$", seen, re.MULTILINE)
    assert re.search(r"^-a = 1\s*\n^\+a = 2", seen, re.MULTILINE)
    assert re.search(r"^▸ Error: overloaded ␛\]0;x␇$", seen, re.MULTILINE)

    terminal.say("/again 3 offline: say many words in one answer")
    narrow = terminal.wait("Continue with which answer")
    assert re.search(r"^1 .*\nmany words in one answer", narrow, re.MULTILINE)
    terminal.resize(140, 30)
    terminal.press("2")
    terminal.wait("continuing with answer 2")
    terminal.say("/again 2")
    terminal.wait(r"^many words in one answer +│ many words in one answer +│ many words")
    terminal.press("1")
    terminal.wait("continuing with answer 1")
    terminal.resize(60, 20)
    terminal.say("/cost")
    rows = terminal.wait("the session, all").split("\n")
    assert max(map(len, rows)) <= 60
    terminal.say("/tools")
    terminal.wait(r"^count_words +allow +Count ")
    terminal.say("/quit")
    terminal.wait(r"^code 0")

    row = SessionLibrary.for_cwd(world).latest()
    with Session.open(row.path) as session:
        said = [message_text(item.message) for item in session.context().messages]
    assert said[-1] == "many words in one answer"


def test_tools_are_denied_and_allowed_and_an_answer_survives_a_resize(start, world, tmp_path):
    server = Path(__file__).parents[1] / "models" / "mcp_server.py"
    servers = {"loud": {"command": sys.executable, "args": [str(server)]}}
    (world / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    terminal = start("--mcp", str(world / "mcp.json"))

    terminal.say("/tools")
    terminal.wait(r"^loud\.shout +ask +Say it louder\.\nloud\.fail +ask ")  # one line for each
    terminal.say('offline: call loud_shout {"text": "ahoy"}')
    assert '"text": "ahoy"' in terminal.wait(r"Run loud\.shout\?")
    terminal.press("Enter")
    terminal.wait("The user denied this call")
    terminal.wait(READY)

    terminal.say("/new")
    terminal.wait("new session")
    terminal.say('offline: call loud_shout {"text": "ahoy"}')
    terminal.wait(r"Run loud\.shout\?")
    terminal.press("Down", "Down", "Enter")
    terminal.wait("loud_shout gave: AHOY")
    terminal.wait(READY)
    terminal.say('offline: call loud_shout {"text": "land"}')  # not asked again
    terminal.wait("loud_shout gave: LAND")
    terminal.wait(READY)

    terminal.write("offline: slow 0.03")
    terminal.press("M-Enter")
    words = " ".join(f"word{number}" for number in range(60))
    terminal.say(f"offline: say {words}")
    terminal.wait("^word0 word1")
    terminal.resize(50, 20)
    terminal.wait(r"^word\d+ .*word2\d")  # the answer, broken anew
    terminal.resize(100, 30)
    terminal.wait(r"word59\s+❯ *$")
    before, answer = re.split(r"^(?=word0 word1 )", terminal.history(), flags=re.MULTILINE)
    assert re.findall(r"word\d+", answer) == [f"word{number}" for number in range(60)]
    assert "loud_shout gave" in before  # nothing above was erased

    terminal.say("offline: fail refused")
    terminal.wait(r"^▸ not answered, /retry sends it again: the offline model was told to refuse")
    terminal.wait(READY)
    terminal.press("Up")
    terminal.wait(r"^❯ offline: fail refused")
    terminal.press("C-c", "C-c")
    terminal.wait(r"^code 0")

    history = tmp_path / "home" / "chat-history.jsonl"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    again = start("--no-session")
    again.press("Up")
    again.wait(r"^❯ offline: fail refused")
    again.press("C-c")
    again.wait(READY)
    again.say("offline: say nothing is kept")
    again.wait("^nothing is kept")
    assert "nothing is kept" not in history.read_text()

"""The real Claude Code continues converted sessions; only where ``BRANCHLINE_CLAUDE`` names the program.

It is not open source, so it is neither fetched nor run unless somebody asks for it.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import CLAUDE_CODE
from formats.conversion_kit import read
from interop.model_server import ModelServer, model_server
from interop.test_codex import GOLDENS, PICTURE, PROMPT, Item, joined, said

PROGRAM = os.environ.get("BRANCHLINE_CLAUDE", "")
MARKS = ("No response requested.", "Continue from where you left off.")
"""What the program adds itself where a session ends with a prompt or a result."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="BRANCHLINE_CLAUDE names no Claude Code"),
]


class Claude(NamedTuple):
    """An installed Claude Code with a home of its own and a model server."""

    home: Path
    server: ModelServer

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    def resumed(self, session: str) -> list[dict[str, Any]]:
        """The messages that the program sends with a new prompt to a session."""
        done = subprocess.run(
            [PROGRAM, "-r", session, "-p", PROMPT],
            cwd=self.cwd,
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "ANTHROPIC_BASE_URL": self.server.url,
                "ANTHROPIC_API_KEY": "fake",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        talks = [request["messages"] for request in self.server.requests if _is_ours(request)]
        messages: list[dict[str, Any]] = talks[-1]
        return messages


def _is_ours(request: dict[str, Any]) -> bool:
    """Whether a request carries the prompt; the program asks for titles and the like on the side."""
    return bool(request.get("tools")) and PROMPT in str(request.get("messages", [{}])[-1])


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claude]:
    home = tmp_path_factory.mktemp("claude")
    (home / "project").mkdir()
    with model_server() as server:
        yield Claude(home, server)


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without reminders, the program's own marks and the new prompt."""
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    words = block["text"]
                    if words.strip() and not words.startswith("<system-reminder>") and words not in MARKS:
                        found.append((message["role"], [words]))
                case "image":
                    found.append((message["role"], [PICTURE]))
                case "tool_use":
                    number = calls.setdefault(block["id"], len(calls))
                    found.append(("call", number, block["name"], block["input"]))
                case "tool_result":
                    inner = block["content"]
                    parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner
                    text = "".join(part.get("text", PICTURE) for part in parts)
                    found.append(("result", calls[block["tool_use_id"]], text))
                case _:
                    continue
    items = joined(found)
    assert items[-1][0] == "user"
    assert items[-1][1][-1] == PROMPT
    items[-1] = ("user", items[-1][1][:-1])
    return items if items[-1][1] else items[:-1]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_claude_code_sends_the_conversation_of_every_golden(claude: Claude, path: Path):
    source = read(path.read_bytes(), name=str(path))
    session = str(uuid.uuid4())
    header = Header(
        id=session,
        version=3,
        timestamp="2030-01-01T00:00:00.000Z",
        cwd=str(claude.cwd),
        parent_session=str(path),
    )
    (directory,) = CLAUDE_CODE.home.new_directories(header, {}, str(claude.home))
    Path(directory).mkdir(parents=True, exist_ok=True)
    (Path(directory) / f"{session}.jsonl").write_bytes(convert(source, CLAUDE_CODE, header).data)

    messages = claude.resumed(session)

    assert sent(messages) == said(source), path

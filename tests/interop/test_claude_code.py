"""The real Claude Code continues converted sessions; only where ``BRANCHLINE_CLAUDE`` names the program.

It is not open source, so it is neither fetched nor run unless somebody asks for it.
"""

from __future__ import annotations

import os
import random
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import CLAUDE_CODE, EntryLog
from branchline.session import Session
from formats.conversion_kit import read
from interop.model_server import ModelServer, model_server
from interop.sources import WRITTEN, opened, sources
from interop.test_codex import GOLDENS, OTHERWISE, PICTURE, PROMPT, Item, joined, said

PROGRAM = os.environ.get("BRANCHLINE_CLAUDE", "")
NOT_EXACT = {
    **OTHERWISE,
    "20261115-072813-468d3552.jsonl": "a whole number that JavaScript rounds",
    "20261115-072824-e4abb16d.jsonl": "the program moves text before the calls of the same answer",
}
MOVED = "its summary stands before the messages that it keeps"
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
        before = len(self.server.requests)
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
        (messages,) = (request["messages"] for request in self.server.requests[before:] if _is_ours(request))
        return [message for message in messages if message["role"] != "system"]


def _is_ours(request: dict[str, Any]) -> bool:
    """Whether a request carries the prompt; the program asks for titles and the like on the side."""
    return bool(request.get("tools")) and PROMPT in str(request["messages"])


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claude]:
    home = tmp_path_factory.mktemp("claude")
    (home / "project").mkdir()
    with model_server() as server:
        yield Claude(home, server)


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without reminders, the program's own marks and the new prompt.

    The program ends texts with a newline where it joins two prompts.
    """
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    words = block["text"]
                    if words.strip() and not words.startswith("<system-reminder>") and words not in MARKS:
                        found.append((message["role"], [words.rstrip("\n")]))
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


def unended(items: list[Item]) -> list[Item]:
    """The items without newlines at the end of texts."""
    return [
        (item[0], [text.rstrip("\n") for text in item[1]]) if isinstance(item[1], list) else item
        for item in items
    ]


def installed(claude: Claude, source: EntryLog) -> str:
    """A session converted into the home of the program."""
    session = str(uuid.uuid4())
    header = Header(
        id=session,
        version=3,
        timestamp="2030-01-01T00:00:00.000Z",
        cwd=str(claude.cwd),
        parent_session="/x.jsonl",
    )
    (directory,) = CLAUDE_CODE.home.new_directories(header, {}, str(claude.home))
    Path(directory).mkdir(parents=True, exist_ok=True)
    (Path(directory) / f"{session}.jsonl").write_bytes(convert(source, CLAUDE_CODE, header).data)
    return session


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_claude_code_sends_the_conversation_of_every_golden(claude: Claude, path: Path):
    source = read(path.read_bytes(), name=str(path))

    messages = claude.resumed(installed(claude, source))

    assert sent(messages) == unended(said(source)), path


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_claude_code_sends_the_conversation_up_to_any_entry_of_a_golden(claude: Claude, path: Path):
    with Session.in_memory(data=path.read_bytes()) as session:
        tree = session.transcript.tree
        spoken = [place for place, kind in enumerate(tree.types) if kind in ("message", "compaction")]
        session.branch(tree.keys[random.Random(path.stem).choice(spoken)])

        messages = claude.resumed(installed(claude, session.transcript))

        assert sent(messages) == unended(said(session.transcript)), path


@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "claude-code"])
def test_claude_code_sends_the_conversation_of_every_sample(claude: Claude, program: str):
    different = []
    for address in sources(program):
        with opened(address) as source:
            wanted = unended(said(source))
            made = convert(source, CLAUDE_CODE, Header(id=str(uuid.uuid4()), version=3))
            moved = any(MOVED in change.why for change in made.fidelity.approximated)
            if Path(address).name in NOT_EXACT or moved or not wanted:
                continue
            if sent(claude.resumed(installed(claude, source))) != wanted:
                different.append(address)

    assert different == []

"""The real Qwen Code and Copilot CLI continue converted sessions: what they send is the conversation of the source."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import COPILOT, QWEN, EntryLog, Format
from formats.conversion_kit import read, samples
from interop import peers
from interop.conversations import PICTURE, PROMPT, Item, joined, said
from interop.model_server import ModelServer, model_server
from support import CORPUS

GOLDENS = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
SETUP = "This is the Qwen Code. We are setting up the context for our chat."
GREETING = "Got it. Thanks for the context!"
NO_IMAGE = "[Unsupported image file"


class Agent(NamedTuple):
    """A program with a home of its own and a model server."""

    format: Format
    command: tuple[str, ...]
    home: Path
    server: ModelServer
    environment: dict[str, str]

    def install(self, source: EntryLog) -> str:
        """Convert a session into the home of the program; returns its id."""
        session = str(uuid.uuid4())
        header = Header(
            id=session, version=3, timestamp="2030-01-01T00:00:00.000Z", cwd=str(self.home / "project")
        )
        folder = Path(self.format.home.new_directories(header, {}, str(self.home))[0])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.format.home.file_key(header)}.jsonl").write_bytes(
            convert(source, self.format, header).data
        )
        return session

    def resumed(self, session: str) -> list[dict[str, Any]]:
        """The messages that the program sends with a new prompt to a session."""
        before = len(self.server.requests)
        done = subprocess.run(
            [word.replace("SESSION", session) for word in self.command],
            cwd=self.home / "project",
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **self.environment},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = self.server.requests[before]["messages"]
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(scope="module")
def qwen(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    try:
        program = peers.qwen()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    home = tmp_path_factory.mktemp("qwen")
    (home / "project").mkdir()
    command = ("node", str(program), "--auth-type", "openai", "--yolo", "--resume", "SESSION", "-p", PROMPT)
    environment = {
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": "x",
        "OPENAI_MODEL": "fake",
        "QWEN_TELEMETRY_ENABLED": "false",
    }
    return Agent(QWEN, command, home, server, environment)


@pytest.fixture(scope="module")
def copilot(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """Copilot CLI is not open source: it takes part where somebody has installed it."""
    if not (program := os.environ.get("BRANCHLINE_COPILOT")):
        pytest.skip("BRANCHLINE_COPILOT names no installed Copilot CLI")
    home = tmp_path_factory.mktemp("copilot")
    (home / "project").mkdir()
    environment = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{server.url}/v1",
        "COPILOT_MODEL": "gpt-5",
        "COPILOT_PROVIDER_API_KEY": "x",
    }
    command = (program, "--allow-all-tools", "--resume=SESSION", "-p", PROMPT)
    return Agent(COPILOT, command, home, server, environment)


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """What a request says, without what the program adds itself and without the new prompt."""
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        words = _parts(message.get("content"))
        match message["role"]:
            case "user" if words and not words[0].startswith(SETUP):
                found.append(("user", words))
            case "assistant":
                words = [word for word in (text.removeprefix(GREETING) for text in words) if word]
                if words:
                    found.append(("assistant", words))
                for call in message.get("tool_calls") or ():
                    number = calls.setdefault(call["id"], len(calls))
                    arguments = json.loads(call["function"]["arguments"])
                    found.append(("call", number, call["function"]["name"], arguments))
            case "tool":
                found.append(("result", calls[message["tool_call_id"]], "".join(words)))
            case _:
                continue
    last = joined(found)[-1]
    assert last[0] == "user"
    assert last[1][-1] == PROMPT
    last[1].pop()
    return plain([*joined(found)[:-1], *([last] if last[1] else [])])


def plain(items: list[Item]) -> list[Item]:
    """With the words of an answer as one text: the program joins answers that follow each other."""
    return [(item[0], "".join(item[1])) if item[0] == "assistant" else item for item in items]


def _parts(content: Any) -> list[str]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    texts = [part.get("text", PICTURE) for part in content]
    return [PICTURE if text.startswith(NO_IMAGE) else text for text in texts if text.strip()]


def check(agent: Agent, path: Path) -> None:
    source = read(path.read_bytes(), name=str(path))

    messages = agent.resumed(agent.install(source))

    assert sent(messages) == plain(said(source)), path


def test_qwen_sends_the_conversation_of_a_converted_session_item_by_item(qwen: Agent):
    check(qwen, CORPUS / "pi" / "golden" / "g061.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_qwen_sends_the_conversation_of_every_golden(qwen: Agent, path: Path):
    check(qwen, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex"]
)
def test_qwen_sends_the_conversation_of_every_sample(qwen: Agent, program: str):
    different = []
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))
        if sent(qwen.resumed(qwen.install(source))) != plain(said(source)):
            different.append(path.name)

    assert different == []


@pytest.mark.parametrize("name", ["g001", "g061"])
def test_copilot_sends_the_conversation_of_a_converted_session_item_by_item(copilot: Agent, name: str):
    check(copilot, CORPUS / "pi" / "golden" / f"{name}.jsonl")

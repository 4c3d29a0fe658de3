"""Sessions that opencode imports: the real program sends the same conversation to its model, item by item."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline import Session
from branchline.actions.convert import ConvertedFile, ConvertRequest, convert
from branchline.context.model_input import model_messages
from branchline.context.tool_pairs import NO_RESULT, close_tool_calls
from branchline.conversion.fallbacks import as_user_message, known_block
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    Image,
    MessageEntry,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UserMessage,
)
from branchline.formats.api_limits import api_tool_name
from interop import peers
from interop.api_rules import chat_problems
from interop.conversations import rounded
from interop.model_server import ModelServer, model_server
from interop.sources import WRITTEN, sources
from support import CORPUS

GOLDENS = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
FEW = {"g009", "g012"}  # tools, thoughts and images; an edit, and a compaction that keeps messages
MODEL = {"providerID": "fake", "modelID": "fake-model"}
ASKED = "What did we do so far?"  # what opencode puts before the summary of a compaction
ATTACHED = (
    "Attached media from tool result:"  # what it puts before the images of results, for an API without them
)


class Opencode(NamedTuple):
    """An opencode with a home of its own, its server, and the model that it asks."""

    program: Path
    project: Path
    environment: dict[str, str]
    models: ModelServer
    url: str

    def conversation(self, session_id: str) -> list[tuple[Any, ...]]:
        """What opencode sends for a prompt after everything that is in a session."""
        body = json.dumps({"parts": [{"type": "text", "text": "go on"}], "model": MODEL}).encode()
        before = len(self.models.requests)
        request = urllib.request.Request(
            f"{self.url}/session/{session_id}/message?directory={self.project}",
            body,
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            answer.read()
        sent = [request for request in self.models.requests[before:] if request.get("tools")]
        messages = [message for message in sent[0]["messages"] if message["role"] != "system"]
        assert chat_problems(messages) == []
        calls: dict[str, int] = {}
        return [_item(message, calls) for message in messages]


@pytest.fixture(scope="module")
def opencode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opencode]:
    try:
        program = peers.opencode()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    place = tmp_path_factory.mktemp("opencode")
    project = place / "project"
    project.mkdir()
    with model_server() as models:
        environment = _environment(place / "home", models.url)
        command = [program, "serve", "--port", "0", "--hostname", "127.0.0.1"]
        with subprocess.Popen(
            command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as server:
            try:
                assert server.stdout is not None
                ready = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stdout)
                url = next(found[0] for found in ready if found)
                yield Opencode(program, project, environment, models, url)
            finally:
                server.kill()


def _environment(home: Path, models: str) -> dict[str, str]:
    limits = {"context": 2_000_000, "output": 8000}
    model = {
        "name": "fake",
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": limits,
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{models}/v1", "apiKey": "none"},
        "models": {"fake-model": model},
    }
    name = "fake/fake-model"
    settings = {"model": name, "small_model": name, "share": "disabled", "provider": {"fake": provider}}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


@pytest.fixture
def installed(opencode: Opencode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opencode:
    """This process sees the opencode and its home as its user does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opencode").symlink_to(opencode.program)
    for name, value in opencode.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{opencode.environment['PATH']}")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "branchline"))
    return opencode


def _item(message: dict[str, Any], calls: dict[str, int]) -> tuple[Any, ...]:
    """One message; calls and results have the number of the call, as ids differ from those of the source."""
    content = (
        (message.get("reasoning_content") or "") + (message.get("content") or "")
        if (message["role"] == "assistant")
        else message.get("content") or ""
    )
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    if message["role"] == "tool":
        return ("tool", calls[message["tool_call_id"]], text)
    if message["role"] == "assistant":
        for one in message.get("tool_calls", ()):
            calls[one["id"]] = len(calls)
        asked = [one["function"] for one in message.get("tool_calls", ())]
        return ("assistant", text.strip(), [(one["name"], json.loads(one["arguments"])) for one in asked])
    return ("user", text, sum(part["type"] == "image_url" for part in parts))


def expected(session: Session) -> list[tuple[Any, ...]]:
    """The context of a session as opencode says it: thoughts of other models as text, results as one text."""
    shown = {item.entry: item.message for item in session.context().messages}
    asked = {
        block.id
        for entry in session.entries(session.path())
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
        for block in getattr(shown.get(entry.id, entry.message), "content", ())
        if isinstance(block, ToolCall)
    }
    heard: list[Any] = []
    for item in session.context().messages:
        message = item.message
        if isinstance(message, CompactionSummaryMessage) and session.entry(item.entry).type == "compaction":
            summary = AssistantMessage(content=(Text(text=message.summary),))
            heard += [UserMessage(content=ASKED), summary]
        elif isinstance(message, ToolResult) and message.tool_call_id not in asked:
            # A result of no call at all is kept as a prompt.
            entry = as_user_message(MessageEntry(id="x", message=message))
            heard.append(entry.message)
        else:
            heard += model_messages([message])
    items: list[tuple[Any, ...]] = []
    images = 0  # of the results so far
    numbers: dict[str, int] = {}
    for message in close_tool_calls(heard):
        if images and not isinstance(message, ToolResult):
            items.append(("user", ATTACHED, images))
            images = 0
        if isinstance(message, SystemMessage):
            continue
        content = (Text(text=message.content),) if isinstance(message.content, str) else message.content
        said = "".join(map(_words, content))
        if isinstance(message, ToolResult):
            said = "\n".join(_words(block) for block in content if not isinstance(block, Image))
            said = "[Tool execution was interrupted]" if said == NO_RESULT else said
            items.append(("tool", numbers[message.tool_call_id], said))
            images += sum(isinstance(block, Image) for block in content)
        elif isinstance(message, AssistantMessage):
            asking = [block for block in content if isinstance(block, ToolCall)]
            calls = [(api_tool_name(block.name), block.arguments) for block in asking]
            numbers |= {block.id: number for number, block in enumerate(asking, len(numbers))}
            has_text = any(isinstance(block, Text | UnknownBlock) and _words(block) for block in content)
            failed = message.stop_reason in ("error", "aborted")
            if calls or has_text or (said.strip() and not failed):
                items.append(("assistant", said.strip(), calls))
        else:
            items.append(("user", said, sum(isinstance(block, Image) for block in content)))
    return [*items, ("user", ATTACHED, images)] if images else items


def sorted_results(items: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The items with results that follow each other in the order of their calls."""
    groups = groupby(items, key=lambda item: item[0])
    return [item for role, group in groups for item in (sorted(group) if role == "tool" else group)]


def _words(block: Any) -> str:
    known = known_block(block)
    return known.text if isinstance(known, Text) else known.thinking if isinstance(known, Thinking) else ""


def _params() -> Iterator[Any]:
    for path in GOLDENS:
        yield pytest.param(path, id=path.stem, marks=() if path.stem in FEW else pytest.mark.slow)


@pytest.mark.parametrize("source", list(_params()))
def test_opencode_continues_the_same_conversation(source: Path, installed: Opencode):
    made = compare(str(source), installed)

    assert made is not None
    assert made.path.endswith(f"/opencode.db#{made.session}")
    assert made.resume == f"cd {installed.project} && opencode --session {made.session}"
    with Session.open(made.path) as back:
        assert back.leaf is not None


@pytest.mark.slow
@pytest.mark.parametrize("program", WRITTEN)
def test_opencode_continues_the_conversation_of_every_sample(program: str, installed: Opencode):
    for address in sources(program):
        compare(address, installed)


def compare(address: str, opencode: Opencode) -> ConvertedFile | None:
    """Convert a session and compare what opencode sends; None if there is nothing to send."""
    with Session.open(address) as session:
        items = expected(session)
        if not items:
            return None
        (made,) = convert(session, ConvertRequest(to="opencode", install=True, cwd=opencode.project)).files

    sent = opencode.conversation(made.session)

    assert rounded(sorted_results(sent[:-1])) == rounded(sorted_results(items)), address
    assert sent[-1] == ("user", "go on", 0)
    return made

"""The real Qwen Code continues converted sessions: what it sends to the model is the conversation of the source."""

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
from branchline.formats import QWEN, EntryLog
from formats.conversion_kit import read
from interop import peers
from interop.model_server import ModelServer, model_server
from interop.sources import WRITTEN, opened, sources
from interop.test_codex import GOLDENS, OTHERWISE, PICTURE, PROMPT, Item, joined, said

CHOSEN = {"g061"}  # answers that hold only calls, one after the other
NOT_EXACT = {
    **OTHERWISE,
    "20261115-072813-468d3552.jsonl": "a number that JavaScript rounds, and a picture in a result",
}
NO_PICTURE = "[Unsupported image file"  # in place of a picture, for a model that sees none
CONTEXT_ANSWER = "Got it. Thanks for the context!"


class Qwen(NamedTuple):
    """An installed Qwen Code with a home of its own and a model server."""

    program: Path
    home: Path
    server: ModelServer

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    def resumed(self, session: str) -> list[dict[str, Any]]:
        """The messages that the program sends with a new prompt to a session."""
        before = len(self.server.requests)
        done = subprocess.run(
            [self.program, "--resume", session, "--auth-type", "openai", "--yolo", "-p", PROMPT],
            cwd=self.cwd,
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "OPENAI_BASE_URL": f"{self.server.url}/v1",
                "OPENAI_API_KEY": "x",
                "OPENAI_MODEL": "fake-model",
            },
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        talks = [one["messages"] for one in self.server.requests[before:] if PROMPT in str(one["messages"])]
        messages: list[dict[str, Any]] = talks[0]
        return messages


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qwen]:
    try:
        program = peers.qwen()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    home = tmp_path_factory.mktemp("qwen")
    (home / "project").mkdir()
    with model_server() as server:
        yield Qwen(program, home, server)


def installed(qwen: Qwen, source: EntryLog) -> str:
    """A session converted into the home of the program."""
    session = str(uuid.uuid4())
    header = Header(
        id=session,
        version=3,
        timestamp="2030-01-01T00:00:00.000Z",
        cwd=str(qwen.cwd),
        parent_session="/x.jsonl",
    )
    directory = QWEN.home.directory(header.cwd, {}, str(qwen.home))
    assert directory is not None
    Path(directory).mkdir(parents=True, exist_ok=True)
    (Path(directory) / f"{session}.jsonl").write_bytes(convert(source, QWEN, header).data)
    return session


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without the system prompt and the new prompt."""
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        parts = _parts(message.get("content"))
        match message["role"]:
            case "user" if parts:
                found.append(("user", parts))
            case "assistant":
                if parts and parts != [CONTEXT_ANSWER]:
                    found.append(("assistant", parts))
                for one in message.get("tool_calls") or ():
                    calls[one["id"]] = len(calls)
                    arguments = json.loads(one["function"]["arguments"])
                    found.append(("call", calls[one["id"]], one["function"]["name"], arguments))
            case "tool":
                found.append(("result", calls[message["tool_call_id"]], "".join(parts)))
            case _:
                continue
    items = unbroken(joined(found))
    assert items[-1][0] == "user"
    assert items[-1][1][-1] == PROMPT
    items[-1] = ("user", items[-1][1][:-1])
    return items if items[-1][1] else items[:-1]


def unbroken(items: list[Item]) -> list[Item]:
    """The items with the texts of answers that follow each other in one piece, as the program sends them."""
    return [
        (item[0], ["".join(item[1]).removeprefix(CONTEXT_ANSWER)]) if item[0] == "assistant" else item
        for item in items
    ]


def _parts(content: Any) -> list[str]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = [block.get("text", PICTURE) for block in blocks]
    shown = [PICTURE if text.startswith(NO_PICTURE) else text for text in texts]
    return [text for text in shown if text.strip() and not _is_context(text)]


def _is_context(text: str) -> bool:
    return text.startswith(("<system-reminder>", "This is the Qwen Code."))


def _params() -> Iterator[Any]:
    for path in GOLDENS:
        yield pytest.param(path, id=path.stem, marks=() if path.stem in CHOSEN else pytest.mark.slow)


@pytest.mark.parametrize("path", list(_params()))
def test_qwen_code_sends_the_conversation_of_every_golden(qwen: Qwen, path: Path):
    source = read(path.read_bytes(), name=str(path))

    messages = qwen.resumed(installed(qwen, source))

    assert sent(messages) == unbroken(said(source)), path


@pytest.mark.slow
@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "qwen"])
def test_qwen_code_sends_the_conversation_of_every_sample(qwen: Qwen, program: str):
    different = []
    for address in sources(program):
        with opened(address) as source:
            wanted = unbroken(said(source))
            if Path(address).name in NOT_EXACT or not wanted:
                continue
            if sent(qwen.resumed(installed(qwen, source))) != wanted:
                different.append(address)

    assert different == []

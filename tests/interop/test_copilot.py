"""The real Copilot CLI continues converted sessions; only where ``BRANCHLINE_COPILOT`` names the program.

It is not open source, so it is neither fetched nor run unless somebody asks for it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import COPILOT, EntryLog
from formats.conversion_kit import read
from interop.model_server import ModelServer, model_server
from interop.sources import WRITTEN, opened, sources
from interop.test_codex import GOLDENS, OTHERWISE, PICTURE, PROMPT, Item, joined, said

PROGRAM = os.environ.get("BRANCHLINE_COPILOT", "")

BEFORE_PICTURE = "Attached image"
DATE = re.compile(r"<current_datetime>.*?</current_datetime>\s*")  # before every prompt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="BRANCHLINE_COPILOT names no Copilot CLI"),
]


class Copilot(NamedTuple):
    """An installed Copilot CLI with a home of its own and a model server."""

    home: Path
    server: ModelServer

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    def resumed(self, session: str) -> list[dict[str, Any]]:
        """The messages that the program sends with a new prompt to a session."""
        before = len(self.server.requests)
        done = subprocess.run(
            [PROGRAM, "--allow-all-tools", f"--resume={session}", "-p", PROMPT],
            cwd=self.cwd,
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{self.server.url}/v1",
                "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_MODEL": "gpt-5",
            },
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        talks = [
            one["messages"] for one in self.server.requests[before:] if PROMPT in str(one.get("messages"))
        ]
        messages: list[dict[str, Any]] = talks[0]
        return messages


@pytest.fixture(scope="module")
def copilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copilot]:
    home = tmp_path_factory.mktemp("copilot")
    (home / "project").mkdir()
    with model_server() as server:
        yield Copilot(home, server)


def installed(copilot: Copilot, source: EntryLog) -> str:
    """A session converted into the home of the program."""
    session = str(uuid.uuid4())
    header = Header(
        id=session,
        version=3,
        timestamp="2030-01-01T00:00:00.000Z",
        cwd=str(copilot.cwd),
        parent_session="/x.jsonl",
    )
    (directory,) = COPILOT.home.new_directories(header, {}, str(copilot.home))
    Path(directory).mkdir(parents=True, exist_ok=True)
    (Path(directory) / "events.jsonl").write_bytes(convert(source, COPILOT, header).data)
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
                if parts:
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
    assert items[-1][1].endswith(PROMPT)
    items[-1] = ("user", DATE.sub("", items[-1][1]).removesuffix(PROMPT).strip())
    return items if items[-1][1] else items[:-1]


def unbroken(items: list[Item]) -> list[Item]:
    """The items with the texts of one speaker in one piece, as the program sends them."""
    return [
        (item[0], "\n".join(item[1]).strip()) if item[0] in ("user", "assistant") else item for item in items
    ]


def _parts(content: Any) -> list[str]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = (block.get("text", PICTURE) for block in blocks)
    return [text for text in texts if text.strip() and text != BEFORE_PICTURE]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_copilot_sends_the_conversation_of_every_golden(copilot: Copilot, path: Path):
    source = read(path.read_bytes(), name=str(path))

    messages = copilot.resumed(installed(copilot, source))

    assert sent(messages) == unbroken(said(source)), path


@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "copilot"])
def test_copilot_sends_the_conversation_of_every_sample(copilot: Copilot, program: str):
    different = []
    for address in sources(program):
        with opened(address) as source:
            wanted = unbroken(said(source))
            if Path(address).name in OTHERWISE or not wanted:
                continue
            if sent(copilot.resumed(installed(copilot, source))) != wanted:
                different.append(address)

    assert different == []

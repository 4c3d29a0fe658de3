"""A real agent that continues converted sessions, with a home of its own and a model server.

What it sends to the server with a new prompt is the conversation as the agent understands it.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import EntryLog, Format
from interop.api_rules import chat_problems
from interop.conversations import PROMPT, Item, joined
from interop.model_server import ModelServer, model_server
from interop.sources import opened, sources


class ResumedAgent(NamedTuple):
    """An installed agent."""

    format: Format
    home: Path
    server: ModelServer
    file: str = "{}.jsonl"
    """The name of a session file, by the id of the session."""

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    def installed(self, source: EntryLog) -> str:
        """Convert a session into the home of the agent, and return the new id."""
        session = str(uuid.uuid4())
        header = Header(
            id=session,
            version=3,
            timestamp="2030-01-01T00:00:00.000Z",
            cwd=str(self.cwd),
            parent_session="/x.jsonl",
        )
        (directory,) = self.format.home.new_directories(header, {}, str(self.home))
        Path(directory).mkdir(parents=True, exist_ok=True)
        (Path(directory) / self.file.format(session)).write_bytes(convert(source, self.format, header).data)
        return session

    def requests(self, command: Sequence[str | Path], env: Mapping[str, str]) -> list[dict[str, Any]]:
        """Run a command of the agent; the requests with the new prompt that it sends."""
        before = len(self.server.requests)
        done = subprocess.run(
            command,
            cwd=self.cwd,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **env},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return [one for one in self.server.requests[before:] if PROMPT in str(one.get("messages"))]


@contextmanager
def resumed_agent(
    format_: Format, folders: pytest.TempPathFactory, *, file: str = "{}.jsonl"
) -> Iterator[ResumedAgent]:
    """An agent with an empty home and an empty project."""
    home = folders.mktemp(format_.name)
    (home / "project").mkdir()
    with model_server() as server:
        yield ResumedAgent(format_, home, server, file)


def chat_items(messages: list[dict[str, Any]], parts_of: Callable[[Any], list[str]]) -> list[Item]:
    """The messages of OpenAI's chat API item by item, without the system prompt."""
    assert chat_problems(messages) == []
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        parts = parts_of(message.get("content"))
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
    return joined(found)


def different_samples(program: str, same: Callable[[EntryLog], bool]) -> list[str]:
    """The samples of a program that are not the same after a conversion."""
    different = []
    for address in sources(program):
        with opened(address) as source:
            if not same(source):
                different.append(address)
    return different

"""The real Claude Code continues converted sessions; only where ``BRANCHLINE_CLAUDE`` names the program.

It is not open source, so it is neither fetched nor run unless somebody asks for it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.formats import CLAUDE_CODE, EntryLog
from branchline.session import Session
from formats.claude_code_kit import api_problems, request_items
from formats.conversion_kit import read
from interop.conversations import GOLDENS, PROMPT, Item, joined, rounded, said, texts_first
from interop.resumed_agent import ResumedAgent, different_samples, resumed_agent
from interop.sources import WRITTEN

PROGRAM = os.environ.get("BRANCHLINE_CLAUDE", "")
MARKS = ("No response requested.", "Continue from where you left off.")
"""What the program adds itself where a session ends with a prompt or a result."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="BRANCHLINE_CLAUDE names no Claude Code"),
]


def resumed(claude: ResumedAgent, source: EntryLog) -> list[Item]:
    """The conversation that the program sends with a new prompt to a converted session.

    It asks for titles and the like on the side, without tools.
    """
    found = claude.requests(
        [PROGRAM, "-r", claude.installed(source), "-p", PROMPT],
        {
            "ANTHROPIC_BASE_URL": claude.server.url,
            "ANTHROPIC_API_KEY": "fake",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )
    (messages,) = (request["messages"] for request in found if request.get("tools"))
    spoken = [message for message in messages if message["role"] != "system"]
    assert api_problems([{**message, "content": blocks(message["content"])} for message in spoken]) == []
    return sent(spoken)


def blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResumedAgent]:
    with resumed_agent(CLAUDE_CODE, tmp_path_factory) as agent:
        yield agent


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without reminders, the program's own marks and the new prompt.

    The program ends texts with a newline where it joins two prompts.
    """
    found = [
        item
        for item in unended(request_items(messages))
        if item[0] not in ("user", "assistant") or not _is_added(item[1][0])
    ]
    items = joined(found)
    assert items[-1][0] == "user"
    assert items[-1][1][-1] == PROMPT
    items[-1] = ("user", items[-1][1][:-1])
    return rounded(items if items[-1][1] else items[:-1])


def _is_added(text: str) -> bool:
    return not text.strip() or text.startswith("<system-reminder>") or text in MARKS


def heard(source: EntryLog) -> list[Item]:
    """The conversation of a session as the program sends it: it moves texts before calls, and rounds numbers."""
    return rounded(texts_first(unended(said(source))))


def unended(items: list[Item]) -> list[Item]:
    """The items without newlines at the end of texts."""
    return [
        (item[0], [text.rstrip("\n") for text in item[1]]) if isinstance(item[1], list) else item
        for item in items
    ]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_claude_code_sends_the_conversation_of_every_golden(claude: ResumedAgent, path: Path):
    source = read(path.read_bytes(), name=str(path))

    items = resumed(claude, source)

    assert items == heard(source), path


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_claude_code_sends_the_conversation_up_to_any_entry_of_a_golden(claude: ResumedAgent, path: Path):
    with Session.in_memory(data=path.read_bytes()) as session:
        tree = session.transcript.tree
        spoken = [place for place, kind in enumerate(tree.types) if kind in ("message", "compaction")]
        session.branch(tree.keys[random.Random(path.stem).choice(spoken)])

        items = resumed(claude, session.transcript)

        assert items == heard(session.transcript), path


@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "claude-code"])
def test_claude_code_sends_the_conversation_of_every_sample(claude: ResumedAgent, program: str):
    def same(source: EntryLog) -> bool:
        wanted = heard(source)
        return not wanted or resumed(claude, source) == wanted

    different = different_samples(program, same)

    assert different == []

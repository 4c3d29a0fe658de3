"""The real Copilot CLI continues converted sessions; only where ``BRANCHLINE_COPILOT`` names the program.

It is not open source, so it is neither fetched nor run unless somebody asks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline.formats import COPILOT, EntryLog
from formats.conversion_kit import read
from interop.conversations import GOLDENS, PICTURE, PROMPT, Item, rounded, said, texts_first
from interop.resumed_agent import ResumedAgent, chat_items, different_samples, resumed_agent
from interop.sources import WRITTEN

PROGRAM = os.environ.get("BRANCHLINE_COPILOT", "")

BEFORE_PICTURE = "Attached image"
DATE = re.compile(r"<current_datetime>.*?</current_datetime>\s*")  # before every prompt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM, reason="BRANCHLINE_COPILOT names no Copilot CLI"),
]


@pytest.fixture(scope="module")
def copilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResumedAgent]:
    with resumed_agent(COPILOT, tmp_path_factory, file="events.jsonl") as agent:
        yield agent


def resumed(copilot: ResumedAgent, source: EntryLog) -> list[Item]:
    """The conversation that the program sends with a new prompt to a converted session."""
    found = copilot.requests(
        [PROGRAM, "--allow-all-tools", f"--resume={copilot.installed(source)}", "-p", PROMPT],
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{copilot.server.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "gpt-5",
        },
    )
    return sent(found[0]["messages"])


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without the system prompt and the new prompt."""
    items = unbroken(chat_items(messages, _parts))
    assert items[-1][0] == "user"
    assert items[-1][1].endswith(PROMPT)
    items[-1] = ("user", DATE.sub("", items[-1][1]).removesuffix(PROMPT).strip())
    return rounded(items if items[-1][1] else items[:-1])


def heard(source: EntryLog) -> list[Item]:
    """The conversation of a session as the program sends it: the API has texts before calls, and JavaScript
    rounds numbers."""
    return rounded(unbroken(texts_first(said(source))))


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
def test_copilot_sends_the_conversation_of_every_golden(copilot: ResumedAgent, path: Path):
    source = read(path.read_bytes(), name=str(path))

    items = resumed(copilot, source)

    assert items == heard(source), path


@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "copilot"])
def test_copilot_sends_the_conversation_of_every_sample(copilot: ResumedAgent, program: str):
    def same(source: EntryLog) -> bool:
        wanted = heard(source)
        return not wanted or resumed(copilot, source) == wanted

    different = different_samples(program, same)

    assert different == []

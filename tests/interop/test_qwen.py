"""The real Qwen Code continues converted sessions: what it sends to the model is the conversation of the source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.formats import QWEN, EntryLog
from formats.conversion_kit import read
from interop import peers
from interop.conversations import GOLDENS, PICTURE, PROMPT, Item, Layout, rounded, said, texts_first
from interop.resumed_agent import ResumedAgent, chat_items, different_samples, resumed_agent
from interop.sources import WRITTEN

CHOSEN = {"g061"}  # answers that hold only calls, one after the other
NO_PICTURE = "[Unsupported image file"  # in place of a picture, for a model that sees none
LAYOUT = Layout(between="\n")  # a result is one text
CONTEXT_ANSWER = "Got it. Thanks for the context!"


class Qwen(NamedTuple):
    """An installed Qwen Code."""

    program: Path
    agent: ResumedAgent

    def resumed(self, source: EntryLog) -> list[Item]:
        """The conversation that the program sends with a new prompt to a converted session."""
        session = self.agent.installed(source)
        found = self.agent.requests(
            [self.program, "--resume", session, "--auth-type", "openai", "--yolo", "-p", PROMPT],
            {
                "OPENAI_BASE_URL": f"{self.agent.server.url}/v1",
                "OPENAI_API_KEY": "x",
                "OPENAI_MODEL": "fake-model",
            },
        )
        return sent(found[0]["messages"])


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qwen]:
    try:
        program = peers.qwen()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    with resumed_agent(QWEN, tmp_path_factory) as agent:
        yield Qwen(program, agent)


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without the system prompt and the new prompt."""
    items = unbroken(chat_items(messages, _parts))
    assert items[-1][0] == "user"
    assert items[-1][1][-1] == PROMPT
    items[-1] = ("user", items[-1][1][:-1])
    return rounded(items if items[-1][1] else items[:-1])


def heard(source: EntryLog) -> list[Item]:
    """The conversation of a session as the program sends it: the API has texts before calls, and JavaScript
    rounds numbers."""
    return rounded(unbroken(texts_first(said(source, LAYOUT))))


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
    return text.startswith("This is the Qwen Code.") or text == CONTEXT_ANSWER


def _params() -> Iterator[Any]:
    for path in GOLDENS:
        yield pytest.param(path, id=path.stem, marks=() if path.stem in CHOSEN else pytest.mark.slow)


@pytest.mark.parametrize("path", list(_params()))
def test_qwen_code_sends_the_conversation_of_every_golden(qwen: Qwen, path: Path):
    source = read(path.read_bytes(), name=str(path))

    items = qwen.resumed(source)

    assert items == heard(source), path


@pytest.mark.slow
@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "qwen"])
def test_qwen_code_sends_the_conversation_of_every_sample(qwen: Qwen, program: str):
    def same(source: EntryLog) -> bool:
        wanted = heard(source)
        return not wanted or qwen.resumed(source) == wanted

    different = different_samples(program, same)

    assert different == []

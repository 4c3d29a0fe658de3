"""The real Qwen Code continues converted sessions: what it sends to the model is the conversation of the source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.formats import QWEN, EntryLog
from formats.conversion_kit import read
from interop import peers
from interop.conversations import GOLDENS, OTHERWISE, PICTURE, PROMPT, Item, said
from interop.resumed_agent import ResumedAgent, chat_items, different_samples, resumed_agent
from interop.sources import WRITTEN

CHOSEN = {"g061"}  # answers that hold only calls, one after the other
NOT_EXACT = {
    **OTHERWISE,
    "20261115-072813-468d3552.jsonl": "a number that JavaScript rounds",
    "20261115-072824-e4abb16d.jsonl": "a call without an id is text, as the report says",
}
NO_PICTURE = "[Unsupported image file"  # in place of a picture, for a model that sees none
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
    items = _with_pictures(unbroken(chat_items(messages, _parts)))
    assert items[-1][0] == "user"
    assert items[-1][1][-1] == PROMPT
    items[-1] = ("user", items[-1][1][:-1])
    return items if items[-1][1] else items[:-1]


def _with_pictures(items: list[Item]) -> list[Item]:
    """The items with the pictures of results in them: the API takes pictures from users only."""
    found: list[Item] = []
    for item in items:
        if found and found[-1][0] == "result" and item[0] == "user" and set(item[1]) == {PICTURE}:
            found[-1] = (*found[-1][:2], found[-1][2] + "".join(item[1]))
        else:
            found.append(item)
    return found


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
    return text.startswith(("<system-reminder>", "This is the Qwen Code.")) or text == CONTEXT_ANSWER


def _params() -> Iterator[Any]:
    for path in GOLDENS:
        yield pytest.param(path, id=path.stem, marks=() if path.stem in CHOSEN else pytest.mark.slow)


@pytest.mark.parametrize("path", list(_params()))
def test_qwen_code_sends_the_conversation_of_every_golden(qwen: Qwen, path: Path):
    source = read(path.read_bytes(), name=str(path))

    items = qwen.resumed(source)

    assert items == unbroken(said(source)), path


@pytest.mark.slow
@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "qwen"])
def test_qwen_code_sends_the_conversation_of_every_sample(qwen: Qwen, program: str):
    def same(address: str, source: EntryLog) -> bool:
        wanted = unbroken(said(source))
        return Path(address).name in NOT_EXACT or not wanted or qwen.resumed(source) == wanted

    different = different_samples(program, same)

    assert different == []

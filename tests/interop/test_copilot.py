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
from branchline.session import Session
from formats.conversion_kit import read
from interop.conversations import (
    GOLDENS,
    PICTURE,
    PROMPT,
    Item,
    Layout,
    joined,
    results_sorted,
    rounded,
    said,
    texts_first,
)
from interop.resumed_agent import ResumedAgent, chat_items, different_samples, resumed_agent
from interop.sources import WRITTEN

PROGRAM = os.environ.get("BRANCHLINE_COPILOT", "")

BEFORE_PICTURE = "Attached image"
LAYOUT = Layout(between="\n", pictures_last=True)
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
    return sent(run(copilot, copilot.installed(source))[0]["messages"])


def run(copilot: ResumedAgent, session: str) -> list[dict[str, Any]]:
    """The requests that the program sends with a new prompt to a session."""
    return copilot.requests(
        [PROGRAM, "--allow-all-tools", f"--resume={session}", "-p", PROMPT],
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{copilot.server.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "gpt-5",
        },
    )


def sent(messages: list[dict[str, Any]]) -> list[Item]:
    """The conversation item by item, without the system prompt and the new prompt."""
    items = unbroken(chat_items(messages, _parts))
    assert items[-1][0] == "user"
    assert items[-1][1].endswith(PROMPT)
    items[-1] = ("user", DATE.sub("", items[-1][1]).removesuffix(PROMPT).strip())
    return rounded(items if items[-1][1] else items[:-1])


def heard(source: EntryLog) -> list[Item]:
    """The conversation of a session as the program sends it.

    The API has texts before calls and no pictures in results, and JavaScript rounds numbers. The program sends the
    results of parallel calls in the order of the calls, and the pictures of a prompt after its text. A result
    is one text, so its texts are on lines of their own.
    """
    items = results_sorted(texts_first(said(source, LAYOUT)))
    return rounded(unbroken(joined(list(pictures_apart(items)))))


def pictures_apart(items: list[Item]) -> Iterator[Item]:
    """The items with the pictures of results in a prompt after them."""
    pictures = 0  # of the results so far
    for item in [*items, ("end",)]:
        if item[0] == "result":
            text, *shown = item[2].split(PICTURE)
            pictures += len(shown)
            lines = [*([text] if text else ()), *["[image, see below]"] * len(shown)]
            yield ("result", item[1], LAYOUT.between.join(lines))
            continue
        if pictures:
            yield ("user", ["Images from the tool results:", *[PICTURE] * pictures])
            pictures = 0
        if item[0] != "end":
            yield item


def unbroken(items: list[Item]) -> list[Item]:
    """The items with the texts of one speaker in one piece, as the program sends them."""
    return [
        (item[0], "\n".join(item[1]).strip()) if item[0] in ("user", "assistant") else item for item in items
    ]


def _parts(content: Any) -> list[str]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = (block.get("text", PICTURE) for block in blocks)
    return [text for text in texts if text.strip() and text != BEFORE_PICTURE]


def test_copilot_keeps_the_title_of_an_installed_session(
    copilot: ResumedAgent, monkeypatch: pytest.MonkeyPatch
):
    """Without a name it would take the next prompt as the title."""
    monkeypatch.setenv("COPILOT_HOME", str(copilot.home / ".copilot"))
    with Session.in_memory(str(copilot.cwd), id="source") as source:
        source.append_message("What is a monad?")
        source.append_message({"role": "assistant", "content": [{"type": "text", "text": "A monoid."}]})
        source.set_title("yes: 100 % “monads”")
        (made,) = source.convert(to="copilot", install=True).files

    requests = run(copilot, made.session)

    assert sent(requests[0]["messages"]) == [("user", "What is a monad?"), ("assistant", "A monoid.")]
    with Session.open(made.path) as session:
        assert session.title == "yes: 100 % “monads”"
    assert "user_named: true" in Path(made.path).with_name("workspace.yaml").read_text()


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

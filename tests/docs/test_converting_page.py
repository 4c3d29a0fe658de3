"""The table of what each program keeps is what a conversion says."""

from __future__ import annotations

from typing import Any

import pytest

from branchline.clock import FixedClock
from branchline.conversion import Fidelity, convert
from branchline.entries import Header
from branchline.formats import PI
from branchline.plugins.formats import formats
from branchline.session import Session
from formats.conversion_kit import TARGETS, read, session_files
from support import CORPUS, ROOT

PAGE = (ROOT / "docs" / "guides" / "converting.md").read_text(encoding="utf-8")
COLUMNS = (
    "oh-my-pi",
    "operator",
    "induscode",
    "zot",
    "piglet",
    "claude-code",
    "codex",
    "qwen",
    "copilot",
    "opencode",
)
HEADER = Header(
    id="01990000-0000-7000-8000-000000000001",
    version=3,
    timestamp="2030-01-01T00:00:00.000Z",
    cwd="/home/u",
)
USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10}
COST = {"input": 0.1, "output": 0.2, "cacheRead": 0.3, "cacheWrite": 0.4, "total": 1.0}
CALL = {"type": "toolCall", "id": "c", "name": "x", "arguments": {"a": 1}}


def answer(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content), "stopReason": "stop", "timestamp": 5, **more}


def text(words: str = "words") -> dict[str, Any]:
    return {"type": "text", "text": words}


def beside(session: Session) -> None:
    first = session.append_message("start")
    session.append_message("left")
    session.branch(first)
    session.append_message("right")


def label(session: Session) -> None:
    session.append_label(session.append_message("start"), "here")


def edit(session: Session) -> None:
    session.append_context_edit(session.append_message("start"), "other")


def compaction(session: Session) -> None:
    session.append_message("start")
    session.append_compaction("in short", session.append_message("kept"), 100)


def result(session: Session, *content: dict[str, Any]) -> None:
    session.append_message(answer(CALL, stopReason="toolUse"))
    session.append_message(
        {"role": "toolResult", "toolCallId": "c", "toolName": "x", "content": list(content), "isError": True}
    )


def picture() -> dict[str, Any]:
    return {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


ROWS: dict[str, tuple[str, Any]] = {
    "prompts": ("user message", lambda s: s.append_message("words")),
    "images in prompts": (
        "user message",
        lambda s: s.append_message({"role": "user", "content": [text(), picture()], "timestamp": 5}),
    ),
    "answers and tool calls": ("answer", lambda s: s.append_message(answer(text(), CALL))),
    "thinking": (
        "answer",
        lambda s: s.append_message(answer({"type": "thinking", "thinking": "hm"}, text())),
    ),
    "thinking signatures": (
        "answer",
        lambda s: s.append_message(
            answer({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, text())
        ),
    ),
    "model of an answer": (
        "answer",
        lambda s: s.append_message(answer(text(), provider="p", model="m")),
    ),
    "tokens and cost of an answer": (
        "answer",
        lambda s: s.append_message(answer(text(), usage={**USAGE, "cost": {"total": 1.0}})),
    ),
    "cost by token type": (
        "answer",
        lambda s: s.append_message(answer(text(), usage={**USAGE, "cost": COST})),
    ),
    "tool results and error flags": ("tool result", lambda s: result(s, text())),
    "images in tool results": ("tool result", lambda s: result(s, text(), picture())),
    "shell commands": (
        "shell command",
        lambda s: s.append_message({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0}),
    ),
    "system messages": (
        "system message",
        lambda s: s.append_message({"role": "system", "content": "be kind", "timestamp": 5}),
    ),
    "extension messages": ("custom message", lambda s: s.append_custom_message("x", "words")),
    "extension data": ("custom data", lambda s: s.append_custom("x", {"a": 1})),
    "compactions": ("compaction", compaction),
    "branches": ("user message", beside),
    "branch summaries": (
        "branch summary",
        lambda s: s.branch_with_summary(s.append_message("start"), "it failed"),
    ),
    "context edits": ("context edit", edit),
    "labels": ("label", label),
    "titles": ("title", lambda s: (s.append_message("start"), s.set_title("A talk"))),
    "model changes": ("model change", lambda s: s.append_model_change("p", "m")),
    "thinking levels": ("thinking level", lambda s: s.append_thinking_level_change("high")),
}


def outcome(fidelity: Fidelity, kind: str) -> str:
    lost = [change for change in fidelity.lost if change.kind == kind]
    changed = [change for change in fidelity.approximated if change.kind == kind]
    return "no" if lost else "differently" if changed else "yes"


def row(name: str) -> str:
    kind, make = ROWS[name]
    cells = []
    for column in COLUMNS:
        (target,) = [format_ for format_ in formats() if format_.name == column]
        target = target if target.imports is None else target.for_import()
        with Session.in_memory("/home/u", id="old", clock=FixedClock(1_800_000_000_000)) as session:
            make(session)
            cells.append(outcome(convert(session.transcript, target, HEADER).fidelity, kind))
    return f"| {name} | {' | '.join(cells)} |"


KINDS = {"user message": 0, "answer": 1, "tool result": 2, "compaction": 3, "branch summary": 3}
WITH_SAMPLES = COLUMNS[:-1]


def comes_back(agent: str) -> str:
    """A row of the table of what comes back from the native format, counted over the samples."""
    target = TARGETS[agent]
    same = files = 0
    back, all_ = [0] * 5, [0] * 5
    for path in session_files(CORPUS / agent):
        source = read(path.read_bytes(), name=str(path))
        if source.format is not target or source.reading.is_superseded:
            continue
        native = read(convert(source, PI, HEADER).data, PI)
        fidelity = convert(native, target, HEADER, exact=True)
        same += fidelity.data == path.read_bytes()
        files += 1
        report = fidelity.fidelity
        changed = [(note.kind, len(note.entries)) for note in report.approximated]
        for kind, count in [*report.carried.items(), *changed]:
            back[KINDS.get(kind, 4)] += count
            all_[KINDS.get(kind, 4)] += count
        for note in report.lost:
            all_[KINDS.get(note.kind, 4)] += len(note.entries)
    pairs = zip((same, *back), (files, *all_), strict=True)
    return f"| {agent} | {' | '.join(f'{some} of {whole}' if whole else '–' for some, whole in pairs)} |"


@pytest.mark.parametrize("agent", WITH_SAMPLES)
def test_the_table_of_round_trips_says_what_comes_back(agent):
    assert comes_back(agent) in PAGE


@pytest.mark.parametrize("name", ROWS)
def test_the_table_says_what_a_conversion_does(name):
    assert row(name) in PAGE


def test_the_table_has_no_other_rows():
    heading = f"| | {' | '.join(COLUMNS)} |"
    table = PAGE[PAGE.index(heading) :].split("\n\n")[0].splitlines()

    assert [line.split(" | ")[0].removeprefix("| ") for line in table[2:]] == list(ROWS)

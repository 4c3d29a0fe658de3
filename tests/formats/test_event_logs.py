"""Events of Kimi Code and Copilot CLI whose meaning depends on other events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.entries import Image, message_text

IMAGE = "iVBORw0KGgo="


def spoken(path: Path) -> list[tuple[str, str]]:
    """Who said what on the path of a session."""
    with Session.open(path) as session:
        entries = session.entries(session.path())
        return [
            (entry.message.role, message_text(entry.message)) for entry in entries if entry.type == "message"
        ]


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# -- Kimi Code --------------------------------------------------------------------------------------------


def kimi_prompt(text: str, **ids: str) -> list[dict[str, Any]]:
    """A prompt, and the message that repeats it for the model."""
    parts = [{"type": "text", "text": text}]
    message = {"role": "user", "content": parts, "origin": {"kind": "user"}}
    return [
        {"type": "turn.prompt", "input": parts, "origin": {"kind": "user"}, "time": 1},
        {"type": "context.append_message", "message": {**message, **ids}, "time": 1},
    ]


def test_a_message_that_repeats_a_prompt_without_an_id_is_not_a_second_prompt(tmp_path):
    metadata = {"type": "metadata", "protocol_version": "1.5", "created_at": 1}
    lines = [metadata, *kimi_prompt("Again"), *kimi_prompt("Again")]

    path = written(tmp_path / "sessions" / "wd_x_0" / "session_1" / "agents" / "main" / "wire.jsonl", lines)

    assert spoken(path) == [("user", "Again"), ("user", "Again")]


# -- Copilot CLI ------------------------------------------------------------------------------------------


def copilot_session(tmp_path: Path, *events: tuple[str, dict[str, Any]]) -> Path:
    start = ("session.start", {"sessionId": "s", "version": 1, "context": {"cwd": "/p"}})
    lines = [
        {"type": kind, "data": data, "id": str(number), "timestamp": "", "parentId": str(number - 1)}
        for number, (kind, data) in enumerate((start, *events), 1)
    ]
    lines[0]["parentId"] = None
    return written(tmp_path / "session-state" / "s" / "events.jsonl", lines)


def asking(call: str, **more: str) -> tuple[str, dict[str, Any]]:
    request = {"toolCallId": call, "name": "view", "arguments": {}}
    return "assistant.message", {"content": "", "toolRequests": [request], **more}


def test_the_images_of_a_result_are_in_it_or_in_an_event_of_their_own(tmp_path):
    about = {"type": "image", "mimeType": "image/png"}
    images = [{**about, "assetId": "sha256:1"}, {**about, "data": IMAGE}, {**about, "assetId": "missing"}]
    path = copilot_session(
        tmp_path,
        ("user.message", {"content": "Look"}),
        asking("c"),
        ("session.binary_asset", {**about, "assetId": "sha256:1", "data": IMAGE}),
        (
            "tool.execution_complete",
            {
                "toolCallId": "c",
                "success": True,
                "result": {"content": "seen", "binaryResultsForLlm": images},
            },
        ),
    )

    with Session.open(path) as session:
        result = session.entry(session.leaf).message

    assert message_text(result) == "seen"
    assert result.content[1:] == (Image(data=IMAGE, mime_type="image/png"),) * 2


def test_events_of_a_sub_agent_name_the_call_that_started_it_if_not_the_agent(tmp_path):
    inside = {"parentToolCallId": "c"}
    path = copilot_session(
        tmp_path,
        ("user.message", {"content": "Ask somebody"}),
        asking("c"),
        asking("d", **inside),
        ("tool.execution_complete", {"toolCallId": "d", "result": {"content": "inner"}, **inside}),
        ("tool.execution_complete", {"toolCallId": "c", "result": {"content": "outer"}}),
    )

    assert spoken(path) == [("user", "Ask somebody"), ("assistant", ""), ("toolResult", "outer")]

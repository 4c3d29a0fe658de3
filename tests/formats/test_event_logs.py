"""Lines of Kimi Code, Copilot CLI, Gemini CLI and Qwen Code whose meaning depends on other lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.context import milliseconds
from branchline.entries import BashExecution, Image, message_text

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


def test_an_image_that_a_prompt_names_as_a_file_is_in_an_event_before_it(tmp_path):
    asset = {"mimeType": "image/png", "assetId": "sha256:1"}
    files = [{"type": "file", "path": "/p/a.txt"}, {"type": "file", "path": "/p/dot.png", **asset}]
    path = copilot_session(
        tmp_path,
        ("session.binary_asset", {"type": "image", **asset, "data": IMAGE}),
        ("user.message", {"content": "Look at @a.txt and @dot.png", "attachments": files}),
    )

    with Session.open(path) as session:
        prompt = session.entry(session.leaf).message

    assert prompt.content[1:] == (Image(data=IMAGE, mime_type="image/png"),)


def test_a_shell_command_of_the_user_is_no_tool_result(tmp_path):
    call = {"toolCallId": "c", "toolName": "local_shell", "arguments": {"command": "ls"}}
    done = {"toolCallId": "c", "isUserRequested": True, "success": True, "shellExecution": {"exitCode": 0}}
    path = copilot_session(
        tmp_path,
        ("tool.user_requested", call),
        ("tool.execution_complete", {**done, "result": {"content": "a.txt"}}),
    )

    with Session.open(path) as session:
        command = session.entry(session.leaf).message

    assert isinstance(command, BashExecution)
    assert (command.command, command.output, command.exit_code) == ("ls", "a.txt", 0)


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


# -- Gemini CLI -------------------------------------------------------------------------------------------


def gemini_message(id_: str, kind: str, *parts: Any) -> dict[str, Any]:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"id": id_, "timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "content": content}


def test_a_saved_conversation_that_was_loaded_replaces_the_talk_before_it(tmp_path):
    """``/chat resume`` appends the saved messages under new ids, and then cuts the list before them."""
    context = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
    call = {"functionCall": {"id": "c", "name": "read_file", "args": {}}}
    result = {"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "three lines"}}}
    saved = [("user", context, "First"), ("gemini", call), ("user", result), ("gemini", "Three.")]
    loaded = [gemini_message(f"loaded-{number}", *parts) for number, parts in enumerate(saved)]
    lines = [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-02T03:04:05.000Z"},
        {"$set": {"messages": [gemini_message("context", "user", context)]}},
        gemini_message("1", "user", "First"),
        {
            **gemini_message("2", "gemini"),
            "toolCalls": [{"id": "c", "name": "read_file", "result": [result]}],
        },
        gemini_message("3", "user", result),
        gemini_message("4", "gemini", "Three."),
        gemini_message("5", "user", "Later"),
        gemini_message("6", "gemini", "Dropped."),
        *loaded,
        {"$set": {"messages": loaded}},
        gemini_message("7", "user", "Then"),
        gemini_message("8", "gemini", "Kept."),
    ]

    path = written(tmp_path / "chats" / "session-2026-01-02T03-04-s.jsonl", lines)

    assert spoken(path) == [
        ("user", "First"),
        ("assistant", ""),
        ("toolResult", "three lines"),
        ("assistant", "Three."),
        ("user", "Then"),
        ("assistant", "Kept."),
    ]
    with Session.open(path) as session:
        assert session.children(None) == ["context", "loaded-0"]


def test_files_that_older_releases_appended_to_a_prompt_are_not_its_text(tmp_path):
    prompt = "Look at @a.txt\n--- Content from referenced files ---\nContent from @a.txt:\n1\n--- End of content ---"
    document = {
        "sessionId": "s",
        "projectHash": "h",
        "messages": [{"id": "1", "timestamp": "2026-01-02T03:04:05.000Z", "type": "user", "content": prompt}],
    }
    path = tmp_path / "chats" / "session-2026-01-02T03-04-s.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document, indent=2))

    assert spoken(path) == [("user", "Look at @a.txt")]
    with Session.open(path) as session:
        assert session.title == "Look at @a.txt"


# -- Qwen Code --------------------------------------------------------------------------------------------


def qwen_session(tmp_path: Path, *times: str) -> Path:
    """A prompt, its answer, and further prompts that follow each other, with one of these times each."""
    lines = [
        {
            "uuid": f"q{number}",
            "parentUuid": f"q{number - 1}" if number else None,
            "sessionId": "5e0c1b1e-1111-4a6b-9c3d-00000000000a",
            "timestamp": time,
            "type": "assistant" if number == 1 else "user",
            "message": {"role": "model" if number == 1 else "user", "parts": [{"text": f"text {number}"}]},
        }
        for number, time in enumerate(times)
    ]
    return written(tmp_path / "chats" / "5e0c1b1e-1111-4a6b-9c3d-00000000000a.jsonl", lines)


def test_a_damaged_last_record_of_qwen_code_does_not_move_the_leaf(tmp_path):
    """The end of an answer is lost, which followed the first prompt: its ids are readable, its text is not."""
    times = ("2026-03-04T05:06:01.000Z", "2026-03-04T05:06:02.000Z", "2026-03-04T05:06:03.000Z")
    path = qwen_session(tmp_path, *times)
    with path.open("ab") as file:
        file.write(b'{"uuid":"q9","parentUuid":"q0","timestamp":"2026-03-04T05:06:09.000Z","mess\n')

    with Session.open(path) as session:
        assert session.leaf == "q2"
        assert session.transcript.tree.placeholders == {3}
        assert session.transcript.tree.parent("q9") == "q0"
    assert spoken(path) == [("user", "text 0"), ("assistant", "text 1"), ("user", "text 2")]


def test_the_last_activity_of_a_qwen_code_session_is_its_newest_message_wherever_it_stands(tmp_path):
    newest = "2026-03-04T09:00:00.000Z"
    path = qwen_session(tmp_path, "2026-03-04T05:06:01.000Z", newest, "2026-03-04T05:06:03.000Z")

    with Session.open(path) as session:
        assert session.transcript.reading.last_message_time == milliseconds(newest)

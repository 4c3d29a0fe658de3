"""What is written for Codex: turns that it replays, calls with their outputs, branches as rolled-back turns."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from branchline.context import NO_RESULT
from branchline.conversion import convert
from branchline.entries import Header
from branchline.errors import NotSupported
from branchline.formats import CODEX, PI
from branchline.session import Session
from formats.claude_code_kit import read as read_claude_code
from formats.claude_code_kit import record
from formats.conversion_kit import APPENDABLE, HEADER, read, said, samples, written

CALL = re.compile(r"call_[A-Za-z0-9]{24}")


@pytest.fixture
def session():
    return Session.in_memory("/home/u/project", id="source")


def answer(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), "provider": "x", "model": "opus", **more}


def call(name: str, tool: str = "read") -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": tool, "arguments": {"path": name}}


def result(name: str, words: str) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": name, "toolName": "read", "content": [text(words)]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def payloads(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line["payload"] for line in found if line["payload"].get("type") == kind]


@pytest.mark.parametrize("program", [*APPENDABLE, "claude-code"])
def test_every_sample_becomes_lines_that_the_program_takes(program):
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))

        found = lines(convert(source, CODEX, HEADER).data)

        meta = found[0]["payload"]
        assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= set(meta)
        assert "model_provider" not in meta
        assert (meta["source"], meta["history_mode"]) == ("cli", "legacy")
        assert not any("ordinal" in line for line in found)
        assert all(line["timestamp"] for line in found), path
        assert not payloads(found, "reasoning")
        calls = [item["call_id"] for item in payloads(found, "function_call")]
        outputs = [item["call_id"] for item in payloads(found, "function_call_output")]
        assert all(map(CALL.fullmatch, calls)), path
        assert len(set(calls)) == len(calls), path
        assert sorted(calls) == sorted(set(outputs)), path
        assert all(
            re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one["name"]) for one in payloads(found, "function_call")
        )
        _require_turns(found)


def _require_turns(found: list[dict[str, Any]]) -> None:
    """Every item stands in a turn, every prompt begins one, and every turn ends."""
    turn = None
    for line in found:
        kind = line["payload"].get("type")
        if kind == "task_started":
            assert turn is None
            turn = line["payload"]["turn_id"]
        elif kind == "task_complete":
            assert line["payload"]["turn_id"] == turn
            turn = None
        elif line["type"] in ("response_item", "compacted"):
            assert turn is not None
        elif kind == "thread_rolled_back":
            assert turn is None
    assert turn is None


def test_a_prompt_is_there_for_the_list_and_for_the_model(session):
    session.append_message("Why is the sky blue?")
    session.append_message(answer(text("Scattering.")))

    found = lines(convert(session.transcript, CODEX, HEADER).data)

    (event,) = payloads(found, "user_message")
    assert event == {
        "type": "user_message",
        "message": "Why is the sky blue?",
        "images": [],
        "local_images": [],
        "text_elements": [],
    }
    prompt, said_by_model = payloads(found, "message")
    assert prompt["content"] == [{"type": "input_text", "text": "Why is the sky blue?"}]
    assert said_by_model["content"] == [{"type": "output_text", "text": "Scattering."}]
    assert payloads(found, "agent_message")[0]["message"] == "Scattering."
    assert payloads(found, "task_complete")[0]["last_agent_message"] == "Scattering."


def test_the_pictures_of_a_prompt_are_there_for_the_list_and_for_the_model(session):
    session.append_message(
        {"role": "user", "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    )

    made = convert(session.transcript, CODEX, HEADER)

    found = lines(made.data)
    (event,) = payloads(found, "user_message")
    assert (event["message"], event["images"]) == ("", ["data:image/png;base64,AAAA"])
    (prompt,) = payloads(found, "message")
    assert prompt["content"] == [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    assert said(written(made.data, CODEX)) == said(session.transcript)


def test_parallel_calls_missing_outputs_and_lone_results(session):
    session.append_message("go")
    session.append_message(answer(call("a|b"), call("c", "my tool!")))
    session.append_message(result("c", "second"))
    session.append_message("stop")
    session.append_message(result("a|b", "late"))

    found = lines(convert(session.transcript, CODEX, HEADER).data)

    first, second = payloads(found, "function_call")
    assert (second["name"], json.loads(second["arguments"])) == ("my_tool_", {"path": "c"})
    assert [(one["call_id"], one["output"]) for one in payloads(found, "function_call_output")] == [
        (second["call_id"], "second"),
        (first["call_id"], NO_RESULT),
    ]
    assert payloads(found, "message")[-1]["content"] == [
        {"type": "input_text", "text": "The tool read said:"},
        {"type": "input_text", "text": "late"},
    ]


def test_answers_that_hold_only_calls_stay_apart(session):
    session.append_message("go")
    for name in ("a", "b"):
        session.append_message(answer(call(name)))
        session.append_message(result(name, name))

    found = lines(convert(session.transcript, CODEX, HEADER).data)

    kinds = [line["payload"]["type"] for line in found if line["type"] == "response_item"]
    assert kinds == ["message", *["function_call", "function_call_output"] * 2]


def test_a_compaction_is_the_summary_and_the_kept_messages(session):
    session.append_message("old")
    first = session.append_message("kept")
    session.append_message(answer(call("a")))
    session.append_message(result("a", "done"))
    session.append_compaction("what was said", first, 99)
    session.append_message("new")

    made = convert(session.transcript, CODEX, HEADER)

    (compacted,) = [line["payload"] for line in lines(made.data) if line["type"] == "compacted"]
    kinds = [item["type"] for item in compacted["replacement_history"]]
    assert kinds == ["message", "message", "function_call", "function_call_output"]
    assert compacted["replacement_history"][0]["content"][0]["text"] == compacted["message"]
    assert "what was said" in compacted["message"]
    assert said(written(made.data, CODEX)) == said(session.transcript)


def test_a_compaction_of_claude_code_without_a_summary_says_nothing():
    """What it kept follows it as messages of their own, so nothing is in its place."""
    boundary = record("b", None, "system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    empty = record("s", "b", content="", isCompactSummary=True)
    source = read_claude_code(
        record("u1", None, content="old") + boundary + empty + record("u2", "s", content="new")
    )

    made = convert(source, CODEX, HEADER)

    (compacted,) = [line["payload"] for line in lines(made.data) if line["type"] == "compacted"]
    assert (compacted["message"], compacted["replacement_history"]) == ("", [])
    assert said(source) == said(written(made.data, CODEX)) == [("UserMessage", [("words", "new")])]


def test_a_call_that_a_compaction_keeps_gets_its_result_behind_it(session):
    first = session.append_message("go")
    session.append_message(answer(call("a"), call("b")))
    session.append_compaction("what was said", first, 99)
    session.append_message(result("b", "late"))
    session.append_message("next")

    made = convert(session.transcript, CODEX, HEADER)

    (compacted,) = [line["payload"] for line in lines(made.data) if line["type"] == "compacted"]
    one, other = (item["call_id"] for item in compacted["replacement_history"] if "call_id" in item)
    outputs = [
        (item["call_id"], item["output"]) for item in payloads(lines(made.data), "function_call_output")
    ]
    assert outputs[-2:] == [(other, "late"), (one, NO_RESULT)]


def test_half_characters_are_replaced_in_lines_that_codex_reads(session):
    """Codex skips a line with the escape of a lone surrogate, and everything in it."""
    session.append_message("half \ud83d")
    session.append_message(answer(text("half \ud83d"), call("a")))
    session.set_title("half \ud83d")

    made = convert(session.transcript, CODEX, HEADER)

    read_by_codex = [line for line in made.data.splitlines() if b'"type":"branchline"' not in line]
    assert not any(b"\\ud83d" in line for line in read_by_codex)
    assert sum("half \ufffd" in line.decode() for line in read_by_codex) == 5
    assert written(made.data, CODEX).title == "half \ud83d"
    told = {
        change.kind for change in made.fidelity.approximated if "with replacement characters" in change.why
    }
    assert told == {"user message", "answer"}


def test_the_report_names_results_that_codex_may_shorten(session):
    session.append_message("read both")
    session.append_message(answer(call("a"), call("b")))
    session.append_message(result("a", "x" * 12_000))
    long = session.append_message(result("b", "ü" * 6_001))

    made = convert(session.transcript, CODEX, HEADER)

    (told,) = (change for change in made.fidelity.approximated if "may shorten" in change.why)
    assert told.entries == (long,)
    assert said(written(made.data, CODEX)) == said(session.transcript)


def test_branches_that_begin_with_a_prompt_are_turns_that_were_rolled_back(session):
    session.append_message("start")
    fork = session.append_message(answer(text("yes")))
    session.append_message("left")
    inner = session.append_message(answer(text("left answer")))
    session.append_message("far left")
    session.branch(inner)
    session.append_message("near left")
    session.branch(fork)
    session.append_message("right")

    made = convert(session.transcript, CODEX, HEADER)

    found = written(made.data, CODEX)
    turns = [one["num_turns"] for one in payloads(lines(made.data), "thread_rolled_back")]
    assert turns == [1, 2]
    assert not made.fidelity.lost
    assert not made.branches_left
    assert said(found) == said(session.transcript)


def test_other_branches_are_left_for_files_of_their_own(session):
    first = session.append_message("start")
    left = session.append_message(answer(text("one answer")))
    session.branch(first)
    session.append_message(answer(text("another")))

    made = convert(session.transcript, CODEX, HEADER)

    assert [session.index.keys[end] for end in made.branches_left] == [left]
    assert [change.why.split(",")[0] for change in made.fidelity.lost] == ["not on the active path"]


def test_standing_inside_the_tree_is_a_rollback_at_the_end(session):
    session.append_message("start")
    inner = session.append_message(answer(text("here")))
    session.append_message("further")
    session.branch(inner)

    made = convert(session.transcript, CODEX, HEADER)

    assert payloads(lines(made.data), "thread_rolled_back") == [
        {"type": "thread_rolled_back", "num_turns": 1}
    ]
    assert said(written(made.data, CODEX)) == said(session.transcript)


def test_models_thinking_levels_and_title_come_back(session):
    session.set_title("Auth refactor")
    session.append_message("go")
    session.append_thinking_level_change("high")
    session.append_message(answer(text("done")))

    found = written(convert(session.transcript, CODEX, HEADER).data, CODEX)

    back = Session.in_memory(data=convert(found, PI, HEADER).data)
    assert back.title == "Auth refactor"
    model = back.context().model
    assert model is not None
    assert (model.provider, model.id) == ("x", "opus")
    assert back.context().thinking_level == "high"


@pytest.mark.parametrize("program", ["pi", "zot", "operator"])
def test_what_comes_back_says_the_same_to_a_model(program):
    for path in samples(program)[:12]:
        source = read(path.read_bytes(), name=str(path))
        there = convert(source, CODEX, HEADER)
        if there.fidelity.lost:
            continue

        back = convert(written(there.data, CODEX), PI, HEADER)

        assert said(read(back.data, PI), target=CODEX) == said(source, target=CODEX), path


def test_a_fork_of_a_paginated_rollout_is_a_plain_one_that_lists_show():
    for path in samples("codex"):
        source = read(path.read_bytes(), name=str(path))
        if source.reading.meta.get("history_mode") == "paginated" and source.reading.base is None:
            break
    leaf = source.tree.nearest_conversation_entry(source.reading.leaf)

    made = convert(source, CODEX, HEADER, leaf=leaf)

    found = lines(made.data)
    assert found[0]["payload"]["history_mode"] == "legacy"
    assert not any("ordinal" in line for line in found)
    assert payloads(found, "user_message")
    assert said(written(made.data, CODEX)) == said(source, leaf)


def test_an_id_that_is_no_uuid_is_refused(session):
    session.append_message("start")

    with pytest.raises(NotSupported, match="not a UUID"):
        convert(session.transcript, CODEX, Header(id="talk", version=3))


def test_the_file_is_named_by_the_local_time_and_the_id(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    header = Header(id=HEADER.id, timestamp="2026-03-04T05:06:07.000Z", cwd="/x")

    (directory,) = CODEX.home.new_directories(header, {"CODEX_HOME": "/c"}, "/home/u")

    assert re.fullmatch(r"/c/sessions/2026/03/0[345]", directory)
    assert re.fullmatch(rf"rollout-2026-03-0\dT\d\d-\d6-07-{HEADER.id}", CODEX.home.file_key(header))


def test_the_active_conversation_is_kept_if_an_earlier_one_cannot_be_rolled_back():
    source = read_claude_code(
        record("u1", None, content="First")
        + record("t1", None, "tool")
        + record("a1", None, "assistant", "An answer without a prompt")
        + record("u2", None, content="Now this")
        + record("a2", "u2", "assistant", "Done")
    )

    made = written(convert(source, CODEX, HEADER).data, CODEX)

    assert said(made) == said(source) != []

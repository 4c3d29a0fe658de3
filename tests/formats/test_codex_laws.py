"""Whatever is in a rollout of Codex opens, in any pieces, and nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.formats.codex import CODEX
from branchline.formats.codex.reader import CodexReader
from formats.codex_kit import EXPECTED, NAME, SAMPLES, event, item, line, meta, turn
from formats.codex_replay import Rollout, model_history
from formats.line_laws import (
    CORRUPTIONS,
    alike_in_lists,
    alike_in_pieces,
    alike_when_grown,
    alike_with_care,
    open_all,
)
from strategies import texts

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOTAL = {"total_token_usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}}
SMALL = (
    meta()
    + line("turn_context", {"turn_id": "t", "model": "m", "effort": "low"})
    + turn("é one", "1")
    + event("token_count", info=TOTAL)
    + turn("two")
    + event("thread_rolled_back", num_turns=1)
    + line("compacted", {"message": "so far"})
    + item("user", "go on")
)


def look_at(data, name=NAME):
    found = open_all(CODEX, data, name)
    model_history([Rollout(found)])
    return found


def test_every_beginning_of_a_file_opens():
    for size in range(len(SMALL)):
        look_at(SMALL[:size])


def test_a_wrong_byte_anywhere_never_raises():
    for place in range(len(SMALL)):
        for byte in CORRUPTIONS[place % 3 :: 3]:
            look_at(SMALL[:place] + bytes([byte]) + SMALL[place + 1 :])


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if not name.endswith(".zst")))
def test_a_sample_is_read_alike_fast_or_with_care_in_any_pieces_and_while_it_grows(name):
    data = (SAMPLES / name).read_bytes()

    alike_with_care(CODEX, CodexReader, data, NAME)
    alike_in_lists(CODEX, data, NAME)
    alike_in_pieces(CODEX, data, NAME, (1, 7, 100, 1000))
    alike_when_grown(CODEX, data, NAME, range(0, len(data), max(1, len(data) // 9)))


def test_every_beginning_of_a_compressed_file_opens():
    data = next((SAMPLES / "synthetic/compressed").rglob("*.zst")).read_bytes()
    for size in range(0, len(data), 5):
        look_at(data[:size], NAME + ".zst")


values = st.sampled_from([None, True, 7, -3, 1e400, "", "x", [], {}, [5, {"type": []}], {"type": {}}])
words = st.one_of(texts, st.sampled_from(["<environment_context>", "# AGENTS.md instructions", "hello"]))
contents = st.one_of(
    words,
    values,
    st.lists(st.builds(lambda text: {"type": "input_text", "text": text}, words) | values, max_size=2),
)
kinds = st.sampled_from(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "local_shell_call",
        "agent_message",
        "compaction",
        "ghost_snapshot",
        "hologram",
        None,
        [],
    ]
)
items = st.fixed_dictionaries(
    {"type": kinds},
    optional={
        "role": st.sampled_from(["user", "assistant", "developer", None, []]),
        "content": contents,
        "call_id": st.sampled_from(["c", "d", None, 5]),
        "name": values,
        "arguments": values | words,
        "output": contents,
        "summary": values,
    },
)
events = st.fixed_dictionaries(
    {"type": st.sampled_from(["thread_rolled_back", "token_count", "task_started", "turn_aborted", "user_message", "item_completed", "x", None])},
    optional={
        "num_turns": st.integers(-1, 4) | values,
        "info": values | st.just(TOTAL) | st.builds(lambda value: {"total_token_usage": value}, values) | st.builds(lambda value: {"total_token_usage": {"input_tokens": value}}, values),
        "turn_id": values,
        "message": values | words,
        "item": items | values,
    },
)  # fmt: skip
lines = st.one_of(
    st.builds(lambda payload: {"type": "response_item", "payload": payload}, items | values),
    st.builds(lambda payload: {"type": "event_msg", "payload": payload}, events | values),
    st.builds(lambda message, history: {"type": "compacted", "payload": {"message": message, "replacement_history": history}}, values, st.lists(items | values, max_size=3) | values),
    st.builds(lambda model, effort: {"type": "turn_context", "payload": {"model": model, "effort": effort}}, values, values),
    st.builds(lambda base, source: {"type": "session_meta", "payload": {"id": "t", "history_base": base, "source": source, "forked_from_id": "p"}}, values | st.just({"thread_id": "q"}), values | st.just({"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})),
    st.builds(lambda said: {"type": "inter_agent_communication", "payload": said}, items | values),
    items,
    values,
)  # fmt: skip


@st.composite
def rollouts(draw):
    made = (
        [meta(history_mode=draw(st.sampled_from(["legacy", "paginated", None, 5, []])))]
        if draw(st.booleans())
        else []
    )
    for value in draw(st.lists(lines, max_size=12)):
        if isinstance(value, dict) and draw(st.booleans()):
            value["timestamp"] = draw(
                st.sampled_from(["2026-09-02T01:00:01.000Z", "2026-09-02T01:00:02.000Z", "soon", 5])
            )
        made.append(json.dumps(value).encode() + b"\n")
    return b"".join(made)


@MANY
@given(rollouts(), st.integers(0, 3000))
def test_lines_of_any_shape_open_and_are_read_alike_in_every_way(data, split):
    look_at(data)
    alike_with_care(CODEX, CodexReader, data, NAME)
    alike_in_lists(CODEX, data, NAME)
    alike_in_pieces(CODEX, data, NAME, (50, 700))
    alike_when_grown(CODEX, data, NAME, [split])


@MANY
@given(rollouts(), st.binary(max_size=40), st.integers(0, 3000))
def test_bytes_thrown_into_a_file_never_make_it_raise(data, noise, place):
    look_at(data[:place] + noise + data[place:])


def test_a_torn_line_and_the_record_glued_to_it_are_told_apart():
    data = meta() + item("user", "lost")[:60] + item("user", "kept") + item("assistant", "yes")

    found = look_at(data)

    assert found.tree.roles.count("user") == 1
    assert "glued" in [finding.kind for finding in found.findings]
